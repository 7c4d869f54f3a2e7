/* test_cell_parts.c - a cell's streams on several threads: who gets which, and that nothing that a
 * part counted is missing from the whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cell_rig.h"

enum { STREAMS = 7, THREADS = 3 };

/* Streams are shared out 2, 2, 3. */
static void start(struct cell_rig *r)
{
    cell_rig_init(r, STREAMS, 1000);
    r->options.transport = "own";
    assert_true(cell_share_out(&r->run, THREADS));
    assert_int_equal(r->run.part_count, THREADS);
}

static void finish(struct cell_rig *r)
{
    cell_join_parts(&r->run);
    cell_release_parts(&r->run);
}

static void own_streams(struct cell_run *part)
{
    part->opened = part->count;
    for (int i = 0; i < part->count; i++)
        part->streams[i].unread = part->first + i;
}

static void test_shares(void **state)
{
    struct cell_rig r;
    (void)state;
    start(&r);
    cell_each_part(&r.run, own_streams);
    cell_gather(&r.run);
    assert_int_equal(r.run.opened, STREAMS);
    for (int i = 0; i < STREAMS; i++) /* each belongs to one part */
        assert_int_equal(r.run.streams[i].unread, i);
    finish(&r);
    assert_int_equal(r.run.threads, THREADS);
    cell_rig_release(&r);
}

/* By one thread's rules each figure is the sum, or the largest, of what its streams brought. */
static void count_everything(struct cell_run *part)
{
    struct tally *t = &part->tally;
    int64_t n = part->count;

    t->events = n;
    t->tokens = 2 * n;
    t->completed = 3 * n;
    t->reads = 4 * n;
    t->active_integral = 5 * (double)n;
    t->billed = 6 * n;
    t->undelivered = 7 * n;
    t->hidden = 8 * n;
    t->bin_events[1] = 9 * (double)n;
    t->bin_tokens[2] = 10 * (double)n;
    for (size_t i = 0; i < CELL_THREADS; i++)
        t->cpu_ns[i] = 100 * n + (int64_t)i;
    t->usage_fell = t->cumulative = part->first == 2;
    hist_record(t->gaps, n * NS_PER_MS);
    hist_record(t->lag, n * NS_PER_MS);
    hist_record(t->send_lag, n * NS_PER_MS);
    hist_record(t->late, n * NS_PER_MS);
    MEM_GROW(t->ttft_ms.v, t->ttft_ms.n, t->ttft_ms.cap);
    t->ttft_ms.v[t->ttft_ms.n++] = (double)n;
    MEM_GROW(t->spans, t->span_count, t->span_cap);
    t->spans[t->span_count++] = (struct span){n, n, n};
    part->with_token = part->active = part->count;
    part->outcomes.count[OUTCOME_COMPLETE] = n;
    part->each_events[1] = 11 * n;
    part->each_usage[1] = 12 * n;
    part->repeat = 2;
    part->moved_at = part->first + 1;
    part->shown_events = n;
    part->prompt_off = part->first == 2;
    part->prompts_cut = part->first == 2 ? 5 : 0;
    part->cut_to = part->first == 2 ? 77 : 0;
}

static void test_sums(void **state)
{
    struct cell_rig r;
    (void)state;
    start(&r);
    cell_each_part(&r.run, count_everything);
    finish(&r);
    const struct cell_run *run = &r.run;
    const struct tally *t = &run->tally;
    const int64_t counts[] = {t->events,
                              t->tokens,
                              t->completed,
                              t->reads,
                              llround(t->active_integral),
                              t->billed,
                              t->undelivered,
                              t->hidden,
                              llround(t->bin_events[1]),
                              llround(t->bin_tokens[2]),
                              run->each_events[1],
                              run->each_usage[1]};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        assert_int_equal(counts[i], (int64_t)(i + 1) * STREAMS);
    assert_int_equal(t->cpu_ns[0], 300); /* the busiest of them */
    assert_int_equal(t->cpu_ns[2], 302);
    assert_int_equal(run->cpu_all_ns, 100 * STREAMS);
    assert_true(t->usage_fell && t->cumulative && run->prompt_off);
    const struct hist *hists[] = {t->gaps, t->lag, t->send_lag, t->late};
    for (size_t i = 0; i < ARRAY_LEN(hists); i++)
        assert_int_equal(hists[i]->total, THREADS);
    assert_int_equal(t->ttft_ms.n, THREADS);
    assert_int_equal(t->span_count, THREADS);
    assert_int_equal(run->with_token, STREAMS);
    assert_int_equal(run->active, STREAMS);
    assert_int_equal(run->outcomes.count[OUTCOME_COMPLETE], STREAMS);
    assert_int_equal(run->repeat, 2);
    assert_int_equal(run->moved_at, 5); /* the newest */
    assert_int_equal(run->shown_events, STREAMS);
    assert_int_equal(run->prompts_cut, 5);
    assert_int_equal(run->cut_to, 77);
    cell_rig_release(&r);
}

