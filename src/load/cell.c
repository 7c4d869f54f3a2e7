/* cell.c - drives one decode cell.
 *
 *   idle -> connect C lanes -> warm the context -> start C streams -> ready -> settle
 *        -> window [t0, t1), repeated if asked -> abort and close -> judge
 *
 * The steps are written one after the other; each waits by turning the loop, and every wait looks
 * at the same conditions that end a cell early: too many failures, a looping stream, the user. */
#include "load/cell.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"

enum { OPENING_AT_ONCE = 64, LOOP_TRIES = 3 };

/* In the window the loop comes back more often, to know how late it can be. */
static const int64_t tick_ns = 50 * NS_PER_MS, window_tick_ns = 10 * NS_PER_MS,
                     show_ns = 250 * NS_PER_MS;
static const int64_t window_lead_ns = 20 * NS_PER_MS;
static const int64_t stall_least_ns = 5 * NS_PER_S;
/* as many as the server is known to run at once have their token: the rest can only wait */
static const int64_t full_house_ns = 500 * NS_PER_MS;

static struct cell_stream *cell_stream(struct stream *stream)
{
    return stream->user;
}

/* --- requests --- */

/* Longest answer that the server cannot refuse: tasks make a prompt a little longer than its
 * context, and the last row of a plan leaves room for nothing but context and output. */
static int64_t output_room(const struct cell_run *run, const struct cell_stream *cs)
{
    enum { MARGIN = 64, LEAST = 16 };
    const struct session *s = run->s;
    int64_t most = s->result->plan.max_output, context = run->cell->context_tokens;
    const struct row_context *row = cs->own.words ? &cs->own : run->row;

    if (s->facts.context_limit.value <= 0)
        return most;
    if (row->prompt_tokens > context)
        context = row->prompt_tokens;
    int64_t room = s->facts.context_limit.value - context - MARGIN;
    if (room < LEAST)
        room = LEAST;
    return room < most ? room : most;
}

static void send_next(struct cell_run *run, struct cell_stream *cs)
{
    struct session *s = run->s;
    const struct buf *context = cs->own.escaped.len ? &cs->own.escaped : run->shared;
    int64_t room = output_room(run, cs);
    struct buf task;

    buf_init(&task, 4096);
    if (!context) /* new in every run, as everything that is asked */
        prompt_add_context(&s->prompts, prompt_next_nonce(&s->prompts), 0, 0, &task);
    prompt_add_task(&s->prompts, s->next_task++, &task);
    buf_reset(&cs->ending);
    session_request_id(s, cs->rid, sizeof cs->rid);
    request_ending(&s->shape, task.p, room, s->dialect->abort_path ? cs->rid : NULL, &cs->ending);
    buf_release(&task);
    const struct part body[] = {{run->opening.p, run->opening.len},
                                {context ? context->p : "", context ? context->len : 0},
                                {cs->ending.p, cs->ending.len}};
    if (run->guard)
        guard_new_request(run->guard, cs->stream.index);
    stream_send(&cs->stream, CHAT_PATH, body, ARRAY_LEN(body));
    cs->stream.record.asked_tokens = room;
}

static bool too_many_failures(const struct cell_run *run)
{
    return run->failures > run->s->options->max_errors;
}

static void on_end(void *ctx, struct stream *stream)
{
    struct cell_run *run = ctx;
    struct cell_stream *cs = cell_stream(stream);
    cell_end_request(run, cs);
    /* replaced at once; a failing server cannot make this spin, failures end the cell */
    if (run->started && !run->closing && !too_many_failures(run))
        send_next(run, cs);
}

static void on_text(void *ctx, struct stream *stream, enum channel channel, struct slice text)
{
    struct cell_run *run = ctx;
    if (run->guard)
        guard_text(run->guard, stream->index, channel, text);
}

static void on_open(void *ctx, struct stream *stream, const struct err *err)
{
    struct cell_run *run = ctx;
    run->opened++;
    if (err) {
        if (run->failures++ == 0)
            run->failure = *err;
        run->outcomes.count[OUTCOME_FAILED]++;
    }
    if (run->opening_next < run->count)
        stream_open(&run->streams[run->opening_next++].stream);
    (void)stream;
}

static const struct stream_owner owner = {
    .on_token = cell_on_token,
    .on_text = on_text,
    .on_read = cell_on_read,
    .on_end = on_end,
    .on_open = on_open,
};

/* --- waiting --- */

