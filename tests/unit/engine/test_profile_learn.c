/* Learning from a matrix: small ones worked out by hand, hostile ones that must leave usable
 * tables, and the two published pages, predicted cell by cell from the learned profile without a
 * clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../report/published.h"
#include "base/num.h"
#include "base/rand.h"
#include "engine/profile.h"
#include "near.h"

/* --- small results --- */

struct rig {
    struct result r;
    struct profile p;
    struct err err;
};

static int setup(void **state)
{
    struct rig *rig = mem_alloc(sizeof *rig);
    result_init(&rig->r);
    rig->r.plan.max_output = 8192;
    rig->r.plan.duration_ns = 30 * NS_PER_S;
    rig->r.plan.settle_ns = 2 * NS_PER_S;
    rig->r.plan.repeats = 1;
    *state = rig;
    return 0;
}

static int teardown(void **state)
{
    struct rig *rig = *state;
    result_release(&rig->r);
    free(rig);
    return 0;
}

static struct cell *add_cell(struct rig *rig, int64_t context, int concurrency,
                             enum cell_status status, double total, double itl_ms)
{
    struct cell c;
    cell_init(&c, context, concurrency);
    c.status = status;
    c.total_tok_s = total;
    c.itl_ms.p50 = itl_ms;
    return result_add_cell_take(&rig->r, &c);
}

static void add_prefill(struct rig *rig, int64_t context, double prompt, double ttft_ms)
{
    struct prefill_row row;
    prefill_row_init(&row, context);
    row.status = STATUS_VALID;
    row.prompt_tokens = prompt;
    row.ttft_ms.p50 = ttft_ms;
    result_add_prefill_take(&rig->r, &row);
}

static void learn(struct rig *rig)
{
    if (!profile_learn(&rig->r, &rig->p, &rig->err))
        fail_msg("%s", rig->err.text);
}

static void test_one_cell(void **state)
{
    struct rig *rig = *state;
    add_cell(rig, 0, 4, STATUS_VALID, 200, 20);
    learn(rig);
    assert_near(profile_decode_ns(&rig->p, 0, 4), 20e6, 1);
    assert_near(profile_decode_ns(&rig->p, 30000, 64), 20e6, 1);
    assert_near(profile_warm_ns(&rig->p, 0, 1), 20e6, 1);     /* no TTFT: one more step */
    assert_near(profile_prefill_ns(&rig->p, 0, 32), 20e6, 1); /* 32 times as fast */
    assert_int_equal(rig->p.context_limit, 8192);
    assert_int_equal(rig->p.kv_tokens, 4 * 8192);
    assert_int_equal(rig->p.max_running, 4);
    assert_int_equal(rig->p.cause_count, 0);
    assert_true(rig->p.prefix_cache);
    assert_string_equal(rig->p.served_model, "unknown");
}

/* What a step takes when total and time between tokens say the same, differ, or one is missing. */
static void test_step_of_a_cell(void **state)
{
    static const struct {
        int concurrency;
        double total, itl_ms, per_request, step_ms, decoding;
    } cases[] = {
        {2, 95, 20, NAN, 20.519567, 0},  /* sqrt(20 x 2000 / 95) */
        {2, 95, 20, 50.5, 20.417732, 0}, /* the rate has more digits: sqrt(19.80198 x 21.05263) */
        {2, 100, NAN, NAN, 20, 0},       /* 2 / 100 s */
        {2, NAN, 20, NAN, 20, 0},        /**/
        {4, 150, 20, NAN, 20, 3},        /* 3 of 4 decode: one lags */
        {4, 190, 20, NAN, 20.519567, 0}, /* 3.8 of 4: the mean is near enough to both */
        {2, 75, 20, NAN, 23.094011, 0},  /* of two, a laggard would move the median */
        {4, 208, 20, NAN, 19.611614, 0}, /* more than all: the mean as well */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        void *s;
        setup(&s);
        struct rig *rig = s;
        struct cell *c =
            add_cell(rig, 0, cases[i].concurrency, STATUS_VALID, cases[i].total, cases[i].itl_ms);
        c->per_request_tok_s = cases[i].per_request;
        learn(rig);
        assert_near(profile_decode_ns(&rig->p, 0, 4), cases[i].step_ms * 1e6, 1);
        assert_int_equal(rig->p.cause_count, cases[i].decoding > 0);
        if (cases[i].decoding > 0) {
            assert_near(rig->p.causes[0].decoding, cases[i].decoding, 1e-9);
            assert_int_equal(rig->p.causes[0].max_running, 0);
        }
        teardown(&s);
    }
}

