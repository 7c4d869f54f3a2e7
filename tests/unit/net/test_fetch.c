/* test_fetch.c - one request, one answer: what comes back, and what ends the waiting. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/num.h"
#include "net/fetch.h"
#include "peer.h"

struct rig {
    struct peer *peer;
    struct endpoint endpoint;
    struct fetcher *fetcher;
    atomic_int stop;
    struct fetch_reply reply;
    struct err err;
};

static void rig_init(struct rig *r, const struct peer_step *const *scripts, size_t count,
                     const struct peer_options *options)
{
    memset(r, 0, sizeof *r);
    r->peer = peer_start(scripts, count, options);
    peer_endpoint(r->peer, &r->endpoint, true);
    r->fetcher = fetcher_new(&r->endpoint, &r->stop);
    buf_init(&r->reply.body, 1000);
}

static void rig_release(struct rig *r)
{
    fetcher_free(r->fetcher);
    endpoint_close(&r->endpoint);
    peer_stop(r->peer);
    buf_release(&r->reply.body);
}

static bool get(struct rig *r, const char *path)
{
    return fetch(r->fetcher, path, NULL, 10 * NS_PER_S, &r->reply, &r->err);
}

static void test_answers(void **state)
{
    static const struct peer_step page[] = {
        {.what = PEER_REQUEST},
        {.what = PEER_SEND,
         .text = "HTTP/1.1 200 OK\r\nContent-Type: Application/JSON; charset=utf-8\r\n"
                 "Server: Uvicorn (x)\r\nVia: 1.1 Proxy\r\nContent-Length: 4\r\n\r\n"},
        {.what = PEER_SEND, .text = "a\0bc", .n = 4},
        {.what = PEER_REQUEST},
        {.what = PEER_SEND,
         .text = "HTTP/1.1 302 Found\r\nLocation: /Other\r\nContent-Length: 0\r\n\r\n"},
        {.what = PEER_REQUEST},
        {.what = PEER_SEND,
         .text = "HTTP/1.1 500 Oh\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n"},
        {.what = PEER_CLOSE}};
    static const struct peer_step *const scripts[] = {page};
    static const struct peer_options options[] = {
        {.tls = NULL}, {.unix_socket = true}, {.tls = "IP:127.0.0.1"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        struct rig r;
        rig_init(&r, scripts, 1, &options[i]);
        assert_true(get(&r, "/v1/models"));
        assert_int_equal(r.reply.status, 200);
        assert_string_equal(r.reply.content_type, "application/json");
        assert_string_equal(r.reply.server, "Uvicorn (x)");
        assert_string_equal(r.reply.via, "1.1 Proxy");
        assert_string_equal(r.reply.location, "");
        assert_int_equal(r.reply.body.len, 4);
        assert_memory_equal(r.reply.body.p, "a\0bc", 5);
        char *sent = peer_request_dup(r.peer);
        assert_memory_equal(sent, "GET /v1/models HTTP/1.1\r\n", 25);
        free(sent);

        assert_true(get(&r, "/a")); /* not followed; nothing is left of the answer before */
        assert_int_equal(r.reply.status, 302);
        assert_string_equal(r.reply.location, "/Other");
        assert_string_equal(r.reply.content_type, "");
        assert_string_equal(r.reply.server, "");
        assert_int_equal(r.reply.body.len, 0);

        assert_true(
            fetch(r.fetcher, "/b", "{\"x\":1}", 10 * NS_PER_S, &r.reply, &r.err)); /* an answer */
        assert_int_equal(r.reply.status, 500);
        assert_string_equal(r.reply.body.p, "no");
        sent = peer_request_dup(r.peer);
        assert_memory_equal(sent, "POST /b HTTP/1.1\r\n", 18);
        assert_non_null(strstr(sent, "Content-Type: application/json\r\n"));
        assert_non_null(strstr(sent, "\r\n\r\n{\"x\":1}"));
        free(sent);
        assert_int_equal(peer_connections(r.peer), 1);
        rig_release(&r);
    }
}

