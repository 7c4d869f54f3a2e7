/* conn.c - connect, TLS by memory BIOs, scattered writes, stamped reads.
 *
 * OpenSSL never touches the socket: stamp_read does, so that a read's stamp (and the kernel's own
 * receive stamp) exists for TLS as well; the cipher text goes in and out through
 * memory BIOs.
 *
 *   connecting --writable--> [handshaking] --> open --EOF or error--> closed (on_close, once)
 *
 * A callback may call conn_free on the connection that is calling it: then the struct is only
 * marked dead, and goes when the loop's entry point (on_ready, on_timeout, on_again) is left.
 */
#include "net/conn.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "net/stamp.h"

enum conn_state { CONNECTING, HANDSHAKING, OPEN, CLOSED, DEAD };
enum { READ_BYTES = 65536 };
static const int64_t attempt_ns = 2 * NS_PER_MS; /* between attempts at a full queue */

struct conn {
    struct loop *loop;
    const struct endpoint *endpoint;
    const struct conn_events *events;
    void *ctx;
    struct loop_watch watch;
    struct loop_timer timer; /* bounds connect + TLS */
    struct loop_timer again; /* another attempt at a unix socket whose queue is full */
    enum conn_state state;
    uint32_t wanted; /* epoll events asked for now */
    int64_t started_at, opened_in;
    struct part parts[CONN_MAX_PARTS];
    size_t part_next, part_count;
    int64_t send_started, send_done;
    uint64_t reads;
    SSL *ssl;
    BIO *to_ssl, *from_ssl; /* owned by ssl */
    bool in_loop;           /* an entry point of the loop is on the stack */
};

/* Reads land here: one buffer for each thread, since a read is consumed before the next one. */
static _Thread_local char cipher_bytes[READ_BYTES];
static _Thread_local char plain_bytes[READ_BYTES];

static void want(struct conn *c, uint32_t events)
{
    if (events != c->wanted)
        loop_change(c->loop, &c->watch, c->wanted = events);
}

static void close_with(struct conn *c, const struct err *err)
{
    c->state = CLOSED;
    loop_unwatch(c->loop, &c->watch);
    loop_timer_cancel(c->loop, &c->timer);
    loop_timer_cancel(c->loop, &c->again);
    c->events->on_close(c->ctx, err); /* may free c */
}

static void fail(struct conn *c, enum err_code code, const char *what, const char *why)
{
    struct err err;
    err_set(&err, code, "%s: %s", what, why);
    close_with(c, &err);
}

static void fail_errno(struct conn *c, int problem)
{
    if (c->state == CONNECTING)
        fail(c, ERR_CONNECT, "cannot connect", strerror(problem));
    else if (c->state == HANDSHAKING)
        fail(c, ERR_CONNECT, "connection lost during the TLS handshake", strerror(problem));
    else
        fail(c, ERR_CLOSED, "connection lost", strerror(problem));
}

/* The peer takes no more bytes. It may have said why before it hung up (an early error page), and
 * that is still to be read: so nothing more is sent, and the reading end finds out the rest. */
static void fail_send(struct conn *c, int problem)
{
    if (c->state != OPEN) {
        fail_errno(c, problem);
        return;
    }
    c->part_next = c->part_count;
    if (c->ssl)
        (void)BIO_reset(c->from_ssl);
    want(c, EPOLLIN);
}

static void fail_tls(struct conn *c)
{
    long verify = SSL_get_verify_result(c->ssl);
    unsigned long code = ERR_get_error();
    const char *why = ERR_reason_error_string(code);
    ERR_clear_error();
    if (c->state == HANDSHAKING && verify != X509_V_OK)
        fail(c, ERR_CONNECT, "the server's certificate is not trusted",
             X509_verify_cert_error_string(verify));
    else
        fail(c, ERR_CONNECT, "TLS", why ? why : "the peer broke the protocol");
}

