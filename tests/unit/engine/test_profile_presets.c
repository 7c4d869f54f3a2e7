/* Presets: never faster than memory and arithmetic allow, slower with more work, and near the two
 * published pages where they describe the same card and model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../report/published.h"
#include "engine/profile.h"

static struct profile *preset(const char *name)
{
    struct profile *p = mem_alloc(sizeof *p);
    struct err err;
    if (!profile_by_name(name, p, &err))
        fail_msg("%s", err.text);
    return p;
}

static void test_names(void **state)
{
    struct profile *p = mem_alloc(sizeof *p);
    struct err err = {0};
    (void)state;
    for (size_t i = 0; i < profile_preset_count(); i++) {
        char name[sizeof p->name];
        assert_true(profile_preset(i, p));
        assert_true(p->name[0] && p->title[0] && p->model[0] && p->served_model[0] && p->gpu[0]);
        assert_true(strlen(p->title) + 1 < sizeof p->title);
        memcpy(name, p->name, sizeof name);
        assert_true(profile_by_name(name, p, &err));
        assert_string_equal(p->name, name);
    }
    assert_false(profile_preset(profile_preset_count(), p));
    assert_true(profile_preset(0, p));
    assert_string_equal(p->name, "rtx3090-24gb"); /* the default */
    assert_false(profile_by_name("rtx3090", p, &err));
    assert_int_equal(err.code, ERR_USAGE);
    assert_non_null(strstr(err.text, "cpu-ddr5-4b-q4")); /* the last of the list is there too */
    free(p);
}

/* Seconds that one sequence's step needs at least: weights read once at the full bandwidth, by the
 * sizes and data sheets; and the largest single-stream rate that follows. */
static void test_memory_bound(void **state)
{
    static const struct {
        const char *name;
        double read_gb, bandwidth_gb_s; /* weights of one token */
        double kv_bytes; /* of one token: 2 x layers x KV heads x head size x bytes */
    } cases[] = {
        {"rtx3090-24gb", 17.8, 936, 2 * 64 * 8 * 128 * 0.53},
        {"rtx3090-24gb-30b-a3b", 1.13 + 15.3 / 16, 936, 2 * 48 * 4 * 128 * 0.53},
        {"rtx3090-24gb-27b", 16.1, 936, 2 * 16 * 4 * 256 * 0.53},
        {"rtx4090-24gb", 17.8, 1008, 2 * 64 * 8 * 128},
        {"h100-80gb-70b-fp8", 70.6, 3350, 2 * 80 * 8 * 128},
        {"h200-141gb-70b-fp8", 70.6, 4800, 2 * 80 * 8 * 128},
        {"m4-max-128gb-70b-q4", 41.9, 546, 2 * 80 * 8 * 128 * 2},
        {"cpu-ddr5-4b-q4", 2.5, 89.6, 2 * 36 * 8 * 128 * 2},
    };
    (void)state;
    assert_int_equal(ARRAY_LEN(cases), profile_preset_count());
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct profile *p = preset(cases[i].name);
        double bandwidth = cases[i].bandwidth_gb_s; /* GB/s: bytes in a nanosecond */
        double least = cases[i].read_gb * 1e9 / bandwidth;
        assert_true(profile_decode_ns(p, 0, 1) > least);
        /* 0.80 of the bandwidth and the launches: not slower than twice the bound, but for the
         * mixture of experts, whose launches outweigh the little it reads */
        assert_true(profile_decode_ns(p, 0, 1) < (strstr(p->name, "a3b") ? 4 : 2) * least);
        for (int batch = 1; batch <= 64; batch *= 2)
            for (int context = 0; context <= 131072; context += 9999)
                assert_true(profile_decode_ns(p, context, batch) >
                            least + (double)batch * context * cases[i].kv_bytes / bandwidth);
        free(p);
    }
}

static void test_more_work_takes_longer(void **state)
{
    static const double rounded = 1 - 1e-12; /* where arithmetic bounds, context costs nothing */
    struct profile *p = mem_alloc(sizeof *p);
    (void)state;
    for (size_t i = 0; profile_preset(i, p); i++) {
        for (int context = 0; context < 131072; context = context * 2 + 100)
            for (int batch = 1; batch < 100; batch += batch / 2 + 1) {
                int longer = context * 2 + 100, larger = batch + batch / 2 + 1;
                double decode = rounded * profile_decode_ns(p, context, batch);
                double warm = rounded * profile_warm_ns(p, context, batch);
                assert_true(profile_decode_ns(p, longer, batch) >= decode);
                assert_true(profile_decode_ns(p, context, larger) >= decode);
                /* and batching pays */
                assert_true(larger / profile_decode_ns(p, context, larger) >=
                            rounded * rounded * batch / decode);
                assert_true(profile_warm_ns(p, longer, batch) > warm);
                assert_true(profile_warm_ns(p, context, larger) >= warm);
                assert_true(warm > decode / 2);
            }
        for (int tokens = 100; tokens < p->context_limit; tokens += tokens / 3) {
            double ns = profile_prefill_ns(p, 0, tokens);
            assert_true(profile_prefill_ns(p, 0, tokens + 1) > ns);
            /* a prompt passes faster than its tokens would be generated one by one */
            assert_true(ns / tokens < profile_decode_ns(p, 0, 1));
        }
    }
    free(p);
}

static void test_limits(void **state)
{
    struct profile *p = mem_alloc(sizeof *p);
    (void)state;
    for (size_t i = 0; profile_preset(i, p); i++) {
        assert_true(p->context_limit >= 16384 && p->context_limit <= p->kv_tokens);
        assert_int_equal(p->context_limit % 1024, 0);
        assert_int_equal(p->kv_tokens % p->block_size, 0);
        assert_true(p->max_running >= 1 && p->step_tokens >= p->warm_tokens);
        assert_true(p->prefix_cache && p->cause_count == 0);
    }
    /* (24 x 2^30 x 0.94 - 19.3e9 - 2e9) / (2 x 64 x 8 x 128 x 0.53) = 42,086, whole blocks */
    assert_true(profile_preset(0, p));
    assert_int_equal(p->kv_tokens, 42080);
    free(p);
}

/* Step and prefill times against the pages that show the same card with the same model. The model
 * has six efficiencies for both pages together. */
static void test_near_the_pages(void **state)
{
    static const char *const names[] = {"rtx3090-24gb-30b-a3b", "rtx3090-24gb-27b"};
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(names); k++) {
        struct profile *p = preset(names[k]);
        struct result r;
        published_read(published_names[k], &r);
        for (size_t i = 0; i < r.decode_count; i++) {
            const struct cell *c = &r.decode[i];
            double ns = profile_decode_ns(p, (double)c->context_tokens, c->concurrency);
            if (status_has_numbers(c->status))
                assert_in_range((int)(100 * ns / 1e6 / c->itl_ms.p50), 80, 150);
        }
        for (size_t i = 0; i < r.prefill_count; i++) {
            double ns = profile_prefill_ns(p, 0, (double)r.prefill[i].context_tokens);
            assert_in_range((int)(100 * ns / 1e6 / r.prefill[i].ttft_ms.p50), 90, 110);
        }
        result_release(&r);
        free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_memory_bound),
        cmocka_unit_test(test_more_work_takes_longer),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_near_the_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
