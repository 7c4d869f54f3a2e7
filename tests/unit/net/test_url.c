/* test_url.c - every form of an address that is accepted, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/text.h"
#include "net/url.h"

static const struct {
    const char *text;
    bool tls;
    const char *host, *port, *prefix, *unix_path;
    const char *shown, *header; /* url_text, url_host_header */
    bool local;
} accepted[] = {
    {"http://127.0.0.1:8000", false, "127.0.0.1", "8000", "", "", "http://127.0.0.1:8000",
     "127.0.0.1:8000", true},
    {"https://api.example.com", true, "api.example.com", "443", "", "", "https://api.example.com",
     "api.example.com", false},
    {"HTTPS://API.example.com:443/", true, "API.example.com", "443", "", "",
     "https://API.example.com", "API.example.com", false},
    {"HTTP://h:80", false, "h", "80", "", "", "http://h", "h", false},
    {"http://h:443", false, "h", "443", "", "", "http://h:443", "h:443", false},
    {"https://h:80", true, "h", "80", "", "", "https://h:80", "h:80", false},
    {"localhost:8080", false, "localhost", "8080", "", "", "http://localhost:8080",
     "localhost:8080", true},
    {"LOCALHOST", false, "LOCALHOST", "80", "", "", "http://LOCALHOST", "LOCALHOST", true},
    {"my_box-2.lan:65535", false, "my_box-2.lan", "65535", "", "", "http://my_box-2.lan:65535",
     "my_box-2.lan:65535", false},
    {"h:0080", false, "h", "80", "", "", "http://h", "h", false},
    /* IPv6 */
    {"[::1]:8000", false, "::1", "8000", "", "", "http://[::1]:8000", "[::1]:8000", true},
    {"https://[2001:db8::7]", true, "2001:db8::7", "443", "", "", "https://[2001:db8::7]",
     "[2001:db8::7]", false},
    {"http://[::ffff:10.0.0.1]:1", false, "::ffff:10.0.0.1", "1", "", "",
     "http://[::ffff:10.0.0.1]:1", "[::ffff:10.0.0.1]:1", false},
    /* a zone id reaches the resolver, not the server; both ways of writing it */
    {"http://[fe80::1%eth0]:8000/v1", false, "fe80::1%eth0", "8000", "", "",
     "http://[fe80::1]:8000", "[fe80::1]:8000", false},
    {"http://[fe80::1%25eth0]:8000", false, "fe80::1%eth0", "8000", "", "", "http://[fe80::1]:8000",
     "[fe80::1]:8000", false},
    /* what stands before /v1 */
    {"http://h/v1", false, "h", "80", "", "", "http://h", "h", false},
    {"http://h/v1/", false, "h", "80", "", "", "http://h", "h", false},
    {"http://h//v1//", false, "h", "80", "", "", "http://h", "h", false},
    {"http://h/openai", false, "h", "80", "/openai", "", "http://h/openai", "h", false},
    {"http://h/openai/v1/", false, "h", "80", "/openai", "", "http://h/openai", "h", false},
    {"http://h/a/b%20c/", false, "h", "80", "/a/b%20c", "", "http://h/a/b%20c", "h", false},
    {"http://h/v1/v1", false, "h", "80", "/v1", "", "http://h/v1", "h", false},
    {"http://h/xv1", false, "h", "80", "/xv1", "", "http://h/xv1", "h", false},
    {"http://h/v1beta", false, "h", "80", "/v1beta", "", "http://h/v1beta", "h", false},
    {"h:1/a@b", false, "h", "1", "/a@b", "", "http://h:1/a@b", "h:1", false},
    /* unix sockets */
    {"unix:/run/llm.sock", false, "localhost", "80", "", "/run/llm.sock", "unix:/run/llm.sock",
     "localhost", true},
    {"UNIX:///run/llm.sock", false, "localhost", "80", "", "/run/llm.sock", "unix:/run/llm.sock",
     "localhost", true},
    {"unix:llm.sock", false, "localhost", "80", "", "llm.sock", "unix:llm.sock", "localhost", true},
    {"unix:/run/llm.sock:/openai/v1", false, "localhost", "80", "/openai", "/run/llm.sock",
     "unix:/run/llm.sock:/openai", "localhost", true},
    {"unix:/run/llm.sock:/v1", false, "localhost", "80", "", "/run/llm.sock", "unix:/run/llm.sock",
     "localhost", true},
    {"unix:/run/llm.sock:", false, "localhost", "80", "", "/run/llm.sock", "unix:/run/llm.sock",
     "localhost", true},
    /* near local, and not */
    {"127.255.0.9", false, "127.255.0.9", "80", "", "", "http://127.255.0.9", "127.255.0.9", true},
    {"127.0.0.1.example.com", false, "127.0.0.1.example.com", "80", "", "",
     "http://127.0.0.1.example.com", "127.0.0.1.example.com", false},
    {"localhost.example.com", false, "localhost.example.com", "80", "", "",
     "http://localhost.example.com", "localhost.example.com", false},
    {"128.0.0.1", false, "128.0.0.1", "80", "", "", "http://128.0.0.1", "128.0.0.1", false},
};

