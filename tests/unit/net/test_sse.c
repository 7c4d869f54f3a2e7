/* test_sse.c - streams as text against the events they mean; each is fed whole and byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/sse.h"

/* Events as "type|data;" one after the other. */
static void on_event(void *ctx, const struct sse_event *event)
{
    struct buf *out = ctx;
    buf_adds(out, event->type);
    buf_addc(out, '|');
    buf_add(out, event->data, event->len);
    buf_addc(out, ';');
}

struct row {
    const char *stream;
    const char *events;
    const char *stray;
    unsigned comments, strays;
};

static const struct row rows[] = {
    {"data: a\n\ndata: b\n\n", "|a;|b;", "", 0, 0},
    {"data: a\r\n\r\ndata: b\r\n\r\n", "|a;|b;", "", 0, 0},
    {"data: a\r\rdata: b\r\r", "|a;|b;", "", 0, 0},
    {"data: a\n\rdata: b\r\n\n", "|a;|b;", "", 0, 0},
    {"data: a\r\n\rdata: b\r\r\n\n\n", "|a;|b;", "", 0, 0},
    {"data:a\n\ndata:[DONE]\n\ndata:  [DONE] \n\n", "|a;|[DONE];| [DONE] ;", "", 0, 0},
    {"data:\n\ndata\n\ndata: \n\n", "|;|;|;", "", 0, 0},
    {"data: a\ndata: b\ndata:\ndata: d\n\n", "|a\nb\n\nd;", "", 0, 0},
    {"data\ndata\n\n", "|\n;", "", 0, 0},
    /* the end of the stream ends the line and the event */
    {"data: [DONE]", "|[DONE];", "", 0, 0},
    {"data: a\n", "|a;", "", 0, 0},
    {"data: a\r", "|a;", "", 0, 0},
    {"data: a\n\n:", "|a;", "", 1, 0},
    {"", "", "", 0, 0},
    /* comments, also inside an event */
    {":\n\n: keepalive 4096/20000\n\n:hb\n\n", "", "", 3, 0},
    {"data: a\n: hb\ndata: b\n\n", "|a\nb;", "", 1, 0},
    {": data: a\n\n", "", "", 1, 0},
    /* other fields */
    {"event: message\ndata: {}\n\n", "message|{};", "", 0, 0},
    {"data: x\nevent:error\n\ndata: y\n\n", "error|x;|y;", "", 0, 0},
    {"event: a\nevent: b\ndata: x\n\n", "b|x;", "", 0, 0},
    {"event: lonely\n\ndata: x\n\n", "|x;", "", 0, 0},
    {"id: 7\nretry: 3000\nx-other_1: y\ndata: x\n\n", "|x;", "", 0, 0},
    {"id\nevent\nretry\n\n", "", "", 0, 0},
    {"datax: a\n\nDATA: b\n\n", "", "", 0, 0},
    {"event: 0123456789012345678901234567890123456789012345678901234567890123456789\ndata: x\n\n",
     "012345678901234567890123456789012345678901234567890123456789012|x;", "", 0, 0},
    /* a mark in front of the stream, and only there */
    {"\xEF\xBB\xBF"
     "data: a\n\n",
     "|a;", "", 0, 0},
    {"\xEF\xBB\xBF\n\xEF\xBB\xBF"
     "data: a\n\n",
     "",
     "\xEF\xBB\xBF"
     "data: a",
     0, 1},
    {"\xEF\xBB\xBF", "", "", 0, 0},
    {"\xEF\xBB"
     "data: a\n\n",
     "",
     "\xEF\xBB"
     "data: a",
     0, 1},
    /* what is no field but says something */
    {"{\"error\":{\"code\":400,\"message\":\"too: long\"}}\n", "",
     "{\"error\":{\"code\":400,\"message\":\"too: long\"}}", 0, 1},
    {"{\"a\":1}\n{\"a\":2}", "", "{\"a\":1}\n{\"a\":2}", 0, 2},
    {"{\n  \"error\": {\n    \"message\": \"no\"\n  }\n}\n", "",
     "{\n  \"error\": {\n    \"message\": \"no\"\n  }\n}", 0, 5},
    {"Internal Server Error\n\ndata: a\n\n", "|a;", "Internal Server Error", 0, 1},
    {"error: {\"code\":500}\nError:boom\n\n", "", "{\"code\":500}\nboom", 0, 2},
    {"Unauthorized", "", "Unauthorized", 0, 1},
    {"   \n\t\n \n\n", "", "", 0, 0},
    {"error:\n\n", "", "", 0, 0},
};

static void check(const struct sse *s, const struct buf *events, const struct row *row)
{
    unsigned count = 0;
    for (size_t i = 0; i < events->len; i++)
        count += events->p[i] == ';';
    assert_string_equal(events->p, row->events);
    assert_string_equal(s->stray.p, row->stray);
    assert_int_equal(s->events, count);
    assert_int_equal(s->comments, row->comments);
    assert_int_equal(s->strays, row->strays);
    assert_false(s->too_long);
}

/* Every cut into two pieces, and all single bytes; one decoder for all of them. Each piece is a
 * copy of its own, so that a pointer kept across calls would show under a sanitizer. */
static void feed_copy(struct sse *s, const char *p, size_t n)
{
    char *copy = mem_array(n, 1);
    memcpy(copy, p, n);
    sse_feed(s, copy, n);
    free(copy);
}