static void show(struct cell_run *run)
{
    struct progress *p = &run->s->progress;
    struct reading now;
    int64_t at = clock_now(), span = at - run->last_progress_shown;

    if (span < show_ns)
        return;
    p->streams_with_token = run->active;
    p->running = p->waiting = NAN;
    if (run->s->monitor && monitor_latest(run->s->monitor, &now)) {
        p->running = now.running;
        p->waiting = now.waiting;
    }
    double rate = (double)atomic_exchange(&run->shown_events, 0) *
                  session_tokens_per_event(run->s) / ns_to_s(span);
    p->tok_s = run->last_progress_shown ? rate : 0;
    if (p->trace_count == PROGRESS_TRACE)
        memmove(p->trace, p->trace + 1, (PROGRESS_TRACE - 1) * sizeof *p->trace);
    else
        p->trace_count++;
    p->trace[p->trace_count - 1] = p->tok_s;
    if (run->part_count == 0)
        cell_show_lag(run);
    if (run->shown_lag_ns > 0)
        p->client_lag_ms = ns_to_ms(run->shown_lag_ns);
    run->last_progress_shown = at;
    session_show(run->s);
}

/* Something ends the cell before its time. */
static bool over(struct cell_run *run)
{
    if (run->guard && !run->looped)
        run->looped = guard_found(run->guard, &run->finding);
    return run->looped || too_many_failures(run) || session_skipping(run->s);
}

/* Turn the loop until done(run) or `until`; false when the cell is over. */
static bool wait_for(struct cell_run *run, bool (*done)(struct cell_run *), int64_t until)
{
    bool often = run->window_open || run->part_count > 0;
    for (;;) {
        cell_gather(run);
        if (over(run))
            return false;
        if (done && done(run))
            return true;
        int64_t now = clock_now(), wake_at = now + (often ? window_tick_ns : tick_ns);
        if (now >= until)
            return true;
        if (until < wake_at)
            wake_at = until;
        loop_turn(run->s->loop, wake_at);
        now = clock_now();
        if (run->window_open && run->part_count == 0 && now >= wake_at)
            hist_record(run->tally.late, now - wake_at);
        show(run);
    }
}

static bool all_opened(struct cell_run *run)
{
    return run->opened == run->count;
}

static bool all_have_tokens(struct cell_run *run)
{
    return run->with_token == run->count;
}

static int64_t expected_prefill(const struct cell_run *run)
{
    /* nothing shared between the streams is the worst that can be expected */
    return run->row->ttft_ns * run->count;
}

/* The server works on a full house while others wait: nobody should wait a minute to learn that it
 * has four slots. With metrics that is: requests wait, and every running one has its token. */
static bool stalled(struct cell_run *run)
{
    struct session *s = run->s;
    struct reading now;
    int64_t stall = stall_least_ns > 10 * s->idle_ttft_ns ? stall_least_ns : 10 * s->idle_ttft_ns;

    if (run->with_token == 0)
        return false;
    if (s->facts.max_running.value > 0 && run->with_token >= s->facts.max_running.value)
        stall = full_house_ns > 2 * s->idle_ttft_ns ? full_house_ns : 2 * s->idle_ttft_ns;
    if (monitor_has_metrics(s->monitor)) {
        if (!monitor_latest(s->monitor, &now) || !(now.waiting > 0) ||
            now.running > run->active + 0.5)
            return false;
    } else if (run->active == 0) {
        return false;
    } else {
        stall += 2 * run->row->ttft_ns; /* the others may still be in their prefill */
    }
    return clock_now() - run->moved_at >= stall;
}

static bool ready_or_stalled(struct cell_run *run)
{
    return all_have_tokens(run) || stalled(run);
}

/* --- the steps --- */

static void open_first(struct cell_run *part)
{
    int first = part->count < OPENING_AT_ONCE ? part->count : OPENING_AT_ONCE;
    part->opening_next = first;
    for (int i = 0; i < first; i++)
        stream_open(&part->streams[i].stream);
}

static bool open_lanes(struct cell_run *run)
{
    cell_each_part(run, open_first);
    return wait_for(run, all_opened, INT64_MAX);
}

static bool warm_own_contexts(struct cell_run *run)
{
    for (int i = 0; i < run->count; i++) {
        struct row_context *own = &run->streams[i].own;
        session_own_context(run->s, run->cell->context_tokens, own);
        if (!session_warm(run->s, own))
            return false;
        if (own->ttft_ns > run->row->ttft_ns)
            run->row->ttft_ns = own->ttft_ns; /* what a start can be expected to take */
    }
    return true;
}

static bool warm_streams(struct cell_run *run)
{
    struct session *s = run->s;
    if (run->cell->context_tokens == 0)
        return true;
    session_phase(s, PHASE_WARMUP, 0);
    if (s->result->plan.prompts == PROMPTS_SHARED) {
        run->shared = &run->row->escaped;
        if (session_warm(s, run->row))
            return true;
    } else if (warm_own_contexts(run)) {
        return true;
    }
    if (!session_skipping(s)) {
        run->warm_failure = s->single.record.error;
        err_prefix(&run->warm_failure, "warming the context");
    }
    return false;
}

