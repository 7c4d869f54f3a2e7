/* test_summary.c - quantiles, Student's t, intervals and integrals against worked examples. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/rand.h"
#include "stats/summary.h"

static void close_to(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("got %.9g, want %.9g", got, want);
}

/* R: quantile(c(15, 20, 35, 40, 50), q, type = 7) */
static void test_quantile(void **state)
{
    static const double v[] = {15, 20, 35, 40, 50};
    static const struct {
        double q, want;
    } rows[] = {{0, 15}, {0.05, 16}, {0.25, 20}, {0.4, 29}, {0.5, 35}, {0.9, 46}, {1, 50}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        close_to(summary_quantile(v, ARRAY_LEN(v), rows[i].q), rows[i].want, 1e-12);
    close_to(summary_quantile(v, 1, 0.9), 15, 0);
    assert_true(isnan(summary_quantile(v, 0, 0.5)));
}

static void test_median_and_sort(void **state)
{
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2}, signs[] = {0.5, -2, 1e9, -1e-9};
    (void)state;
    close_to(summary_median(odd, 3), 2, 0);
    close_to(summary_median(even, 4), 2.5, 0);
    assert_true(isnan(summary_median(odd, 0)));
    summary_sort(signs, 4);
    close_to(signs[0], -2, 0);
    close_to(signs[1], -1e-9, 0);
    close_to(signs[3], 1e9, 0);
}

/* 2 4 4 4 5 5 7 9: mean 5, squares about it 32, so sd = sqrt(32 / 7). */
static void test_summary(void **state)
{
    double v[] = {9, 4, 5, 4, 7, 4, 5, 2}, one[] = {3};
    (void)state;
    struct summary s = summary_of(v, ARRAY_LEN(v));
    assert_int_equal(s.n, 8);
    close_to(s.mean, 5, 1e-12);
    close_to(s.sd, sqrt(32.0 / 7), 1e-12);
    close_to(s.min, 2, 0);
    close_to(s.p50, 4.5, 1e-12);
    close_to(s.max, 9, 0);
    assert_true(isnan(s.p90) && isnan(s.p99));
    s = summary_of(one, 1);
    assert_true(isnan(s.sd));
    close_to(s.mean, 3, 0);
    s = summary_of(one, 0);
    assert_true(isnan(s.mean) && isnan(s.sd) && isnan(s.min) && isnan(s.p50) && isnan(s.max));
}

/* Percentiles appear exactly at their floors. With samples 0..n-1, p is p * (n - 1). */
static void test_floors(void **state)
{
    static const struct {
        size_t n;
        double p90, p99;
    } rows[] = {{63, NAN, NAN}, {64, 56.7, NAN}, {661, 594, NAN}, {662, 594.9, 654.39}};
    double v[662];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (size_t k = 0; k < rows[i].n; k++)
            v[k] = (double)k;
        struct summary s = summary_of(v, rows[i].n);
        assert_int_equal(isnan(s.p90), isnan(rows[i].p90));
        assert_int_equal(isnan(s.p99), isnan(rows[i].p99));
        if (!isnan(s.p90))
            close_to(s.p90, rows[i].p90, 1e-9);
        if (!isnan(s.p99))
            close_to(s.p99, rows[i].p99, 1e-9);
    }
}

