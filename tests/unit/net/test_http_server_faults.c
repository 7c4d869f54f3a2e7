/* test_http_server_faults.c - clients that are slow, rude, gone or too many, and answers that break
 * off. */
#include <stdio.h>
#include <sys/resource.h>

#include "base/rand.h"
#include "http_server_rig.h"

/* A request that never gets whole is answered by 408; a connection that says nothing just ends. */
static void test_slow(void **state)
{
    static const struct {
        const char *first, *drip;
        bool answered;
    } rows[] = {
        {"", NULL, false},
        {"\r\n", NULL, false},
        {GET("/echo") "\r\n", NULL, false}, /* idle behind a request */
        {"G", NULL, true},
        {GET("/echo"), "X: y\r\n", true},
        {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", "b", true},
        {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n",
         true},
        {GET("/echo") "\r\n" GET("/echo"), NULL, true},
    };
    struct rig r = {.options = http_server_defaults};

    (void)state;
    r.options.request_timeout_ns = 30 * NS_PER_MS;
    r.options.idle_timeout_ns = 30 * NS_PER_MS;
    rig_init(&r);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int fd = rig_connect(&r);
        int64_t started = clock_now();
        rig_send(&r, fd, rows[i].first);
        while (rows[i].drip &&
               clock_now() < started + 60 * NS_PER_MS) { /* steady drops do not help */
            send(fd, rows[i].drip, strlen(rows[i].drip), MSG_NOSIGNAL);
            rig_turn(&r, 5 * NS_PER_MS);
        }
        assert_int_equal(rig_read_to_end(&r, fd), RIG_FIN);
        assert_true(clock_now() - started >= 30 * NS_PER_MS);
        if (rows[i].answered != (strstr(r.got.p, "HTTP/1.1 408 ") != NULL))
            fail_msg("row %zu: '%s'", i, r.got.p);
        close(fd);
    }
    rig_release(&r);
}

enum leaving { BY_CLOSE, BY_RESET, BY_HALF, LEAVINGS };

static void leave(int fd, enum leaving how)
{
    if (how == BY_CLOSE)
        close(fd);
    else if (how == BY_RESET)
        rig_reset(fd);
    else
        shutdown(fd, SHUT_WR);
}

/* A client that leaves is noticed at once: waiting, streaming, with pipelined bytes unread, and
 * when writes had failed before. */
static void test_gone(void **state)
{
    static const char *const requests[] = {GET("/hold") "\r\n", GET("/stream") "\r\n",
                                           GET("/stream") "\r\n" GET("/hold") "\r\n"};

    (void)state;
    for (enum leaving how = 0; how < LEAVINGS; how++)
        for (size_t i = 0; i < ARRAY_LEN(requests); i++)
            for (int writes = 0; writes < (i ? 4 : 1); writes++) {
                struct rig r = {.options = http_server_defaults};
                rig_init(&r);
                int fd = rig_connect(&r);
                rig_send(&r, fd, requests[i]);
                rig_await(&r, &r.helds, 1);
                leave(fd, how);
                r.inside = true;
                for (int n = 0; n < writes; n++)
                    exchange_write(r.held[0], "data", 4);
                r.inside = false;
                rig_await(&r, &r.gone, 1);
                assert_null(r.held[0]);
                rig_check_alive(&r);
                if (how == BY_HALF)
                    close(fd);
                rig_release(&r);
            }
}

/* The owner may end an exchange after its writes failed and before it was told. */
static void test_ended_before_told(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct rig r = {.options = http_server_defaults};
        rig_init(&r);
        int fd = rig_connect(&r);
        rig_send(&r, fd, GET("/stream") "\r\n");
        rig_await(&r, &r.helds, 1);
        rig_reset(fd);
        exchange_write(r.held[0], "data", 4);
        if (way == 0)
            exchange_end(r.held[0]);
        else
            exchange_abort(r.held[0], way == 1);
        rig_turn(&r, 5 * NS_PER_MS);
        assert_int_equal(r.gone, 0);
        rig_check_alive(&r);
        rig_release(&r);
    }
}

/* An answer given at once reaches a client that said nothing more would come. */
static void test_half_closed(void **state)
{
    struct rig r = {.options = http_server_defaults};

    (void)state;
    rig_init(&r);
    int fd = rig_connect(&r);
    send(fd, GET("/echo") "\r\n", strlen(GET("/echo") "\r\n"), 0);
    shutdown(fd, SHUT_WR);
    assert_int_equal(rig_read_to_end(&r, fd), RIG_FIN);
    assert_non_null(strstr(r.got.p, "GET /echo? <>"));
    close(fd);
    fd = rig_connect(&r); /* in the middle of a request there is nothing to say */
    rig_send(&r, fd, GET("/echo"));
    shutdown(fd, SHUT_WR);
    assert_int_equal(rig_read_to_end(&r, fd), RIG_FIN);
    assert_int_equal(r.got.len, 0);
    close(fd);
    rig_release(&r);
}

