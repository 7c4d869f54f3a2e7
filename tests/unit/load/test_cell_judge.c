/* test_cell_judge.c - from counts to figures, marks and a status. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cell_rig.h"

static void expect(const char *what, double got, double wanted)
{
    if (!(isnan(got) && isnan(wanted)) && !(fabs(got - wanted) <= 1e-9 * (1 + fabs(wanted))))
        fail_msg("%s is %g, not %g", what, got, wanted);
}

/* C streams in step, one token every `every_ms` for all of the window and a little before it. */
static void run_window(struct cell_rig *r, double every_ms)
{
    double duration_ms = ns_to_ms(r->result.plan.duration_ns);
    for (int i = 0; i < r->run.count; i++) {
        if (r->run.repeat == 0)
            rig_send(r, i, 500);
        rig_token(r, i, 600, 1);
        rig_token(r, i, RIG_T0_MS - every_ms, 1);
    }
    rig_open(r, RIG_T0_MS);
    for (int i = 0; i < r->run.count; i++)
        rig_tokens(r, i, RIG_T0_MS, every_ms, (int)llround(duration_ms / every_ms));
    rig_close(r);
}

/* --- figures --- */

static void test_figures(void **state)
{
    struct cell_rig r;
    const struct cell *c = &r.cell;
    (void)state;
    cell_rig_init(&r, 4, 2000);
    run_window(&r, 20);
    cell_judge(&r.run, &r.view);
    assert_int_equal(c->status, STATUS_VALID);
    assert_null(c->reason);
    assert_int_equal(c->marks, 0);
    assert_int_equal(c->output_tokens, 400);
    expect("measured_s", c->measured_s, 2);
    expect("total_tok_s", c->total_tok_s, 200);
    assert_int_equal(c->itl_ms.n, 4);
    expect("itl p50", c->itl_ms.p50, 20);
    expect("itl p90", c->itl_ms.p90, NAN); /* of four */
    expect("per_request_tok_s", c->per_request_tok_s, 50);
    assert_int_equal(c->ttft_ms.n, 4);
    expect("ttft p50", c->ttft_ms.p50, 100);
    assert_int_equal(c->gap_ms.n, 4 * 100);
    expect("gap max", c->gap_ms.max, 20);
    assert_true(c->gap_ms.p90 > 0); /* 400 samples: p90 wants 64, p99 662 */
    expect("gap p99", c->gap_ms.p99, NAN);
    expect("avg_active", c->avg_active, 4);
    assert_string_equal(c->avg_active_source, "client");
    assert_string_equal(c->token_source, "events");
    expect("tokens_per_event", c->tokens_per_event, 1);
    assert_int_equal(c->repeats, 1);
    assert_string_equal(c->ci95.method, "batch_means");
    expect("ci low", c->ci95.low, 200);
    expect("ci high", c->ci95.high, 200);
    assert_int_equal(c->client.unread_bytes, 4 * 7);
    expect("fastest", r.s.fastest_stream_tok_s, 50);
    expect("waiting_share", c->waiting_share, NAN);
    cell_rig_release(&r);
}

