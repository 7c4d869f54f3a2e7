/* cell_judge.c - from counts to figures, and from figures to a status.
 *
 * The rules of a status are a table: the first one that holds gives the cell its status. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "load/cell.h"
#include "stats/summary.h"

static const double limited_cpu_pct = 75, limited_lag_ms = 1;

static struct spread spread_of_samples(struct doubles *d)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->n; i++)
        if (!isnan(d->v[i]))
            d->v[kept++] = d->v[i];
    d->n = kept;
    struct summary m = summary_of(d->v, d->n);
    return spread_of_summary(&m);
}

/* (last - first stamp) / (tokens - tokens of the first event), one figure a request. */
static struct spread time_between_tokens(const struct cell_run *run)
{
    const struct tally *t = &run->tally;
    struct doubles ms = {.v = mem_array(t->span_count + 1, sizeof *ms.v)};

    for (size_t i = 0; i < t->span_count; i++) {
        double tokens = cell_tokens(run, (double)t->spans[i].events, (double)t->spans[i].usage);
        if (tokens > 0)
            ms.v[ms.n++] = ns_to_ms(t->spans[i].ns) / tokens;
    }
    struct spread spread = spread_of_samples(&ms);
    free(ms.v);
    return spread;
}

static struct spread spread_of_hist(const struct hist *h)
{
    struct spread s = {(int64_t)h->total, NAN, NAN, NAN, NAN};
    if (h->total == 0)
        return s;
    s.p50 = ns_to_ms(hist_quantile_ns(h, 0.5));
    if (h->total >= SUMMARY_P90_FLOOR)
        s.p90 = ns_to_ms(hist_quantile_ns(h, 0.9));
    if (h->total >= SUMMARY_P99_FLOOR)
        s.p99 = ns_to_ms(hist_quantile_ns(h, 0.99));
    s.max = ns_to_ms(h->max_ns);
    return s;
}

static int64_t window_ns(const struct cell_run *run)
{
    return run->s->result->plan.duration_ns * (run->repeat > 0 ? run->repeat : 1);
}

static void judge_client(struct cell_run *run)
{
    struct tally *t = &run->tally;
    struct verdict *v = &run->cell->client;

    int64_t busiest = 0;
    for (size_t i = 0; i < CELL_THREADS; i++)
        busiest = t->cpu_ns[i] > busiest ? t->cpu_ns[i] : busiest;
    v->cpu_pct = (double)busiest / (double)window_ns(run) * 100;
    /* a kernel stamp is that of a read's last segment, so reads alone hide a client that fell
     * behind and read much at once; how late the loop came back from waits of known length shows
     * that */
    struct spread reads = spread_of_hist(t->lag), late = spread_of_hist(t->late);
    v->lag_ms = reads.p99 >= late.p99 || isnan(late.p99) ? reads : late;
    v->send_lag_ms = spread_of_hist(t->send_lag);
    v->events_per_read = t->reads ? (double)t->events / (double)t->reads : NAN;
    v->unread_bytes = 0;
    for (int i = 0; i < run->count; i++)
        v->unread_bytes += run->streams[i].unread;
    double bound = fmax(limited_lag_ms, 0.1 * run->cell->itl_ms.p50);
    v->threads = run->threads > 0 ? run->threads : 1;
    v->limited = v->cpu_pct > limited_cpu_pct || v->lag_ms.p99 > bound;
    if (v->limited)
        run->cell->marks |= MARK_CLIENT_LIMITED;
}

/* Tokens per bin of the last window, by the run's token source. */
static double *bins(const struct cell_run *run)
{
    const struct tally *t = &run->tally;
    double *v = mem_array(t->bins + 1, sizeof *v);
    for (size_t i = 0; i < t->bins; i++)
        v[i] = cell_tokens(run, t->bin_events[i], t->bin_tokens[i]);
    return v;
}

static double rate_of(const double *bin, size_t n, double bin_s)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += bin[i];
    return sum / ((double)n * bin_s);
}

/* The two halves of a window differ by more than 5 % and by more than their intervals can explain.
 */
static bool unsteady(const double *bin, size_t n, double bin_s)
{
    size_t half = n / 2;
    double a = rate_of(bin, half, bin_s), b = rate_of(bin + half, half, bin_s);
    struct ci of_a = ci_of_bins(bin, half, bin_s), of_b = ci_of_bins(bin + half, half, bin_s);
    bool apart = of_a.high < of_b.low || of_b.high < of_a.low;
    return fabs(a - b) > 0.05 * (a + b) / 2 && apart;
}

