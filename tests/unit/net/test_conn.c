/* test_conn.c - single connections, plain, over TLS and by unix socket, against a scripted server.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/num.h"
#include "net/conn.h"
#include "peer.h"

/* In which callback the connection is freed, or something else is done. */
enum free_in { FREE_NEVER, FREE_IN_OPEN, FREE_IN_READ, FREE_IN_CLOSE };

struct rig {
    struct peer *peer;
    struct loop *loop;
    struct endpoint endpoint;
    struct conn *conn;
    enum free_in free_in;
    int opens, reads, closes;
    struct buf got;
    struct read_stamp stamp; /* the newest */
    bool orderly;
    struct err error;
};

static void free_if(struct rig *r, enum free_in now)
{
    if (r->free_in != now)
        return;
    conn_free(r->conn);
    r->conn = NULL;
}

static void on_open(void *ctx)
{
    struct rig *r = ctx;
    r->opens++;
    free_if(r, FREE_IN_OPEN);
}

static void on_read(void *ctx, const char *p, size_t n, const struct read_stamp *stamp)
{
    struct rig *r = ctx;
    assert_int_equal(r->opens, 1);
    assert_int_equal(r->closes, 0);
    assert_true(stamp->at >= r->stamp.at && stamp->serial >= r->stamp.serial);
    r->reads++;
    r->stamp = *stamp;
    buf_add(&r->got, p, n);
    free_if(r, FREE_IN_READ);
}

static void on_close(void *ctx, const struct err *err)
{
    struct rig *r = ctx;
    r->closes++;
    r->orderly = !err;
    if (err)
        r->error = *err;
    free_if(r, FREE_IN_CLOSE);
}

static const struct conn_events events = {on_open, on_read, on_close};

static void rig_init(struct rig *r, const struct peer_step *script,
                     const struct peer_options *options)
{
    static const struct peer_step *scripts[1]; /* the peer reads it as long as it lives */
    scripts[0] = script;
    *r = (struct rig){.peer = peer_start(scripts, 1, options)};
    r->loop = loop_new(NULL);
    assert_non_null(r->loop);
    buf_init(&r->got, 64 << 20);
    peer_endpoint(r->peer, &r->endpoint, true);
}

static void rig_release(struct rig *r)
{
    conn_free(r->conn);
    endpoint_close(&r->endpoint);
    loop_free(r->loop);
    peer_stop(r->peer);
    buf_release(&r->got);
}

static void connect_to(struct rig *r)
{
    struct err err = {0};
    r->conn = conn_new(r->loop, &r->endpoint, &events, r, &err);
    if (!r->conn)
        fail_msg("%s", err.text);
    assert_int_equal(r->opens + r->closes, 0); /* never from inside conn_new */
}

/* Turn until *counter reaches n. */
static void turn_until(struct rig *r, const int *counter, int n)
{
    int64_t give_up_at = clock_now() + 10 * NS_PER_S;
    while (*counter < n) {
        if (clock_now() > give_up_at)
            fail_msg("nothing happened: %d opens, %d reads, %d closes (%s)", r->opens, r->reads,
                     r->closes, r->error.text);
        loop_turn(r->loop, give_up_at);
    }
}

static const struct peer_options kinds[] = {
    {.tls = NULL}, {.unix_socket = true}, {.tls = "IP:127.0.0.1"}};

