/* engine.c - steps of the scheduler in real time, on one timer of the loop.
 *
 * The engine is in one phase at a time; submit and abort act at once in each of them:
 *
 *   IDLE        nobody is here                                    submit -> STARTING
 *   STARTING    until the end of the loop's turn, so that requests which came in one turn begin
 *               together and no callback comes from submit        timer -> plan
 *   STEPPING    until the planned end of the step                 timer -> DELIVERING
 *   DELIVERING  the step's tokens go out, in callbacks            -> plan
 *   HOLDING     a cause pauses everybody             timer -> plan; submit, abort -> STARTING
 *   plan: STEPPING when there is something to do, else HOLDING in a pause, else IDLE */
#include "engine/engine.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/rand.h"
#include "engine/scheduler.h"

static const int64_t max_behind_ns = 50 * NS_PER_MS;

enum phase { PHASE_IDLE, PHASE_STARTING, PHASE_STEPPING, PHASE_DELIVERING, PHASE_HOLDING };

struct engine_request {
    struct sequence sequence; /* first: a sequence is its request */
    void *owner;
    int64_t arrived;
    enum engine_end why; /* how it ends when it is not aborted */
    bool ending;
    TAILQ_ENTRY(engine_request) present;
};
TAILQ_HEAD(request_list, engine_request);

struct engine {
    struct loop *loop;
    const struct profile *profile;
    double speed;
    const struct engine_events *events;
    struct scheduler scheduler;
    uint64_t hash_seed, next_number;

    /* time: instants are plans, the timer may be late */
    struct loop_timer timer;
    enum phase phase;
    int64_t start_at, end_at; /* of the present step; STARTING, HOLDING: when the next starts */

    /* the requests that are here, in the order in which they came */
    struct request_list present;
    int present_count, tokenless; /* tokenless: without a first token */
    int64_t present_prompt;       /* tokens, summed */
    int64_t first_token_at;       /* the latest first token */
    struct engine_request *delivering;

    /* what bends the rules for the present requests */
    const struct cause *cause;
    bool cause_stale; /* a request came or went: to be looked up anew */
    int paused;       /* sequences that it keeps waiting in the present step */
    int preempt_count;

    int64_t requests_done, steps, late_ns;
};

/* --- causes --- */

static void requests_changed(struct engine *e)
{
    e->cause = NULL;
    e->cause_stale = true;
    e->paused = 0;
}

static void look_up_cause(struct engine *e)
{
    if (!e->cause_stale)
        return;
    e->cause_stale = false;
    e->cause = e->present_count == 0 ? NULL
                                     : profile_cause(e->profile, e->present_count,
                                                     (double)e->present_prompt / e->present_count);
}

/* The cause that holds sequences back: none before the last of them has its first token. */
static const struct cause *holding_cause(const struct engine *e)
{
    return e->tokenless == 0 ? e->cause : NULL;
}

static int64_t after_first_token(const struct engine *e, double engine_s)
{
    return e->first_token_at + (int64_t)(engine_s * (double)NS_PER_S / e->speed);
}

static int running_limit(const struct cause *c)
{
    return c && c->max_running > 0 ? c->max_running : INT_MAX;
}

/* How many may decode in a step that starts at `at`. When a pause lies there, none, and *ret_until
 * says how long. */
static int decode_limit(const struct engine *e, int64_t at, int64_t *ret_until)
{
    const struct cause *c = holding_cause(e);

    if (!c)
        return INT_MAX;
    if (at >= after_first_token(e, c->hold_from_s) && at < after_first_token(e, c->hold_until_s)) {
        *ret_until = after_first_token(e, c->hold_until_s);
        return 0;
    }
    if (!(c->decoding >= 1))
        return running_limit(c);
    /* whole numbers whose mean over the steps is c->decoding */
    double n = (double)e->steps;
    return (int)fmin(floor((n + 1) * c->decoding) - floor(n * c->decoding), running_limit(c));
}

/* Of the sequences that could decode: in a pause all wait, else those beyond the cause's limit. Who
 * only comes round less often is running all the same. */
static int count_waiting(const struct engine *e, const struct step *step, bool pause)
{
    int limit = pause ? 0 : running_limit(holding_cause(e));
    int ready = step->decodes + step->paused;
    return ready > limit ? ready - limit : 0;
}

/* --- steps --- */

static int64_t step_ns(const struct engine *e)
{
    const struct step *s = &e->scheduler.step;
    const struct cause *c = holding_cause(e);
    double cold = 0, decode = 0, warm = 0;

    for (size_t i = 0; s->cold > 0 && i < s->count; i++)
        if (s->items[i].kind == STEP_COLD)
            cold +=
                profile_prefill_ns(e->profile, (double)s->items[i].from, (double)s->items[i].to);
    if (s->decodes > 0)
        decode =
            c && c->step_ns > 0
                ? c->step_ns
                : profile_decode_ns(e->profile, (double)s->decode_context / s->decodes, s->decodes);
    if (s->warm > 0)
        warm = profile_warm_ns(e->profile, (double)s->warm_context / s->warm, s->warm);
    double ns = (cold + (decode > warm ? decode : warm)) / e->speed;
    if (!(ns >= 1)) /* also NAN: time must pass */
        return 1;
    return ns < 1e18 ? (int64_t)ns : (int64_t)1e18;
}

