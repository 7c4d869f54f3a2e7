/* test_stream.c - what a scripted server streams against the record that is made of it. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../net/peer.h"
#include "base/clock.h"
#include "base/num.h"
#include "load/stream.h"

struct rig {
    struct peer *peer;
    struct loop *loop;
    struct endpoint endpoint;
    struct transport *transport;
    struct stream stream;
    struct buf text; /* "c:text;" per token event, r and t for the other channels */
    int tokens, reads, ends, opens;
    int64_t token_sum, last_at;
    struct read_stamp read; /* the newest */
    struct err open_error;
    bool send_again; /* from on_end, once */
};

static const struct part body[] = {{"{\"stream\":", 10}, {"true}", 5}};

static void on_token(void *ctx, struct stream *s, int64_t at, int64_t tokens)
{
    struct rig *r = ctx;
    assert_ptr_equal(s, &r->stream);
    assert_true(at >= r->last_at && at > 0);
    r->tokens++;
    r->token_sum += tokens;
    r->last_at = at;
}

static void on_text(void *ctx, struct stream *s, enum channel channel, struct slice text)
{
    struct rig *r = ctx;
    (void)s;
    buf_addf(&r->text, "%c:%.*s;", "?crt"[channel], (int)text.n, text.p);
}

static void on_read(void *ctx, struct stream *s, const struct read_stamp *stamp)
{
    struct rig *r = ctx;
    (void)s;
    r->reads++;
    r->read = *stamp;
}

static void on_end(void *ctx, struct stream *s)
{
    struct rig *r = ctx;
    r->ends++;
    assert_false(stream_active(s));
    if (r->send_again)
        stream_send(s, "/v1/chat/completions", body, ARRAY_LEN(body));
    r->send_again = false;
}

static void on_open(void *ctx, struct stream *s, const struct err *err)
{
    struct rig *r = ctx;
    (void)s;
    r->opens++;
    r->open_error = err ? *err : (struct err){.code = ERR_NONE};
}

static const struct stream_owner owner = {on_token, on_text, on_read, on_end, on_open};

static void rig_init(struct rig *r, const struct peer_step *const *scripts, size_t count)
{
    memset(r, 0, sizeof *r);
    r->peer = peer_start(scripts, count, NULL);
    r->loop = loop_new(NULL);
    peer_endpoint(r->peer, &r->endpoint, true);
    r->transport = transport_new("own", r->loop, &r->endpoint, NULL);
    assert_non_null(r->transport);
    buf_init(&r->text, 1 << 20);
    stream_init(&r->stream, r->transport, r->loop, &owner, r, 3);
}

static void rig_release(struct rig *r)
{
    stream_release(&r->stream);
    stream_release(&r->stream);
    transport_free(r->transport);
    endpoint_close(&r->endpoint);
    loop_free(r->loop);
    peer_stop(r->peer);
    buf_release(&r->text);
}

static void turn_until(struct rig *r, const int *counter, int n)
{
    int64_t give_up_at = clock_now() + 10 * NS_PER_S;
    while (*counter < n) {
        if (clock_now() > give_up_at)
            fail_msg("nothing happened: %d tokens, %d ends", r->tokens, r->ends);
        loop_turn(r->loop, give_up_at);
    }
}

static void ask(struct rig *r)
{
    stream_send(&r->stream, "/v1/chat/completions", body, ARRAY_LEN(body));
    assert_true(stream_active(&r->stream));
}

/* --- one answer, one record --- */

#define HEAD(status, type) "HTTP/1.1 " status "\r\nContent-Type: " type "\r\n\r\n"
#define SSE                HEAD("200 OK", "text/event-stream")
#define JSON(status)       HEAD(status, "application/json")
#define DATA(json)         "data: " json "\n\n"
#define DELTA(delta)       DATA("{\"choices\":[{\"delta\":{" delta "}}]}")
#define TOKEN(text)        DELTA("\"content\":\"" text "\"")
#define FINISH(reason)     DATA("{\"choices\":[{\"delta\":{},\"finish_reason\":\"" reason "\"}]}")
#define DONE               DATA("[DONE]")
#define USAGE(p, c)        "\"usage\":{\"prompt_tokens\":" #p ",\"completion_tokens\":" #c "}"
#define TOKEN_USAGE(text, p, c)                                                                    \
    DATA("{\"choices\":[{\"delta\":{\"content\":\"" text "\"}}]," USAGE(p, c) "}")
