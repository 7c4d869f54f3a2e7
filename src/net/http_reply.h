/* http_reply.h - an HTTP response out of bytes: llhttp with the few headers we look at.
 *
 * Sans I/O: feed it what was read, it calls back. Any split of the bytes gives the same calls but
 * for the splitting of body pieces. Interim (1xx) answers are skipped. */
#ifndef TOKGRID_NET_HTTP_REPLY_H
#define TOKGRID_NET_HTTP_REPLY_H

#include <llhttp.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "net/transport.h"

struct http_reply_events {
    void (*on_head)(void *ctx, const struct http_head *head);
    void (*on_body)(void *ctx, const char *p, size_t n);
};

struct http_reply {
    llhttp_t parser;
    const struct http_reply_events *events;
    void *ctx;
    struct http_head head;
    char name[24]; /* header name so far, cut: longer names are none of ours */
    size_t name_len, value_len;
    char *value; /* where the value goes; NULL: not looked at */
    size_t value_size;
    bool complete;   /* the whole answer was seen */
    bool keep_alive; /* valid once complete */
    bool started;    /* any byte came */
};

void http_reply_start(struct http_reply *r, const struct http_reply_events *events, void *ctx);

/* False on bytes that are no HTTP. Stops after a complete answer; bytes behind it are an error. */
bool http_reply_feed(struct http_reply *r, const char *p, size_t n, struct err *err) ATTR_CHECK;

/* The connection ended: false when the answer was not complete by its own framing. */
bool http_reply_end(struct http_reply *r, struct err *err) ATTR_CHECK;

#endif