static void set_end(struct engine *e)
{
    e->end_at = e->start_at + step_ns(e);
    loop_timer_set(e->loop, &e->timer, e->end_at);
}

/* Plan what comes next, from the instant `at` on. */
static void begin_step(struct engine *e, int64_t at)
{
    int64_t hold_until = 0;

    /* nobody was there when the step before ended: it begins with the first to come */
    if (e->present_count > 0 && TAILQ_FIRST(&e->present)->arrived > at)
        at = TAILQ_FIRST(&e->present)->arrived;
    look_up_cause(e);
    scheduler_preempt(&e->scheduler, e->preempt_count);
    e->preempt_count = 0;
    const struct step *step = scheduler_plan(&e->scheduler, decode_limit(e, at, &hold_until));
    e->paused = count_waiting(e, step, hold_until > 0);
    if (step->count > 0) {
        e->phase = PHASE_STEPPING;
        e->start_at = at;
        set_end(e);
    } else if (hold_until) {
        e->phase = PHASE_HOLDING;
        e->start_at = hold_until;
        loop_timer_set(e->loop, &e->timer, hold_until);
    } else {
        assert(e->present_count == 0); /* somebody can always go on */
        e->phase = PHASE_IDLE;
    }
}

/* Not before the present turn's end, and not before the last step's. */
static void start_soon(struct engine *e, int64_t at)
{
    e->phase = PHASE_STARTING;
    e->start_at = at > e->end_at ? at : e->end_at;
    loop_timer_set(e->loop, &e->timer, e->start_at);
}

/* --- requests --- */

static void forget(struct engine *e, struct engine_request *r)
{
    scheduler_remove(&e->scheduler, &r->sequence);
    TAILQ_REMOVE(&e->present, r, present);
    e->present_count--;
    e->present_prompt -= r->sequence.prompt_tokens;
    e->tokenless -= r->sequence.produced == 0;
    requests_changed(e);
    if (e->delivering == r)
        e->delivering = NULL;
    free(r);
}

static void end_request(struct engine *e, struct engine_request *r, enum engine_end why)
{
    r->ending = true;
    e->events->on_end(r->owner, why);
    forget(e, r);
}

static void deliver(struct engine *e, size_t i)
{
    struct engine_request *r = (struct engine_request *)e->scheduler.step.items[i].sequence;
    enum step_outcome outcome = scheduler_apply(&e->scheduler, i);

    if (outcome == STEP_NOTHING)
        return;
    int64_t index = r->sequence.produced - 1;
    if (index == 0) {
        e->tokenless--;
        e->first_token_at = e->end_at;
    }
    e->delivering = r; /* NULL once it was aborted in the callback */
    e->events->on_token(r->owner, index, e->cause && e->cause->looped);
    if (e->delivering && outcome == STEP_LAST_TOKEN) {
        e->requests_done++;
        end_request(e, r, r->why);
    }
    e->delivering = NULL;
}

static void end_step(struct engine *e)
{
    e->phase = PHASE_DELIVERING;
    e->steps++;
    look_up_cause(e);
    for (size_t i = 0; i < e->scheduler.step.count; i++)
        deliver(e, i);
}

static void on_timer(void *ctx)
{
    struct engine *e = ctx;
    int64_t now = clock_now(), at = e->start_at;

    if (e->phase == PHASE_STEPPING) {
        at = e->end_at;
        end_step(e);
        if (now - at > max_behind_ns) {
            e->late_ns += now - at;
            at = now;
        }
    }
    begin_step(e, at);
}

/* --- the header's promises --- */

_Static_assert((int)PROFILE_MAX_CONTEXT_LIMIT <= (int)KV_POOL_MAX_BLOCKS,
               "the longest sequence fits, whatever the block size");

static int32_t block_budget(const struct profile *p, int block_size)
{
    int64_t blocks = p->kv_tokens / block_size;
    int64_t one = (p->context_limit + block_size - 1) / block_size;

    if (blocks < one)
        blocks = one;
    return blocks < KV_POOL_MAX_BLOCKS ? (int32_t)blocks : KV_POOL_MAX_BLOCKS;
}

struct engine *engine_new(struct loop *loop, const struct profile *profile, double speed,
                          const struct engine_events *events)
{
    struct engine *e = mem_alloc(sizeof *e);
    int block_size = profile->block_size > 0 ? profile->block_size : 1;

    assert(speed > 0);
    e->loop = loop;
    e->profile = profile;
    e->speed = speed;
    e->events = events;
    e->timer = (struct loop_timer){.fn = on_timer, .ctx = e};
    e->hash_seed = rng_entropy(); /* so that no visitor can aim at a bucket of the cache */
    TAILQ_INIT(&e->present);
    scheduler_init(&e->scheduler, &(struct scheduler_limits){
                                      .blocks = block_budget(profile, block_size),
                                      .block_size = block_size,
                                      .max_running = profile->max_running,
                                      .step_tokens = profile->step_tokens,
                                      .warm_tokens = profile->warm_tokens,
                                      .prefix_cache = profile->prefix_cache,
                                  });
    return e;
}

