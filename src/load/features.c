/* features.c - what the server obeys, not merely accepts.
 *
 * Each probe is a request or two of a few tokens and answers one question; nothing here loads the
 * server. A server that says nothing either way leaves the verdict unknown. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "load/session.h"

enum { SHORT_WORDS = 8, LONG_ENOUGH = 24 };

static const char obeyed[] = "obeyed", ignored[] = "ignored", refused[] = "refused",
                  absent[] = "absent";

void session_feature(struct session *s, enum feature f, const char *verdict, const char *source)
{
    mem_set_string(&s->result->server.features[f], verdict);
    result_add_fact(s->result, feature_name(f), verdict, verdict ? source : NULL);
}

static bool was_refused(const struct record *r)
{
    return r->error_status == 400 || r->error_status == 422; /* also inside a 200 */
}

/* Tokens of the last answer: by usage where that may be believed, else its pieces of text. */
static int64_t written(const struct session *s)
{
    const struct record *r = &s->single.record;
    bool said = r->completion_tokens > 0 && session_usage_is_plausible(r);
    return said ? r->completion_tokens : r->token_events;
}

static bool ask(struct session *s, const char *task, int64_t max_tokens, struct err *err)
{
    struct buf text;
    buf_init(&text, 1 << 20);
    session_short_text(s, task ? 0 : SHORT_WORDS, task, &text);
    bool asked = session_ask_text(s, text.p, max_tokens);
    buf_release(&text);
    return asked || session_interrupted(err);
}

/* --- going on past the end of the answer --- */

static const char brief_task[] = "Answer with the single word OK and nothing else.";

static bool went_on(const struct session *s)
{
    const struct record *r = &s->single.record;
    return strcmp(r->finish, "length") == 0 || r->token_events >= LONG_ENOUGH - 1;
}

/* The brief task again with one of the fields that should prolong the answer. */
static bool try_prolonging(struct session *s, enum feature f, bool *flag, struct err *err)
{
    bool was = *flag;
    *flag = true;
    bool asked = ask(s, brief_task, LONG_ENOUGH, err);
    *flag = was;
    if (!asked)
        return false;
    const char *verdict = was_refused(&s->single.record) ? refused : went_on(s) ? obeyed : ignored;
    *flag = verdict == obeyed;
    session_feature(s, f, verdict, "a brief answer, without and with it");
    return true;
}

/* Something that ends by itself after a word or two, asked without and with ignore_eos. */
static bool probe_ends(struct session *s, struct err *err)
{
    const struct record *r = &s->single.record;
    bool could_ignore_eos = s->shape.ignore_eos; /* not refused */

    s->shape.ignore_eos = false;
    if (!ask(s, brief_task, LONG_ENOUGH, err))
        return false;
    if (strcmp(r->finish, "length") == 0 || r->token_events >= LONG_ENOUGH) {
        /* it cannot be told here; the engine's own word decides */
        s->shape.ignore_eos = could_ignore_eos && s->dialect->obeys_ignore_eos;
        if (could_ignore_eos)
            session_feature(s, FEATURE_IGNORE_EOS, s->shape.ignore_eos ? obeyed : NULL,
                            "the engine's documentation");
        session_feature(s, FEATURE_MIN_TOKENS, NULL, NULL);
        return true;
    }
    if (could_ignore_eos && !try_prolonging(s, FEATURE_IGNORE_EOS, &s->shape.ignore_eos, err))
        return false;
    bool ignores_eos = s->shape.ignore_eos;
    s->shape.ignore_eos = false;
    bool ok = try_prolonging(s, FEATURE_MIN_TOKENS, &s->shape.min_tokens, err);
    s->shape.ignore_eos = ignores_eos;
    if (ignores_eos)
        s->shape.min_tokens = false; /* one is enough */
    return ok;
}

/* --- the newer name of max_tokens --- */

static bool probe_max_completion_tokens(struct session *s, struct err *err)
{
    static const char source[] = "a short request that names no other limit";
    const struct record *r = &s->single.record;
    int64_t limit = s->first_tokens > 4 ? s->first_tokens : 4;
    bool was = s->shape.max_completion_tokens;
    const char *verdict = NULL;

    s->shape.max_completion_tokens = true;
    if (!ask(s, NULL, limit, err))
        return false;
    if (was_refused(r))
        verdict = refused;
    else if (strcmp(r->finish, "length") == 0 && written(s) <= limit + 1)
        verdict = obeyed;
    else if (written(s) > 2 * limit)
        verdict = ignored;
    s->shape.max_completion_tokens = was || (verdict == obeyed && s->ignores_max_tokens);
    session_feature(s, FEATURE_MAX_COMPLETION_TOKENS, verdict, source);
    return true;
}