/* A client that stops reading: what it did not take waits in order, up to max_backlog. */
static void test_backlog(void **state)
{
    enum { PIECE = 1000, PIECES = 8000 };
    struct rig r = {.options = http_server_defaults};
    char piece[PIECE + 1], want[PIECE + 20];

    (void)state;
    r.options.max_backlog = PIECE * PIECES;
    rig_init(&r);
    int fd = rig_connect_small(&r, 4096);
    rig_send(&r, fd, GET("/stream") "\r\n" GET("/echo?next") "\r\n");
    rig_expect(&r, fd, "\r\n\r\n");
    for (int i = 0; i < PIECES; i++) {
        snprintf(piece, sizeof piece, "%01000d", i);
        exchange_write(r.held[0], piece, PIECE);
        if (i == PIECES / 2) /* some is read in between */
            for (int n = 0; n < 50; n++) {
                rig_turn(&r, 0);
                rig_read(&r, fd);
            }
    }
    exchange_end(r.held[0]);
    buf_consume(&r.got, (size_t)(strstr(r.got.p, "\r\n\r\n") + 4 - r.got.p));
    struct buf first;
    buf_init(&first, 256 << 20);
    buf_add(&first, r.got.p, r.got.len);
    rig_expect(&r, fd, "GET /echo?next <>");
    buf_add(&first, r.got.p, r.got.len);
    const char *p = first.p;
    for (int i = 0; i < PIECES; i++) {
        size_t n = (size_t)snprintf(want, sizeof want, "3e8\r\n%01000d\r\n", i);
        assert_memory_equal(p, want, n);
        p += n;
    }
    assert_memory_equal(p, "0\r\n\r\nHTTP/1.1 200 ", 14);
    assert_int_equal(r.gone, 0);
    buf_release(&first);
    close(fd);
    rig_release(&r);
}

static void test_backlog_overflow(void **state)
{
    struct rig r = {.options = http_server_defaults};
    char piece[10000];

    (void)state;
    memset(piece, 'a', sizeof piece);
    r.options.max_backlog = 100000;
    rig_init(&r);
    int fd = rig_connect_small(&r, 4096);
    rig_send(&r, fd, GET("/stream") "\r\n");
    rig_await(&r, &r.helds, 1);
    r.inside = true;
    for (int i = 0; i < 3000; i++)
        exchange_write(r.held[0], piece, sizeof piece);
    r.inside = false;
    rig_await(&r, &r.gone, 1);
    assert_int_equal(rig_read_to_end(&r, fd), RIG_RST);
    rig_check_alive(&r);
    close(fd);
    rig_release(&r);
}

/* An ended answer whose client reads nothing does not stay for ever. */
static void test_never_read(void **state)
{
    struct rig r = {.options = http_server_defaults};
    char *body = mem_array(16 << 20, 1);

    (void)state;
    r.options.idle_timeout_ns = 50 * NS_PER_MS;
    rig_init(&r);
    int fd = rig_connect_small(&r, 4096);
    rig_send(&r, fd, GET("/hold") "\r\n");
    rig_await(&r, &r.helds, 1);
    exchange_reply(r.held[0], 200, NULL, NULL, body, 16 << 20);
    rig_turn(&r, 150 * NS_PER_MS);
    assert_int_equal(rig_read_to_end(&r, fd), RIG_RST);
    assert_int_equal(r.gone, 0);
    close(fd);
    free(body);
    rig_release(&r);
}

static void test_abort(void **state)
{
    static const char *const requests[] = {GET("/hold") "\r\n", GET("/stream") "\r\n",
                                           GET("/stream") "\r\n" GET("/echo") "\r\n"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(requests); i++)
        for (int reset = 0; reset <= 1; reset++) {
            struct rig r = {.options = http_server_defaults};
            rig_init(&r);
            int fd = rig_connect(&r);
            rig_send(&r, fd, requests[i]);
            rig_await(&r, &r.helds, 1);
            if (i > 0)
                exchange_write(r.held[0], "data", 4);
            rig_turn(&r, 0);
            exchange_abort(r.held[0], reset);
            enum rig_end end = rig_read_to_end(&r, fd);
            assert_int_equal(end, reset ? RIG_RST : RIG_FIN);
            if (!reset)
                assert_int_equal(r.got.len > 0, i > 0);
            assert_null(strstr(r.got.p, "\r\n0\r\n"));
            assert_int_equal(r.gone, 0);
            assert_int_equal(r.requests, 1);
            close(fd);
            rig_check_alive(&r);
            rig_release(&r);
        }
}

/* Random bytes, some behind a plausible beginning: never a crash, and an answer where there is one
 * is a refusal. */
