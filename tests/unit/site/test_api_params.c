/* What the API takes: each kind of parameter, in a query and in a body. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/text.h"
#include "model/calculator.h"
#include "site/api_params.h"

static const char *const words[] = {"red", "green", NULL};
static const struct api_param rows[] = {
    [PARAM_TEXT] = {.name = "text", .kind = PARAM_TEXT, .min = 1, .max = 3},
    [PARAM_WORD] = {.name = "word", .kind = PARAM_WORD, .words = {.list = words}},
    [PARAM_INTEGER] = {.name = "whole", .kind = PARAM_INTEGER, .min = 1, .max = 9},
    [PARAM_NUMBER] = {.name = "number", .kind = PARAM_NUMBER, .min = 0, .max = 1},
    [PARAM_FLAG] = {.name = "flag", .kind = PARAM_FLAG},
    [PARAM_TOKENS] = {.name = "tokens", .kind = PARAM_TOKENS},
    [PARAM_WORDS] = {.name = "words", .kind = PARAM_WORDS, .words = {.list = words}},
    [PARAM_OBJECT] = {.name = "object", .kind = PARAM_OBJECT},
    [PARAM_CURSOR] = {.name = "cursor", .kind = PARAM_CURSOR, .max = 4},
};

static void test_queries(void **state)
{
    static const struct {
        enum param_kind kind;
        const char *value;
        bool fine;
    } cases[] = {
        {PARAM_TEXT, "abc", true},        {PARAM_TEXT, "abcd", false},
        {PARAM_TEXT, "", false},          {PARAM_WORD, "red", true},
        {PARAM_WORD, "re", false},        {PARAM_WORD, "Red", false},
        {PARAM_INTEGER, "9", true},       {PARAM_INTEGER, "10", false},
        {PARAM_INTEGER, "1.5", false},    {PARAM_INTEGER, "nan", false},
        {PARAM_INTEGER, "9x", false},     {PARAM_NUMBER, "0.5", true},
        {PARAM_NUMBER, "inf", false},     {PARAM_NUMBER, "-0.1", false},
        {PARAM_FLAG, "1", true},          {PARAM_FLAG, "false", true},
        {PARAM_FLAG, "yes", false},       {PARAM_TOKENS, "16k", true},
        {PARAM_TOKENS, "many", false},    {PARAM_TOKENS, "-1", false},
        {PARAM_WORDS, "red,green", true}, {PARAM_WORDS, "red,", false},
        {PARAM_WORDS, "red,blue", false}, {PARAM_OBJECT, "{}", false},
        {PARAM_CURSOR, "abcd", true},     {PARAM_CURSOR, "abcde", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        const struct api_param *p = &rows[cases[i].kind];
        bool fine = param_check_text(p, cases[i].value, &err);
        if (fine != cases[i].fine)
            fail_msg("%s=%s", p->name, cases[i].value);
        if (!fine)
            assert_true(text_starts(err.text, p->name));
    }
}

static void test_bodies(void **state)
{
    static const struct {
        enum param_kind kind;
        const char *value;
        const char *text; /* as in a query; NULL: refused */
    } cases[] = {
        {PARAM_TEXT, "\"abc\"", "abc"},
        {PARAM_TEXT, "5", NULL},
        {PARAM_TEXT, "null", NULL},
        {PARAM_WORD, "\"green\"", "green"},
        {PARAM_WORD, "\"blue\"", NULL},
        {PARAM_INTEGER, "9", "9"},
        {PARAM_INTEGER, "9.0", "9"},
        {PARAM_INTEGER, "\"9\"", NULL},
        {PARAM_INTEGER, "1e300", NULL},
        {PARAM_NUMBER, "0.25", "0.25"},
        {PARAM_NUMBER, "2", NULL},
        {PARAM_FLAG, "true", "true"},
        {PARAM_FLAG, "1", NULL},
        {PARAM_WORDS, "[\"red\",\"green\"]", "red,green"},
        {PARAM_WORDS, "[]", ""},
        {PARAM_WORDS, "[\"red,green\"]", NULL},
        {PARAM_WORDS, "[5]", NULL},
        {PARAM_OBJECT, "[]", NULL},
        {PARAM_WORDS, "[\"red\",\"red\",\"red\"]", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        struct arena a = {0};
        const struct api_param *p = &rows[cases[i].kind];
        json_t *value = json_loads(cases[i].value, JSON_DECODE_ANY, NULL);
        bool fine = param_check_json(p, value, &err);
        if (fine != (cases[i].text != NULL))
            fail_msg("%s: %s", p->name, cases[i].value);
        if (fine)
            assert_string_equal(param_text(value, &a), cases[i].text);
        else
            assert_true(text_starts(err.text, p->name));
        json_decref(value);
        arena_release(&a);
    }
}

/* The calculator is asked for by the names that its JSON has, each of its fields and no other. */
static void test_calculator(void **state)
{
    size_t n = 0;
    (void)state;
    for (; params_calculator[n]; n++) {
        const struct api_param *p = params_calculator[n];
        struct calculator c;
        struct err err = {0};
        json_t *initial = json_loads(p->initial, JSON_DECODE_ANY, NULL);
        struct arena a = {0};
        assert_non_null(initial);
        assert_true(param_check_json(p, initial, &err));
        calculator_init(&c);
        if (n < calculator_field_count)
            assert_true(calculator_set(&c, p->name, param_text(initial, &a), &err));
        else
            assert_true(
                calculator_parse_corrections(param_text(initial, &a), &c.corrections, &err));
        json_decref(initial);
        arena_release(&a);
    }
    assert_int_equal(n, calculator_field_count + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queries),
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_calculator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
