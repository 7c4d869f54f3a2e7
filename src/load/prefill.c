/* prefill.c - one row of prefill: a context measured cold, by one request at a time.
 *
 * rate = (prompt - cached tokens) / TTFT, the median over the samples. The last sample is the text
 * that this context's decode cells share, so measuring it is also what warms the server's cache. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "load/session.h"
#include "stats/summary.h"

/* A text is corrected at most so often: each try is a whole prefill. */
enum { MAX_SAMPLES = 32, LENGTH_TRIES = 4, LONG_PROMPT = 4096 };

struct row_samples {
    double rate[MAX_SAMPLES], ttft_ms[MAX_SAMPLES], prompt[MAX_SAMPLES], cached[MAX_SAMPLES],
        server_ms[MAX_SAMPLES];
    size_t n, cached_n, server_n;
};

static size_t wanted_samples(const struct session *s, int64_t context_tokens)
{
    int n = plan_prefill_samples(&s->result->plan, context_tokens);
    return n > MAX_SAMPLES ? MAX_SAMPLES : (size_t)n;
}

/* How many tokens a cache may hold without the row being a lie: 1 %, or what every prompt has in
 * common, the template's opening. */
static double cache_allowance(const struct session *s, double prompt)
{
    return fmax(prompt / 100, fmin(s->fit.overhead, 256));
}

static void add_sample(struct session *s, struct row_samples *m, struct prefill_row *row)
{
    const struct record *r = &s->single.record;
    double ttft_s = ns_to_s(r->first_token_at - r->send_at);
    double prompt = r->prompt_tokens > 0 ? (double)r->prompt_tokens : (double)row->context_tokens;
    double cached = r->cached_tokens > 0 ? (double)r->cached_tokens : 0;

    m->rate[m->n] = (prompt - cached) / ttft_s;
    m->ttft_ms[m->n] = ttft_s * 1e3;
    m->prompt[m->n++] = prompt;
    if (r->cached_tokens >= 0)
        m->cached[m->cached_n++] = cached;
    if (!isnan(r->prompt_ms))
        m->server_ms[m->server_n++] = r->prompt_ms;
    if (cached > cache_allowance(s, prompt))
        row->marks |= MARK_CACHE_HIT;
    if (r->prompt_tokens > 0 &&
        fabs(prompt - (double)row->context_tokens) > fmax(0.02 * (double)row->context_tokens, 8))
        row->marks |= MARK_PROMPT_OFF;
}

static void finish_row(struct row_samples *m, struct prefill_row *row)
{
    struct summary ttft = summary_of(m->ttft_ms, m->n);
    row->completed = (int64_t)m->n;
    if (m->n == 0)
        return;
    row->ttft_ms = spread_of_summary(&ttft);
    row->prompt_tokens = summary_median(m->prompt, m->n);
    row->cached_tokens = m->cached_n ? summary_median(m->cached, m->cached_n) : NAN;
    row->server_prompt_ms = m->server_n ? summary_median(m->server_ms, m->server_n) : NAN;
    if (m->n >= 2) {
        struct ci ci = ci_of_repeats(m->rate, m->n);
        row->ci95 = (struct interval){ci.low, ci.high, ci.n_effective, "t_repeats"};
    }
    /* the rate belongs to the median TTFT, so that the two stand to each other as they should */
    double cached = isnan(row->cached_tokens) ? 0 : row->cached_tokens;
    row->total_tok_s = (row->prompt_tokens - cached) / row->ttft_ms.p50 * 1e3;
}

/* The counters that tell of a prompt what the stream does not; false where there are none. */
static bool read_counters(struct session *s, struct reading *ret)
{
    const struct metric_names *names = &s->dialect->metrics;
    return (names->prefix_hits[0] || names->prefills[0]) && monitor_has_metrics(s->monitor) &&
           monitor_read_metrics(s->fetcher, &s->metrics, ret);
}

/* Complete the record of the request between two readings. The time is its own only when no other
 * request has ended meanwhile. */
