/* loop.c - epoll, a binary heap of timers, an eventfd for wake-ups.
 *
 * Events are fetched in batches. When a callback removes a watch whose event is still in the batch,
 * that entry is blanked, so a freed owner is never called. Timers run after the batch: a stamp is
 * worth more than a timer's punctuality, and a window's end is decided by stamps anyway. */
#include "net/loop.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"

enum { BATCH = 256 };

struct loop {
    int epoll_fd, wake_fd, timer_fd;
    int64_t timer_armed_at; /* what timer_fd is set to; 0: disarmed */
    struct epoll_event batch[BATCH];
    int batch_next, batch_count;
    struct loop_timer **heap;
    size_t timers, heap_cap;
    int64_t firing_at; /* while timers fire: those due by then do; else INT64_MIN */
};

static bool add_own_fd(struct loop *l, int fd)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = NULL};
    return fd >= 0 && epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) == 0;
}

struct loop *loop_new(struct err *err)
{
    struct loop *l = mem_alloc(sizeof *l);
    l->firing_at = INT64_MIN;
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    /* epoll_wait counts in milliseconds; a timerfd keeps the timers exact */
    l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (l->epoll_fd >= 0 && add_own_fd(l, l->wake_fd) && add_own_fd(l, l->timer_fd))
        return l;
    err_set(err, ERR_SYSTEM, "cannot create an event loop: %s", strerror(errno));
    loop_free(l);
    return NULL;
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    const int fds[] = {l->epoll_fd, l->wake_fd, l->timer_fd};
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(l->heap);
    free(l);
}

bool loop_watch(struct loop *l, struct loop_watch *w, uint32_t events, struct err *err)
{
    struct epoll_event ev = {.events = events, .data.ptr = w};
    if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, w->fd, &ev) != 0)
        return err_set(err, ERR_SYSTEM, "cannot watch a socket: %s", strerror(errno));
    w->active = true;
    return true;
}

void loop_change(struct loop *l, struct loop_watch *w, uint32_t events)
{
    struct epoll_event ev = {.events = events, .data.ptr = w};
    assert(w->active);
    epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, w->fd, &ev);
}

void loop_unwatch(struct loop *l, struct loop_watch *w)
{
    if (!w->active)
        return;
    epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
    w->active = false;
    for (int i = l->batch_next; i < l->batch_count; i++)
        if (l->batch[i].data.ptr == w)
            l->batch[i].data.ptr = NULL;
}

/* heap: parent at (i - 1) / 2; slot is the index + 1 */
static void heap_put(struct loop *l, size_t i, struct loop_timer *t)
{
    l->heap[i] = t;
    t->slot = i + 1;
}

static void heap_up(struct loop *l, size_t i, struct loop_timer *t)
{
    while (i > 0 && l->heap[(i - 1) / 2]->at > t->at) {
        heap_put(l, i, l->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    heap_put(l, i, t);
}

static void heap_down(struct loop *l, size_t i, struct loop_timer *t)
{
    for (;;) {
        size_t child = 2 * i + 1;
        if (child + 1 < l->timers && l->heap[child + 1]->at < l->heap[child]->at)
            child++;
        if (child >= l->timers || l->heap[child]->at >= t->at)
            break;
        heap_put(l, i, l->heap[child]);
        i = child;
    }
    heap_put(l, i, t);
}

void loop_timer_cancel(struct loop *l, struct loop_timer *t)
{
    if (!t->slot)
        return;
    size_t i = t->slot - 1;
    t->slot = 0;
    struct loop_timer *last = l->heap[--l->timers];
    if (last == t)
        return;
    if (i > 0 && l->heap[(i - 1) / 2]->at > last->at)
        heap_up(l, i, last);
    else
        heap_down(l, i, last);
}

void loop_timer_set(struct loop *l, struct loop_timer *t, int64_t at)
{
    loop_timer_cancel(l, t);
    t->at = at > l->firing_at ? at : l->firing_at + 1;
    MEM_GROW(l->heap, l->timers, l->heap_cap);
    heap_up(l, l->timers++, t);
}

static void arm(struct loop *l, int64_t at)
{
    if (at == l->timer_armed_at)
        return;
    struct itimerspec spec = {.it_value = {.tv_sec = at / NS_PER_S, .tv_nsec = at % NS_PER_S}};
    timerfd_settime(l->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
    l->timer_armed_at = at;
}

static void drain_own_fds(struct loop *l)
{
    uint64_t count;
    while (read(l->wake_fd, &count, sizeof count) > 0)
        ;
    while (read(l->timer_fd, &count, sizeof count) > 0)
        l->timer_armed_at = 0;
}

void loop_turn(struct loop *l, int64_t until)
{
    int64_t next = l->timers ? l->heap[0]->at : INT64_MAX;
    bool own = false;

    if (until < next)
        next = until;
    if (next != INT64_MAX)
        arm(l, next > 0 ? next : 1);
    int n = epoll_wait(l->epoll_fd, l->batch, BATCH, next <= clock_now() ? 0 : -1);
    l->batch_count = n > 0 ? n : 0;
    for (l->batch_next = 0; l->batch_next < l->batch_count;) {
        struct epoll_event ev = l->batch[l->batch_next++];
        struct loop_watch *w = ev.data.ptr;
        if (w)
            w->fn(w->ctx, ev.events);
        else
            own = true; /* a wake-up or the timer; also a blanked entry, which costs two reads */
    }
    l->batch_count = 0;
    if (own)
        drain_own_fds(l);
    /* timers set by timers wait for the next turn, so that a turn always ends */
    l->firing_at = clock_now();
    while (l->timers && l->heap[0]->at <= l->firing_at) {
        struct loop_timer *t = l->heap[0];
        loop_timer_cancel(l, t);
        t->fn(t->ctx);
    }
    l->firing_at = INT64_MIN;
}

void loop_wake(struct loop *l)
{
    const uint64_t one = 1;
    ssize_t ignored = write(l->wake_fd, &one, sizeof one); /* full means: awake already */
    (void)ignored;
}
