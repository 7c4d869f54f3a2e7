/* fuzz_sse.c - the same bytes whole, one by one, and split where the bytes themselves say, must
 * give the same events, the same stray text and the same counters; also with a maximum so small
 * that it is hit. */
#include <stdlib.h>
#include <string.h>

#include "net/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum split { SPLIT_NONE, SPLIT_BYTES, SPLIT_BY_CONTENT, SPLIT_COUNT };

/* What a decoder said, in one run. */
struct record {
    struct buf events;
    struct sse sse;
};

static void on_event(void *ctx, const struct sse_event *event)
{
    struct record *r = ctx;
    buf_addf(&r->events, "[%s %zu]", event->type, event->len);
    buf_add(&r->events, event->data, event->len);
}

static size_t piece(enum split split, const uint8_t *data, size_t at, size_t size)
{
    size_t n = split == SPLIT_NONE ? size : split == SPLIT_BYTES ? 1 : (size_t)data[at] % 23;
    return n < size - at ? n : size - at;
}

static void feed(struct record *r, const uint8_t *data, size_t size, enum split split)
{
    for (size_t at = 0, idle = 0; at < size;) {
        size_t n = piece(split, data, at, size);
        if (n == 0 && idle++ % 2 == 1) /* an empty read now and then, but always on in the end */
            n = 1;
        char *copy = malloc(n ? n : 1); /* exact and short-lived: a pointer kept too long shows */
        if (!copy)
            abort();
        memcpy(copy, data + at, n);
        sse_feed(&r->sse, copy, n);
        free(copy);
        at += n;
    }
    sse_finish(&r->sse);
}

static void record_init(struct record *r, size_t max_event)
{
    buf_init(&r->events, 64 << 20);
    sse_init(&r->sse, max_event, on_event, r);
}

static void record_release(struct record *r)
{
    buf_release(&r->events);
    sse_release(&r->sse);
}

static bool same_text(const struct buf *a, const struct buf *b)
{
    return a->len == b->len && memcmp(a->p, b->p, a->len) == 0;
}

static void compare(const struct record *a, const struct record *b)
{
    if (!same_text(&a->events, &b->events) || !same_text(&a->sse.stray, &b->sse.stray) ||
        a->sse.too_long != b->sse.too_long || a->sse.events != b->sse.events ||
        a->sse.comments != b->sse.comments || a->sse.strays != b->sse.strays)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t limits[] = {1 << 20, 24};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct record whole;
        record_init(&whole, limits[i]);
        feed(&whole, data, size, SPLIT_NONE);
        for (enum split split = SPLIT_BYTES; split < SPLIT_COUNT; split++) {
            struct record other;
            record_init(&other, limits[i]);
            feed(&other, data, size, split);
            compare(&whole, &other);
            sse_reset(&other.sse); /* a used decoder must be as good as a new one */
            buf_reset(&other.events);
            feed(&other, data, size, split);
            compare(&whole, &other);
            record_release(&other);
        }
        record_release(&whole);
    }
    return 0;
}
