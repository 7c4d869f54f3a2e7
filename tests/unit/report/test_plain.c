/* Printable text, launch commands, ASCII look-alikes, and where lines break. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "hostile.h"
#include "report/plain.h"

static void test_one_line(void **state)
{
    static const struct {
        const char *text, *plain;
    } cases[] = {
        {NULL, ""},
        {"", ""},
        {"as it is", "as it is"},
        {"two\nlines\t\r\n ", "two lines"},
        {"\x1B[31mred\x7F", "?[31mred?"},
        {"\xE2\x80\xAE"
         "evil \xFF",
         "?evil ?"},
        {"\xE4\xBD\xA0", "\xE4\xBD\xA0"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b;
        buf_init(&b, 4096);
        plain_add(&b, cases[i].text);
        assert_string_equal(b.p, cases[i].plain);
        buf_release(&b);
    }
    struct buf b;
    char *text = hostile_long();
    buf_init(&b, 1 << 16);
    plain_add(&b, text);
    assert_true(b.len <= PLAIN_MAX + 3);
    assert_string_equal(b.p + b.len - 3, "…");
    assert_harmless(&b, false);
    buf_release(&b);
    free(text);
}

static void test_commands(void **state)
{
    static const struct {
        const char *text, *plain;
    } cases[] = {
        {NULL, ""},
        {"\n\n# one\r\ntwo  \n\n\x1B\n", "# one\ntwo\n\n?"},
        {"  indented", "  indented"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b;
        buf_init(&b, 4096);
        plain_add_command(&b, cases[i].text);
        assert_string_equal(b.p, cases[i].plain);
        buf_release(&b);
    }
    struct buf b;
    char *text = hostile_long();
    buf_init(&b, 1 << 16);
    plain_add_command(&b, text);
    assert_true(b.len <= PLAIN_COMMAND_MAX + 3);
    assert_string_equal(b.p + b.len - 3, "…");
    assert_harmless(&b, false);
    buf_release(&b);
    free(text);
}

static void test_ascii(void **state)
{
    struct buf b;
    (void)state;
    buf_init(&b, 100);
    plain_add_ascii(&b, "a · b × c – d — e … \xC3\xA9 \xE4\xBD\xA0");
    assert_string_equal(b.p, "a - b x c - d - e ... ? ?");
    buf_release(&b);
}

static void test_fit(void **state)
{
    static const struct {
        const char *text;
        size_t width, bytes;
    } cases[] = {
        {"", 5, 0},
        {"short", 0, 5},
        {"short", 5, 5},
        {"two words", 8, 3},
        {"two words", 9, 9},
        {"two words", 3, 3},  /* the blank itself does not count */
        {"two  words", 5, 3}, /* nor do several */
        {"longword", 4, 4},
        {"a longword", 4, 1},
        {" longword", 4, 4},                /* never an empty piece */
        {"\xE4\xBD\xA0\xE5\xA5\xBD", 3, 3}, /* two columns each */
        {"\xE4\xBD\xA0\xE5\xA5\xBD", 1, 3}, /* at least one character */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(plain_fit(cases[i].text, cases[i].width), cases[i].bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_line),
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_ascii),
        cmocka_unit_test(test_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
