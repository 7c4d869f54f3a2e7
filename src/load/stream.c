/* stream.c - follows one answer and decides what it was.
 *
 * Everything that can go wrong ends in settle(): HTTP status, error objects inside a 200, bodies
 * that are no event stream, ends without an end mark. The lane may not be touched from its body
 * callbacks, so a stream that must be stopped there sets the kill timer. */
#include "load/stream.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/text.h"
#include "load/middlebox.h"

enum {
    PLAIN_MAX_BYTES = 64 << 10,
    SCRATCH_MAX_BYTES = SSE_EVENT_MAX,
    REPEATS_TELL = 3, /* so many texts in a row that repeat the one before are no accident */
};

static void note_usage(struct stream *s, const struct event *e)
{
    struct record *r = &s->record;
    if (e->prompt_tokens >= 0) {
        if (r->prompt_tokens >= 0 && e->prompt_tokens != r->prompt_tokens && r->token_events > 0)
            r->usage_fell = true;
        r->prompt_tokens = e->prompt_tokens;
    }
    if (e->cached_tokens >= 0)
        r->cached_tokens = e->cached_tokens;
    if (e->completion_tokens >= 0) {
        if (e->completion_tokens < r->completion_tokens)
            r->usage_fell = true;
        r->completion_tokens = e->completion_tokens;
    }
    if (e->reasoning_tokens >= 0)
        r->reasoning_tokens = e->reasoning_tokens;
    if (!isnan(e->prompt_ms))
        r->prompt_ms = e->prompt_ms;
}

/* Does this text begin with all of the text before it? Some servers send the whole answer so far
 * where a delta belongs. */
static void note_repetition(struct stream *s, struct slice text)
{
    size_t known = s->before_len < sizeof s->before ? s->before_len : sizeof s->before;
    bool longer = known > 1 && text.n > s->before_len && memcmp(text.p, s->before, known) == 0;
    s->longer_in_a_row = longer ? s->longer_in_a_row + 1 : 0;
    s->record.cumulative |= s->longer_in_a_row >= REPEATS_TELL;
    s->before_len = text.n;
    memcpy(s->before, text.p, text.n < sizeof s->before ? text.n : sizeof s->before);
}

static void note_token(struct stream *s, const struct event *e)
{
    struct record *r = &s->record;
    int64_t at = s->stamp->at, tokens = 0;

    if (!r->first_token_at)
        r->first_token_at = at;
    else if (!r->second_token_at)
        r->second_token_at = at;
    if (!r->first_visible_at && e->channel != CHANNEL_REASONING)
        r->first_visible_at = at;
    r->last_token_at = s->progress_at = at;
    r->token_events++;
    r->reasoning_events += e->channel == CHANNEL_REASONING;
    note_repetition(s, e->text);
    /* usage is credited to token events only: a total that arrives behind the text (the final usage
     * object) says nothing about when its tokens were made */
    if (r->completion_tokens > r->credited) {
        tokens = r->completion_tokens - r->credited;
        r->credited = r->completion_tokens;
        r->usage_growths++;
    }
    MEM_GROW(s->stamps, s->stamp_count, s->stamp_cap);
    s->stamps[s->stamp_count++] = (struct token_stamp){at, (int32_t)tokens};
    s->owner->on_token(s->ctx, s, at, tokens);
    if (s->owner->on_text)
        s->owner->on_text(s->ctx, s, e->channel, e->text);
}

/* What fits of an escaped text, printable. */
static void copy_slice(struct slice from, char *out, size_t size)
{
    struct buf plain;
    if (from.n > 6 * size) /* no character takes more bytes than \uXXXX */
        from.n = 6 * size;
    buf_init(&plain, 3 * from.n); /* a stray byte becomes a character of three */
    event_unescape(from, &plain);
    text_printable(out, size, plain.p, plain.len);
    buf_release(&plain);
}

/* What an error means for its request. What went on for a while and broke is no refusal. */
static enum outcome outcome_of_error(const struct record *r, const char *words, int code)
{
    if (r->token_events > 0)
        return OUTCOME_FAILED;
    switch (event_error_kind(words, code)) {
    case ERROR_OVERLOAD:
    case ERROR_REQUEST: return OUTCOME_REJECTED;
    case ERROR_TIMEOUT: return OUTCOME_TIMED_OUT;
    case ERROR_OTHER: break;
    }
    return OUTCOME_FAILED;
}