static void judge_spread(struct cell_run *run)
{
    struct cell *c = run->cell;
    const struct tally *t = &run->tally;
    double bin_s = ns_to_s(t->bin_ns), *bin = bins(run);

    if (run->repeat >= 2) {
        size_t n = (size_t)run->repeat;
        double rate[CELL_MAX_REPEATS];
        n = n < CELL_MAX_REPEATS ? n : CELL_MAX_REPEATS;
        for (size_t i = 0; i < n; i++)
            rate[i] = cell_tokens(run, (double)run->each_events[i], (double)run->each_usage[i]) /
                      ns_to_s(run->s->result->plan.duration_ns);
        struct ci ci = ci_of_repeats(rate, n);
        c->ci95 = (struct interval){ci.low, ci.high, ci.n_effective, "t_repeats"};
    } else {
        struct ci ci = ci_of_bins(bin, t->bins, bin_s);
        if (!isnan(ci.low))
            c->ci95 = (struct interval){ci.low, ci.high, ci.n_effective, "batch_means"};
    }
    /* the total is of whole tokens and the bins are not: the one belongs into the other */
    if (c->ci95.method) {
        c->ci95.low = fmin(c->ci95.low, c->total_tok_s);
        c->ci95.high = fmax(c->ci95.high, c->total_tok_s);
    }
    if (unsteady(bin, t->bins, bin_s))
        c->marks |= MARK_UNSTEADY;
    free(bin);
}

static void judge_server(struct cell_run *run, const struct window_view *view)
{
    struct cell *c = run->cell;

    c->server_running = view->running;
    c->server_waiting = view->waiting;
    c->waiting_share = view->waiting_share;
    c->kv_used_max = view->kv_used_max;
    c->server_output_tokens = view->generated;
    c->preemptions = view->preemptions;
    c->power_w = view->power_w;
    c->energy_j = view->energy_j;
    bool by_server = !isnan(view->running);
    c->avg_active = by_server ? view->running : run->tally.active_integral / (double)window_ns(run);
    mem_set_string(&c->avg_active_source, by_server ? "server" : "client");
    if (view->running_held > c->concurrency + 0.5)
        c->marks |= MARK_FOREIGN_LOAD;
    if (view->preemptions > 0)
        c->marks |= MARK_PREEMPTED;
    if (view->throttled)
        c->marks |= MARK_THROTTLED;
}

static enum token_source cell_token_source(const struct cell_run *run)
{
    enum token_source source = run->s->token_source;
    return source == TOKENS_USAGE_STREAM && !cell_counts_usage(run) ? TOKENS_USAGE_FINAL : source;
}

/* The server counted something else over the same window: say so, whoever is wrong. */
static void compare_counts(struct cell_run *run)
{
    const struct cell *c = run->cell;
    double ours = (double)c->output_tokens, theirs = c->server_output_tokens;
    if (c->marks & MARK_FOREIGN_LOAD || !(theirs > 100) || fabs(ours - theirs) <= 0.05 * theirs)
        return;
    session_event(run->s, "warning",
                  "%" PRId64 " x %d: %.0f tokens were received in the window, the server's own "
                  "counter grew by %.0f",
                  c->context_tokens, c->concurrency, ours, theirs);
}

/* Something on the way held the events back and let them go in bundles: many a read, with gaps no
 * decoder makes. Twelve in a bundle at least, more than any speculation accepts at once; and a
 * client that was behind has bundled them itself. */
static bool came_in_bundles(const struct cell_run *run)
{
    const struct tally *t = &run->tally;
    int64_t ns = 0, gaps = 0;

    for (size_t i = 0; i < t->span_count; i++) {
        ns += t->spans[i].ns;
        gaps += t->spans[i].events;
    }
    return gaps >= 16 && run->cell->client.events_per_read >= 3 && !run->cell->client.limited &&
           20 * hist_quantile_ns(t->gaps, 0.92) <= ns / gaps;
}