static void send_all(struct cell_run *part)
{
    part->started = true;
    part->moved_at = clock_now();
    for (int i = 0; i < part->count; i++)
        send_next(part, &part->streams[i]);
}

static bool get_ready(struct cell_run *run)
{
    struct session *s = run->s;
    int64_t now = clock_now();

    session_phase(s, PHASE_RAMP, 0);
    cell_each_part(run, send_all);
    int64_t limit = now + s->options->ready_timeout_ns + expected_prefill(run);
    if (!wait_for(run, ready_or_stalled, limit))
        return false;
    if (!all_have_tokens(run)) {
        run->opened_early = stalled(run);
        run->ready_late = !run->opened_early;
    }
    run->cell->ready_s = ns_to_s(clock_now() - now);
    session_phase(s, PHASE_SETTLE, s->result->plan.settle_ns);
    return wait_for(run, NULL, clock_now() + s->result->plan.settle_ns);
}

static void open_window(struct cell_run *part)
{
    cell_open_window(part, part->t0, part->s->result->plan.duration_ns);
}

static void measure(struct cell_run *run)
{
    const struct plan *plan = &run->s->result->plan;
    for (int i = 0; i < plan->repeats; i++) {
        session_phase(run->s, PHASE_WINDOW, plan->duration_ns);
        monitor_poke(run->s->monitor);
        /* several threads must all know of it before it begins */
        run->t0 = clock_now() + (run->part_count > 0 ? window_lead_ns : 0);
        run->t1 = run->t0 + plan->duration_ns;
        cell_each_part(run, open_window);
        run->window_open = true;
        bool whole = wait_for(run, NULL, run->t1);
        monitor_poke(run->s->monitor);
        if (!whole)
            run->t1 = clock_now(); /* an interrupted window counts as nothing, but closes */
        cell_each_part(run, cell_close_window);
        run->window_open = false;
        run->repeat = i + 1;
        if (!whole)
            return;
    }
}

/* Abort by id where closing is not enough, then close. Nothing after this is counted. */
static void cancel_all(struct cell_run *run)
{
    struct session *s = run->s;
    struct fetch_reply reply = {0};
    struct err err;

    bool aborts = s->dialect->abort_path && !s->abort_failed;
    run->closing = true;
    buf_init(&reply.body, 65536);
    for (int i = 0; i < run->count; i++) {
        struct stream *stream = &run->streams[i].stream;
        if (aborts && stream_active(stream)) {
            /* by the id its answer bears, which should be ours; one that waits has no other */
            const char *id = stream->request_id[0] ? stream->request_id : run->streams[i].rid;
            struct buf body;
            buf_init(&body, 1024);
            buf_adds(&body, "{\"rid\":");
            buf_add_json_string(&body, id, strlen(id));
            buf_addc(&body, '}');
            aborts = fetch(s->fetcher, s->dialect->abort_path, body.p, NS_PER_S, &reply, &err);
            s->abort_failed = !aborts; /* then closing has to do, from here on */
            if (!aborts)
                session_event(s, "warning", "aborting a request failed: %s", err.text);
            buf_release(&body);
        }
    }
    for (int i = 0; i < run->count; i++) {
        struct cell_stream *cs = &run->streams[i];
        if (!stream_active(&cs->stream))
            continue;
        stream_cancel(&cs->stream);
        cell_end_request(run, cs);
    }
    s->last_activity_at = clock_now();
    buf_release(&reply.body);
}

static void make_streams(struct cell_run *part)
{
    for (int i = 0; i < part->count; i++) {
        struct cell_stream *cs = &part->streams[i];
        cs->run = part;
        buf_init(&cs->ending, 65536);
        stream_init(&cs->stream, part->transport, part->loop, &owner, part, part->first + i);
        cs->stream.user = cs;
        cs->stream.timeout_ns = part->s->options->request_timeout_ns;
    }
}

static void start_run(struct cell_run *run, struct session *s, struct cell *cell)
{
    *run = (struct cell_run){.s = s, .cell = cell, .count = cell->concurrency};
    int threads = cell_threads(s, run->count);
    run->row = session_context(s, cell->context_tokens);
    run->streams = mem_array((size_t)run->count, sizeof *run->streams);
    tally_init(&run->tally, s->result->plan.duration_ns);
    buf_init(&run->opening, 65536);
    request_opening(s->model, &run->opening);
    if (!s->options->no_loop_guard)
        run->guard = guard_start(run->count, s->loop);
    if (!cell_share_out(run, threads)) {
        session_event(s, "warning", "%d threads cannot be had; going on with one", threads);
        cell_join_parts(run);
        cell_release_parts(run);
        run->part_count = 0;
        run->parts = NULL;
        if (!cell_share_out(run, 1))
            abort(); /* it starts nothing */
    }
    cell_each_part(run, make_streams);
}