/* The same events by each source of token counts; usage carries two tokens an event. */
static void test_token_sources(void **state)
{
    static const struct {
        enum token_source source;
        bool fell;
        int64_t output;
        double per_event;
        const char *name;
    } rows[] = {
        {TOKENS_USAGE_STREAM, false, 100, 2, "usage_stream"},
        {TOKENS_USAGE_STREAM, true, 150, 3, "usage_final"}, /* 3 by completed requests */
        {TOKENS_USAGE_FINAL, false, 150, 3, "usage_final"},
        {TOKENS_EVENTS, false, 50, 1, "events"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cell_rig r;
        cell_rig_init(&r, 1, 1000);
        r.s.token_source = rows[i].source;
        r.s.ratio_tokens = 30;
        r.s.ratio_events = 10;
        r.run.tally.usage_fell = rows[i].fell;
        rig_send(&r, 0, 500);
        rig_token(&r, 0, 600, 2);
        rig_open(&r, 1000);
        for (int k = 0; k < 50; k++)
            rig_token(&r, 0, 1000 + k * 20, 2);
        rig_close(&r);
        cell_judge(&r.run, &r.view);
        assert_int_equal(r.cell.output_tokens, rows[i].output);
        expect("tokens_per_event", r.cell.tokens_per_event, rows[i].per_event);
        assert_string_equal(r.cell.token_source, rows[i].name);
        expect("total", r.cell.total_tok_s, (double)rows[i].output);
        expect("per request", r.cell.per_request_tok_s, (double)rows[i].output);
        cell_rig_release(&r);
    }
}

static void test_repeats(void **state)
{
    struct cell_rig r;
    (void)state;
    cell_rig_init(&r, 2, 1000);
    for (int i = 0; i < 3; i++)
        run_window(&r, 20);
    r.run.each_events[0] = 90; /* as if they had differed */
    r.run.each_events[2] = 110;
    cell_judge(&r.run, &r.view);
    assert_int_equal(r.cell.status, STATUS_VALID);
    assert_int_equal(r.cell.repeats, 3);
    expect("measured_s", r.cell.measured_s, 3);
    assert_int_equal(r.cell.output_tokens, 300);
    expect("total_tok_s", r.cell.total_tok_s, 100);
    assert_string_equal(r.cell.ci95.method, "t_repeats");
    /* sd 10, n 3: 100 -+ 4.303 x 10 / sqrt(3) */
    assert_true(fabs(r.cell.ci95.low - 75.16) < 0.02 && fabs(r.cell.ci95.high - 124.84) < 0.02);
    cell_rig_release(&r);
}

/* What the monitor saw goes into the cell; its running gauge is the better average. */
static void test_server_view(void **state)
{
    struct cell_rig r;
    (void)state;
    cell_rig_init(&r, 2, 1000);
    run_window(&r, 20);
    r.view.running = 1.95;
    r.view.running_held = 2;
    r.view.waiting = 0.01;
    r.view.waiting_share = 0.01;
    r.view.kv_used_max = 0.5;
    r.view.generated = 101;
    r.view.preemptions = 0;
    r.view.power_w = 250;
    r.view.energy_j = 250;
    cell_judge(&r.run, &r.view);
    assert_int_equal(r.cell.status, STATUS_VALID);
    assert_int_equal(r.cell.marks, 0);
    expect("avg_active", r.cell.avg_active, 1.95);
    assert_string_equal(r.cell.avg_active_source, "server");
    expect("server_output_tokens", r.cell.server_output_tokens, 101);
    expect("kv_used_max", r.cell.kv_used_max, 0.5);
    expect("energy_j", r.cell.energy_j, 250);
    cell_rig_release(&r);
}

/* --- statuses: the first rule that holds --- */

struct conditions {
    int failures, max_errors;
    bool looped, stop, skip, silent, no_tokens, ready_late, opened_early, one_idle;
    double running, waiting_share; /* NAN: no metrics; 0 is NAN too for running */
};

static void arrange(struct cell_rig *r, const struct conditions *c)
{
    cell_rig_init(r, 4, 1000);
    if (c->no_tokens) {
        rig_open(r, RIG_T0_MS);
        rig_close(r);
    } else if (c->silent) {
        for (int i = 0; i < 4; i++) {
            rig_send(r, i, 500);
            rig_token(r, i, 600, 1);
        }
        rig_open(r, RIG_T0_MS);
        rig_close(r);
    } else {
        run_window(r, 20);
    }
    r->options.max_errors = c->max_errors;
    r->run.failures = c->failures;
    err_set(&r->run.failure, ERR_HTTP, "HTTP 500: boom");
    r->run.looped = c->looped;
    r->run.finding = (struct guard_finding){
        .stream = 1, .channel = CHANNEL_REASONING, .loop = {.period = 9, .cycles = 500}};
    snprintf(r->run.finding.loop.excerpt, sizeof r->run.finding.loop.excerpt, "again and");
    atomic_store(&r->control.stop, c->stop);
    atomic_store(&r->control.skip, c->skip);
    r->run.ready_late = c->ready_late;
    r->run.opened_early = c->opened_early;
    if (c->one_idle)
        r->run.with_token = 3;
    if (c->running > 0) {
        r->view.running = c->running;
        r->view.running_held = ceil(c->running);
        r->view.waiting_share = c->waiting_share;
    }
}

static void test_statuses(void **state)
{
    static const struct {
        struct conditions when;
        enum cell_status status;
        const char *reason; /* NULL: none */
        bool numbers;
        unsigned marks;
    } rows[] = {
        {{.running = 0}, STATUS_VALID, NULL, true, 0},
        /* errors */
        {{.failures = 1}, STATUS_ERROR, "HTTP 500: boom", false, 0},
        {{.failures = 3}, STATUS_ERROR, "3 requests failed; the first: HTTP 500: boom", false, 0},
        {{.failures = 1, .max_errors = 1}, STATUS_VALID, NULL, true, 0},
        {{.failures = 2, .max_errors = 1},
         STATUS_ERROR,
         "2 requests failed; the first: HTTP 500: boom",
         false,
         0},
        {{.failures = 1, .looped = true, .stop = true}, STATUS_ERROR, "HTTP 500: boom", false, 0},
        /* looped */
        {{.looped = true},
         STATUS_LOOPED,
         "a stream repeated the same 9 characters 500 times",
         false,
         0},
        {{.looped = true, .stop = true, .skip = true},
         STATUS_LOOPED,
         "a stream repeated the same 9 characters 500 times",
         false,
         0},
        /* the user */
        {{.stop = true}, STATUS_ERROR, "interrupted", false, 0},
        {{.stop = true, .skip = true}, STATUS_ERROR, "interrupted", false, 0},
        {{.skip = true}, STATUS_SKIPPED, "skipped by the user", false, 0},
        /* nothing came */
        {{.no_tokens = true}, STATUS_ERROR, "no stream produced a token in time", false, 0},
        {{.silent = true}, STATUS_ERROR, "no token came in the window", false, 0},
        /* queued */
        {{.running = 4, .waiting_share = 0.06},
         STATUS_QUEUED,
         "requests waited during 6 % of the window; 4.0 of 4 were active",
         true,
         0},
        {{.running = 4, .waiting_share = 0.05}, STATUS_VALID, NULL, true, 0},
        {{.running = 3.79}, STATUS_QUEUED, "3.8 of 4 requests were active", true, 0},
        {{.running = 3.8}, STATUS_VALID, NULL, true, 0},
        {{.running = 4, .one_idle = true}, STATUS_QUEUED, "4.0 of 4 requests were active", true, 0},
        {{.running = 4, .ready_late = true},
         STATUS_QUEUED,
         "not all 4 requests were ready in time",
         true,
         0},
        {{.opened_early = true},
         STATUS_QUEUED,
         "not all 4 requests were ready in time",
         true,
         MARK_INFERRED},
        {{.one_idle = true}, STATUS_QUEUED, "4.0 of 4 requests were active", true, MARK_INFERRED},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cell_rig r;
        arrange(&r, &rows[i].when);
        cell_judge(&r.run, &r.view);
        if (r.cell.status != rows[i].status || r.cell.marks != rows[i].marks)
            fail_msg("row %zu: %s, marks %x, %s", i, status_name(r.cell.status), r.cell.marks,
                     r.cell.reason ? r.cell.reason : "");
        if (rows[i].reason)
            assert_string_equal(r.cell.reason, rows[i].reason);
        else
            assert_null(r.cell.reason);
        assert_int_equal(!isnan(r.cell.total_tok_s), rows[i].numbers);
        assert_int_equal(r.cell.output_tokens >= 0, rows[i].numbers);
        cell_rig_release(&r);
    }
}

/* Without metrics: streams without a token while the others decode. */
static void test_queued_by_the_streams(void **state)
{
    struct cell_rig r;
    (void)state;
    cell_rig_init(&r, 4, 1000);
    rig_send(&r, 3, 500); /* waits for ever */
    r.run.count = 3;
    run_window(&r, 20);
    r.run.count = 4;
    cell_judge(&r.run, &r.view);
    assert_int_equal(r.cell.status, STATUS_QUEUED);
    assert_string_equal(r.cell.reason, "3.0 of 4 requests were active");
    assert_int_equal(r.cell.marks, MARK_INFERRED);
    expect("total_tok_s", r.cell.total_tok_s, 150); /* kept */
    r.s.facts.max_running.value = 3;
    snprintf(r.s.facts.max_running.source, sizeof r.s.facts.max_running.source, "GET /props");
    cell_judge(&r.run, &r.view);
    assert_string_equal(r.cell.reason, "3.0 of 4 requests were active; the server runs at most 3 "
                                       "at once (GET /props)");
    cell_rig_release(&r);
}

/* The server's own counter over the same window: more than 5 % off is said, if it counts at all. */
static void test_counts_are_compared(void **state)
{
    static const struct {
        double theirs; /* of 200 that we received */
        unsigned marks;
        bool said;
    } rows[] = {{NAN, 0, false},
                {200, 0, false},
                {209, 0, false},
                {212, 0, true},
                {188, 0, true},
                {90, 0, false}, /* too few to tell */
                {400, MARK_FOREIGN_LOAD, false}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cell_rig r;
        cell_rig_init(&r, 4, 1000);
        r.cell.marks = rows[i].marks;
        run_window(&r, 20);
        r.view.generated = rows[i].theirs;
        cell_judge(&r.run, &r.view);
        if (r.result.event_count != (rows[i].said ? 1 : 0))
            fail_msg("row %zu", i);
        cell_rig_release(&r);
    }
}

static void test_loop_evidence(void **state)
{
    const struct conditions looped = {.looped = true};
    struct cell_rig r;
    (void)state;
    arrange(&r, &looped);
    cell_judge(&r.run, &r.view);
    assert_int_equal(r.cell.loop.period, 9);
    assert_int_equal(r.cell.loop.cycles, 500);
    assert_string_equal(r.cell.loop.channel, "reasoning");
    assert_string_equal(r.cell.loop.excerpt, "again and");
    cell_rig_release(&r);
}

/* --- marks --- */

static void test_marks_of_the_server(void **state)
{
    static const struct {
        struct window_view view; /* beside running 4 */
        unsigned marks;
    } rows[] = {
        {{.running_held = 4.4}, 0},
        {{.running_held = 4.6}, MARK_FOREIGN_LOAD},
        {{.preemptions = 0}, 0},
        {{.preemptions = 1}, MARK_PREEMPTED},
        {{.preemptions = NAN}, 0},
        {{.throttled = true}, MARK_THROTTLED},
        {{.running_held = 9, .preemptions = 2, .throttled = true},
         MARK_FOREIGN_LOAD | MARK_PREEMPTED | MARK_THROTTLED},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cell_rig r;
        cell_rig_init(&r, 4, 1000);
        run_window(&r, 20);
        r.view = rows[i].view;
        r.view.running = 4;
        cell_judge(&r.run, &r.view);
        if (r.cell.marks != rows[i].marks || r.cell.status != STATUS_VALID)
            fail_msg("row %zu: marks %x", i, r.cell.marks);
        cell_rig_release(&r);
    }
}

/* Busy for more than 75 % of the window, or late by more than a tenth of the time between tokens
 * (1 ms at least), of which a p99 wants 662 samples. */
static void test_client_limited(void **state)
{
    static const struct {
        double cpu_ms, every_ms;
        int lags;
        double lag_ms;
        bool limited;
    } rows[] = {
        {740, 20, 0, 0, false},  {760, 20, 0, 0, true},    {0, 20, 662, 1.9, false},
        {0, 20, 662, 2.1, true}, {0, 20, 661, 9.0, false}, {0, 5, 662, 0.9, false},
        {0, 5, 662, 1.1, true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cell_rig r;
        cell_rig_init(&r, 1, 1000);
        run_window(&r, rows[i].every_ms);
        r.run.tally.cpu_ns[i % CELL_THREADS] = rig_ms(rows[i].cpu_ms);
        for (int k = 0; k < rows[i].lags; k++)
            hist_record(r.run.tally.lag, rig_ms(rows[i].lag_ms));
        cell_judge(&r.run, &r.view);
        expect("cpu_pct", r.cell.client.cpu_pct, rows[i].cpu_ms / 10);
        if (r.cell.client.limited != rows[i].limited ||
            r.cell.marks != (rows[i].limited ? (unsigned)MARK_CLIENT_LIMITED : 0))
            fail_msg("row %zu: marks %x", i, r.cell.marks);
        cell_rig_release(&r);
    }
}

/* Twice as fast in one half as in the other, or by less than 5 %, or only in a noise that explains
 * the difference. */
static void test_unsteady(void **state)
{
    static const struct {
        double first, second, noise;
        bool unsteady;
    } rows[] = {
        {10, 10, 1, false},   {10, 20, 1, true},   {20, 10, 1, true},
        {100, 104, 1, false}, {100, 110, 1, true}, {100, 110, 60, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cell_rig r;
        cell_rig_init(&r, 1, 2000);
        run_window(&r, 20);
        struct tally *t = &r.run.tally;
        assert_int_equal(t->bins, 100);
        for (size_t k = 0; k < t->bins; k++)
            t->bin_events[k] = (k < 50 ? rows[i].first : rows[i].second) +
                               (k / 5 % 2 ? rows[i].noise : -rows[i].noise);
        cell_judge(&r.run, &r.view);
        if (r.cell.marks != (rows[i].unsteady ? (unsigned)MARK_UNSTEADY : 0))
            fail_msg("row %zu: marks %x", i, r.cell.marks);
        cell_rig_release(&r);
    }
}

/* More than 2 % off, and more than eight tokens, in any stream that says it; else the warm-up's. */
static void test_prompt_off(void **state)
{
    static const struct {
        int64_t context, prompts[3], warm;
        double median;
        bool off;
    } rows[] = {
        {10000, {10000, 10100, 10200}, -1, 10100, false},
        {10000, {10000, 10100, 10201}, -1, 10100, true},
        {10000, {10201, 10201, 10201}, -1, 10201, true},
        {10000, {9800, 9800, 9800}, -1, 9800, false},
        {10000, {9799, 9799, 9799}, -1, 9799, true},
        {10000, {-1, -1, 10500}, -1, 10500, true},
        {10000, {-1, -1, -1}, 10300, 10300, true},
        {10000, {-1, -1, -1}, 10000, 10000, false},
        {10000, {-1, -1, -1}, -1, NAN, false},  /* nobody counts */
        {100, {108, 108, 108}, -1, 108, false}, /* eight tokens of a hundred */
        {100, {109, 109, 109}, -1, 109, true},
        {0, {50, 50, 50}, 50, 50, false}, /* no context was asked for */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cell_rig r;
        cell_rig_init(&r, 3, 1000);
        r.cell.context_tokens = rows[i].context;
        run_window(&r, 20);
        for (int k = 0; k < 3; k++)
            r.run.streams[k].stream.record.prompt_tokens = rows[i].prompts[k];
        r.row.prompt_tokens = rows[i].warm;
        cell_judge(&r.run, &r.view);
        expect("prompt_tokens", r.cell.prompt_tokens, rows[i].median);
        if (r.cell.marks != (rows[i].off ? (unsigned)MARK_PROMPT_OFF : 0))
            fail_msg("row %zu: marks %x", i, r.cell.marks);
        cell_rig_release(&r);
    }
}

/* Where usage comes at the end, the request before the unfinished one tells. */
static void test_prompt_of_the_request_before(void **state)
{
    struct cell_rig r;
    (void)state;
    cell_rig_init(&r, 3, 1000);
    for (int i = 0; i < 2; i++) {
        rig_send(&r, i, 300);
        r.run.streams[i].stream.record.prompt_tokens = 40 + 10 * i;
        rig_end(&r, i, 400, OUTCOME_COMPLETE);
    }
    run_window(&r, 20);
    cell_judge(&r.run, &r.view);
    expect("prompt_tokens", r.cell.prompt_tokens, 45);
    cell_rig_release(&r);
}

/* Bundles of `size` events that come in `reads` reads, a bundle every `every_ms`. */
static void run_bundles(struct cell_rig *r, int size, int reads, double every_ms)
{
    rig_send(r, 0, 900);
    rig_token(r, 0, 950, 1);
    rig_open(r, RIG_T0_MS);
    for (double at = RIG_T0_MS; at < RIG_T0_MS + 1000; at += every_ms)
        for (int i = 0; i < size; i++)
            rig_token(r, 0, at, 1);
    r->run.tally.reads = (int64_t)(1000 / every_ms) * reads;
    rig_close(r);
}

/* Many events a read with nothing between them: the times are the proxy's. A few at once are a
 * decoder that guesses ahead; and a client that was behind has bundled them itself. */
static void test_buffered(void **state)
{
    static const struct {
        int size, reads;
        double every_ms, cpu_ms;
        bool buffered;
    } rows[] = {
        {64, 1, 250, 0, true},  {16, 1, 100, 0, true},    {13, 1, 100, 0, true},
        {16, 5, 100, 0, true}, /* a bundle in five segments */
        {16, 6, 100, 0, false}, {8, 1, 100, 0, false},    {4, 1, 20, 0, false},
        {1, 1, 10, 0, false},   {16, 1, 100, 990, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cell_rig r;
        cell_rig_init(&r, 1, 1000);
        run_bundles(&r, rows[i].size, rows[i].reads, rows[i].every_ms);
        r.run.tally.cpu_ns[0] = rig_ms(rows[i].cpu_ms);
        cell_judge(&r.run, &r.view);
        bool marked = r.cell.marks & MARK_BUFFERED;
        if (marked != rows[i].buffered)
            fail_msg("row %zu: marks %x", i, r.cell.marks);
        assert_int_equal(r.cell.status, STATUS_VALID);
        assert_true(r.cell.total_tok_s > 0);
        assert_int_equal(marked, isnan(r.cell.ttft_ms.p50) && isnan(r.cell.gap_ms.p50) &&
                                     isnan(r.cell.per_request_tok_s) && isnan(r.cell.avg_active));
        cell_rig_release(&r);
    }
}

/* More than 5 % short, in any request that says so: what was measured is another length. */
static void test_cut_prompts(void **state)
{
    static const struct {
        int64_t context, prompt;
        bool counts, cut;
    } rows[] = {
        {8192, 2050, true, true},  {8192, 7700, true, true},   {8192, 7900, true, false},
        {8192, 9000, true, false}, {8192, 2050, false, false}, {8192, -1, true, false},
        {0, 1, true, true},        {0, 40, true, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cell_rig r;
        cell_rig_init(&r, 2, 1000);
        r.s.counts_prompt = rows[i].counts;
        r.s.fit.overhead = 60;
        r.cell.context_tokens = rows[i].context;
        run_window(&r, 20);
        r.run.streams[1].stream.record.prompt_tokens = rows[i].prompt;
        rig_end(&r, 1, 2000, OUTCOME_CANCELLED);
        cell_judge(&r.run, &r.view);
        if ((r.cell.status == STATUS_ERROR) != rows[i].cut)
            fail_msg("row %zu: status %d", i, r.cell.status);
        if (rows[i].cut) {
            assert_true(r.cell.marks & MARK_PROMPT_OFF);
            assert_true(isnan(r.cell.total_tok_s));
            assert_non_null(strstr(r.cell.reason, "the server cut the prompt"));
        }
        cell_rig_release(&r);
    }
}

/* Marks set before the cell ran stay. */
static void test_earlier_marks_stay(void **state)
{
    struct cell_rig r;
    (void)state;
    cell_rig_init(&r, 2, 1000);
    r.cell.marks = MARK_OVER_CAPACITY | MARK_FOREIGN_LOAD;
    run_window(&r, 20);
    cell_judge(&r.run, &r.view);
    assert_int_equal(r.cell.marks, MARK_OVER_CAPACITY | MARK_FOREIGN_LOAD);
    cell_rig_release(&r);
}

/* What was judged satisfies the invariants of stored results. */
static void test_judged_cells_pass_the_check(void **state)
{
    static const struct conditions all[] = {
        {.running = 0},         {.failures = 1},
        {.looped = true},       {.skip = true},
        {.stop = true},         {.silent = true},
        {.no_tokens = true},    {.running = 2.5},
        {.opened_early = true}, {.running = 4, .waiting_share = 0.5}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct cell_rig r;
        struct result result;
        struct err err = {0};
        arrange(&r, &all[i]);
        cell_judge(&r.run, &r.view);
        result_init(&result);
        mem_set_string(&result.id, "01890a5d-ac96-774b-bcce-b302099a8057");
        mem_set_string(&result.kind, "measured");
        mem_set_string(&result.tool.name, "tokgrid");
        mem_set_string(&result.tool.version, "0");
        mem_set_string(&result.subject.model, "m");
        mem_set_string(&result.server.url, "http://h");
        plan_init(&result.plan);
        result_add_cell_take(&result, &r.cell);
        if (!result_check(&result, &err))
            fail_msg("case %zu: %s", i, err.text);
        result_release(&result);
        cell_init(&r.cell, 0, 1);
        cell_rig_release(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_token_sources),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_server_view),
        cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_queued_by_the_streams),
        cmocka_unit_test(test_counts_are_compared),
        cmocka_unit_test(test_loop_evidence),
        cmocka_unit_test(test_marks_of_the_server),
        cmocka_unit_test(test_client_limited),
        cmocka_unit_test(test_unsteady),
        cmocka_unit_test(test_prompt_off),
        cmocka_unit_test(test_prompt_of_the_request_before),
        cmocka_unit_test(test_buffered),
        cmocka_unit_test(test_cut_prompts),
        cmocka_unit_test(test_earlier_marks_stay),
        cmocka_unit_test(test_judged_cells_pass_the_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
