/* conn.h - one non-blocking connection: TCP or a unix socket, with or without TLS.
 *
 * You may rely on: each read from the socket is one recvmsg; its stamp is taken right after that
 * call returns, before anything is decrypted or parsed; the bytes of one read come in one on_read
 * (TLS: all the plain text of that read's records, in one or several calls with the same stamp).
 * Callbacks never run inside conn_new, conn_send or conn_free; conn_free may be called from any
 * callback, and no callback follows it. Owned by one loop's thread. */
#ifndef TOKGRID_NET_CONN_H
#define TOKGRID_NET_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "net/endpoint.h"
#include "net/loop.h"

struct read_stamp {
    int64_t at;        /* monotonic, right after the read returned */
    int64_t kernel_at; /* when the kernel got the last segment of this read; 0: not known */
    size_t bytes;      /* of this read, on the wire */
    uint64_t serial;   /* counts the reads of this connection */
};

struct conn_events {
    void (*on_open)(void *ctx); /* TCP and TLS are up */
    void (*on_read)(void *ctx, const char *p, size_t n, const struct read_stamp *stamp);
    void (*on_close)(void *ctx, const struct err *err); /* err NULL: orderly end by the peer */
};

/* Bytes to send, borrowed until they are sent or the connection is freed. */
struct part {
    const char *p;
    size_t n;
};
enum { CONN_MAX_PARTS = 6 };

struct conn;

struct conn *conn_new(struct loop *loop, const struct endpoint *endpoint,
                      const struct conn_events *events, void *ctx, struct err *err) ATTR_CHECK;
void conn_free(struct conn *c); /* closes at once; NULL is fine */

/* One message at a time: the previous one must have been sent. Only after on_open. */
void conn_send(struct conn *c, const struct part *parts, size_t count);

/* Nothing has come on an idle connection: neither its end (servers close kept-alive connections as
 * they please) nor bytes nobody asked for. */
bool conn_is_quiet(const struct conn *c);

int64_t conn_opened_in(const struct conn *c);    /* connect + TLS, nanoseconds */
int64_t conn_send_started(const struct conn *c); /* just before the first byte went to the kernel */
int64_t conn_send_done(const struct conn *c);    /* after the last one did; 0: not yet */
int64_t conn_unread(const struct conn *c);       /* bytes waiting in the kernel */

#endif
