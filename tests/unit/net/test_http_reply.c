/* test_http_reply.c - answers as bytes against what they mean. Each is fed whole, byte by byte and
 * cut in two at every place: heads, body and end must be the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "net/http_reply.h"

enum ending {
    KEEP,    /* complete, the connection may be used again */
    LAST,    /* complete, the connection may not */
    CUT,     /* the connection ended in the middle */
    NOTHING, /* it ended without an answer */
    NO_HTTP, /* bytes that are none */
    AFTER,   /* bytes behind a complete answer */
};

/* What a reply said, as "status type encoding location server via;" and the body. */
struct seen {
    struct buf head, body;
    enum ending ending;
};

static void on_head(void *ctx, const struct http_head *h)
{
    struct seen *seen = ctx;
    buf_addf(&seen->head, "%d %s|%s|%s|%s|%s;", h->status, h->content_type, h->content_encoding,
             h->location, h->server, h->via);
}

static void on_body(void *ctx, const char *p, size_t n)
{
    struct seen *seen = ctx;
    buf_add(&seen->body, p, n);
}

static const struct http_reply_events events = {on_head, on_body};

static enum ending failed(const struct http_reply *r, const struct err *err)
{
    if (err->code == ERR_CLOSED)
        return strstr(err->text, "without an answer") ? NOTHING : CUT;
    assert_int_equal(err->code, ERR_PROTOCOL);
    return r->complete ? AFTER : NO_HTTP;
}

/* The bytes in pieces: up to `cut`, then up to `step` at once. Each piece is a copy of its own, so
 * that a pointer kept across calls would show under a sanitizer. */
static void run(struct seen *seen, const char *p, size_t n, size_t cut, size_t step)
{
    struct http_reply r;
    struct err err = {0};
    bool fine = true;

    buf_reset(&seen->head);
    buf_reset(&seen->body);
    http_reply_start(&r, &events, seen);
    for (size_t at = 0, piece; at < n && fine; at += piece) {
        piece = at < cut ? cut - at : step;
        if (piece > n - at)
            piece = n - at;
        char *copy = mem_array(piece, 1);
        memcpy(copy, p + at, piece);
        fine = http_reply_feed(&r, copy, piece, &err);
        free(copy);
    }
    if (fine)
        fine = http_reply_end(&r, &err);
    seen->ending = !fine ? failed(&r, &err) : r.keep_alive ? KEEP : LAST;
}

static void check_all_splits(const char *p, size_t n, const char *head, const char *body,
                             enum ending ending)
{
    struct seen seen = {0};
    buf_init(&seen.head, 1 << 20);
    buf_init(&seen.body, 1 << 20);
    for (size_t cut = 0; cut <= n + 1; cut++) {
        run(&seen, p, n, cut, cut <= n ? n : 1); /* the last round: byte by byte */
        if (cut > n)
            run(&seen, p, n, 0, 1);
        if (strcmp(seen.head.p, head) != 0 || strcmp(seen.body.p, body) != 0 ||
            seen.ending != ending)
            fail_msg("%.60s... cut at %zu: '%s' '%s' %d, not '%s' '%s' %d", p, cut, seen.head.p,
                     seen.body.p, (int)seen.ending, head, body, (int)ending);
    }
    buf_release(&seen.head);
    buf_release(&seen.body);
}

#define OK     "HTTP/1.1 200 OK\r\n"
#define LENGTH "Content-Length: "
#define CHUNKS "Transfer-Encoding: chunked\r\n"

