/* test_engine.c - tokens at their planned instants; arrival, pace, ends, counters. Microseconds;
 * engine_rig.h has the formulas behind the figures. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/num.h"
#include "engine_rig.h"

/* --- the length of a step --- */

static void test_a_prompt_alone(void **state)
{
    struct rig *r = rig_new(&plain, 1);
    (void)state;

    ask(r, 0, 20, 4);
    assert_waiting(r, 0, 1);
    pass_until(r, 5000);
    assert_int_equal(r->c[0].at[0], 600); /* P(20), though in chunks of 8 */
    assert_int_equal(r->c[0].at[1], 600 + 1031);
    assert_int_equal(r->c[0].at[2], 600 + 1031 + 1032);
    assert_int_equal(r->c[0].at[3], 600 + 1031 + 1032 + 1033);
    assert_int_equal(r->c[0].count, 4);
    assert_int_equal(r->c[0].ends, 1);
    assert_int_equal(r->c[0].why, ENGINE_END_LENGTH);
    assert_int_equal(stats(r).steps, 3 + 3);
    assert_waiting(r, 0, 0);
    rig_free(r);
}

static void test_speed(void **state)
{
    struct rig *r = rig_new(&plain, 10);
    (void)state;

    ask(r, 0, 20, 2);
    pass_until(r, 1000);
    assert_int_equal(r->c[0].at[0], 60);
    assert_int_equal(r->c[0].at[1], 163); /* 60 + 103.1 */
    rig_free(r);
}

static void test_mixed_steps(void **state)
{
    struct rig *r = rig_new(&plain, 1);
    (void)state;

    ask(r, 0, 3, 100); /* warm: 3100 + 3 */
    pass_until(r, 3200);
    assert_int_equal(r->c[0].at[0], 3103);
    ask(r, 1, 2, 100); /* waits for the step that runs: 1010 + 4 */
    ask(r, 2, 20, 100);
    pass_until(r, 4200);
    assert_int_equal(r->c[0].at[1], 4117);
    /* the larger of decode 1010 + 5 and warm 3100 + 2, and a chunk [0, 7): 119 */
    pass_until(r, 4117 + 3102 + 119);
    assert_int_equal(r->c[0].at[2], 4117 + 3102 + 119);
    assert_int_equal(r->c[1].at[0], 4117 + 3102 + 119);
    assert_int_equal(r->c[2].count, 0);
    /* decode of two at a mean context of (6 + 3) / 2, and [7, 13): 60 + 169 - 49 */
    pass_until(r, 9000);
    assert_int_equal(r->c[0].at[3], 7338 + 1020 + 4 + 180);
    rig_free(r);
}

/* Figures that no profile should hold: time goes on, and the loop is never held up. */
static void test_odd_step_times(void **state)
{
    static const struct {
        double ns;
        int64_t planned_ns;
    } rows[] = {
        {0, 1}, {-5, 1}, {NAN, 1}, {1e300, (int64_t)1e18}, {INFINITY, (int64_t)1e18},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rig *r = rig_new(&plain, 1);
        odd_ns = &rows[i].ns;
        ask(r, 0, 20, 3);
        turn(r);
        assert_int_equal(timer_at, r->start + rows[i].planned_ns);
        turns(r, 10);
        assert_int_equal(r->c[0].ends, rows[i].planned_ns == 1);
        rig_free(r);
    }
}

/* --- arrival --- */

static void test_idle_counts_from_arrival(void **state)
{
    struct rig *r = rig_new(&plain, 1);
    (void)state;

    pass_until(r, 2000);
    ask_at(r, 0, 0, 2, 1, 500); /* took 1.5 ms to get here */
    pass_until(r, 3500);
    assert_int_equal(r->c[0].count, 0);
    pass_until(r, 4000);
    assert_int_equal(r->c[0].at[0], 500 + 3102);

    pass_until(r, 9000);
    ask_at(r, 1, 0, 2, 1, 99000); /* nothing comes from the future */
    pass_until(r, 13000);
    assert_int_equal(r->c[1].at[0], 9000 + 3102);
    rig_free(r);
}