static void end_run(struct cell_run *run)
{
    guard_stop(run->guard);
    for (int i = 0; i < run->count; i++) {
        stream_release(&run->streams[i].stream);
        row_context_release(&run->streams[i].own);
        buf_release(&run->streams[i].ending);
    }
    free(run->streams);
    cell_release_parts(run);
    buf_release(&run->opening);
    tally_release(&run->tally);
}

/* The counters' readings reach past the window a moment later. */
static struct window_view view_window(struct cell_run *run)
{
    struct session *s = run->s;
    int64_t give_up_at = clock_now() + 2 * NS_PER_S;
    int64_t span = (run->t1 - run->t0) * (run->repeat > 0 ? run->repeat : 1);
    while (s->monitor && !monitor_settled(s->monitor, run->t1) && clock_now() < give_up_at)
        loop_turn(s->loop, clock_now() + tick_ns);
    return s->monitor && run->t1 ? monitor_window(s->monitor, run->t1 - span, run->t1)
                                 : monitor_window_none();
}

/* One stream broke: did it take others along? They say so within a moment. */
static void see_companions(struct cell_run *run)
{
    int64_t until = run->failure_at + CELL_AT_ONCE_NS;
    while (run->failures > 0 && run->failures < run->count && clock_now() < until) {
        int64_t soon = clock_now() + window_tick_ns;
        loop_turn(run->s->loop, soon < until ? soon : until);
        cell_gather(run);
    }
}

/* What an event costs, and how many a stream brings: how many threads the next cell needs. */
static void learn_cost(struct session *s, const struct cell_run *run)
{
    const struct tally *t = &run->tally;
    double seconds = ns_to_s(s->result->plan.duration_ns) * run->repeat;

    if (t->events < 1000 || !(seconds > 0))
        return;
    s->event_cost_ns = (double)run->cpu_all_ns / (double)t->events;
    s->stream_events_s = (double)t->events / seconds / run->with_token;
}

static void try_once(struct session *s, struct cell *cell)
{
    struct cell_run run;

    start_run(&run, s, cell);
    if (open_lanes(&run) && warm_streams(&run) && get_ready(&run))
        measure(&run); /* how it ended, cell_judge knows by the conditions themselves */
    if (too_many_failures(&run))
        see_companions(&run);
    struct window_view view = view_window(&run);
    cell_join_parts(&run);
    cancel_all(&run);
    cell_judge(&run, &view);
    learn_cost(s, &run);
    end_run(&run);
}

static void drain(struct session *s, struct cell *cell)
{
    int64_t from = s->last_activity_at;
    session_phase(s, PHASE_DRAIN, 0);
    if (session_stopping(s) || (cell->status == STATUS_ERROR && !session_server_alive(s)))
        return;
    if (session_wait_idle(s, s->options->idle_timeout_ns))
        cell->drain_s = ns_to_s(clock_now() - from);
}

static void restart_figures(struct cell *cell)
{
    struct cell fresh;
    cell_init(&fresh, cell->context_tokens, cell->concurrency);
    fresh.marks = cell->marks & (MARK_FOREIGN_LOAD | MARK_OVER_CAPACITY);
    memcpy(fresh.started_at, cell->started_at, sizeof fresh.started_at);
    cell_release(cell);
    *cell = fresh;
}

/* The server would not become idle. True when the cell is run all the same. */
static bool run_busy(struct session *s, struct cell *cell)
{
    bool stopped = session_stopping(s), skipped = session_skipping(s);

    if (!skipped && s->options->allow_busy) {
        cell->marks |= MARK_FOREIGN_LOAD;
        return true;
    }
    cell->status = skipped && !stopped ? STATUS_SKIPPED : STATUS_ERROR;
    if (skipped)
        mem_set_string(&cell->reason, stopped ? "interrupted" : "skipped by the user");
    else
        mem_set_string(&cell->reason,
                       session_server_alive(s) ? "server_busy" : "the server does not answer");
    return false;
}

void session_run_cell(struct session *s, struct cell *cell)
{
    s->progress.context_tokens = cell->context_tokens;
    s->progress.concurrency = cell->concurrency;
    clock_utc_text(cell->started_at);
    for (int try = 1; try <= LOOP_TRIES; try++) {
        if (try > 1) {
            restart_figures(cell);
            session_event(s, "info", "the model repeated itself; trying other tasks (%d of %d)",
                          try, LOOP_TRIES);
        }
        if (!session_wait_idle(s, s->options->idle_timeout_ns) && !run_busy(s, cell))
            return;
        try_once(s, cell);
        if (try > 1)
            cell->marks |= MARK_RETRIED;
        drain(s, cell);
        if (cell->status != STATUS_LOOPED || session_skipping(s))
            break;
    }
}
