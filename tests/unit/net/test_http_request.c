/* test_http_request.c - requests as bytes against what they mean. Each is fed whole, byte by byte
 * and cut in two at every place: the request, its refusal and its last byte must be the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "net/http_request.h"

enum { MAX_HEAD = 12000, MAX_BODY = 1000 };

/* Feed p: up to `cut`, then up to `step` at once, each piece from a copy of its own. Returns the
 * number of bytes that were taken. */
static size_t feed(struct http_request *r, const char *p, size_t n, size_t cut, size_t step)
{
    size_t at = 0;
    while (at < n && !r->complete && !r->refused) {
        size_t piece = at < cut ? cut - at : step;
        if (piece > n - at)
            piece = n - at;
        char *copy = mem_array(piece, 1);
        memcpy(copy, p + at, piece);
        size_t used = http_request_feed(r, copy, piece);
        free(copy);
        at += used;
        assert_true(used == piece || r->complete || r->refused);
    }
    return at;
}

/* "POST /path?query <body> keep 1.1", "400", or "more". */
static void describe(const struct http_request *r, struct buf *out)
{
    buf_reset(out);
    if (r->refused) {
        assert_false(r->complete);
        assert_true(r->why && r->why[0]);
        buf_addf(out, "%d", r->refused);
    } else if (r->complete) {
        assert_true(strlen(r->body.p) == r->body.len);
        buf_addf(out, "%s %s?%s <%s> %s %s", r->method, r->path, r->query, r->body.p,
                 r->keep_alive ? "keep" : "close", r->is_1_0 ? "1.0" : "1.1");
    } else {
        buf_adds(out, "more");
    }
}

static void check_all_splits(const char *p, size_t n, const char *meaning, size_t left)
{
    struct http_request r;
    struct buf seen;

    buf_init(&seen, 1 << 20);
    http_request_init(&r, MAX_HEAD, MAX_BODY);
    for (size_t cut = 0; cut <= n; cut++) {
        size_t used = feed(&r, p, n, cut, cut ? n : 1);
        describe(&r, &seen);
        if (strcmp(seen.p, meaning) != 0 || (!r.refused && used != n - left))
            fail_msg("%.60s... cut at %zu: '%s' (%s) and %zu left, not '%s' and %zu", p, cut,
                     seen.p, r.why ? r.why : "", n - used, meaning, left);
        assert_int_equal(http_request_feed(&r, "x", r.complete || r.refused), 0);
        http_request_reset(&r);
        assert_int_equal(http_request_bytes(&r), 0);
    }
    buf_release(&seen);
}

#define HOST   "Host: x\r\n"
#define GET    "GET / HTTP/1.1\r\n" HOST
#define POST   "POST /p HTTP/1.1\r\n" HOST
#define CHUNKS "Transfer-Encoding: chunked\r\n"
#define LENGTH "Content-Length: "