/* Another method, more headers, bytes that are no text; the same handle then asks as before. */
static void test_requests(void **state)
{
    static const struct peer_step page[] = {
        {.what = PEER_REQUEST},
        {.what = PEER_SEND,
         .text = "HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"},
        {.what = PEER_REQUEST},
        {.what = PEER_SEND, .text = "HTTP/1.1 204 Gone\r\n\r\n"},
        {.what = PEER_REQUEST},
        {.what = PEER_SEND, .text = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
        {.what = PEER_CLOSE}};
    static const struct peer_step *const scripts[] = {page};
    static const struct peer_options options = {0};
    static const char *const headers[] = {"Content-Encoding: gzip", "X-One: two", NULL};
    const struct fetch_request post = {
        .method = "POST", .path = "/a", .body = "a\0b", .body_bytes = 3, .headers = headers};
    const struct fetch_request drop = {.method = "DELETE", .path = "/b"};
    struct rig r;

    (void)state;
    rig_init(&r, scripts, 1, &options);
    assert_true(fetch_send(r.fetcher, &post, 10 * NS_PER_S, &r.reply, &r.err));
    assert_int_equal(r.reply.status, 429);
    assert_string_equal(r.reply.retry_after, "7");
    char *sent = peer_request_dup(r.peer);
    assert_memory_equal(sent, "POST /a HTTP/1.1\r\n", 18);
    assert_non_null(strstr(sent, "Content-Encoding: gzip\r\n"));
    assert_non_null(strstr(sent, "X-One: two\r\n"));
    assert_non_null(strstr(sent, "Content-Length: 3\r\n"));
    free(sent);
    assert_true(fetch_send(r.fetcher, &drop, 10 * NS_PER_S, &r.reply, &r.err));
    assert_int_equal(r.reply.status, 204);
    assert_string_equal(r.reply.retry_after, "");
    sent = peer_request_dup(r.peer);
    assert_memory_equal(sent, "DELETE /b HTTP/1.1\r\n", 20);
    assert_null(strstr(sent, "X-One"));
    free(sent);
    assert_true(get(&r, "/c"));
    sent = peer_request_dup(r.peer);
    assert_memory_equal(sent, "GET /c HTTP/1.1\r\n", 17);
    free(sent);
    rig_release(&r);
}

/* A body of the maximum passes, one byte more does not; the length need not be told. */
static void test_size_cap(void **state)
{
    static const struct {
        const char *head;
        size_t n;
        bool ok;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", 100, true},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1010\r\n\r\n", 101, false},
        {"HTTP/1.1 200 OK\r\n\r\n", 100, true},
        {"HTTP/1.1 200 OK\r\n\r\n", 101, false},
        {"HTTP/1.1 200 OK\r\n\r\n", 10000000, false}, /* it would go on for long */
        {"HTTP/1.1 404 Not Found\r\n\r\n", 101, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct peer_step script[] = {
            {.what = PEER_REQUEST},
            {.what = PEER_SEND, .text = rows[i].head},
            {.what = PEER_BYTES, .text = "0123456789", .n = rows[i].n},
            {.what = PEER_CLOSE}};
        static const struct peer_step again[] = {
            {.what = PEER_REQUEST},
            {.what = PEER_SEND, .text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"},
            {.what = PEER_AGAIN}};
        const struct peer_step *const scripts[] = {script, again};
        struct rig r;
        rig_init(&r, scripts, 2, NULL);
        bool ok = get(&r, "/big");
        assert_int_equal(ok, rows[i].ok);
        if (ok) {
            assert_int_equal(r.reply.body.len, 1000);
        } else {
            assert_int_equal(r.err.code, ERR_LIMIT);
            assert_string_equal(r.err.text, "/big: the answer is larger than 1000 bytes");
        }
        assert_true(get(&r, "/small")); /* the fetcher lives on */
        assert_string_equal(r.reply.body.p, "hi");
        rig_release(&r);
    }
}

static const struct peer_step mute[] = {
    {.what = PEER_REQUEST}, {.what = PEER_TELL}, {.what = PEER_GONE}, {.what = PEER_END}};
static const struct peer_step slow[] = {
    {.what = PEER_REQUEST},
    {.what = PEER_SEND, .text = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"},
    {.what = PEER_TELL},
    {.what = PEER_GONE},
    {.what = PEER_END}};

/* No answer at all, and half of one; also for a time too short to be counted in milliseconds. */
static void test_time_out(void **state)
{
    static const struct {
        const struct peer_step *script;
        int64_t timeout_ns;
    } rows[] = {{mute, 50 * NS_PER_MS}, {slow, 50 * NS_PER_MS}, {mute, 10 * NS_PER_US}, {mute, 0}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rig r;
        rig_init(&r, &rows[i].script, 1, NULL);
        int64_t began = clock_now();
        assert_false(fetch(r.fetcher, "/x", NULL, rows[i].timeout_ns, &r.reply, &r.err));
        assert_int_equal(r.err.code, ERR_TIMEOUT);
        assert_string_equal(r.err.text, "/x: no answer in time");
        assert_true(clock_now() - began >= rows[i].timeout_ns);
        assert_true(clock_now() - began < 5 * NS_PER_S);
        rig_release(&r);
    }
}

static void *stop_thread(void *ctx)
{
    struct rig *r = ctx;
    peer_wait(r->peer);
    atomic_store(&r->stop, 1);
    return NULL;
}

/* The flag ends a call that waits, and every further one before it begins. */
static void test_stop_flag(void **state)
{
    static const struct peer_step *const scripts[] = {mute, slow};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
        struct rig r;
        pthread_t thread;
        rig_init(&r, scripts + i, 1, NULL);
        assert_int_equal(pthread_create(&thread, NULL, stop_thread, &r), 0);
        int64_t began = clock_now();
        assert_false(get(&r, "/x"));
        assert_int_equal(r.err.code, ERR_INTERRUPT);
        assert_true(clock_now() - began < 5 * NS_PER_S);
        pthread_join(thread, NULL);
        assert_false(get(&r, "/y"));
        assert_int_equal(r.err.code, ERR_INTERRUPT);
        assert_int_equal(r.reply.body.len, 0);
        rig_release(&r);
    }
}

static void test_no_answer(void **state)
{
    static const struct {
        struct peer_step script[4];
        enum err_code code;
    } rows[] = {
        {{{.what = PEER_REQUEST}, {.what = PEER_CLOSE}}, ERR_CLOSED},
        {{{.what = PEER_REQUEST}, {.what = PEER_RESET}}, ERR_CLOSED},
        {{{.what = PEER_REQUEST},
          {.what = PEER_SEND, .text = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"},
          {.what = PEER_CLOSE}},
         ERR_CLOSED},
        {{{.what = PEER_REQUEST},
          {.what = PEER_SEND, .text = "220 mail ready\r\n"},
          {.what = PEER_CLOSE}},
         ERR_PROTOCOL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct peer_step *const scripts[] = {rows[i].script};
        struct rig r;
        rig_init(&r, scripts, 1, NULL);
        assert_false(get(&r, "/x"));
        if (r.err.code != rows[i].code || strncmp(r.err.text, "/x: ", 4) != 0)
            fail_msg("row %zu: %d %s", i, (int)r.err.code, r.err.text);
        peer_stop(r.peer);
        r.peer = NULL;
        assert_false(get(&r, "/x"));
        assert_int_equal(r.err.code, ERR_CONNECT);
        rig_release(&r);
    }
    fetcher_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),   cmocka_unit_test(test_requests),
        cmocka_unit_test(test_size_cap),  cmocka_unit_test(test_time_out),
        cmocka_unit_test(test_stop_flag), cmocka_unit_test(test_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
