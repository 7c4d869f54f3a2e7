/* test_cell_count.c - tokens at chosen instants against what the window counts of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rand.h"
#include "cell_rig.h"

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9 * (1 + fabs(b));
}

/* t0 <= stamp < t1, to the nanosecond. */
static void test_window_edges(void **state)
{
    struct cell_rig r;
    (void)state;
    cell_rig_init(&r, 1, 1000);
    struct stream *s = &r.run.streams[0].stream;
    rig_send(&r, 0, 500);
    rig_token(&r, 0, 900, 1);
    rig_open(&r, 1000);
    assert_int_equal(r.run.t0, 1000 * NS_PER_MS);
    assert_int_equal(r.run.t1, 2000 * NS_PER_MS);
    const int64_t stamps[] = {r.run.t0 - 1, r.run.t0, r.run.t1 - 1, r.run.t1, r.run.t1 + 1};
    for (size_t i = 0; i < ARRAY_LEN(stamps); i++)
        cell_on_token(&r.run, s, stamps[i], 3);
    assert_int_equal(r.run.tally.events, 2);
    assert_int_equal(r.run.tally.tokens, 6);
    assert_true(near(r.run.tally.bin_events[0], 1));
    assert_true(near(r.run.tally.bin_events[49], 1));
    assert_int_equal(r.run.tally.gaps->total, 2); /* those that end in the window: 1 ns, and */
    assert_int_equal(r.run.tally.gaps->max_ns, 1000 * NS_PER_MS - 1);
    rig_close(&r);
    cell_on_token(&r.run, s, r.run.t0 + 5, 1); /* handled late: the window is closed */
    assert_int_equal(r.run.tally.events, 2);
    cell_rig_release(&r);
}

static void expect_span(const struct cell_rig *r, size_t i, double ms, int64_t events,
                        int64_t usage)
{
    const struct span *span = &r->run.tally.spans[i];
    assert_true(i < r->run.tally.span_count);
    if (span->ns != rig_ms(ms) || span->events != events || span->usage != usage)
        fail_msg("span %zu: %g ms, %d events, %d tokens", i, ns_to_ms(span->ns), (int)span->events,
                 (int)span->usage);
}

/* From a request's first event in the window to its last, without what the first one carried. */
static void test_time_between_tokens(void **state)
{
    struct cell_rig r;
    (void)state;
    cell_rig_init(&r, 1, 1000);
    rig_send(&r, 0, 0);
    rig_token(&r, 0, 990, 2); /* before the window: not its first event */
    rig_open(&r, 1000);
    rig_token(&r, 0, 1010, 5);
    rig_token(&r, 0, 1100, 1);
    rig_token(&r, 0, 1250, 3);
    rig_close(&r);
    assert_int_equal(r.run.tally.span_count, 1);
    expect_span(&r, 0, 240, 2, 4);
    cell_rig_release(&r);
}

/* Tokens of events and usage, by what the run counts with. */
static void test_tokens(void **state)
{
    static const struct {
        enum token_source source;
        int64_t ratio_tokens, ratio_events;
        bool fell;
        double tokens; /* of 10 events and 25 of usage */
    } rows[] = {
        {TOKENS_USAGE_STREAM, 30, 10, false, 25},
        {TOKENS_USAGE_STREAM, 30, 10, true, 30}, /* not to be trusted */
        {TOKENS_USAGE_FINAL, 30, 10, false, 30},
        {TOKENS_USAGE_FINAL, 0, 0, false, 10}, /* nothing learned yet */
        {TOKENS_EVENTS, 30, 10, false, 10},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cell_rig r;
        cell_rig_init(&r, 1, 1000);
        r.s.token_source = rows[i].source;
        r.s.ratio_tokens = rows[i].ratio_tokens;
        r.s.ratio_events = rows[i].ratio_events;
        r.run.tally.usage_fell = rows[i].fell;
        if (!near(cell_tokens(&r.run, 10, 25), rows[i].tokens))
            fail_msg("row %zu", i);
        cell_rig_release(&r);
    }
}

/* One sample per request: two requests of one stream are two, and no gap lies between them; one
 * event is none; what is all in one read has no time between its tokens but 0. */
