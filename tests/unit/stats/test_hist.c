/* test_hist.c - buckets, quantiles against sorted samples, merging. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rand.h"
#include "stats/hist.h"

static struct hist *hist_new(void)
{
    return mem_alloc(sizeof(struct hist));
}

static void test_empty(void **state)
{
    struct hist *h = hist_new();
    (void)state;
    assert_int_equal(hist_quantile_ns(h, 0.5), -1);
    assert_int_equal(hist_quantile_ns(h, 1), -1);
    hist_record(h, 5);
    hist_reset(h);
    assert_int_equal(hist_quantile_ns(h, 0), -1);
    assert_int_equal(h->max_ns, 0);
    free(h);
}

/* One sample: every quantile is its bucket's middle, cut at the sample when that is smaller. */
static void test_one_sample(void **state)
{
    static const struct {
        int64_t span_ns, median_ns;
    } rows[] = {
        {-7, 0},
        {0, 0},
        {1, 1},
        {127, 127},
        {128, 128},
        {255, 255}, /* the first two powers count single ns */
        {256, 256},
        {257, 257},   /* [256, 258): middle 257, sample below it */
        {1000, 1000}, /* [1000, 1004) -> 1002, cut */
        {1003, 1002},
        {1000000, 1000000}, /* [999424, 1003520) -> 1001472, cut */
        {1003000, 1001472},
        {(INT64_C(1) << 41) - 1, (INT64_C(1) << 41) - (INT64_C(1) << 32)}, /* last step's middle */
        {INT64_C(1) << 50, (INT64_C(1) << 41) - (INT64_C(1) << 32)},       /* past the range */
        {INT64_MAX, (INT64_C(1) << 41) - (INT64_C(1) << 32)},
    };
    struct hist *h = hist_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        hist_reset(h);
        hist_record(h, rows[i].span_ns);
        assert_int_equal(hist_quantile_ns(h, 0.5), rows[i].median_ns);
        assert_int_equal(hist_quantile_ns(h, 0), rows[i].median_ns);
        assert_int_equal(hist_quantile_ns(h, 1), rows[i].span_ns > 0 ? rows[i].span_ns : 0);
    }
    free(h);
}

/* Nearest rank over 1..100: quantile q is sample number ceil(100 q). */
static void test_nearest_rank(void **state)
{
    static const struct {
        double q;
        int64_t want;
    } rows[] = {{0, 1},    {0.005, 1}, {0.01, 1},  {0.011, 2},   {0.07, 7},
                {0.5, 50}, {0.9, 90},  {0.99, 99}, {0.991, 100}, {1, 100}};
    struct hist *h = hist_new();
    (void)state;
    for (int64_t v = 1; v <= 100; v++)
        hist_record(h, v);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(hist_quantile_ns(h, rows[i].q), rows[i].want);
    free(h);
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

enum { SAMPLES = 20000 };

/* Spans over nine decades: each quantile is within 1/128 of the sample at its rank. */
static void test_against_sorted(void **state)
{
    static const double qs[] = {0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999};
    struct hist *h = hist_new();
    struct rng rng = {42};
    int64_t *v = mem_array(SAMPLES, sizeof *v);
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        v[i] = (int64_t)(rng_next(&rng) >> (24 + rng_below(&rng, 32)));
        hist_record(h, v[i]);
    }
    qsort(v, SAMPLES, sizeof *v, ascending);
    for (size_t i = 0; i < ARRAY_LEN(qs); i++) {
        size_t rank = (size_t)(qs[i] * SAMPLES + 0.999999);
        int64_t sample = v[rank - 1], said = hist_quantile_ns(h, qs[i]);
        int64_t off = said > sample ? said - sample : sample - said;
        assert_true(off * 128 <= sample);
    }
    assert_int_equal(hist_quantile_ns(h, 1), v[SAMPLES - 1]);
    free(v);
    free(h);
}

static void test_merge(void **state)
{
    struct hist *all = hist_new(), *a = hist_new(), *b = hist_new();
    struct rng rng = {7};
    (void)state;
    for (int i = 0; i < 1000; i++) {
        int64_t v = (int64_t)rng_below(&rng, 1u << 30);
        hist_record(all, v);
        hist_record(i % 3 ? a : b, v);
    }
    hist_merge(a, b);
    assert_memory_equal(a, all, sizeof *a);
    hist_reset(b);
    hist_merge(a, b); /* an empty one changes nothing */
    assert_memory_equal(a, all, sizeof *a);
    free(all);
    free(a);
    free(b);
}

/* What is taken back leaves nothing but, in its bucket's width, the longest of the rest. */
static void test_forget(void **state)
{
    struct hist *h = hist_new(), *rest = hist_new();
    (void)state;
    for (int64_t v = 1; v <= 1000; v++) {
        hist_record(h, v * 1000);
        if (v <= 900)
            hist_record(rest, v * 1000);
    }
    for (int64_t v = 901; v <= 1000; v++)
        hist_forget(h, v * 1000);
    assert_int_equal(h->total, rest->total);
    assert_memory_equal(h->bucket, rest->bucket, sizeof h->bucket);
    assert_true(llabs(h->max_ns - rest->max_ns) <= rest->max_ns / 128);
    assert_int_equal(hist_quantile_ns(h, 0.5), hist_quantile_ns(rest, 0.5));
    hist_reset(h);
    hist_record(h, -5);
    hist_forget(h, -5);
    assert_int_equal(h->total, 0);
    assert_int_equal(hist_quantile_ns(h, 1), -1);
    free(h);
    free(rest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),        cmocka_unit_test(test_one_sample),
        cmocka_unit_test(test_nearest_rank), cmocka_unit_test(test_against_sorted),
        cmocka_unit_test(test_merge),        cmocka_unit_test(test_forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