#define LAST_USAGE(p, c) DATA("{\"choices\":[]," USAGE(p, c) "}")

struct row {
    const char *wire;
    enum outcome outcome;
    const char *text, *finish;
    enum err_code code;
    const char *error; /* the whole text; NULL: not compared */
    int64_t prompt, completion, growths;
    bool fell;
};

static void check(const struct row *row, const struct rig *r)
{
    const struct record *got = &r->stream.record;
    if (got->outcome != row->outcome || got->error.code != row->code)
        fail_msg("%s: %s, error %d '%s'", row->wire, outcome_name(got->outcome),
                 (int)got->error.code, got->error.text);
    if (row->code != ERR_NONE && row->error)
        assert_string_equal(got->error.text, row->error);
    assert_string_equal(r->text.p, row->text);
    assert_string_equal(got->finish, row->finish);
    assert_int_equal(got->prompt_tokens, row->prompt);
    assert_int_equal(got->completion_tokens, row->completion);
    assert_int_equal(got->usage_growths, row->growths);
    assert_int_equal(got->usage_fell, row->fell);
    assert_int_equal(got->token_events, r->tokens);
    assert_int_equal(r->stream.stamp_count, (size_t)r->tokens);
    assert_true(got->send_at >= got->planned_at);
    assert_true(got->close_at >= got->send_at);
    assert_int_equal(got->reads, r->reads);
    assert_int_equal(outcome_is_failure(got->outcome), row->code != ERR_NONE);
}

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct peer_step script[] = {{.what = PEER_REQUEST},
                                           {.what = PEER_SEND, .text = rows[i].wire},
                                           {.what = PEER_CLOSE}};
        const struct peer_step *const scripts[] = {script};
        struct rig r;
        rig_init(&r, scripts, 1);
        ask(&r);
        turn_until(&r, &r.ends, 1);
        check(&rows[i], &r);
        rig_release(&r);
    }
}