/* An error in place of text: the first one of a request counts. `p`: the payload it was read
 * from. */
static void note_error(struct stream *s, const struct event *e, const char *p, size_t n)
{
    struct record *r = &s->record;
    struct buf message;
    char text[400], type[80];
    if (r->error.code != ERR_NONE)
        return;
    buf_init(&message, PLAIN_MAX_BYTES);
    if (event_error_body(p, n, &message))
        snprintf(text, sizeof text, "%s", message.p);
    else
        copy_slice(e->error, text, sizeof text);
    buf_release(&message);
    copy_slice(e->error_type, type, sizeof type);
    err_set(&r->error, ERR_SERVER, "%s", text[0] ? text : "an error without a message");
    r->error_status = e->error_code;
    r->outcome = outcome_of_error(r, text, e->error_code);
    if (r->outcome == OUTCOME_FAILED && type[0])
        r->outcome = outcome_of_error(r, type, e->error_code);
}

static void note_malformed(struct stream *s, const struct sse_event *sse)
{
    char text[200];
    text_printable(text, sizeof text, sse->data, sse->len);
    if (s->record.error.code == ERR_NONE)
        err_set(&s->record.error, ERR_PROTOCOL, "an event that is no JSON: %s", text);
}

/* The first reason counts, but a failure is one whenever it is said. */
static void note_finish(struct stream *s, struct slice finish)
{
    struct record *r = &s->record;
    enum finish_kind kind = event_finish_kind(finish);
    if (kind == FINISH_NONE || (s->finish_seen && kind != FINISH_FAILED))
        return;
    s->finish_seen = true;
    copy_slice(finish, r->finish, sizeof r->finish);
    if (kind != FINISH_FAILED || r->error.code != ERR_NONE)
        return;
    err_set(&r->error, ERR_SERVER, "the server ended the answer with finish_reason '%s'",
            r->finish);
    /* a full queue, where the stream was open already */
    r->outcome = r->token_events == 0 && strncasecmp(r->finish, "abort", 5) == 0 ? OUTCOME_REJECTED
                                                                                 : OUTCOME_FAILED;
}

static void on_event(void *ctx, const struct sse_event *sse)
{
    struct stream *s = ctx;
    struct record *r = &s->record;
    struct event e;

    buf_reset(&s->scratch);
    event_read(s->memo, sse->data, sse->len, &s->scratch, &e);
    if (e.kind == EVENT_EMPTY)
        return;
    if (e.kind == EVENT_DONE) {
        s->done_seen = true;
        return;
    }
    if (!r->first_event_at)
        r->first_event_at = s->stamp->at;
    if (e.has_error || strcmp(sse->type, "error") == 0) {
        note_error(s, &e, sse->data, sse->len);
        return;
    }
    if (e.kind == EVENT_MALFORMED) {
        note_malformed(s, sse);
        return;
    }
    if (e.id.n && !s->request_id[0])
        copy_slice(e.id, s->request_id, sizeof s->request_id);
    if (e.has_usage)
        note_usage(s, &e);
    if (e.channel != CHANNEL_NONE)
        note_token(s, &e);
    note_finish(s, e.finish);
    s->done_seen |= e.done_flag;
}

/* What the head promises decides how the body is read. */
static void on_head(void *ctx, const struct http_head *head, const struct read_stamp *stamp)
{
    struct stream *s = ctx;
    struct record *r = &s->record;
    const struct lane_times *times = lane_times(s->lane);

    s->head = *head;
    r->http_status = head->status;
    r->head_at = stamp ? stamp->at : 0;
    r->send_at = times->send_at;
    r->sent_at = times->sent_at;
    r->connect_ns = times->connect_ns;
    r->retried = times->retried;
    s->is_sse = head->status == 200 && !head->content_encoding[0] &&
                strcmp(head->content_type, "application/json") != 0 &&
                strcmp(head->content_type, "text/html") != 0;
}

/* Some servers send event streams under the name of plain JSON. What a body is shows in its first
 * bytes, however few of them the first read brought. */
static bool is_stream_after_all(const struct stream *s)
{
    static const char *const begins[] = {"data:", "event:", "id:", "retry:", ":"};
    if (s->head.status != 200 || s->head.content_encoding[0])
        return false;
    for (size_t i = 0; i < ARRAY_LEN(begins); i++)
        if (text_starts(s->plain.p, begins[i]))
            return true;
    return false;
}

