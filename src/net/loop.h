/* loop.h - an event loop: file descriptors by epoll, timers by a heap.
 *
 * One loop belongs to one thread; only loop_wake may be called from elsewhere (other threads,
 * signal handlers). Watches and timers live in their owners' structs: the loop borrows them until
 * they are removed. A callback may remove any watch or timer, also its own, and free what held it.
 */
#ifndef TOKGRID_NET_LOOP_H
#define TOKGRID_NET_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct loop;

struct loop_watch {
    int fd;
    void (*fn)(void *ctx, uint32_t events); /* EPOLLIN and friends; errors come as EPOLLERR/HUP */
    void *ctx;
    bool active; /* the loop's own */
};

struct loop_timer {
    void (*fn)(void *ctx);
    void *ctx;
    int64_t at;  /* when it fires (monotonic ns) */
    size_t slot; /* the loop's own: heap position + 1, 0 = not set */
};

/* Life cycle. */
struct loop *loop_new(struct err *err) ATTR_CHECK;
void loop_free(struct loop *l);

/* Watches: level-triggered. */
bool loop_watch(struct loop *l, struct loop_watch *w, uint32_t events, struct err *err) ATTR_CHECK;
void loop_change(struct loop *l, struct loop_watch *w, uint32_t events);
void loop_unwatch(struct loop *l, struct loop_watch *w); /* fine when not watched */

/* Timers fire once. Setting a set timer moves it. */
void loop_timer_set(struct loop *l, struct loop_timer *t, int64_t at);
void loop_timer_cancel(struct loop *l, struct loop_timer *t); /* fine when not set */

/* Wait for what comes first - an event, a timer, a wake-up, `until` (INT64_MAX: no bound) - and run
 * the callbacks that are due. */
void loop_turn(struct loop *l, int64_t until);

/* Make the present or next loop_turn return. Safe from signal handlers and other threads. */
void loop_wake(struct loop *l);

#endif