static void test_requests_are_apart(void **state)
{
    struct cell_rig r;
    (void)state;
    cell_rig_init(&r, 3, 1000);
    rig_open(&r, 1000);
    rig_send(&r, 0, 1000);
    rig_tokens(&r, 0, 1010, 10, 3); /* 1010 1020 1030 */
    rig_end(&r, 0, 1031, OUTCOME_COMPLETE);
    rig_send(&r, 0, 1031);
    rig_tokens(&r, 0, 1500, 20, 2); /* 1500 1520 */
    rig_send(&r, 1, 1000);
    rig_token(&r, 1, 1200, 1);
    rig_send(&r, 2, 1000);
    rig_token(&r, 2, 1300, 1);
    rig_token(&r, 2, 1300, 1);
    rig_close(&r);
    assert_int_equal(r.run.tally.span_count, 3);
    expect_span(&r, 0, 20, 2, 2);
    expect_span(&r, 1, 20, 1, 1);
    expect_span(&r, 2, 0, 1, 1);
    assert_int_equal(r.run.tally.gaps->total, 2 + 1 + 1);
    assert_int_equal(r.run.tally.gaps->max_ns, 20 * NS_PER_MS);
    cell_rig_release(&r);
}

/* Gaps are of streams, not of the cell: interleaved streams have their own. */
static void test_gaps_are_pooled(void **state)
{
    struct cell_rig r;
    (void)state;
    cell_rig_init(&r, 2, 1000);
    rig_open(&r, 1000);
    for (int i = 0; i < 2; i++)
        rig_send(&r, i, 1000);
    for (int i = 0; i < 5; i++) {
        rig_token(&r, 0, 1000 + i * 100, 1);
        rig_token(&r, 1, 1050 + i * 100, 1);
    }
    rig_token(&r, 0, 1900, 1); /* a stall of 500 ms */
    rig_close(&r);
    assert_int_equal(r.run.tally.gaps->total, 4 + 4 + 1);
    assert_int_equal(r.run.tally.gaps->max_ns, 500 * NS_PER_MS);
    int64_t p50 = hist_quantile_ns(r.run.tally.gaps, 0.5);
    assert_true(llabs(p50 - 100 * NS_PER_MS) <= 100 * NS_PER_MS / 128);
    cell_rig_release(&r);
}

/* A stream that stops in the middle makes no further gap by itself: past a second (and ten times
 * the usual gap) up to the window's end, its silence is one, and it was not active meanwhile. */
static void test_silence(void **state)
{
    static const struct {
        double every_ms, last_ms; /* tokens from 1010 to there, in a window up to 4000 */
        bool stall;
    } rows[] = {
        {10, 2000, true},
        {10, 3000, true},
        {10, 3001, false},
        {700, 2410, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cell_rig r;
        double silent = 4000 - rows[i].last_ms;
        cell_rig_init(&r, 1, 3000);
        rig_send(&r, 0, 1000);
        rig_open(&r, 1000);
        for (double at = 1010; at < rows[i].last_ms; at += rows[i].every_ms)
            rig_token(&r, 0, at, 1);
        rig_token(&r, 0, rows[i].last_ms, 1);
        uint64_t before = r.run.tally.gaps->total;
        rig_close(&r);
        const struct tally *t = &r.run.tally;
        if (t->gaps->total - before != (rows[i].stall ? 1 : 0))
            fail_msg("row %zu", i);
        if (rows[i].stall)
            assert_int_equal(t->gaps->max_ns, rig_ms(silent));
        assert_true(near(t->active_integral,
                         (double)rig_ms(rows[i].stall ? rows[i].last_ms - 1010 : 2990)));
        cell_rig_release(&r);
    }
}

/* Whatever the window's length, all of it is binned, in no more bins than there is room for. */
static void test_bins(void **state)
{
    static const struct {
        int64_t duration_ms, bin_ms;
        size_t bins;
    } rows[] = {
        {1000, 20, 50},    {30000, 20, 1500},   {48000, 20, 2400},
        {60000, 40, 1500}, {600000, 320, 1875},
    };
    struct rng rng = {9};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cell_rig r;
        double events = 0, tokens = 0;
        cell_rig_init(&r, 1, rows[i].duration_ms);
        struct tally *t = &r.run.tally;
        assert_int_equal(t->bin_ns, rows[i].bin_ms * NS_PER_MS);
        assert_int_equal(t->bins, rows[i].bins);
        rig_send(&r, 0, 1000);
        rig_open(&r, 1000);
        for (int k = 0; k < 5000; k++) {
            double at = 1000 + rng_below(&rng, (uint32_t)rows[i].duration_ms);
            rig_token(&r, 0, at, rng_below(&rng, 4));
        }
        for (size_t k = 0; k < t->bins; k++) {
            events += t->bin_events[k];
            tokens += t->bin_tokens[k];
        }
        assert_int_equal(t->events, 5000);
        assert_true(near(events, (double)t->events));
        assert_true(near(tokens, (double)t->tokens));
        rig_close(&r);
        cell_rig_release(&r);
    }
}

