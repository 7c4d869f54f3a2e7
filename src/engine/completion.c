/* completion.c - one request for a completion, from its JSON to the end of its answer.
 *
 *   read -> engine_submit -> (on_token -> event)* -> on_end -> ending
 *
 * Each event is made in the service's scratch buffer and handed to the outlet (outlet.h), where
 * faults may keep it for a while. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/rand.h"
#include "engine/face.h"
#include "engine/outlet.h"
#include "engine/writer.h"

enum {
    TEXT_MAX = 64 << 20, /* of an answer in one piece; the context is its real bound */
    LONG_ANSWER = 512,   /* tokens, about: what a model says of its own accord */
    SHORT_ANSWER = 8,
};

struct completion {
    struct service *service;
    struct exchange *x;
    struct engine_request *request; /* NULL once it is over */
    struct answer answer;
    char id[ASK_ID_MAX];
    bool stream;
    int64_t max_output, stop_after, tokens;
    uint64_t seed;
    int64_t arrived_at, first_token_at, last_token_at;
    struct buf frame; /* a middle event: [0, text_at) before the text, the rest behind it */
    size_t text_at;
    struct buf text; /* stream: unused */
    const struct fault *faults[FAULT_KINDS];
    struct outlet outlet; /* of a stream */
    struct completion *older, *newer;
};

/* --- life cycle --- */

static void link_open(struct completion *c)
{
    struct service *s = c->service;
    c->older = s->open;
    if (s->open)
        s->open->newer = c;
    s->open = c;
    s->open_count++;
}

static void completion_free(struct completion *c)
{
    struct service *s = c->service;

    if (c->newer)
        c->newer->older = c->older;
    else
        s->open = c->older;
    if (c->older)
        c->older->newer = c->newer;
    s->open_count--;
    outlet_release(&c->outlet);
    buf_release(&c->frame);
    buf_release(&c->text);
    free(c);
}

/* What it wrote counts, however it ended. */
static void count_output(const struct completion *c)
{
    struct counters *n = &c->service->counters;
    int64_t length = c->answer.prompt_tokens + c->tokens;

    n->finished_tokens += c->tokens;
    n->finished_prompt += c->answer.prompt_tokens;
    n->finished_cached += c->answer.cached_tokens;
    n->prompt_s += ns_to_s(c->first_token_at - c->arrived_at);
    n->predicted_s += ns_to_s(c->last_token_at - c->first_token_at);
    if (length > n->longest)
        n->longest = length;
}

static void leave_engine(struct completion *c)
{
    if (!c->request)
        return;
    engine_abort(c->service->engine, c->request);
    c->request = NULL;
    if (c->tokens > 0)
        count_output(c);
}

/* End the answer as no server should. */
static void break_off(struct completion *c, bool reset)
{
    leave_engine(c);
    c->service->counters.broken++;
    exchange_abort(c->x, reset);
    completion_free(c);
}

void completion_gone(struct completion *c)
{
    if (c->request)
        c->service->counters.aborted++;
    leave_engine(c);
    completion_free(c);
}

void completion_free_all(struct service *s)
{
    struct completion *older;

    for (struct completion *c = s->open; c; c = older) {
        older = c->older;
        leave_engine(c);
        completion_free(c);
    }
}

/* The answer's last byte is out, or more was held back than may be. */
static void on_done(void *ctx, bool overflow)
{
    struct completion *c = ctx;

    if (overflow)
        break_off(c, false);
    else
        completion_free(c);
}

/* --- errors in the stream --- */

/* A complaint as an event: the error stands under that name, whatever the face's bodies are like.
 */
static void add_error_event(const struct face *face, const struct complaint *complaint,
                            struct buf *out)
{
    static const char nested[] = "{\"error\":{";
    struct buf body;

    buf_init(&body, 8192);
    face->complain(complaint, &body);
    bool bare = strncmp(body.p, nested, sizeof nested - 1) != 0;
    buf_addf(out, bare ? "data: {\"error\":%s}\n\n" : "data: %s\n\n", body.p);
    buf_release(&body);
}

/* --- faults at a token; true: the completion is no more --- */

static bool at_token(const struct completion *c, enum fault_kind kind, int64_t index)
{
    return c->faults[kind] && c->faults[kind]->token == index;
}

static void end_by_error(struct completion *c)
{
    struct buf *out = &c->service->scratch;
    struct complaint complaint;

    complain(&complaint, COMPLAINT_BUSY, "", "the engine failed, as it was told to");
    complaint.status = 500;
    buf_reset(out);
    add_error_event(c->service->face, &complaint, out);
    outlet_emit(&c->outlet, out);
    leave_engine(c);
    c->service->counters.broken++;
    outlet_finish(&c->outlet);
}

