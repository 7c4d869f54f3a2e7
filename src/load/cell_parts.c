/* cell_parts.c - a cell's streams shared out over threads, and their counts added up.
 *
 * Each thread has a loop, a transport and a struct cell_run of its own with a slice of the streams:
 * a part. Nothing of a part is touched by another thread while it runs, but for its atomic members,
 * which are looked at. What the cell wants of its parts is a job: a function that each thread runs
 * between two turns of its loop. With one thread there are no parts: the cell is its own. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/priority.h"
#include "load/cell.h"
#include "net/transport.h"

enum { MAX_THREADS = 64 };

/* A thread is given as many streams as take half of its time. */
static const double share_of_thread = 0.5;
/* What an event costs before this client has measured itself, and how often a part looks up. */
static const int64_t usual_cost_ns = 12 * NS_PER_US, turn_ns = 10 * NS_PER_MS,
                     show_ns = 250 * NS_PER_MS;

struct cell_part {
    struct cell_run run;
    struct cell_run *whole;
    struct loop *loop;
    struct transport *transport;
    pthread_t thread;
    pthread_mutex_t lock; /* guards job, quit */
    pthread_cond_t done;
    void (*job)(struct cell_run *part);
    bool quit;
};

/* --- how many --- */

int cell_threads(const struct session *s, int streams)
{
    int most = s->result->client.host.cpus_allowed;

    if (s->options->threads > 0)
        return s->options->threads < streams ? s->options->threads : streams;
    if (!s->result->client.remote)
        most--; /* the server is here too, and needs some */
    if (most > MAX_THREADS)
        most = MAX_THREADS;
    double cost_ns = s->event_cost_ns > 0 ? s->event_cost_ns : (double)usual_cost_ns;
    double load = s->stream_events_s * streams * cost_ns / 1e9;
    int wanted = 1 + (int)(load / share_of_thread);
    if (wanted > most)
        wanted = most;
    if (wanted > streams)
        wanted = streams;
    return wanted > 1 ? wanted : 1;
}

/* --- a part's thread --- */

static void *work(void *ctx)
{
    struct cell_part *part = ctx;
    struct cell_run *run = &part->run;
    int64_t shown_at = 0;

    if (run->s->result->client.realtime)
        priority_realtime();
    for (bool quit = false; !quit;) {
        int64_t wake_at = clock_now() + turn_ns;
        loop_turn(part->loop, wake_at);
        int64_t now = clock_now();
        if (run->window_open && now >= wake_at)
            hist_record(run->tally.late, now - wake_at);
        if (now - shown_at >= show_ns) {
            cell_show_lag(run);
            shown_at = now;
        }
        pthread_mutex_lock(&part->lock);
        if (part->job) {
            run->t0 = part->whole->t0;
            run->t1 = part->whole->t1;
            run->shared = part->whole->shared;
            part->job(run);
        }
        part->job = NULL;
        quit = part->quit;
        pthread_cond_signal(&part->done);
        pthread_mutex_unlock(&part->lock);
    }
    return NULL;
}

static bool start_part(struct cell_part *part, struct cell_run *whole, int first, int count)
{
    sigset_t all, old;
    struct err err;

    part->whole = whole;
    part->loop = loop_new(&err);
    if (!part->loop)
        return false;
    part->transport =
        transport_new(whole->s->options->transport, part->loop, &whole->s->endpoint, &err);
    if (!part->transport)
        return false;
    part->run = (struct cell_run){.s = whole->s,
                                  .cell = whole->cell,
                                  .row = whole->row,
                                  .streams = whole->streams + first,
                                  .first = first,
                                  .count = count,
                                  .loop = part->loop,
                                  .transport = part->transport,
                                  .guard = whole->guard,
                                  .shared = whole->shared,
                                  .opening = whole->opening};
    tally_init(&part->run.tally, whole->s->result->plan.duration_ns);
    pthread_mutex_init(&part->lock, NULL);
    pthread_cond_init(&part->done, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old); /* signals are for the main thread */
    int problem = pthread_create(&part->thread, NULL, work, part);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (problem == 0)
        return true;
    pthread_mutex_destroy(&part->lock);
    pthread_cond_destroy(&part->done);
    return false;
}

static void release_part(struct cell_part *part)
{
    tally_release(&part->run.tally);
    transport_free(part->transport);
    loop_free(part->loop);
}

bool cell_share_out(struct cell_run *run, int threads)
{
    if (threads <= 1) {
        run->loop = run->s->loop;
        run->transport = run->s->transport;
        return true;
    }
    run->parts = mem_array((size_t)threads, sizeof *run->parts);
    for (int i = 0, first = 0; i < threads; i++) {
        int count = (run->count - first) / (threads - i);
        if (!start_part(&run->parts[i], run, first, count)) {
            release_part(&run->parts[i]);
            return false;
        }
        run->part_count++;
        first += count;
    }
    return true;
}

/* --- jobs --- */

void cell_each_part(struct cell_run *run, void (*job)(struct cell_run *part))
{
    if (run->part_count == 0) {
        job(run);
        return;
    }
    for (int i = 0; i < run->part_count; i++) {
        struct cell_part *part = &run->parts[i];
        pthread_mutex_lock(&part->lock);
        part->job = job;
        pthread_mutex_unlock(&part->lock);
        loop_wake(part->loop);
    }
    for (int i = 0; i < run->part_count; i++) {
        struct cell_part *part = &run->parts[i];
        pthread_mutex_lock(&part->lock);
        while (part->job)
            pthread_cond_wait(&part->done, &part->lock);
        pthread_mutex_unlock(&part->lock);
    }
}