static void test_megabyte_both_ways(void **state)
{
    enum { BODY = 1 << 20 };
    static const struct peer_step script[] = {
        {.what = PEER_READ, .n = BODY + 10},
        {.what = PEER_BYTES, .text = "0123456789abcdef", .n = BODY / 16},
        {.what = PEER_CLOSE}};
    char *body = mem_array(BODY, 1);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct rig r;
        rig_init(&r, script, &kinds[i]);
        connect_to(&r);
        turn_until(&r, &r.opens, 1);
        assert_true(conn_opened_in(r.conn) > 0);
        assert_true(conn_is_quiet(r.conn) || kinds[i].tls); /* TLS 1.3 has tickets to give */
        int64_t before = clock_now();
        const struct part parts[] = {{"head:", 5}, {body, BODY}, {"", 0}, {":tail", 5}};
        conn_send(r.conn, parts, ARRAY_LEN(parts));
        turn_until(&r, &r.closes, 1);
        assert_true(r.orderly);
        assert_int_equal(r.got.len, BODY);
        for (size_t at = 0; at < BODY; at += 16)
            assert_memory_equal(r.got.p + at, "0123456789abcdef", 16);
        assert_int_equal(peer_received(r.peer), BODY + 10);
        assert_true(conn_send_started(r.conn) >= before);
        assert_true(conn_send_done(r.conn) >= conn_send_started(r.conn));
        assert_true(r.stamp.at >= conn_send_started(r.conn));
        rig_release(&r);
    }
    free(body);
}

/* The kernel's stamp of a read is a little before ours; a read's serial and size are its own. */
static void test_stamps(void **state)
{
    static const struct peer_step script[] = {
        {.what = PEER_AWAIT}, {.what = PEER_SEND, .text = "abc"},
        {.what = PEER_AWAIT}, {.what = PEER_SEND, .text = "defg"},
        {.what = PEER_GONE},  {.what = PEER_END}};
    struct rig r;

    (void)state;
    rig_init(&r, script, NULL);
    connect_to(&r);
    turn_until(&r, &r.opens, 1);
    int64_t before = clock_now();
    peer_go(r.peer);
    turn_until(&r, &r.reads, 1);
    assert_string_equal(r.got.p, "abc");
    assert_int_equal(r.stamp.serial, 1);
    assert_int_equal(r.stamp.bytes, 3);
    assert_true(r.stamp.at >= before && r.stamp.at <= clock_now());
    if (r.stamp.kernel_at) { /* some sandboxes have none */
        assert_true(r.stamp.kernel_at <= r.stamp.at + NS_PER_MS);
        assert_true(r.stamp.kernel_at >= before - NS_PER_MS);
    }
    assert_int_equal(conn_unread(r.conn), 0);
    peer_go(r.peer);
    while (conn_is_quiet(r.conn))
        clock_sleep(100 * NS_PER_US);
    assert_int_equal(conn_unread(r.conn), 4);
    turn_until(&r, &r.reads, 2);
    assert_int_equal(r.stamp.serial, 2);
    assert_int_equal(r.stamp.bytes, 4);
    assert_true(conn_is_quiet(r.conn));
    rig_release(&r);
}

static void test_freed_in_a_callback(void **state)
{
    static const struct peer_step script[] = {
        {.what = PEER_BYTES, .text = "0123456789abcdef", .n = 20000}, {.what = PEER_END}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        for (enum free_in when = FREE_IN_OPEN; when <= FREE_IN_CLOSE; when++) {
            struct rig r;
            rig_init(&r, script, &kinds[i]);
            r.free_in = when;
            connect_to(&r);
            turn_until(&r,
                       when == FREE_IN_OPEN   ? &r.opens
                       : when == FREE_IN_READ ? &r.reads
                                              : &r.closes,
                       1);
            assert_null(r.conn);
            loop_turn(r.loop, 0);
            assert_int_equal(r.opens, 1);
            assert_int_equal(r.reads, when == FREE_IN_OPEN   ? 0
                                      : when == FREE_IN_READ ? 1
                                                             : r.reads);
            assert_int_equal(r.closes, when == FREE_IN_CLOSE ? 1 : 0);
            rig_release(&r);
        }
}

/* Freed while connecting, while a large message is under way, and twice nothing. */
static void test_freed_at_any_time(void **state)
{
    static const struct peer_step script[] = {{.what = PEER_AWAIT},
                                              {.what = PEER_END}}; /* it never reads */
    enum { BODY = 8 << 20 };
    char *body = mem_array(BODY, 1);

    (void)state;
    conn_free(NULL);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const struct part part = {body, BODY};
        struct rig r;
        rig_init(&r, script, &kinds[i]);
        connect_to(&r);
        conn_free(r.conn);
        connect_to(&r);
        turn_until(&r, &r.opens, 1);
        conn_send(r.conn, &part, 1);
        for (int turn = 0; turn < 3; turn++)
            loop_turn(r.loop, clock_now());
        assert_int_equal(conn_send_done(r.conn), 0);
        conn_free(r.conn);
        r.conn = NULL;
        loop_turn(r.loop, 0);
        assert_int_equal(r.opens, 1);
        assert_int_equal(r.closes, 0);
        rig_release(&r);
    }
    free(body);
}

