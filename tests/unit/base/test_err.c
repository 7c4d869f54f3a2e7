/* test_err.c - what an error's text may hold, and how it grows on the way up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/text.h"

static void test_set(void **state)
{
    struct err err = {0};
    (void)state;
    assert_false(err_set(&err, ERR_HTTP, "GET %s: %d", "/v1/models", 404));
    assert_int_equal(err.code, ERR_HTTP);
    assert_string_equal(err.text, "GET /v1/models: 404");
    assert_false(err_set(NULL, ERR_HTTP, "nobody listens"));
    assert_false(err_prefix(NULL, "nobody listens"));
}

static void test_printable(void **state)
{
    struct err err;
    (void)state;
    err_set(&err, ERR_SERVER, "server says: %s", "\x1b]0;x\x07two\nlines \u202e");
    assert_string_equal(err.text, "server says: ?]0;x?two lines ?");
}

static void test_prefix(void **state)
{
    struct err err;
    (void)state;
    err_set(&err, ERR_TIMEOUT, "no answer in %d s", 5);
    assert_false(err_prefix(&err, "stream %d", 3));
    assert_int_equal(err.code, ERR_TIMEOUT);
    assert_string_equal(err.text, "stream 3: no answer in 5 s");
    assert_false(err_set(&err, ERR_CLOSED, "again: %s", err.text)); /* may quote itself */
    assert_string_equal(err.text, "again: stream 3: no answer in 5 s");
}

/* A long text is cut at a whole character. */
static void test_long(void **state)
{
    char text[4 * ERR_TEXT_MAX + 1];
    struct err err;
    (void)state;
    for (size_t offset = 0; offset < 3; offset++) {
        memset(text, 'x', offset);
        for (size_t i = offset; i + 3 < sizeof text; i += 3)
            memcpy(text + i, "\u20ac", 4);
        err_set(&err, ERR_SERVER, "%s", text);
        size_t n = strlen(err.text);
        assert_in_range(n, ERR_TEXT_MAX - 4, ERR_TEXT_MAX - 1);
        assert_true(text_utf8_valid(err.text, n));
        assert_null(strchr(err.text, '?'));
        err_prefix(&err, "%s", text);
        assert_true(text_utf8_valid(err.text, strlen(err.text)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_printable),
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