static const struct row {
    const char *wire, *head, *body;
    enum ending ending;
} rows[] = {
    /* by length */
    {OK LENGTH "5\r\n\r\nhello", "200 ||||;", "hello", KEEP},
    {OK LENGTH "0\r\n\r\n", "200 ||||;", "", KEEP},
    {OK "content-length:  5  \r\n\r\nhello", "200 ||||;", "hello", KEEP},
    {OK LENGTH "5\r\n\r\nhell", "200 ||||;", "hell", CUT},
    {OK LENGTH "5\r\n\r\n", "200 ||||;", "", CUT},
    {OK LENGTH "5\r\n\r\nhello!", "200 ||||;", "hello", AFTER},
    {OK LENGTH "5\r\n\r\nhello" OK LENGTH "0\r\n\r\n", "200 ||||;", "hello", AFTER},
    {OK LENGTH "5\r\n" LENGTH "6\r\n\r\nhello!", "", "", NO_HTTP},
    {OK LENGTH "-5\r\n\r\nhello", "", "", NO_HTTP},
    {OK LENGTH "5x\r\n\r\nhello", "", "", NO_HTTP},
    {OK LENGTH "99999999999999999999999\r\n\r\n", "", "", NO_HTTP},
    /* in chunks */
    {OK CHUNKS "\r\n5\r\nhello\r\n0\r\n\r\n", "200 ||||;", "hello", KEEP},
    {OK CHUNKS "\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", "200 ||||;", "hello", KEEP},
    {OK CHUNKS "\r\n00000A\r\n0123456789\r\n0\r\n\r\n", "200 ||||;", "0123456789", KEEP},
    {OK CHUNKS "\r\na\r\n0123456789\r\n000\r\n\r\n", "200 ||||;", "0123456789", KEEP},
    {OK CHUNKS "\r\n5;name=value\r\nhello\r\n0;x\r\n\r\n", "200 ||||;", "hello", KEEP},
    {OK CHUNKS "\r\n5;name=\"a;b\"\r\nhello\r\n0\r\n\r\n", "200 ||||;", "hello", KEEP},
    {OK CHUNKS "\r\n5\r\nhello\r\n0\r\nServer: late\r\nX-Sum: 1\r\n\r\n", "200 ||||;", "hello",
     KEEP},
    {OK CHUNKS "\r\n0\r\n\r\n", "200 ||||;", "", KEEP},
    {OK CHUNKS "\r\n5\r\nhello\r\n0\r\n", "200 ||||;", "hello", CUT},
    {OK CHUNKS "\r\n5\r\nhello\r\n", "200 ||||;", "hello", CUT},
    {OK CHUNKS "\r\n5\r\nhel", "200 ||||;", "hel", CUT},
    {OK CHUNKS "\r\n5\r\nhello\r\n0\r\n\r\nx", "200 ||||;", "hello", AFTER},
    {OK CHUNKS "\r\ng\r\nhello\r\n0\r\n\r\n", "200 ||||;", "", NO_HTTP},
    {OK CHUNKS "\r\nfffffffffffffffff\r\nhello", "200 ||||;", "", NO_HTTP},
    {OK CHUNKS "\r\n5\r\nhello!\r\n0\r\n\r\n", "200 ||||;", "hello", NO_HTTP},
    {OK "Transfer-Encoding: identity, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "200 ||||;", "hello",
     KEEP},
    /* until the connection ends */
    {OK "\r\nhello", "200 ||||;", "hello", LAST},
    {OK "\r\n", "200 ||||;", "", LAST},
    {OK "Connection: close\r\n\r\nhello", "200 ||||;", "hello", LAST},
    {"HTTP/1.0 200 OK\r\n\r\nhello", "200 ||||;", "hello", LAST},
    /* whose connection may be used again */
    {OK "Connection: close\r\n" LENGTH "2\r\n\r\nhi", "200 ||||;", "hi", LAST},
    {OK "Connection: Close, X\r\n" CHUNKS "\r\n0\r\n\r\n", "200 ||||;", "", LAST},
    {OK "Connection: keep-alive\r\n" LENGTH "2\r\n\r\nhi", "200 ||||;", "hi", KEEP},
    {"HTTP/1.0 200 OK\r\n" LENGTH "2\r\n\r\nhi", "200 ||||;", "hi", LAST},
    {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" LENGTH "2\r\n\r\nhi", "200 ||||;", "hi", KEEP},
    /* interim answers are none */
    {"HTTP/1.1 100 Continue\r\n\r\n" OK LENGTH "2\r\n\r\nhi", "200 ||||;", "hi", KEEP},
    {"HTTP/1.1 103 Early Hints\r\nServer: a\r\nLink: </s>\r\n\r\nHTTP/1.1 102 P\r\n\r\n" OK LENGTH
     "2\r\n\r\nhi",
     "200 ||||;", "hi", KEEP},
    {"HTTP/1.1 100 Continue\r\n" LENGTH "7\r\n\r\n" OK LENGTH "2\r\n\r\nhi", "200 ||||;", "hi",
     KEEP},
    {"HTTP/1.1 100 Continue\r\n\r\n", "", "", CUT},
    /* answers without a body, whatever their headers say */
    {"HTTP/1.1 204 No Content\r\n\r\n", "204 ||||;", "", KEEP},
    {"HTTP/1.1 204 No Content\r\nContent-Type: text/plain\r\n\r\n", "204 text/plain||||;", "",
     KEEP},
    {"HTTP/1.1 304 Not Modified\r\n" LENGTH "5\r\n\r\n", "304 ||||;", "", KEEP},
    {"HTTP/1.1 204 No Content\r\n\r\nx", "204 ||||;", "", AFTER},
    /* statuses */
    {"HTTP/1.1 503 \r\n" LENGTH "0\r\n\r\n", "503 ||||;", "", KEEP},
    {"HTTP/1.1 429\r\n" LENGTH "0\r\n\r\n", "429 ||||;", "", KEEP},
    {"HTTP/1.1 200 Alles \xC3\x84pfel\r\n" LENGTH "0\r\n\r\n", "200 ||||;", "", KEEP},
    /* the headers that are looked at */
    {OK "Content-Type: Text/Event-Stream; charset=UTF-8\r\nContent-Encoding: GZip\r\nLocation: "
        "/Else?a=B\r\nserver: uvicorn (X)\r\nVIA: 1.1 Proxy\r\n" LENGTH "0\r\n\r\n",
     "200 text/event-stream|gzip|/Else?a=B|uvicorn (X)|1.1 Proxy;", "", KEEP},
    {OK "Content-Encoding: identity\r\n" LENGTH "0\r\n\r\n", "200 ||||;", "", KEEP},
    {OK "Content-Type:\r\nServer: \r\n" LENGTH "0\r\n\r\n", "200 ||||;", "", KEEP},
    {OK "Content-Type: a/b\r\nContent-Type: c/d\r\n" LENGTH "0\r\n\r\n", "200 c/d||||;", "", KEEP},
    {OK "Content-Type: a/b\r\nContent-Type:\r\n" LENGTH "0\r\n\r\n", "200 ||||;", "", KEEP},
    {OK "Content-Typ: a/b\r\nContent-Types: c/d\r\nXServer: x\r\n" LENGTH "0\r\n\r\n", "200 ||||;",
     "", KEEP},
    {OK "X-A-Header-That-Is-Longer-Than-Any-Of-Ours-Server: x\r\nServer: y\r\n" LENGTH "0\r\n\r\n",
     "200 |||y|;", "", KEEP},
    {OK "Server: a\x1b[31mb\x9b\xC2\x9B"
        "c\r\n" LENGTH "0\r\n\r\n",
     "", "", NO_HTTP}, /* control bytes do not belong there */
    {OK "Server: \xC3\xA9\xE2\x80\xAE\xFFz\r\n" LENGTH "0\r\n\r\n", "200 |||\xC3\xA9??z|;", "",
     KEEP},
    /* no HTTP at all */
    {"", "", "", NOTHING},
    {"SSH-2.0-OpenSSH_9.2p1\r\n", "", "", NO_HTTP},
    {"<html>", "", "", NO_HTTP},
    {"data: {}\n\n", "", "", NO_HTTP},
    {"HTTP/2 200\r\n\r\n", "", "", NO_HTTP},
    {"HTTP/1.1 abc\r\n\r\n", "", "", NO_HTTP},
    {"GET / HTTP/1.1\r\n\r\n", "", "", NO_HTTP},
    {"HTT", "", "", CUT},
    {OK, "", "", CUT},
    {OK "Server", "", "", CUT},
    {OK "no colon\r\n\r\n", "", "", NO_HTTP},
};

static void test_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check_all_splits(rows[i].wire, strlen(rows[i].wire), rows[i].head, rows[i].body,
                         rows[i].ending);
}

