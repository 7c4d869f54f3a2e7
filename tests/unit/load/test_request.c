/* test_request.c - bodies in pieces are one valid document, whatever text stands in them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/num.h"
#include "base/rand.h"
#include "load/request.h"

static const struct request_shape bare = {.temperature = NAN};

static void body_of(const struct request_shape *shape, const char *model, const char *context,
                    size_t context_len, const char *task, struct buf *out)
{
    buf_reset(out);
    request_opening(model, out);
    request_escape(context, context_len, out);
    request_ending(shape, task, 128, NULL, out);
}

static void test_shapes(void **state)
{
    static const struct {
        struct request_shape shape;
        const char *ending, *rid;
    } rows[] = {
        {{.min_tokens = true, .temperature = NAN},
         "t\"}],\"max_tokens\":5,\"stream\":true,\"min_tokens\":5,\"rid\":\"mine-7\"}",
         "mine-7"},
        {{.temperature = NAN}, "t\"}],\"max_tokens\":5,\"stream\":true}", NULL},
        {{.stream_options = true, .temperature = NAN},
         "t\"}],\"max_tokens\":5,\"stream\":true,\"stream_options\":{\"include_usage\":true}}",
         NULL},
        {{.stream_options = true, .continuous_usage = true, .temperature = NAN},
         "t\"}],\"max_tokens\":5,\"stream\":true,\"stream_options\":{\"include_usage\":true,"
         "\"continuous_usage_stats\":true}}",
         NULL},
        {{.continuous_usage = true, .temperature = NAN}, /* nothing without the other */
         "t\"}],\"max_tokens\":5,\"stream\":true}",
         NULL},
        {{.ignore_eos = true, .max_completion_tokens = true, .temperature = 0},
         "t\"}],\"max_completion_tokens\":5,\"stream\":true,\"ignore_eos\":true,\"temperature\":"
         "0}",
         NULL},
        {{.temperature = 0.7}, "t\"}],\"max_tokens\":5,\"stream\":true,\"temperature\":0.7}", NULL},
        {{.temperature = 1e-9},
         "t\"}],\"max_tokens\":5,\"stream\":true,\"temperature\":1e-09}",
         NULL},
    };
    struct buf out;
    (void)state;
    buf_init(&out, 4096);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        buf_reset(&out);
        request_ending(&rows[i].shape, "t", 5, rows[i].rid, &out);
        assert_string_equal(out.p, rows[i].ending);
        body_of(&rows[i].shape, "m", "c", 1, "t", &out);
        json_t *root = json_parse(out.p, out.len, "body", NULL);
        assert_non_null(root);
        json_decref(root);
    }
    buf_reset(&out);
    request_opening("org/Model-1", &out);
    assert_string_equal(out.p, "{\"model\":\"org/Model-1\",\"messages\":[{\"role\":\"user\","
                               "\"content\":\"");
    buf_reset(&out);
    request_ending(&bare, "t", INT64_MAX, NULL, &out);
    assert_non_null(strstr(out.p, "\"max_tokens\":9223372036854775807,"));
    buf_release(&out);
}

static const struct {
    const char *p;
    size_t n;
    const char *read; /* what a JSON reader gets; NULL: the same */
} texts[] = {
    {"", 0, NULL},
    {"plain", 5, NULL},
    {"\"}],\"max_tokens\":1}", 19, NULL}, /* no way out of the string */
    {"\\", 1, NULL},
    {"\\\"\\", 3, NULL},
    {"\\u0041", 6, NULL},
    {"a\nb\r\n\tc\b\f", 9, NULL},
    {"\x01\x1f\x7f", 3, NULL},
    {"</script><!--", 13, NULL},
    {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9, NULL},
    {"\xE2\x80\xA8\xE2\x80\xA9", 6, NULL},
    {"a\xFF"
     "b",
     3,
     "a\xEF\xBF\xBD"
     "b"},
    {"\xC3", 1, "\xEF\xBF\xBD"},
    {"\xED\xA0\x80", 3, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"}, /* half a pair */
    {"\xC0\xAF", 2, "\xEF\xBF\xBD\xEF\xBF\xBD"},                 /* overlong */
};

/* In each place where text may stand: model, context, task. */
static void test_hostile_text(void **state)
{
    struct buf out, wanted;
    (void)state;
    buf_init(&out, 1 << 16);
    buf_init(&wanted, 1 << 16);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct err err = {0};
        const char *read = texts[i].read ? texts[i].read : texts[i].p;
        body_of(&bare, texts[i].p, texts[i].p, texts[i].n, texts[i].p, &out);
        json_t *root = json_parse(out.p, out.len, "body", &err);
        if (!root)
            fail_msg("text %zu: %s: %s", i, err.text, out.p);
        assert_string_equal(json_string_at(root, "model"), read);
        buf_reset(&wanted);
        buf_addf(&wanted, "%s%s", read, read);
        assert_string_equal(json_string_at(root, "messages.0.content"), wanted.p);
        assert_string_equal(json_string_at(root, "messages.0.role"), "user");
        assert_int_equal(json_array_size(json_at(root, "messages")), 1);
        assert_int_equal(json_integer_value(json_at(root, "max_tokens")), 128);
        assert_int_equal(json_object_size(root), 4);
        json_decref(root);
    }
    buf_release(&out);
    buf_release(&wanted);
}

/* Escaping has no memory: a text in two pieces is the text, when it is cut between characters. */
static void test_pieces(void **state)
{
    static const char text[] = "a\"b\\c\nd\x01"
                               "e\0f";
    struct buf whole, pieces;
    (void)state;
    buf_init(&whole, 4096);
    buf_init(&pieces, 4096);
    request_escape(text, sizeof text - 1, &whole);
    assert_string_equal(whole.p, "a\\\"b\\\\c\\u000ad\\u0001e\\u0000f");
    for (size_t cut = 0; cut < sizeof text; cut++) {
        buf_reset(&pieces);
        request_escape(text, cut, &pieces);
        request_escape(text + cut, sizeof text - 1 - cut, &pieces);
        assert_string_equal(pieces.p, whole.p);
    }
    buf_release(&whole);
    buf_release(&pieces);
}

static void test_random_bytes(void **state)
{
    struct rng rng = {5};
    struct buf out;
    char text[300];
    (void)state;
    buf_init(&out, 1 << 16);
    for (int time = 0; time < 2000; time++) {
        size_t n = rng_below(&rng, sizeof text);
        for (size_t i = 0; i < n; i++) /* no NUL: the parser of tests refuses it */
            text[i] = (char)(1 + rng_below(&rng, 255));
        body_of(&bare, "m", text, n, "t", &out);
        struct err err = {0};
        json_t *root = json_parse(out.p, out.len, "body", &err);
        if (!root)
            fail_msg("%s", err.text);
        json_decref(root);
    }
    buf_release(&out);
}

/* A buffer that is full keeps what it had and says so. */
static void test_overflow(void **state)
{
    struct buf out;
    (void)state;
    buf_init(&out, 10);
    buf_adds(&out, "12345");
    request_escape("abcdefghij", 10, &out);
    assert_true(out.overflow);
    assert_memory_equal(out.p, "12345", 5);
    assert_true(out.len <= 10);
    request_escape("a", 1, &out);
    request_opening("m", &out);
    request_ending(&bare, "t", 1, NULL, &out);
    assert_true(out.len <= 10);
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),   cmocka_unit_test(test_hostile_text),
        cmocka_unit_test(test_pieces),   cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
