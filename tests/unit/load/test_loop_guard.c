/* test_loop_guard.c - what repeats, what only nearly does, and that looking stays cheap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/rand.h"
#include "load/loop_guard.h"

/* n letters without a period, from a seed. */
static char *letters(size_t n, uint64_t seed)
{
    struct rng rng = {seed};
    char *p = mem_array(n + 1, 1);
    for (size_t i = 0; i < n; i++)
        p[i] = (char)('a' + rng_below(&rng, 26));
    return p;
}

/* Add the first n bytes of a text that repeats `cycle` for ever, in pieces as tokens come. */
static void add_cycles(struct loop_text *t, const char *cycle, size_t period, size_t n)
{
    for (size_t at = 0; at < n;) {
        size_t piece = period - at % period;
        if (piece > 7)
            piece = 7;
        if (piece > n - at)
            piece = n - at;
        loop_text_add(t, cycle + at % period, piece);
        at += piece;
    }
}

/* Some lead, then n bytes of a cycle. */
static void test_limits(void **state)
{
    static const struct {
        size_t lead, period, n;
        size_t cycles; /* 0: no finding */
    } rows[] = {
        {0, 1024, 4096, 4}, /* exactly four cycles and 4,096 characters */
        {0, 1024, 4095, 0},
        {500, 1024, 4096, 4},
        {500, 1024, 4096 + 1023, 4},
        {500, 1024, 4096 + 1024, 5},
        {0, 1500, 5849, 0}, /* 3.9 cycles */
        {0, 1500, 6000, 4},
        {0, 7, 4095, 0}, /* many cycles of too few characters */
        {0, 7, 4096, 585},
        {0, 1, 4096, 4096},
        {4000, 100, 4095, 0},
        {0, 32768, 4 * 32768, 4}, /* the longest period */
        {999, 32768, 4 * 32768, 4},
        {0, 32768, 4 * 32768 - 1, 0},
        {0, 32769, 4 * 32769, 0},
        {0, 32769, 5 * 32769, 0},
        {400000, 1024, 4096, 4}, /* history that was cut long ago */
        {400000, 32768, 4 * 32768, 4},
        {400000, 32768, 4 * 32768 - 1, 0},
        {0, 5, 1000000, LOOP_HISTORY / 5},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct loop_text t = {0};
        struct loop_finding found = {0};
        char *lead = letters(rows[i].lead, 1), *cycle = letters(rows[i].period, 2 + i);
        add_cycles(&t, lead, rows[i].lead, rows[i].lead);
        add_cycles(&t, cycle, rows[i].period, rows[i].n);
        bool loops = loop_text_check(&t, true, &found);
        if (loops != (rows[i].cycles > 0) || found.cycles != rows[i].cycles)
            fail_msg("row %zu: %zu cycles", i, found.cycles);
        if (loops)
            assert_int_equal(found.period, rows[i].period);
        loop_text_release(&t);
        free(cycle);
        free(lead);
    }
}

/* One changed byte ends a repetition: only what came after it counts. */
static void test_near_repetition(void **state)
{
    enum { PERIOD = 1200 };
    struct loop_text t = {0};
    struct loop_finding found;
    char *cycle = letters(PERIOD, 9);
    (void)state;
    add_cycles(&t, cycle, PERIOD, 3 * PERIOD);
    loop_text_add(&t, cycle, PERIOD / 2);
    loop_text_add(&t, "#", 1);
    loop_text_add(&t, cycle + PERIOD / 2 + 1, PERIOD / 2 - 1);
    assert_false(loop_text_check(&t, true, &found));
    for (size_t n = 1; n <= 3; n++) { /* with the second half of the cycle that was changed */
        add_cycles(&t, cycle, PERIOD, PERIOD);
        assert_false(loop_text_check(&t, true, &found));
    }
    add_cycles(&t, cycle, PERIOD, PERIOD / 2); /* 4.0 cycles less the changed byte */
    assert_false(loop_text_check(&t, true, &found));
    loop_text_add(&t, cycle + PERIOD / 2, 1);
    assert_true(loop_text_check(&t, true, &found));
    assert_int_equal(found.period, PERIOD);
    assert_int_equal(found.cycles, 4);
    loop_text_add(&t, "#", 1);
    assert_false(loop_text_check(&t, true, &found)); /* the model found its way out */
    loop_text_release(&t);
    free(cycle);
}

