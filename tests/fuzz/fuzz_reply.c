/* fuzz_reply.c - bytes of a connection through HTTP and SSE as one decoder. Whole, one by one, and
 * split where the bytes themselves say: the same heads, bodies, events and end must come of it. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "net/http_reply.h"
#include "net/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum split { SPLIT_NONE, SPLIT_BYTES, SPLIT_BY_CONTENT, SPLIT_COUNT };

/* What one run saw. */
struct record {
    struct http_reply reply;
    struct sse sse;
    struct buf heads, body, events;
    enum err_code code; /* how it ended */
};

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void on_head(void *ctx, const struct http_head *h)
{
    struct record *r = ctx;
    const char *const shown[] = {h->location, h->server, h->via};
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        require(text_utf8_valid(shown[i], strlen(shown[i])));
    buf_addf(&r->heads, "[%d %s|%s|%s|%s|%s]", h->status, h->content_type, h->content_encoding,
             h->location, h->server, h->via);
}

static void on_body(void *ctx, const char *p, size_t n)
{
    struct record *r = ctx;
    require(r->heads.len > 0 && n > 0);
    buf_add(&r->body, p, n);
    sse_feed(&r->sse, p, n);
}

static void on_event(void *ctx, const struct sse_event *event)
{
    struct record *r = ctx;
    buf_addf(&r->events, "[%s %zu]", event->type, event->len);
    buf_add(&r->events, event->data, event->len);
}

static const struct http_reply_events reply_events = {on_head, on_body};

static void record_init(struct record *r, size_t max_event)
{
    *r = (struct record){.code = ERR_NONE};
    buf_init(&r->heads, 64 << 20);
    buf_init(&r->body, 64 << 20);
    buf_init(&r->events, 64 << 20);
    sse_init(&r->sse, max_event, on_event, r);
}

static void record_release(struct record *r)
{
    buf_release(&r->heads);
    buf_release(&r->body);
    buf_release(&r->events);
    sse_release(&r->sse);
}

static size_t piece(enum split split, const uint8_t *data, size_t at, size_t size)
{
    size_t n = split == SPLIT_NONE ? size : split == SPLIT_BYTES ? 1 : (size_t)data[at] % 23;
    return n < size - at ? n : size - at;
}

static void run(struct record *r, const uint8_t *data, size_t size, enum split split)
{
    struct err err = {0};
    bool fine = true;

    http_reply_start(&r->reply, &reply_events, r);
    for (size_t at = 0, idle = 0; at < size && fine;) {
        size_t n = piece(split, data, at, size);
        if (n == 0 && idle++ % 2 == 1) /* an empty read now and then, but always on in the end */
            n = 1;
        char *copy = malloc(n ? n : 1); /* exact and short-lived: a pointer kept too long shows */
        require(copy);
        memcpy(copy, data + at, n);
        fine = http_reply_feed(&r->reply, copy, n, &err);
        free(copy);
        at += n;
    }
    bool ended = http_reply_end(&r->reply, fine ? &err : NULL);
    require(ended == r->reply.complete || !fine);
    sse_finish(&r->sse);
    r->code = err.code;
    require((r->code == ERR_NONE) == (fine && r->reply.complete));
}

static bool same_text(const struct buf *a, const struct buf *b)
{
    return a->len == b->len && memcmp(a->p, b->p, a->len) == 0;
}

static void compare(const struct record *a, const struct record *b)
{
    require(same_text(&a->heads, &b->heads));
    require(same_text(&a->body, &b->body));
    require(same_text(&a->events, &b->events));
    require(same_text(&a->sse.stray, &b->sse.stray));
    require(a->sse.events == b->sse.events && a->sse.too_long == b->sse.too_long);
    require(a->code == b->code && a->reply.complete == b->reply.complete);
    require(!a->reply.complete || a->reply.keep_alive == b->reply.keep_alive);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t limits[] = {1 << 20, 24};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct record whole;
        record_init(&whole, limits[i]);
        run(&whole, data, size, SPLIT_NONE);
        for (enum split split = SPLIT_BYTES; split < SPLIT_COUNT; split++) {
            struct record other;
            record_init(&other, limits[i]);
            run(&other, data, size, split);
            compare(&whole, &other);
            record_release(&other);
        }
        record_release(&whole);
    }
    return 0;
}