static void test_how_it_ends(void **state)
{
    static const struct {
        struct peer_step script[4];
        const char *got;
        enum err_code code; /* ERR_NONE: orderly */
        const char *words;
    } rows[] = {
        {{{.what = PEER_SEND, .text = "bye"}, {.what = PEER_CLOSE}}, "bye", ERR_NONE, ""},
        {{{.what = PEER_SEND, .text = "bye"}, {.what = PEER_CUT}}, "bye", ERR_NONE, ""},
        {{{.what = PEER_CLOSE}}, "", ERR_NONE, ""},
        {{{.what = PEER_SEND, .text = "bye"}, {.what = PEER_AWAIT}, {.what = PEER_RESET}},
         "bye",
         ERR_CLOSED,
         "connection lost"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
            struct rig r;
            rig_init(&r, rows[i].script, &kinds[k]);
            connect_to(&r);
            turn_until(&r, &r.opens, 1);
            if (rows[i].got[0])
                turn_until(&r, &r.reads, 1);
            peer_go(r.peer);
            turn_until(&r, &r.closes, 1);
            assert_string_equal(r.got.p, rows[i].got);
            /* a unix socket knows no reset: it just ends */
            if (rows[i].code != ERR_NONE && !kinds[k].unix_socket) {
                assert_false(r.orderly);
                assert_int_equal(r.error.code, rows[i].code);
                assert_non_null(strstr(r.error.text, rows[i].words));
            } else {
                assert_true(r.orderly);
            }
            loop_turn(r.loop, 0);
            assert_int_equal(r.closes, 1); /* once */
            rig_release(&r);
        }
}

/* What the server sent before it hung up arrives, although our own message could not be sent. */
static void test_last_words_arrive(void **state)
{
    static const struct peer_step script[] = {{.what = PEER_READ, .n = 10},
                                              {.what = PEER_SEND, .text = "too large"},
                                              {.what = PEER_CLOSE}};
    enum { BODY = 8 << 20, TIMES = 50 };
    char *body = mem_array(BODY, 1);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        for (int time = 0; time < TIMES; time++) {
            const struct part part = {body, BODY};
            struct rig r;
            rig_init(&r, script, &kinds[i]);
            connect_to(&r);
            turn_until(&r, &r.opens, 1);
            conn_send(r.conn, &part, 1);
            turn_until(&r, &r.closes, 1);
            if (strcmp(r.got.p, "too large") != 0)
                fail_msg("kind %zu, time %d: '%s', %s", i, time, r.got.p, r.error.text);
            assert_int_equal(conn_send_done(r.conn), 0);
            rig_release(&r);
        }
    free(body);
}

/* --- connections that do not come to be --- */

static void test_refused(void **state)
{
    static const struct peer_step script[] = {{.what = PEER_CLOSE}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct rig r;
        struct err err = {0};
        rig_init(&r, script, &kinds[i]);
        peer_stop(r.peer);
        r.peer = NULL;
        r.conn = conn_new(r.loop, &r.endpoint, &events, &r, &err);
        if (r.conn) { /* loopback may say no at once, or a turn later */
            turn_until(&r, &r.closes, 1);
            err = r.error;
        }
        assert_int_equal(err.code, ERR_CONNECT);
        assert_non_null(strstr(err.text, "cannot connect"));
        assert_int_equal(r.opens, 0);
        rig_release(&r);
    }
}

/* A socket that listens and never accepts, with its queue full. */
struct full_house {
    int listening, guests[8];
    char path[64];
};

static void full_house_init(struct full_house *h, struct endpoint *e, bool unix_socket)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int family = unix_socket ? AF_UNIX : AF_INET;

    snprintf(h->path, sizeof h->path, "/tmp/tokgrid-full-%d.sock", (int)getpid());
    unlink(h->path);
    snprintf(un.sun_path, sizeof un.sun_path, "%s", h->path);
    h->listening = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const struct sockaddr *addr = unix_socket ? (void *)&un : (void *)&in;
    socklen_t size = unix_socket ? sizeof un : sizeof in;
    assert_int_equal(bind(h->listening, addr, size), 0);
    assert_int_equal(listen(h->listening, 0), 0);
    *e = (struct endpoint){.options.connect_timeout_ns = 50 * NS_PER_MS};
    e->addr_len = sizeof e->addr;
    assert_int_equal(getsockname(h->listening, (struct sockaddr *)&e->addr, &e->addr_len), 0);
    for (size_t i = 0; i < ARRAY_LEN(h->guests); i++) {
        h->guests[i] = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)!connect(h->guests[i], (struct sockaddr *)&e->addr, e->addr_len);
    }
}