void engine_free(struct engine *e)
{
    if (!e)
        return;
    loop_timer_cancel(e->loop, &e->timer);
    while (!TAILQ_EMPTY(&e->present))
        forget(e, TAILQ_FIRST(&e->present));
    scheduler_release(&e->scheduler);
    free(e);
}

/* A request came while a step runs: let it join while the step is young and all warm. */
static void gather(struct engine *e, int64_t arrived)
{
    const struct step *s = &e->scheduler.step;

    if (s->decodes > 0 || s->cold > 0 || s->warm == 0)
        return;
    if (arrived - e->start_at < (e->end_at - e->start_at) / 2 && scheduler_join(&e->scheduler) > 0)
        set_end(e);
}

struct engine_request *engine_submit(struct engine *e, const struct engine_submission *s)
{
    struct engine_request *r = mem_alloc(sizeof *r);
    int block_size = e->scheduler.limits.block_size;
    bool stops = s->stop_after <= s->max_output;
    int64_t now = clock_now();

    assert(s->token_count >= 1 && s->max_output >= 1 && s->stop_after >= 1);
    assert(s->token_count <= e->profile->context_limit - s->max_output);
    r->owner = s->owner;
    r->arrived = s->arrived < now ? s->arrived : now;
    r->why = stops ? ENGINE_END_STOP : ENGINE_END_LENGTH;
    r->sequence = (struct sequence){
        .prompt_tokens = s->token_count,
        .output_limit = stops ? s->stop_after : s->max_output,
        .number = e->next_number++,
        .hashes = mem_array((size_t)(s->token_count / block_size), sizeof *r->sequence.hashes),
    };
    kv_hash_prompt(e->hash_seed, s->tokens, s->token_count, block_size, r->sequence.hashes);
    scheduler_add(&e->scheduler, &r->sequence);
    TAILQ_INSERT_TAIL(&e->present, r, present);
    e->present_count++;
    e->present_prompt += s->token_count;
    e->tokenless++;
    requests_changed(e);
    if (e->phase == PHASE_IDLE || e->phase == PHASE_HOLDING)
        start_soon(e, r->arrived);
    else if (e->phase == PHASE_STEPPING)
        gather(e, r->arrived);
    return r;
}

/* The cause of a pause is gone with the request: the others go on. */
static void leave_hold(struct engine *e)
{
    if (e->phase == PHASE_HOLDING)
        start_soon(e, clock_now());
}

void engine_abort(struct engine *e, struct engine_request *r)
{
    if (r->ending)
        return;
    forget(e, r);
    leave_hold(e);
}

/* The first request that is not about to end anyway. */
static struct engine_request *first_open(const struct engine *e)
{
    struct engine_request *r = TAILQ_FIRST(&e->present);

    while (r && r->ending)
        r = TAILQ_NEXT(r, present);
    return r;
}

void engine_abort_all(struct engine *e)
{
    uint64_t until = e->next_number; /* what comes in meanwhile stays */
    struct engine_request *r;

    while ((r = first_open(e)) && r->sequence.number < until)
        end_request(e, r, ENGINE_END_ABORTED);
    leave_hold(e);
}

int64_t engine_cached_tokens(const struct engine_request *r)
{
    return r->sequence.cached_tokens;
}

void engine_preempt(struct engine *e, int count)
{
    if (count > INT_MAX - e->preempt_count)
        count = INT_MAX - e->preempt_count;
    e->preempt_count += count;
}

void engine_flush_cache(struct engine *e)
{
    kv_pool_flush(&e->scheduler.pool);
}

void engine_read_stats(const struct engine *e, struct engine_stats *ret)
{
    const struct scheduler *s = &e->scheduler;
    const struct cause *c = holding_cause(e);

    *ret = (struct engine_stats){
        .running = s->running_count - e->paused,
        .waiting = s->waiting_count + e->paused,
        .kv_used = (double)s->pool.used / s->pool.total,
        .kv_tokens = (int64_t)s->pool.total * s->limits.block_size,
        .kv_blocks = s->pool.total,
        .prompt_tokens = s->counts.prompt_tokens,
        .generated_tokens = s->counts.generated_tokens,
        .prefix_queries = s->counts.prefix_queries,
        .prefix_hits = s->counts.prefix_hits,
        .preemptions = s->counts.preemptions,
        .requests_done = e->requests_done,
        .steps = e->steps,
        .late_ns = e->late_ns,
    };
    if (c && c->waiting_seen && ret->waiting == 0)
        ret->waiting = 1;
}
