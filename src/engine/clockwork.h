/* clockwork.h - a server whose answers are due at known instants: the measure of a client.
 *
 * Every POST is answered by an event stream as serving engines send it: a role event at once, the
 * first token `first_ns` after the request arrived (by the kernel's receive stamp), then a token
 * each `gap_ns`, then a usage event and [DONE]. All instants are planned from the arrival, so that
 * lateness never adds up; a server that falls behind sends what is due at once.
 *
 * The text of a token event is two numbers, " SENT DUE": CLOCK_MONOTONIC nanoseconds just before
 * the send, and when it was planned. A client on the same machine subtracts: its stamp minus SENT
 * is the client's lateness (and the kernel's), SENT minus DUE the server's.
 *
 * What a stream does is said by its request body, a JSON object; fields that are absent have the
 * defaults, further ones are ignored:
 *   max_tokens  64   tokens to send
 *   first_ms    50   to the first token
 *   gap_ms      10   between tokens; 0: as fast as the socket takes them
 *   bundle       1   token events in one write, each of them due with the last one
 *   split    false   each write in two, cut inside an event
 * One loop, one thread. */
#ifndef TOKGRID_ENGINE_CLOCKWORK_H
#define TOKGRID_ENGINE_CLOCKWORK_H

#include <stdint.h>

#include "base/err.h"
#include "net/loop.h"

struct clockwork;

/* Listens on 127.0.0.1, on a port the system picks. The loop is borrowed. */
struct clockwork *clockwork_new(struct loop *loop, struct err *err) ATTR_CHECK;
void clockwork_free(struct clockwork *c);
const char *clockwork_url(const struct clockwork *c);

#endif