/* Requests of 101 tokens that end and are replaced: 2 s of decoding after 0.5 s to the first token,
 * so four streams give 4 x 101 tokens in 2.5 s. The step itself is 20 ms. */
static void test_requests_that_end(void **state)
{
    struct rig *rig = *state;
    rig->r.plan.max_output = 101;
    struct cell *c = add_cell(rig, 0, 4, STATUS_VALID, 160, 20);
    c->completed = 48;
    c->ttft_ms.p50 = 500;
    learn(rig);
    assert_int_equal(rig->p.cause_count, 0);
    assert_near(profile_decode_ns(&rig->p, 0, 4), 20e6, 1);
    assert_near(profile_warm_ns(&rig->p, 0, 4), 500e6, 1);
}

static void test_queued_causes(void **state)
{
    static const struct {
        int concurrency;
        double total, itl_ms;
        struct cause cause;
    } cases[] = {
        /* 180.5 x 0.0286 = 5.1623 of 8: six run, the last now and then */
        {8, 180.5, 28.6, {.max_running = 6, .decoding = 5.1623, .step_ns = 28.6e6}},
        /* 4.01 of 8: the hundredth is rounding */
        {8, 200.5, 20, {.max_running = 4, .step_ns = 20e6}},
        /* 3.6 of 4: all run, one of them now and then */
        {4, 180, 20, {.waiting_seen = true, .decoding = 3.6, .step_ns = 20e6}},
        /* 0.9 of 1: nothing comes in the last tenth of the window */
        {1, 45, 20, {.waiting_seen = true, .step_ns = 20e6, .hold_from_s = 29, .hold_until_s = 32}},
        /* 1.5 of 4: nor in the last quarter of two streams' */
        {4, 75, 20, {.max_running = 2, .step_ns = 20e6, .hold_from_s = 24.5, .hold_until_s = 32}},
        /* 0.01 of 2: one at least */
        {2, 0.5, 20, {.max_running = 1, .step_ns = 20e6, .hold_from_s = 2.3, .hold_until_s = 32}},
        /* all decode */
        {1, 49, 20, {.waiting_seen = true}},
        {4, 197, 20, {.waiting_seen = true}},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct cause *want = &cases[i].cause;
        void *s;
        setup(&s);
        struct rig *rig = s;
        struct cell *cell = add_cell(rig, 16384, cases[i].concurrency, STATUS_QUEUED,
                                     cases[i].total, cases[i].itl_ms);
        cell->ttft_ms.p50 = 300;
        learn(rig);
        assert_int_equal(rig->p.cause_count, 1);
        const struct cause *c = profile_cause(&rig->p, cases[i].concurrency, 16500);
        assert_non_null(c);
        assert_int_equal(c->max_running, want->max_running);
        assert_near(c->decoding, want->decoding, 1e-9);
        assert_near(c->step_ns, want->step_ns, 1);
        assert_near(profile_warm_ns(&rig->p, 16384, cases[i].concurrency), 300e6, 1);
        assert_int_equal(c->waiting_seen, want->waiting_seen);
        assert_near(c->hold_from_s, want->hold_from_s, 1e-9);
        assert_near(c->hold_until_s, want->hold_until_s, 1e-9);
        assert_false(c->looped);
        teardown(&s);
    }
}

/* Two of eight ran at 40 ms; a cell of two says 25 ms. Its word stands, the cause has its own. */
static void test_queued_spoils_nothing(void **state)
{
    struct rig *rig = *state;
    add_cell(rig, 0, 8, STATUS_QUEUED, 50, 40);
    add_cell(rig, 0, 2, STATUS_VALID, 80, 25);
    learn(rig);
    assert_near(profile_decode_ns(&rig->p, 0, 2), 25e6, 1);
    assert_near(profile_cause(&rig->p, 8, 0)->step_ns, 40e6, 1);
}

/* Where queued requests end and follow one another, TTFT is mostly the queue. */
static void test_queue_is_no_ttft(void **state)
{
    struct rig *rig = *state;
    add_cell(rig, 0, 1, STATUS_VALID, 50, 20)->ttft_ms.p50 = 100;
    struct cell *c = add_cell(rig, 0, 8, STATUS_QUEUED, 100, 20);
    c->ttft_ms.p50 = 9000;
    c->completed = 30;
    learn(rig);
    assert_near(profile_warm_ns(&rig->p, 0, 2), 100e6, 1);
}

