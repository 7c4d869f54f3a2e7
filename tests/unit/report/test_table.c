/* Layouts: nothing wider than asked, in every width; looks; hostile strings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "hostile.h"
#include "published.h"
#include "report/table.h"

static void assert_width(const struct buf *b, size_t width)
{
    for (const char *line = b->p; *line; line += strcspn(line, "\n") + 1) {
        size_t n = strcspn(line, "\n"), columns = text_width(line, n);
        if (columns > width)
            fail_msg("%zu columns where %zu are allowed: %.*s", columns, width, (int)n, line);
        if (n && line[n - 1] == ' ')
            fail_msg("blank at the end of: %.*s", (int)n, line);
    }
}

static void test_never_wider_than_asked(void **state)
{
    struct result r[3];
    char *text = hostile_long();
    (void)state;
    published_read(published_names[0], &r[0]);
    published_read(published_names[1], &r[1]);
    hostile_result(&r[2], text);
    for (size_t i = 0; i < 3; i++) {
        for (size_t width = 1; width <= 220; width += width < 90 ? 1 : 7) {
            struct table_options o = {.width = width, .ascii = width % 2};
            struct buf b;
            buf_init(&b, 1 << 22);
            assert_true(table_write(&r[i], &o, &b));
            assert_width(&b, width < TABLE_MIN_WIDTH ? TABLE_MIN_WIDTH : width);
            assert_harmless(&b, false);
            buf_release(&b);
        }
        result_release(&r[i]);
    }
    free(text);
}

static void test_ascii(void **state)
{
    struct result r;
    struct buf b;
    struct table_options o = {.ascii = true};
    (void)state;
    buf_init(&b, 1 << 20);
    published_read(published_names[0], &r);
    mem_set_string(&r.by, "\xE4\xBD\xA0\xE5\xA5\xBD");
    assert_true(table_write(&r, &o, &b));
    for (size_t i = 0; i < b.len; i++)
        if ((unsigned char)b.p[i] > 0x7E)
            fail_msg("byte %x at %zu", (unsigned char)b.p[i], i);
    assert_non_null(strstr(b.p, "6 contexts (0-136K) x 8 concurrency levels (1-128) - prefill"));
    assert_non_null(strstr(b.p, "by ?? - llm-inference-bench"));
    result_release(&r);
    buf_release(&b);
}

static void test_matrix_layouts(void **state)
{
    static const struct {
        size_t width;
        const char *has;
    } cases[] = {
        {0, "      16K             73.1         Looped          194.6  Over capacity"},
        {0, "  Context                1              2"},
        {80, "   Ctx      1        2        4        8       16       32       64      128\n"},
        {80, "   16K   73.1   looped    194.6 over cap"},
        {80, "  128K   18.4 over cap over cap over cap over cap over cap over cap over cap\n"
             "       queued\n       688 ms\n"},
        /* blocks: a line without anything to say in a block is left out there */
        {40, "\n Ctx       16       32       64      128\n"
             "   0    933.6 over cap over cap over cap\n"
             "        73 ms\n"
             " 16K over cap over cap over cap over cap\n"
             " 32K over cap"},
    };
    struct result r;
    (void)state;
    published_read("qwen3-coder-30b", &r);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct table_options o = {.width = cases[i].width};
        struct buf b;
        buf_init(&b, 1 << 20);
        table_matrix(&r, &o, &b);
        if (!strstr(b.p, cases[i].has))
            fail_msg("width %zu: missing: %s\nin:\n%s", cases[i].width, cases[i].has, b.p);
        buf_release(&b);
    }
    result_release(&r);
}

