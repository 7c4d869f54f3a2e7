/* test_http_server.c - whole requests in, answers and streams out. */
#include <stdio.h>

#include "http_server_rig.h"

/* On one connection: the same request again and again, cut in two at every place and in bytes. */
static void test_split_everywhere(void **state)
{
    static const char *const requests[] = {
        "POST /echo?a=b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
        "POST /echo?a=b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"};
    struct rig r = {.options = http_server_defaults};

    (void)state;
    rig_init(&r);
    int fd = rig_connect(&r);
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        size_t n = strlen(requests[i]);
        for (size_t cut = 1; cut < n; cut++) {
            rig_send_bytes(&r, fd, requests[i], cut);
            rig_send_bytes(&r, fd, requests[i] + cut, n - cut);
            rig_expect(&r, fd, "\r\n\r\nPOST /echo?a=b <hello>");
        }
        for (size_t at = 0; at < n; at++)
            rig_send_bytes(&r, fd, requests[i] + at, 1);
        rig_expect(&r, fd, "\r\n\r\nPOST /echo?a=b <hello>");
    }
    close(fd);
    rig_release(&r);
}

/* Requests that come together are answered one by one: also behind one that is answered late. */
static void test_pipelined(void **state)
{
    struct rig r = {.options = http_server_defaults};

    (void)state;
    rig_init(&r);
    int fd = rig_connect(&r);
    rig_send(&r, fd, GET("/echo?1") "\r\n" GET("/hold?2") "\r\n" GET("/echo?3") "\r\n");
    rig_expect(&r, fd, "GET /echo?1 <>");
    rig_send(&r, fd, GET("/hold?4") "\r\n" GET("/echo?5") "\r\n");
    rig_expect_nothing(&r, fd);
    assert_int_equal(r.requests, 2);
    assert_string_equal(exchange_query(r.held[0]), "2");
    exchange_reply(r.held[0], 200, NULL, NULL, "two", 3);
    assert_int_equal(r.requests, 2); /* the next one comes from the loop */
    rig_expect(&r, fd, "GET /echo?3 <>");
    assert_non_null(strstr(r.got.p, "two"));
    rig_await(&r, &r.helds, 2);
    exchange_reply(r.held[1], 200, NULL, NULL, "four", 4);
    rig_expect(&r, fd, "GET /echo?5 <>");
    assert_int_equal(r.gone, 0);
    close(fd);
    rig_release(&r);
}

/* How an answer looks, and what becomes of the connection. */
static void test_versions(void **state)
{
    static const struct {
        const char *request, *first, *header, *body;
        bool closes;
    } rows[] = {
        {GET("/echo") "\r\n", "HTTP/1.1 200 OK\r\n", "\r\nConnection: keep-alive\r\n",
         "GET /echo? <>", false},
        {GET("/echo") "\r\n", "HTTP/1.1 200 OK\r\n", "\r\nContent-Length: 13\r\n", "GET /echo? <>",
         false},
        {GET("/echo") "\r\n", "HTTP/1.1 200 OK\r\n", "\r\nX-Extra: 1\r\n", "GET /echo? <>", false},
        {GET("/echo") "Connection: close\r\n\r\n", "HTTP/1.1 200 OK\r\n",
         "\r\nConnection: close\r\n", "GET /echo? <>", true},
        {"GET /echo HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n", "\r\nConnection: close\r\n",
         "GET /echo? <>", true},
        {"GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "HTTP/1.1 200 OK\r\n",
         "\r\nConnection: keep-alive\r\n", "GET /echo? <>", false},
        {"HEAD /echo HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 OK\r\n",
         "\r\nContent-Length: 14\r\n", "", false},
    };
    struct rig r = {.options = http_server_defaults};

    (void)state;
    rig_init(&r);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int fd = rig_connect(&r);
        rig_send(&r, fd, rows[i].request);
        if (rows[i].closes) {
            assert_int_equal(rig_read_to_end(&r, fd), RIG_FIN);
        } else {
            rig_expect(&r, fd, rows[i].body[0] ? rows[i].body : "\r\n\r\n");
            rig_expect_nothing(&r, fd);
            rig_send(&r, fd, rows[i].request);
            rig_expect(&r, fd, rows[i].body[0] ? rows[i].body : "\r\n\r\n");
        }
        const char *body = strstr(r.got.p, "\r\n\r\n");
        assert_non_null(body);
        assert_string_equal(body + 4, rows[i].body);
        assert_memory_equal(r.got.p, rows[i].first, strlen(rows[i].first));
        if (!strstr(r.got.p, rows[i].header) || !strstr(r.got.p, "\r\nDate: "))
            fail_msg("row %zu: '%s'", i, r.got.p);
        close(fd);
    }
    rig_release(&r);
}

