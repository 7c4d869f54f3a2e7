/* fuzz_event.c - the fast reader and the full one must say the same about every payload that the
 * fast one accepts; and nothing a payload holds may upset the rest. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "load/event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void same_text(struct slice a, struct slice b)
{
    struct buf x, y;
    buf_init(&x, 64 << 20);
    buf_init(&y, 64 << 20);
    event_unescape(a, &x);
    event_unescape(b, &y);
    check(x.len == y.len && memcmp(x.p, y.p, x.len) == 0);
    buf_release(&x);
    buf_release(&y);
}

static void same_event(const struct event *a, const struct event *b)
{
    check(a->kind == b->kind && a->channel == b->channel && a->done_flag == b->done_flag);
    check(a->has_usage == b->has_usage && a->prompt_tokens == b->prompt_tokens);
    check(a->completion_tokens == b->completion_tokens && a->cached_tokens == b->cached_tokens);
    check(a->reasoning_tokens == b->reasoning_tokens);
    check(a->prompt_ms == b->prompt_ms || (isnan(a->prompt_ms) && isnan(b->prompt_ms)));
    check(a->has_error == b->has_error && a->error_code == b->error_code);
    same_text(a->text, b->text);
    same_text(a->finish, b->finish);
    same_text(a->error, b->error);
    same_text(a->error_type, b->error_type);
    same_text(a->id, b->id);
}

static void inside(struct slice s, const char *p, size_t n)
{
    check(s.n == 0 || (s.p >= p && s.n <= n && s.p + s.n <= p + n));
}

/* The input's lines as the events of one stream: a memo changes nothing. */
static void check_memo(const char *p, size_t size)
{
    struct event_memo *memo = event_memo_new();
    const char *end = p + size;

    while (p < end) {
        struct event with, without;
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((newline ? newline : end) - p);
        bool known = event_scan(NULL, p, n, &without);
        check(event_scan(memo, p, n, &with) == known);
        if (known) {
            inside(with.text, p, n);
            inside(with.id, p, n);
            inside(with.finish, p, n);
            inside(with.error, p, n);
            same_event(&with, &without);
        }
        p += newline ? n + 1 : n;
    }
    free(memo);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *p = (const char *)data;
    struct buf scratch, text;
    struct event fast, full;
    buf_init(&scratch, size * 3 + 1);
    buf_init(&text, 64 << 20);

    event_parse(p, size, &scratch, &full);
    inside(full.text, scratch.p, scratch.len);
    inside(full.error, scratch.p, scratch.len);
    check((full.text.n > 0) == (full.channel != CHANNEL_NONE));
    check(full.has_error || (full.error.n == 0 && full.error_code == 0));
    check_memo(p, size);
    if (event_scan(NULL, p, size, &fast)) {
        inside(fast.text, p, size);
        inside(fast.id, p, size);
        same_event(&fast, &full);
    }
    event_finish_kind(full.finish);
    event_finish_kind((struct slice){p, size});
    event_unescape((struct slice){p, size}, &text); /* also what is no valid escape */
    buf_reset(&text);
    check(event_error_body(p, size, &text) == (text.len > 0));

    buf_release(&text);
    buf_release(&scratch);
    return 0;
}
