/* test_buf.c - growth, the maximum, detaching, JSON strings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"

static void test_adding(void **state)
{
    struct buf b;
    (void)state;
    buf_init(&b, 1000);
    assert_string_equal(b.p, "");
    assert_true(buf_adds(&b, "one"));
    assert_true(buf_addc(&b, ' '));
    assert_true(buf_addf(&b, "%d-%s", 2, "two"));
    assert_true(buf_add_repeat(&b, '.', 3));
    assert_true(buf_add(&b, "x\0y", 3));
    assert_true(buf_add(&b, NULL, 0));
    assert_true(buf_adds(&b, ""));
    assert_int_equal(b.len, 15);
    assert_memory_equal(b.p, "one 2-two...x\0y", 16); /* the NUL behind included */
    buf_release(&b);
    assert_string_equal(b.p, "");
    buf_release(&b);
}

/* The maximum is reachable; one byte more changes nothing but the flag, and nothing after it. */
static void test_maximum(void **state)
{
    struct buf b;
    (void)state;
    buf_init(&b, 8);
    assert_true(buf_adds(&b, "12345678"));
    assert_false(b.overflow);
    assert_false(buf_addc(&b, '9'));
    assert_true(b.overflow);
    assert_string_equal(b.p, "12345678");
    buf_reset(&b);
    assert_string_equal(b.p, "");
    assert_true(buf_adds(&b, "1234"));
    assert_false(buf_addf(&b, "%05d", 7));
    assert_false(buf_adds(&b, "")); /* checked once at the end: stays false */
    assert_false(buf_add_repeat(&b, 'x', 1));
    assert_null(buf_reserve(&b, 1));
    assert_string_equal(b.p, "1234");
    buf_reset(&b);
    assert_null(buf_reserve(&b, SIZE_MAX));
    buf_release(&b);
    buf_init(&b, 0);
    assert_true(buf_adds(&b, ""));
    assert_false(buf_addc(&b, 'x'));
    buf_release(&b);
}

static void test_reset_keeps_storage(void **state)
{
    struct buf b;
    (void)state;
    buf_init(&b, 1 << 20);
    buf_add_repeat(&b, 'x', 5000);
    const char *storage = b.p;
    for (int i = 0; i < 100; i++) {
        buf_reset(&b);
        buf_add_repeat(&b, 'y', 5000);
        assert_ptr_equal(b.p, storage);
    }
    buf_release(&b);
}

static void test_reserve_and_consume(void **state)
{
    struct buf b;
    (void)state;
    buf_init(&b, 100);
    memcpy(buf_reserve(&b, 50), "abcdef", 6);
    buf_advance(&b, 6);
    assert_string_equal(b.p, "abcdef");
    buf_consume(&b, 0);
    buf_consume(&b, 2);
    assert_string_equal(b.p, "cdef");
    buf_consume(&b, 4);
    assert_int_equal(b.len, 0);
    assert_string_equal(b.p, "");
    buf_release(&b);
}

static void test_detach(void **state)
{
    struct buf b;
    (void)state;
    buf_init(&b, 100);
    char *empty = buf_detach(&b); /* the caller's to free, even so */
    assert_string_equal(empty, "");
    free(empty);
    buf_adds(&b, "mine");
    char *s = buf_detach(&b);
    assert_string_equal(s, "mine");
    assert_int_equal(b.len, 0);
    assert_true(buf_adds(&b, "again"));
    buf_release(&b);
    assert_string_equal(s, "mine");
    free(s);
}

static void test_json_string(void **state)
{
    static const struct {
        const char *plain;
        size_t n;
        const char *json;
    } rows[] = {
        {"", 0, "\"\""},
        {"plain text", 10, "\"plain text\""},
        {"a\"b\\c", 5, "\"a\\\"b\\\\c\""},
        {"\n\t\x01\x7f", 4, "\"\\u000a\\u0009\\u0001\\u007f\""},
        {"a\0b", 3, "\"a\\u0000b\""},
        {"caf\u00e9 \u20ac \U0001f98a", 14, "\"caf\u00e9 \u20ac \U0001f98a\""},
        {"a\xff"
         "b",
         3,
         "\"a\ufffd"
         "b\""}, /* behind a plain byte as well */
        {"\xe2\x82", 2, "\"\ufffd\ufffd\""},
        {"</script>", 9, "\"</script>\""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf b;
        buf_init(&b, 1000);
        assert_true(buf_add_json_string(&b, rows[i].plain, rows[i].n));
        assert_string_equal(b.p, rows[i].json);
        buf_release(&b);
        buf_init(&b, strlen(rows[i].json) - 1); /* never a half string that looks whole */
        assert_false(buf_add_json_string(&b, rows[i].plain, rows[i].n));
        buf_release(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adding),
        cmocka_unit_test(test_maximum),
        cmocka_unit_test(test_reset_keeps_storage),
        cmocka_unit_test(test_reserve_and_consume),
        cmocka_unit_test(test_detach),
        cmocka_unit_test(test_json_string),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
