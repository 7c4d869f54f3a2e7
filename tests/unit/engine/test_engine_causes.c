/* test_engine_causes.c - what a profile's causes hold back, pause, show and repeat, and when they
 * end. Microseconds; engine_rig.h has the formulas behind the figures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/num.h"
#include "engine_rig.h"

static struct rig *rig_with_cause(const struct cause *c, double speed)
{
    struct profile p = plain;

    p.causes[0] = *c;
    p.cause_count = 1;
    return rig_new(&p, speed);
}

static void test_cause_max_running(void **state)
{
    struct rig *r =
        rig_with_cause(&(struct cause){.context_tokens = 3, .concurrency = 3, .max_running = 2}, 1);
    (void)state;

    for (int i = 0; i < 3; i++)
        ask(r, i, 3, 10);
    turn(r);
    assert_waiting(r, 3, 0); /* all get their first token */
    pass_until(r, 3303);
    assert_waiting(r, 2, 1);
    pass_until(r, 3303 + 10000);
    assert_true(r->c[1].count > 5);
    assert_int_equal(r->c[2].count, 1); /* the latest is held back */
    pass_until(r, 3303 + 20000);
    assert_int_equal(r->c[0].ends, 1);
    assert_int_equal(r->c[1].ends, 1);
    assert_int_equal(r->c[2].ends, 1); /* it went on when the others were done */
    assert_true(r->c[2].at[1] > r->c[0].at[9]);
    assert_int_equal(stats(r).preemptions, 0);
    rig_free(r);
}

static void test_really_waiting_is_seen_as_it_is(void **state)
{
    struct rig *r = rig_with_cause(
        &(struct cause){
            .context_tokens = 3, .concurrency = 3, .max_running = 1, .waiting_seen = true},
        1);
    (void)state;

    for (int i = 0; i < 3; i++)
        ask(r, i, 3, 10);
    pass_until(r, 5000);
    assert_waiting(r, 1, 2);
    rig_free(r);
}

static void test_cause_ends_with_the_set(void **state)
{
    struct rig *r =
        rig_with_cause(&(struct cause){.context_tokens = 3, .concurrency = 2, .max_running = 1}, 1);
    (void)state;

    ask(r, 0, 3, 900);
    ask(r, 1, 3, 900);
    pass_until(r, 10000);
    assert_waiting(r, 1, 1);
    ask(r, 2, 3, 900); /* three are another set */
    assert_waiting(r, 2, 1);
    pass_until(r, 20000);
    assert_waiting(r, 3, 0);
    assert_true(r->c[1].count > 2);
    engine_abort(r->engine, r->c[0].request); /* two again: the latest of them waits */
    pass_until(r, 30000);
    assert_waiting(r, 1, 1);
    int64_t second = r->c[1].count, third = r->c[2].count;
    pass_until(r, 40000);
    assert_true(r->c[1].count > second + 3);
    assert_int_equal(r->c[2].count, third);
    rig_free(r);
}

/* Two and a half of three running sequences, of four in all: each step is 2 ms, whatever the
 * table says, and the third gets a token in every other. */
static void test_cause_decoding(void **state)
{
    struct rig *r = rig_with_cause(&(struct cause){.context_tokens = 3,
                                                   .concurrency = 4,
                                                   .max_running = 3,
                                                   .decoding = 2.5,
                                                   .step_ns = 2e6},
                                   1);
    (void)state;

    for (int i = 0; i < 4; i++)
        ask(r, i, 3, 900);
    pass_until(r, 3403); /* warm: 3000 + 400 + 3 */
    assert_waiting(r, 3, 1);
    for (int step = 1; step <= 20; step++) {
        pass_until(r, 3403 + step * 2000);
        assert_waiting(r, 3, 1);
        assert_int_equal(r->c[0].count, 1 + step);
        assert_int_equal(r->c[1].count, 1 + step);
        assert_in_range(r->c[2].count, 1 + step / 2, 1 + (step + 1) / 2);
        assert_int_equal(r->c[3].count, 1);
    }
    rig_free(r);
}

/* All of three run, one of them is a laggard: nobody waits. */
static void test_cause_laggard(void **state)
{
    struct rig *r = rig_with_cause(
        &(struct cause){.context_tokens = 3, .concurrency = 3, .decoding = 2.25, .step_ns = 2e6},
        1);
    (void)state;

    for (int i = 0; i < 3; i++)
        ask(r, i, 3, 900);
    pass_until(r, 3303 + 40 * 2000);
    assert_waiting(r, 3, 0);
    assert_int_equal(r->c[0].count, 41);
    assert_int_equal(r->c[1].count, 41);
    assert_int_equal(r->c[2].count, 11);
    rig_free(r);
}