/* --- requests beside one another --- */

/* A request of its own, beside the session's. */
struct side {
    struct stream stream;
    struct buf opening, body, ending;
    bool over;
};

static void side_token(void *ctx, struct stream *stream, int64_t at, int64_t tokens)
{
    (void)ctx, (void)stream, (void)at, (void)tokens;
}

static void side_end(void *ctx, struct stream *stream)
{
    struct side *side = ctx;
    (void)stream;
    side->over = true;
}

static void side_open(void *ctx, struct stream *stream, const struct err *err)
{
    (void)ctx, (void)stream, (void)err; /* never opened ahead */
}

static const struct stream_owner side_owner = {
    .on_token = side_token,
    .on_end = side_end,
    .on_open = side_open,
};

static void side_start(struct session *s, struct side *side, int64_t max_tokens, const char *rid)
{
    struct buf text;

    memset(side, 0, sizeof *side);
    stream_init(&side->stream, s->transport, s->loop, &side_owner, side, 0);
    side->stream.timeout_ns = s->options->request_timeout_ns;
    buf_init(&side->opening, 65536);
    buf_init(&side->body, 1 << 20);
    buf_init(&side->ending, 65536);
    buf_init(&text, 1 << 20);
    session_short_text(s, SHORT_WORDS, NULL, &text);
    request_opening(s->model, &side->opening);
    request_escape(text.p, text.len, &side->body);
    request_ending(&s->shape, "", max_tokens, rid, &side->ending);
    buf_release(&text);
    const struct part parts[] = {{side->opening.p, side->opening.len},
                                 {side->body.p, side->body.len},
                                 {side->ending.p, side->ending.len}};
    stream_send(&side->stream, CHAT_PATH, parts, ARRAY_LEN(parts));
    side->stream.record.asked_tokens = max_tokens;
}

/* A server that ignores the limit would go on for ever. */
static bool side_runs(const struct side *side, int64_t max_tokens)
{
    return !side->over && side->stream.record.token_events <= 2 * max_tokens + 32;
}

static void side_finish(struct session *s, struct side *side)
{
    if (stream_active(&side->stream))
        stream_cancel(&side->stream);
    s->last_activity_at = clock_now();
    session_sample(s, &side->stream, "calibrate", 0, 1, 0);
    stream_release(&side->stream);
    buf_release(&side->opening);
    buf_release(&side->body);
    buf_release(&side->ending);
}

static bool ran_one_after_the_other(const struct record *a, const struct record *b)
{
    const struct record *first = a->first_token_at <= b->first_token_at ? a : b;
    const struct record *second = first == a ? b : a;
    /* an answer that came in one piece says nothing about when it was written */
    return first->last_token_at > first->first_token_at && first->token_events >= 4 &&
           second->first_token_at >= first->last_token_at;
}

/* Two small requests at once: does the second begin while the first one runs? */
static bool probe_one_at_a_time(struct session *s, struct err *err)
{
    enum { TOKENS = 16 };
    struct side side[2];

    if (s->facts.max_running.value > 0)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(side); i++)
        side_start(s, &side[i], TOKENS, NULL);
    while ((side_runs(&side[0], TOKENS) || side_runs(&side[1], TOKENS)) && !session_skipping(s))
        loop_turn(s->loop, clock_now() + 250 * NS_PER_MS);
    const struct record *a = &side[0].stream.record, *b = &side[1].stream.record;
    bool one = side[0].over && side[1].over && !outcome_is_failure(a->outcome) &&
               !outcome_is_failure(b->outcome) && ran_one_after_the_other(a, b);
    for (size_t i = 0; i < ARRAY_LEN(side); i++)
        side_finish(s, &side[i]);
    if (session_skipping(s))
        return session_interrupted(err);
    if (!one)
        return true;
    known_number_set(&s->facts.max_running, 1, "two requests at once: one waited for the other");
    s->result->server.max_running = 1;
    result_add_fact(s->result, "max_running", "1", s->facts.max_running.source);
    result_add_note(s->result, "the server answers one request at a time: with more, the others "
                               "wait in its queue");
    session_event(s, "info", "the server answers one request at a time");
    return true;
}