/* Read in the turn in which the step before ends late: it is not counted from that step's plan. */
static void test_arrival_after_the_last_step(void **state)
{
    struct rig *r = rig_new(&plain, 1);
    (void)state;

    ask(r, 0, 2, 1); /* until 3102 */
    pass_until(r, 3000);
    fake_now = r->start + 3190 * NS_PER_US;
    ask_at(r, 1, 0, 3, 1, 3150);
    pass_until(r, 9000);
    assert_int_equal(r->c[0].at[0], 3190);
    assert_int_equal(r->c[1].at[0], 3150 + 3103); /* 6253 */

    /* one that took long to get here: until 6253 the engine was busy with the other */
    ask_at(r, 2, 0, 3, 1, 5000);
    pass_until(r, 20000);
    assert_int_equal(r->c[2].at[0], 6253 + 3103);
    rig_free(r);
}

static void test_together_in_one_turn(void **state)
{
    struct rig *r = rig_new(&plain, 1);
    (void)state;

    pass_until(r, 1000);
    ask_at(r, 0, 0, 3, 2, 900);
    ask_at(r, 1, 0, 3, 2, 950);
    ask_at(r, 2, 0, 3, 2, 990);
    assert_waiting(r, 0, 3);
    turn(r);
    assert_waiting(r, 3, 0);
    pass_until(r, 9000);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(r->c[i].at[0], 900 + 3303);
        assert_int_equal(r->c[i].at[1], 900 + 3303 + 1034);
    }
    rig_free(r);
}

static void test_gathering(void **state)
{
    struct rig *r = rig_new(&plain, 1);
    (void)state;

    ask(r, 0, 3, 2); /* until 3103, half at 1551 */
    pass_until(r, 1000);
    ask(r, 1, 3, 2); /* until 3203, half at 1601 */
    pass_until(r, 1600);
    ask(r, 2, 3, 2); /* until 3303, half at 1651 */
    pass_until(r, 1660);
    ask(r, 3, 3, 2);
    assert_waiting(r, 3, 1);
    pass_until(r, 9000);
    for (int i = 0; i < 3; i++)
        assert_int_equal(r->c[i].at[0], 3303);
    assert_int_equal(r->c[3].at[0], 3303 + 3103); /* longer than three decodes */
    assert_int_equal(r->c[0].at[1], 3303 + 3103);
    rig_free(r);
}

static void test_who_is_not_gathered(void **state)
{
    struct profile p = plain;
    struct rig *r;
    (void)state;

    p.max_running = 2;
    r = rig_new(&p, 1);
    ask(r, 0, 3, 1);
    turn(r);
    ask(r, 1, 9, 1); /* cold */
    ask(r, 2, 3, 1); /* behind it */
    assert_waiting(r, 1, 2);
    pass_until(r, 20000);
    assert_int_equal(r->c[0].at[0], 3103);
    assert_int_equal(r->c[1].at[0],
                     3103 + 3103 + 144 + 27); /* with 2; P(8), and then P(9) - P(8) */
    assert_int_equal(r->c[2].at[0], 3103 + 3103 + 144);

    ask(r, 3, 3, 1);
    turn(r);
    ask(r, 4, 3, 1);
    ask(r, 5, 3, 1); /* two run */
    assert_waiting(r, 2, 1);
    pass_until(r, 40000);

    ask(r, 6, 9, 2);
    turn(r);
    ask(r, 7, 3, 1); /* a cold step is joined by nobody */
    assert_waiting(r, 1, 1);
    rig_free(r);
}

/* --- pace --- */