static void test_cause_hold(void **state)
{
    static const double speeds[] = {1, 4};
    const struct cause hold = {
        .context_tokens = 3, .concurrency = 2, .hold_from_s = 0.010, .hold_until_s = 0.030};
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(speeds); i++) {
        struct rig *r = rig_with_cause(&hold, speeds[i]);
        int64_t first = (int64_t)(3203 / speeds[i]), from = first + (int64_t)(10000 / speeds[i]);
        int64_t until = first + (int64_t)(30000 / speeds[i]);
        ask(r, 0, 3, 900);
        ask(r, 1, 3, 900);
        turn(r);
        fake_now += (first + 2000) * NS_PER_US; /* the loop is late: the plan counts */
        pass_until(r, from - 1);
        assert_waiting(r, 2, 0);
        pass_until(r, from + 1100); /* the step that runs is done */
        assert_waiting(r, 0, 2);
        int64_t before = r->c[0].count;
        assert_true(before > 8);
        pass_until(r, until - 1);
        assert_waiting(r, 0, 2);
        assert_int_equal(r->c[0].count, before);
        pass_until(r, until + 1);
        assert_waiting(r, 2, 0);
        pass_until(r, until + 1500);
        assert_in_range(r->c[0].at[before], until + (int64_t)(1000 / speeds[i]),
                        until + (int64_t)(1050 / speeds[i]));
        assert_int_equal(r->c[1].count, r->c[0].count);
        rig_free(r);
    }
}

static void test_who_ends_a_hold(void **state)
{
    const struct cause hold = {.context_tokens = 3, .concurrency = 2, .hold_until_s = 1};
    (void)state;

    for (int what = 0; what < 3; what++) {
        struct rig *r = rig_with_cause(&hold, 1);
        ask(r, 0, 3, 900);
        ask(r, 1, 3, 900);
        pass_until(r, 100000);
        assert_waiting(r, 0, 2);
        assert_int_equal(r->c[0].count, 1);
        if (what == 0)
            engine_abort(r->engine, r->c[1].request);
        else if (what == 1)
            ask(r, 2, 3, 900);
        else
            engine_abort_all(r->engine);
        pass_until(r, 110000);
        assert_waiting(r, (int[]){1, 3, 0}[what], 0);
        assert_int_equal(r->c[0].count > 4, what < 2);
        if (what < 2) /* it went on from that moment, not from some plan */
            assert_int_equal(r->c[0].at[1], 100000 + (what == 0 ? 1014 : 3103));
        rig_free(r);
    }
}

static void test_cause_waiting_seen(void **state)
{
    struct rig *r = rig_with_cause(
        &(struct cause){.context_tokens = 3, .concurrency = 1, .waiting_seen = true}, 1);
    (void)state;

    ask(r, 0, 3, 5);
    turn(r);
    assert_waiting(r, 1, 0); /* no token yet */
    pass_until(r, 4000);
    assert_waiting(r, 1, 1);
    pass_until(r, 20000);
    assert_int_equal(r->c[0].ends, 1);
    assert_waiting(r, 0, 0);

    ask(r, 1, 3, 20);
    pass_until(r, 25000);
    ask(r, 2, 3, 20);
    assert_waiting(r, 1, 1);
    engine_abort(r->engine, r->c[2].request); /* gone before its first token: nobody waits for it */
    pass_until(r, 30000);
    assert_waiting(r, 1, 1);
    assert_int_equal(r->c[1].ends, 0);
    rig_free(r);
}

static void test_cause_looped(void **state)
{
    struct rig *r =
        rig_with_cause(&(struct cause){.context_tokens = 3, .concurrency = 2, .looped = true}, 1);
    (void)state;

    ask(r, 0, 3, 5);
    turn(r);
    ask(r, 1, 3, 9);
    pass_until(r, 30000);
    assert_int_equal(r->c[0].looped, 5); /* from the first token on */
    assert_int_equal(r->c[1].looped, 4); /* alone it does not repeat itself */
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cause_max_running),
        cmocka_unit_test(test_really_waiting_is_seen_as_it_is),
        cmocka_unit_test(test_cause_ends_with_the_set),
        cmocka_unit_test(test_cause_decoding),
        cmocka_unit_test(test_cause_laggard),
        cmocka_unit_test(test_cause_hold),
        cmocka_unit_test(test_who_ends_a_hold),
        cmocka_unit_test(test_cause_waiting_seen),
        cmocka_unit_test(test_cause_looped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