static void test_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(accepted); i++) {
        struct url u;
        struct err err = {0};
        char text[800];
        if (!url_parse(accepted[i].text, &u, &err))
            fail_msg("%s: %s", accepted[i].text, err.text);
        assert_int_equal(u.tls, accepted[i].tls);
        assert_string_equal(u.host, accepted[i].host);
        assert_string_equal(u.port, accepted[i].port);
        assert_string_equal(u.prefix, accepted[i].prefix);
        assert_string_equal(u.unix_path, accepted[i].unix_path);
        assert_string_equal(url_text(&u, text, sizeof text), accepted[i].shown);
        assert_string_equal(url_host_header(&u, text, sizeof text), accepted[i].header);
        if (url_is_local(&u) != accepted[i].local)
            fail_msg("%s: local", accepted[i].text);
    }
}

/* What is shown is an address again, and the same one (but for a zone id). */
static void test_shown_form_parses(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(accepted); i++) {
        struct url u, again;
        char text[800], second[800];
        if (strchr(accepted[i].host, '%'))
            continue;
        assert_true(url_parse(accepted[i].text, &u, NULL));
        url_text(&u, text, sizeof text);
        if (text_ends(text, "/v1")) /* of two, one was taken off: another reading takes the other */
            continue;
        assert_true(url_parse(text, &again, NULL));
        assert_string_equal(url_text(&again, second, sizeof second), text);
        assert_string_equal(again.host, u.host);
    }
}

static const struct {
    const char *text, *why; /* in the message */
} refused[] = {
    {"", "host or port"},
    {"http://", "host or port"},
    {"http:///v1", "host or port"},
    {":8000", "host or port"},
    {"http://:8000", "host or port"},
    {"ftp://h", "only http"},
    {"httpx://h", "only http"},
    {"://h", "only http"},
    {"h/redirect?to=http://x", "only http"},
    /* ports */
    {"h:", "host or port"},
    {"h:0", "host or port"},
    {"h:65536", "host or port"},
    {"h:-1", "host or port"},
    {"h:+80", "host or port"},
    {"h: 80", "host or port"},
    {"h:80x", "host or port"},
    {"h:8k", "host or port"},
    {"h:80:80", "host or port"},
    {"h:99999999999999999999", "host or port"},
    {"[::1]8000", "host or port"},
    {"[::1]:", "host or port"},
    /* hosts */
    {"::1", "host or port"},
    {"fe80::1", "host or port"},
    {"[::1", "host or port"},
    {"[]", "host or port"},
    {"[]:80", "host or port"},
    {"[localhost]:80", "host or port"},
    {"a b", "host or port"},
    {"a\tb", "host or port"},
    {"a\r\nHost: x", "host or port"},
    {"h\x01", "host or port"},
    {"h\\x", "host or port"},
    {"h%41", "host or port"},
    {"h\xC3\xA9", "host or port"},
    /* paths */
    {"http://h?x=1", "path"},
    {"http://h#x", "path"},
    {"http://h/a?b", "path"},
    {"http://h/a#b", "path"},
    {"http://h/a b", "path"},
    {"http://h/a\r\nX: y", "path"},
    {"http://h/\x7f", "path"},
    {"unix:/s:/a b", "path"},
    {"unix:/s:openai", "path"},
    {"unix:", "no socket path"},
    {"unix://", "no socket path"},
    {"unix::/x", "no socket path"},
    /* secrets */
    {"http://user:pw@h", "--api-key"},
    {"user@h:80", "--api-key"},
    {"http://@h", "--api-key"},
    {"https://sk-secret@[::1]:80/v1", "--api-key"},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct url u = {.port = "7"};
        struct err err = {0};
        if (url_parse(refused[i].text, &u, &err))
            fail_msg("'%s' was accepted", refused[i].text);
        assert_int_equal(err.code, ERR_USAGE);
        if (!strstr(err.text, refused[i].why))
            fail_msg("'%s': %s", refused[i].text, err.text);
        assert_string_equal(u.port, "7"); /* written on success only */
    }
}

/* A key typed into the address is not repeated in the message. */
static void test_secret_is_not_shown(void **state)
{
    struct url u;
    struct err err = {0};
    (void)state;
    assert_false(url_parse("http://user:swordfish@h", &u, &err));
    assert_null(strstr(err.text, "swordfish"));
}

/* head, n times c, tail: accepted up to the room there is, refused one byte later. */
static void test_lengths(void **state)
{
    static const struct {
        const char *head;
        char c;
        size_t most;
        const char *tail;
    } rows[] = {
        {"http://", 'h', 255, ":1"},      {"http://", 'h', 255, "/v1"},   {"[::", '1', 253, "]:80"},
        {"http://h/", 'p', 510, ""},      {"http://h/", 'p', 510, "/v1"}, {"unix:/", 's', 106, ""},
        {"unix:/", 's', 106, ":/openai"}, {"unix:/s:/", 'p', 510, "/"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const size_t lengths[] = {rows[i].most, rows[i].most + 1, 100000};
        for (size_t k = 0; k < ARRAY_LEN(lengths); k++) {
            struct buf text;
            struct url u;
            struct err err = {0};
            char shown[800], cut[16];
            buf_init(&text, 200000);
            buf_adds(&text, rows[i].head);
            buf_add_repeat(&text, rows[i].c, lengths[k]);
            buf_adds(&text, rows[i].tail);
            bool ok = url_parse(text.p, &u, &err);
            if (ok != (k == 0))
                fail_msg("row %zu, %zu bytes: %d", i, lengths[k], ok);
            if (ok) {
                assert_true(strlen(url_text(&u, shown, sizeof shown)) < sizeof shown);
                assert_int_equal(strlen(url_text(&u, cut, sizeof cut)), sizeof cut - 1);
            }
            buf_release(&text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted), cmocka_unit_test(test_shown_form_parses),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_secret_is_not_shown),
        cmocka_unit_test(test_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