static bool fault_at_token(struct completion *c, int64_t index)
{
    struct service *s = c->service;

    if (at_token(c, FAULT_PREEMPT, index))
        engine_preempt(s->engine, (int)c->faults[FAULT_PREEMPT]->count);
    if (!c->stream)
        return false;
    if (at_token(c, FAULT_RESET, index) || at_token(c, FAULT_CUT, index)) {
        break_off(c, at_token(c, FAULT_RESET, index));
        return true;
    }
    if (at_token(c, FAULT_TRUNCATE, index)) {
        leave_engine(c);
        s->counters.broken++;
        outlet_finish(&c->outlet);
        return true;
    }
    if (at_token(c, FAULT_ERROR, index)) {
        end_by_error(c);
        return true;
    }
    if (at_token(c, FAULT_STALL, index))
        outlet_hold(&c->outlet, c->faults[FAULT_STALL]->for_ns);
    return false;
}

/* --- tokens --- */

static size_t token_words(const struct completion *c, int64_t index, bool looped,
                          char out[WRITER_TOKEN_MAX])
{
    enum { LOOP_PERIOD = 16 }; /* when the engine wants it and no fault says more */
    const struct fault *loop = c->faults[FAULT_LOOP];

    if (index + 1 == c->stop_after)
        return 0; /* the token that ends the text has none */
    if (looped || (loop && index >= loop->token))
        return writer_loop_token(c->seed, index, loop ? loop->count : LOOP_PERIOD, out);
    return c->faults[FAULT_SPLIT] ? writer_wide_token(c->seed, index, out)
                                  : writer_token(c->seed, index, out);
}

/* What the answer says of itself now. */
static void update_answer(struct completion *c)
{
    const struct fault *wrong = c->faults[FAULT_WRONG_USAGE];

    c->answer.completion_tokens = c->tokens;
    if (wrong)
        c->answer.completion_tokens = (int64_t)llround((double)c->tokens * wrong->factor);
    c->answer.prompt_ms = ns_to_ms(c->first_token_at - c->arrived_at);
    c->answer.predicted_ms = ns_to_ms(c->last_token_at - c->first_token_at);
}

static void count_token(struct completion *c, int64_t now)
{
    struct counters *n = &c->service->counters;

    if (c->tokens++ == 0) {
        c->first_token_at = now;
        c->answer.cached_tokens = engine_cached_tokens(c->request);
        prom_observe(&n->ttft, ns_to_s(now - c->arrived_at));
    } else {
        prom_observe(&n->token_gap, ns_to_s(now - c->last_token_at));
    }
    c->last_token_at = now;
    update_answer(c);
}

static void send_opener(struct completion *c)
{
    const struct face *face = c->service->face;
    struct buf *out = &c->service->scratch;
    int64_t tokens = c->answer.completion_tokens;

    if (!face->opener || c->answer.endpoint != ENDPOINT_CHAT)
        return;
    c->answer.completion_tokens = 0;
    buf_reset(out);
    face->opener(&c->answer, out);
    c->answer.completion_tokens = tokens;
    outlet_emit(&c->outlet, out);
}

static bool is_last(const struct completion *c)
{
    return c->tokens == c->max_output || c->tokens == c->stop_after;
}

static void send_token(struct completion *c, const char *text, size_t n)
{
    const struct face *face = c->service->face;
    struct buf *out = &c->service->scratch;

    buf_reset(out);
    if (is_last(c)) {
        c->answer.finish = c->tokens == c->stop_after ? "stop" : "length";
        face->last(&c->answer, text, n, out);
    } else {
        buf_add(out, c->frame.p, c->text_at);
        buf_add(out, text, n);
        buf_add(out, c->frame.p + c->text_at, c->frame.len - c->text_at);
        face->usage_part(&c->answer, out);
        buf_add(out, "}\n\n", 3);
    }
    outlet_emit(&c->outlet, out);
}

static void on_token(void *owner, int64_t index, bool looped)
{
    struct completion *c = owner;
    char text[WRITER_TOKEN_MAX];

    if (fault_at_token(c, index))
        return;
    count_token(c, clock_now());
    size_t n = token_words(c, index, looped, text);
    if (!c->stream) {
        buf_add(&c->text, text, n);
        return;
    }
    if (index == 0)
        send_opener(c);
    send_token(c, text, n);
}

/* --- the end --- */