/* Turns at odd moments, up to four steps late: the plan does not move. */
static void test_lateness_does_not_add_up(void **state)
{
    struct rig *r = rig_new(&plain, 1);
    int64_t plan = 3101;
    (void)state;

    ask(r, 0, 1, 1001);
    for (int i = 0; r->c[0].count < 1001; i++) {
        fake_now += (1 + i * 37 % 4000) * NS_PER_US;
        turns(r, 5);
    }
    for (int i = 1; i <= 1000; i++)
        plan += 1010 + 1 + i;
    assert_in_range(r->c[0].at[1000], plan, plan + 4000);
    for (int i = 1; i <= 1000; i++)
        assert_true(r->c[0].at[i] >= r->c[0].at[i - 1]);
    assert_int_equal(stats(r).late_ns, 0);
    assert_int_equal(stats(r).steps, 1001);
    rig_free(r);
}

static void test_catching_up_has_a_bound(void **state)
{
    static const struct {
        int64_t away_us, late_us, third_us; /* what is counted; when the third token comes */
    } rows[] = {
        {3101 + 49000, 0, 3101 + 1012 + 1013},
        {3101 + 50000, 0, 3101 + 1012 + 1013},
        {3101 + 50010, 50010, 3101 + 50010 + 1012 + 1013},
        {3101 + 900000, 900000, 3101 + 900000 + 1012 + 1013},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rig *r = rig_new(&plain, 1);
        ask(r, 0, 1, 100);
        turn(r);
        fake_now += rows[i].away_us * NS_PER_US;
        turn(r);
        assert_int_equal(r->c[0].at[0], rows[i].away_us);
        assert_int_equal(stats(r).late_ns, rows[i].late_us * NS_PER_US);
        turns(r, 3);
        if (rows[i].third_us > rows[i].away_us) {
            assert_int_equal(r->c[0].count, 1);
            pass_until(r, rows[i].third_us);
            assert_int_equal(r->c[0].at[2], rows[i].third_us);
        } else {
            assert_int_equal(r->c[0].at[2], rows[i].away_us); /* at once */
        }
        rig_free(r);
    }
}

/* --- ends --- */

static void test_stop_and_length(void **state)
{
    static const struct {
        int64_t max_output, stop_after, tokens;
        enum engine_end why;
    } rows[] = {
        {3, INT64_MAX, 3, ENGINE_END_LENGTH}, {3, 4, 3, ENGINE_END_LENGTH},
        {3, 3, 3, ENGINE_END_STOP},           {3, 1, 1, ENGINE_END_STOP},
        {1, INT64_MAX, 1, ENGINE_END_LENGTH},
    };
    struct rig *r = rig_new(&plain, 1);
    const uint64_t token = 1;
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        engine_submit(r->engine, &(struct engine_submission){
                                     .tokens = &token,
                                     .token_count = 1,
                                     .max_output = rows[i].max_output,
                                     .stop_after = rows[i].stop_after,
                                     .arrived = fake_now,
                                     .owner = &r->c[i],
                                 });
        pass_until(r, now_us(r) + 20000);
        assert_int_equal(r->c[i].count, rows[i].tokens);
        assert_int_equal(r->c[i].ends, 1);
        assert_int_equal(r->c[i].why, rows[i].why);
    }
    assert_int_equal(stats(r).requests_done, ARRAY_LEN(rows));
    rig_free(r);
}

