/* test_clockwork.c - what is asked of the clockwork server against what it streams. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/num.h"
#include "engine/clockwork.h"

struct rig {
    struct loop *loop;
    struct clockwork *clockwork;
    struct buf answer;
};

static void rig_init(struct rig *r)
{
    r->loop = loop_new(NULL);
    r->clockwork = clockwork_new(r->loop, NULL);
    assert_non_null(r->clockwork);
    buf_init(&r->answer, 1 << 20);
}

static void rig_release(struct rig *r)
{
    clockwork_free(r->clockwork);
    loop_free(r->loop);
    buf_release(&r->answer);
}

static int rig_post(struct rig *r, const char *body)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    int64_t port = 0;
    char request[1024];
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(num_parse_i64(strrchr(clockwork_url(r->clockwork), ':') + 1, &port));
    address.sin_port = htons((uint16_t)port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    int n = snprintf(request, sizeof request,
                     "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n"
                     "%s",
                     strlen(body), body);
    assert_int_equal(write(fd, request, (size_t)n), n);
    return fd;
}

/* Turn the server and gather the answer until it holds `last`. */
static const char *rig_read(struct rig *r, int fd, const char *last)
{
    char bytes[4096];
    int64_t give_up_at = clock_now() + 20 * NS_PER_S;

    buf_reset(&r->answer);
    while (!strstr(r->answer.p, last)) {
        if (clock_now() > give_up_at)
            fail_msg("no '%s' in: %s", last, r->answer.p);
        loop_turn(r->loop, clock_now() + NS_PER_MS);
        ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n > 0)
            buf_add(&r->answer, bytes, (size_t)n);
    }
    return r->answer.p;
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, word)); p += strlen(word))
        n++;
    return n;
}

/* The next number behind `from`; moves it on. */
static int64_t number(const char **from)
{
    int64_t v = 0;
    while (**from < '0' || **from > '9')
        ++*from;
    while (**from >= '0' && **from <= '9')
        v = v * 10 + *(*from)++ - '0';
    return v;
}

/* Role first; tokens due 20 ms after the arrival and 5 ms apart, to the nanosecond, none sent
 * before it is due; usage and the end mark last. */
static void test_due_instants(void **state)
{
    struct rig r;
    int64_t first_due = 0, asked_at = clock_now();
    (void)state;
    rig_init(&r);
    int fd = rig_post(&r, "{\"max_tokens\":4,\"first_ms\":20,\"gap_ms\":5}");
    const char *text = rig_read(&r, fd, "[DONE]");
    assert_int_equal(count(text, "\"role\":\"assistant\""), 1);
    assert_int_equal(count(text, "\"content\":\" "), 4);
    assert_int_equal(count(text, "\"finish_reason\":\"length\""), 1);
    assert_int_equal(count(text, "\"completion_tokens\":4"), 1);
    assert_true(strstr(text, "\"role\"") < strstr(text, "\"content\":\" "));
    assert_true(strstr(text, "\"length\"") < strstr(text, "\"usage\""));
    const char *p = text;
    for (int i = 0; i < 4; i++) {
        p = strstr(p, "\"content\":\" ");
        int64_t sent = number(&p), due = number(&p);
        first_due = i == 0 ? due : first_due;
        assert_int_equal(due, first_due + i * 5 * NS_PER_MS);
        assert_true(sent >= due && sent < clock_now());
    }
    assert_true(first_due >= asked_at + 20 * NS_PER_MS);
    close(fd);
    rig_release(&r);
}

/* HTTP chunks of a body, the empty last one included. */
static size_t count_chunks(const char *p)
{
    size_t chunks = 0, size;
    do {
        for (size = 0; *p != '\r'; p++)
            size = size * 16 + (size_t)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
        p += 2 + size + 2;
        chunks++;
    } while (size > 0);
    return chunks;
}

/* A bundle is one HTTP chunk and is due with its last token; the last one may be smaller. A split
 * write makes two chunks of each. */
static void test_bundles_and_splits(void **state)
{
    static const struct {
        const char *body;
        size_t chunks; /* head of a chunk: a line of hex digits */
    } rows[] = {
        /* role, [3 2], end, and the last chunk of HTTP */
        {"{\"max_tokens\":5,\"first_ms\":1,\"gap_ms\":2,\"bundle\":3}", 5},
        {"{\"max_tokens\":5,\"first_ms\":1,\"gap_ms\":2,\"bundle\":3,\"split\":true}", 7},
        {"{\"max_tokens\":2,\"first_ms\":0,\"gap_ms\":0}", 5},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rig r;
        rig_init(&r);
        int fd = rig_post(&r, rows[i].body);
        const char *text = rig_read(&r, fd, "\r\n0\r\n\r\n");
        size_t chunks = count_chunks(strstr(text, "\r\n\r\n") + 4);
        if (chunks != rows[i].chunks)
            fail_msg("row %zu: %zu chunks of %zu", i, chunks, rows[i].chunks);
        close(fd);
        rig_release(&r);
    }
}

static void test_what_is_no_request(void **state)
{
    static const char *const bodies[] = {"", "x", "[]", "\"text\"", "{\"a\":1,\"a\":2}"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct rig r;
        rig_init(&r);
        int fd = rig_post(&r, bodies[i]);
        assert_non_null(strstr(rig_read(&r, fd, "invalid_request_error"), " 400 "));
        close(fd);
        rig_release(&r);
    }
}

/* A client that leaves is forgotten; others go on, and the server can end with streams running. */
static void test_gone(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    int fd = rig_post(&r, "{\"max_tokens\":100000,\"first_ms\":1,\"gap_ms\":1}");
    rig_read(&r, fd, "\"content\":\" ");
    close(fd);
    fd = rig_post(&r, "{\"max_tokens\":3,\"first_ms\":30,\"gap_ms\":1}");
    rig_read(&r, fd, "[DONE]");
    close(fd);
    fd = rig_post(&r, "{\"max_tokens\":100000,\"first_ms\":1,\"gap_ms\":1}");
    rig_read(&r, fd, "\"content\":\" ");
    rig_release(&r);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_due_instants),
        cmocka_unit_test(test_bundles_and_splits),
        cmocka_unit_test(test_what_is_no_request),
        cmocka_unit_test(test_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
