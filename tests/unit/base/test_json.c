/* test_json.c - strict parsing, loose look-ups, writing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

static void test_parse(void **state)
{
    static const struct {
        const char *text;
        const char *complaint; /* NULL: fine */
    } rows[] = {
        {"{\"a\": 1}", NULL},          {"[]", NULL},       {"{\"a\": 1,\n \"a\": 2}", "line 2"},
        {"{\"a\": }", "line 1"},       {"{} x", "line 1"}, {"", "line 1"},
        {"{\"a\": \"\xff\"}", "0xff"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};
        json_t *root = json_parse(rows[i].text, strlen(rows[i].text), "sample.json", &err);
        assert_int_equal(root != NULL, rows[i].complaint == NULL);
        if (rows[i].complaint) {
            assert_int_equal(err.code, ERR_FORMAT);
            assert_non_null(strstr(err.text, "sample.json is not valid JSON"));
            if (!strstr(err.text, rows[i].complaint))
                fail_msg("%s", err.text);
        }
        json_decref(root);
    }
    assert_null(json_parse("{", 1, "x", NULL));
}

/* What would take a hundred times its size is refused before it is parsed; what only looks like it,
 * in a string, is not. */
static void test_many_values(void **state)
{
    static const char *const pieces[] = {"[]", "{}", "1", "\"\"", "[1]"};
    struct buf text;
    struct err err = {0};

    (void)state;
    buf_init(&text, 8 << 20);
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        buf_reset(&text);
        buf_adds(&text, "[");
        for (int k = 1; k < JSON_MAX_VALUES; k++)
            buf_addf(&text, "%s,", pieces[i]);
        buf_addf(&text, "%s]", pieces[i]);
        assert_null(json_parse(text.p, text.len, "x", &err));
        assert_int_equal(err.code, ERR_LIMIT);
    }
    buf_reset(&text);
    buf_adds(&text, "[\"");
    for (int k = 0; k < JSON_MAX_VALUES; k++)
        buf_adds(&text, "[,\\\"{\\\\");
    buf_adds(&text, "\"");
    for (int k = 0; k < JSON_MAX_VALUES - 3; k++)
        buf_adds(&text, ",1");
    buf_adds(&text, "]");
    json_t *root = json_parse(text.p, text.len, "x", &err);
    assert_int_equal(json_array_size(root), JSON_MAX_VALUES - 2);
    json_decref(root);
    buf_release(&text);
}

static const char document[] = "{\"data\":[{\"id\":\"m\",\"max\":8192},{\"id\":null}],"
                               "\"f\":1.5,\"whole\":4.0,\"big\":9223372036854775807,"
                               "\"huge\":1e300,\"text\":\"7\",\"deep\":{\"a\":{\"b\":true}}}";

static void test_look_ups(void **state)
{
    struct err err;
    double d = -1;
    int64_t n = -1;
    (void)state;
    json_t *root = json_parse(document, sizeof document - 1, "document", &err);
    assert_non_null(root);
    assert_ptr_equal(json_at(root, ""), root);
    assert_string_equal(json_string_at(root, "data.0.id"), "m");
    assert_true(json_is_true(json_at(root, "deep.a.b")));
    static const char *const absent[] = {"data.1.id", "data.2.id", "data.-1.id", "data.x",
                                         "data.id",   "f.x",       "nope.a",     "deep.a.b.c"};
    for (size_t i = 0; i < ARRAY_LEN(absent); i++)
        assert_null(json_string_at(root, absent[i]));
    assert_true(json_number_at(root, "f", &d) && d == 1.5);
    assert_true(json_number_at(root, "data.0.max", &d) && d == 8192);
    assert_false(json_number_at(root, "text", &d));
    assert_true(json_int_at(root, "data.0.max", &n) && n == 8192);
    assert_true(json_int_at(root, "whole", &n) && n == 4);
    assert_true(json_int_at(root, "big", &n) && n == INT64_MAX);
    assert_false(json_int_at(root, "f", &n));
    assert_false(json_int_at(root, "huge", &n));
    assert_false(json_int_at(root, "text", &n));
    assert_false(json_int_at(NULL, "text", &n));
    json_decref(root);
}

/* Keys longer than any that we ask for are absent, not cut. */
static void test_long_key(void **state)
{
    char path[400];
    struct err err;
    (void)state;
    memset(path, 'k', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    json_t *root = json_parse("{}", 2, "x", &err);
    json_object_set_new(root, path, json_true());
    assert_null(json_at(root, path));
    json_decref(root);
}

static void test_write(void **state)
{
    struct buf out;
    (void)state;
    buf_init(&out, 200);
    json_t *root = json_pack("{s:f, s:i, s:n}", "rate", 1234.1, "n", 3, "gone");
    assert_true(json_write(root, &out));
    assert_string_equal(out.p, "{\n  \"rate\": 1234.1,\n  \"n\": 3,\n  \"gone\": null\n}\n");
    buf_release(&out);
    buf_init(&out, 10);
    assert_false(json_write(root, &out));
    buf_release(&out);
    json_decref(root);
}

/* Byte for byte what jansson writes. */
static void test_like_jansson(void **state)
{
    static const char *const texts[] = {
        "[]",
        "{}",
        "{\"a\": {}, \"b\": [], \"c\": [[], [1, [2]]], \"d\": {\"e\": {\"f\": null}}}",
        "[0, -0.0, 1.0, -1.5, 0.1, 0.30000000000000004, 668.366666666667]",
        "[1e15, 1e16, 123456789012345678.0]",
        "[1e-4, 1e-5, 2.5e-7, 1e300, -1e-300, 9223372036854775807, -9223372036854775808]",
        "[true, false, null, 12, -7]",
        "[\"\", \"plain\", \"tab\\t line\\n quote\\\" back\\\\ slash/ nul\\u0001 del\x7f\"]",
        "{\"k\\\"ey\": \"\xe6\xa8\xa1\xe5\x9e\x8b\", \"\xc3\xa9\": \"\\ud83d\\ude00\"}",
    };
    struct err err = {0};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct buf out;
        json_t *root = json_parse(texts[i], strlen(texts[i]), "sample", &err);
        assert_non_null(root);
        char *expected = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        buf_init(&out, 4000);
        assert_true(json_write(root, &out));
        assert_int_equal(out.p[out.len - 1], '\n');
        out.p[out.len - 1] = '\0';
        assert_string_equal(out.p, expected);
        buf_release(&out);
        free(expected);
        json_decref(root);
    }
}

/* Where a terminal shows it, it is text and nothing else, and it reads as it did. */
static void test_no_orders(void **state)
{
    static const char *const texts[] = {"\xc2\x9b"
                                        "31m",
                                        "a \xe2\x80\xae b \xe6\xa8\xa1", "\xef\xbb\xbf"};
    struct err err = {0};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct buf out;
        json_t *root = json_pack("{s:s, s:[s]}", texts[i], "name", "value", texts[i]);
        buf_init(&out, 4000);
        assert_true(json_write(root, &out));
        for (size_t k = 0; k < out.len; k++)
            assert_true((unsigned char)out.p[k] < 0x7F);
        json_t *again = json_parse(out.p, out.len, "sample", &err);
        assert_true(json_equal(root, again));
        json_decref(again);
        json_decref(root);
        buf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),     cmocka_unit_test(test_many_values),
        cmocka_unit_test(test_look_ups),  cmocka_unit_test(test_long_key),
        cmocka_unit_test(test_write),     cmocka_unit_test(test_like_jansson),
        cmocka_unit_test(test_no_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
