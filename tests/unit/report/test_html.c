/* The writer: nothing gets out of a text or an attribute, JSON stays the same document. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/json.h"
#include "report/html.h"

#define BAD "\xEF\xBF\xBD" /* U+FFFD */

static const struct {
    const char *text, *html;
} cases[] = {
    {"", ""},
    {"plain 1.5 — 上下文", "plain 1.5 — 上下文"},
    {"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
    {"\" onload='x' & `", "&quot; onload=&#39;x&#39; &amp; `"},
    {"a\nb", "a\nb"},
    {"a\tb\r\x01\x1B[31m\x7F", "a" BAD "b" BAD BAD BAD "[31m" BAD},
    {"\xE2\x80\xAE"
     "evil",
     BAD "evil"},                             /* right-to-left override */
    {"\xE2\x81\xA6\xE2\x80\x8B", BAD BAD},    /* isolate, zero width */
    {"\xFF\xC3(\xC2\x9B", BAD BAD "(" BAD},   /* broken, cut, 8-bit control */
    {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"}, /* emoji */
};

static void test_text_and_attributes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct html h;
        struct buf b, expected;
        buf_init(&b, 4096);
        buf_init(&expected, 4096);
        html_init(&h, &b);
        html_text(&h, cases[i].text);
        assert_string_equal(b.p, cases[i].html);
        buf_reset(&b);
        html_raw(&h, "<i");
        html_attr(&h, "title", cases[i].text);
        html_raw(&h, ">");
        buf_addf(&expected, "<i title=\"%s\">", cases[i].html);
        assert_string_equal(b.p, expected.p);
        buf_reset(&b);
        buf_adds(html_scratch(&h), cases[i].text);
        html_text_scratch(&h);
        assert_string_equal(b.p, cases[i].html);
        html_release(&h);
        buf_release(&b);
        buf_release(&expected);
    }
}

static void test_numbers(void **state)
{
    static const struct {
        double v;
        const char *text;
    } numbers[] = {{0, "0"}, {12, "12"}, {12.04, "12"}, {12.06, "12.1"}, {-3.5, "-3.5"}};
    struct html h;
    struct buf b;
    (void)state;
    buf_init(&b, 4096);
    html_init(&h, &b);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        buf_reset(&b);
        html_number(&h, numbers[i].v);
        assert_string_equal(b.p, numbers[i].text);
    }
    buf_reset(&b);
    html_attr_number(&h, "x", 1.5);
    html_raw(&h, ">");
    html_int(&h, -7);
    assert_string_equal(b.p, " x=\"1.5\">-7");
    html_release(&h);
    buf_release(&b);
}

static void test_json(void **state)
{
    static const char json[] = "{\n  \"a b\" : [ 1, 2.5,\tnull ],\n"
                               "  \"c\": \"x  y\\\" z\\\\\",\n"
                               "  \"d\": \"</pre><script>&amp;\xE2\x80\xAE \xF3\xA0\x80\x81 "
                               "\xE2\x80\xA8 \xF0\x9F\x98\x80\"\n}\n";
    static const char compact[] =
        "{\"a b\":[1,2.5,null],\"c\":\"x  y\\\" z\\\\\","
        "\"d\":\"\\u003c/pre\\u003e\\u003cscript\\u003e\\u0026amp;\\u202e \\udb40\\udc01 \\u2028 "
        "\xF0\x9F\x98\x80\"}";
    struct err err;
    struct html h;
    struct buf b;
    (void)state;
    buf_init(&b, 4096);
    html_init(&h, &b);
    html_json(&h, json, strlen(json));
    assert_string_equal(b.p, compact);
    json_t *before = json_parse(json, strlen(json), "before", &err);
    json_t *after = json_parse(b.p, b.len, "after", &err);
    assert_non_null(before);
    assert_true(json_equal(before, after));
    json_decref(before);
    json_decref(after);
    html_release(&h);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_and_attributes),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