static void test_garbage(void **state)
{
    static const char *const beginnings[] = {
        "", "GET /", GET("/none"), "POST /none HTTP/1.1\r\nHost: x\r\nContent-Length: ",
        "POST /none HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"};
    struct rig r = {.options = http_server_defaults};
    struct rng rng = {7};
    char bytes[512];

    (void)state;
    r.options.request_timeout_ns = 5 * NS_PER_MS;
    r.options.idle_timeout_ns = 5 * NS_PER_MS;
    rig_init(&r);
    for (int i = 0; i < 100; i++) {
        int fd = rig_connect(&r);
        size_t n = (size_t)rng_below(&rng, sizeof bytes);
        for (size_t at = 0; at < n; at++)
            bytes[at] = (char)rng_below(&rng, 256);
        const char *beginning = beginnings[i % (int)ARRAY_LEN(beginnings)];
        send(fd, beginning, strlen(beginning), MSG_NOSIGNAL);
        rig_turn(&r, 0);
        send(fd, bytes, n, MSG_NOSIGNAL);
        rig_read_to_end(&r, fd);
        if (r.got.len > 0)
            assert_true(strncmp(r.got.p, "HTTP/1.1 4", 10) == 0 ||
                        strncmp(r.got.p, "HTTP/1.1 5", 10) == 0);
        close(fd);
    }
    assert_int_equal(r.requests, 0);
    rig_check_alive(&r);
    rig_release(&r);
}

static void test_max_connections(void **state)
{
    struct rig r = {.options = http_server_defaults};
    int fds[4];

    (void)state;
    r.options.max_connections = 2;
    rig_init(&r);
    for (int i = 0; i < 4; i++) {
        fds[i] = rig_connect(&r);
        rig_send(&r, fds[i], GET("/echo") "\r\n");
    }
    rig_turn(&r, 10 * NS_PER_MS);
    assert_int_equal(r.requests, 2);
    close(fds[0]);
    rig_await(&r, &r.requests, 3);
    rig_expect_nothing(&r, fds[3]);
    close(fds[1]);
    rig_expect(&r, fds[3], "GET /echo? <>");
    close(fds[2]);
    close(fds[3]);
    rig_release(&r);
}

/* Without file descriptors it waits, and does not spin. */
static void test_out_of_descriptors(void **state)
{
    struct rig r = {.options = http_server_defaults};
    struct rlimit before, none;

    (void)state;
    rig_init(&r);
    int fd = rig_connect(&r);
    send(fd, GET("/echo") "\r\n", strlen(GET("/echo") "\r\n"), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = (rlim_t)fd + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int64_t until = clock_now() + 50 * NS_PER_MS;
    int turns = 0;
    for (; clock_now() < until; turns++)
        loop_turn(r.loop, until);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_in_range(turns, 1, 10);
    assert_int_equal(r.requests, 0);
    if (rig_read(&r, fd) == RIG_OPEN) /* valgrind accepts, and closes, what is over the limit */
        rig_expect(&r, fd, "GET /echo? <>");
    rig_check_alive(&r);
    close(fd);
    rig_release(&r);
}

/* Bodies of all connections together are bounded too. */
static void test_max_memory(void **state)
{
    static const char head[] = "POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 90000\r\n\r\n";
    struct rig r = {.options = http_server_defaults};
    char *body = mem_array(90000, 1);
    int fds[3];

    (void)state;
    memset(body, 'b', 90000);
    r.options.max_memory = 300000;
    rig_init(&r);
    for (int i = 0; i < 3; i++) {
        fds[i] = rig_connect(&r);
        rig_send(&r, fds[i], head);
        rig_send_bytes(&r, fds[i], body, 90000);
    }
    assert_int_equal(rig_read_to_end(&r, fds[2]), RIG_FIN);
    assert_non_null(strstr(r.got.p, "HTTP/1.1 503 "));
    close(fds[2]);
    assert_int_equal(r.helds, 2);
    exchange_reply(r.held[0], 200, NULL, NULL, NULL, 0); /* then there is room again */
    fds[2] = rig_connect(&r);
    rig_send(&r, fds[2], head);
    rig_send_bytes(&r, fds[2], body, 90000);
    rig_await(&r, &r.helds, 3);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    free(body);
    rig_release(&r);
}

/* Freed with a connection in each state; no callback follows. */
static void test_freed_at_any_time(void **state)
{
    static const char *const requests[] = {
        "", "GET /", GET("/hold") "\r\n", GET("/stream") "\r\n" GET("/hold") "\r\n", "garbage\r\n"};
    struct rig r = {.options = http_server_defaults};
    int fds[ARRAY_LEN(requests)];

    (void)state;
    rig_init(&r);
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        fds[i] = rig_connect(&r);
        rig_send(&r, fds[i], requests[i]);
    }
    rig_await(&r, &r.helds, 2);
    for (int i = 0; i < 5000; i++)
        exchange_write(r.held[1], http_server_url(r.server), 10);
    r.inside = true;
    http_server_free(r.server);
    rig_turn(&r, 5 * NS_PER_MS);
    r.server = NULL;
    for (size_t i = 0; i < ARRAY_LEN(requests); i++)
        close(fds[i]);
    rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow),
        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_ended_before_told),
        cmocka_unit_test(test_half_closed),
        cmocka_unit_test(test_backlog),
        cmocka_unit_test(test_backlog_overflow),
        cmocka_unit_test(test_never_read),
        cmocka_unit_test(test_abort),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_max_connections),
        cmocka_unit_test(test_out_of_descriptors),
        cmocka_unit_test(test_max_memory),
        cmocka_unit_test(test_freed_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