/* --- ending a request --- */

enum { ABORT_TOKENS = 96 };

static bool wait_first_token(struct session *s, struct side *side)
{
    while (!side->stream.record.first_token_at && !side->over && !session_skipping(s))
        loop_turn(s->loop, clock_now() + 20 * NS_PER_MS);
    return side->stream.record.first_token_at && !side->over;
}

/* SGLang and its like: by the request's own id. */
static void probe_abort_by_id(struct session *s, struct side *side, const char *rid)
{
    struct fetch_reply reply = {0};
    struct err err;
    struct buf body;
    int64_t rest = s->idle_itl_ns * ABORT_TOKENS;
    int64_t give_up_at = clock_now() + (rest > NS_PER_S ? NS_PER_S : rest / 2);

    buf_init(&reply.body, 65536);
    buf_init(&body, 1024);
    buf_addf(&body, "{\"rid\":\"%s\"}", rid);
    bool posted = fetch(s->fetcher, s->dialect->abort_path, body.p, NS_PER_S, &reply, &err);
    while (posted && !side->over && clock_now() < give_up_at && !session_skipping(s))
        loop_turn(s->loop, clock_now() + 10 * NS_PER_MS);
    if (!posted || reply.status == 404)
        session_feature(s, FEATURE_ABORT, absent, s->dialect->abort_path);
    else
        session_feature(s, FEATURE_ABORT, side->over ? obeyed : ignored, s->dialect->abort_path);
    s->abort_failed = !side->over;
    if (!posted)
        session_event(s, "warning", "aborting a request failed: %s", err.text);
    buf_release(&body);
    buf_release(&reply.body);
}

/* Requests the server works on, by whatever it says; NAN: it says nothing. */
static double running(struct session *s)
{
    struct server_load load;
    struct reading r;
    if (s->has_metrics && monitor_read_metrics(s->fetcher, &s->metrics, &r))
        return r.running;
    return monitor_read_load(s->fetcher, &s->metrics, &load) ? load.running : NAN;
}

/* The others: by closing the connection. The gauge must have shown the request, and then lose it
 * well before it would have ended by itself. */
static void probe_disconnect(struct session *s, struct side *side)
{
    int64_t left = ABORT_TOKENS - side->stream.record.token_events;
    double before = running(s), now = before;
    char source[SOURCE_MAX];

    int64_t closed_at = clock_now(), rest = left * s->idle_itl_ns;
    stream_cancel(&side->stream);
    if (!(before >= 1) || rest < 100 * NS_PER_MS) {
        session_feature(s, FEATURE_ABORT, NULL, NULL);
        return;
    }
    while (now >= before && clock_now() < closed_at + rest && !session_skipping(s)) {
        loop_turn(s->loop, clock_now() + 10 * NS_PER_MS);
        now = running(s);
    }
    int64_t took = clock_now() - closed_at;
    bool stopped = now < before && took < rest * 7 / 10;
    snprintf(source, sizeof source, "a closed request ran on for %.2f s of %.2f", ns_to_s(took),
             ns_to_s(rest));
    session_feature(s, FEATURE_ABORT, stopped ? obeyed : ignored, source);
    if (!stopped)
        session_event(s, "info",
                      "closing a request does not end its work: every cell waits until the server "
                      "is idle");
}

static bool probe_abort(struct session *s, struct err *err)
{
    struct side side;
    char rid[40];
    bool by_id = s->dialect->abort_path;

    if (!by_id && isnan(running(s))) {
        session_feature(s, FEATURE_ABORT, NULL, NULL);
        return true;
    }
    session_request_id(s, rid, sizeof rid);
    side_start(s, &side, ABORT_TOKENS, by_id ? rid : NULL);
    if (!wait_first_token(s, &side))
        session_feature(s, FEATURE_ABORT, NULL, NULL);
    else if (by_id)
        probe_abort_by_id(s, &side, rid);
    else
        probe_disconnect(s, &side);
    side_finish(s, &side);
    return !session_skipping(s) || session_interrupted(err);
}

bool session_probe_features(struct session *s, struct err *err)
{
    return probe_ends(s, err) && probe_max_completion_tokens(s, err) &&
           probe_one_at_a_time(s, err) && probe_abort(s, err);
}
