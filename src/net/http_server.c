/* http_server.c - a connection is one struct, and so is the exchange that is on it.
 *
 *   READING --request is whole--> ANSWERING --its owner ended it--> FLUSHING --all sent--> READING
 *      |                              |                                 |
 *      | refused, Connection: close, aborted                            |
 *      +------------------------------+----> DRAINING <-----------------+
 *
 * While an exchange is on it, a connection reads nothing: pipelined requests wait in the kernel, or
 * in `pending` where they came in the same read. One timer does for each state what it needs.
 * DRAINING says goodbye by FIN and reads over what the client is still sending: closing a socket
 * with unread bytes would be a reset, which takes the answer away from under the client's eyes.
 *
 * A callback may end the exchange that is calling it: hang_up marks the struct GONE, and it is
 * freed when the loop's entry point is left. */
#include "net/http_server.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "net/http_answer.h"
#include "net/http_request.h"
#include "net/listener.h"
#include "net/stamp.h"

enum state { READING, ANSWERING, FLUSHING, DRAINING, GONE };
enum { READ_BYTES = 65536 };
static const int64_t drain_ns = 2 * NS_PER_S;

struct exchange {
    struct http_server *server;
    struct exchange *prev, *next;
    struct loop_watch watch;
    struct loop_timer timer;
    uint32_t wanted; /* epoll events asked for now */
    enum state state;
    bool in_loop;    /* an entry point of the loop is on the stack */
    bool failed;     /* the client takes no more bytes, or too few: the timer will end it */
    bool keep_alive; /* after this answer */
    bool started;    /* exchange_start was called */
    bool chunked, bodyless;
    struct http_request request;
    struct buf pending; /* read, and behind the request */
    struct buf backlog; /* what the socket did not take; up to backlog_at it is sent */
    size_t backlog_at;
    size_t charged;  /* of http_server.memory */
    int64_t read_at; /* the newest read */
    int64_t arrived;
    void *owner;
};

struct http_server {
    struct loop *loop;
    struct http_server_options options;
    const struct http_server_events *events;
    void *ctx;
    struct listener *listener;
    struct exchange *first;
    unsigned connections;
    size_t memory;      /* bytes of heads, bodies and backlogs */
    struct buf scratch; /* for heads */
};

const struct http_server_options http_server_defaults = {
    .host = "127.0.0.1",
    .max_head = 32 << 10,
    .max_body = 64 << 20,
    .max_backlog = 4 << 20,
    .max_memory = (size_t)4 << 30,
    .max_connections = 16384,
    .request_timeout_ns = 60 * NS_PER_S,
    .idle_timeout_ns = 120 * NS_PER_S,
};

/* A read is consumed before the next one: one buffer for each thread. */
static _Thread_local char read_bytes[READ_BYTES];

/* --- ends --- */

static void want(struct exchange *x, uint32_t events)
{
    if (events != x->wanted)
        loop_change(x->server->loop, &x->watch, x->wanted = events);
}

static void set_timer(struct exchange *x, int64_t in_ns)
{
    loop_timer_set(x->server->loop, &x->timer, clock_now() + in_ns);
}

/* Count what this connection holds. False: it is more than all of them together may. */
static bool charge(struct exchange *x)
{
    size_t held = http_request_bytes(&x->request) + x->pending.cap + x->backlog.cap;
    x->server->memory = x->server->memory - x->charged + held;
    x->charged = held;
    return x->server->memory <= x->server->options.max_memory;
}

static void drop(struct exchange *x)
{
    http_request_reset(&x->request);
    buf_release(&x->pending);
    buf_release(&x->backlog);
    x->backlog_at = 0;
    charge(x);
}

