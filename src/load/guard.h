/* guard.h - the loop guard at work: text leaves the receive path through rings, a thread looks at
 * it.
 *
 * For each stream there is a ring with one writer (the stream's thread) and one reader (the
 * guard's). Writing is a copy and two atomic operations. A ring that is full drops the text, and
 * that stream's history then starts anew behind the gap, so a drop can only delay a finding. */
#ifndef TOKGRID_LOAD_GUARD_H
#define TOKGRID_LOAD_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load/event.h"
#include "load/loop_guard.h"
#include "net/loop.h"

struct guard;

struct guard_finding {
    int stream;
    enum channel channel;
    struct loop_finding loop;
};

/* Watches `streams` streams; wakes `loop` when one loops. NULL when no thread can be had. */
struct guard *guard_start(int streams, struct loop *loop);
void guard_stop(struct guard *g); /* joins; NULL is fine */

/* CPU time its thread has used; 0 for NULL. */
int64_t guard_cpu(const struct guard *g);

/* From the streams' thread. */
void guard_text(struct guard *g, int stream, enum channel channel, struct slice escaped);
void guard_new_request(struct guard *g, int stream);

/* The first finding, if any. From the streams' thread. */
bool guard_found(struct guard *g, struct guard_finding *ret);

#endif