void cell_gather(struct cell_run *run)
{
    int opened = 0, with_token = 0, active = 0, failures = 0;
    int64_t moved_at = 0, failure_at = 0, lag_ns = 0;

    if (run->part_count == 0)
        return;
    for (int i = 0; i < run->part_count; i++) {
        struct cell_run *part = &run->parts[i].run;
        opened += part->opened;
        with_token += part->with_token;
        active += part->active;
        failures += part->failures;
        run->shown_events += atomic_exchange(&part->shown_events, 0);
        if (part->moved_at > moved_at)
            moved_at = part->moved_at;
        if (part->shown_lag_ns > lag_ns)
            lag_ns = part->shown_lag_ns;
        if (part->failure_at && (!failure_at || part->failure_at < failure_at))
            failure_at = part->failure_at;
    }
    run->opened = opened;
    run->with_token = with_token;
    run->active = active;
    run->failures = failures;
    run->moved_at = moved_at;
    run->failure_at = failure_at;
    run->shown_lag_ns = lag_ns;
}

/* --- the end --- */

static void add_tally(struct tally *into, const struct tally *from)
{
    into->events += from->events;
    into->tokens += from->tokens;
    into->completed += from->completed;
    into->reads += from->reads;
    into->active_integral += from->active_integral;
    into->usage_fell |= from->usage_fell;
    into->cumulative |= from->cumulative;
    into->billed += from->billed;
    into->undelivered += from->undelivered;
    into->hidden += from->hidden;
    for (size_t i = 0; i < CELL_THREADS; i++) /* of several loops the busiest; the others are one */
        into->cpu_ns[i] = from->cpu_ns[i] > into->cpu_ns[i] ? from->cpu_ns[i] : into->cpu_ns[i];
    for (size_t i = 0; i < into->bins; i++) {
        into->bin_events[i] += from->bin_events[i];
        into->bin_tokens[i] += from->bin_tokens[i];
    }
    hist_merge(into->gaps, from->gaps);
    hist_merge(into->lag, from->lag);
    hist_merge(into->send_lag, from->send_lag);
    hist_merge(into->late, from->late);
    for (size_t i = 0; i < from->ttft_ms.n; i++) {
        MEM_GROW(into->ttft_ms.v, into->ttft_ms.n, into->ttft_ms.cap);
        into->ttft_ms.v[into->ttft_ms.n++] = from->ttft_ms.v[i];
    }
    for (size_t i = 0; i < from->span_count; i++) {
        MEM_GROW(into->spans, into->span_count, into->span_cap);
        into->spans[into->span_count++] = from->spans[i];
    }
}

static void add_part(struct cell_run *whole, const struct cell_run *part)
{
    whole->cpu_all_ns += part->tally.cpu_ns[0];
    add_tally(&whole->tally, &part->tally);
    for (size_t i = 0; i < ARRAY_LEN(whole->outcomes.count); i++)
        whole->outcomes.count[i] += part->outcomes.count[i];
    for (int i = 0; i < CELL_MAX_REPEATS; i++) {
        whole->each_events[i] += part->each_events[i];
        whole->each_usage[i] += part->each_usage[i];
    }
    whole->repeat = part->repeat; /* the windows are the same */
    whole->prompt_off |= part->prompt_off;
    whole->prompts_cut += part->prompts_cut;
    if (part->prompts_cut > 0)
        whole->cut_to = part->cut_to;
}

/* The first failure of all; and how many came with it: each part knows that of its own first one.
 */
static void add_failures(struct cell_run *whole)
{
    for (int i = 0; i < whole->part_count; i++) {
        const struct cell_run *part = &whole->parts[i].run;
        if (part->failures > 0 && part->failure_at == whole->failure_at)
            whole->failure = part->failure;
    }
    for (int i = 0; i < whole->part_count; i++) {
        const struct cell_run *part = &whole->parts[i].run;
        if (part->failure_at - whole->failure_at <= CELL_AT_ONCE_NS &&
            cell_failed_alike(&part->failure, &whole->failure))
            whole->failures_at_once += part->failures_at_once;
    }
}

void cell_join_parts(struct cell_run *run)
{
    for (int i = 0; i < run->part_count; i++) {
        struct cell_part *part = &run->parts[i];
        pthread_mutex_lock(&part->lock);
        part->quit = true;
        pthread_mutex_unlock(&part->lock);
        loop_wake(part->loop);
    }
    for (int i = 0; i < run->part_count; i++)
        pthread_join(run->parts[i].thread, NULL);
    cell_gather(run);
    for (int i = 0; i < run->part_count; i++)
        add_part(run, &run->parts[i].run);
    add_failures(run);
    run->threads = run->part_count ? run->part_count : 1;
    if (run->part_count == 0) {
        run->cpu_all_ns = run->tally.cpu_ns[0];
        return;
    }
    /* from here on the streams are the main thread's, and end in the whole's counts */
    for (int i = 0; i < run->count; i++) {
        run->streams[i].run = run;
        run->streams[i].stream.ctx = run;
    }
}

void cell_release_parts(struct cell_run *run)
{
    for (int i = 0; i < run->part_count; i++) {
        pthread_mutex_destroy(&run->parts[i].lock);
        pthread_cond_destroy(&run->parts[i].done);
        release_part(&run->parts[i]);
    }
    free(run->parts);
}