/* The struct itself stays for whoever called this. */
static void hang_up(struct exchange *x, bool reset)
{
    struct http_server *s = x->server;
    const struct linger at_once = {.l_onoff = 1};

    loop_unwatch(s->loop, &x->watch);
    loop_timer_cancel(s->loop, &x->timer);
    if (reset)
        setsockopt(x->watch.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(x->watch.fd);
    drop(x);
    *(x->prev ? &x->prev->next : &s->first) = x->next;
    if (x->next)
        x->next->prev = x->prev;
    s->connections--;
    if (s->listener)
        listener_resume(s->listener);
    x->state = GONE;
}

static void leave_loop(struct exchange *x)
{
    x->in_loop = false;
    if (x->state == GONE)
        free(x);
}

/* The client hung up, or as good as. */
static void lose(struct exchange *x)
{
    if (x->state == ANSWERING)
        x->server->events->on_gone(x->server->ctx, x);
    hang_up(x, true);
}

/* Say goodbye, and listen for a while to what the client still has to say. */
static void drain(struct exchange *x)
{
    drop(x);
    x->state = DRAINING;
    shutdown(x->watch.fd, SHUT_WR);
    want(x, EPOLLIN);
    if (!x->failed) /* else it is set */
        set_timer(x, drain_ns);
}

/* From inside an owner's call: on_gone may not come from there. */
static void fail(struct exchange *x)
{
    x->failed = true;
    set_timer(x, 0);
}

/* --- sending --- */

static size_t unsent(const struct exchange *x)
{
    return x->backlog.len - x->backlog_at;
}

/* Returns how many bytes the socket took. */
static size_t send_now(struct exchange *x, struct iovec *iov, size_t count)
{
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = count};
    ssize_t n;
    do
        n = sendmsg(x->watch.fd, &msg, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return (size_t)n;
    if (errno != EAGAIN)
        fail(x);
    return 0;
}

/* Send what the socket takes, keep the rest. */
static void transmit(struct exchange *x, struct iovec *iov, size_t count)
{
    if (x->failed)
        return;
    size_t sent = unsent(x) ? 0 : send_now(x, iov, count);
    for (size_t i = 0; i < count && !x->failed; i++) {
        size_t skip = sent < iov[i].iov_len ? sent : iov[i].iov_len;
        sent -= skip;
        if (skip < iov[i].iov_len)
            buf_add(&x->backlog, (char *)iov[i].iov_base + skip, iov[i].iov_len - skip);
    }
    if (!unsent(x))
        return;
    want(x, x->wanted | EPOLLOUT);
    if (!charge(x))
        fail(x);
}

static void transmit_bytes(struct exchange *x, const void *p, size_t n)
{
    struct iovec iov = {(void *)(uintptr_t)p, n};
    transmit(x, &iov, 1);
}

static void transmit_head(struct exchange *x, const struct http_answer *a, const void *body,
                          size_t n)
{
    struct buf *head = &x->server->scratch;
    buf_reset(head);
    http_answer_head(a, head);
    struct iovec iov[] = {{head->p, head->len}, {(void *)(uintptr_t)body, n}};
    transmit(x, iov, n ? 2 : 1);
}

/* The answer is sent to its last byte. */
static void finish(struct exchange *x)
{
    buf_release(&x->backlog);
    x->backlog_at = 0;
    charge(x);
    if (!x->keep_alive) {
        drain(x);
        return;
    }
    x->state = READING;
    want(x, EPOLLIN | EPOLLRDHUP);
    set_timer(x, x->pending.len ? 0 : x->server->options.idle_timeout_ns);
}

/* The owner is done with the exchange. */
static void end(struct exchange *x)
{
    http_request_reset(&x->request);
    charge(x);
    x->state = FLUSHING;
    if (x->failed) /* its timer is set */
        return;
    if (unsent(x))
        set_timer(x, x->server->options.idle_timeout_ns);
    else
        finish(x);
}

static void flush(struct exchange *x)
{
    struct iovec iov = {x->backlog.p + x->backlog_at, unsent(x)};
    x->backlog_at += send_now(x, &iov, 1);
    if (x->failed)
        return;
    if (!unsent(x)) {
        buf_release(&x->backlog);
        x->backlog_at = 0;
        charge(x);
        want(x, x->wanted & ~(uint32_t)EPOLLOUT);
        if (x->state == FLUSHING)
            finish(x);
        return;
    }
    if (x->backlog_at > x->backlog.len / 2) {
        buf_consume(&x->backlog, x->backlog_at);
        x->backlog_at = 0;
    }
    if (x->state == FLUSHING) /* it moves */
        set_timer(x, x->server->options.idle_timeout_ns);
}

/* --- reading --- */

static void refuse(struct exchange *x, int status, const char *why)
{
    struct buf line;
    buf_init(&line, 256);
    buf_addf(&line, "%s\n", why);
    const struct http_answer answer = {
        .status = status, .content_type = "text/plain; charset=utf-8", .length = (int64_t)line.len};
    x->keep_alive = false;
    transmit_head(x, &answer, line.p, line.len);
    buf_release(&line);
    end(x);
}

static void hand_over(struct exchange *x)
{
    x->state = ANSWERING;
    x->arrived = x->read_at;
    x->owner = NULL;
    x->started = x->chunked = false;
    x->keep_alive = x->request.keep_alive;
    x->bodyless = strcmp(x->request.method, "HEAD") == 0;
    x->server->events->on_request(x->server->ctx, x);
}

/* Take in bytes. The request's owner may have ended it, and even the connection, in between. */
static void consume(struct exchange *x, const char *p, size_t n)
{
    struct http_request *r = &x->request;

    while (n > 0 && x->state == READING && !x->failed) {
        bool had_begun = http_request_begun(r);
        size_t used = http_request_feed(r, p, n);
        p += used;
        n -= used;
        if (r->refused) {
            refuse(x, r->refused, r->why);
        } else if (!charge(x)) {
            refuse(x, 503, "too many requests at once");
        } else if (r->complete) {
            loop_timer_cancel(x->server->loop, &x->timer);
            hand_over(x);
        } else {
            if (!had_begun && http_request_begun(r))
                set_timer(x, x->server->options.request_timeout_ns);
            if (r->wants_continue && r->body.len == 0)
                transmit_bytes(x, "HTTP/1.1 100 Continue\r\n\r\n", 25);
            r->wants_continue = false;
        }
    }
    if (n > 0 && (x->state == ANSWERING || (x->state == FLUSHING && x->keep_alive))) {
        buf_add(&x->pending, p, n);
        charge(x);
    }
}

static void consume_pending(struct exchange *x)
{
    struct buf pending = x->pending;
    buf_init(&x->pending, SIZE_MAX / 2);
    consume(x, pending.p, pending.len);
    buf_release(&pending);
}

static void read_once(struct exchange *x)
{
    int64_t at, kernel_at;
    ssize_t n = stamp_read(x->watch.fd, read_bytes, sizeof read_bytes, &at, &kernel_at);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        hang_up(x, n < 0);
    } else if (x->state == READING) {
        x->read_at = kernel_at && kernel_at < at ? kernel_at : at;
        consume(x, read_bytes, (size_t)n);
    }
}