static void count_end(struct completion *c, enum engine_end why)
{
    struct counters *n = &c->service->counters;
    int64_t decode_ns = c->last_token_at - c->first_token_at;

    if (why == ENGINE_END_ABORTED) {
        n->aborted++;
        return;
    }
    n->stopped += why == ENGINE_END_STOP;
    n->full_length += why == ENGINE_END_LENGTH;
    prom_observe(&n->latency, ns_to_s(c->last_token_at - c->arrived_at));
    prom_observe(&n->token_mean, c->tokens > 1 ? ns_to_s(decode_ns) / (double)(c->tokens - 1) : 0);
    prom_observe(&n->prompt, (double)c->answer.prompt_tokens);
    prom_observe(&n->output, (double)c->tokens);
    prom_observe(&n->asked, (double)c->max_output);
}

static void reply_whole(struct completion *c)
{
    struct service *s = c->service;
    struct buf out;

    buf_init(&out, 6 * c->text.len + 8192);
    s->face->whole(&c->answer, c->text.p, c->text.len, &out);
    service_reply(s, c->x, 200, s->face->json_type, &out);
    buf_release(&out);
    completion_free(c);
}

static void end_answer(struct completion *c, enum engine_end why)
{
    const struct face *face = c->service->face;
    struct buf *out = &c->service->scratch;

    if (c->request && c->tokens > 0)
        count_output(c);
    c->request = NULL;
    count_end(c, why);
    if (why == ENGINE_END_ABORTED)
        c->answer.finish = "abort";
    else
        c->answer.finish = why == ENGINE_END_STOP ? "stop" : "length";
    if (!c->stream) {
        reply_whole(c);
        return;
    }
    if (why == ENGINE_END_ABORTED) {
        buf_reset(out);
        face->last(&c->answer, "", 0, out);
        outlet_emit(&c->outlet, out);
    }
    buf_reset(out);
    face->ending(&c->answer, out);
    buf_adds(out, "data: [DONE]\n\n");
    outlet_emit(&c->outlet, out);
    outlet_finish(&c->outlet);
}

static void on_end(void *owner, enum engine_end why)
{
    end_answer(owner, why);
}

const struct engine_events completion_events = {.on_token = on_token, .on_end = on_end};

int completion_abort(struct service *s, const char *id)
{
    struct completion *next;
    int n = 0;

    for (struct completion *c = s->open; *id && c; c = next) {
        next = c->older;
        if (!c->request || strncmp(c->id, id, strlen(id)) != 0)
            continue;
        leave_engine(c);
        end_answer(c, ENGINE_END_ABORTED);
        n++;
    }
    return n;
}

size_t completion_progress(const struct service *s, int64_t *ret, size_t max)
{
    size_t n = 0;
    for (const struct completion *c = s->open; c && n < max; c = c->older)
        if (c->request && c->tokens > 0)
            ret[n++] = c->tokens;
    return n;
}

/* --- the beginning --- */

/* How long the model would speak: a short question gets a short answer. */
static int64_t natural_length(uint64_t seed, int64_t prompt_tokens)
{
    struct rng rng = {seed};
    int64_t about = prompt_tokens / 4;

    about = about < SHORT_ANSWER ? SHORT_ANSWER : about > LONG_ANSWER ? LONG_ANSWER : about;
    return about / 2 + rng_below(&rng, (uint32_t)about) + 1;
}

/* The same prompt with the same seed gets the same answer, as with temperature 0. */
static uint64_t text_seed(const struct ask *ask)
{
    uint64_t seed = ask->has_seed ? (uint64_t)ask->seed : 0;
    size_t n = ask->prompt.n, from = n > 64 ? n - 64 : 0; /* its end tells prompts apart */

    seed = rng_mix(seed, n);
    for (size_t i = from; i < n; i++)
        seed = rng_mix(seed, ask->prompt.v[i]);
    return seed;
}

static void make_id(struct completion *c, const struct ask *ask)
{
    const struct face *face = c->service->face;
    char hex[33];

    snprintf(hex, sizeof hex, "%016llx%016llx", (unsigned long long)rng_entropy(),
             (unsigned long long)rng_entropy());
    if (ask->id[0])
        snprintf(c->id, sizeof c->id, "%s", ask->id);
    else
        snprintf(c->id, sizeof c->id, "%s%.*s", face->id_prefix[ask->endpoint], face->id_digits,
                 hex);
}

