/* The columns as a table: names, styles, order of rows, and what an error may show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/columns.h"
#include "report/words.h"

static void test_the_twelve(void **state)
{
    static const char *const names[COLUMNS_MAIN] = {
        "Phase",
        "Context",
        "Requests at once",
        "Status",
        "Total tok/s",
        "Per request tok/s",
        "TTFT",
        "Time between tokens",
        "Average active requests",
        "Completed requests",
        "Output tokens",
        "Measured for",
    };
    (void)state;
    for (size_t c = 0; c < COLUMNS_MAIN; c++) {
        assert_string_equal(column_name(&columns[c], NULL), names[c]);
        for (size_t k = 0; langs[k]; k++) {
            const char *brief = column_brief(&columns[c], langs[k]);
            assert_true(text_width(brief, strlen(brief)) <= 6);
        }
        size_t words = 1;
        for (const char *p = column_name(&columns[c], NULL); *p; p++)
            words += *p == ' ';
        assert_true(words <= 3); /* the lines of a heading */
    }
}

static void test_every_row_of_the_table(void **state)
{
    (void)state;
    for (size_t c = 0; c < column_count; c++) {
        assert_int_equal(columns[c].kind == COLUMN_WORDS, columns[c].words != NULL);
        if (columns[c].kind != COLUMN_WORDS)
            assert_true(columns[c].cell != COLUMN_ABSENT || columns[c].prefill != COLUMN_ABSENT);
        assert_int_equal(strspn(columns[c].key, "abcdefghijklmnopqrstuvwxyz_0123456789"),
                         strlen(columns[c].key));
        for (size_t d = 0; d < c; d++)
            assert_string_not_equal(columns[c].key, columns[d].key);
    }
}

static const struct column *column(const char *key)
{
    for (size_t c = 0; c < column_count; c++)
        if (strcmp(columns[c].key, key) == 0)
            return &columns[c];
    fail_msg("no column %s", key);
    return NULL;
}

static void test_styles(void **state)
{
    static const struct {
        const char *key, *full, *brief, *data;
    } cases[] = {
        {"phase", "Sustained decode", "decode", "decode"},
        {"context_tokens", "16K", "16K", "16384"},
        {"concurrency", "8", "8", "8"},
        {"status", "Requests queued", "queued", "queued"},
        {"total_tok_s", "12,345.7", "12,345.7", "12345.67"},
        {"ttft_ms_p50", "2,337 ms", "2,337", "2337.4"},
        {"itl_ms_p50", "8.0 ms", "8.0", "8.04"},
        {"per_request_tok_s", NULL, NULL, NULL},
        {"completed", "0", "0", "0"},
        {"output_tokens", NULL, NULL, NULL},
        {"measured_s", "30.0 s", "30.0", "30"},
        {"marks", "unsteady inferred", "unsteady inferred", "unsteady inferred"},
        {"reason", "four slots", "four slots", "four slots"},
        {"started_at", "2026-11-30T10:13:26Z", "2026-11-30T10:13:26Z", "2026-11-30T10:13:26Z"},
        {"cached_tokens", NULL, NULL, NULL}, /* of prefill only */
    };
    struct result r;
    struct cell c;
    (void)state;
    result_init(&r);
    cell_init(&c, 16384, 8);
    c.status = STATUS_QUEUED;
    c.marks = MARK_UNSTEADY | MARK_INFERRED;
    c.total_tok_s = 12345.67;
    c.ttft_ms.p50 = 2337.4;
    c.itl_ms.p50 = 8.04;
    c.completed = 0;
    c.measured_s = 30;
    mem_set_string(&c.reason, "four\nslots");
    memcpy(c.started_at, "2026-11-30T10:13:26Z", 21);
    struct measurement m = {.result = &r, .cell = &c};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *const expected[] = {cases[i].full, cases[i].brief, cases[i].data};
        for (int style = COLUMN_FULL; style <= COLUMN_DATA; style++) {
            struct buf b;
            buf_init(&b, 4096);
            bool any = column_add(column(cases[i].key), &m, (enum column_style)style, NULL, &b);
            assert_int_equal(any, expected[style] != NULL);
            assert_string_equal(b.p, any ? expected[style] : "");
            buf_release(&b);
        }
    }
    cell_release(&c);
    result_release(&r);
}