/* A folded header line is refused or unfolded, by the version of llhttp; it is never half a value
 * in one split and a whole one in another. */
static void test_folded_header(void **state)
{
    static const char wire[] = OK "Server: a\r\n b\r\n" LENGTH "2\r\n\r\nhi";
    struct seen seen = {0};
    char first[128];
    enum ending ending;

    (void)state;
    buf_init(&seen.head, 4096);
    buf_init(&seen.body, 4096);
    run(&seen, wire, sizeof wire - 1, 0, sizeof wire);
    assert_true(seen.head.len < sizeof first);
    memcpy(first, seen.head.p, seen.head.len + 1);
    ending = seen.ending;
    assert_true(ending == KEEP || ending == NO_HTTP);
    check_all_splits(wire, sizeof wire - 1, first, ending == KEEP ? "hi" : "", ending);
    buf_release(&seen.head);
    buf_release(&seen.body);
}

/* Values longer than their room are cut, and cut never inside a character. */
static void test_long_values(void **state)
{
    static const struct {
        const char *name;
        size_t room, separators; /* bars of the record before and behind it */
    } fields[] = {{"Content-Type", 96, 0},
                  {"Content-Encoding", 32, 1},
                  {"Location", 256, 2},
                  {"Server", 64, 3},
                  {"Via", 64, 4}};
    struct buf wire, head;

    (void)state;
    buf_init(&wire, 1 << 20);
    buf_init(&head, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        buf_reset(&wire);
        buf_reset(&head);
        buf_addf(&wire, OK "%s: ", fields[i].name);
        buf_add_repeat(&wire, 'v', 2000);
        buf_adds(&wire, "\r\nX-Other: ");
        buf_add_repeat(&wire, 'w', 2000);
        buf_adds(&wire, "\r\n" LENGTH "2\r\n\r\nhi");
        buf_adds(&head, "200 ");
        buf_add_repeat(&head, '|', fields[i].separators);
        buf_add_repeat(&head, 'v', fields[i].room - 1);
        buf_add_repeat(&head, '|', 4 - fields[i].separators);
        buf_addc(&head, ';');
        check_all_splits(wire.p, wire.len, head.p, "hi", KEEP);
    }
    buf_reset(&wire);
    buf_reset(&head);
    buf_adds(&wire, OK "Server: x");
    for (int i = 0; i < 100; i++)
        buf_adds(&wire, "\xC3\xA9");
    buf_adds(&wire, "\r\n" LENGTH "0\r\n\r\n");
    buf_adds(&head, "200 |||x"); /* 1 + 31 x 2 = 63 bytes */
    for (int i = 0; i < 31; i++)
        buf_adds(&head, "\xC3\xA9");
    buf_adds(&head, "|;");
    check_all_splits(wire.p, wire.len, head.p, "", KEEP);
    buf_release(&wire);
    buf_release(&head);
}

