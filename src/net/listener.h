/* listener.h - a listening TCP socket on a loop: what it accepts is handed over.
 *
 * When the process has no file descriptor left, it stops accepting for a tenth of a second at a
 * time; connections wait in the kernel's queue meanwhile. Owned by the loop's thread. */
#ifndef TOKGRID_NET_LISTENER_H
#define TOKGRID_NET_LISTENER_H

#include <stdint.h>

#include "base/err.h"
#include "net/loop.h"

struct listener;

/* host: a numeric address or "localhost" (127.0.0.1); port 0: the system picks one. on_accept gets
 * a non-blocking socket, which is now its own, without Nagle's delay and with kernel stamps. */
struct listener *listener_new(struct loop *loop, const char *host, uint16_t port,
                              void (*on_accept)(void *ctx, int fd), void *ctx,
                              struct err *err) ATTR_CHECK;
void listener_free(struct listener *l); /* NULL is fine */

/* Stop and go on accepting; also from inside on_accept. */
void listener_pause(struct listener *l);
void listener_resume(struct listener *l);

const char *listener_url(const struct listener *l); /* "http://127.0.0.1:40123", "http://[::1]:1" */

#endif
