/* test_guard.c - text through the rings to the guard's thread: findings, gaps, beginnings.
 *
 * That nothing is found can only be waited for; such a wait may be too short to show a mistake, but
 * never fails without one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/rand.h"
#include "load/guard.h"

enum { WAIT_MS = 130 }; /* some more than two rounds of the guard's thread */

struct rig {
    struct loop *loop;
    struct guard *guard;
    struct guard_finding finding;
    size_t at; /* in the cycle */
};

static void rig_init(struct rig *r, int streams)
{
    *r = (struct rig){.loop = loop_new(NULL)};
    assert_non_null(r->loop);
    r->guard = guard_start(streams, r->loop);
    assert_non_null(r->guard);
}

static void rig_release(struct rig *r)
{
    guard_stop(r->guard);
    loop_free(r->loop);
}

/* n letters without a period. */
static char *letters(size_t n, uint64_t seed)
{
    struct rng rng = {seed};
    char *p = mem_array(n + 1, 1);
    for (size_t i = 0; i < n; i++)
        p[i] = (char)('a' + rng_below(&rng, 26));
    return p;
}

static void add(struct rig *r, int stream, enum channel channel, const char *p, size_t n)
{
    guard_text(r->guard, stream, channel, (struct slice){p, n});
}

/* The next n bytes of an endless repetition of the cycle, in messages of up to 250 bytes. */
static void add_cycle(struct rig *r, int stream, const char *cycle, size_t period, size_t n)
{
    while (n > 0) {
        char piece[250];
        size_t size = n < sizeof piece ? n : sizeof piece;
        for (size_t i = 0; i < size; i++)
            piece[i] = cycle[r->at++ % period];
        add(r, stream, CHANNEL_CONTENT, piece, size);
        n -= size;
    }
}

/* Turn the loop until something was found; the guard wakes it. */
static void await_finding(struct rig *r)
{
    int64_t give_up_at = clock_now() + 10 * NS_PER_S;
    while (!guard_found(r->guard, &r->finding)) {
        if (clock_now() > give_up_at)
            fail_msg("nothing was found");
        loop_turn(r->loop, give_up_at);
    }
}

/* Repeat a cycle about as fast as a model writes, until that is found. What the guard's thread was
 * too busy to take is dropped, and only delays it. */
static void repeat_until_found(struct rig *r, int stream, const char *cycle, size_t period)
{
    int64_t give_up_at = clock_now() + 20 * NS_PER_S;
    while (!guard_found(r->guard, &r->finding)) {
        if (clock_now() > give_up_at)
            fail_msg("nothing was found");
        add_cycle(r, stream, cycle, period, 311);
        loop_turn(r->loop, clock_now() + 3 * NS_PER_MS);
    }
}

static void expect_nothing(struct rig *r)
{
    clock_sleep(WAIT_MS * NS_PER_MS);
    assert_false(guard_found(r->guard, &r->finding));
}

/* As fast as a model writes, so that the rings do not run over; found although it wraps around. */
static void test_finds_across_the_end_of_the_ring(void **state)
{
    static const size_t periods[] = {1, 7, 1000, 3001, 8188};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(periods); i++) {
        struct rig r;
        char *cycle = letters(periods[i], i + 1);
        rig_init(&r, 3);
        repeat_until_found(&r, 1, cycle, periods[i]);
        assert_int_equal(r.finding.stream, 1);
        assert_int_equal(r.finding.channel, CHANNEL_CONTENT);
        assert_int_equal(r.finding.loop.period, periods[i]);
        assert_true(r.finding.loop.cycles >= LOOP_MIN_CYCLES);
        rig_release(&r);
        free(cycle);
    }
}

/* The text is looked at as the model wrote it, not as JSON escapes it. */
static void test_text_is_unescaped(void **state)
{
    static const char cycle[] = "\\n\\u00e9\\\"x"; /* 1 + 2 + 1 + 1 bytes */
    int64_t give_up_at = clock_now() + 20 * NS_PER_S;
    struct rig r;
    (void)state;
    rig_init(&r, 1);
    while (!guard_found(r.guard, &r.finding) && clock_now() < give_up_at) {
        for (int i = 0; i < 20; i++)
            add(&r, 0, CHANNEL_TOOL, cycle, sizeof cycle - 1);
        loop_turn(r.loop, clock_now() + 3 * NS_PER_MS);
    }
    assert_true(guard_found(r.guard, &r.finding));
    assert_int_equal(r.finding.channel, CHANNEL_TOOL);
    assert_int_equal(r.finding.loop.period, 5);
    rig_release(&r);
}

