/* test_kv_pool.c - blocks taken, found, evicted in their order; and a hundred thousand random
 * operations against a model that is too simple to be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rand.h"
#include "engine/kv_pool.h"

/* Take a block and publish it under a hash. */
static int32_t take_as(struct kv_pool *p, uint64_t hash)
{
    int32_t block = kv_pool_take(p);
    assert_int_not_equal(block, KV_NONE);
    assert_true(kv_pool_publish(p, block, hash));
    return block;
}

static void test_take_until_none_is_left(void **state)
{
    struct kv_pool p;
    bool seen[5] = {false};
    (void)state;

    kv_pool_init(&p, 5, true);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(kv_pool_available(&p), 5 - i);
        int32_t block = kv_pool_take(&p);
        assert_in_range(block, 0, 4);
        assert_false(seen[block]);
        seen[block] = true;
    }
    assert_int_equal(kv_pool_take(&p), KV_NONE);
    assert_int_equal(kv_pool_available(&p), 0);
    kv_pool_drop(&p, 3);
    assert_int_equal(kv_pool_take(&p), 3);
    kv_pool_release(&p);
}

static void test_free_before_cached_and_cached_by_age(void **state)
{
    struct kv_pool p;
    (void)state;

    kv_pool_init(&p, 6, true);
    int32_t a = take_as(&p, 100), b = take_as(&p, 200), c = take_as(&p, 300);
    int32_t plain = kv_pool_take(&p);
    kv_pool_drop(&p, b);
    kv_pool_drop(&p, plain);
    kv_pool_drop(&p, a);
    kv_pool_drop(&p, c);
    assert_int_equal(p.used, 0);
    assert_int_equal(p.cached, 3);

    /* found again, and the youngest once it is dropped */
    assert_int_equal(kv_pool_find(&p, 200), b);
    kv_pool_hold(&p, b);
    assert_int_equal(p.cached, 2);
    kv_pool_drop(&p, b);

    assert_int_equal(kv_pool_take(&p), plain);
    (void)kv_pool_take(&p);
    (void)kv_pool_take(&p);
    assert_int_equal(p.cached, 3); /* not one was evicted while others were free */
    assert_int_equal(kv_pool_take(&p), a);
    assert_int_equal(kv_pool_find(&p, 100), KV_NONE);
    assert_int_equal(kv_pool_find(&p, 300), c);
    assert_int_equal(kv_pool_take(&p), c);
    assert_int_equal(kv_pool_take(&p), b);
    assert_int_equal(kv_pool_take(&p), KV_NONE);
    kv_pool_release(&p);
}

static void test_holders_are_counted(void **state)
{
    struct kv_pool p;
    (void)state;

    kv_pool_init(&p, 2, true);
    int32_t a = take_as(&p, 7);
    kv_pool_hold(&p, a);
    kv_pool_hold(&p, a);
    assert_int_equal(p.used, 1);
    kv_pool_drop(&p, a);
    kv_pool_drop(&p, a);
    assert_int_equal(p.used, 1);
    assert_int_equal(p.cached, 0);
    kv_pool_drop(&p, a);
    assert_int_equal(p.used, 0);
    assert_int_equal(p.cached, 1);
    kv_pool_release(&p);
}

static void test_the_same_content_twice(void **state)
{
    struct kv_pool p;
    (void)state;

    kv_pool_init(&p, 3, true);
    int32_t a = take_as(&p, 7), b = kv_pool_take(&p);
    assert_false(kv_pool_publish(&p, b, 7)); /* the second stays private */
    assert_false(kv_pool_publish(&p, a, 8)); /* and a block holds one thing */
    assert_int_equal(kv_pool_find(&p, 7), a);
    assert_int_equal(kv_pool_find(&p, 8), KV_NONE);
    kv_pool_drop(&p, b);
    assert_int_equal(p.cached, 0);
    kv_pool_release(&p);
}

/* Hashes that share a bucket; the middle one, the first and the last of the chain go. */
static void test_a_bucket_of_many(void **state)
{
    struct kv_pool p;
    int32_t at[4];
    (void)state;

    kv_pool_init(&p, 4, true);
    for (uint64_t i = 0; i < 4; i++)
        at[i] = take_as(&p, 64 * i);
    static const uint64_t order[] = {2, 0, 3, 1};
    for (size_t i = 0; i < 4; i++)
        kv_pool_drop(&p, at[order[i]]);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(kv_pool_take(&p), at[order[i]]); /* evicts it */
        for (size_t k = 0; k < 4; k++)
            assert_int_equal(kv_pool_find(&p, 64 * order[k]), k > i ? at[order[k]] : KV_NONE);
    }
    kv_pool_release(&p);
}

static void test_flush(void **state)
{
    struct kv_pool p;
    (void)state;

    kv_pool_init(&p, 4, true);
    int32_t held = take_as(&p, 1), cached = take_as(&p, 2);
    kv_pool_drop(&p, cached);
    kv_pool_flush(&p);
    assert_int_equal(p.used, 1);
    assert_int_equal(p.cached, 0);
    assert_int_equal(kv_pool_available(&p), 3);
    assert_int_equal(kv_pool_find(&p, 1), KV_NONE);
    assert_int_equal(kv_pool_find(&p, 2), KV_NONE);
    kv_pool_drop(&p, held); /* private now: free */
    assert_int_equal(p.cached, 0);
    (void)take_as(&p, 1);
    for (int i = 0; i < 3; i++)
        assert_int_not_equal(kv_pool_take(&p), KV_NONE);
    kv_pool_release(&p);
}