static void test_measurement_layouts(void **state)
{
    static const struct {
        size_t width;
        const char *has;
    } cases[] = {
        {200, "Sustained decode        0                16  Valid                  933.6"},
        {132, "Phase             Context      once  Status             tok/s    tok/s"},
        {80, "decode     0  16 valid      933.6  60.5      73 16.5   16.0    0 28,000 30.0\n"},
        {60, "Phase Sustained decode, Context 0, Requests at once 16,\n"
             "Status Valid, Total tok/s 933.6, Per request tok/s 60.5,\n"},
    };
    struct result r;
    (void)state;
    published_read("qwen3-coder-30b", &r);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct table_options o = {.width = cases[i].width};
        struct buf b;
        buf_init(&b, 1 << 20);
        table_measurements(&r, &o, &b);
        if (!strstr(b.p, cases[i].has))
            fail_msg("width %zu: missing: %s\nin:\n%s", cases[i].width, cases[i].has, b.p);
        buf_release(&b);
    }
    result_release(&r);
}

static void test_colour(void **state)
{
    struct result r;
    struct table_options plain = {.width = 100}, colour = {.width = 100, .colour = true};
    struct buf a, b, stripped;
    (void)state;
    buf_init(&a, 1 << 20);
    buf_init(&b, 1 << 20);
    buf_init(&stripped, 1 << 20);
    published_read("qwen3-coder-30b", &r);
    assert_true(table_write(&r, &plain, &a));
    assert_true(table_write(&r, &colour, &b));
    assert_null(strchr(a.p, 0x1B));
    /* the best cell has the strongest shade, the worst the weakest */
    assert_non_null(strstr(b.p, "\033[30;48;5;40m   933.6\033[0m"));
    assert_non_null(strstr(b.p, "\033[30;48;5;230m  17.4\033[0m"));
    assert_non_null(strstr(b.p, "\033[1mPrefill\033[0m\n"));
    for (const char *p = b.p; *p;) { /* colours change nothing else */
        if (*p == 0x1B)
            p += strcspn(p, "m") + 1;
        else
            buf_addc(&stripped, *p++);
    }
    for (const char *x = a.p, *y = stripped.p; *x || *y;) {
        size_t n = strcspn(x, "\n"), m = strcspn(y, "\n");
        while (m > 0 && y[m - 1] == ' ') /* a coloured cell keeps its padding */
            m--;
        assert_int_equal(n, m);
        assert_memory_equal(x, y, n);
        x += strcspn(x, "\n") + 1;
        y += strcspn(y, "\n") + 1;
    }
    result_release(&r);
    buf_release(&a);
    buf_release(&b);
    buf_release(&stripped);
}

static void test_commands_break_where_a_shell_reads_on(void **state)
{
    struct result r;
    struct table_options o = {.width = 40};
    struct buf b;
    (void)state;
    buf_init(&b, 1 << 16);
    result_init(&r);
    mem_set_string(&r.engine.launch_command,
                   "# a comment that is longer than forty columns\r\n"
                   "vllm serve org/model --port 8000 --max-model-len 65536 "
                   "--json '{\"a\": -1, \"b\": \"two words\"}' -q\n\n");
    table_setup(&r, &o, &b);
    assert_non_null(strstr(b.p, "Launch command\n"
                                "  # a comment that is longer than forty\n"
                                "  # columns\n"
                                "  vllm serve org/model --port 8000 \\\n"
                                "    --max-model-len 65536 \\\n"
                                "    --json \\\n"
                                "    '{\"a\": -1, \"b\": \"two words\"}' -q\n"));
    result_release(&r);
    buf_release(&b);
}

