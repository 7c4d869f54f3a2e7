/* test_text.c - UTF-8 both ways, the filter in front of a terminal, widths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"

static void test_decode(void **state)
{
    static const struct {
        const char *bytes;
        size_t n, len;
        uint32_t cp;
    } rows[] = {
        {"A", 1, 1, 'A'},
        {"\0", 1, 1, 0},
        {"\xC2\x80", 2, 2, 0x80},
        {"\xDF\xBF", 2, 2, 0x7FF},
        {"\xE0\xA0\x80", 3, 3, 0x800},
        {"\xEF\xBF\xBD", 3, 3, 0xFFFD},
        {"\xED\x9F\xBF", 3, 3, 0xD7FF},
        {"\xF0\x90\x80\x80", 4, 4, 0x10000},
        {"\xF4\x8F\xBF\xBF", 4, 4, 0x10FFFF},
        {"\x80", 1, 1, 0xFFFD},     /* a continuation alone */
        {"\xC0\xAF", 2, 1, 0xFFFD}, /* overlong */
        {"\xC1\xBF", 2, 1, 0xFFFD},
        {"\xE0\x9F\xBF", 3, 1, 0xFFFD},
        {"\xF0\x8F\xBF\xBF", 4, 1, 0xFFFD},
        {"\xED\xA0\x80", 3, 1, 0xFFFD}, /* surrogates */
        {"\xED\xBF\xBF", 3, 1, 0xFFFD},
        {"\xF4\x90\x80\x80", 4, 1, 0xFFFD}, /* too large */
        {"\xF5\x80\x80\x80", 4, 1, 0xFFFD},
        {"\xFF", 1, 1, 0xFFFD},
        {"\xE2\x82", 2, 1, 0xFFFD}, /* cut */
        {"\xE2\x82"
         "A",
         3, 1, 0xFFFD},
        {"\xE2\x82\xAC", 2, 1, 0xFFFD}, /* n says where it ends, not the bytes */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint32_t cp = 1;
        assert_int_equal(text_utf8_decode(rows[i].bytes, rows[i].n, &cp), rows[i].len);
        assert_int_equal(cp, rows[i].cp);
        bool valid = rows[i].len == rows[i].n;
        assert_int_equal(text_utf8_valid(rows[i].bytes, rows[i].n),
                         valid && rows[i].cp != 0xFFFD ? true : rows[i].len == 3);
    }
    assert_true(text_utf8_valid("", 0));
}

/* Every code point comes back as it went. */
static void test_round_trip(void **state)
{
    (void)state;
    for (uint32_t cp = 0; cp <= 0x110000; cp++) {
        char bytes[4];
        uint32_t back;
        size_t n = text_utf8_encode(cp, bytes);
        bool exists = cp <= 0x10FFFF && (cp < 0xD800 || cp > 0xDFFF);
        assert_true(text_utf8_decode(bytes, n, &back) == n);
        assert_true(back == (exists ? cp : 0xFFFD));
    }
}

static void test_printable(void **state)
{
    static const struct {
        const char *in;
        size_t size;
        const char *out;
    } rows[] = {
        {"plain", 100, "plain"},
        {"a\nb\tc\rd", 100, "a b c d"},
        {"\x1b[31mred\x07\x7f", 100, "?[31mred??"},
        {"\xC2\x85\xC2\x9B"
         "2J",
         100, "??2J"}, /* C1 */
        {"safe\u202eevil\u2066\u200b\ufeff", 100, "safe?evil???"},
        {"soft\u00adhyphen \U000e0041", 100, "soft?hyphen ?"}, /* invisible ones */
        {"bad \xff\xe2\x82", 100, "bad ???"},
        {"caf\u00e9 \u6c34 \U0001f98a", 100, "caf\u00e9 \u6c34 \U0001f98a"},
        {"12345", 6, "12345"},
        {"12345", 5, "1234"},
        {"123\u20ac", 6, "123"}, /* never half a character */
        {"123\u20ac", 7, "123\u20ac"},
        {"x", 1, ""},
    };
    char out[100];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n = text_printable(out, rows[i].size, rows[i].in, strlen(rows[i].in));
        assert_string_equal(out, rows[i].out);
        assert_int_equal(n, strlen(rows[i].out));
    }
    out[0] = 'k';
    assert_int_equal(text_printable(out, 0, "x", 1), 0);
    assert_int_equal(out[0], 'k');
}

static void test_width(void **state)
{
    static const struct {
        const char *text;
        size_t columns;
    } rows[] = {
        {"", 0},           {"abc", 3},          {"caf\u00e9", 4},
        {"cafe\u0301", 4}, {"\u6c34\u7530", 4}, {"\uac00", 2},
        {"\U0001f98a", 2}, {"\u2588\u2591", 2}, {"\u20ac", 1},
        {"\uff21", 2},     {"a\xff", 2},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(text_width(rows[i].text, strlen(rows[i].text)), rows[i].columns);
}

static void test_questions(void **state)
{
    static const char hay[] = "Server: ENVOY";
    (void)state;
    assert_true(text_starts("--model", "--"));
    assert_true(text_starts("x", ""));
    assert_false(text_starts("-", "--"));
    assert_true(text_ends("run.json", ".json"));
    assert_true(text_ends("x", ""));
    assert_false(text_ends("json", ".json"));
    assert_ptr_equal(text_find_nocase(hay, "envoy"), hay + 8);
    assert_ptr_equal(text_find_nocase(hay, "SERVER"), hay);
    assert_ptr_equal(text_find_nocase(hay, ""), hay);
    assert_null(text_find_nocase(hay, "envoys"));
    assert_null(text_find_nocase("", "x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode),    cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_printable), cmocka_unit_test(test_width),
        cmocka_unit_test(test_questions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