/* Move cipher text from OpenSSL to the socket. False: the socket is full or the connection died. */
static bool flush_tls(struct conn *c)
{
    char *p;
    for (;;) {
        long n = BIO_get_mem_data(c->from_ssl, &p);
        if (n <= 0)
            return true;
        ssize_t sent = send(c->watch.fd, p, (size_t)n, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno == EINTR)
                continue;
            if (errno == EAGAIN)
                want(c, EPOLLIN | EPOLLOUT);
            else
                fail_send(c, errno);
            return false;
        }
        /* reading is how a memory BIO forgets; plain_bytes is only scratch here */
        while (sent > 0) {
            int chunk = sent < READ_BYTES ? (int)sent : READ_BYTES;
            chunk = BIO_read(c->from_ssl, plain_bytes, chunk);
            if (chunk <= 0)
                break;
            sent -= chunk;
        }
    }
}

static void opened(struct conn *c)
{
    c->state = OPEN;
    c->opened_in = clock_now() - c->started_at;
    loop_timer_cancel(c->loop, &c->timer);
    want(c, EPOLLIN);
    c->events->on_open(c->ctx); /* may free c */
}

static void handshake(struct conn *c)
{
    ERR_clear_error();
    int done = SSL_do_handshake(c->ssl);
    int why = done == 1 ? SSL_ERROR_NONE : SSL_get_error(c->ssl, done);
    if (why != SSL_ERROR_NONE && why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) {
        fail_tls(c);
        return;
    }
    if (flush_tls(c) && done == 1)
        opened(c);
}

static void connected(struct conn *c)
{
    int problem = 0;
    socklen_t size = sizeof problem;
    getsockopt(c->watch.fd, SOL_SOCKET, SO_ERROR, &problem, &size);
    if (problem) {
        fail_errno(c, problem);
        return;
    }
    want(c, EPOLLIN);
    if (!c->ssl) {
        opened(c);
        return;
    }
    c->state = HANDSHAKING;
    handshake(c);
}

static void write_plain(struct conn *c)
{
    while (c->part_next < c->part_count) {
        struct iovec iov[CONN_MAX_PARTS];
        size_t n = 0;
        for (size_t i = c->part_next; i < c->part_count; i++)
            iov[n++] = (struct iovec){(void *)(uintptr_t)c->parts[i].p, c->parts[i].n};
        struct msghdr msg = {.msg_iov = iov, .msg_iovlen = n};
        ssize_t sent = sendmsg(c->watch.fd, &msg, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno == EINTR)
                continue;
            if (errno == EAGAIN)
                want(c, EPOLLIN | EPOLLOUT);
            else
                fail_send(c, errno);
            return;
        }
        while (c->part_next < c->part_count && (size_t)sent >= c->parts[c->part_next].n)
            sent -= (ssize_t)c->parts[c->part_next++].n;
        if (sent > 0) {
            c->parts[c->part_next].p += sent;
            c->parts[c->part_next].n -= (size_t)sent;
        }
    }
    c->send_done = clock_now();
    want(c, EPOLLIN);
}

static void write_tls(struct conn *c)
{
    for (; c->part_next < c->part_count; c->part_next++) {
        struct part *part = &c->parts[c->part_next];
        while (part->n > 0) {
            size_t done;
            ERR_clear_error();
            if (SSL_write_ex(c->ssl, part->p, part->n, &done) != 1) {
                fail_tls(c);
                return;
            }
            part->p += done;
            part->n -= done;
        }
    }
    if (flush_tls(c)) {
        if (!c->send_done)
            c->send_done = clock_now();
        want(c, EPOLLIN);
    }
}