/* After an error nothing more is understood, and after the end nothing more is accepted. */
static void test_after_the_end(void **state)
{
    static const char whole[] = OK LENGTH "2\r\n\r\nhi";
    struct seen seen = {0};
    struct http_reply r;
    struct err err;

    (void)state;
    buf_init(&seen.head, 4096);
    buf_init(&seen.body, 4096);
    http_reply_start(&r, &events, &seen);
    assert_true(http_reply_feed(&r, "", 0, &err));
    assert_false(http_reply_feed(&r, "garbage", 7, &err));
    assert_false(http_reply_feed(&r, whole, sizeof whole - 1, &err));
    assert_false(http_reply_end(&r, &err));
    assert_int_equal(seen.head.len, 0);

    http_reply_start(&r, &events, &seen); /* a new start forgets all of it */
    assert_true(http_reply_feed(&r, whole, sizeof whole - 1, &err));
    assert_true(r.complete);
    assert_true(http_reply_feed(&r, "", 0, &err));
    assert_true(http_reply_end(&r, &err));
    assert_false(http_reply_feed(&r, "x", 1, &err));
    assert_int_equal(err.code, ERR_PROTOCOL);
    assert_string_equal(seen.head.p, "200 ||||;");
    assert_string_equal(seen.body.p, "hi");
    buf_release(&seen.head);
    buf_release(&seen.body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_folded_header),
        cmocka_unit_test(test_long_values),
        cmocka_unit_test(test_after_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