static void full_house_release(struct full_house *h)
{
    for (size_t i = 0; i < ARRAY_LEN(h->guests); i++)
        close(h->guests[i]);
    close(h->listening);
    unlink(h->path);
}

static void test_nobody_answers(void **state)
{
    (void)state;
    for (int unix_socket = 0; unix_socket < 2; unix_socket++) {
        struct full_house house;
        struct rig r = {.loop = loop_new(NULL)};
        full_house_init(&house, &r.endpoint, unix_socket);
        int64_t began = clock_now();
        connect_to(&r);
        turn_until(&r, &r.closes, 1);
        assert_int_equal(r.opens, 0);
        assert_int_equal(r.error.code, ERR_TIMEOUT);
        assert_true(clock_now() - began >= 50 * NS_PER_MS);
        rig_release(&r);
        full_house_release(&house);
    }
}

/* A unix socket's queue was full for a moment: that is no connection, and no failure either. */
static void test_full_unix_queue_empties(void **state)
{
    struct full_house house;
    struct rig r = {.loop = loop_new(NULL)};

    (void)state;
    full_house_init(&house, &r.endpoint, true);
    r.endpoint.options.connect_timeout_ns = 10 * NS_PER_S;
    connect_to(&r);
    for (int turn = 0; turn < 3; turn++)
        loop_turn(r.loop, clock_now() + NS_PER_MS);
    assert_int_equal(r.opens + r.closes, 0);
    for (int fd; (fd = accept4(house.listening, NULL, NULL, SOCK_CLOEXEC)) >= 0;)
        close(fd);
    turn_until(&r, &r.opens, 1);
    conn_send(r.conn, &(const struct part){"hi", 2}, 1);
    int fd;
    while ((fd = accept4(house.listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) < 0)
        loop_turn(r.loop, clock_now() + NS_PER_MS);
    char bytes[8] = "";
    while (recv(fd, bytes, sizeof bytes, 0) < 0)
        loop_turn(r.loop, clock_now() + NS_PER_MS);
    assert_string_equal(bytes, "hi");
    close(fd);
    turn_until(&r, &r.closes, 1);
    rig_release(&r);
    full_house_release(&house);
}

/* --- TLS --- */

static void test_certificates(void **state)
{
    static const struct {
        const char *name, *host; /* what the certificate says; what is asked for */
        bool trust, insecure, opens;
    } rows[] = {
        {"IP:127.0.0.1", "127.0.0.1", true, false, true},
        {"IP:127.0.0.1", "127.0.0.1", false, false, false}, /* nobody vouches for it */
        {"IP:127.0.0.1", "127.0.0.1", false, true, true},
        {"IP:127.0.0.2", "127.0.0.1", true, false, false},
        {"DNS:127.0.0.1", "127.0.0.1", true, false, false}, /* an address is no name */
        {"DNS:localhost", "localhost", true, false, true},
        {"DNS:localhost", "LOCALHOST", true, false, true},
        {"DNS:example.com", "localhost", true, false, false},
        {"DNS:example.com", "localhost", true, true, true},
        {"DNS:*.example.com", "a.example.com", true, false, true},
        {"DNS:*.example.com", "a.b.example.com", true, false, false},
        {"IP:::1", "::1", true, false, true},
    };
    static const struct peer_step script[] = {{.what = PEER_SEND, .text = "hi"},
                                              {.what = PEER_END}};
    static const struct peer_step *const scripts[] = {script};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct peer_options options = {.tls = rows[i].name};
        struct rig r = {.loop = loop_new(NULL), .peer = peer_start(scripts, 1, &options)};
        const struct endpoint_options how = {.connect_timeout_ns = 10 * NS_PER_S,
                                             .ca_file = rows[i].trust ? peer_ca_file(r.peer) : NULL,
                                             .insecure = rows[i].insecure};
        struct url url;
        buf_init(&r.got, 100);
        assert_true(url_parse(peer_url(r.peer), &url, NULL));
        assert_true(endpoint_open(&r.endpoint, &url, &how, NULL));
        snprintf(r.endpoint.url.host, sizeof r.endpoint.url.host, "%s", rows[i].host);
        connect_to(&r);
        turn_until(&r, &r.closes, 1);
        if (r.opens != rows[i].opens)
            fail_msg("row %zu: %s", i, r.error.text);
        assert_string_equal(r.got.p, rows[i].opens ? "hi" : "");
        if (!rows[i].opens) {
            assert_int_equal(r.error.code, ERR_CONNECT);
            assert_non_null(strstr(r.error.text, "certificate"));
        }
        rig_release(&r);
    }
}

