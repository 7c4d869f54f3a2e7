/* scheduler.c - two queues and a plan; see the header for the rules. */
#include "engine/scheduler.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rand.h"

void scheduler_init(struct scheduler *s, const struct scheduler_limits *limits)
{
    *s = (struct scheduler){.limits = *limits};
    struct scheduler_limits *l = &s->limits;
    l->blocks = l->blocks < 1 ? 1 : l->blocks;
    l->block_size = l->block_size < 1 ? 1 : l->block_size;
    l->max_running = l->max_running < 1 ? 1 : l->max_running;
    l->step_tokens = l->step_tokens < 1 ? 1 : l->step_tokens;
    kv_pool_init(&s->pool, l->blocks, l->prefix_cache);
    TAILQ_INIT(&s->waiting);
    TAILQ_INIT(&s->running);
}

void scheduler_release(struct scheduler *s)
{
    kv_pool_release(&s->pool);
    free(s->step.items);
}

/* Tokens whose values are there: the prompt and what was produced. A step computes KV up to here,
 * and the next token comes of it. */
static int64_t known_tokens(const struct sequence *q)
{
    return q->prompt_tokens + q->produced;
}

static int64_t blocks_for(const struct scheduler *s, int64_t tokens)
{
    return (tokens + s->limits.block_size - 1) / s->limits.block_size;
}

/* --- queues --- */

static void enter_waiting(struct scheduler *s, struct sequence *q, bool front)
{
    q->state = SEQUENCE_WAITING;
    if (front)
        TAILQ_INSERT_HEAD(&s->waiting, q, queue);
    else
        TAILQ_INSERT_TAIL(&s->waiting, q, queue);
    s->waiting_count++;
}

static void leave_queue(struct scheduler *s, struct sequence *q)
{
    if (q->state == SEQUENCE_DONE)
        return;
    if (q->state == SEQUENCE_WAITING) {
        TAILQ_REMOVE(&s->waiting, q, queue);
        s->waiting_count--;
    } else {
        TAILQ_REMOVE(&s->running, q, queue);
        s->running_count--;
    }
}

static void drop_blocks(struct scheduler *s, struct sequence *q)
{
    while (q->block_count > 0) /* the last first: it is evicted first */
        kv_pool_drop(&s->pool, q->blocks[--q->block_count]);
    q->computed = 0;
    s->head_blocked = false; /* whoever is the first now may fit */
}

void scheduler_add(struct scheduler *s, struct sequence *q)
{
    assert(q->prompt_tokens >= 1 && q->output_limit >= 1);
    enter_waiting(s, q, false);
}

void scheduler_remove(struct scheduler *s, struct sequence *q)
{
    leave_queue(s, q);
    drop_blocks(s, q);
    q->state = SEQUENCE_DONE;
    if (q->slot)
        s->step.items[q->slot - 1].sequence = NULL;
    q->slot = 0;
    free(q->blocks);
    free(q->hashes);
    q->blocks = NULL;
    q->hashes = NULL;
    q->block_cap = 0;
}

static void preempt(struct scheduler *s, struct sequence *q)
{
    leave_queue(s, q);
    drop_blocks(s, q);
    enter_waiting(s, q, true);
    s->counts.preemptions++;
}

void scheduler_preempt(struct scheduler *s, int count)
{
    while (count-- > 0 && s->running_count > 0)
        preempt(s, TAILQ_LAST(&s->running, sequence_queue));
}

/* --- blocks --- */

static uint64_t block_hash(const struct sequence *q, int64_t block, int64_t prompt_blocks)
{
    if (block < prompt_blocks)
        return q->hashes[block];
    return rng_mix(rng_mix(UINT64_MAX, q->number), (uint64_t)block); /* output is nobody else's */
}

/* Blocks that a step fills by computing [from, to). */
static void publish(struct scheduler *s, const struct sequence *q, int64_t from, int64_t to)
{
    int size = s->limits.block_size;
    int64_t prompt_blocks = q->prompt_tokens / size;

    for (int64_t i = from / size; i < to / size; i++)
        if (kv_pool_publish(&s->pool, q->blocks[i], block_hash(q, i, prompt_blocks)) &&
            i < prompt_blocks)
            s->head_blocked = false; /* the first of the queue may need fewer now */
}

static void room_for_blocks(struct sequence *q, size_t count)
{
    if (count <= q->block_cap)
        return;
    q->block_cap = count > 2 * q->block_cap ? count : 2 * q->block_cap;
    q->blocks = mem_resize(q->blocks, q->block_cap, sizeof *q->blocks);
}

/* A block for the next token of a decoding sequence, whoever must go for it. Returns false when it
 * had to go itself. */
static bool grow(struct scheduler *s, struct sequence *q)
{
    size_t need = (size_t)blocks_for(s, known_tokens(q));

    room_for_blocks(q, need);
    while (q->block_count < need) {
        int32_t block = kv_pool_take(&s->pool);
        if (block != KV_NONE) {
            q->blocks[q->block_count++] = block;
            continue;
        }
        struct sequence *latest = TAILQ_LAST(&s->running, sequence_queue);
        preempt(s, latest);
        if (latest == q)
            return false;
    }
    return true;
}

/* --- the plan --- */