/* Three cycles, then something else that is lost because the ring is full, then a fourth one: that
 * is no repetition of four, and must not be found. Four more in a row must. */
static void test_a_gap_is_not_bridged(void **state)
{
    enum { PERIOD = 2500 };
    struct rig r;
    char *cycle = letters(PERIOD, 1), *other = letters(1500, 2);

    (void)state;
    rig_init(&r, 1);
    add_cycle(&r, 0, cycle, PERIOD, 3 * PERIOD);
    add(&r, 0, CHANNEL_CONTENT, other, 1500); /* 7,620 of 8,192 bytes are in use */
    clock_sleep(WAIT_MS * NS_PER_MS);
    add_cycle(&r, 0, cycle, PERIOD, PERIOD);
    expect_nothing(&r);
    add_cycle(&r, 0, cycle, PERIOD, 2 * PERIOD);
    expect_nothing(&r);
    repeat_until_found(&r, 0, cycle, PERIOD);
    assert_int_equal(r.finding.loop.period, PERIOD);
    rig_release(&r);
    free(cycle);
    free(other);
}

/* Texts larger than a ring, and many more than fit, are dropped; then all works as before. */
static void test_overflow_recovers(void **state)
{
    enum { HUGE_TEXT = 100000 };
    struct rig r;
    char *text = letters(HUGE_TEXT, 3);

    (void)state;
    rig_init(&r, 2);
    add(&r, 0, CHANNEL_CONTENT, text, HUGE_TEXT);
    add(&r, 0, CHANNEL_CONTENT, text, 8189); /* with its header a byte too long */
    for (int i = 0; i < 1000; i++) {
        add(&r, 1, CHANNEL_REASONING, text + i, 997);
        guard_new_request(r.guard, 1);
    }
    expect_nothing(&r);
    repeat_until_found(&r, 1, "abc", 3);
    assert_int_equal(r.finding.stream, 1);
    assert_int_equal(r.finding.loop.period, 3);
    rig_release(&r);
    free(text);
}

/* What repeats only over the border of two requests, two channels or two streams does not loop. */
static void test_borders(void **state)
{
    enum { PERIOD = 1100 };
    struct rig r;
    char *cycle = letters(PERIOD, 4);

    (void)state;
    rig_init(&r, 2);
    add_cycle(&r, 0, cycle, PERIOD, 3 * PERIOD);
    guard_new_request(r.guard, 0);
    add_cycle(&r, 0, cycle, PERIOD, 2 * PERIOD);
    add(&r, 0, CHANNEL_REASONING, cycle, PERIOD);
    add(&r, 0, CHANNEL_TOOL, cycle, PERIOD);
    add_cycle(&r, 1, cycle, PERIOD, 3 * PERIOD);
    expect_nothing(&r);
    add(&r, 1, CHANNEL_CONTENT, cycle, PERIOD); /* one message: seen as a whole or not at all */
    await_finding(&r);
    assert_int_equal(r.finding.stream, 1);
    assert_int_equal(r.finding.loop.cycles, 4);
    assert_int_equal(strlen(r.finding.loop.excerpt), LOOP_EXCERPT);
    assert_memory_equal(r.finding.loop.excerpt, cycle, LOOP_EXCERPT);
    rig_release(&r);
    free(cycle);
}

/* The first finding stays, and stopping needs none. */
static void test_first_finding_and_stop(void **state)
{
    struct rig r;
    (void)state;
    guard_stop(NULL);
    rig_init(&r, 64);
    rig_release(&r);
    rig_init(&r, 2);
    add_cycle(&r, 1, "xy", 2, 4096);
    await_finding(&r);
    r.at = 0;
    add_cycle(&r, 0, "z", 1, 4096);
    clock_sleep(WAIT_MS * NS_PER_MS);
    assert_true(guard_found(r.guard, &r.finding));
    assert_int_equal(r.finding.stream, 1);
    assert_int_equal(r.finding.loop.period, 2);
    rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_across_the_end_of_the_ring),
        cmocka_unit_test(test_text_is_unescaped),
        cmocka_unit_test(test_a_gap_is_not_bridged),
        cmocka_unit_test(test_overflow_recovers),
        cmocka_unit_test(test_borders),
        cmocka_unit_test(test_first_finding_and_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