static void test_abort_in_every_state(void **state)
{
    struct profile p = plain;
    struct rig *r;
    (void)state;

    p.max_running = 2;
    r = rig_new(&p, 1);
    ask(r, 0, 3, 9); /* before anything began */
    engine_abort(r->engine, r->c[0].request);
    pass_until(r, 1000);
    assert_int_equal(stats(r).steps, 0);

    ask(r, 1, 3, 9);
    turn(r);
    engine_abort(r->engine, r->c[1].request); /* in its step, which runs on */
    assert_waiting(r, 0, 0);
    ask(r, 2, 20, 9);
    pass_until(r, 1000 + 3103 + 1);
    assert_waiting(r, 1, 0);
    pass_until(r, 1000 + 3103 + 200);         /* [0, 8) is done, [8, 16) runs */
    engine_abort(r->engine, r->c[2].request); /* between chunks */
    pass_until(r, 10000);
    assert_int_equal(stats(r).steps, 3);

    ask(r, 3, 3, 9);
    ask(r, 4, 3, 9);
    ask(r, 5, 3, 9);
    pass_until(r, 14500);
    assert_int_equal(r->c[4].count, 2);
    assert_waiting(r, 2, 1);
    engine_abort(r->engine, r->c[4].request); /* decoding */
    assert_waiting(r, 1, 1);
    pass_until(r, 16000);
    assert_waiting(r, 2, 0);
    engine_abort(r->engine, r->c[5].request);
    engine_abort(r->engine, r->c[3].request);
    assert_waiting(r, 0, 0);
    assert_true(stats(r).kv_used == 0);
    pass_until(r, 30000);
    for (int i = 0; i < 6; i++)
        assert_int_equal(r->c[i].ends, 0);
    assert_int_equal(stats(r).requests_done, 0);
    rig_free(r);
}

static void abort_itself(struct client *c)
{
    if (c->count == 2)
        engine_abort(c->rig->engine, c->request);
}

static void abort_the_next(struct client *c)
{
    struct client *next = c + 1;
    if (c->count == 2)
        engine_abort(c->rig->engine, next->request);
}

static void abort_everybody(struct client *c)
{
    if (c->count == 2)
        engine_abort_all(c->rig->engine);
}

static void end_everybody(struct client *c)
{
    engine_abort_all(c->rig->engine);
}

static void ask_again(struct client *c)
{
    if (c->ends < 2) {
        c->count = 0;
        ask(c->rig, (int)(c - c->rig->c) + 10, 3, 1);
    }
    engine_abort(c->rig->engine, c->request); /* too late: nothing happens */
}

static void test_calls_from_callbacks(void **state)
{
    struct rig *r = rig_new(&plain, 1);
    (void)state;

    ask(r, 0, 3, 2); /* goes with its last token */
    for (int i = 1; i < 4; i++)
        ask(r, i, 3, 5);
    r->c[0].on_token = abort_itself;
    r->c[1].on_token = abort_the_next;
    r->c[3].on_end = ask_again;
    pass_until(r, 30000);
    assert_int_equal(r->c[0].count, 2);
    assert_int_equal(r->c[0].ends, 0);
    assert_int_equal(r->c[1].ends, 1);
    assert_int_equal(r->c[2].count, 1); /* gone before its second */
    assert_int_equal(r->c[2].ends, 0);
    assert_int_equal(r->c[3].ends, 1);
    assert_int_equal(r->c[13].ends, 1);
    assert_int_equal(stats(r).requests_done, 3);
    rig_free(r);
}

static void test_abort_all(void **state)
{
    struct rig *r = rig_new(&plain, 1);
    (void)state;

    for (int i = 0; i < 3; i++)
        ask(r, i, 3, 5);
    r->c[1].on_token = abort_everybody;
    r->c[2].on_end = ask_again; /* what comes meanwhile stays */
    pass_until(r, 30000);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(r->c[i].ends, 1);
        assert_int_equal(r->c[i].why, ENGINE_END_ABORTED);
    }
    assert_int_equal(r->c[0].count, 2); /* it had its token before */
    assert_int_equal(r->c[12].ends, 1);
    assert_int_equal(r->c[12].why, ENGINE_END_LENGTH);
    assert_int_equal(stats(r).requests_done, 1);
    assert_waiting(r, 0, 0);
    engine_abort_all(r->engine); /* nobody */

    ask(r, 4, 3, 2);
    ask(r, 5, 3, 5);
    r->c[4].on_end = end_everybody;
    pass_until(r, 60000);
    assert_int_equal(r->c[4].ends, 1);
    assert_int_equal(r->c[4].why, ENGINE_END_LENGTH);
    assert_int_equal(r->c[5].ends, 1);
    assert_int_equal(r->c[5].why, ENGINE_END_ABORTED);
    rig_free(r);
}

/* --- counters, blocks, pre-emption --- */

