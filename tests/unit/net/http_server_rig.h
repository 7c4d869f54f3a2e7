/* http_server_rig.h - a server, and clients that are bare sockets, all in one thread.
 *
 * What the path of a request says is done with it: /echo is answered at once by what was asked,
 * /hold is left waiting, /stream has its head sent. The latter two stand in `held`, in order. */
#ifndef TOKGRID_TESTS_HTTP_SERVER_RIG_H
#define TOKGRID_TESTS_HTTP_SERVER_RIG_H

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/num.h"
#include "net/http_server.h"

enum { MAX_HELD = 8 };

struct rig {
    struct loop *loop;
    struct http_server *server;
    struct http_server_options options;
    struct exchange *held[MAX_HELD];
    int requests, helds, gone;
    bool inside; /* a call of ours is on the stack: on_gone may not come */
    int64_t arrived;
    struct buf got; /* what a client read */
};

static inline void rig_on_request(void *ctx, struct exchange *x)
{
    struct rig *r = ctx;
    struct buf text;
    size_t n;

    assert_false(r->inside);
    r->requests++;
    r->arrived = exchange_arrived(x);
    const char *body = exchange_body(x, &n), *path = exchange_path(x);
    assert_int_equal(body[n], '\0');
    if (strcmp(path, "/echo") == 0) {
        buf_init(&text, 128 << 20);
        buf_addf(&text, "%s %s?%s <", exchange_method(x), path, exchange_query(x));
        buf_add(&text, body, n);
        buf_adds(&text, ">");
        exchange_reply(x, 200, "text/plain", "X-Extra: 1\r\n", text.p, text.len);
        buf_release(&text);
        return;
    }
    if (strcmp(path, "/stream") == 0)
        exchange_start(x, 200, "text/event-stream", NULL);
    assert_true(r->helds < MAX_HELD);
    exchange_set_owner(x, &r->held[r->helds]);
    r->held[r->helds++] = x;
}

static inline void rig_on_gone(void *ctx, struct exchange *x)
{
    struct rig *r = ctx;
    struct exchange **place = exchange_owner(x);
    assert_false(r->inside);
    assert_ptr_equal(*place, x);
    *place = NULL;
    r->gone++;
}

static inline void rig_init(struct rig *r)
{
    static const struct http_server_events events = {rig_on_request, rig_on_gone};
    struct err err = {0};
    struct http_server_options options = r->options;

    *r = (struct rig){.loop = loop_new(NULL), .options = options};
    buf_init(&r->got, 256 << 20);
    r->server = http_server_new(r->loop, &options, &events, r, &err);
    if (!r->server)
        fail_msg("%s", err.text);
}

static inline void rig_release(struct rig *r)
{
    http_server_free(r->server);
    loop_free(r->loop);
    buf_release(&r->got);
}

static inline uint16_t rig_port(const struct rig *r)
{
    int64_t port = 0;
    assert_true(num_parse_i64(strrchr(http_server_url(r->server), ':') + 1, &port));
    return (uint16_t)port;
}

/* A client's socket; rcvbuf 0: as the system has it. */
static inline int rig_connect_small(struct rig *r, int rcvbuf)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                            .sin_port = htons(rig_port(r))};
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (rcvbuf)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof rcvbuf);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

static inline int rig_connect(struct rig *r)
{
    return rig_connect_small(r, 0);
}

/* Run the server for so long; what is due at once also at 0. */
static inline void rig_turn(struct rig *r, int64_t ns)
{
    int64_t until = clock_now() + ns;
    do
        loop_turn(r->loop, until);
    while (clock_now() < until);
}

/* Turn until *counter reaches n. */
static inline void rig_await(struct rig *r, const int *counter, int n)
{
    int64_t give_up_at = clock_now() + 10 * NS_PER_S;
    while (*counter < n) {
        if (clock_now() > give_up_at)
            fail_msg("nothing happened: %d requests, %d gone", r->requests, r->gone);
        loop_turn(r->loop, give_up_at);
    }
    assert_int_equal(*counter, n);
}

static inline void rig_send_bytes(struct rig *r, int fd, const char *p, size_t n)
{
    int64_t give_up_at = clock_now() + 10 * NS_PER_S;
    while (n > 0) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        assert_true(sent > 0 || (errno == EAGAIN && clock_now() < give_up_at));
        if (sent > 0) {
            p += sent;
            n -= (size_t)sent;
        }
        rig_turn(r, 0);
    }
}

static inline void rig_send(struct rig *r, int fd, const char *text)
{
    rig_send_bytes(r, fd, text, strlen(text));
}

enum rig_end { RIG_OPEN, RIG_FIN, RIG_RST };

/* Read what is there; the newest bytes are at the end of r->got. */
static inline enum rig_end rig_read(struct rig *r, int fd)
{
    char piece[16384];
    for (;;) {
        ssize_t n = recv(fd, piece, sizeof piece, 0);
        if (n == 0)
            return RIG_FIN;
        if (n < 0)
            return errno == EAGAIN ? RIG_OPEN : RIG_RST;
        assert_true(buf_add(&r->got, piece, (size_t)n));
    }
}

/* Read, from nothing, until the bytes end by `text`. */
static inline void rig_expect(struct rig *r, int fd, const char *text)
{
    int64_t give_up_at = clock_now() + 10 * NS_PER_S;
    size_t n = strlen(text);

    buf_reset(&r->got);
    for (int64_t pause = 0;; pause = 100 * NS_PER_US) {
        rig_turn(r, pause);
        enum rig_end end = rig_read(r, fd);
        if (r->got.len >= n && memcmp(r->got.p + r->got.len - n, text, n) == 0)
            return;
        if (end != RIG_OPEN || clock_now() > give_up_at)
            fail_msg("'%s' came, '%s' was to come", r->got.p, text);
    }
}

/* Read, from nothing, until the connection ends. */
static inline enum rig_end rig_read_to_end(struct rig *r, int fd)
{
    int64_t give_up_at = clock_now() + 10 * NS_PER_S;
    enum rig_end end;

    buf_reset(&r->got);
    while ((end = rig_read(r, fd)) == RIG_OPEN) {
        if (clock_now() > give_up_at)
            fail_msg("the connection is still open after '%s'", r->got.p);
        rig_turn(r, 100 * NS_PER_US);
    }
    return end;
}

/* Nothing comes, and the connection stays. */
static inline void rig_expect_nothing(struct rig *r, int fd)
{
    buf_reset(&r->got);
    for (int i = 0; i < 20; i++) {
        rig_turn(r, 500 * NS_PER_US);
        assert_int_equal(rig_read(r, fd), RIG_OPEN);
        assert_string_equal(r->got.p, "");
    }
}

static inline void rig_reset(int fd)
{
    const struct linger at_once = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(fd);
}

/* Still there, and in its right mind. */
static inline void rig_check_alive(struct rig *r)
{
    int fd = rig_connect(r);
    rig_send(r, fd, "GET /echo?alive HTTP/1.1\r\nHost: x\r\n\r\n");
    rig_expect(r, fd, "\r\n\r\nGET /echo?alive <>");
    close(fd);
}

#define HOST        "Host: x\r\n"
#define GET(target) "GET " target " HTTP/1.1\r\n" HOST

#endif