/* Whatever speaks no TLS, or stops to: no connection, in one turn or another. */
static void test_no_tls(void **state)
{
    static const struct peer_step scripts[][3] = {
        {{.what = PEER_SEND, .text = "HTTP/1.1 400 Bad Request\r\n\r\n"}, {.what = PEER_CLOSE}},
        {{.what = PEER_READ, .n = 20}, {.what = PEER_CLOSE}},
        {{.what = PEER_READ, .n = 20}, {.what = PEER_RESET}},
        {{.what = PEER_CLOSE}},
    };
    static const char key[] = "certificate";
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
        const struct peer_options tls = {.tls = "IP:127.0.0.1"};
        struct rig r, other;
        rig_init(&other, scripts[i], &tls); /* for its TLS context only */
        void *context = other.endpoint.tls;
        rig_init(&r, scripts[i], NULL);
        r.endpoint.tls = context;
        connect_to(&r);
        turn_until(&r, &r.closes, 1);
        assert_int_equal(r.opens, 0);
        if (r.error.code != ERR_CONNECT || strstr(r.error.text, key))
            fail_msg("script %zu: %s", i, r.error.text);
        r.endpoint.tls = NULL;
        rig_release(&r);
        rig_release(&other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_megabyte_both_ways),
        cmocka_unit_test(test_stamps),
        cmocka_unit_test(test_freed_in_a_callback),
        cmocka_unit_test(test_freed_at_any_time),
        cmocka_unit_test(test_how_it_ends),
        cmocka_unit_test(test_last_words_arrive),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_nobody_answers),
        cmocka_unit_test(test_full_unix_queue_empties),
        cmocka_unit_test(test_certificates),
        cmocka_unit_test(test_no_tls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
