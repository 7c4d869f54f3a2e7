/* http_guard.h - no connection outlives its time, however steadily its bytes trickle.
 *
 * A server's own timeout starts anew with every byte, so a client that sends one at a time holds
 * its connection for ever. Here each connection has a deadline for what it is doing now; a thread
 * looks once a second and shuts down the sockets of those that missed theirs, which their owner
 * then sees as a client that hung up. All calls are thread-safe. */
#ifndef TOKGRID_SITE_HTTP_GUARD_H
#define TOKGRID_SITE_HTTP_GUARD_H

#include <stdint.h>

#include "base/err.h"

struct http_guard;
struct guarded;

struct http_guard *http_guard_new(struct err *err) ATTR_CHECK;
void http_guard_free(struct http_guard *g); /* after every connection was left; NULL is fine */

/* A connection begins: its first deadline is in so many nanoseconds. */
struct guarded *http_guard_enter(struct http_guard *g, int fd, int64_t in_ns);
void http_guard_extend(struct http_guard *g, struct guarded *c, int64_t in_ns); /* from now */
void http_guard_leave(struct http_guard *g, struct guarded *c); /* before the socket is closed */

#endif