/* Then only how much came is known, not when it was written. */
static void judge_delivery(struct cell_run *run)
{
    struct cell *c = run->cell;
    const struct spread nothing = {0, NAN, NAN, NAN, NAN};

    if (!came_in_bundles(run))
        return;
    c->marks |= MARK_BUFFERED;
    c->ttft_ms = c->itl_ms = c->gap_ms = nothing;
    c->per_request_tok_s = NAN;
    if (isnan(c->server_running)) {
        c->avg_active = NAN;
        mem_set_string(&c->avg_active_source, NULL);
    }
}

/* How the server counts, where it does so oddly. */
static void judge_usage(struct cell_run *run)
{
    const struct tally *t = &run->tally;
    double billed = (double)t->billed, undelivered = (double)t->undelivered;

    if (t->usage_fell && run->s->token_source == TOKENS_USAGE_STREAM)
        session_event(run->s, "warning",
                      "usage went down inside a stream, or changed its mind about the prompt: this "
                      "cell's tokens are events weighted by the final counts");
    if (t->hidden > 0 || run->s->hides_tokens)
        run->cell->marks |= MARK_HIDDEN_TOKENS;
    if (t->cumulative)
        session_event(run->s, "warning",
                      "the server repeats the whole text in every event: what a reader would see "
                      "is not what it counts");
    if (undelivered > 0.02 * billed)
        session_event(run->s, "warning",
                      "%.0f of %.0f tokens were counted behind the last text: billed and not "
                      "delivered",
                      undelivered, billed);
}

static void take_figures(struct cell_run *run, const struct window_view *view)
{
    struct cell *c = run->cell;
    struct tally *t = &run->tally;

    c->repeats = run->repeat;
    c->measured_s = ns_to_s(window_ns(run));
    c->output_tokens = llround(cell_tokens(run, (double)t->events, (double)t->tokens));
    c->total_tok_s = (double)c->output_tokens / c->measured_s;
    c->completed = t->completed;
    c->ttft_ms = spread_of_samples(&t->ttft_ms);
    c->itl_ms = time_between_tokens(run);
    c->gap_ms = spread_of_hist(t->gaps);
    c->per_request_tok_s = c->itl_ms.p50 > 0 ? 1000 / c->itl_ms.p50 : NAN;
    c->tokens_per_event =
        t->events > 0 ? cell_tokens(run, (double)t->events, (double)t->tokens) / (double)t->events
                      : session_tokens_per_event(run->s);
    mem_set_string(&c->token_source, token_source_name(cell_token_source(run)));
    judge_usage(run);
    judge_server(run, view);
    judge_client(run);
    judge_delivery(run);
    judge_spread(run);
    compare_counts(run);
}

/* What the server counted of the prompts: said by the streams themselves, by their present request
 * or the one before it where usage comes at the end; or else when their context was warmed. */
static void judge_prompts(struct cell_run *run)
{
    struct cell *c = run->cell;
    double *v = mem_array((size_t)run->count, sizeof *v);
    size_t n = 0;

    for (int i = 0; i < run->count; i++) {
        const struct cell_stream *cs = &run->streams[i];
        const struct row_context *row = cs->own.words ? &cs->own : run->row;
        int64_t said = cs->stream.record.prompt_tokens;
        if (said <= 0)
            said = cs->prompt_tokens;
        if (said <= 0 && c->context_tokens > 0)
            said = row->prompt_tokens;
        if (said <= 0)
            continue;
        v[n++] = (double)said;
        if (session_prompt_is_off(c->context_tokens, (double)said))
            c->marks |= MARK_PROMPT_OFF;
    }
    if (run->prompt_off)
        c->marks |= MARK_PROMPT_OFF;
    c->prompt_tokens = n ? summary_median(v, n) : NAN;
    free(v);
}

/* --- statuses: the first rule that holds --- */

static bool was_stopped(struct cell_run *run, char *why, size_t size)
{
    snprintf(why, size, "interrupted");
    return session_stopping(run->s);
}

static bool was_skipped(struct cell_run *run, char *why, size_t size)
{
    snprintf(why, size, "skipped by the user");
    return session_skipping(run->s);
}

static bool has_failed(struct cell_run *run, char *why, size_t size)
{
    if (run->failures <= run->s->options->max_errors)
        return false;
    if (run->failures_at_once > 1 && run->failures_at_once == run->failures)
        snprintf(why, size, "%d of %d requests failed together: %s", run->failures, run->count,
                 run->failure.text);
    else if (run->failures > 1)
        snprintf(why, size, "%d requests failed; the first: %s", run->failures, run->failure.text);
    else
        snprintf(why, size, "%s", run->failure.text);
    return true;
}