static void take_counters(struct record *r, const struct reading *before,
                          const struct reading *after)
{
    double hits = after->prefix_hits - before->prefix_hits;
    double prefill_s = after->prefill_s - before->prefill_s;
    if (r->cached_tokens < 0 && !isnan(hits))
        r->cached_tokens = llround(fmax(hits, 0));
    if (isnan(r->prompt_ms) && after->prefills - before->prefills == 1 && prefill_s >= 0)
        r->prompt_ms = prefill_s * 1e3;
}

/* Ask once with this text. False when the row is over: an error, or interrupted. */
static bool take_sample(struct session *s, const char *escaped, struct prefill_row *row)
{
    struct buf task;
    struct record *r = &s->single.record;
    struct reading before, after;
    bool counted = read_counters(s, &before);

    buf_init(&task, 4096);
    prompt_add_task(&s->prompts, s->next_task++, &task);
    bool asked = session_ask(s, escaped, task.p, s->first_tokens, "prefill", row->context_tokens);
    buf_release(&task);
    if (!asked || outcome_is_failure(r->outcome) || !r->first_token_at) {
        row->status = STATUS_ERROR;
        mem_set_string(&row->reason, asked ? r->error.text : "interrupted");
        session_hide_key(s, row->reason);
        return false;
    }
    if (counted && read_counters(s, &after))
        take_counters(r, &before, &after);
    return true;
}

/* The server threw part of the prompt away: its time is that of another length. */
static bool was_cut(struct session *s, struct prefill_row *row)
{
    char why[200];
    int64_t counted = s->single.record.prompt_tokens;
    if (!session_prompt_is_cut(s, row->context_tokens, counted))
        return false;
    session_cut_words(row->context_tokens, counted, why, sizeof why);
    row->status = STATUS_ERROR;
    row->marks |= MARK_PROMPT_OFF;
    mem_set_string(&row->reason, why);
    return true;
}

/* The text was off by more than the tolerance: it has another length now, and is asked again. */
static bool corrected(struct session *s, struct row_context *context)
{
    int64_t counted = s->single.record.prompt_tokens;
    if (!session_correct_length(s, context, counted))
        return false;
    session_event(s, "info", "prompt of %lld tokens corrected: the server counted %lld",
                  (long long)context->context_tokens, (long long)counted);
    return true;
}

/* One sample: the context's own text when it is the last one, else the same behind a new nonce. */
static bool measure_sample(struct session *s, struct row_context *context, bool last,
                           struct prefill_row *row, struct row_samples *m)
{
    struct buf cold;
    bool again = true, taken = false;

    buf_init(&cold, PROMPT_MAX_BYTES * 2);
    for (int try = 0; try < LENGTH_TRIES && again; try++) {
        if (!last)
            session_cold_context(s, context, &cold);
        taken = take_sample(s, last ? context->escaped.p : cold.p, row);
        again = taken && try + 1 < LENGTH_TRIES && corrected(s, context);
    }
    buf_release(&cold);
    if (!taken)
        return false;
    add_sample(s, m, row);
    if (was_cut(s, row))
        return false;
    if (last) {
        context->prompt_tokens =
            s->single.record.prompt_tokens > 0 ? s->single.record.prompt_tokens : 0;
        context->ttft_ns = s->single.record.first_token_at - s->single.record.send_at;
        s->prefill_tok_s = (double)row->context_tokens / ns_to_s(context->ttft_ns);
    }
    return true;
}

/* False: the server is busy with something else, and that is not allowed; or interrupted. */
static bool wait_before_sample(struct session *s, struct prefill_row *row)
{
    if (session_wait_idle(s, s->options->idle_timeout_ns))
        return true;
    if (!session_skipping(s) && s->options->allow_busy) {
        row->marks |= MARK_FOREIGN_LOAD;
        return true;
    }
    row->status = STATUS_ERROR;
    mem_set_string(&row->reason, "server_busy");
    return false;
}

static void measure(struct session *s, struct prefill_row *row, struct row_samples *m)
{
    size_t wanted = wanted_samples(s, row->context_tokens);
    struct row_context *context = session_context(s, row->context_tokens);

    for (size_t i = 0; i < wanted; i++) {
        session_phase(s, PHASE_PREFILL, 0);
        if (i > 0 && !wait_before_sample(s, row))
            break;
        if (!measure_sample(s, context, i + 1 == wanted, row, m))
            break;
    }
}