/* Hand the plain text of one read to the owner, then see to what TLS wants to say. */
static void deliver_tls(struct conn *c, size_t n, const struct read_stamp *stamp)
{
    BIO_write(c->to_ssl, cipher_bytes, (int)n);
    if (c->state == HANDSHAKING)
        handshake(c);
    while (c->state == OPEN) {
        size_t got;
        ERR_clear_error();
        int ok = SSL_read_ex(c->ssl, plain_bytes, sizeof plain_bytes, &got);
        if (ok == 1) {
            c->events->on_read(c->ctx, plain_bytes, got, stamp);
            continue;
        }
        int why = SSL_get_error(c->ssl, ok);
        if (why == SSL_ERROR_ZERO_RETURN)
            close_with(c, NULL);
        else if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
            fail_tls(c);
        else
            flush_tls(c); /* key updates and session tickets may want an answer */
        return;
    }
}

static void read_once(struct conn *c)
{
    struct read_stamp stamp = {0};
    ssize_t n =
        stamp_read(c->watch.fd, cipher_bytes, sizeof cipher_bytes, &stamp.at, &stamp.kernel_at);
    if (n < 0) {
        if (errno != EAGAIN && errno != EINTR)
            fail_errno(c, errno);
        return;
    }
    if (n == 0) {
        if (c->state == OPEN)
            close_with(c, NULL);
        else
            fail(c, ERR_CONNECT, "TLS", "the server closed the connection during the handshake");
        return;
    }
    stamp.bytes = (size_t)n;
    stamp.serial = ++c->reads;
    if (c->ssl)
        deliver_tls(c, (size_t)n, &stamp);
    else
        c->events->on_read(c->ctx, cipher_bytes, (size_t)n, &stamp);
}

static void destroy(struct conn *c)
{
    SSL_free(c->ssl);
    free(c);
}

static void leave_loop(struct conn *c)
{
    c->in_loop = false;
    if (c->state == DEAD)
        destroy(c);
}

static void write_more(struct conn *c)
{
    if (c->part_count && !c->send_started)
        c->send_started = clock_now();
    if (c->ssl)
        write_tls(c);
    else
        write_plain(c);
}

static void on_ready(void *ctx, uint32_t events)
{
    struct conn *c = ctx;

    c->in_loop = true;
    if (c->state == CONNECTING) {
        connected(c);
    } else {
        if (events & (EPOLLIN | EPOLLERR | EPOLLHUP))
            read_once(c);
        if (events & EPOLLOUT && c->state == HANDSHAKING)
            handshake(c);
        else if (events & EPOLLOUT && c->state == OPEN)
            write_more(c);
    }
    leave_loop(c);
}

static void on_timeout(void *ctx)
{
    struct conn *c = ctx;
    c->in_loop = true;
    fail(c, ERR_TIMEOUT, "cannot connect", "no answer in time");
    leave_loop(c);
}

/* A unix socket whose queue is full refuses the attempt instead of keeping it. */
static void on_again(void *ctx)
{
    struct conn *c = ctx;
    const struct sockaddr *addr = (const struct sockaddr *)&c->endpoint->addr;
    struct err err;

    c->in_loop = true;
    int problem = connect(c->watch.fd, addr, c->endpoint->addr_len) == 0 ? 0 : errno;
    if (problem == EAGAIN)
        loop_timer_set(c->loop, &c->again, clock_now() + attempt_ns);
    else if (problem)
        fail_errno(c, problem);
    else if (!loop_watch(c->loop, &c->watch, c->wanted, &err))
        close_with(c, &err);
    leave_loop(c);
}