static void on_body(void *ctx, const char *p, size_t n, const struct read_stamp *stamp)
{
    struct stream *s = ctx;
    s->record.bytes += (int64_t)n;
    if (stamp->at != s->last_read_at) {
        s->last_read_at = stamp->at;
        s->record.reads++;
        if (s->owner->on_read)
            s->owner->on_read(s->ctx, s, stamp);
    }
    if (!s->is_sse) {
        size_t room = s->plain.max - s->plain.len;
        buf_add(&s->plain, p, n < room ? n : room);
        if (!is_stream_after_all(s))
            return;
        s->is_sse = true;
        p = s->plain.p;
        n = s->plain.len;
    }
    s->stamp = stamp;
    sse_feed(&s->sse, p, n);
    s->stamp = NULL;
    if (s->sse.too_long && s->record.error.code == ERR_NONE) {
        err_set(&s->record.error, ERR_LIMIT, "an event larger than %d MiB", SSE_EVENT_MAX >> 20);
        loop_timer_set(s->loop, &s->kill, clock_now());
    }
}

/* A status that is no success: what the body says, in one line. */
static void settle_status(struct stream *s)
{
    struct record *r = &s->record;
    struct buf message;

    buf_init(&message, PLAIN_MAX_BYTES);
    bool said = event_error_body(s->plain.p, s->plain.len, &message);
    if (r->http_status >= 300 && r->http_status < 400)
        err_set(&r->error, ERR_HTTP, "HTTP %d: the server redirects to %s; use that address",
                r->http_status, s->head.location[0] ? s->head.location : "nowhere");
    else
        err_set(&r->error, ERR_HTTP, "HTTP %d%s%.400s", r->http_status, said ? ": " : "",
                message.p);
    r->error_status = r->http_status;
    r->outcome = outcome_of_error(r, message.p, r->http_status);
    buf_release(&message);
}

/* Errors hide outside of events as well: a body that is JSON, a line of it between the events, or
 * the last line of JSON lines. */
static void find_error_in(struct stream *s, const struct buf *body)
{
    struct event e;
    for (size_t at = 0; at < body->len && s->record.error.code == ERR_NONE;) {
        const char *p = body->p + at, *end = memchr(p, '\n', body->len - at);
        size_t n = end ? (size_t)(end - p) : body->len - at;
        if (at == 0) { /* it may be one document over many lines */
            event_read(NULL, p, body->len, &s->scratch, &e);
            if (e.has_error)
                note_error(s, &e, p, body->len);
        }
        event_read(NULL, p, n, &s->scratch, &e);
        if (e.has_error)
            note_error(s, &e, p, n);
        at += n + 1;
    }
}

/* A 200 whose body is no event stream. */
static void settle_plain(struct stream *s)
{
    struct record *r = &s->record;
    struct buf message;
    const struct buf *body = s->is_sse ? &s->sse.stray : &s->plain;

    r->outcome = OUTCOME_FAILED;
    if (s->head.content_encoding[0]) {
        err_set(&r->error, ERR_PROTOCOL,
                "the answer is compressed (%s) although identity was asked for: its timing would "
                "mean nothing; switch compression off for event streams",
                s->head.content_encoding);
        return;
    }
    find_error_in(s, body);
    if (r->error.code != ERR_NONE)
        return;
    buf_init(&message, PLAIN_MAX_BYTES);
    bool json = body->len > 0 && (body->p[0] == '{' || body->p[0] == '[');
    if (json && strstr(body->p, "\"choices\""))
        err_set(&r->error, ERR_PROTOCOL, "the server answered in one piece instead of streaming");
    else if (event_error_body(body->p, body->len, &message))
        err_set(&r->error, ERR_SERVER, "%.400s", message.p);
    else if (s->head.content_type[0])
        err_set(&r->error, ERR_PROTOCOL, "the answer is %s, not an event stream",
                s->head.content_type);
    else
        err_set(&r->error, ERR_PROTOCOL, "the answer is not an event stream");
    buf_release(&message);
}

static void settle_lane_error(struct record *r, const struct err *lane_error)
{
    r->error = *lane_error;
    r->outcome = lane_error->code == ERR_TIMEOUT ? OUTCOME_TIMED_OUT : OUTCOME_FAILED;
    if (lane_error->code == ERR_CLOSED && r->first_event_at)
        r->outcome = OUTCOME_TRUNCATED;
}

