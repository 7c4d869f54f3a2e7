/* cell_count.c - counting on the receive path: additions and comparisons, nothing else.
 *
 * Every token event of a cell comes through cell_on_token once. What belongs to the window is
 * decided by the event's own stamp, t0 <= stamp < t1, not by when it is handled. */
#include "load/cell.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"

/* Bins for the interval: 20 ms would do for any window; long ones get wider bins, not more. */
static const int64_t bin_least_ns = 20 * NS_PER_MS;

void tally_init(struct tally *t, int64_t duration_ns)
{
    memset(t, 0, sizeof *t);
    t->bin_ns = bin_least_ns;
    while (duration_ns / t->bin_ns > CELL_MAX_BINS)
        t->bin_ns *= 2;
    t->bins = (size_t)(duration_ns / t->bin_ns);
    t->bin_events = mem_array(t->bins + 1, sizeof *t->bin_events);
    t->bin_tokens = mem_array(t->bins + 1, sizeof *t->bin_tokens);
    t->gaps = mem_alloc(sizeof *t->gaps);
    t->lag = mem_alloc(sizeof *t->lag);
    t->send_lag = mem_alloc(sizeof *t->send_lag);
    t->late = mem_alloc(sizeof *t->late);
}

void tally_release(struct tally *t)
{
    free(t->bin_events);
    free(t->bin_tokens);
    free(t->gaps);
    free(t->lag);
    free(t->send_lag);
    free(t->late);
    free(t->ttft_ms.v);
    free(t->spans);
    memset(t, 0, sizeof *t);
}

static void add_double(struct doubles *d, double v)
{
    MEM_GROW(d->v, d->n, d->cap);
    d->v[d->n++] = v;
}

bool cell_counts_usage(const struct cell_run *run)
{
    const struct tally *t = &run->tally;
    return run->s->token_source == TOKENS_USAGE_STREAM && !t->usage_fell && t->hidden == 0;
}

double cell_tokens(const struct cell_run *run, double events, double usage)
{
    struct session *s = run->s;
    if (cell_counts_usage(run))
        return usage;
    return events * session_tokens_per_event(s);
}

/* Streams with a token go up or down at this instant. */
static void set_active(struct cell_run *run, int active, int64_t at)
{
    if (run->window_open) {
        int64_t from = run->active_since > run->t0 ? run->active_since : run->t0;
        int64_t to = at < run->t1 ? at : run->t1;
        if (to > from)
            run->tally.active_integral += (double)(to - from) * run->active;
    }
    run->active = active;
    run->active_since = at;
}

/* The time any first token takes: up to twice the idle server's, or this context's where no cache
 * helps. A request is not waiting in a queue during that time; without this, servers without
 * metrics and with short answers would look queued. */
static int64_t first_token_time(const struct cell_run *run)
{
    int64_t idle = run->s->idle_ttft_ns, warm = run->row->warm_ttft_ns;
    return 2 * (warm > idle ? warm : idle);
}

static void add_active(struct cell_run *run, int64_t from, int64_t to)
{
    if (from < run->t0)
        from = run->t0;
    if (to > run->t1)
        to = run->t1;
    if (to > from)
        run->tally.active_integral += (double)(to - from);
}

static void add_first_token_time(struct cell_run *run, const struct record *r)
{
    int64_t from = r->first_token_at - first_token_time(run);
    if (run->window_open)
        add_active(run, from > r->planned_at ? from : r->planned_at, r->first_token_at);
}

/* At the window's end some requests are still in that time. */
static void add_begun(struct cell_run *run, const struct cell_stream *cs)
{
    const struct record *r = &cs->stream.record;
    if (!cs->has_token && stream_active(&cs->stream) &&
        run->t1 - r->planned_at <= first_token_time(run))
        add_active(run, r->planned_at, run->t1);
}

/* What of this request lies in the window, from its first event there to its last. */
static void close_request_window(struct cell_run *run, struct cell_stream *cs)
{
    struct tally *t = &run->tally;
    const struct request_window *in = &cs->in;
    if (in->events < 2)
        return;
    MEM_GROW(t->spans, t->span_count, t->span_cap);
    t->spans[t->span_count++] =
        (struct span){in->last_at - in->first_at, in->events - 1, in->tokens - in->first_tokens};
}

/* A stream that has been silent up to the window's end makes no gap by itself, since a gap ends
 * with a token. Past a second, and three times the longest gap, it is a stall: it counts as a gap,
 * and the stream not as active meanwhile. */