/* The time average of streams that have a token and no end, clipped to the window. */
static void test_active(void **state)
{
    struct cell_rig r;
    (void)state;
    cell_rig_init(&r, 3, 1000);
    rig_send(&r, 0, 0);
    rig_token(&r, 0, 500, 1); /* before the window */
    rig_open(&r, 1000);
    rig_send(&r, 1, 1100);
    rig_token(&r, 1, 1200, 1);
    rig_end(&r, 0, 1250, OUTCOME_COMPLETE);
    rig_end(&r, 1, 1400, OUTCOME_FAILED);
    rig_send(&r, 1, 1400);
    rig_token(&r, 1, 1500, 1); /* to the end */
    rig_send(&r, 2, 1900);
    rig_token(&r, 2, 2100, 1); /* after the window, handled before it is closed */
    assert_int_equal(r.run.active, 2);
    rig_close(&r);
    assert_true(near(r.run.tally.active_integral, (double)rig_ms(250 + 200 + 500)));
    assert_int_equal(r.run.with_token, 3);
    cell_rig_release(&r);
}

/* The moment any first token takes is no waiting: twice the idle server's is credited, but never
 * more than the request's own time, nor what lies outside the window. */
static void test_first_token_time_is_credited(void **state)
{
    static const struct {
        double sent, token, integral_ms;
    } rows[] = {
        {1200, 1300, 20 + 700},                   /* 2 x 10 ms of the 100 */
        {1295, 1300, 5 + 700},                    /* it took but 5 */
        {900, 1005, 5 + 995},                     /* and the window is 5 ms old */
        {1900, 2010, 10},                         /* the token comes 10 ms too late: 1990 to 2000 */
        {1900, 2050, 0},        {500, 900, 1000}, /* before the window */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cell_rig r;
        bool before = rows[i].token < RIG_T0_MS;
        cell_rig_init(&r, 1, 1000);
        r.s.idle_ttft_ns = 10 * NS_PER_MS;
        rig_send(&r, 0, rows[i].sent);
        if (before)
            rig_token(&r, 0, rows[i].token, 1);
        rig_open(&r, 1000);
        rig_token(&r, 0, before ? 1500 : rows[i].token, 1);
        rig_close(&r);
        if (!near(r.run.tally.active_integral, (double)rig_ms(rows[i].integral_ms)))
            fail_msg("row %zu: %g ms", i, r.run.tally.active_integral / 1e6);
        cell_rig_release(&r);
    }
}

/* Where no cache helps, every request of a context takes its prefill again: that is no queue
 * either, nor when the window ends in the middle of it. */
