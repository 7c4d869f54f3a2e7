/* transport.h - lanes to a server: each carries one HTTP exchange at a time on its own connection.
 *
 * Two kinds behind one table: "own" (net/conn.h and llhttp: one read, one stamp, taken by the
 * kernel as well) and "curl" (libcurl's multi interface driven by the same loop, an independent
 * check of the first). Everything is driven by the loop given at start; callbacks come only from
 * loop_turn. From on_open and on_end a lane may be sent on or cancelled; from on_head and on_body
 * it may not be touched (set a timer instead). It is never freed from its own callbacks.
 *
 * Only HTTP/1.1 and 1.0 framing is interpreted here (chunked, content-length, until close). What a
 * body means is the caller's business. */
#ifndef TOKGRID_NET_TRANSPORT_H
#define TOKGRID_NET_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "net/conn.h"
#include "net/endpoint.h"
#include "net/loop.h"

struct http_head {
    int status;
    char content_type[96];     /* lower case, without parameters */
    char content_encoding[32]; /* lower case; "" = identity */
    char location[256];
    char server[64]; /* Server header, for the record */
    char via[64];    /* proxies name themselves here */
};

struct lane_times {
    int64_t connect_ns; /* connect + TLS of this exchange's connection; 0: it was open */
    int64_t send_at;    /* just before the first byte went out */
    int64_t sent_at;    /* after the last one did; 0: unknown */
    bool retried;       /* the idle connection had died: sent again on a new one */
};

struct lane_events {
    void (*on_open)(void *ctx); /* the answer to lane_open */
    void (*on_head)(void *ctx, const struct http_head *head, const struct read_stamp *stamp);
    void (*on_body)(void *ctx, const char *p, size_t n, const struct read_stamp *stamp);
    /* The exchange (or the attempt to open) is over. err NULL: complete by its framing. An answer
     * cut short is ERR_CLOSED. `at` is when it was noticed. */
    void (*on_end)(void *ctx, const struct err *err, int64_t at);
};

struct http_request {
    const char *method;                   /* "POST" */
    const char *path;                     /* "/v1/chat/completions"; the prefix is added */
    struct part body[CONN_MAX_PARTS - 1]; /* borrowed until the exchange ends */
    size_t body_parts;
};

struct transport;
struct lane;

/* `kind` is "own" or "curl". The endpoint and the loop must outlive the transport. */
struct transport *transport_new(const char *kind, struct loop *loop,
                                const struct endpoint *endpoint, struct err *err) ATTR_CHECK;
void transport_free(struct transport *t); /* after all its lanes */

struct lane *lane_new(struct transport *t, const struct lane_events *events, void *ctx);
void lane_free(struct lane *l); /* cancels; NULL is fine */

/* Connect (and do TLS) ahead of time: on_open follows, at once from the next turn when the lane is
 * open already, or on_end with an error. */
void lane_open(struct lane *l);

/* Send a request; opens first when needed. The lane must not be busy. */
void lane_send(struct lane *l, const struct http_request *request);

/* Forget the exchange and close its connection. No callback follows. */
void lane_cancel(struct lane *l);

const struct lane_times *lane_times(const struct lane *l);
int64_t lane_unread(const struct lane *l); /* bytes the kernel still holds; 0 when not known */

/* The request head both kinds send, for request->path with `body_bytes` to follow. */
void http_write_head(const struct endpoint *e, const struct http_request *request,
                     size_t body_bytes, struct buf *out);

/* The table of kinds: one row each, for transport.c alone. */
struct transport_ops {
    const char *kind;
    struct transport *(*create)(struct loop *loop, const struct endpoint *e, struct err *err);
    void (*destroy)(struct transport *t);
    struct lane *(*lane_create)(struct transport *t);
    void (*lane_destroy)(struct lane *l);
    void (*open)(struct lane *l);
    void (*send)(struct lane *l, const struct http_request *request);
    void (*cancel)(struct lane *l);
    int64_t (*unread)(const struct lane *l);
};
extern const struct transport_ops transport_own, transport_curl;

/* What every kind's structs begin with. */
struct transport {
    const struct transport_ops *ops;
    struct loop *loop;
    const struct endpoint *endpoint;
};
struct lane {
    struct transport *transport;
    const struct lane_events *events;
    void *ctx;
    struct lane_times times;
    bool busy;
};

#endif
