/* transport_own.c - the measured path: one conn and one llhttp parser per lane.
 *
 * A kept-alive connection may have been closed by the server just as we send. When that happens
 * before a single byte of the answer, on a connection that had served before, the request is sent
 * once more on a new one, and the times say so; after the first byte nothing is ever repeated. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "net/http_reply.h"
#include "net/transport.h"

struct own_lane {
    struct lane lane; /* first: the table's view */
    struct conn *conn;
    bool open;              /* conn is up */
    bool used;              /* conn has been idle: it may have died unseen */
    bool opening;           /* lane_open waits for on_open */
    struct loop_timer soon; /* delivers what may not come from inside a call */
    struct err soon_err;    /* ERR_NONE: on_open is due */
    struct http_reply reply;
    const struct read_stamp *stamp; /* of the read being parsed; NULL: none, or cancelled */
    struct buf head;
    struct part parts[CONN_MAX_PARTS];
    size_t part_count;
};

static void start_connecting(struct own_lane *l);

static void drop_conn(struct own_lane *l)
{
    conn_free(l->conn);
    l->conn = NULL;
    l->open = l->used = false;
}

static void end(struct own_lane *l, const struct err *err, int64_t at)
{
    l->lane.busy = l->opening = false;
    l->lane.events->on_end(l->lane.ctx, err, at);
}

static void on_reply_head(void *ctx, const struct http_head *head)
{
    struct own_lane *l = ctx;
    l->lane.times.send_at = conn_send_started(l->conn);
    l->lane.times.sent_at = conn_send_done(l->conn);
    if (l->stamp)
        l->lane.events->on_head(l->lane.ctx, head, l->stamp);
}

static void on_reply_body(void *ctx, const char *p, size_t n)
{
    struct own_lane *l = ctx;
    if (l->stamp) /* an earlier piece of this read may have led to a cancel */
        l->lane.events->on_body(l->lane.ctx, p, n, l->stamp);
}

static const struct http_reply_events reply_events = {on_reply_head, on_reply_body};

static void transmit(struct own_lane *l)
{
    http_reply_start(&l->reply, &reply_events, l);
    conn_send(l->conn, l->parts, l->part_count);
}

static void on_open(void *ctx)
{
    struct own_lane *l = ctx;
    l->open = true;
    if (l->lane.busy) {
        l->lane.times.connect_ns = conn_opened_in(l->conn);
        transmit(l);
    } else if (l->opening) {
        l->opening = false;
        l->used = true; /* it may idle for a while now, and servers close idle connections */
        l->lane.events->on_open(l->lane.ctx);
    }
}

static void on_read(void *ctx, const char *p, size_t n, const struct read_stamp *stamp)
{
    struct own_lane *l = ctx;
    struct err err;

    if (!l->lane.busy) { /* an idle connection has nothing to say: a late error page, a bug */
        drop_conn(l);
        return;
    }
    l->stamp = stamp;
    bool fine = http_reply_feed(&l->reply, p, n, &err);
    if (!l->stamp) /* cancelled, and perhaps sent anew, by a callback */
        return;
    l->stamp = NULL;
    if (!fine && !l->reply.complete) {
        drop_conn(l);
        end(l, &err, stamp->at);
        return;
    }
    if (!l->reply.complete)
        return;
    l->used = true;
    /* an answer that came before the request was sent whole leaves the rest of it in the way */
    if (!fine || !l->reply.keep_alive || !conn_send_done(l->conn))
        drop_conn(l);
    end(l, NULL, stamp->at);
}

static void on_close(void *ctx, const struct err *why)
{
    struct own_lane *l = ctx;
    bool was_used = l->used, was_open = l->open;
    int64_t at = clock_now();
    struct err err;

    if (why)
        err = *why;
    drop_conn(l);
    if (!l->lane.busy) {
        if (l->opening && was_open) { /* the idle connection died while on_open was due */
            loop_timer_cancel(l->lane.transport->loop, &l->soon);
            start_connecting(l);
        } else if (l->opening) {
            end(l, &err, at);
        }
        return;
    }
    if (was_open && was_used && !l->reply.started && !l->lane.times.retried) {
        l->lane.times.retried = true;
        start_connecting(l);
        return;
    }
    if (!was_open) {
        end(l, &err, at);
        return;
    }
    struct err cut;
    if (!http_reply_end(&l->reply, &cut))
        end(l, why ? &err : &cut, at);
    else
        end(l, NULL, at);
}