static const struct row {
    const char *wire, *meaning;
    size_t left; /* bytes that belong to what follows */
} rows[] = {
    /* targets */
    {GET "\r\n", "GET /? <> keep 1.1", 0},
    {"GET /a/b%20c?d=e&f HTTP/1.1\r\n" HOST "\r\n", "GET /a/b%20c?d=e&f <> keep 1.1", 0},
    {"GET /a#b?c HTTP/1.1\r\n" HOST "\r\n", "GET /a? <> keep 1.1", 0},
    {"GET /a?b#c?d HTTP/1.1\r\n" HOST "\r\n", "GET /a?b <> keep 1.1", 0},
    {"GET /a??b HTTP/1.1\r\n" HOST "\r\n", "GET /a??b <> keep 1.1", 0},
    {"GET http://y:8/a?b HTTP/1.1\r\n" HOST "\r\n", "GET /a?b <> keep 1.1", 0},
    {"GET http://y HTTP/1.1\r\n" HOST "\r\n", "GET /? <> keep 1.1", 0},
    {"GET http://y?b HTTP/1.1\r\n" HOST "\r\n", "GET /?b <> keep 1.1", 0},
    {"GET /r?u=http://y/z HTTP/1.1\r\n" HOST "\r\n", "GET /r?u=http://y/z <> keep 1.1", 0},
    {"OPTIONS * HTTP/1.1\r\n" HOST "\r\n", "OPTIONS *? <> keep 1.1", 0},
    {"CONNECT y:443 HTTP/1.1\r\n" HOST "\r\n", "501", 0},
    {"\r\n\r\n" GET "\r\n", "GET /? <> keep 1.1", 0}, /* empty lines before it are overlooked */
    /* bodies */
    {POST LENGTH "5\r\n\r\nhello", "POST /p? <hello> keep 1.1", 0},
    {POST LENGTH "0\r\n\r\n", "POST /p? <> keep 1.1", 0},
    {POST "\r\n", "POST /p? <> keep 1.1", 0},
    {POST LENGTH "5\r\n\r\nhell", "more", 0},
    {"DELETE /p HTTP/1.1\r\n" HOST LENGTH "2\r\n\r\nhi", "DELETE /p? <hi> keep 1.1", 0},
    {POST CHUNKS "\r\n5\r\nhello\r\n0\r\n\r\n", "POST /p? <hello> keep 1.1", 0},
    {POST CHUNKS "\r\n2\r\nhe\r\n003\r\nllo\r\n0\r\n\r\n", "POST /p? <hello> keep 1.1", 0},
    {POST CHUNKS "\r\nA;a=\"b;c\"\r\n0123456789\r\n0\r\n\r\n", "POST /p? <0123456789> keep 1.1", 0},
    {POST CHUNKS "\r\n2\r\nhi\r\n0\r\nHost: late\r\nX: y\r\n\r\n", "POST /p? <hi> keep 1.1", 0},
    {POST "transfer-encoding: CHUNKED\r\n\r\n0\r\n\r\n", "POST /p? <> keep 1.1", 0},
    {POST CHUNKS "\r\n5\r\nhello\r\n0\r\n", "more", 0},
    /* what follows is left alone */
    {GET "\r\n" GET "\r\n", "GET /? <> keep 1.1", sizeof GET + 1},
    {GET "\r\n \n garbage", "GET /? <> keep 1.1", 10},
    {POST LENGTH "5\r\n\r\nhelloGET", "POST /p? <hello> keep 1.1", 3},
    {POST CHUNKS "\r\n2\r\nhi\r\n0\r\n\r\nGET", "POST /p? <hi> keep 1.1", 3},
    /* whose connection may be used again */
    {GET "Connection: close\r\n\r\n", "GET /? <> close 1.1", 0},
    {GET "Connection: Close, TE\r\n\r\nGET", "GET /? <> close 1.1", 3},
    {GET "Connection: keep-alive\r\n\r\n", "GET /? <> keep 1.1", 0},
    {"GET / HTTP/1.0\r\n\r\n", "GET /? <> close 1.0", 0},
    {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "GET /? <> keep 1.0", 0},
    {"POST /p HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi", "POST /p? <hi> close 1.0", 0},
    /* an upgrade is not taken up */
    {GET "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "GET /? <> keep 1.1", 0},
    {POST "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n" LENGTH
          "2\r\n\r\nhiGET",
     "POST /p? <hi> keep 1.1", 3},
    /* the length of a body is said once and in one way, or two readers may see two requests */
    {POST LENGTH "5\r\n" CHUNKS "\r\n0\r\n\r\n", "400", 0},
    {POST CHUNKS LENGTH "5\r\n\r\n0\r\n\r\n", "400", 0},
    {POST LENGTH "5\r\n" LENGTH "5\r\n\r\nhello", "400", 0},
    {POST LENGTH "5\r\n" LENGTH "6\r\n\r\nhello", "400", 0},
    {POST LENGTH "5, 5\r\n\r\nhello", "400", 0},
    {POST LENGTH "+5\r\n\r\nhello", "400", 0},
    {POST LENGTH "-5\r\n\r\nhello", "400", 0},
    {POST LENGTH "0x5\r\n\r\nhello", "400", 0},
    {POST LENGTH "5 5\r\n\r\nhello", "400", 0},
    {POST LENGTH "99999999999999999999\r\n\r\n", "400", 0},
    {POST "Content-Length : 5\r\n\r\nhello", "400", 0},
    {POST "Transfer-Encoding: gzip\r\n\r\n", "400", 0},
    {POST "Transfer-Encoding: chunked, gzip\r\n\r\n", "400", 0},
    {POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "501", 0},
    {POST CHUNKS CHUNKS "\r\n0\r\n\r\n", "400", 0},
    {POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "400", 0},
    {POST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "400", 0},
    {"POST /p HTTP/1.0\r\n" CHUNKS "\r\n0\r\n\r\n", "400", 0},
    {POST CHUNKS "\r\ng\r\n", "400", 0},
    {POST CHUNKS "\r\n-1\r\n", "400", 0},
    {POST CHUNKS "\r\n0x1\r\na\r\n0\r\n\r\n", "400", 0},
    {POST CHUNKS "\r\nfffffffffffffffff\r\n", "400", 0},
    {POST CHUNKS "\r\n2\r\nhiX\r\n0\r\n\r\n", "400", 0},
    {POST CHUNKS "\r\n2\nhi\r\n0\r\n\r\n", "400", 0},
    {POST CHUNKS "\r\n2\r\nhi\n0\r\n\r\n", "400", 0},
    {POST CHUNKS "\r\n2\rXhi\r\n0\r\n\r\n", "400", 0},
    /* lines end by CRLF, names by a colon */
    {"GET / HTTP/1.1\n" HOST "\r\n", "400", 0},
    {"GET / HTTP/1.1\r\nHost: x\n\r\n", "400", 0},
    {"GET / HTTP/1.1\r\nHost: x\r\r\n\r\n", "400", 0},
    {"GET / HTTP/1.1\r\nHost: x\rX: y\r\n\r\n", "400", 0},
    {GET "\n", "400", 0},
    {GET "\rX", "400", 0},
    {GET "X: a\r\n b\r\n\r\n", "400", 0},
    {GET "X: a\r\n\tb\r\n\r\n", "400", 0},
    {"GET / HTTP/1.1\r\n Host: x\r\n\r\n", "400", 0},
    {GET "no colon\r\n\r\n", "400", 0},
    {GET ": empty\r\n\r\n", "400", 0},
    {"GET / HTTP/1.1\r\n: empty\r\n\r\n", "400", 0},
    {GET "X y: z\r\n\r\n", "400", 0},
    {GET "X: a\x01"
         "b\r\n\r\n",
     "400", 0},
    /* one host */
    {"GET / HTTP/1.1\r\n\r\n", "400", 0},
    {GET HOST "\r\n", "400", 0},
    {"GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET /? <> keep 1.1", 0}, /* an empty one will do */
    /* expectations */
    {POST "Expect: 100-continue\r\n" LENGTH "2\r\n\r\nhi", "POST /p? <hi> keep 1.1", 0},
    {POST "Expect: the unexpected\r\n\r\n", "417", 0},
    {"POST /p HTTP/1.0\r\nExpect: nothing\r\n\r\n", "POST /p? <> close 1.0", 0},
    /* versions, and what is no HTTP */
    {"GET / HTTP/1.2\r\n" HOST "\r\n", "505", 0},
    {"GET / HTTP/2.0\r\n" HOST "\r\n", "505", 0},
    {"GET / HTTP/0.9\r\n\r\n", "505", 0},
    {"GET /\r\n\r\n", "505", 0},
    {"GET / \r\n\r\n", "400", 0},
    {"GET  HTTP/1.1\r\n\r\n", "400", 0},
    {"GET / HTTPS/1.1\r\n", "400", 0},
    {"DESCRIBE / RTSP/1.0\r\n\r\n", "400", 0},
    {"SOURCE / ICE/1.0\r\n\r\n", "400", 0},
    {"FETCH / HTTP/1.1\r\n" HOST "\r\n", "400", 0},
    {"get / HTTP/1.1\r\n" HOST "\r\n", "400", 0},
    {"HTTP/1.1 200 OK\r\n\r\n", "400", 0},
    {"\x16\x03\x01\x02\x01\x01", "400", 0},
    {"SSH-2.0-OpenSSH_9.2p1\r\n", "400", 0},
    {"GE", "more", 0},
    {"", "more", 0},
    {GET, "more", 0},
    {GET "\r", "more", 0},
};

static void test_requests(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check_all_splits(rows[i].wire, strlen(rows[i].wire), rows[i].meaning, rows[i].left);
}

static void test_zero_byte(void **state)
{
    static const char in_target[] = "GET /a\0b HTTP/1.1\r\n" HOST "\r\n";
    static const char in_value[] = GET "X: a\0b\r\n\r\n";
    static const char in_name[] = GET "X\0: a\r\n\r\n";

    (void)state;
    check_all_splits(in_target, sizeof in_target - 1, "400", 0);
    check_all_splits(in_value, sizeof in_value - 1, "400", 0);
    check_all_splits(in_name, sizeof in_name - 1, "400", 0);
}

static void test_headers(void **state)
{
    static const char wire[] = "GET / HTTP/1.1\r\nHost: h:1\r\nAuthorization:  Bearer a b \t\r\n"
                               "X-Empty:\r\nX-Blank:   \r\nx-twice: 1\r\nX-Twice: 2\r\n"
                               "X-Name: \xC3\xA4\xFF\r\nLast: l\r\n\r\n";
    static const struct {
        const char *name, *value;
    } want[] = {{"Host", "h:1"},  {"authorization", "Bearer a b"},
                {"X-EMPTY", ""},  {"X-Blank", ""},
                {"X-Twice", "1"}, {"X-Name", "\xC3\xA4\xFF"},
                {"LAST", "l"},    {"X-None", NULL},
                {"X-Twic", NULL}, {"", NULL}};
    struct http_request r;

    (void)state;
    http_request_init(&r, MAX_HEAD, MAX_BODY);
    for (size_t cut = 0; cut < sizeof wire - 1; cut++) {
        feed(&r, wire, sizeof wire - 1, cut, cut ? sizeof wire : 1);
        assert_true(r.complete);
        for (size_t i = 0; i < ARRAY_LEN(want); i++) {
            const char *value = http_request_header(&r, want[i].name);
            if (!want[i].value)
                assert_null(value);
            else
                assert_string_equal(value, want[i].value);
        }
        http_request_reset(&r);
    }
}

/* Each bound: met exactly, and passed by one. */
static void test_bounds(void **state)
{
    static const char first[] = "GET / HTTP/1.1\r\n";
    struct buf wire;

    (void)state;
    buf_init(&wire, 1 << 20);
    for (int over = 0; over <= 1; over++) {
        buf_reset(&wire); /* the request line, CRLF and all */
        buf_adds(&wire, "GET /");
        buf_add_repeat(&wire, 'a', HTTP_REQUEST_MAX_LINE - (sizeof first - 1) + (size_t)over);
        buf_adds(&wire, " HTTP/1.1\r\n");
        buf_adds(&wire, HOST "\r\n");
        struct http_request r;
        http_request_init(&r, MAX_HEAD, MAX_BODY);
        for (size_t step = 1; step < wire.len; step += 997) {
            feed(&r, wire.p, wire.len, 0, step);
            assert_int_equal(r.refused, over ? 414 : 0);
            assert_int_equal(r.complete, !over);
            http_request_reset(&r);
        }
        buf_reset(&wire); /* the head */
        buf_adds(&wire, GET "X: ");
        buf_add_repeat(&wire, 'a', MAX_HEAD - wire.len - 4 + (size_t)over);
        buf_adds(&wire, "\r\n\r\n");
        for (size_t step = 1; step < wire.len; step += 1009) {
            feed(&r, wire.p, wire.len, 0, step);
            assert_int_equal(r.refused, over ? 431 : 0);
            http_request_reset(&r);
        }
        buf_reset(&wire); /* header lines */
        buf_adds(&wire, GET);
        for (int i = 1; i < HTTP_REQUEST_MAX_HEADERS + over; i++)
            buf_addf(&wire, "H%d:\r\n", i);
        buf_adds(&wire, "\r\n");
        check_all_splits(wire.p, wire.len, over ? "431" : "GET /? <> keep 1.1", 0);
        buf_reset(&wire); /* a body, refused by its length alone */
        buf_addf(&wire, POST LENGTH "%d\r\n\r\n", MAX_BODY + over);
        check_all_splits(wire.p, wire.len, over ? "413" : "more", 0);
        buf_reset(&wire); /* in two chunks, refused by the second's size line */
        buf_addf(&wire, POST CHUNKS "\r\n2\r\nhi\r\n%x\r\n", MAX_BODY - 2 + over);
        check_all_splits(wire.p, wire.len, over ? "413" : "more", 0);
    }
    buf_release(&wire);
}

/* Empty lines without end are a head too large, and no beginning of a request. */
static void test_empty_lines(void **state)
{
    struct http_request r;
    size_t fed = 0;

    (void)state;
    http_request_init(&r, MAX_HEAD, MAX_BODY);
    for (; fed < 100; fed += 2) {
        assert_int_equal(http_request_feed(&r, "\r\n", 2), 2);
        assert_false(http_request_begun(&r));
    }
    http_request_feed(&r, "G", 1);
    assert_true(http_request_begun(&r));
    http_request_reset(&r);
    for (fed = 0; !r.refused && fed < (size_t)2 * MAX_HEAD; fed += 2)
        http_request_feed(&r, "\r\n", 2);
    assert_in_range(r.refused, 414, 431);
    http_request_reset(&r);
}

static void test_continue(void **state)
{
    static const char head[] = POST "Expect: 100-Continue\r\n" LENGTH "2\r\n\r\n";
    struct http_request r;

    (void)state;
    http_request_init(&r, MAX_HEAD, MAX_BODY);
    http_request_feed(&r, head, sizeof head - 3);
    assert_false(r.wants_continue);
    http_request_feed(&r, head + sizeof head - 3, 2);
    assert_true(r.wants_continue);
    http_request_feed(&r, "hi", 2);
    assert_true(r.complete);
    http_request_drop_body(&r);
    assert_int_equal(r.body.len, 0);
    assert_string_equal(http_request_header(&r, "host"), "x"); /* the rest stays */
    http_request_reset(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),    cmocka_unit_test(test_zero_byte),
        cmocka_unit_test(test_headers),     cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_empty_lines), cmocka_unit_test(test_continue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