static void show_row(struct session *s, const struct prefill_row *row)
{
    const struct plan *plan = &s->result->plan;
    for (size_t i = 0; i < plan->prefill_count; i++)
        if (plan->prefill[i] == row->context_tokens) {
            s->progress.prefill_tok_s[i] = row->total_tok_s;
            s->progress.prefill_ttft_ms[i] = row->ttft_ms.p50;
        }
    session_show(s);
}

/* A long prompt cannot be read in the time of a short one: something else was timed, or it was not
 * read. */
static void doubt_row(struct session *s, const struct prefill_row *row)
{
    double idle_ms = s->result->run.idle_ttft_ms;
    if (row->context_tokens < LONG_PROMPT || !(row->ttft_ms.p50 < 1.2 * idle_ms))
        return;
    session_event(s, "warning",
                  "the first token of %" PRId64 " tokens came after %.1f ms, as soon as that of a "
                  "short prompt: a cache that is not told of, a prompt cut short, or a first event "
                  "that is no token",
                  row->context_tokens, row->ttft_ms.p50);
}

bool session_prefill(struct session *s, int64_t context_tokens, const char *how)
{
    struct row_samples *m = mem_alloc(sizeof *m);
    struct row_context *context = session_context(s, context_tokens);
    struct prefill_row row;

    s->progress.context_tokens = context_tokens;
    s->progress.concurrency = 1;
    context->prefill_done = true;
    prefill_row_init(&row, context_tokens);
    row.status = STATUS_VALID;
    mem_set_string(&row.how, how);
    clock_utc_text(row.started_at);
    if (wait_before_sample(s, &row))
        measure(s, &row, m);
    finish_row(m, &row);
    free(m);
    if (row.status == STATUS_ERROR && session_skipping(s)) {
        row.status = STATUS_SKIPPED;
        mem_set_string(&row.reason, session_stopping(s) ? "interrupted" : "skipped by the user");
    }
    atomic_store(&s->control->skip, 0); /* it was for this row */
    bool fine = row.status == STATUS_VALID;
    if (fine)
        doubt_row(s, &row);
    else /* kept apart: an error's numbers are not a rate */
        row.total_tok_s = NAN;
    struct prefill_row *kept = result_add_prefill_take(s->result, &row);
    show_row(s, kept);
    if (s->listener->on_prefill)
        s->listener->on_prefill(s->listener->ctx, s->result, kept);
    return fine;
}

static bool ask_warm(struct session *s, struct row_context *row)
{
    struct buf task;
    buf_init(&task, 4096);
    prompt_add_task(&s->prompts, s->next_task++, &task);
    bool asked =
        session_ask(s, row->escaped.p, task.p, s->first_tokens, "warmup", row->context_tokens);
    buf_release(&task);
    return asked;
}

bool session_warm(struct session *s, struct row_context *row)
{
    const struct record *r = &s->single.record;
    bool asked = ask_warm(s, row);
    for (int try = 1; asked && try < LENGTH_TRIES; try++) {
        if (!session_correct_length(s, row, r->prompt_tokens))
            break;
        asked = ask_warm(s, row);
    }
    row->prompt_tokens = r->prompt_tokens > 0 ? r->prompt_tokens : 0;
    if (asked && row->ttft_ns && r->first_token_at) {
        int64_t ttft = r->first_token_at - r->send_at;
        row->warm_ttft_ns = ttft;
        s->prefix_cache_seen |=
            ttft < row->ttft_ns / 3 || r->cached_tokens > row->context_tokens / 2;
    }
    if (asked && !row->ttft_ns && r->first_token_at)
        row->ttft_ns = r->first_token_at - r->send_at;
    if (asked && !outcome_is_failure(r->outcome) &&
        session_prompt_is_cut(s, row->context_tokens, r->prompt_tokens)) {
        char why[200];
        session_cut_words(row->context_tokens, r->prompt_tokens, why, sizeof why);
        err_set(&s->single.record.error, ERR_SERVER, "%s", why);
        s->single.record.outcome = OUTCOME_FAILED;
    }
    return asked && !outcome_is_failure(r->outcome) && r->first_token_at;
}