static void count_silence(struct cell_run *run, struct cell_stream *cs)
{
    struct tally *t = &run->tally;
    int64_t from = cs->last_at > run->t0 ? cs->last_at : run->t0;
    int64_t silent = run->t1 - from;

    if (!cs->has_token || silent < NS_PER_S || silent < 3 * t->gaps->max_ns)
        return;
    hist_record(t->gaps, run->t1 - cs->last_at);
    t->active_integral -= (double)silent;
}

/* A thread that has ended has no time any more: what it used goes unseen. */
static int64_t thread_cpu(const struct cell_run *run, size_t thread)
{
    switch (thread) {
    case 0: return clock_thread_cpu();
    case 1: return guard_cpu(run->guard);
    default: return monitor_cpu(run->s->monitor);
    }
}

void cell_open_window(struct cell_run *run, int64_t t0, int64_t duration_ns)
{
    struct tally *t = &run->tally;
    run->t0 = t0;
    run->t1 = t0 + duration_ns;
    run->repeat_events = run->repeat_tokens = 0;
    memset(t->bin_events, 0, (t->bins + 1) * sizeof *t->bin_events);
    memset(t->bin_tokens, 0, (t->bins + 1) * sizeof *t->bin_tokens);
    for (int i = 0; i < run->count; i++)
        run->streams[i].in = (struct request_window){0};
    run->active_since = t0;
    run->window_open = true;
    for (size_t i = 0; i < CELL_THREADS; i++)
        t->cpu_ns[i] -= thread_cpu(run, i);
}

void cell_close_window(struct cell_run *run)
{
    for (size_t i = 0; i < CELL_THREADS; i++)
        run->tally.cpu_ns[i] += thread_cpu(run, i);
    set_active(run, run->active, run->t1);
    run->window_open = false;
    for (int i = 0; i < run->count; i++) {
        struct cell_stream *cs = &run->streams[i];
        close_request_window(run, cs);
        count_silence(run, cs);
        add_begun(run, cs);
        cs->in = (struct request_window){0};
        cs->unread = lane_unread(cs->stream.lane);
        run->tally.usage_fell |= cs->stream.record.usage_fell;
    }
    if (run->repeat < CELL_MAX_REPEATS) {
        run->each_events[run->repeat] = run->repeat_events;
        run->each_usage[run->repeat] = run->repeat_tokens;
    }
    run->repeat++;
}

static void count_in_window(struct cell_run *run, struct cell_stream *cs, int64_t at,
                            int64_t tokens)
{
    struct tally *t = &run->tally;
    struct request_window *in = &cs->in;
    size_t bin = (size_t)((at - run->t0) / t->bin_ns);

    t->events++;
    t->tokens += tokens;
    run->repeat_events++;
    run->repeat_tokens += tokens;
    if (bin < t->bins) {
        t->bin_events[bin] += 1;
        t->bin_tokens[bin] += (double)tokens;
    }
    if (in->events++ == 0) {
        in->first_stamp = cs->stream.stamp_count - 1;
        in->first_at = at;
        in->first_tokens = tokens;
    }
    if (cs->last_at) /* a gap belongs to the window it ends in */
        hist_record(t->gaps, at - cs->last_at);
    in->tokens += tokens;
    in->last_at = at;
}

void cell_on_token(void *ctx, struct stream *stream, int64_t at, int64_t tokens)
{
    struct cell_run *run = ctx;
    struct cell_stream *cs = stream->user;

    if (!cs->has_token) {
        const struct record *r = &stream->record;
        cs->has_token = true;
        cs->last_at = 0;
        set_active(run, run->active + 1, at);
        add_first_token_time(run, r);
        bool in_time = run->t1 == 0 || at < run->t1;
        cs->ttft = in_time ? run->tally.ttft_ms.n : SIZE_MAX;
        if (in_time)
            add_double(&run->tally.ttft_ms, ns_to_ms(at - r->send_at));
        if (!cs->ever_token) {
            cs->ever_token = true;
            run->with_token++;
            run->moved_at = at;
        }
    }
    if (run->window_open && at >= run->t0 && at < run->t1)
        count_in_window(run, cs, at, tokens);
    cs->last_at = at;
    run->shown_events++;
}

void cell_on_read(void *ctx, struct stream *stream, const struct read_stamp *stamp)
{
    struct cell_run *run = ctx;
    (void)stream;
    if (!run->window_open)
        return;
    run->tally.reads++;
    if (stamp->kernel_at)
        hist_record(run->tally.lag, stamp->at - stamp->kernel_at);
}