static void settle_end(struct stream *s)
{
    struct record *r = &s->record;

    if (r->token_events == 0) {
        r->outcome = OUTCOME_EMPTY;
        err_set(&r->error, ERR_SERVER, "an empty answer: not a single token");
    } else if (s->finish_seen) {
        r->outcome = s->done_seen ? OUTCOME_COMPLETE : OUTCOME_NO_DONE;
    } else if (s->done_seen) {
        r->outcome = OUTCOME_NO_FINISH;
    } else {
        r->outcome = OUTCOME_TRUNCATED;
        err_set(&r->error, ERR_CLOSED, "the answer ended without finish_reason or [DONE]%s%.200s",
                s->sse.stray.len ? "; its last words: " : "", s->sse.stray.p);
    }
}

static void settle_stream(struct stream *s, const struct err *lane_error)
{
    struct record *r = &s->record;

    find_error_in(s, &s->sse.stray);
    if (r->error.code != ERR_NONE) {
        bool refused = r->outcome == OUTCOME_REJECTED || r->outcome == OUTCOME_TIMED_OUT;
        if (!outcome_is_failure(r->outcome) || (refused && r->token_events > 0))
            r->outcome = OUTCOME_FAILED; /* also where text came behind a refusal */
    } else if (lane_error) {
        settle_lane_error(r, lane_error);
    } else if (s->sse.events == 0 && s->sse.stray.len > 0) {
        settle_plain(s);
    } else {
        settle_end(s);
    }
    if (r->error.code != ERR_NONE && r->token_events > 0)
        err_prefix(&r->error, "after %" PRId64 " token events", r->token_events);
}

/* Our own limit is none of theirs. */
static void name_middlebox(struct record *r, const struct err *lane_error)
{
    int64_t age = r->close_at - r->send_at;
    bool ours = lane_error && lane_error->code == ERR_TIMEOUT;
    bool broke = lane_error || (r->http_status && r->http_status != 200);

    if (ours || !broke || !middlebox_gave_up(r->http_status, r->token_events, age))
        return;
    r->outcome = OUTCOME_TIMED_OUT;
    err_prefix(&r->error, "something on the way gave up waiting after %.0f s", ns_to_s(age));
}

static void settle(struct stream *s, const struct err *lane_error, int64_t at)
{
    struct record *r = &s->record;
    struct read_stamp stamp = {.at = at};

    if (s->is_sse) {
        s->stamp = &stamp;
        sse_finish(&s->sse);
        s->stamp = NULL;
    }
    r->close_at = at;
    if (!r->send_at)
        r->send_at = r->planned_at;
    if (r->http_status && r->http_status != 200)
        settle_status(s);
    else if (r->http_status && !s->is_sse && !lane_error)
        settle_plain(s);
    else
        settle_stream(s, lane_error);
    name_middlebox(r, lane_error);
    s->active = false;
    loop_timer_cancel(s->loop, &s->watchdog);
    loop_timer_cancel(s->loop, &s->kill);
}

static void on_end(void *ctx, const struct err *err, int64_t at)
{
    struct stream *s = ctx;
    if (!s->active) { /* lane_open failed */
        s->owner->on_open(s->ctx, s, err);
        return;
    }
    settle(s, err, at);
    s->owner->on_end(s->ctx, s);
}

static void on_open(void *ctx)
{
    struct stream *s = ctx;
    s->owner->on_open(s->ctx, s, NULL);
}

static const struct lane_events lane_callbacks = {on_open, on_head, on_body, on_end};

static void end_by_us(struct stream *s, const struct err *why)
{
    lane_cancel(s->lane);
    settle(s, why, clock_now());
    s->owner->on_end(s->ctx, s);
}

static void on_watchdog(void *ctx)
{
    struct stream *s = ctx;
    struct err err;
    char text[NUM_TEXT_MAX];
    int64_t due = s->progress_at + s->timeout_ns;

    if (due > clock_now()) {
        loop_timer_set(s->loop, &s->watchdog, due);
        return;
    }
    err_set(&err, ERR_TIMEOUT, "no %stoken for %s", s->record.token_events ? "further " : "",
            num_duration_text(text, s->timeout_ns));
    end_by_us(s, &err);
}