static void test_looped(void **state)
{
    struct rig *rig = *state;
    add_cell(rig, 0, 1, STATUS_VALID, 100, 10);
    add_cell(rig, 0, 2, STATUS_LOOPED, NAN, NAN);
    add_cell(rig, 0, 4, STATUS_VALID, 250, 16);
    learn(rig);
    assert_int_equal(rig->p.cause_count, 1);
    assert_true(profile_cause(&rig->p, 2, 0)->looped);
    assert_null(profile_cause(&rig->p, 4, 0));
    assert_near(profile_decode_ns(&rig->p, 0, 2), 12e6, 1);
}

/* Prompts of 48 and 16,384 tokens with mean steps of 10 and 20 ms from 2 s after the first token to
 * 32 s, so 3,000 and 1,500 tokens in between. With k = (s1 - s0) / 16336 a stream has n tokens
 * after s n + k n^2 / 2:
 *     s0 = 8.885727, s1 = 19.448666, k = 0.000646605 ms
 *     223.266 tokens after 2 s, 3223.266 after 32 s; 102.660 and 1602.660 in the second row */
static void test_growth(void **state)
{
    struct rig *rig = *state;
    add_cell(rig, 0, 1, STATUS_VALID, 100, 10);
    add_cell(rig, 16384, 1, STATUS_VALID, 50, 20);
    learn(rig);
    assert_near(profile_decode_ns(&rig->p, 48, 1), 8.885727e6, 1);
    assert_near(profile_decode_ns(&rig->p, 16384, 1), 19.448666e6, 1);
    /* half way through the tokens of a window a step is as long as its mean */
    assert_near(profile_decode_ns(&rig->p, 48 + (223.266 + 3223.266) / 2, 1), 10e6, 10);
    assert_near(profile_decode_ns(&rig->p, 16384 + (102.660 + 1602.660) / 2, 1), 20e6, 10);
}

/* A row stands at the prompt that the server counted: a TTFT of 100 ms at 60 tokens, 300 at 1060.
 */
static void test_counted_prompts(void **state)
{
    struct rig *rig = *state;
    add_cell(rig, 0, 1, STATUS_VALID, 50, 20)->ttft_ms.p50 = 100;
    rig->r.decode[0].prompt_tokens = 60;
    add_cell(rig, 1024, 1, STATUS_VALID, 50, 20)->ttft_ms.p50 = 300;
    rig->r.decode[1].prompt_tokens = 1060;
    learn(rig);
    assert_near(profile_warm_ns(&rig->p, 60, 1), 100e6, 1);
    assert_near(profile_warm_ns(&rig->p, 560, 1), 200e6, 1);
    assert_near(profile_warm_ns(&rig->p, 1060, 1), 300e6, 1);
}

static void test_prefill(void **state)
{
    struct rig *rig = *state;
    add_cell(rig, 1000, 1, STATUS_VALID, 50, 20);
    add_prefill(rig, 2000, 2000, 3000);
    add_prefill(rig, 1000, NAN, 1000);
    add_prefill(rig, 1500, 1500, 900); /* longer, and sooner done: not believed */
    rig->r.server.context_limit = 3000;
    learn(rig);
    assert_near(profile_prefill_ns(&rig->p, 0, 500), 500e6, 1);
    assert_near(profile_prefill_ns(&rig->p, 0, 1000), 1000e6, 1);
    assert_near(profile_prefill_ns(&rig->p, 1000, 2000), 2000e6, 1);
    /* 0.5 ms L + 0.5 us L^2 goes through the origin and both: 1.5 s + 4.5 s */
    assert_near(profile_prefill_ns(&rig->p, 0, 3000), 6000e6, 1);
    assert_int_equal(rig->p.warm_tokens, 500); /* half of the shortest row */
}

/* --- limits --- */