void cell_show_lag(struct cell_run *run)
{
    const struct hist *lag = run->tally.lag;
    run->shown_lag_ns = lag->total ? hist_quantile_ns(lag, 0.99) : 0;
}

/* A request that failed is part of no latency and no rate: what was counted of it in this window is
 * taken back, by its own stamps. */
static void take_back(struct cell_run *run, struct cell_stream *cs)
{
    struct tally *t = &run->tally;
    const struct request_window *in = &cs->in;
    const struct token_stamp *stamp = cs->stream.stamps;
    size_t from = in->first_stamp, end = from + (size_t)in->events;

    if (cs->has_token && cs->ttft < t->ttft_ms.n)
        t->ttft_ms.v[cs->ttft] = NAN;
    t->events -= in->events;
    t->tokens -= in->tokens;
    run->repeat_events -= in->events;
    run->repeat_tokens -= in->tokens;
    for (size_t i = from; i < end && end <= cs->stream.stamp_count; i++) {
        size_t bin = (size_t)((stamp[i].at_ns - run->t0) / t->bin_ns);
        if (bin < t->bins) {
            t->bin_events[bin] -= 1;
            t->bin_tokens[bin] -= stamp[i].tokens;
        }
        if (i > 0)
            hist_forget(t->gaps, stamp[i].at_ns - stamp[i - 1].at_ns);
    }
}

/* The error without how far its request had come. */
static const char *cause(const struct err *err)
{
    static const char behind[] = " token events: ";
    const char *p = strstr(err->text, behind);
    return p ? p + sizeof behind - 1 : err->text;
}

bool cell_failed_alike(const struct err *a, const struct err *b)
{
    return strcmp(cause(a), cause(b)) == 0;
}

static void count_failure(struct cell_run *run, const struct record *r)
{
    if (run->failures++ == 0) {
        run->failure = r->error;
        run->failure_at = r->close_at;
    }
    if (r->close_at - run->failure_at <= CELL_AT_ONCE_NS &&
        cell_failed_alike(&r->error, &run->failure))
        run->failures_at_once++;
}

/* What a whole answer tells about the server's way to count. */
static void learn_from_whole(struct cell_run *run, const struct record *r)
{
    struct tally *t = &run->tally;
    session_learn_ratio(run->s, r);
    t->hidden += record_hidden_tokens(r);
    if (r->usage_growths < 2)
        return;
    t->billed += r->completion_tokens;
    if (r->completion_tokens > r->credited + 1) /* the end of text is a token without text */
        t->undelivered += r->completion_tokens - r->credited - 1;
}

/* Every request's prompt, where its answer tells: a server that cuts one in silence measures
 * something else than was asked for. */
static void check_prompt(struct cell_run *run, struct cell_stream *cs)
{
    const struct record *r = &cs->stream.record;
    int64_t context = run->cell->context_tokens;
    if (r->prompt_tokens > 0)
        cs->prompt_tokens = r->prompt_tokens;
    run->prompt_off |= session_prompt_is_off(context, (double)r->prompt_tokens);
    if (!session_prompt_is_cut(run->s, context, r->prompt_tokens))
        return;
    run->prompts_cut++;
    run->cut_to = r->prompt_tokens;
}

void cell_end_request(struct cell_run *run, struct cell_stream *cs)
{
    struct record *r = &cs->stream.record;
    bool failed = outcome_is_failure(r->outcome);

    if (cs->has_token)
        set_active(run, run->active - 1, r->close_at);
    run->outcomes.count[r->outcome]++;
    run->tally.usage_fell |= r->usage_fell;
    run->tally.cumulative |= r->cumulative;
    if (r->sent_at)
        hist_record(run->tally.send_lag, r->send_at - r->planned_at - r->connect_ns);
    if (failed) {
        take_back(run, cs);
    } else if (run->window_open) {
        close_request_window(run, cs);
        if (r->last_token_at >= run->t0 && r->last_token_at < run->t1)
            run->tally.completed++;
    }
    cs->has_token = false;
    cs->in = (struct request_window){0};
    check_prompt(run, cs);
    if (r->outcome == OUTCOME_COMPLETE || r->outcome == OUTCOME_NO_DONE)
        learn_from_whole(run, r);
    if (failed)
        count_failure(run, r);
    session_sample(run->s, &cs->stream, "decode", run->cell->context_tokens, run->cell->concurrency,
                   run->repeat);
}