static void add_item(struct scheduler *s, struct sequence *q, enum step_kind kind, int64_t to)
{
    struct step *step = &s->step;

    MEM_GROW(step->items, step->count, step->cap);
    step->items[step->count++] = (struct step_item){q, kind, q->computed, to};
    q->slot = step->count;
    publish(s, q, q->computed, to);
    switch (kind) {
    case STEP_DECODE:
        step->decodes++;
        step->decode_context += to;
        break;
    case STEP_COLD: step->cold++; break;
    case STEP_WARM:
        step->warm++;
        step->warm_context += to;
        return; /* not charged */
    }
    step->tokens_left -= to - q->computed;
}

static void add_prefill(struct scheduler *s, struct sequence *q)
{
    int64_t to = known_tokens(q);

    if (!q->warm && to - q->computed > s->step.tokens_left)
        to = q->computed + s->step.tokens_left;
    add_item(s, q, q->warm ? STEP_WARM : STEP_COLD, to);
}

static void plan_decodes(struct scheduler *s, int decode_limit)
{
    struct sequence *q = TAILQ_FIRST(&s->running);

    for (; q; q = TAILQ_NEXT(q, queue)) {
        if (q->state != SEQUENCE_DECODE)
            continue;
        if (s->step.decodes >= decode_limit)
            s->step.paused++;
        else if (s->step.tokens_left > 0) {
            if (!grow(s, q))
                return; /* it was the last in the queue */
            add_item(s, q, STEP_DECODE, known_tokens(q));
        }
    }
}

static void plan_chunks(struct scheduler *s)
{
    struct sequence *q;

    TAILQ_FOREACH(q, &s->running, queue)
    if (q->state == SEQUENCE_PREFILL && s->step.tokens_left > 0)
        add_prefill(s, q);
}

/* The cached blocks q begins with, into q->blocks. Says how many, and how many of them are held by
 * nobody. */
static int64_t find_prefix(const struct scheduler *s, struct sequence *q, int64_t *ret_unheld)
{
    int64_t limit = (known_tokens(q) - 1) / s->limits.block_size; /* one token at least remains */
    int64_t prompt_blocks = q->prompt_tokens / s->limits.block_size;
    int64_t found = 0, unheld = 0;

    for (; found < limit; found++) {
        int32_t block = kv_pool_find(&s->pool, block_hash(q, found, prompt_blocks));
        if (block == KV_NONE)
            break;
        q->blocks[found] = block;
        unheld += s->pool.blocks[block].refs == 0;
    }
    *ret_unheld = unheld;
    return found;
}

static void count_admission(struct scheduler *s, struct sequence *q)
{
    if (q->admitted || !s->limits.prefix_cache)
        return;
    q->cached_tokens = q->computed;
    s->counts.prefix_queries += q->prompt_tokens;
    s->counts.prefix_hits += q->cached_tokens;
}

/* Give the first of the queue its blocks and its place in the step, if both are there. */
static bool admit_first(struct scheduler *s, bool warm_only)
{
    struct sequence *q = TAILQ_FIRST(&s->waiting);

    if (!q || s->head_blocked || s->running_count >= s->limits.max_running)
        return false;
    int64_t need = blocks_for(s, known_tokens(q)), unheld;
    room_for_blocks(q, (size_t)need);
    int64_t found = find_prefix(s, q, &unheld);
    int64_t computed = found * s->limits.block_size;
    bool warm = known_tokens(q) - computed <= s->limits.warm_tokens;
    if (!warm && (warm_only || s->step.tokens_left <= 0))
        return false;
    if (need - found > kv_pool_available(&s->pool) - unheld) {
        s->head_blocked = true;
        return false;
    }
    leave_queue(s, q);
    for (int64_t i = 0; i < found; i++)
        kv_pool_hold(&s->pool, q->blocks[i]);
    for (int64_t i = found; i < need; i++)
        q->blocks[i] = kv_pool_take(&s->pool);
    q->block_count = (size_t)need;
    q->computed = computed;
    q->warm = warm;
    q->state = SEQUENCE_PREFILL;
    TAILQ_INSERT_TAIL(&s->running, q, queue);
    s->running_count++;
    count_admission(s, q);
    q->admitted = true;
    add_prefill(s, q);
    return true;
}

const struct step *scheduler_plan(struct scheduler *s, int decode_limit)
{
    struct step *step = &s->step;

    *step = (struct step){
        .items = step->items,
        .cap = step->cap,
        .tokens_left = s->limits.step_tokens,
    };
    plan_decodes(s, decode_limit);
    plan_chunks(s);
    while (admit_first(s, false))
        ;
    return step;
}

int scheduler_join(struct scheduler *s)
{
    int joined = 0;

    while (admit_first(s, true))
        joined++;
    return joined;
}

/* --- what a step did --- */

enum step_outcome scheduler_apply(struct scheduler *s, size_t i)
{
    struct sequence *q = s->step.items[i].sequence;

    if (!q)
        return STEP_NOTHING;
    q->slot = 0;
    q->computed = s->step.items[i].to;
    if (q->computed < known_tokens(q))
        return STEP_NOTHING;
    if (q->produced++ == 0)
        s->counts.prompt_tokens += q->prompt_tokens;
    s->counts.generated_tokens++;
    if (q->produced < q->output_limit) {
        q->state = SEQUENCE_DECODE;
        return STEP_TOKEN;
    }
    leave_queue(s, q);
    drop_blocks(s, q);
    q->state = SEQUENCE_DONE;
    return STEP_LAST_TOKEN;
}