/* Printed tables of the t distribution, two-sided 5 %. */
static void test_t95(void **state)
{
    static const struct {
        double df, want;
    } rows[] = {{1, 12.7062047}, {2, 4.3026527},  {3, 3.1824463},   {5, 2.5705818},
                {9, 2.2621572},  {10, 2.2281389}, {29, 2.0452296},  {30, 2.0422725},
                {31, 2.0395134}, {60, 2.0002978}, {100, 1.9839715}, {1e6, 1.9599664}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        close_to(summary_t95(rows[i].df), rows[i].want, 1e-6);
    for (double df = 1; df < 40; df += 0.25) /* fractions too: it only ever falls, without a step */
        assert_true(summary_t95(df) > summary_t95(df + 0.25));
    close_to(summary_t95(30), summary_t95(30.0001), 1e-4);
}

/* 4 6 8: mean 6, sd 2, t(2) = 4.30265; half = 4.30265 * 2 / sqrt(3) = 4.96828. */
static void test_repeats(void **state)
{
    static const double v[] = {4, 6, 8};
    (void)state;
    struct ci ci = ci_of_repeats(v, 3);
    close_to(ci.low, 6 - 4.968275, 1e-5);
    close_to(ci.high, 6 + 4.968275, 1e-5);
    close_to(ci.n_effective, 3, 0);
    ci = ci_of_repeats(v, 1);
    assert_true(isnan(ci.low) && isnan(ci.high) && isnan(ci.n_effective));
}

/* Ten alternating bins: negative correlation widens nothing. Mean 10 per bin of 0.5 s: 20 per
 * second; deviations all 4: variance 160 / 9; half = 2.262157 * sqrt(16 / 9) = 3.016210. */
static void test_bins_alternating(void **state)
{
    static const double bins[] = {8, 12, 8, 12, 8, 12, 8, 12, 8, 12};
    (void)state;
    struct ci ci = ci_of_bins(bins, 10, 0.5);
    close_to(ci.low, 20 - 3.016210, 1e-5);
    close_to(ci.high, 20 + 3.016210, 1e-5);
    close_to(ci.n_effective, 10, 0);
}

/* Two levels, five bins each: products 4 * 1 - 1 + 4 * 1 = 7 over squares 10, r = 0.7; widened by
 * 1.7 / 0.3 = 17/3; half = 2.262157 * sqrt(10 / 9 * 17 / 3 / 10) = 1.795006. */
static void test_bins_correlated(void **state)
{
    static const double bins[] = {9, 9, 9, 9, 9, 11, 11, 11, 11, 11};
    (void)state;
    struct ci ci = ci_of_bins(bins, 10, 1);
    close_to(ci.low, 10 - 1.795006, 1e-5);
    close_to(ci.high, 10 + 1.795006, 1e-5);
    close_to(ci.n_effective, 30.0 / 17, 1e-9);
}

/* 25 bins: batches of two, twelve of them, the last bin is left out. A constant has no width. */
static void test_bins_batches(void **state)
{
    double bins[100];
    (void)state;
    for (size_t i = 0; i < 25; i++)
        bins[i] = i % 2 ? 3 : 5;
    bins[24] = 1000;
    struct ci ci = ci_of_bins(bins, 25, 2);
    close_to(ci.low, 2, 1e-12);
    close_to(ci.high, 2, 1e-12);
    close_to(ci.n_effective, 12, 0);
    for (size_t i = 0; i < 100; i++) /* two long levels: r = 0.7 again, in ten batches of ten */
        bins[i] = i < 50 ? 9 : 11;
    close_to(ci_of_bins(bins, 100, 1).n_effective, 30.0 / 17, 1e-9);
    for (size_t i = 0; i < 19;
         i++) /* one per batch, nineteen: r = 0.845, widened 12 times: capped */
        bins[i] = i < 9 ? 1 : 2;
    close_to(ci_of_bins(bins, 19, 1).n_effective, 1.9, 1e-9);
    assert_true(isnan(ci_of_bins(bins, 9, 1).low));
}

/* The interval holds the true mean about 19 times in 20 when bins are independent. */
static void test_bins_coverage(void **state)
{
    struct rng rng = {1};
    int inside = 0;
    (void)state;
    for (int round = 0; round < 2000; round++) {
        double bins[60];
        for (size_t i = 0; i < 60; i++) /* a sum of four dice of 0..99: mean 198 */
            bins[i] = rng_below(&rng, 100) + rng_below(&rng, 100) + rng_below(&rng, 100) +
                      (double)rng_below(&rng, 100);
        struct ci ci = ci_of_bins(bins, 60, 1);
        inside += ci.low <= 198 && ci.high >= 198;
    }
    assert_in_range(inside, 1870, 1970);
}

/* Steps 2 from 10 on, 6 from 30 on, 0 from 40 on. */
static void test_steps(void **state)
{
    static const int64_t at[] = {10, 30, 40};
    static const double v[] = {2, 6, 0};
    static const struct {
        int64_t from, to;
        double average, share_above_2;
    } rows[] = {
        {10, 40, (2 * 20 + 6 * 10) / 30.0, 10 / 30.0},
        {0, 10, 2, 0}, /* before the first sample: the first */
        {0, 50, (2 * 30 + 6 * 10) / 50.0, 10 / 50.0},
        {35, 45, 3, 0.5},
        {32, 33, 6, 1},
        {50, 60, 0, 0}, /* after the last: the last */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        close_to(step_average(at, v, 3, rows[i].from, rows[i].to), rows[i].average, 1e-12);
        close_to(step_share_above(at, v, 3, rows[i].from, rows[i].to, 2), rows[i].share_above_2,
                 1e-12);
    }
    assert_true(isnan(step_average(at, v, 0, 0, 10)));
    assert_true(isnan(step_average(at, v, 3, 10, 10)));
    assert_true(isnan(step_share_above(at, v, 0, 0, 10, 0)));
}

/* 100 W rising to 200 W over two seconds, then 0 W one second later. */
static void test_trapezoid(void **state)
{
    static const int64_t at[] = {1 * NS_PER_S, 3 * NS_PER_S, 4 * NS_PER_S};
    static const double v[] = {100, 200, 0};
    static const struct {
        double from_s, to_s, want;
    } rows[] = {
        {1, 4, 300 + 100}, {1, 3, 300}, {2, 3, 175}, {1.5, 2.5, 150},
        {3.5, 4, 25},      {0, 1, 100}, {4, 9, 0},   {0.5, 3.5, 50 + 300 + 75},
        {2, 2, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        close_to(
            trapezoid(at, v, 3, (int64_t)(rows[i].from_s * 1e9), (int64_t)(rows[i].to_s * 1e9)),
            rows[i].want, 1e-9);
    assert_true(isnan(trapezoid(at, v, 1, 0, 10)));
    static const int64_t same[] = {5, 5};
    close_to(trapezoid(same, v, 2, 0, 5), 100 * 5e-9,
             1e-15); /* a stamp twice is no division by 0 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantile),
        cmocka_unit_test(test_median_and_sort),
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_floors),
        cmocka_unit_test(test_t95),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_bins_alternating),
        cmocka_unit_test(test_bins_correlated),
        cmocka_unit_test(test_bins_batches),
        cmocka_unit_test(test_bins_coverage),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_trapezoid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