/* Answers that have no body by their status. */
static void test_without_body(void **state)
{
    struct rig r = {.options = http_server_defaults};

    (void)state;
    rig_init(&r);
    int fd = rig_connect(&r);
    rig_send(&r, fd, GET("/hold") "\r\n");
    rig_await(&r, &r.helds, 1);
    exchange_reply(r.held[0], 204, NULL, NULL, NULL, 0);
    rig_expect(&r, fd, "Connection: keep-alive\r\n\r\n");
    assert_non_null(strstr(r.got.p, "HTTP/1.1 204 No Content\r\n"));
    assert_null(strstr(r.got.p, "Content-Length"));
    rig_send(&r, fd, GET("/hold") "\r\n");
    rig_await(&r, &r.helds, 2);
    exchange_start(r.held[1], 304, NULL, NULL);
    exchange_write(r.held[1], "nothing", 7);
    exchange_end(r.held[1]);
    rig_expect(&r, fd, "Connection: keep-alive\r\n\r\n");
    rig_expect_nothing(&r, fd);
    rig_send(&r, fd, GET("/echo") "\r\n");
    rig_expect(&r, fd, "GET /echo? <>");
    close(fd);
    rig_release(&r);
}

/* Each write is one chunk in one segment, on its way when the call returns. */
static void test_stream(void **state)
{
    struct rig r = {.options = http_server_defaults};
    char text[300], want[320];

    (void)state;
    rig_init(&r);
    int fd = rig_connect(&r);
    for (int round = 0; round < 2; round++) { /* on the same connection */
        rig_send(&r, fd, "POST /stream HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi");
        rig_expect(&r, fd, "\r\n\r\n");
        assert_non_null(strstr(r.got.p, "Content-Type: text/event-stream\r\n"));
        assert_non_null(strstr(r.got.p, "Transfer-Encoding: chunked\r\n"));
        struct exchange *x = r.held[round];
        size_t left;
        exchange_body(x, &left);
        assert_int_equal(left, 0); /* the body's memory went with the head */
        assert_string_equal(exchange_header(x, "host"), "x");
        for (size_t n = 0; n < sizeof text; n++) {
            memset(text, 'a', n);
            buf_reset(&r.got);
            exchange_write(x, text, n);
            snprintf(want, sizeof want, "%zx\r\n%.*s\r\n", n, (int)n, text);
            rig_read(&r, fd);
            assert_string_equal(r.got.p, n ? want : "");
        }
        exchange_end(x);
        rig_expect(&r, fd, "0\r\n\r\n");
    }
    assert_int_equal(r.gone, 0);
    close(fd);
    rig_release(&r);
}