static struct completion *completion_new(struct service *s, struct exchange *x,
                                         const struct ask *ask, const struct fault **faults)
{
    struct completion *c = mem_alloc(sizeof *c);
    struct buf tail;

    c->service = s;
    c->x = x;
    memcpy(c->faults, faults, sizeof c->faults);
    c->outlet = (struct outlet){.service = s,
                                .x = x,
                                .split = faults[FAULT_SPLIT],
                                .bundle = faults[FAULT_BUNDLE],
                                .on_done = on_done,
                                .ctx = c};
    outlet_init(&c->outlet);
    c->stream = ask->stream;
    c->seed = text_seed(ask);
    c->max_output = ask->max_output;
    c->stop_after = ask->ignore_eos ? INT64_MAX : natural_length(c->seed, (int64_t)ask->prompt.n);
    if (c->stop_after < ask->min_output)
        c->stop_after = ask->min_output;
    c->arrived_at = exchange_arrived(x);
    make_id(c, ask);
    c->answer = (struct answer){
        .endpoint = ask->endpoint,
        .id = c->id,
        .model = s->rules.served_model,
        .created = clock_realtime() / NS_PER_S,
        .include_usage = ask->include_usage,
        .continuous_usage = ask->include_usage && ask->continuous_usage,
        .cached_in_usage = s->cached_in_usage,
        .prompt_tokens = (int64_t)ask->prompt.n,
    };
    buf_init(&c->text, TEXT_MAX);
    buf_init(&c->frame, 4096);
    buf_init(&tail, 4096);
    s->face->frame(&c->answer, &c->frame, &tail);
    c->text_at = c->frame.len;
    buf_add(&c->frame, tail.p, tail.len);
    buf_release(&tail);
    link_open(c);
    return c;
}

static void submit(struct completion *c, const struct ask *ask)
{
    const struct engine_submission submission = {
        .tokens = ask->prompt.v,
        .token_count = (int64_t)ask->prompt.n,
        .max_output = c->max_output,
        .stop_after = c->stop_after,
        .arrived = c->arrived_at,
        .owner = c,
    };
    const struct fault *slow = c->faults[FAULT_SLOW_HEADERS];

    exchange_set_owner(c->x, c);
    c->request = engine_submit(c->service->engine, &submission);
    if (!c->stream)
        return;
    if (slow)
        outlet_hold(&c->outlet, slow->for_ns);
    else if (!c->service->face->head_with_first_token)
        outlet_head(&c->outlet);
}

/* Some engines say what is wrong with a streaming request in the stream. */
static void complain_about(struct service *s, struct exchange *x, bool stream,
                           const struct complaint *complaint)
{
    struct buf *out = &s->scratch;

    s->counters.refused++;
    if (!stream || !s->face->in_stream || !s->face->in_stream(complaint)) {
        service_complain(s, x, complaint);
        return;
    }
    buf_reset(out);
    add_error_event(s->face, complaint, out);
    buf_adds(out, "data: [DONE]\n\n");
    service_start_stream(s, x);
    exchange_write(x, out->p, out->len);
    exchange_end(x);
}

static void refuse(struct service *s, struct exchange *x, const struct fault *f)
{
    struct complaint c;

    complain(&c, COMPLAINT_BUSY, "", "the server is busy, as it was told to be");
    c.status = (int)f->status;
    c.retry_after_s = f->retry_after_s;
    s->counters.refused++;
    service_complain(s, x, &c);
}

/* Only the end of the prompt is kept, and nobody is told. */
static void cut_prompt(struct ask *ask, int64_t keep)
{
    size_t n = (size_t)keep;
    if (ask->prompt.n <= n)
        return;
    ask->prompt.v += ask->prompt.n - n;
    ask->prompt.n = n;
}

void completion_start(struct service *s, struct exchange *x, enum endpoint endpoint)
{
    const struct fault *faults[FAULT_KINDS] = {NULL};
    struct complaint complaint;
    struct body body;
    struct ask ask;

    s->counters.requests++;
    if (s->faults)
        faults_pick(s->faults, s->counters.requests, s->open_count + 1, faults);
    if (faults[FAULT_REFUSE]) {
        refuse(s, x, faults[FAULT_REFUSE]);
        return;
    }
    if (!service_read_body(s, x, &body)) {
        s->counters.refused++;
        return;
    }
    bool ok = ask_read(&body, endpoint, &s->rules, &s->prompt, &s->memo, &ask, &complaint);
    bool stream = json_is_true(json_object_get(body.root, "stream"));
    body_release(&body);
    if (!ok) {
        complain_about(s, x, stream, &complaint);
        return;
    }
    if (faults[FAULT_CUT_PROMPT])
        cut_prompt(&ask, faults[FAULT_CUT_PROMPT]->count);
    submit(completion_new(s, x, &ask, faults), &ask);
}