static bool attach_tls(struct conn *c, struct err *err)
{
    const struct url *url = &c->endpoint->url;
    unsigned char literal[sizeof(struct in6_addr)];

    c->ssl = SSL_new(c->endpoint->tls);
    c->to_ssl = BIO_new(BIO_s_mem());
    c->from_ssl = BIO_new(BIO_s_mem());
    if (!c->ssl || !c->to_ssl || !c->from_ssl) {
        BIO_free(c->to_ssl);
        BIO_free(c->from_ssl);
        return err_set(err, ERR_SYSTEM, "cannot start TLS");
    }
    SSL_set_bio(c->ssl, c->to_ssl, c->from_ssl);
    SSL_set_connect_state(c->ssl);
    /* a name is checked and sent as SNI; an address is checked as an address and never sent */
    if (inet_pton(AF_INET, url->host, literal) == 1 ||
        inet_pton(AF_INET6, url->host, literal) == 1) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(c->ssl), url->host);
    } else {
        SSL_set1_host(c->ssl, url->host);
        SSL_ctrl(c->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                 (void *)(uintptr_t)url->host); /* the macro for this drops a const */
    }
    return true;
}

struct conn *conn_new(struct loop *loop, const struct endpoint *endpoint,
                      const struct conn_events *events, void *ctx, struct err *err)
{
    const struct sockaddr *addr = (const struct sockaddr *)&endpoint->addr;
    struct conn *c = mem_alloc(sizeof *c);
    const int on = 1;

    c->loop = loop;
    c->endpoint = endpoint;
    c->events = events;
    c->ctx = ctx;
    c->started_at = clock_now();
    c->timer = (struct loop_timer){.fn = on_timeout, .ctx = c};
    c->again = (struct loop_timer){.fn = on_again, .ctx = c};
    c->watch = (struct loop_watch){.fn = on_ready, .ctx = c};
    c->watch.fd = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->watch.fd < 0) {
        err_set(err, ERR_SYSTEM, "cannot open a socket: %s", strerror(errno));
        free(c);
        return NULL;
    }
    if (addr->sa_family != AF_UNIX) {
        setsockopt(c->watch.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        stamp_enable(c->watch.fd);
    }
    int problem = connect(c->watch.fd, addr, endpoint->addr_len) == 0 ? 0 : errno;
    if (problem && problem != EINPROGRESS && problem != EAGAIN) {
        err_set(err, ERR_CONNECT, "cannot connect: %s", strerror(problem));
        conn_free(c);
        return NULL;
    }
    c->wanted = EPOLLOUT; /* also when it is up already: the first callback comes from the loop */
    if ((endpoint->tls && !attach_tls(c, err)) ||
        (problem != EAGAIN && !loop_watch(loop, &c->watch, c->wanted, err))) {
        conn_free(c);
        return NULL;
    }
    if (problem == EAGAIN)
        loop_timer_set(loop, &c->again, c->started_at + attempt_ns);
    loop_timer_set(loop, &c->timer, c->started_at + endpoint->options.connect_timeout_ns);
    return c;
}

void conn_free(struct conn *c)
{
    if (!c)
        return;
    loop_unwatch(c->loop, &c->watch);
    loop_timer_cancel(c->loop, &c->timer);
    loop_timer_cancel(c->loop, &c->again);
    close(c->watch.fd);
    c->state = DEAD;
    if (!c->in_loop)
        destroy(c);
}

void conn_send(struct conn *c, const struct part *parts, size_t count)
{
    assert(c->state == OPEN && c->part_next == c->part_count && count <= CONN_MAX_PARTS);
    memcpy(c->parts, parts, count * sizeof *parts);
    c->part_next = 0;
    c->part_count = count;
    c->send_started = c->send_done = 0;
    /* the loop writes: an error is reported as on_close, never from in here */
    want(c, EPOLLIN | EPOLLOUT);
}

bool conn_is_quiet(const struct conn *c)
{
    char byte;
    return recv(c->watch.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

int64_t conn_opened_in(const struct conn *c)
{
    return c->opened_in;
}

int64_t conn_send_started(const struct conn *c)
{
    return c->send_started;
}

int64_t conn_send_done(const struct conn *c)
{
    return c->send_done;
}

int64_t conn_unread(const struct conn *c)
{
    int n = 0;
    return ioctl(c->watch.fd, SIOCINQ, &n) == 0 ? n : 0;
}