static void on_ready(void *ctx, uint32_t events)
{
    struct exchange *x = ctx;

    if (x->failed) /* the timer is about to end it */
        return;
    x->in_loop = true;
    if (events & EPOLLOUT && unsent(x))
        flush(x);
    if (x->failed || x->state == GONE || !(events & ~(uint32_t)EPOLLOUT))
        ;
    else if (x->state == READING && x->pending.len)
        consume_pending(x);
    else if (x->state == READING || x->state == DRAINING)
        read_once(x);
    else if (events & (EPOLLHUP | EPOLLERR) || (events & EPOLLRDHUP && x->state == ANSWERING))
        lose(x);
    else /* a next request, or the end behind a last one: later */
        want(x, (x->wanted & EPOLLOUT) | (x->state == ANSWERING ? EPOLLRDHUP : 0));
    leave_loop(x);
}

static void on_timer(void *ctx)
{
    struct exchange *x = ctx;

    x->in_loop = true;
    if (x->failed)
        lose(x);
    else if (x->state == READING && x->pending.len)
        consume_pending(x);
    else if (x->state == READING && http_request_begun(&x->request))
        refuse(x, 408, "the request took too long");
    else
        hang_up(x, x->state == FLUSHING);
    leave_loop(x);
}

static void on_accept(void *ctx, int fd)
{
    struct http_server *s = ctx;
    struct exchange *x = mem_alloc(sizeof *x);
    struct err ignored;

    x->server = s;
    x->watch = (struct loop_watch){.fd = fd, .fn = on_ready, .ctx = x};
    x->timer = (struct loop_timer){.fn = on_timer, .ctx = x};
    x->wanted = EPOLLIN | EPOLLRDHUP;
    if (!loop_watch(s->loop, &x->watch, x->wanted, &ignored)) {
        close(fd);
        free(x);
        return;
    }
    http_request_init(&x->request, s->options.max_head, s->options.max_body);
    buf_init(&x->pending, SIZE_MAX / 2);
    buf_init(&x->backlog, SIZE_MAX / 2);
    x->next = s->first;
    if (s->first)
        s->first->prev = x;
    s->first = x;
    set_timer(x, s->options.idle_timeout_ns);
    if (++s->connections >= s->options.max_connections)
        listener_pause(s->listener);
}

/* --- the server --- */

struct http_server *http_server_new(struct loop *loop, const struct http_server_options *options,
                                    const struct http_server_events *events, void *ctx,
                                    struct err *err)
{
    struct http_server *s = mem_alloc(sizeof *s);
    const char *host = options->host ? options->host : http_server_defaults.host;

