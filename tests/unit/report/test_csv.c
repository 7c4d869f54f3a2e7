/* The rows, read back by a small strict parser; formulas; hostile strings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "hostile.h"
#include "published.h"
#include "report/columns.h"
#include "report/csv.h"

/* One field of RFC 4180 at *p, unquoted into out; moves *p behind it. Fails on anything else. */
static void next_field(const char **p, struct buf *out)
{
    const char *s = *p;
    buf_reset(out);
    if (*s == '"') {
        for (s++; *s; s++) {
            if (*s == '"' && s[1] != '"')
                break;
            s += *s == '"';
            buf_addc(out, *s);
        }
        assert_int_equal(*s, '"');
        s++;
    } else {
        for (; *s && *s != ',' && *s != '\r'; s++) {
            assert_int_not_equal(*s, '"');
            assert_int_not_equal(*s, '\n');
            buf_addc(out, *s);
        }
    }
    assert_true(*s == ',' || (s[0] == '\r' && s[1] == '\n'));
    *p = s;
}

/* Value of column `want` in row `row`; checks that every row has the same number of fields. */
static void field_at(const char *csv, size_t row, const char *want, struct buf *out)
{
    struct buf field;
    size_t column = column_count, at_row = 0;
    buf_init(&field, 1 << 16);
    buf_init(out, 1 << 16);
    for (const char *p = csv; *p; p += 2, at_row++) {
        for (size_t c = 0;; c++) {
            next_field(&p, &field);
            if (at_row == 0 && strcmp(field.p, want) == 0)
                column = c;
            if (at_row == row && c == column)
                buf_add(out, field.p, field.len);
            if (*p == '\r') {
                assert_int_equal(c + 1, column_count);
                break;
            }
            p++;
        }
    }
    assert_true(column < column_count);
    assert_true(row < at_row);
    buf_release(&field);
}

static void test_published_rows(void **state)
{
    static const struct {
        size_t row;
        const char *column, *value;
    } cases[] = {
        {1, "phase", "prefill"},
        {1, "context_tokens", "8192"},
        {1, "total_tok_s", "3531"},
        {1, "ttft_ms_p50", "2337"},
        {1, "itl_ms_p50", ""},
        {6, "phase", "decode"},
        {6, "context_tokens", "0"},
        {6, "concurrency", "1"},
        {6, "status", "valid"},
        {6, "total_tok_s", "122.5"},
        {6, "per_request_tok_s", "124.6"},
        {6, "output_tokens", "3673"},
        {6, "measured_s", "30"},
        {6, "model", "cyankiwi/Qwen3-Coder-30B-A3B-Instruct-AWQ-4bit"},
        {6, "hardware", "RTX 3090 24GB"},
        {11, "status", "over_capacity"},
        {11, "total_tok_s", ""},
        {15, "status", "looped"},
        {15, "completed", "0"},
    };
    struct result r;
    struct buf csv;
    (void)state;
    buf_init(&csv, 1 << 20);
    published_read("qwen3-coder-30b", &r);
    assert_true(csv_write(&r, &csv));
    assert_true(text_starts(csv.p, "phase,context_tokens,concurrency,status,total_tok_s,"
                                   "per_request_tok_s,ttft_ms_p50,itl_ms_p50,avg_active,completed,"
                                   "output_tokens,measured_s,"));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf value;
        field_at(csv.p, cases[i].row, cases[i].column, &value);
        assert_string_equal(value.p, cases[i].value);
        buf_release(&value);
    }
    result_release(&r);
    buf_release(&csv);
}

static void test_text(void **state)
{
    static const struct {
        const char *text, *csv;
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"a,b", "\"a,b\""},
        {"say \"x\"", "\"say \"\"x\"\"\""},
        {"=1+1", "'=1+1"},
        {"+1", "'+1"},
        {"-1", "'-1"},
        {"@SUM(A1)", "'@SUM(A1)"},
        {"\tx", "'\tx"},
        {"\rx", "\"'\rx\""},
        {"  =1", "\"'  =1\""},
        {"a=1", "a=1"},
        {"end ", "\"end \""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b;
        buf_init(&b, 1024);
        csv_text(cases[i].text, &b);
        assert_string_equal(b.p, cases[i].csv);
        buf_release(&b);
    }
}

static void test_hostile(void **state)
{
    char *text = hostile_long();
    struct result r;
    struct buf csv, value;
    (void)state;
    buf_init(&csv, 1 << 22);
    hostile_result(&r, text);
    assert_true(csv_write(&r, &csv));
    assert_harmless(&csv, true);
    field_at(csv.p, 3, "reason", &value); /* also checks the shape of every row */
    assert_true(text_starts(value.p, "'=cmd|"));
    buf_release(&value);
    field_at(csv.p, 3, "marks", &value);
    assert_true(text_starts(value.p, "client_limited unsteady "));
    buf_release(&value);
    result_release(&r);
    buf_release(&csv);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_rows),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
