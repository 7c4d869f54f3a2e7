/* test_body.c - documents with long strings read as by the JSON parser alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rand.h"
#include "engine/body.h"

enum { PAD = 5000 };

/* What the parser alone makes of {"a": "xxxx...TAIL"} must be what body_read makes of it. */
static void compare(const char *tail, size_t tail_n)
{
    struct buf text;
    struct body body;
    struct err err = {0};
    const char *p;
    size_t n;

    buf_init(&text, 1 << 20);
    buf_adds(&text, "{\"n\":[1,{}],\"a\":\"");
    buf_add_repeat(&text, 'x', PAD);
    buf_add(&text, tail, tail_n);
    buf_adds(&text, "\"}");
    json_t *plain = json_loadb(text.p, text.len, JSON_DECODE_ANY, NULL);
    bool read = body_read(text.p, text.len, 1000, &body, &err);
    assert_int_equal(read, plain != NULL);
    if (read) {
        assert_true(body_string(&body, json_object_get(body.root, "a"), &p, &n));
        const json_t *wanted = json_object_get(plain, "a");
        assert_int_equal(n, json_string_length(wanted));
        assert_memory_equal(p, json_string_value(wanted), n);
        assert_int_equal(json_array_size(json_object_get(body.root, "n")), 2);
        body_release(&body);
    } else {
        assert_true(err.text[0] != '\0');
    }
    json_decref(plain);
    buf_release(&text);
}

static void long_strings_are_what_they_were(void **state)
{
    static const char *const tails[] = {
        "",
        "plain",
        "\\n\\t\\\\\\/\\b\\f\\r\\\"",
        "\\u00e9\\u4e2d\\ud83e\\udd8a",
        "\xc3\xa9\xe4\xb8\xad\xf0\x9f\xa6\x8a",
        "\\u0041\\u00FF\\uabCD",
        /* and what is no string */
        "\\x",
        "\\",
        "\\u12",
        "\\u12g4",
        "\\ud83e",
        "\\ud83e\\u0041",
        "\\udd8a",
        "\\u0000",
        "a\nb",
        "a\x01",
        "\xff",
        "\xc3",
        "\xed\xa0\x80",
        "\xc0\xaf",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(tails); i++)
        compare(tails[i], strlen(tails[i]));
    compare("a\0b", 3);
}

static void random_strings_too(void **state)
{
    static const char *const pieces[] = {"\\",   "\"", "u", "00", "d83e", "\\udd8a", "\xc3",
                                         "\xa9", "n",  "x", "\t", "\\\\", "\\\"",    "longer text"};
    struct rng rng = {5};
    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct buf tail;
        buf_init(&tail, 1000);
        for (uint32_t i = rng_below(&rng, 12); i > 0; i--)
            buf_adds(&tail, pieces[rng_below(&rng, ARRAY_LEN(pieces))]);
        compare(tail.p, tail.len);
        buf_release(&tail);
    }
}

static void short_documents_are_the_parsers(void **state)
{
    static const struct {
        const char *text;
        bool good;
    } rows[] = {
        {"{}", true},      {"[1, 2]", true},    {"\"text\"", true}, {"3", true},
        {"", false},       {"{bad", false},     {"{} x", false},    {"[1,]", false},
        {"\"open", false}, {"{\"a\":1", false}, {"\"\\q\"", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct body body;
        struct err err = {0};
        bool read = body_read(rows[i].text, strlen(rows[i].text), 100, &body, &err);
        if (read != rows[i].good)
            fail_msg("%s: %s", rows[i].text, err.text);
        if (read)
            body_release(&body);
        else
            assert_true(err.text[0] != '\0');
    }
}

static void a_string_cannot_pretend_to_be_aside(void **state)
{
    static const char text[] = "[\"@aside:0000000000000000:0\",\"@aside:\"]";
    struct body body;
    struct err err;
    const char *p;
    size_t n;
    (void)state;
    assert_true(body_read(text, sizeof text - 1, 100, &body, &err));
    assert_true(body_string(&body, json_array_get(body.root, 0), &p, &n));
    assert_int_equal(n, 25);
    assert_false(body_string(&body, body.root, &p, &n));
    assert_false(body_string(&body, NULL, &p, &n));
    body_release(&body);
}

static void values_and_depth_are_bounded(void **state)
{
    enum { MANY = 200000 };
    struct buf text;
    struct body body;
    struct err err;
    (void)state;
    buf_init(&text, 1 << 20);
    buf_addc(&text, '[');
    buf_add_repeat(&text, ',', MANY);
    assert_false(body_read(text.p, text.len, MANY / 2, &body, &err));
    assert_non_null(strstr(err.text, "too many values"));
    buf_reset(&text);
    buf_add_repeat(&text, '[', MANY);
    assert_false(body_read(text.p, text.len, MANY * 2, &body, &err));
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_strings_are_what_they_were),
        cmocka_unit_test(random_strings_too),
        cmocka_unit_test(short_documents_are_the_parsers),
        cmocka_unit_test(a_string_cannot_pretend_to_be_aside),
        cmocka_unit_test(values_and_depth_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