static bool was_not_warmed(struct cell_run *run, char *why, size_t size)
{
    snprintf(why, size, "%s", run->warm_failure.text);
    return run->warm_failure.code != ERR_NONE;
}

static bool had_cut_prompts(struct cell_run *run, char *why, size_t size)
{
    if (run->prompts_cut == 0)
        return false;
    run->cell->marks |= MARK_PROMPT_OFF;
    session_cut_words(run->cell->context_tokens, run->cut_to, why, size);
    return true;
}

static bool has_looped(struct cell_run *run, char *why, size_t size)
{
    if (!run->looped)
        return false;
    snprintf(why, size, "a stream repeated the same %zu characters %zu times",
             run->finding.loop.period, run->finding.loop.cycles);
    return true;
}

static bool is_silent(struct cell_run *run, char *why, size_t size)
{
    if (run->with_token > 0 && run->tally.events > 0)
        return false;
    snprintf(why, size,
             run->with_token ? "no token came in the window"
                             : "no stream produced a token in time");
    return true;
}

static bool has_queued(struct cell_run *run, char *why, size_t size)
{
    const struct cell *c = run->cell;
    bool inferred = isnan(c->server_running);
    double least = 0.95 * c->concurrency;

    if (c->waiting_share > 0.05)
        snprintf(why, size, "requests waited during %.0f %% of the window; %.1f of %d were active",
                 c->waiting_share * 100, c->avg_active, c->concurrency);
    else if (c->avg_active < least || run->with_token < run->count)
        snprintf(why, size, "%.1f of %d requests were active", c->avg_active, c->concurrency);
    else if ((run->ready_late || run->opened_early) && !(c->marks & MARK_BUFFERED))
        snprintf(why, size, "not all %d requests were ready in time", c->concurrency);
    else
        return false;
    if (inferred)
        run->cell->marks |= MARK_INFERRED;
    size_t used = strlen(why);
    const struct known_number *most = &run->s->facts.max_running;
    if (most->value > 0 && most->value < c->concurrency)
        snprintf(why + used, size - used, "; the server runs at most %" PRId64 " at once (%s)",
                 most->value, most->source);
    return true;
}

static const struct rule {
    enum cell_status status;
    bool (*holds)(struct cell_run *run, char *why, size_t size);
    bool needs_figures;
} rules[] = {
    {STATUS_ERROR, has_failed, false},      {STATUS_ERROR, was_not_warmed, false},
    {STATUS_ERROR, had_cut_prompts, false}, {STATUS_LOOPED, has_looped, false},
    {STATUS_ERROR, was_stopped, false},     {STATUS_SKIPPED, was_skipped, false},
    {STATUS_ERROR, is_silent, false},       {STATUS_QUEUED, has_queued, true},
};

static void keep_evidence(struct cell_run *run)
{
    const struct guard_finding *f = &run->finding;
    static const char *const names[] = {
        [CHANNEL_CONTENT] = "content", [CHANNEL_REASONING] = "reasoning", [CHANNEL_TOOL] = "tool"};
    run->cell->loop.period = (int64_t)f->loop.period;
    run->cell->loop.cycles = (int64_t)f->loop.cycles;
    mem_set_string(&run->cell->loop.channel, names[f->channel]);
    mem_set_string(&run->cell->loop.excerpt, f->loop.excerpt);
    session_hide_key(run->s, run->cell->loop.excerpt);
}

void cell_judge(struct cell_run *run, const struct window_view *view)
{
    struct cell *c = run->cell;
    char why[ERR_TEXT_MAX + 80];
    bool figures = false;

    c->outcomes = run->outcomes;
    c->status = STATUS_VALID;
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        if (rules[i].needs_figures && !figures) {
            take_figures(run, view);
            figures = true;
        }
        if (!rules[i].holds(run, why, sizeof why))
            continue;
        c->status = rules[i].status;
        mem_set_string(&c->reason, why);
        session_hide_key(run->s, c->reason);
        break;
    }
    if (run->looped)
        keep_evidence(run);
    if (!figures)
        return;
    judge_prompts(run);
    if (c->per_request_tok_s > run->s->fastest_stream_tok_s)
        run->s->fastest_stream_tok_s = c->per_request_tok_s;
}