static void test_stream_without_chunks(void **state)
{
    struct rig r = {.options = http_server_defaults};

    (void)state;
    rig_init(&r);
    int fd = rig_connect(&r);
    rig_send(&r, fd, "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    rig_await(&r, &r.helds, 1);
    exchange_write(r.held[0], "one", 3);
    exchange_write(r.held[0], "two", 3);
    exchange_end(r.held[0]);
    assert_int_equal(rig_read_to_end(&r, fd), RIG_FIN);
    assert_non_null(strstr(r.got.p, "\r\nConnection: close\r\n\r\nonetwo"));
    assert_null(strstr(r.got.p, "chunked"));
    close(fd);

    fd = rig_connect(&r);
    rig_send(&r, fd, "HEAD /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    rig_await(&r, &r.helds, 2);
    exchange_write(r.held[1], "one", 3);
    exchange_end(r.held[1]);
    rig_send(&r, fd, GET("/echo") "\r\n");
    rig_expect(&r, fd, "GET /echo? <>");
    assert_null(strstr(r.got.p, "one"));
    close(fd);
    rig_release(&r);
}

static void test_continue(void **state)
{
    static const char head[] =
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";
    struct rig r = {.options = http_server_defaults};

    (void)state;
    rig_init(&r);
    int fd = rig_connect(&r);
    rig_send(&r, fd, head);
    rig_expect(&r, fd, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_int_equal(r.got.len, 25);
    rig_send(&r, fd, "h");
    rig_expect_nothing(&r, fd); /* once is enough */
    rig_send(&r, fd, "i");
    rig_expect(&r, fd, "<hi>");
    rig_send(&r, fd,
             "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
             "Expect: 100-continue\r\n\r\nhi"); /* it did not wait */
    rig_expect(&r, fd, "<hi>");
    assert_null(strstr(r.got.p, "100 Continue"));
    close(fd);
    rig_release(&r);
}

/* Refusals come with their status and a line, then FIN; nothing is handed over. The client reads
 * them although it is still sending. */
static void test_refused(void **state)
{
    static const struct {
        const char *request;
        int status;
    } rows[] = {
        {"garbage\r\n\r\n", 400},
        {"GET /echo HTTP/1.1\r\n\r\n", 400},
        {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: "
         "chunked\r\n\r\n",
         400},
        {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100001\r\n\r\n", 413},
        {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100001\r\n"
         "Expect: 100-continue\r\n\r\n",
         413},
        {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n186a1\r\n", 413},
        {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501},
        {"POST /echo HTTP/1.1\r\nHost: x\r\nExpect: cake\r\n\r\n", 417},
        {"GET /echo HTTP/3.0\r\nHost: x\r\n\r\n", 505},
    };
    struct rig r = {.options = http_server_defaults};
    char status[40];

    (void)state;
    r.options.max_body = 100000;
    rig_init(&r);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int fd = rig_connect(&r);
        rig_send(&r, fd, rows[i].request);
        for (int more = 0; more < 100; more++) {
            send(fd, "more and more of it", 19, MSG_NOSIGNAL);
            rig_turn(&r, 0);
        }
        assert_int_equal(rig_read_to_end(&r, fd), RIG_FIN);
        snprintf(status, sizeof status, "HTTP/1.1 %d ", rows[i].status);
        const char *end = strstr(r.got.p, "\r\n\r\n");
        if (strncmp(r.got.p, status, strlen(status)) != 0 || !end || strlen(end) < 10 ||
            !strstr(r.got.p, "\r\nConnection: close\r\n"))
            fail_msg("row %zu: '%s'", i, r.got.p);
        close(fd);
    }
    assert_int_equal(r.requests, 0);
    rig_check_alive(&r);
    rig_release(&r);
}

static void test_head_limits(void **state)
{
    struct rig r = {.options = http_server_defaults};
    struct buf request;

    (void)state;
    rig_init(&r);
    buf_init(&request, 1 << 20);
    buf_adds(&request, "GET /");
    buf_add_repeat(&request, 'a', 10000);
    int fd = rig_connect(&r);
    rig_send(&r, fd, request.p);
    assert_int_equal(rig_read_to_end(&r, fd), RIG_FIN);
    assert_non_null(strstr(r.got.p, "HTTP/1.1 414 "));
    close(fd);
    buf_reset(&request);
    buf_adds(&request, GET("/echo") "X: ");
    buf_add_repeat(&request, 'a', 40000);
    fd = rig_connect(&r);
    rig_send(&r, fd, request.p);
    assert_int_equal(rig_read_to_end(&r, fd), RIG_FIN);
    assert_non_null(strstr(r.got.p, "HTTP/1.1 431 "));
    close(fd);
    buf_release(&request);
    rig_release(&r);
}

/* A large body in, and a large one out: more than max_backlog, to a client that reads late. */
static void test_large(void **state)
{
    enum { BODY = 6 << 20 };
    struct rig r = {.options = http_server_defaults};
    char *body = mem_array(BODY + 1, 1), head[100];

    (void)state;
    r.options.max_backlog = 1000;
    rig_init(&r);
    int fd = rig_connect(&r);
    for (int i = 0; i < BODY; i++)
        body[i] = (char)('a' + i % 23);
    memcpy(body + BODY - 3, "END", 3);
    snprintf(head, sizeof head, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n",
             BODY);
    rig_send(&r, fd, head);
    rig_send_bytes(&r, fd, body, BODY);
    rig_await(&r, &r.requests, 1);
    rig_turn(&r, 20 * NS_PER_MS);
    rig_expect(&r, fd, "END>");
    const char *got = strstr(r.got.p, "<");
    assert_non_null(got);
    assert_int_equal(r.got.p + r.got.len - got, BODY + 2);
    assert_memory_equal(got + 1, body, BODY);
    rig_send(&r, fd, GET("/echo") "\r\n");
    rig_expect(&r, fd, "GET /echo? <>");
    close(fd);
    free(body);
    rig_release(&r);
}

/* The arrival is when the last byte came, and not when somebody looked. */
static void test_arrival(void **state)
{
    static const char head[] = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nh";
    struct rig r = {.options = http_server_defaults};

    (void)state;
    rig_init(&r);
    int fd = rig_connect(&r);
    for (int round = 0; round < 3; round++) { /* 0: with the connection itself still unseen */
        send(fd, head, sizeof head - 1, 0);
        clock_sleep(5 * NS_PER_MS);
        int64_t before = clock_now();
        send(fd, "i", 1, 0);
        int64_t sent = clock_now();
        clock_sleep(20 * NS_PER_MS);
        int64_t late = clock_now();
        rig_expect(&r, fd, "<hi>");
        assert_true(r.arrived >= before - NS_PER_MS);
        if (r.arrived >= late) /* some sandboxes have no kernel stamps */
            print_message("no kernel stamps here\n");
        else
            assert_true(r.arrived <= sent + 10 * NS_PER_MS);
    }
    close(fd);
    rig_release(&r);
}

static void test_addresses(void **state)
{
    static const char *const hosts[] = {NULL, "localhost", "127.0.0.1", "0.0.0.0"};
    struct rig r = {.options = http_server_defaults};
    struct http_server_events events = {rig_on_request, rig_on_gone};
    struct err err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        r.options.host = hosts[i];
        rig_init(&r);
        const char *url = http_server_url(r.server);
        assert_memory_equal(url, i == 3 ? "http://0.0.0.0:" : "http://127.0.0.1:", 15);
        rig_check_alive(&r);
        rig_release(&r);
    }
    r.options.host = NULL;
    rig_init(&r);
    struct http_server_options taken = http_server_defaults;
    taken.port = rig_port(&r);
    assert_null(http_server_new(r.loop, &taken, &events, NULL, &err));
    assert_non_null(strstr(err.text, "in use"));
    taken.host = "not.numeric";
    assert_null(http_server_new(r.loop, &taken, &events, NULL, &err));
    assert_int_equal(err.code, ERR_USAGE);
    taken.host = "::1";
    taken.port = 0;
    struct http_server *six = http_server_new(r.loop, &taken, &events, NULL, &err);
    if (six) /* not every machine has IPv6 */
        assert_memory_equal(http_server_url(six), "http://[::1]:", 13);
    http_server_free(six);
    rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split_everywhere), cmocka_unit_test(test_pipelined),
        cmocka_unit_test(test_versions),         cmocka_unit_test(test_without_body),
        cmocka_unit_test(test_stream),           cmocka_unit_test(test_stream_without_chunks),
        cmocka_unit_test(test_continue),         cmocka_unit_test(test_refused),
        cmocka_unit_test(test_head_limits),      cmocka_unit_test(test_large),
        cmocka_unit_test(test_arrival),          cmocka_unit_test(test_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