    s->loop = loop;
    s->options = *options;
    s->options.host = NULL; /* the caller's */
    s->events = events;
    s->ctx = ctx;
    buf_init(&s->scratch, SIZE_MAX / 2);
    s->listener = listener_new(loop, host, options->port, on_accept, s, err);
    if (s->listener)
        return s;
    http_server_free(s);
    return NULL;
}

void http_server_free(struct http_server *s)
{
    if (!s)
        return;
    listener_free(s->listener);
    s->listener = NULL;
    for (struct exchange *x = s->first, *next; x; x = next) {
        assert(!x->in_loop);
        next = x->next;
        hang_up(x, false);
        free(x);
    }
    buf_release(&s->scratch);
    free(s);
}

const char *http_server_url(const struct http_server *s)
{
    return listener_url(s->listener);
}

/* --- the exchange --- */

const char *exchange_method(const struct exchange *x)
{
    return x->request.method;
}

const char *exchange_path(const struct exchange *x)
{
    return x->request.path;
}

const char *exchange_query(const struct exchange *x)
{
    return x->request.query;
}

const char *exchange_body(const struct exchange *x, size_t *ret_size)
{
    *ret_size = x->request.body.len;
    return x->request.body.p;
}

const char *exchange_header(const struct exchange *x, const char *name)
{
    return http_request_header(&x->request, name);
}

int64_t exchange_arrived(const struct exchange *x)
{
    return x->arrived;
}

void exchange_set_owner(struct exchange *x, void *owner)
{
    x->owner = owner;
}

void *exchange_owner(const struct exchange *x)
{
    return x->owner;
}

void exchange_reply(struct exchange *x, int status, const char *content_type, const char *headers,
                    const void *body, size_t n)
{
    assert(x->state == ANSWERING && !x->started);
    const struct http_answer answer = {.status = status,
                                       .content_type = content_type,
                                       .headers = headers,
                                       .length = http_status_has_body(status) ? (int64_t)n : -1,
                                       .keep_alive = x->keep_alive};
    transmit_head(x, &answer, body, x->bodyless || !http_status_has_body(status) ? 0 : n);
    end(x);
}

void exchange_start(struct exchange *x, int status, const char *content_type, const char *headers)
{
    assert(x->state == ANSWERING && !x->started);
    bool has_body = http_status_has_body(status);
    x->started = true;
    x->chunked = has_body && !x->request.is_1_0;
    x->keep_alive = x->keep_alive && (x->chunked || !has_body || x->bodyless);
    const struct http_answer answer = {.status = status,
                                       .content_type = content_type,
                                       .headers = headers,
                                       .length = -1,
                                       .chunked = x->chunked,
                                       .keep_alive = x->keep_alive};
    x->bodyless = x->bodyless || !has_body;
    http_request_drop_body(&x->request);
    charge(x);
    transmit_head(x, &answer, NULL, 0);
}

/* "1f4\r\n" without printf, which takes as long as the rest of a write. Returns its length. */
static size_t size_line(char out[20], size_t n)
{
    size_t digits = 1, len;
    for (size_t rest = n >> 4; rest; rest >>= 4)
        digits++;
    for (len = digits; len > 0; n >>= 4)
        out[--len] = "0123456789abcdef"[n & 15];
    out[digits] = '\r';
    out[digits + 1] = '\n';
    return digits + 2;
}

void exchange_write(struct exchange *x, const void *p, size_t n)
{
    char size[20];
    assert(x->state == ANSWERING && x->started);
    if (n == 0 || x->bodyless) /* an empty chunk would be the last one */
        return;
    struct iovec iov[] = {{size, 0}, {(void *)(uintptr_t)p, n}, {(void *)(uintptr_t) "\r\n", 2}};
    if (x->chunked) {
        iov[0].iov_len = size_line(size, n);
        transmit(x, iov, 3);
    } else {
        transmit(x, iov + 1, 1);
    }
    if (!x->failed && unsent(x) > x->server->options.max_backlog)
        fail(x);
}

void exchange_end(struct exchange *x)
{
    assert(x->state == ANSWERING && x->started);
    if (x->chunked && !x->bodyless)
        transmit_bytes(x, "0\r\n\r\n", 5);
    end(x);
}

void exchange_abort(struct exchange *x, bool reset)
{
    assert(x->state == ANSWERING);
    if (!reset) {
        drain(x);
        return;
    }
    hang_up(x, true);
    if (!x->in_loop)
        free(x);
}