static void test_without_caching(void **state)
{
    struct kv_pool p;
    (void)state;

    kv_pool_init(&p, 1, false);
    int32_t a = kv_pool_take(&p);
    assert_false(kv_pool_publish(&p, a, 1));
    assert_int_equal(kv_pool_find(&p, 1), KV_NONE);
    kv_pool_drop(&p, a);
    assert_int_equal(p.cached, 0);
    kv_pool_release(&p);
}

static void test_hashes_chain(void **state)
{
    const uint64_t first[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const uint64_t other_start[8] = {9, 2, 3, 4, 5, 6, 7, 8}, other_end[8] = {1, 2, 3, 4, 5, 6, 7};
    uint64_t a[3] = {0, 0, 77}, b[2], c[2], d[2];
    (void)state;

    kv_hash_prompt(1, first, 9, 4, a);
    assert_int_equal(a[2], 77); /* the ninth token fills no block */
    kv_hash_prompt(1, other_start, 8, 4, b);
    assert_int_not_equal(a[0], b[0]);
    assert_int_not_equal(a[1], b[1]); /* the same tokens after others are another block */
    kv_hash_prompt(1, other_end, 8, 4, c);
    assert_int_equal(a[0], c[0]);
    assert_int_not_equal(a[1], c[1]);
    kv_hash_prompt(2, first, 8, 4, d);
    assert_int_not_equal(a[0], d[0]);
}

/* --- against a model --- */

enum { BLOCKS = 23, HASHES = 40, OPERATIONS = 100000 };

struct model_block {
    int refs;
    uint64_t hash; /* 0: none */
    int dropped;   /* when it was last dropped */
};

static int32_t model_find(const struct model_block *m, uint64_t hash)
{
    for (int32_t i = 0; i < BLOCKS; i++)
        if (m[i].hash == hash)
            return i;
    return KV_NONE;
}

/* Whether `taken` is a block that may be taken now. */
static void check_take(struct model_block *m, int32_t taken)
{
    int32_t oldest = KV_NONE;
    bool free_left = false;

    for (int32_t i = 0; i < BLOCKS; i++) {
        if (m[i].refs > 0)
            continue;
        free_left = free_left || !m[i].hash;
        if (m[i].hash && (oldest == KV_NONE || m[i].dropped < m[oldest].dropped))
            oldest = i;
    }
    if (free_left) {
        assert_true(taken >= 0 && m[taken].refs == 0 && !m[taken].hash);
    } else {
        assert_int_equal(taken, oldest);
    }
    if (taken != KV_NONE)
        m[taken] = (struct model_block){.refs = 1};
}

static void check_counts(const struct kv_pool *p, const struct model_block *m)
{
    int32_t used = 0, cached = 0;

    for (int32_t i = 0; i < BLOCKS; i++) {
        used += m[i].refs > 0;
        cached += m[i].refs == 0 && m[i].hash;
        assert_int_equal(p->blocks[i].refs, m[i].refs);
    }
    assert_int_equal(p->used, used);
    assert_int_equal(p->cached, cached);
    assert_int_equal(kv_pool_available(p), BLOCKS - used);
}

static void test_random_operations(void **state)
{
    struct kv_pool p;
    struct model_block m[BLOCKS] = {{0}};
    struct rng rng = {11};
    int found = 0;
    (void)state;

    kv_pool_init(&p, BLOCKS, true);
    for (int n = 1; n <= OPERATIONS; n++) {
        uint32_t what = rng_below(&rng, 1000);
        int32_t block = (int32_t)rng_below(&rng, BLOCKS);
        uint64_t hash = 1 + rng_below(&rng, HASHES);

        if (what < 350) {
            check_take(m, kv_pool_take(&p));
        } else if (what < 550 && m[block].refs > 0) {
            bool can = !m[block].hash && model_find(m, hash) == KV_NONE;
            assert_int_equal(kv_pool_publish(&p, block, hash), can);
            if (can)
                m[block].hash = hash;
        } else if (what < 650) {
            block = kv_pool_find(&p, hash);
            assert_int_equal(block, model_find(m, hash));
            if (block != KV_NONE) {
                kv_pool_hold(&p, block);
                m[block].refs++;
                found++;
            }
        } else if (what < 999 && m[block].refs > 0) {
            kv_pool_drop(&p, block);
            m[block].refs--;
            m[block].dropped = n;
        } else if (what == 999) {
            kv_pool_flush(&p);
            for (int32_t i = 0; i < BLOCKS; i++)
                m[i].hash = 0;
        }
        check_counts(&p, m);
    }
    assert_true(found > OPERATIONS / 100); /* the cache took part */
    kv_pool_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take_until_none_is_left),
        cmocka_unit_test(test_free_before_cached_and_cached_by_age),
        cmocka_unit_test(test_holders_are_counted),
        cmocka_unit_test(test_the_same_content_twice),
        cmocka_unit_test(test_a_bucket_of_many),
        cmocka_unit_test(test_flush),
        cmocka_unit_test(test_without_caching),
        cmocka_unit_test(test_hashes_chain),
        cmocka_unit_test(test_random_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