static void test_errors_keep_their_figures_apart(void **state)
{
    struct result r;
    struct cell c;
    struct buf b;
    (void)state;
    result_init(&r);
    cell_init(&c, 0, 1);
    c.status = STATUS_ERROR;
    c.total_tok_s = 5;
    c.ci95.low = 4;
    c.ttft_ms.p50 = 6;
    c.completed = 3;
    c.outcomes.count[OUTCOME_FAILED] = 2;
    struct measurement m = {.result = &r, .cell = &c};
    buf_init(&b, 4096);
    assert_false(column_add(column("total_tok_s"), &m, COLUMN_DATA, NULL, &b));
    assert_false(column_add(column("ttft_ms_p50"), &m, COLUMN_DATA, NULL, &b));
    assert_false(column_add(column("ci95_low"), &m, COLUMN_DATA, NULL, &b));
    assert_true(column_add(column("completed"), &m, COLUMN_DATA, NULL, &b));
    assert_true(column_add(column("requests_failed"), &m, COLUMN_DATA, NULL, &b));
    assert_string_equal(b.p, "32");
    buf_release(&b);
    result_release(&r);
}

static void test_order(void **state)
{
    static const struct {
        int64_t context;
        int level; /* 0: a prefill row */
    } in[] = {{16384, 2}, {0, 4}, {16384, 1}, {32768, 0}, {0, 1}, {8192, 0}},
      out[] = {{8192, 0}, {32768, 0}, {0, 1}, {0, 4}, {16384, 1}, {16384, 2}};
    struct result r;
    size_t count;
    (void)state;
    result_init(&r);
    for (size_t i = 0; i < ARRAY_LEN(in); i++) {
        struct cell c;
        struct prefill_row p;
        cell_init(&c, in[i].context, in[i].level);
        prefill_row_init(&p, in[i].context);
        if (in[i].level)
            result_add_cell_take(&r, &c);
        else
            result_add_prefill_take(&r, &p);
    }
    struct measurement *all = measurements_of(&r, &count);
    assert_int_equal(count, ARRAY_LEN(out));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(all[i].cell != NULL, out[i].level != 0);
        assert_int_equal(all[i].cell ? all[i].cell->context_tokens : all[i].prefill->context_tokens,
                         out[i].context);
        if (all[i].cell)
            assert_int_equal(all[i].cell->concurrency, out[i].level);
    }
    free(all);
    result_release(&r);
}

static void test_words(void **state)
{
    (void)state;
    for (size_t k = 0; langs[k]; k++) {
        for (int s = 0; s < STATUS_COUNT; s++) {
            const char *brief = words_status_brief(langs[k], (enum cell_status)s);
            assert_true(text_width(brief, strlen(brief)) <= 8);
            assert_int_equal(words_status_legend(langs[k], (enum cell_status)s) == NULL,
                             s == STATUS_VALID);
        }
    }
    /* the live lines and the report say the same */
    for (int s = 0; s < STATUS_COUNT; s++)
        assert_string_equal(words_status(NULL, (enum cell_status)s),
                            status_label((enum cell_status)s));
    for (unsigned i = 0; i < MARK_COUNT; i++)
        for (size_t k = 0; langs[k]; k++)
            assert_true(strlen(words_mark(langs[k], i)) > 0);
    assert_string_equal(words_kind(NULL, "simulated"), "Simulated");
    assert_string_equal(words_kind(langs[1], "simulated"), "模拟");
    assert_string_equal(words_kind(NULL, "odd"), "odd");
    assert_null(words_kind(NULL, NULL));
    assert_string_equal(words_machine_type(NULL, "CPU_ONLY"), "CPU only");
    assert_string_equal(words_prefill_mode(NULL, PREFILL_NONE), "Not measured");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_twelve), cmocka_unit_test(test_every_row_of_the_table),
        cmocka_unit_test(test_styles),     cmocka_unit_test(test_errors_keep_their_figures_apart),
        cmocka_unit_test(test_order),      cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