static void test_prefill_is_no_queue(void **state)
{
    static const struct {
        double sent, token, integral_ms; /* token 0: none came in the window */
    } rows[] = {
        {1200, 1600, 400 + 400},
        {1200, 1900, 600 + 100}, /* 2 x 300 ms of the 700 */
        {1500, 0, 500},
        {1399, 0, 0}, /* older than 600 ms: it waits */
        {900, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cell_rig r;
        cell_rig_init(&r, 1, 1000);
        r.s.idle_ttft_ns = 10 * NS_PER_MS;
        r.row.warm_ttft_ns = 300 * NS_PER_MS;
        rig_open(&r, 1000);
        rig_send(&r, 0, rows[i].sent);
        r.run.streams[0].stream.active = true;
        if (rows[i].token > 0)
            rig_token(&r, 0, rows[i].token, 1);
        rig_close(&r);
        if (!near(r.run.tally.active_integral, (double)rig_ms(rows[i].integral_ms)))
            fail_msg("row %zu: %g ms", i, r.run.tally.active_integral / 1e6);
        cell_rig_release(&r);
    }
}

/* Requests finished: with their last token in the window, and not failed. */
static void test_completed(void **state)
{
    static const struct {
        double last;
        enum outcome outcome;
        int completed;
    } rows[] = {
        {1500, OUTCOME_COMPLETE, 1},  {1500, OUTCOME_NO_FINISH, 1}, {1500, OUTCOME_TRUNCATED, 0},
        {1500, OUTCOME_FAILED, 0},    {1500, OUTCOME_TIMED_OUT, 0}, {1000, OUTCOME_COMPLETE, 1},
        {999.9, OUTCOME_COMPLETE, 0}, {2000, OUTCOME_COMPLETE, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cell_rig r;
        cell_rig_init(&r, 1, 1000);
        rig_send(&r, 0, 500);
        rig_open(&r, 1000);
        rig_token(&r, 0, rows[i].last, 1);
        rig_end(&r, 0, rows[i].last + 1, rows[i].outcome);
        if (r.run.tally.completed != rows[i].completed)
            fail_msg("row %zu", i);
        rig_close(&r);
        cell_rig_release(&r);
    }
}

/* One per request whose first token fell inside the cell: ramp-up included, after the end not. */
static void test_ttft(void **state)
{
    struct cell_rig r;
    (void)state;
    cell_rig_init(&r, 3, 1000);
    rig_send(&r, 0, 100);
    rig_token(&r, 0, 350, 1);
    rig_token(&r, 0, 360, 1);
    rig_open(&r, 1000);
    rig_send(&r, 1, 1100);
    rig_token(&r, 1, 1140, 1);
    rig_end(&r, 1, 1150, OUTCOME_COMPLETE);
    rig_send(&r, 1, 1150);
    rig_token(&r, 1, 1170.5, 1);
    rig_send(&r, 2, 1500);
    rig_token(&r, 2, 2000, 1);
    rig_close(&r);
    assert_int_equal(r.run.tally.ttft_ms.n, 3);
    assert_true(near(r.run.tally.ttft_ms.v[0], 250));
    assert_true(near(r.run.tally.ttft_ms.v[1], 40));
    assert_true(near(r.run.tally.ttft_ms.v[2], 20.5));
    assert_int_equal(r.run.with_token, 3); /* streams, not requests */
    assert_int_equal(r.run.moved_at, 2000 * NS_PER_MS);
    cell_rig_release(&r);
}

static void test_outcomes(void **state)
{
    static const enum outcome all[] = {OUTCOME_COMPLETE,  OUTCOME_NO_DONE, OUTCOME_NO_FINISH,
                                       OUTCOME_TRUNCATED, OUTCOME_FAILED,  OUTCOME_REJECTED,
                                       OUTCOME_TIMED_OUT, OUTCOME_EMPTY,   OUTCOME_CANCELLED};
    struct cell_rig r;
    (void)state;
    cell_rig_init(&r, 1, 1000);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        rig_send(&r, 0, 100);
        rig_token(&r, 0, 200, 1);
        rig_token(&r, 0, 210, 1);
        struct record *record = &r.run.streams[0].stream.record;
        record->completion_tokens = 20;
        err_set(&record->error, ERR_SERVER, "number %zu", i);
        rig_end(&r, 0, 300, all[i]);
        assert_int_equal(r.run.active, 0);
    }
    const struct outcomes *o = &r.run.outcomes;
    for (size_t i = 0; i < OUTCOME_COUNT; i++)
        assert_int_equal(o->count[i], 1);
    assert_int_equal(outcomes_odd(o), OUTCOME_COUNT - 2);
    assert_int_equal(r.run.failures, 5);
    assert_int_equal(r.run.failures_at_once, 1);
    assert_string_equal(r.run.failure.text, "number 3"); /* the first */
    assert_int_equal(r.s.ratio_events, 4);               /* learned from whole answers only */
    assert_int_equal(r.s.ratio_tokens, 40);
    assert_int_equal(r.run.tally.events, 0); /* there was no window */
    assert_int_equal(r.run.tally.completed, 0);
    cell_rig_release(&r);
}

/* A request that fails leaves nothing in the window but its outcome. */
static void test_failures_are_taken_back(void **state)
{
    static const enum outcome failures[] = {OUTCOME_TRUNCATED, OUTCOME_FAILED, OUTCOME_TIMED_OUT};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        struct cell_rig r;
        struct tally *t = &r.run.tally;
        cell_rig_init(&r, 2, 1000);
        rig_send(&r, 0, 900);
        rig_send(&r, 1, 900);
        rig_token(&r, 0, 950, 1); /* one token before the window */
        rig_token(&r, 1, 955, 1);
        rig_open(&r, 1000);
        rig_tokens(&r, 0, 1000, 10, 20);
        rig_tokens(&r, 1, 1005, 40, 10);
        rig_end(&r, 1, 1400, failures[i]);
        rig_close(&r);
        assert_int_equal(t->events, 20);
        assert_int_equal(t->tokens, 20);
        assert_int_equal(r.run.each_events[0], 20);
        assert_int_equal(r.run.each_usage[0], 20);
        double events = 0, tokens = 0;
        for (size_t k = 0; k < t->bins; k++) {
            events += t->bin_events[k];
            tokens += t->bin_tokens[k];
        }
        assert_true(near(events, 20) && near(tokens, 20));
        assert_int_equal(t->gaps->total, 20);
        assert_int_equal(t->span_count, 1);
        assert_true(near(t->ttft_ms.v[0], 50) && isnan(t->ttft_ms.v[1]));
        assert_int_equal(r.run.failures, 1);
        cell_rig_release(&r);
    }
}