static void test_counters(void **state)
{
    struct profile p = plain;
    struct rig *r;
    (void)state;

    p.kv_tokens = 403; /* a hundred blocks and a bit */
    p.context_limit = 200;
    r = rig_new(&p, 1);
    assert_int_equal(stats(r).kv_blocks, 100);
    assert_int_equal(stats(r).kv_tokens, 400);
    ask_at(r, 0, 40, 10, 3, 0);
    turn(r);
    assert_true(stats(r).kv_used == 0.13); /* 50 tokens: 13 blocks of 100 */
    assert_int_equal(stats(r).prompt_tokens, 0);
    pass_until(r, 20000);
    assert_int_equal(stats(r).prompt_tokens, 50);
    assert_int_equal(stats(r).generated_tokens, 3);
    assert_true(stats(r).kv_used == 0);

    ask_at(r, 1, 40, 3, 3, now_us(r));
    turn(r);
    assert_int_equal(engine_cached_tokens(r->c[1].request), 40);
    pass_until(r, 40000);
    assert_int_equal(stats(r).prefix_queries, 93);
    assert_int_equal(stats(r).prefix_hits, 40);
    assert_int_equal(stats(r).requests_done, 2);

    engine_flush_cache(r->engine);
    ask_at(r, 2, 40, 3, 3, now_us(r));
    turn(r);
    assert_int_equal(engine_cached_tokens(r->c[2].request), 0);
    rig_free(r);
}

static void test_one_sequence_always_fits(void **state)
{
    struct profile p = plain;
    struct rig *r;
    (void)state;

    p.kv_tokens = 10;
    p.context_limit = 50;
    r = rig_new(&p, 1);
    assert_int_equal(stats(r).kv_blocks, 13);
    ask(r, 0, 30, 20);
    ask(r, 1, 30, 20); /* one after the other */
    pass_until(r, 2000000);
    assert_int_equal(r->c[0].ends, 1);
    assert_int_equal(r->c[1].ends, 1);
    assert_true(r->c[1].at[0] > r->c[0].at[19]);
    rig_free(r);
}

static void test_preemption_storm(void **state)
{
    struct rig *r = rig_new(&plain, 1);
    (void)state;

    engine_preempt(r->engine, 5); /* nobody is there */
    for (int i = 0; i < 3; i++)
        ask(r, i, 3, 50);
    for (int i = 0; i < 30; i++) {
        pass_until(r, 2000 + i * 2000);
        engine_preempt(r->engine, 2);
    }
    pass_until(r, 64000); /* the last of it is over */
    int64_t preemptions = stats(r).preemptions;
    assert_in_range(preemptions, 10, 60);
    pass_until(r, 900000);
    for (int i = 0; i < 3; i++) { /* not a token is lost or given twice */
        assert_int_equal(r->c[i].count, 50);
        assert_int_equal(r->c[i].ends, 1);
    }
    assert_int_equal(stats(r).preemptions, preemptions);
    assert_int_equal(stats(r).generated_tokens, 150);
    assert_int_equal(stats(r).prompt_tokens, 9);
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_prompt_alone),
        cmocka_unit_test(test_speed),
        cmocka_unit_test(test_mixed_steps),
        cmocka_unit_test(test_odd_step_times),
        cmocka_unit_test(test_idle_counts_from_arrival),
        cmocka_unit_test(test_arrival_after_the_last_step),
        cmocka_unit_test(test_together_in_one_turn),
        cmocka_unit_test(test_gathering),
        cmocka_unit_test(test_who_is_not_gathered),
        cmocka_unit_test(test_lateness_does_not_add_up),
        cmocka_unit_test(test_catching_up_has_a_bound),
        cmocka_unit_test(test_stop_and_length),
        cmocka_unit_test(test_abort_in_every_state),
        cmocka_unit_test(test_calls_from_callbacks),
        cmocka_unit_test(test_abort_all),
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_one_sequence_always_fits),
        cmocka_unit_test(test_preemption_storm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
