/* http_guard.c - a list of connections under one lock, and the thread that walks it. */
#include "site/http_guard.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/num.h"

struct guarded {
    struct guarded *next, *previous;
    int fd;
    int64_t deadline_at;
};

struct http_guard {
    pthread_mutex_t lock; /* of everything below */
    pthread_cond_t wake;
    pthread_t thread;
    bool stopping;
    struct guarded *first;
};

static void shut_overdue(struct http_guard *g)
{
    int64_t now = clock_now();
    for (struct guarded *c = g->first; c; c = c->next) {
        if (now < c->deadline_at)
            continue;
        shutdown(c->fd, SHUT_RDWR);
        c->deadline_at = INT64_MAX;
    }
}

static void *watch(void *arg)
{
    struct http_guard *g = arg;
    pthread_mutex_lock(&g->lock);
    while (!g->stopping) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec++;
        pthread_cond_timedwait(&g->wake, &g->lock, &until);
        shut_overdue(g);
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

struct http_guard *http_guard_new(struct err *err)
{
    struct http_guard *g = mem_alloc(sizeof *g);
    pthread_condattr_t attr;
    pthread_mutex_init(&g->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&g->wake, &attr);
    pthread_condattr_destroy(&attr);
    int code = pthread_create(&g->thread, NULL, watch, g);
    if (code == 0)
        return g;
    err_set(err, ERR_SYSTEM, "cannot start a thread: error %d", code);
    pthread_cond_destroy(&g->wake);
    pthread_mutex_destroy(&g->lock);
    free(g);
    return NULL;
}

void http_guard_free(struct http_guard *g)
{
    if (!g)
        return;
    pthread_mutex_lock(&g->lock);
    g->stopping = true;
    pthread_cond_signal(&g->wake);
    pthread_mutex_unlock(&g->lock);
    pthread_join(g->thread, NULL);
    pthread_cond_destroy(&g->wake);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

struct guarded *http_guard_enter(struct http_guard *g, int fd, int64_t in_ns)
{
    struct guarded *c = mem_alloc(sizeof *c);
    c->fd = fd;
    c->deadline_at = clock_now() + in_ns;
    pthread_mutex_lock(&g->lock);
    c->next = g->first;
    if (g->first)
        g->first->previous = c;
    g->first = c;
    pthread_mutex_unlock(&g->lock);
    return c;
}

void http_guard_extend(struct http_guard *g, struct guarded *c, int64_t in_ns)
{
    pthread_mutex_lock(&g->lock);
    if (c->deadline_at != INT64_MAX)
        c->deadline_at = clock_now() + in_ns;
    pthread_mutex_unlock(&g->lock);
}

void http_guard_leave(struct http_guard *g, struct guarded *c)
{
    pthread_mutex_lock(&g->lock);
    if (c->previous)
        c->previous->next = c->next;
    else
        g->first = c->next;
    if (c->next)
        c->next->previous = c->previous;
    pthread_mutex_unlock(&g->lock);
    free(c);
}