static void on_kill(void *ctx)
{
    struct stream *s = ctx;
    end_by_us(s, NULL);
}

void stream_init(struct stream *s, struct transport *t, struct loop *loop,
                 const struct stream_owner *owner, void *ctx, int index)
{
    memset(s, 0, sizeof *s);
    s->transport = t;
    s->loop = loop;
    s->owner = owner;
    s->ctx = ctx;
    s->index = index;
    s->timeout_ns = 600 * NS_PER_S;
    s->watchdog = (struct loop_timer){.fn = on_watchdog, .ctx = s};
    s->kill = (struct loop_timer){.fn = on_kill, .ctx = s};
    s->lane = lane_new(t, &lane_callbacks, s);
    sse_init(&s->sse, SSE_EVENT_MAX, on_event, s);
    buf_init(&s->scratch, SCRATCH_MAX_BYTES);
    s->memo = event_memo_new();
    buf_init(&s->plain, PLAIN_MAX_BYTES);
}

void stream_release(struct stream *s)
{
    if (!s->lane)
        return;
    loop_timer_cancel(s->loop, &s->watchdog);
    loop_timer_cancel(s->loop, &s->kill);
    lane_free(s->lane);
    sse_release(&s->sse);
    buf_release(&s->scratch);
    buf_release(&s->plain);
    free(s->stamps);
    free(s->memo);
    memset(s, 0, sizeof *s);
}

void stream_open(struct stream *s)
{
    lane_open(s->lane);
}

void stream_send(struct stream *s, const char *path, const struct part *body, size_t parts)
{
    struct http_request request = {.method = "POST", .path = path, .body_parts = parts};

    memcpy(request.body, body, parts * sizeof *body);
    s->record = (struct record){.planned_at = clock_now(),
                                .prompt_tokens = -1,
                                .completion_tokens = -1,
                                .cached_tokens = -1,
                                .reasoning_tokens = -1,
                                .prompt_ms = NAN};
    s->stamp_count = s->before_len = 0;
    s->longer_in_a_row = 0;
    s->request_id[0] = '\0';
    s->is_sse = s->done_seen = s->finish_seen = false;
    s->active = true;
    s->progress_at = s->record.planned_at;
    sse_reset(&s->sse);
    buf_reset(&s->plain);
    loop_timer_set(s->loop, &s->watchdog, s->progress_at + s->timeout_ns);
    lane_send(s->lane, &request);
}

void stream_cancel(struct stream *s)
{
    bool was_active = s->active;
    lane_cancel(s->lane);
    loop_timer_cancel(s->loop, &s->watchdog);
    loop_timer_cancel(s->loop, &s->kill);
    s->active = false;
    if (!was_active)
        return;
    s->record.outcome = OUTCOME_CANCELLED;
    s->record.close_at = clock_now();
    if (!s->record.send_at)
        s->record.send_at = s->record.planned_at;
}

bool stream_active(const struct stream *s)
{
    return s->active;
}

static int64_t since(int64_t at, int64_t run_at)
{
    return at ? at - run_at : -1;
}

void stream_sample(const struct stream *s, int64_t run_at, struct sample *ret)
{
    const struct record *r = &s->record;
    *ret = (struct sample){
        .stream = s->index,
        .outcome = r->outcome,
        .send_ns = since(r->send_at, run_at),
        .headers_ns = since(r->head_at, run_at),
        .first_event_ns = since(r->first_event_at, run_at),
        .first_token_ns = since(r->first_token_at, run_at),
        .first_visible_ns = since(r->first_visible_at, run_at),
        .second_token_ns = since(r->second_token_at, run_at),
        .last_token_ns = since(r->last_token_at, run_at),
        .close_ns = since(r->close_at, run_at),
        .connect_ns = r->connect_ns,
        .prompt_tokens = r->prompt_tokens,
        .completion_tokens = r->completion_tokens,
        .cached_tokens = r->cached_tokens,
        .events = r->token_events,
        .reads = r->reads,
        .bytes = r->bytes,
        .http_status = r->http_status,
        .retried = r->retried,
        .stamps = s->stamps,
        .stamp_count = s->stamp_count,
    };
    snprintf(ret->finish, sizeof ret->finish, "%s", r->finish);
    if (r->error.code != ERR_NONE)
        text_printable(ret->error, sizeof ret->error, r->error.text, strlen(r->error.text));
}