static void test_kv(void **state)
{
    static const struct {
        int64_t max_output;
        double budget;
        struct {
            int64_t context;
            int concurrency;
            enum cell_status status;
        } cells[4];
        int64_t kv_tokens;
        int block_size;
    } cases[] = {
        /* what ran: 4 x 8192 */
        {8192,
         NAN,
         {{0, 1, STATUS_VALID}, {0, 4, STATUS_VALID}, {0, 8, STATUS_SKIPPED}},
         32768,
         16},
        /* what did not says it is less than 2 x (4096 + 8192); errors ran too */
        {8192,
         NAN,
         {{0, 1, STATUS_VALID}, {4096, 1, STATUS_ERROR}, {4096, 2, STATUS_OVER_CAPACITY}},
         12288,
         16},
        /* contradicting: 8 x 8192 ran although 2 x (4096 + 8192) was over */
        {8192,
         NAN,
         {{0, 8, STATUS_VALID}, {0, 2, STATUS_VALID}, {4096, 2, STATUS_OVER_CAPACITY}},
         16384,
         16},
        /* whole blocks upwards */
        {100, NAN, {{0, 1, STATUS_VALID}}, 112, 16},
        /* 100 has to fit and 104 not: blocks of 4 */
        {100, NAN, {{0, 1, STATUS_VALID}, {4, 1, STATUS_OVER_CAPACITY}}, 100, 4},
        /* the server said so: 50001 in blocks of one */
        {8192, 50001, {{0, 1, STATUS_VALID}}, 50001, 1},
        {8192, 50016, {{0, 8, STATUS_VALID}}, 50016, 16},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        void *s;
        setup(&s);
        struct rig *rig = s;
        rig->r.plan.max_output = cases[i].max_output;
        rig->r.server.kv_budget = cases[i].budget;
        for (size_t j = 0; j < 4 && cases[i].cells[j].concurrency; j++) {
            enum cell_status status = cases[i].cells[j].status;
            double total = status_has_numbers(status) ? 50 : NAN;
            add_cell(rig, cases[i].cells[j].context, cases[i].cells[j].concurrency, status, total,
                     NAN);
        }
        learn(rig);
        assert_int_equal(rig->p.kv_tokens, cases[i].kv_tokens);
        assert_int_equal(rig->p.block_size, cases[i].block_size);
        teardown(&s);
    }
}