/* Blank cycles do not count, blanks inside a cycle do. */
static void test_whitespace(void **state)
{
    struct loop_text t = {0};
    struct loop_finding found;
    struct buf cycle;
    (void)state;
    add_cycles(&t, "\n", 1, 10000);
    assert_false(loop_text_check(&t, true, &found));
    loop_text_reset(&t);
    add_cycles(&t, " \t \r\n  ", 7, 10000);
    assert_false(loop_text_check(&t, true, &found));
    loop_text_reset(&t);
    buf_init(&cycle, 1 << 20); /* ends in a long blank, which by itself repeats */
    buf_adds(&cycle, "word");
    buf_add_repeat(&cycle, ' ', 5000);
    add_cycles(&t, cycle.p, cycle.len, 4 * cycle.len);
    assert_true(loop_text_check(&t, true, &found));
    assert_int_equal(found.period, 5004);
    buf_release(&cycle);
    loop_text_release(&t);
}

static void test_text_without_loops(void **state)
{
    struct loop_text t = {0};
    struct loop_finding found;
    char *text = letters(300000, 5);
    (void)state;
    assert_false(loop_text_check(&t, true, &found)); /* nothing yet */
    for (size_t at = 0; at < 300000; at += 1000) {
        loop_text_add(&t, text + at, 1000);
        assert_false(loop_text_check(&t, at % 50000 == 0, &found));
    }
    loop_text_release(&t);
    free(text);
}

static void test_excerpt(void **state)
{
    struct loop_text t = {0};
    struct loop_finding found;
    char *cycle = letters(600, 3);
    (void)state;
    add_cycles(&t, "again\n", 6, 6000);
    assert_true(loop_text_check(&t, true, &found));
    assert_string_equal(found.excerpt, "again ");
    loop_text_reset(&t);
    add_cycles(&t, cycle, 600, 6000);
    assert_true(loop_text_check(&t, true, &found));
    assert_int_equal(strlen(found.excerpt), LOOP_EXCERPT);
    assert_memory_equal(found.excerpt, cycle, LOOP_EXCERPT);
    loop_text_reset(&t);
    loop_text_add(&t, "x", 1); /* the cycle then begins inside the euro sign */
    add_cycles(&t, "\u20ac1\x1b", 5, 6001);
    assert_true(loop_text_check(&t, true, &found));
    assert_int_equal(found.period, 5);
    assert_string_equal(found.excerpt, "1??"); /* two of its bytes left out, one still to come */
    loop_text_release(&t);
    free(cycle);
}

/* Whatever comes, the storage stays bounded, also for one huge piece. */
static void test_memory_is_bounded(void **state)
{
    struct loop_text t = {0};
    struct loop_finding found;
    char *text = letters(3 * LOOP_HISTORY, 4);
    (void)state;
    loop_text_add(&t, text, 0);
    assert_null(t.history);
    for (size_t n = 1; n <= 3 * LOOP_HISTORY; n += n / 2 + 1) {
        loop_text_add(&t, text, n);
        assert_true(t.cap <= LOOP_HISTORY + LOOP_MAX_PERIOD);
        assert_true(t.len <= t.cap);
        size_t tail = n < 100 ? n : 100;
        assert_memory_equal(t.history + t.len - tail, text + n - tail, tail);
    }
    size_t cap = t.cap;
    loop_text_reset(&t);
    assert_int_equal(t.cap, cap);
    assert_int_equal(t.len, 0);
    assert_false(loop_text_check(&t, true, &found));
    loop_text_release(&t);
    loop_text_release(&t);
    free(text);
}

/* Counting, not timing: asked after every token, the guard looks only when the history grew by an
 * eighth, so that all looks together read at most about ten bytes for each byte that came. */
static void test_looks_are_few(void **state)
{
    enum { TOTAL = 400000, TOKEN = 4 };
    struct loop_text t = {0};
    struct loop_finding found;
    char *text = letters(TOTAL, 6);
    size_t looks = 0, read = 0;
    (void)state;
    for (size_t at = 0; at < TOTAL; at += TOKEN) {
        loop_text_add(&t, text + at, TOKEN);
        assert_false(loop_text_check(&t, false, &found));
        if (t.unchecked == 0) {
            looks++;
            read += t.len < LOOP_HISTORY ? t.len : LOOP_HISTORY;
        }
    }
    assert_in_range(looks, 30, 60);
    assert_true(read < (size_t)TOTAL * 10);
    add_cycles(&t, "round and ", 10, 40000); /* and a loop is still found soon */
    assert_true(loop_text_check(&t, false, &found));
    assert_int_equal(found.period, 10);
    assert_false(loop_text_check(&t, false, &found)); /* nothing new: no look */
    assert_true(loop_text_check(&t, true, &found));
    loop_text_release(&t);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),        cmocka_unit_test(test_near_repetition),
        cmocka_unit_test(test_whitespace),    cmocka_unit_test(test_text_without_loops),
        cmocka_unit_test(test_excerpt),       cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_looks_are_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