/* Cells with marks, reasons, an unfinished matrix, errors. */
static void test_remarks(void **state)
{
    struct result r;
    struct table_options o = {0};
    struct buf b;
    struct cell c;
    struct prefill_row p;
    (void)state;
    buf_init(&b, 1 << 16);
    result_init(&r);
    mem_set_string(&r.subject.served_model, "m");
    mem_set_string(&r.hardware.cpu, "Some CPU");
    r.plan.contexts[0] = 0;
    r.plan.contexts[1] = 16384;
    r.plan.context_count = 2;
    r.plan.levels[0] = 1;
    r.plan.level_count = 1;
    mem_set_string(&r.run.ended_by, "interrupted");
    cell_init(&c, 0, 1);
    c.total_tok_s = 1234.6;
    c.marks = MARK_CLIENT_LIMITED;
    c.client.cpu_pct = 91.4;
    c.client.lag_ms.p99 = 1.25;
    mem_set_string(&c.token_source, "usage_stream");
    result_add_cell_take(&r, &c);
    cell_init(&c, 0, 2);
    c.status = STATUS_ERROR;
    c.total_tok_s = 999;
    c.completed = 3;
    mem_set_string(&c.reason, "HTTP 500:\n\"out of memory\"");
    mem_set_string(&c.token_source, "events");
    c.outcomes.count[OUTCOME_TRUNCATED] = 1;
    result_add_cell_take(&r, &c);
    cell_init(&c, 0, 4);
    c.status = STATUS_ERROR;
    c.outcomes.count[OUTCOME_TRUNCATED] = 12;
    c.outcomes.count[OUTCOME_CANCELLED] = 4;
    mem_set_string(&c.reason, "HTTP 500:\n\"out of memory\"");
    mem_set_string(&c.token_source, "usage_stream");
    result_add_cell_take(&r, &c);
    prefill_row_init(&p, 8192);
    p.status = STATUS_ERROR;
    mem_set_string(&p.reason, "gone");
    p.marks = MARK_PROMPT_OFF;
    result_add_prefill_take(&r, &p);
    result_add_note(&r, "a note");
    assert_true(table_write(&r, &o, &b));
    static const char *const has[] = {
        "m on Some CPU\n",
        "2 contexts (0–16K) × 3 concurrency levels (1–4) · prefill at 8K\n",
        "  8K context  Error*\n",
        "        0  1,235*  Error  Error\n", /* the error's own figure is not shown */
        "      16K\n",                       /* planned, not measured */
        "* carries a mark, explained below.\n",
        "Error: streams failed, so the figures do not count.\n",
        "* 0 × 1: the measuring client was close to its own limit, so the server may be faster "
        "than "
        "this (client_limited).\n",
        "* prefill 8K: the prompt's length missed its target by more than 2 % (prompt_off).\n",
        "counted by the server in the stream (usage_stream); events only, as the server gives no "
        "count (events); not comparable with others\n",
        "close to its own limit in 1 of 3 cells; busiest thread at most 91 % of a CPU; read lag "
        "p99 at most 1.25 ms\n",
        "prefill 8K: Error: gone\n",
        "0 × 2, 0 × 4: Error: HTTP 500: \"out of memory\"\n",
        "Answers were cut off: neither a reason to end nor [DONE]: 1 in 0 × 2, 12 in 0 × 4 "
        "(truncated).\n",
        "This run is not complete.\n",
        "a note\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(has); i++)
        if (!strstr(b.p, has[i]))
            fail_msg("missing: %s\nin:\n%s", has[i], b.p);
    assert_null(strstr(b.p, "999"));
    result_release(&r);
    buf_release(&b);
}

static void test_empty_result(void **state)
{
    struct result r;
    struct table_options o = {.width = 80};
    struct buf b;
    (void)state;
    buf_init(&b, 1 << 16);
    result_init(&r);
    assert_true(table_write(&r, &o, &b));
    assert_non_null(strstr(b.p, "unknown model on an unknown machine\n"));
    assert_null(strstr(b.p, "All measurements"));
    result_release(&r);
    buf_release(&b);
    buf_init(&b, 40);
    result_init(&r);
    assert_false(table_write(&r, &o, &b)); /* too small */
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_never_wider_than_asked),
        cmocka_unit_test(test_ascii),
        cmocka_unit_test(test_matrix_layouts),
        cmocka_unit_test(test_measurement_layouts),
        cmocka_unit_test(test_colour),
        cmocka_unit_test(test_commands_break_where_a_shell_reads_on),
        cmocka_unit_test(test_remarks),
        cmocka_unit_test(test_empty_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
