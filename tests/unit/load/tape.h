/* tape.h - a stream without a server: recorded bytes of a connection go through the HTTP parser
 * into a struct stream, in reads whose size and instant the test chooses. */
#ifndef TOKGRID_TESTS_TAPE_H
#define TOKGRID_TESTS_TAPE_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "load/stream.h"
#include "net/http_reply.h"

struct tape {
    struct transport transport; /* first: what the lane's table gets */
    struct lane lane;           /* the only one */
    struct http_reply reply;
    struct read_stamp stamp;
    bool over; /* the exchange ended, or the stream gave it up */
};

static inline void tape_on_head(void *ctx, const struct http_head *head)
{
    struct tape *t = ctx;
    if (!t->over)
        t->lane.events->on_head(t->lane.ctx, head, &t->stamp);
}

static inline void tape_on_body(void *ctx, const char *p, size_t n)
{
    struct tape *t = ctx;
    if (!t->over)
        t->lane.events->on_body(t->lane.ctx, p, n, &t->stamp);
}

static inline void tape_end(struct tape *t, const struct err *err)
{
    t->over = true;
    t->lane.busy = false;
    t->lane.events->on_end(t->lane.ctx, err, t->stamp.at);
}

static inline struct lane *tape_lane_create(struct transport *transport)
{
    return &((struct tape *)transport)->lane;
}

static inline void tape_lane_destroy(struct lane *l)
{
    l->busy = false;
}

static inline void tape_open(struct lane *l)
{
    l->events->on_open(l->ctx);
}

static inline void tape_send(struct lane *l, const struct http_request *request)
{
    static const struct http_reply_events events = {tape_on_head, tape_on_body};
    struct tape *t = (struct tape *)l->transport;
    (void)request;
    t->over = false;
    l->times.send_at = l->times.sent_at = t->stamp.at;
    http_reply_start(&t->reply, &events, t);
}

static inline void tape_cancel(struct lane *l)
{
    ((struct tape *)l->transport)->over = true;
}

static inline int64_t tape_unread(const struct lane *l)
{
    (void)l;
    return 0;
}

static inline void tape_init(struct tape *t)
{
    static const struct transport_ops ops = {.kind = "tape",
                                             .lane_create = tape_lane_create,
                                             .lane_destroy = tape_lane_destroy,
                                             .open = tape_open,
                                             .send = tape_send,
                                             .cancel = tape_cancel,
                                             .unread = tape_unread};
    memset(t, 0, sizeof *t);
    t->transport.ops = &ops;
    t->stamp.at = 1;
}

/* One read at that instant. Does nothing once the exchange is over. */
static inline void tape_read(struct tape *t, const char *p, size_t n, int64_t at)
{
    struct err err;
    if (t->over)
        return;
    t->stamp.at = at;
    t->stamp.bytes = n;
    t->stamp.serial++;
    bool fine = http_reply_feed(&t->reply, p, n, &err);
    if (!t->over && (t->reply.complete || !fine))
        tape_end(t, t->reply.complete ? NULL : &err);
}

/* The peer closed the connection. */
static inline void tape_close(struct tape *t)
{
    struct err err;
    if (!t->over)
        tape_end(t, http_reply_end(&t->reply, &err) ? NULL : &err);
}

/* --- recordings --- */

#define RECORDINGS "tests/data/streams"
enum { RECORDINGS_MAX = 32 };

struct recording {
    char name[64]; /* "vllm-chat.http" */
    struct buf bytes;
};

static inline int by_name(const void *a, const void *b)
{
    return strcmp(((const struct recording *)a)->name, ((const struct recording *)b)->name);
}

/* All of them, by name; returns how many. */
static inline size_t recordings_load(struct recording *ret)
{
    size_t count = 0;
    DIR *folder = opendir(RECORDINGS);
    for (struct dirent *e; folder && (e = readdir(folder));) {
        char path[512];
        if (!strstr(e->d_name, ".http") || count == RECORDINGS_MAX)
            continue;
        struct recording *r = &ret[count++];
        snprintf(r->name, sizeof r->name, "%.63s", e->d_name);
        snprintf(path, sizeof path, RECORDINGS "/%s", e->d_name);
        buf_init(&r->bytes, 1 << 20);
        FILE *f = fopen(path, "rb");
        char block[4096];
        for (size_t n; f && (n = fread(block, 1, sizeof block, f)) > 0;)
            buf_add(&r->bytes, block, n);
        if (f)
            fclose(f);
    }
    if (folder)
        closedir(folder);
    qsort(ret, count, sizeof *ret, by_name);
    return count;
}

static inline void recordings_release(struct recording *r, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_release(&r[i].bytes);
}

#endif
