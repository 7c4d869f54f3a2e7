/* test_compare.c - ratios, their intervals, and what counts as better. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "report/compare.h"

static void add(struct result *r, int64_t context, int level, enum cell_status status, double total,
                double half_width)
{
    struct cell c;
    cell_init(&c, context, level);
    c.status = status;
    c.total_tok_s = total;
    c.ttft_ms.p50 = total;
    c.ci95.low = total - half_width;
    c.ci95.high = total + half_width;
    result_add_cell_take(r, &c);
}

static void test_verdicts(void **state)
{
    static const struct {
        const char *view;
        double base, base_half, other, other_half, ratio, low, high;
        enum compare_verdict verdict;
    } rows[] = {
        /* totals with intervals: half widths 3 % and 4 % make 5 % */
        {"total", 100, 3, 100, 4, 1, 0.95, 1.05, COMPARE_IS_SAME},
        {"total", 100, 3, 110, 4.4, 1.1, 1.045, 1.155, COMPARE_BETTER},
        {"total", 100, 3, 90, 3.6, 0.9, 0.855, 0.945, COMPARE_WORSE},
        {"total", 100, 0, 101, 0, 1.01, 1.01, 1.01, COMPARE_BETTER},
        /* one side has none, or one that is wider than the figure */
        {"total", 100, NAN, 104, 1, 1.04, NAN, NAN, COMPARE_IS_SAME},
        {"total", 100, NAN, 106, 1, 1.06, NAN, NAN, COMPARE_BETTER},
        {"total", 100, 120, 90, 1, 0.9, NAN, NAN, COMPARE_WORSE},
        /* of times, less is better, and the interval is none of theirs */
        {"ttft", 100, 0, 90, 0, 0.9, NAN, NAN, COMPARE_BETTER},
        {"ttft", 100, 0, 110, 0, 1.1, NAN, NAN, COMPARE_WORSE},
        {"ttft", 100, 0, 104, 0, 1.04, NAN, NAN, COMPARE_IS_SAME},
        /* no ratio of these */
        {"total", 0, 0, 100, 1, NAN, NAN, NAN, COMPARE_UNKNOWN},
        {"total", 100, 1, NAN, NAN, NAN, NAN, NAN, COMPARE_UNKNOWN},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct result base, other;
        struct comparison c;
        result_init(&base);
        result_init(&other);
        add(&base, 0, 4, STATUS_VALID, rows[i].base, rows[i].base_half);
        add(&other, 0, 4, STATUS_VALID, rows[i].other, rows[i].other_half);
        compare_cell(compare_view(rows[i].view), &base, &other, 0, 4, &c);
        assert_int_equal(c.verdict, rows[i].verdict);
        const double found[] = {c.ratio, c.low, c.high},
                     wanted[] = {rows[i].ratio, rows[i].low, rows[i].high};
        for (size_t k = 0; k < ARRAY_LEN(found); k++) {
            assert_int_equal(isnan(found[k]), isnan(wanted[k]));
            if (!isnan(wanted[k]))
                assert_float_equal(found[k], wanted[k], 1e-9);
        }
        result_release(&base);
        result_release(&other);
    }
}

/* Cells that only one has, or that one has no figure for, are on the axes and in no count. */
static void test_counts(void **state)
{
    struct compare_axes *axes = mem_alloc(sizeof *axes);
    struct compare_counts n;
    struct result r[2];
    (void)state;
    for (size_t i = 0; i < 2; i++)
        result_init(&r[i]);
    add(&r[0], 0, 1, STATUS_VALID, 100, NAN);
    add(&r[0], 0, 2, STATUS_QUEUED, 100, NAN);
    add(&r[0], 4096, 1, STATUS_VALID, 100, NAN);
    add(&r[0], 4096, 2, STATUS_VALID, 100, NAN);
    add(&r[1], 0, 1, STATUS_VALID, 200, NAN);
    add(&r[1], 0, 2, STATUS_VALID, 50, NAN);
    add(&r[1], 4096, 1, STATUS_LOOPED, NAN, NAN);
    add(&r[1], 1024, 8, STATUS_VALID, 100, NAN);
    compare_axes_of(r, 2, axes);
    assert_int_equal(axes->context_count, 3);
    assert_int_equal(axes->contexts[1], 1024);
    assert_int_equal(axes->level_count, 3);
    assert_int_equal(axes->levels[2], 8);
    compare_count(compare_view("total"), &r[0], &r[1], axes, &n);
    assert_int_equal(n.cells, 2);
    assert_int_equal(n.better, 1);
    assert_int_equal(n.worse, 1);
    assert_int_equal(n.same, 0);
    assert_float_equal(n.mean_ratio, 1, 1e-9); /* twice and half */
    compare_count(compare_view("itl"), &r[0], &r[1], axes, &n);
    assert_int_equal(n.cells, 0);
    assert_true(isnan(n.mean_ratio));
    assert_ptr_equal(compare_view("nothing"), &views[0]);
    result_release(&r[0]);
    result_release(&r[1]);
    free(axes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