static void test_good_streams(void **state)
{
    static const struct row rows[] = {
        {SSE DELTA("\"role\":\"assistant\",\"content\":\"\"") TOKEN("a") TOKEN(" b") FINISH("stop")
             DONE,
         OUTCOME_COMPLETE, "c:a;c: b;", "stop", ERR_NONE, NULL, -1, -1, 0, false},
        {SSE TOKEN("a") FINISH("length"), /* no [DONE] */
         OUTCOME_NO_DONE, "c:a;", "length", ERR_NONE, NULL, -1, -1, 0, false},
        {SSE TOKEN("a") DONE, /* no finish_reason */
         OUTCOME_NO_FINISH, "c:a;", "", ERR_NONE, NULL, -1, -1, 0, false},
        {SSE TOKEN("a") "data: [DONE]", /* and no blank line behind it */
         OUTCOME_NO_FINISH, "c:a;", "", ERR_NONE, NULL, -1, -1, 0, false},
        /* other channels */
        {SSE DELTA("\"reasoning_content\":\"r\"") DELTA("\"reasoning\":\"s\"")
             DELTA("\"content\":null") TOKEN("c") FINISH("stop"),
         OUTCOME_NO_DONE, "r:r;r:s;c:c;", "stop", ERR_NONE, NULL, -1, -1, 0, false},
        {SSE DELTA("\"tool_calls\":[{\"function\":{\"arguments\":\"{\"}}]") FINISH("tool_calls"),
         OUTCOME_NO_DONE, "t:{;", "tool_calls", ERR_NONE, NULL, -1, -1, 0, false},
        /* usage on every event, at the end, both, null, before the text it counts */
        {SSE TOKEN_USAGE("a", 9, 1) TOKEN_USAGE("b", 9, 3) TOKEN_USAGE("c", 9, 4) FINISH("stop"),
         OUTCOME_NO_DONE, "c:a;c:b;c:c;", "stop", ERR_NONE, NULL, 9, 4, 3, false},
        {SSE TOKEN("a") TOKEN("b") FINISH("stop") LAST_USAGE(9, 2) DONE, OUTCOME_COMPLETE,
         "c:a;c:b;", "stop", ERR_NONE, NULL, 9, 2, 0, false},
        {SSE TOKEN_USAGE("a", 9, 1) TOKEN("b") LAST_USAGE(9, 5) FINISH("stop"), OUTCOME_NO_DONE,
         "c:a;c:b;", "stop", ERR_NONE, NULL, 9, 5, 1, false},
        {SSE LAST_USAGE(9, 0) TOKEN("a") LAST_USAGE(9, 2) TOKEN("b") FINISH("stop"),
         OUTCOME_NO_DONE, "c:a;c:b;", "stop", ERR_NONE, NULL, 9, 2, 1, false},
        {SSE DATA("{\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":null}") FINISH("stop"),
         OUTCOME_NO_DONE, "c:a;", "stop", ERR_NONE, NULL, -1, -1, 0, false},
        {SSE TOKEN_USAGE("a", 9, 3) TOKEN_USAGE("b", 9, 2) FINISH("stop"), OUTCOME_NO_DONE,
         "c:a;c:b;", "stop", ERR_NONE, NULL, 9, 2, 1, true},
        {SSE TOKEN_USAGE("a", 9, 1) TOKEN_USAGE("b", 8, 2) FINISH("stop"), OUTCOME_NO_DONE,
         "c:a;c:b;", "stop", ERR_NONE, NULL, 8, 2, 2, true},
        /* heartbeats, an unknown type of content, a body without one */
        {SSE ": ping\n\ndata:\n\n" TOKEN("a") ": ping\n\n" FINISH("stop"), OUTCOME_NO_DONE, "c:a;",
         "stop", ERR_NONE, NULL, -1, -1, 0, false},
        {HEAD("200 OK", "text/plain") TOKEN("a") FINISH("stop"), OUTCOME_NO_DONE, "c:a;", "stop",
         ERR_NONE, NULL, -1, -1, 0, false},
        {"HTTP/1.0 200 OK\r\n\r\n" TOKEN("a") FINISH("stop"), OUTCOME_NO_DONE, "c:a;", "stop",
         ERR_NONE, NULL, -1, -1, 0, false},
        {SSE TOKEN("a") FINISH("stop") FINISH("length"), OUTCOME_NO_DONE, "c:a;", "stop", ERR_NONE,
         NULL, -1, -1, 0, false},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

#define NOTHING "", "", /* no text, no finish */

static void test_bad_streams(void **state)
{
    static const struct row rows[] = {
        {SSE TOKEN("a") TOKEN("b"), OUTCOME_TRUNCATED, "c:a;c:b;", "", ERR_CLOSED,
         "after 2 token events: the answer ended without finish_reason or [DONE]", -1, -1, 0,
         false},
        {SSE TOKEN("a") "error: {\"code\":500,\"message\":\"boom\"}\n\n", OUTCOME_FAILED, "c:a;",
         "", ERR_SERVER, "after 1 token events: boom", -1, -1, 0, false},
        {SSE TOKEN("a") "Killed\n", OUTCOME_TRUNCATED, "c:a;", "", ERR_CLOSED,
         "after 1 token events: the answer ended without finish_reason or [DONE]; its last words: "
         "Killed",
         -1, -1, 0, false},
        {"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n" TOKEN("a"), OUTCOME_TRUNCATED, "c:a;", "",
         ERR_CLOSED,
         "after 1 token events: the server closed the connection in the middle of its answer", -1,
         -1, 0, false},
        {"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n", OUTCOME_FAILED, NOTHING ERR_CLOSED,
         "the server closed the connection in the middle of its answer", -1, -1, 0, false},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", OUTCOME_FAILED,
         NOTHING ERR_PROTOCOL, NULL, -1, -1, 0, false},
        /* a success without a token is none */
        {SSE, OUTCOME_EMPTY, NOTHING ERR_SERVER, "an empty answer: not a single token", -1, -1, 0,
         false},
        {SSE DONE, OUTCOME_EMPTY, NOTHING ERR_SERVER, NULL, -1, -1, 0, false},
        {SSE DELTA("\"role\":\"assistant\"") FINISH("stop") LAST_USAGE(9, 0) DONE, OUTCOME_EMPTY,
         "", "stop", ERR_SERVER, NULL, 9, 0, 0, false},
        /* errors inside a stream */
        {SSE TOKEN("a") DATA("{\"error\":{\"message\":\"out of memory\",\"code\":500}}") DONE,
         OUTCOME_FAILED, "c:a;", "", ERR_SERVER, "after 1 token events: out of memory", -1, -1, 0,
         false},
        {SSE DATA("{\"error\":{\"message\":\"try later\",\"code\":503}}"), OUTCOME_REJECTED,
         NOTHING ERR_SERVER, "try later", -1, -1, 0, false},
        {SSE "event: error\ndata: {\"x\":1}\n\n", OUTCOME_FAILED, NOTHING ERR_SERVER,
         "an error without a message", -1, -1, 0, false},
        {SSE DATA("{\"error\":\"first\"}") DATA("{\"error\":\"second\"}"), OUTCOME_FAILED,
         NOTHING ERR_SERVER, "first", -1, -1, 0, false},
        {SSE TOKEN("a") FINISH("abort") DONE, OUTCOME_FAILED, "c:a;", "abort", ERR_SERVER,
         "after 1 token events: the server ended the answer with finish_reason 'abort'", -1, -1, 0,
         false},
        {SSE TOKEN("a") DATA("{\"choices\":[") FINISH("stop"), OUTCOME_FAILED, "c:a;", "stop",
         ERR_PROTOCOL, "after 1 token events: an event that is no JSON: {\"choices\":[", -1, -1, 0,
         false},
        {SSE "error: {\"message\":\"no slot\"}\n\n", OUTCOME_FAILED, NOTHING ERR_SERVER, "no slot",
         -1, -1, 0, false},
        /* a 200 that is no stream at all */
        {JSON("200 OK") "{\"choices\":[{\"message\":{\"content\":\"a\"}}]}", OUTCOME_FAILED,
         NOTHING ERR_PROTOCOL, "the server answered in one piece instead of streaming", -1, -1, 0,
         false},
        {JSON("200 OK") "{\"error\":{\"message\":\"no\"}}", OUTCOME_FAILED, NOTHING ERR_SERVER,
         "no", -1, -1, 0, false},
        {SSE "{\"error\":{\"message\":\"no\"}}", OUTCOME_FAILED, NOTHING ERR_SERVER, "no", -1, -1,
         0, false},
        {HEAD("200 OK", "text/html") "<html><title>Please sign in</title></html>", OUTCOME_FAILED,
         NOTHING ERR_SERVER, "Please sign in", -1, -1, 0, false},
        {JSON("200 OK"), OUTCOME_FAILED, NOTHING ERR_PROTOCOL,
         "the answer is application/json, not an event stream", -1, -1, 0, false},
        {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08", OUTCOME_FAILED,
         NOTHING ERR_PROTOCOL,
         "the answer is compressed (gzip) although identity was asked for: its timing would mean "
         "nothing; switch compression off for event streams",
         -1, -1, 0, false},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void test_statuses(void **state)
{
    static const struct row rows[] = {
        {JSON("400 Bad Request") "{\"error\":{\"message\":\"too long\"}}", OUTCOME_REJECTED,
         NOTHING ERR_HTTP, "HTTP 400: too long", -1, -1, 0, false},
        {JSON("422 Unprocessable") "{\"detail\":[{\"loc\":[\"body\",\"n\"],\"msg\":\"bad\"}]}",
         OUTCOME_REJECTED, NOTHING ERR_HTTP, "HTTP 422: body.n: bad", -1, -1, 0, false},
        {JSON("429 Too Many") "{\"message\":\"slow down\"}", OUTCOME_REJECTED, NOTHING ERR_HTTP,
         "HTTP 429: slow down", -1, -1, 0, false},
        {HEAD("503 Unavailable", "text/plain") "busy", OUTCOME_REJECTED, NOTHING ERR_HTTP,
         "HTTP 503: busy", -1, -1, 0, false},
        {"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", OUTCOME_FAILED, NOTHING ERR_HTTP,
         "HTTP 500", -1, -1, 0, false},
        {HEAD("502 Bad Gateway", "text/html") "<html><title>502 Bad Gateway</title>",
         OUTCOME_FAILED, NOTHING ERR_HTTP, "HTTP 502: 502 Bad Gateway", -1, -1, 0, false},
        {"HTTP/1.1 307 Go\r\nLocation: /x\r\n\r\n", OUTCOME_FAILED, NOTHING ERR_HTTP,
         "HTTP 307: the server redirects to /x; use that address", -1, -1, 0, false},
        {"HTTP/1.1 301 Go\r\n\r\n", OUTCOME_FAILED, NOTHING ERR_HTTP,
         "HTTP 301: the server redirects to nowhere; use that address", -1, -1, 0, false},
        {HEAD("404 Not Found", "text/event-stream") TOKEN("a"), OUTCOME_REJECTED, NOTHING ERR_HTTP,
         NULL, -1, -1, 0, false},
        {"HTTP/1.1 400 Bad\r\nContent-Length: 99\r\n\r\n{\"message\":\"cut\"}", OUTCOME_REJECTED,
         NOTHING ERR_HTTP, "HTTP 400: cut", -1, -1, 0, false},
        {"not HTTP at all\r\n\r\n", OUTCOME_FAILED, NOTHING ERR_PROTOCOL, NULL, -1, -1, 0, false},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

/* A message longer than we show is cut, not lost. */
static void test_long_error_message(void **state)
{
    struct buf wire;
    (void)state;
    buf_init(&wire, 1 << 20);
    buf_adds(&wire, SSE "data: {\"error\":\"");
    buf_add_repeat(&wire, 'e', 50000);
    buf_adds(&wire, "\"}\n\n");
    const struct peer_step script[] = {{.what = PEER_REQUEST},
                                       {.what = PEER_SEND, .text = wire.p, .n = wire.len},
                                       {.what = PEER_CLOSE}};
    const struct peer_step *const scripts[] = {script};
    struct rig r;
    rig_init(&r, scripts, 1);
    ask(&r);
    turn_until(&r, &r.ends, 1);
    assert_int_equal(strspn(r.stream.record.error.text, "e"), 399);
    rig_release(&r);
    buf_release(&wire);
}

/* --- when things happened --- */

/* Each piece is sent only after the last one was seen, so that each is a read of its own. */
static void test_times(void **state)
{
    static const struct peer_step script[] = {
        {.what = PEER_REQUEST},
        {.what = PEER_SEND, .text = SSE},
        {.what = PEER_AWAIT},
        {.what = PEER_SEND, .text = DELTA("\"role\":\"assistant\"")},
        {.what = PEER_AWAIT},
        {.what = PEER_SEND, .text = DELTA("\"reasoning\":\"r\"")},
        {.what = PEER_AWAIT},
        {.what = PEER_SEND,
         .text = TOKEN_USAGE("a", 9, 2) TOKEN_USAGE("b", 9, 4)}, /* two in one read */
        {.what = PEER_AWAIT},
        {.what = PEER_SEND, .text = FINISH("stop") DONE},
        {.what = PEER_CLOSE}};
    static const struct peer_step *const scripts[] = {script};
    struct rig r;
    int64_t seen[4];

    (void)state;
    rig_init(&r, scripts, 1);
    const struct record *got = &r.stream.record;
    ask(&r);
    while (!got->head_at)
        loop_turn(r.loop, clock_now() + NS_PER_S);
    for (int i = 0; i < 4; i++) {
        peer_go(r.peer);
        turn_until(&r, &r.reads, i + 1);
        seen[i] = r.read.at;
    }
    turn_until(&r, &r.ends, 1);
    assert_int_equal(got->outcome, OUTCOME_COMPLETE);
    assert_true(got->planned_at <= got->send_at && got->send_at <= got->sent_at);
    assert_true(got->sent_at <= got->head_at && got->head_at <= seen[0]);
    assert_int_equal(got->first_event_at, seen[0]);
    assert_int_equal(got->first_token_at, seen[1]);
    assert_int_equal(got->first_visible_at, seen[2]);
    assert_int_equal(got->second_token_at, seen[2]);
    assert_int_equal(got->last_token_at, seen[2]); /* not the end mark, not the close */
    assert_true(got->close_at >= seen[3]);
    assert_true(got->connect_ns > 0);
    assert_int_equal(got->http_status, 200);
    assert_int_equal(r.stream.stamp_count, 3);
    const struct token_stamp wanted[] = {{seen[1], 0}, {seen[2], 2}, {seen[2], 2}};
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        assert_int_equal(r.stream.stamps[i].at_ns, wanted[i].at_ns);
        assert_int_equal(r.stream.stamps[i].tokens, wanted[i].tokens);
    }
    assert_int_equal(r.token_sum, 4);

    struct sample sample;
    stream_sample(&r.stream, got->planned_at - 1000, &sample);
    assert_int_equal(sample.stream, 3);
    assert_int_equal(sample.first_token_ns, seen[1] - got->planned_at + 1000);
    assert_int_equal(sample.events, 3);
    assert_int_equal(sample.stamp_count, 3);
    assert_string_equal(sample.finish, "stop");
    assert_string_equal(sample.error, "");
    rig_release(&r);
}

/* --- waiting too long --- */

static void test_time_outs(void **state)
{
    static const struct {
        const char *wire;
        const char *error;
        int tokens;
    } rows[] = {
        {NULL, "no token for 0.1s", 0},
        {SSE, "no token for 0.1s", 0},
        {SSE TOKEN("a") TOKEN("b"), "after 2 token events: no further token for 0.1s", 2},
        {SSE ": ping\n\n" DELTA("\"role\":\"assistant\""), "no token for 0.1s", 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct peer_step script[] = {
            {.what = PEER_REQUEST},
            {.what = PEER_SEND, .text = rows[i].wire ? rows[i].wire : ""},
            {.what = PEER_GONE},
            {.what = PEER_TELL},
            {.what = PEER_END}};
        const struct peer_step *const scripts[] = {script};
        struct rig r;
        rig_init(&r, scripts, 1);
        r.stream.timeout_ns = 100 * NS_PER_MS;
        ask(&r);
        turn_until(&r, &r.ends, 1);
        peer_wait(r.peer); /* it sees that we are gone */
        const struct record *got = &r.stream.record;
        assert_int_equal(got->outcome, OUTCOME_TIMED_OUT);
        assert_int_equal(got->error.code, ERR_TIMEOUT);
        assert_string_equal(got->error.text, rows[i].error);
        assert_int_equal(r.tokens, rows[i].tokens);
        assert_true(got->close_at - got->planned_at >= 100 * NS_PER_MS);
        rig_release(&r);
    }
}

/* The time counts from the last token, not from the request. */
static void test_tokens_keep_it_alive(void **state)
{
    enum { TOKENS = 12 };
    static const struct peer_step script[] = {
        {.what = PEER_REQUEST}, {.what = PEER_SEND, .text = SSE},
        {.what = PEER_AWAIT},   {.what = PEER_BYTES, .text = TOKEN("a"), .n = 1},
        {.what = PEER_AWAIT},   {.what = PEER_BYTES, .text = TOKEN("b"), .n = 1},
        {.what = PEER_AWAIT},   {.what = PEER_SEND, .text = TOKEN("c") FINISH("stop")},
        {.what = PEER_CLOSE}};
    static const struct peer_step *const scripts[] = {script};
    struct rig r;

    (void)state;
    rig_init(&r, scripts, 1);
    r.stream.timeout_ns = 400 * NS_PER_MS;
    ask(&r);
    for (int i = 0; i < 3; i++) { /* 450 ms in all, never 400 without a token */
        int64_t until = clock_now() + 150 * NS_PER_MS;
        while (clock_now() < until)
            loop_turn(r.loop, until);
        peer_go(r.peer);
        turn_until(&r, &r.tokens, i + 1);
    }
    turn_until(&r, &r.ends, 1);
    assert_int_equal(r.stream.record.outcome, OUTCOME_NO_DONE);
    rig_release(&r);
}

/* --- ended by us, and used again --- */

static const struct peer_step endless[] = {
    {.what = PEER_REQUEST},
    {.what = PEER_SEND,
     .text = SSE DATA("{\"id\":\"req-1\",\"choices\":[{\"delta\":{\"content\":\"a\"}}]}")},
    {.what = PEER_GONE},
    {.what = PEER_TELL},
    {.what = PEER_END}};
static const struct peer_step good[] = {
    {.what = PEER_REQUEST},
    {.what = PEER_SEND, .text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"},
    {.what = PEER_SEND,
     .text = "2f\r\n" DATA("{\"choices\":[{\"delta\":{\"content\":\"g\"}}]}") "\r\n"},
    {.what = PEER_SEND, .text = "e\r\n" DONE "\r\n0\r\n\r\n"},
    {.what = PEER_AGAIN}};

static void test_cancel_and_use_again(void **state)
{
    static const struct peer_step *const scripts[] = {endless, good};
    struct rig r;

    (void)state;
    rig_init(&r, scripts, 2);
    const struct record *got = &r.stream.record;
    stream_cancel(&r.stream); /* nothing to cancel */
    ask(&r);
    turn_until(&r, &r.tokens, 1);
    assert_string_equal(r.stream.request_id, "req-1");
    stream_cancel(&r.stream);
    assert_false(stream_active(&r.stream));
    peer_wait(r.peer);
    loop_turn(r.loop, 0);
    assert_int_equal(r.ends, 0); /* on_end is for the server's ends */
    assert_int_equal(got->outcome, OUTCOME_CANCELLED);
    assert_int_equal(got->token_events, 1);
    assert_true(got->close_at >= got->last_token_at);
    assert_false(outcome_is_failure(got->outcome));

    buf_reset(&r.text);
    r.send_again = true; /* from on_end */
    ask(&r);
    assert_string_equal(r.stream.request_id, "");
    assert_int_equal(r.stream.stamp_count, 0);
    turn_until(&r, &r.ends, 2);
    assert_string_equal(r.text.p, "c:g;c:g;");
    assert_int_equal(got->outcome, OUTCOME_NO_FINISH);
    assert_int_equal(got->token_events, 1); /* of the last request alone */
    assert_int_equal(got->connect_ns, 0);   /* on the same connection */
    assert_int_equal(peer_connections(r.peer), 2);
    char *sent = peer_request_dup(r.peer);
    assert_non_null(strstr(sent, "POST /v1/chat/completions "));
    assert_non_null(strstr(sent, "{\"stream\":true}"));
    free(sent);
    rig_release(&r);
}

static void test_open_ahead(void **state)
{
    static const struct peer_step *const scripts[] = {good};
    struct rig r;

    (void)state;
    rig_init(&r, scripts, 1);
    stream_open(&r.stream);
    turn_until(&r, &r.opens, 1);
    assert_int_equal(r.open_error.code, ERR_NONE);
    ask(&r);
    turn_until(&r, &r.ends, 1);
    assert_int_equal(r.stream.record.connect_ns, 0);
    rig_release(&r);

    rig_init(&r, scripts, 1);
    peer_stop(r.peer);
    r.peer = NULL;
    stream_open(&r.stream);
    turn_until(&r, &r.opens, 1);
    assert_int_equal(r.open_error.code, ERR_CONNECT);
    assert_int_equal(r.ends, 0);
    ask(&r);
    turn_until(&r, &r.ends, 1);
    assert_int_equal(r.stream.record.outcome, OUTCOME_FAILED);
    assert_int_equal(r.stream.record.error.code, ERR_CONNECT);
    assert_int_equal(r.stream.record.http_status, 0);
    struct sample sample;
    stream_sample(&r.stream, 1000, &sample);
    assert_int_equal(sample.first_token_ns, -1);
    assert_int_equal(sample.headers_ns, -1);
    assert_non_null(strstr(sample.error, "cannot connect"));
    rig_release(&r);
}

/* An event that never ends is given up at the decoder's maximum. */
static void test_endless_event(void **state)
{
    static char line[65537];
    static const struct peer_step script[] = {
        {.what = PEER_REQUEST},
        {.what = PEER_SEND, .text = SSE "data: "},
        {.what = PEER_BYTES, .text = line, .n = 1100}, /* up to 69 MiB */
        {.what = PEER_GONE},
        {.what = PEER_END}};
    static const struct peer_step *const scripts[] = {script};
    struct rig r;

    (void)state;
    memset(line, 'x', sizeof line - 1);
    rig_init(&r, scripts, 1);
    ask(&r);
    turn_until(&r, &r.ends, 1);
    assert_int_equal(r.stream.record.outcome, OUTCOME_FAILED);
    assert_int_equal(r.stream.record.error.code, ERR_LIMIT);
    assert_int_equal(r.tokens, 0);
    rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_streams),
        cmocka_unit_test(test_bad_streams),
        cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_long_error_message),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_time_outs),
        cmocka_unit_test(test_tokens_keep_it_alive),
        cmocka_unit_test(test_cancel_and_use_again),
        cmocka_unit_test(test_open_ahead),
        cmocka_unit_test(test_endless_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