static const struct conn_events conn_callbacks = {on_open, on_read, on_close};

static void on_soon(void *ctx)
{
    struct own_lane *l = ctx;
    if (l->soon_err.code != ERR_NONE) {
        end(l, &l->soon_err, clock_now());
        return;
    }
    l->opening = false;
    l->lane.events->on_open(l->lane.ctx);
}

static void start_connecting(struct own_lane *l)
{
    struct transport *t = l->lane.transport;
    l->conn = conn_new(t->loop, t->endpoint, &conn_callbacks, l, &l->soon_err);
    if (!l->conn)
        loop_timer_set(t->loop, &l->soon, clock_now());
}

static struct transport *own_create(struct loop *loop, const struct endpoint *e, struct err *err)
{
    (void)loop, (void)e, (void)err;
    return mem_alloc(sizeof(struct transport));
}

static void own_destroy(struct transport *t)
{
    free(t);
}

static struct lane *own_lane_create(struct transport *t)
{
    struct own_lane *l = mem_alloc(sizeof *l);
    (void)t;
    l->soon = (struct loop_timer){.fn = on_soon, .ctx = l};
    buf_init(&l->head, 8192);
    return &l->lane;
}

static struct own_lane *own(struct lane *lane)
{
    return (struct own_lane *)lane;
}

static void own_cancel(struct lane *lane)
{
    struct own_lane *l = own(lane);
    loop_timer_cancel(lane->transport->loop, &l->soon);
    l->opening = false;
    l->stamp = NULL;
    drop_conn(l);
}

static void own_lane_destroy(struct lane *lane)
{
    own_cancel(lane);
    buf_release(&own(lane)->head);
    free(lane);
}

/* TLS may hold a session ticket that nobody has read yet: there only a plain end would show. */
static void drop_if_dead(struct own_lane *l)
{
    if (l->open && l->used && !l->lane.transport->endpoint->tls && !conn_is_quiet(l->conn))
        drop_conn(l);
}

static void own_open(struct lane *lane)
{
    struct own_lane *l = own(lane);
    drop_if_dead(l);
    l->opening = true;
    l->soon_err.code = ERR_NONE;
    if (l->open)
        loop_timer_set(lane->transport->loop, &l->soon, clock_now());
    else if (!l->conn)
        start_connecting(l);
}

static void own_send(struct lane *lane, const struct http_request *request)
{
    struct own_lane *l = own(lane);
    size_t bytes = 0;

    loop_timer_cancel(lane->transport->loop, &l->soon); /* a lane_open that was not waited for */
    l->opening = false;
    for (size_t i = 0; i < request->body_parts; i++)
        bytes += request->body[i].n;
    buf_reset(&l->head);
    http_write_head(lane->transport->endpoint, request, bytes, &l->head);
    l->parts[0] = (struct part){l->head.p, l->head.len};
    memcpy(l->parts + 1, request->body, request->body_parts * sizeof *l->parts);
    l->part_count = request->body_parts + 1;
    drop_if_dead(l);
    if (l->open)
        transmit(l);
    else if (!l->conn)
        start_connecting(l);
}

static int64_t own_unread(const struct lane *lane)
{
    const struct own_lane *l = (const struct own_lane *)lane;
    return l->open ? conn_unread(l->conn) : 0;
}

const struct transport_ops transport_own = {
    .kind = "own",
    .create = own_create,
    .destroy = own_destroy,
    .lane_create = own_lane_create,
    .lane_destroy = own_lane_destroy,
    .open = own_open,
    .send = own_send,
    .cancel = own_cancel,
    .unread = own_unread,
};
