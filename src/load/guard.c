/* guard.c - single-writer single-reader rings of small messages, and the thread that drains them.
 *
 * A message is a header (kind, length) and the escaped text. Positions only grow; the ring index is
 * the position modulo the size, so full and empty are told apart by the difference. Where something
 * was dropped, the next message that fits is preceded by a new beginning: what stood before the gap
 * and what stands behind it are never read as one text. */
#include "load/guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/num.h"

enum { RING_BYTES = 8192, CHANNELS = 3, NEW_REQUEST = 0 };

struct header {
    uint16_t kind; /* NEW_REQUEST or an enum channel */
    uint16_t len;
};

struct ring {
    _Atomic size_t written, read;
    bool gap; /* the writer's own: something was dropped, and the reader has not been told */
    char bytes[RING_BYTES];
    struct loop_text text[CHANNELS]; /* the guard's thread alone */
};

struct guard {
    struct ring *rings;
    int count;
    struct loop *loop;
    pthread_t thread;
    atomic_bool stop, found;
    struct guard_finding finding; /* written once, before `found` */
};

static void put(struct ring *r, size_t at, const void *p, size_t n)
{
    size_t i = at % RING_BYTES, first = RING_BYTES - i < n ? RING_BYTES - i : n;
    memcpy(r->bytes + i, p, first);
    memcpy(r->bytes, (const char *)p + first, n - first);
}

static void get(const struct ring *r, size_t at, void *p, size_t n)
{
    size_t i = at % RING_BYTES, first = RING_BYTES - i < n ? RING_BYTES - i : n;
    memcpy(p, r->bytes + i, first);
    memcpy((char *)p + first, r->bytes, n - first);
}

/* False when it does not fit. */
static bool write_message(struct ring *r, uint16_t kind, const char *p, size_t n)
{
    struct header h = {kind, (uint16_t)n};
    size_t at = atomic_load_explicit(&r->written, memory_order_relaxed);
    size_t used = at - atomic_load_explicit(&r->read, memory_order_acquire);
    if (n > RING_BYTES || sizeof h + n > RING_BYTES - used)
        return false;
    put(r, at, &h, sizeof h);
    put(r, at + sizeof h, p, n);
    atomic_store_explicit(&r->written, at + sizeof h + n, memory_order_release);
    return true;
}

static void send_message(struct ring *r, uint16_t kind, const char *p, size_t n)
{
    if (r->gap && !write_message(r, NEW_REQUEST, "", 0))
        return;
    r->gap = !write_message(r, kind, p, n);
}

void guard_text(struct guard *g, int stream, enum channel channel, struct slice escaped)
{
    send_message(&g->rings[stream], (uint16_t)channel, escaped.p, escaped.n);
}

void guard_new_request(struct guard *g, int stream)
{
    send_message(&g->rings[stream], NEW_REQUEST, "", 0);
}

static void forget(struct ring *r)
{
    for (int i = 0; i < CHANNELS; i++)
        loop_text_reset(&r->text[i]);
}

static void drain(struct ring *r, struct buf *plain)
{
    size_t at = atomic_load_explicit(&r->read, memory_order_relaxed);
    size_t end = atomic_load_explicit(&r->written, memory_order_acquire);
    char escaped[RING_BYTES];

    while (at != end) {
        struct header h;
        get(r, at, &h, sizeof h);
        at += sizeof h;
        get(r, at, escaped, h.len);
        at += h.len;
        if (h.kind == NEW_REQUEST) {
            forget(r);
            continue;
        }
        buf_reset(plain);
        event_unescape((struct slice){escaped, h.len}, plain);
        loop_text_add(&r->text[h.kind - 1], plain->p, plain->len);
    }
    atomic_store_explicit(&r->read, at, memory_order_release);
}

static bool look(struct guard *g, int stream, struct buf *plain)
{
    struct ring *r = &g->rings[stream];
    drain(r, plain);
    for (int i = 0; i < CHANNELS; i++) {
        if (!loop_text_check(&r->text[i], false, &g->finding.loop))
            continue;
        g->finding.stream = stream;
        g->finding.channel = (enum channel)(i + 1);
        return true;
    }
    return false;
}

static void *watch_thread(void *ctx)
{
    struct guard *g = ctx;
    struct buf plain;
    bool found = false;

    buf_init(&plain, RING_BYTES * 4);
    while (!atomic_load(&g->stop)) {
        for (int i = 0; i < g->count && !found; i++)
            if (look(g, i, &plain)) {
                found = true;
                atomic_store(&g->found, true);
                loop_wake(g->loop);
            }
        clock_sleep(50 * NS_PER_MS);
    }
    buf_release(&plain);
    return NULL;
}

struct guard *guard_start(int streams, struct loop *loop)
{
    struct guard *g = mem_alloc(sizeof *g);
    sigset_t all, old;

    g->rings = mem_array((size_t)streams, sizeof *g->rings);
    g->count = streams;
    g->loop = loop;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    int problem = pthread_create(&g->thread, NULL, watch_thread, g);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (problem) {
        free(g->rings);
        free(g);
        return NULL;
    }
    return g;
}

void guard_stop(struct guard *g)
{
    if (!g)
        return;
    atomic_store(&g->stop, true);
    pthread_join(g->thread, NULL);
    for (int i = 0; i < g->count; i++)
        for (int c = 0; c < CHANNELS; c++)
            loop_text_release(&g->rings[i].text[c]);
    free(g->rings);
    free(g);
}

int64_t guard_cpu(const struct guard *g)
{
    return g ? clock_cpu_of(g->thread) : 0;
}

bool guard_found(struct guard *g, struct guard_finding *ret)
{
    if (!atomic_load(&g->found))
        return false;
    *ret = g->finding;
    return true;
}