/* When each part's first stream failed, in what words, and how many of the part did so with it. */
static struct failure {
    int failures, at_once;
    double at_ms;
    const char *words;
} script[THREADS];

static void fail_by_script(struct cell_run *part)
{
    const struct failure *f = &script[part->first / 2];
    if (f->failures == 0)
        return;
    part->failures = f->failures;
    part->failures_at_once = f->at_once;
    part->failure_at = rig_ms(f->at_ms);
    err_set(&part->failure, ERR_SERVER, "%s", f->words);
}

static void test_failures(void **state)
{
    static const struct {
        struct failure of_part[THREADS];
        int failures, at_once;
        const char *first;
    } rows[] = {
        {{{0}, {1, 1, 900, "full"}, {0}}, 1, 1, "full"},
        {{{2, 2, 950, "full"}, {1, 1, 900, "after 3 token events: full"}, {3, 3, 999, "full"}},
         6,
         6,
         "after 3 token events: full"},
        {{{2, 2, 900, "full"}, {1, 1, 1200, "full"}, {0}}, 3, 2, "full"},    /* later */
        {{{2, 2, 900, "full"}, {1, 1, 910, "HTTP 500"}, {0}}, 3, 2, "full"}, /* other words */
        {{{2, 2, 920, "HTTP 500"}, {0}, {1, 1, 910, "full"}}, 3, 1, "full"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cell_rig r;
        memcpy(script, rows[i].of_part, sizeof script);
        start(&r);
        cell_each_part(&r.run, fail_by_script);
        finish(&r);
        assert_int_equal(r.run.failures, rows[i].failures);
        assert_int_equal(r.run.failures_at_once, rows[i].at_once);
        assert_string_equal(r.run.failure.text, rows[i].first);
        cell_rig_release(&r);
    }
}

/* Ids and nonces are drawn by all threads: none is lost, so that no two are alike. */
enum { DRAWS = 20000 };

static void draw(struct cell_run *part)
{
    char id[40];
    for (int i = 0; i < DRAWS; i++) {
        session_request_id(part->s, id, sizeof id);
        prompt_next_nonce(&part->s->prompts);
    }
}

static void test_draws(void **state)
{
    struct cell_rig r;
    (void)state;
    start(&r);
    cell_each_part(&r.run, draw);
    finish(&r);
    assert_int_equal(r.s.next_request, THREADS * DRAWS);
    assert_int_equal(r.s.prompts.nonces, THREADS * DRAWS);
    cell_rig_release(&r);
}

static void test_one_thread(void **state)
{
    struct cell_rig r;
    (void)state;
    cell_rig_init(&r, STREAMS, 1000);
    assert_true(cell_share_out(&r.run, 1));
    assert_int_equal(r.run.part_count, 0);
    cell_each_part(&r.run, count_everything); /* the cell is its own part */
    finish(&r);
    assert_int_equal(r.run.tally.events, STREAMS);
    assert_int_equal(r.run.cpu_all_ns, 100 * STREAMS);
    assert_int_equal(r.run.threads, 1);
    cell_rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),     cmocka_unit_test(test_sums),
        cmocka_unit_test(test_failures),   cmocka_unit_test(test_draws),
        cmocka_unit_test(test_one_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
