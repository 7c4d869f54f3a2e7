/* Answers: nobody is sent elsewhere, no header is split, cookies are kept from scripts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "site/web_response.h"

static void test_redirects_stay_here(void **state)
{
    static const char *const elsewhere[] = {
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "evil",
        "",
        "/a\r\nSet-Cookie: x=1",
        "javascript:alert(1)",
        "/a b",
        "/\tx",
        "/a\\b",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(elsewhere); i++) {
        struct response r;
        response_init(&r);
        response_redirect(&r, elsewhere[i]);
        assert_int_equal(r.status, 303);
        assert_string_equal(response_header_value(&r, "location"), "/");
        response_release(&r);
    }
    struct response r;
    response_init(&r);
    response_redirect(&r, "/en/runs?a=b#c");
    assert_string_equal(response_header_value(&r, "Location"), "/en/runs?a=b#c");
    response_release(&r);
}

static void test_headers_are_not_split(void **state)
{
    struct response r;
    (void)state;
    response_init(&r);
    response_header(&r, "X-A", "one\r\nX-B: two");
    assert_null(response_header_value(&r, "X-A"));
    for (int i = 0; i < 2 * RESPONSE_MAX_HEADERS; i++)
        response_header(&r, "X-C", "v");
    assert_int_equal(r.header_count, RESPONSE_MAX_HEADERS);
    response_release(&r);
}

static void test_cookies(void **state)
{
    struct response r;
    (void)state;
    response_init(&r);
    response_cookie(&r, "name", "value", 60, true);
    assert_string_equal(response_header_value(&r, "Set-Cookie"),
                        "name=value; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure");
    response_release(&r);
    response_init(&r);
    response_cookie(&r, "name", "", 60, false);
    assert_string_equal(response_header_value(&r, "Set-Cookie"),
                        "name=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0");
    response_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_redirects_stay_here),
        cmocka_unit_test(test_headers_are_not_split),
        cmocka_unit_test(test_cookies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