/* Streams that end within a moment and with the same words broke together. */
static void test_failures_at_once(void **state)
{
    static const struct {
        const char *words;
        double at_ms;
        int at_once;
    } rows[] = {{"after 3 token events: full", 1000, 1},
                {"after 12 token events: full", 1099, 2},
                {"after 2 token events: other", 1099, 2},
                {"full", 1100, 3},
                {"full", 1101, 3}};
    struct cell_rig r;
    (void)state;
    cell_rig_init(&r, 1, 1000);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        rig_send(&r, 0, 900);
        err_set(&r.run.streams[0].stream.record.error, ERR_SERVER, "%s", rows[i].words);
        rig_end(&r, 0, rows[i].at_ms, OUTCOME_FAILED);
        assert_int_equal(r.run.failures_at_once, rows[i].at_once);
    }
    cell_rig_release(&r);
}

/* Figures of all windows add up; bins and the requests' windows start anew. */
static void test_repeats(void **state)
{
    struct cell_rig r;
    (void)state;
    cell_rig_init(&r, 1, 1000);
    rig_send(&r, 0, 900);
    rig_token(&r, 0, 950, 1);
    rig_open(&r, 1000);
    rig_tokens(&r, 0, 1000, 100, 10);
    rig_close(&r);
    rig_token(&r, 0, 2000, 1); /* between the windows */
    rig_open(&r, 2050);
    rig_tokens(&r, 0, 2050, 50, 20);
    rig_close(&r);
    assert_int_equal(r.run.repeat, 2);
    assert_int_equal(r.run.each_events[0], 10);
    assert_int_equal(r.run.each_events[1], 20);
    assert_int_equal(r.run.each_usage[1], 20);
    assert_int_equal(r.run.tally.events, 30);
    assert_int_equal(r.run.tally.span_count, 2);
    expect_span(&r, 0, 900, 9, 9);
    expect_span(&r, 1, 950, 19, 19);
    assert_int_equal(r.run.tally.gaps->total, 10 + 20); /* also from the token before each */
    double events = 0;
    for (size_t i = 0; i < r.run.tally.bins; i++)
        events += r.run.tally.bin_events[i];
    assert_true(near(events, 20));
    assert_true(near(r.run.tally.active_integral, 2.0 * (double)rig_ms(1000)));
    assert_int_equal(r.run.streams[0].unread, 7);
    cell_rig_release(&r);
}

/* Reads count inside the window; their lag only where the kernel stamped them. */
static void test_reads_and_lags(void **state)
{
    const struct read_stamp stamped = {.at = 5000, .kernel_at = 4000, .bytes = 10},
                            bare = {.at = 6000};
    struct cell_rig r;
    (void)state;
    cell_rig_init(&r, 1, 1000);
    struct stream *s = &r.run.streams[0].stream;
    cell_on_read(&r.run, s, &stamped);
    rig_open(&r, 1000);
    cell_on_read(&r.run, s, &stamped);
    cell_on_read(&r.run, s, &bare);
    rig_close(&r);
    cell_on_read(&r.run, s, &stamped);
    assert_int_equal(r.run.tally.reads, 2);
    assert_int_equal(r.run.tally.lag->total, 1);
    assert_int_equal(r.run.tally.lag->max_ns, 1000);

    rig_send(&r, 0, 100);
    s->record.send_at += 5000 + 300; /* planned, then 5 us of connecting, then 300 ns late */
    s->record.connect_ns = 5000;
    s->record.sent_at = s->record.send_at + 1;
    rig_end(&r, 0, 200, OUTCOME_COMPLETE);
    assert_int_equal(r.run.tally.send_lag->total, 1);
    assert_int_equal(r.run.tally.send_lag->max_ns, 300);
    rig_send(&r, 0, 100); /* never sent: no lag */
    rig_end(&r, 0, 200, OUTCOME_FAILED);
    assert_int_equal(r.run.tally.send_lag->total, 1);
    cell_rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window_edges),
        cmocka_unit_test(test_time_between_tokens),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_requests_are_apart),
        cmocka_unit_test(test_gaps_are_pooled),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_bins),
        cmocka_unit_test(test_active),
        cmocka_unit_test(test_first_token_time_is_credited),
        cmocka_unit_test(test_prefill_is_no_queue),
        cmocka_unit_test(test_completed),
        cmocka_unit_test(test_ttft),
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_failures_are_taken_back),
        cmocka_unit_test(test_failures_at_once),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_reads_and_lags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