static void test_streams(void **state)
{
    struct buf events;
    struct sse s;
    (void)state;
    buf_init(&events, 4096);
    sse_init(&s, 4096, on_event, &events);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n = strlen(rows[i].stream);
        for (size_t cut = 0; cut <= n; cut++) {
            feed_copy(&s, rows[i].stream, cut);
            feed_copy(&s, rows[i].stream + cut, n - cut);
            sse_finish(&s);
            check(&s, &events, &rows[i]);
            sse_reset(&s);
            buf_reset(&events);
        }
        for (size_t at = 0; at < n; at++)
            feed_copy(&s, rows[i].stream + at, 1);
        sse_finish(&s);
        check(&s, &events, &rows[i]);
        sse_reset(&s);
        buf_reset(&events);
    }
    sse_feed(&s, NULL, 0);
    sse_release(&s);
    buf_release(&events);
}

/* A maximum of 8: data of 8 bytes passes, of 9 does not, whatever the lines and the splits. */
static void test_limits(void **state)
{
    static const struct {
        const char *stream, *events;
        bool too_long;
    } cases[] = {
        {"data: 12345678\n\ndata: x\n\n", "|12345678;|x;", false},
        {"data:12345678\n\n", "|12345678;", false},
        {"data: a\n\ndata: 123456789\n\ndata: x\n\n", "|a;", true},
        {"data:123456789\n\n", "", true},
        {"data: 1234\ndata: 567\n\n", "|1234\n567;", false},
        {"data: 1234\ndata: 5678\n\n", "", true},
        {"data: 1234567\ndata:\n\n", "|1234567\n;", false},
        {"data: 12345678\ndata:\n\n", "", true},
        {": 3456789012345\ndata: x\n\n", "", true}, /* any line, at 8 + 6 bytes */
        {": 345678901234\ndata: x\n\n", "|x;", false},
        {"data: 123456789", "", true},
        {"data: a\n\n: 3456789012345", "|a;", true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t n = strlen(cases[i].stream);
        for (size_t cut = 0; cut <= n; cut++) {
            struct buf events;
            struct sse s;
            buf_init(&events, 4096);
            sse_init(&s, 8, on_event, &events);
            sse_feed(&s, cases[i].stream, cut);
            sse_feed(&s, cases[i].stream + cut, n - cut);
            sse_finish(&s);
            assert_string_equal(events.p, cases[i].events);
            assert_int_equal(s.too_long, cases[i].too_long);
            sse_feed(&s, "\n\ndata: y\n\n", 11); /* nothing comes out of it any more */
            if (cases[i].too_long)
                assert_string_equal(events.p, cases[i].events);
            sse_reset(&s);
            buf_reset(&events);
            sse_feed(&s, "data: y\n\n", 9);
            assert_string_equal(events.p, "|y;");
            sse_release(&s);
            buf_release(&events);
        }
    }
}

/* Stray text is cut at its maximum, the rest of the stream is read all the same. */
static void test_stray_is_bounded(void **state)
{
    struct buf events, line;
    struct sse s;
    (void)state;
    buf_init(&events, 4096);
    buf_init(&line, 4096);
    buf_add_repeat(&line, '{', 1000);
    buf_addc(&line, '\n');
    sse_init(&s, 1 << 20, on_event, &events);
    for (int i = 0; i < 100; i++)
        sse_feed(&s, line.p, line.len);
    sse_feed(&s, "data: a\n\n", 9);
    assert_int_equal(s.stray.len, SSE_STRAY_MAX);
    assert_int_equal(s.strays, 100);
    assert_string_equal(events.p, "|a;");
    sse_release(&s);
    buf_release(&line);
    buf_release(&events);
}

struct where {
    const char *data;
    int count;
};

static void note_place(void *ctx, const struct sse_event *event)
{
    struct where *w = ctx;
    w->data = event->data;
    w->count++;
}

/* An event that lies whole in the fed bytes is handed out where it lies, and costs no storage. */
static void test_no_copy(void **state)
{
    static const char stream[] = "data: abc\n\ndata: d\ndata: e\n\n";
    struct where where = {0};
    struct sse s;
    (void)state;
    sse_init(&s, 4096, note_place, &where);
    sse_feed(&s, stream, 11);
    assert_ptr_equal(where.data, stream + 6);
    assert_int_equal(s.data.cap, 0);
    assert_int_equal(s.line.cap, 0);
    sse_feed(&s, stream + 11, sizeof stream - 12);
    assert_int_equal(where.count, 2);
    assert_ptr_equal(where.data, s.data.p); /* two lines must be joined somewhere */
    const char *storage = s.data.p;
    size_t cap = s.data.cap;
    for (int i = 0; i < 100; i++)
        sse_feed(&s, stream, sizeof stream - 1);
    assert_ptr_equal(s.data.p, storage);
    assert_int_equal(s.data.cap, cap);
    sse_release(&s);
}

/* A line of a megabyte in small reads: what is kept grows by doubling, nothing is lost. */
static void test_large_event(void **state)
{
    enum { SIZE = 1 << 20 };
    struct buf events, stream;
    struct sse s;
    (void)state;
    buf_init(&events, SIZE * 2);
    buf_init(&stream, SIZE * 2);
    buf_adds(&stream, "data: ");
    buf_add_repeat(&stream, 'x', SIZE);
    buf_adds(&stream, "\n\n");
    sse_init(&s, SSE_EVENT_MAX, on_event, &events);
    for (size_t at = 0; at < stream.len; at += 1000)
        sse_feed(&s, stream.p + at, stream.len - at < 1000 ? stream.len - at : 1000);
    assert_int_equal(events.len, SIZE + 2);
    assert_int_equal(s.events, 1);
    sse_release(&s);
    buf_release(&stream);
    buf_release(&events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams),          cmocka_unit_test(test_limits),
        cmocka_unit_test(test_stray_is_bounded), cmocka_unit_test(test_no_copy),
        cmocka_unit_test(test_large_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