static void test_max_running(void **state)
{
    static const struct {
        const char *command;
        double said;
        int max_running;
    } cases[] = {
        {NULL, NAN, 4},
        {"vllm serve x --max-num-seqs 29 --y", NAN, 29},
        {"vllm serve x --max-num-seqs=29", NAN, 29},
        {"llama-server -m x -np 2", NAN, 2},
        {"vllm serve --max-num-seqs many", NAN, 4},
        {"vllm serve --max-num-seqs", NAN, 4},
        {"vllm serve --max-num-seqs 99999999999999999999", NAN, 4},
        {"vllm serve --max-num-seqs 29", 16, 16},
        {"vllm serve --max-num-seqs 0", NAN, 1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        void *s;
        setup(&s);
        struct rig *rig = s;
        add_cell(rig, 0, 4, STATUS_VALID, 200, 20);
        mem_set_string(&rig->r.engine.launch_command, cases[i].command);
        rig->r.server.max_running = cases[i].said;
        learn(rig);
        assert_int_equal(rig->p.max_running, cases[i].max_running);
        teardown(&s);
    }
}

static void test_nothing_to_learn(void **state)
{
    struct rig *rig = *state;
    assert_false(profile_learn(&rig->r, &rig->p, &rig->err));
    assert_non_null(strstr(rig->err.text, "nothing to learn from"));
    add_cell(rig, 0, 1, STATUS_ERROR, 50, 20); /* an error's figures are no figures */
    add_cell(rig, 0, 2, STATUS_OVER_CAPACITY, NAN, NAN);
    add_cell(rig, 0, 4, STATUS_LOOPED, NAN, NAN);
    add_cell(rig, 0, 8, STATUS_VALID, NAN, NAN);
    add_cell(rig, 0, 16, STATUS_VALID, 0, -1);
    assert_false(profile_learn(&rig->r, &rig->p, &rig->err));
    assert_int_equal(rig->err.code, ERR_FORMAT);
}

/* --- any result --- */

static double any_figure(struct rng *rng)
{
    static const double odd[] = {0, -1, 1e-9, 1, 50, 1e15};
    return rng_below(rng, 4)   ? exp(20 * (rng_below(rng, 1000) / 1000.0) - 5)
           : rng_below(rng, 2) ? NAN
                               : odd[rng_below(rng, ARRAY_LEN(odd))];
}

/* Whatever the figures, a profile that was learned has finite, positive times everywhere. */
static void test_any_result(void **state)
{
    struct rng rng = {.state = 20};
    size_t learned = 0;
    (void)state;
    for (int round = 0; round < 300; round++) {
        void *s;
        setup(&s);
        struct rig *rig = s;
        for (int64_t context = 0; context < 40; context++)
            for (int concurrency = 1; concurrency <= 1 << rng_below(&rng, 6); concurrency++) {
                if (rng_below(&rng, 3))
                    continue;
                enum cell_status status = rng_below(&rng, STATUS_COUNT);
                struct cell *c =
                    add_cell(rig, context * context * 999, concurrency, status, NAN, NAN);
                c->total_tok_s = any_figure(&rng);
                c->itl_ms.p50 = any_figure(&rng);
                c->ttft_ms.p50 = any_figure(&rng);
                c->completed = (int64_t)rng_below(&rng, 9) - 1;
                c->output_tokens = (int64_t)rng_below(&rng, 9999) - 1;
            }
        for (int i = 0; i < 40; i++) {
            double prompt = any_figure(&rng), ttft = any_figure(&rng);
            add_prefill(rig, rng_below(&rng, 1 << 20), prompt, ttft);
        }
        rig->r.server.kv_budget = any_figure(&rng);
        rig->r.server.context_limit = any_figure(&rng);
        rig->r.plan.settle_ns = rng_below(&rng, 2) ? -1 : 0;
        if (profile_learn(&rig->r, &rig->p, &rig->err)) {
            learned++;
            for (int i = 0; i < 50; i++) {
                double context = rng_below(&rng, 1 << 21), batch = 1 + rng_below(&rng, 999);
                double step = profile_decode_ns(&rig->p, context, batch);
                double warm = profile_warm_ns(&rig->p, context, batch);
                double prefill = profile_prefill_ns(&rig->p, context, context + batch);
                assert_true(isfinite(step) && step > 0);
                assert_true(isfinite(warm) && warm > 0);
                assert_true(isfinite(prefill) && prefill > 0);
            }
            assert_true(rig->p.kv_tokens >= 1 && rig->p.context_limit >= 1 &&
                        rig->p.max_running >= 1 && rig->p.warm_tokens >= 1);
        }
        teardown(&s);
    }
    assert_true(learned > 250);
}

/* --- the published pages --- */

struct predicted {
    enum cell_status status;
    double total_tok_s, itl_ms, ttft_ms;
};

/* What a window would show: every stream gets its first token at 0 and from then on one at the end
 * of each step; the window opens when the streams have settled. */
static struct predicted predict(const struct profile *p, const struct plan *plan, int64_t context,
                                int concurrency)
{
    const struct cause *c = profile_cause(p, concurrency, context > 0 ? (double)context : 48);
    static const struct cause none;
    struct predicted ret = {STATUS_VALID, NAN, NAN, NAN};
    double t0 = 2, t1 = t0 + ns_to_s(plan->duration_ns), first = NAN, last = NAN, now = 0;
    double steps = 0, generated = 1, prompt = context > 0 ? (double)context : 48;

    if (plan_kv_need(context, concurrency, (double)plan->max_output, false) >
        (double)p->kv_tokens) {
        ret.status = STATUS_OVER_CAPACITY;
        return ret;
    }
    if (!c)
        c = &none;
    int running = c->max_running ? c->max_running : concurrency;
    while (now < t1) {
        if (now >= t0) {
            first = isnan(first) ? now : first;
            last = now;
            steps++;
        }
        now +=
            (c->step_ns > 0 ? c->step_ns : profile_decode_ns(p, prompt + generated, running)) / 1e9;
        generated++;
        if (now >= c->hold_from_s && now < c->hold_until_s)
            now = c->hold_until_s;
    }
    ret.total_tok_s = steps * (c->decoding > 0 ? c->decoding : running) / (t1 - t0);
    ret.itl_ms = (last - first) / (steps - 1) * 1e3;
    ret.ttft_ms = profile_warm_ns(p, prompt, concurrency) / 1e6;
    double waited = (c->hold_until_s - c->hold_from_s) / (t1 - t0);
    if (c->looped)
        ret.status = STATUS_LOOPED;
    else if (running < concurrency || c->waiting_seen || waited > 0.05)
        ret.status = STATUS_QUEUED;
    return ret;
}

static void assert_within(const struct cell *c, const char *what, double got, double want,
                          double most)
{
    if (!(fabs(got - want) <= most))
        fail_msg("%lld x %d: %s %.4g, the page says %.4g", (long long)c->context_tokens,
                 c->concurrency, what, got, want);
}

/* profile.h promises 3 %; 2.1 % leaves the rest to whoever measures. Rates and times of the same
 * cell are up to 3.7 % apart on the pages themselves (933.6 and 16.5 ms x 16), half of it is
 * unavoidable. */
static void test_published(void **state)
{
    struct rig *rig = *state;
    for (size_t k = 0; k < ARRAY_LEN(published_names); k++) {
        result_release(&rig->r);
        published_read(published_names[k], &rig->r);
        learn(rig);
        for (size_t i = 0; i < rig->r.decode_count; i++) {
            const struct cell *c = &rig->r.decode[i];
            struct predicted got =
                predict(&rig->p, &rig->r.plan, c->context_tokens, c->concurrency);
            if (got.status != c->status)
                fail_msg("%lld x %d: %s, the page says %s", (long long)c->context_tokens,
                         c->concurrency, status_name(got.status), status_name(c->status));
            if (!status_has_numbers(c->status))
                continue;
            assert_within(c, "total", got.total_tok_s, c->total_tok_s, 0.021 * c->total_tok_s);
            assert_within(c, "itl", got.itl_ms, c->itl_ms.p50, 0.021 * c->itl_ms.p50);
            assert_within(c, "ttft", got.ttft_ms, c->ttft_ms.p50, 0.001 * c->ttft_ms.p50);
        }
        for (size_t i = 0; i < rig->r.prefill_count; i++) {
            const struct prefill_row *row = &rig->r.prefill[i];
            double ms = profile_prefill_ns(&rig->p, 0, (double)row->context_tokens) / 1e6;
            assert_near(ms, row->ttft_ms.p50, 0.001);
        }
    }
}

static void test_published_limits(void **state)
{
    static const struct {
        int64_t context_limit, kv_tokens;
        int max_running;
        size_t causes;
        const char *name, *title;
    } cases[] = {
        {147456, 147456, 128, 3, "Qwen3-Coder-30B-A3B-Instruct-AWQ-4bit",
         "Qwen3-Coder-30B-A3B-Instruct-AWQ-4bit on RTX 3090 24GB, learned from a result"},
        {65536, 65536, 29, 2, "Qwen3.5-27B-AWQ-4bit",
         "Qwen3.5-27B-AWQ-4bit on RTX 3090 24GB, learned from a result"},
    };
    struct rig *rig = *state;
    for (size_t k = 0; k < ARRAY_LEN(published_names); k++) {
        result_release(&rig->r);
        published_read(published_names[k], &rig->r);
        learn(rig);
        assert_int_equal(rig->p.context_limit, cases[k].context_limit);
        assert_int_equal(rig->p.kv_tokens, cases[k].kv_tokens);
        assert_int_equal(rig->p.block_size, 16);
        assert_int_equal(rig->p.max_running, cases[k].max_running);
        assert_int_equal(rig->p.cause_count, cases[k].causes);
        assert_string_equal(rig->p.name, cases[k].name);
        assert_string_equal(rig->p.title, cases[k].title);
        assert_string_equal(rig->p.served_model, "bench");
        assert_string_equal(rig->p.gpu, "RTX 3090");
        assert_near(rig->p.vram_bytes, 25769803776.0, 0);
    }
}

/* What nobody has: an engine could not hold one such context, and pauses of years overflow. */
static void test_beyond_bounds(void **state)
{
    struct rig *rig = *state;
    struct cell *c = add_cell(rig, 0, 2, STATUS_QUEUED, 75, 20);
    c->ttft_ms.p50 = 10;
    rig->r.server.context_limit = 1e15;
    rig->r.plan.duration_ns = (int64_t)(1e6 * NS_PER_S);
    rig->r.plan.repeats = INT32_MAX;
    learn(rig);
    assert_int_equal(rig->p.context_limit, PROFILE_MAX_CONTEXT_LIMIT);
    assert_int_equal(rig->p.cause_count, 1);
    assert_true(rig->p.causes[0].hold_until_s > 1e5 && rig->p.causes[0].hold_until_s < 2e6);
}

#define WITH_RIG(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_RIG(test_one_cell),
        cmocka_unit_test(test_step_of_a_cell),
        WITH_RIG(test_requests_that_end),
        cmocka_unit_test(test_queued_causes),
        WITH_RIG(test_queued_spoils_nothing),
        WITH_RIG(test_queue_is_no_ttft),
        WITH_RIG(test_looped),
        WITH_RIG(test_growth),
        WITH_RIG(test_counted_prompts),
        WITH_RIG(test_prefill),
        cmocka_unit_test(test_kv),
        cmocka_unit_test(test_max_running),
        WITH_RIG(test_nothing_to_learn),
        cmocka_unit_test(test_any_result),
        WITH_RIG(test_beyond_bounds),
        WITH_RIG(test_published),
        WITH_RIG(test_published_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
