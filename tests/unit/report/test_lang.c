/* Languages: complete, found by any name a locale gives them; numbers, dates, durations, plurals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "report/lang.h"

static void test_every_language_has_every_word(void **state)
{
    (void)state;
    assert_string_equal(langs[0]->code, "en");
    for (size_t i = 0; langs[i]; i++) {
        for (int w = WORD_NO_WORD + 1; w < WORD_COUNT; w++) {
            const char *text = word(langs[i], (enum word)w);
            assert_non_null(text);
            assert_true(*text && text_utf8_valid(text, strlen(text)));
            assert_null(strchr(text, '\n'));
        }
    }
}

static void test_find(void **state)
{
    static const struct {
        const char *name, *code;
    } cases[] = {
        {"en", "en"},      {"zh", "zh"},         {"zh_CN.UTF-8", "zh"},
        {"zh-Hant", "zh"}, {"en_GB@euro", "en"}, {"C.UTF-8", ""},
        {"", ""},          {"zhx", ""},          {"POSIX", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct lang *l = lang_find(cases[i].name);
        assert_string_equal(l ? l->code : "", cases[i].code);
    }
    assert_string_equal(word(NULL, WORD_PHASE_PREFILL), "Prefill");
}

static void test_numbers(void **state)
{
    static const struct {
        double v;
        int decimals;
        const char *text;
    } cases[] = {{17744, 0, "17,744"},
                 {1234567.25, 1, "1,234,567.2"},
                 {-1234.5, 1, "-1,234.5"},
                 {0, 1, "0.0"},
                 {NAN, 1, "n/a"},
                 {INFINITY, 0, "n/a"},
                 {0.05, 1, "0.1"},
                 {0.25, 1, "0.2"},
                 {0.75, 1, "0.8"},
                 {-0.04, 1, "0.0"},
                 {999.9999, 3, "1,000.000"},
                 {1e15, 0, "1,000,000,000,000,000"},
                 {7, 3, "7.000"},
                 {0.999, 2, "1.00"}};
    static const struct {
        double v;
        const char *rate, *brief;
    } forms[] = {{0, "0.0", "0"},
                 {0.361, "0.4", "0.36"},
                 {1, "1.0", "1.0"},
                 {9.94, "9.9", "9.9"},
                 {9.96, "10.0", "10"},
                 {686, "686.0", "686"},
                 {999.94, "999.9", "1,000"},
                 {999.96, "1,000", "1,000"}};
    char text[NUM_TEXT_MAX];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(lang_number(NULL, text, cases[i].v, cases[i].decimals), cases[i].text);
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        assert_string_equal(lang_rate(NULL, text, forms[i].v), forms[i].rate);
        assert_string_equal(lang_brief(NULL, text, forms[i].v), forms[i].brief);
    }
    assert_string_equal(lang_number(lang_find("zh"), text, NAN, 0), "无");
}

/* A language whose separators are not ASCII and longer than a byte. */
static void test_other_separators(void **state)
{
    const char *words[WORD_COUNT] = {
        [WORD_NUMBER_GROUP] = "\xE2\x80\xAF", [WORD_NUMBER_POINT] = ",", [WORD_NUMBER_NONE] = "-"};
    const struct lang l = {"xx", words};
    char text[NUM_TEXT_MAX];
    (void)state;
    assert_string_equal(lang_number(&l, text, 1234567.5, 1), "1\xE2\x80\xAF"
                                                             "234\xE2\x80\xAF"
                                                             "567,5");
    lang_number(&l, text, 1e300, 1);
    assert_true(strlen(text) < NUM_TEXT_MAX);
}

static void expect(struct buf *b, const char *text)
{
    assert_string_equal(b->p, text);
    buf_reset(b);
}

static void test_dates_and_durations(void **state)
{
    static const struct {
        const char *stamp, *en, *zh;
    } dates[] = {
        {"2026-11-30T10:13:26Z", "30 November 2026, 10:13 UTC", "2026 年 11 月 30 日 10:13 UTC"},
        {"2026-01-05T00:00:00Z", "5 January 2026, 00:00 UTC", "2026 年 1 月 5 日 00:00 UTC"},
        {"2026-13-05T00:00:00Z", "2026-13-05T00:00:00Z", "2026-13-05T00:00:00Z"},
        {"last\nweek", "last week", "last week"},
        {"", "", ""},
    };
    static const struct {
        double s;
        const char *en, *zh;
    } durations[] = {
        {2.5, "2.5 s", "2.5 秒"},           {30, "30 s", "30 秒"},
        {59.94, "59.9 s", "59.9 秒"},       {59.96, "1 min 0 s", "1 分 0 秒"},
        {75, "1 min 15 s", "1 分 15 秒"},   {3599.7, "1 h 0 min", "1 小时 0 分"},
        {7500, "2 h 5 min", "2 小时 5 分"},
    };
    const struct lang *zh = lang_find("zh");
    struct buf b;
    (void)state;
    buf_init(&b, 4096);
    for (size_t i = 0; i < ARRAY_LEN(dates); i++) {
        lang_date(NULL, dates[i].stamp, &b);
        expect(&b, dates[i].en);
        lang_date(zh, dates[i].stamp, &b);
        expect(&b, dates[i].zh);
    }
    for (size_t i = 0; i < ARRAY_LEN(durations); i++) {
        lang_duration(NULL, durations[i].s, &b);
        expect(&b, durations[i].en);
        lang_duration(zh, durations[i].s, &b);
        expect(&b, durations[i].zh);
    }
    buf_release(&b);
}

static void test_plurals(void **state)
{
    struct buf b;
    (void)state;
    buf_init(&b, 4096);
    say_grid_contexts(NULL, &b, .n = 1, .range = "0");
    expect(&b, "1 context (0)");
    say_grid_contexts(NULL, &b, .n = 6, .range = "0–136K");
    expect(&b, "6 contexts (0–136K)");
    say_grid_contexts(NULL, &b, .n = 1234, .range = "x");
    expect(&b, "1,234 contexts (x)");
    say_grid_contexts(lang_find("zh"), &b, .n = 1, .range = "0");
    expect(&b, "1 种上下文长度（0）");
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_language_has_every_word),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_other_separators),
        cmocka_unit_test(test_dates_and_durations),
        cmocka_unit_test(test_plurals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
