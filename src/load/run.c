/* run.c - the whole of one measurement, step by step.
 *
 *   connect -> probe -> calibrate -> plan -> warm-up -> prefill rows -> cells in plan order
 *
 * A context's prefill row is measured just before its first decode cell (its last sample is what
 * warms that context), rows of contexts without decode cells come first. */
#include "load/run.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/open_files.h"
#include "base/priority.h"
#include "base/rand.h"
#include "base/text.h"
#include "base/uuid.h"
#include "base/version.h"
#include "load/session.h"
#include "model/gpu_bandwidth.h"

bool run_control_init(struct run_control *c, struct err *err)
{
    *c = (struct run_control){.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    return c->wake_fd >= 0 ||
           err_set(err, ERR_SYSTEM, "cannot create an eventfd: %s", strerror(errno));
}

void run_control_release(struct run_control *c)
{
    close(c->wake_fd);
}

static void raise_flag(struct run_control *c, atomic_int *flag)
{
    const uint64_t one = 1;
    atomic_store(flag, 1);
    ssize_t ignored = write(c->wake_fd, &one, sizeof one); /* full: the loop is awake anyway */
    (void)ignored;
}

void run_stop(struct run_control *c)
{
    raise_flag(c, &c->stop);
}

void run_skip(struct run_control *c)
{
    raise_flag(c, &c->skip);
}

/* --- life cycle --- */

/* One socket a stream. */
static bool raise_file_limit(const struct run_options *o, struct err *err)
{
    int most = 1;

    for (size_t i = 0; i < o->plan.level_count; i++)
        most = o->plan.levels[i] > most ? o->plan.levels[i] : most;
    return open_files_for(most, err);
}

static bool begin(struct session *s, const struct run_options *o,
                  const struct run_listener *listener, struct run_control *control,
                  struct result *result, struct err *err)
{
    char hex[24];
    uint64_t seed = o->has_seed ? o->seed : rng_entropy();

    *s = (struct session){.options = o, .listener = listener, .control = control, .result = result};
    result_init(result);
    result->id = mem_array(37, 1);
    uuid_v7(result->id);
    mem_set_string(&result->kind, "measured");
    mem_set_string(&result->tool.name, "tokgrid");
    mem_set_string(&result->tool.version, TOKGRID_VERSION);
    mem_set_string(&result->tool.transport, o->transport);
    result->plan = o->plan;
    result->run.temperature = o->temperature;
    snprintf(hex, sizeof hex, "%016" PRIx64, seed);
    mem_set_string(&result->run.seed, hex);
    clock_utc_text(result->run.started_at);
    mem_set_string(&result->run.ended_by, "interrupted"); /* until it is known better */
    s->run_at = clock_now();
    progress_init(&s->progress);
    s->progress.plan = o->plan;
    s->progress.run_started_at = s->run_at;
    hardware_detect(NULL, &result->client.host);
    mem_set_string(&result->client.selftest, o->selftest);
    prompt_source_init(&s->prompts, seed);
    if (o->prompt_file && !prompt_source_load(&s->prompts, o->prompt_file, err))
        return false;
    result->client.realtime = !o->ordinary_priority && priority_realtime();
    return raise_file_limit(o, err);
}

/* Samples are written beside their name until there is something to go with them: a run that fails
 * before it has measured anything must not replace an earlier one's. */
static bool open_samples(struct session *s, struct err *err)
{
    const struct run_listener *l = s->listener;
    struct buf part;

    if (l->open_output && !l->open_output(l->ctx, s->result, &s->samples_path, err))
        return false;
    if (!s->samples_path)
        return true;
    buf_init(&part, 8192);
    buf_addf(&part, "%s.part", s->samples_path);
    s->samples_part = buf_detach(&part);
    s->samples = samples_open(s->samples_part, err);
    return s->samples != NULL;
}

static void lose_samples(struct session *s, const char *why)
{
    session_event(s, "error", "raw samples are incomplete: %s", why);
    s->samples_path = NULL; /* the result names none */
}

/* A row or a cell was kept: so are its samples, on disk. */
static void keep_samples(struct session *s)
{
    struct err err;

    if (!s->samples || !s->samples_path)
        return;
    if (!samples_flush(s->samples, &err)) {
        lose_samples(s, err.text);
        return;
    }
    if (!s->samples_part)
        return;
    if (rename(s->samples_part, s->samples_path) != 0)
        lose_samples(s, strerror(errno));
    free(s->samples_part);
    s->samples_part = NULL;
}

static void close_samples(struct session *s)
{
    char digest[65];
    struct err err;
    struct result *r = s->result;
    int64_t requests;

    if (!s->samples)
        return;
    bool closed = samples_close(s->samples, digest, &requests, &err);
    s->samples = NULL;
    if (s->samples_part) { /* nothing was measured */
        unlink(s->samples_part);
        free(s->samples_part);
        s->samples_part = NULL;
    } else if (!closed) {
        lose_samples(s, err.text);
    } else if (s->samples_path) {
        const char *name = strrchr(s->samples_path, '/');
        mem_set_string(&r->samples.file, name ? name + 1 : s->samples_path);
        mem_set_string(&r->samples.blake2b, digest);
        r->samples.requests = requests;
    }
}

static void finish(struct session *s)
{
    if (s->result->client.realtime)
        priority_ordinary();
    if (s->loop)
        loop_unwatch(s->loop, &s->wake);
    close_samples(s);
    clock_utc_text(s->result->run.ended_at);
    s->result->run.duration_s = ns_to_s(clock_now() - s->run_at);
    session_phase(s, PHASE_DONE, 0);
    monitor_stop(s->monitor);
    hardware_probe_free(s->gpus);
    stream_release(&s->single);
    transport_free(s->transport);
    pages_free(s->pages);
    fetcher_free(s->fetcher);
    loop_free(s->loop);
    endpoint_close(&s->endpoint);
    for (size_t i = 0; i < s->row_count; i++) {
        buf_release(&s->rows[i]->escaped);
        free(s->rows[i]);
    }
    free(s->rows);
    prompt_source_release(&s->prompts);
    free(s->model);
}

static void fact_bytes(struct result *r, const char *name, double bytes, const char *source)
{
    char text[NUM_TEXT_MAX];
    snprintf(text, sizeof text, "%.0f", bytes);
    if (bytes > 0)
        result_add_fact(r, name, text, source);
}

/* What a token costs in memory traffic at least, and how much of that there can be. */
static void know_memory_bound(struct session *s)
{
    const struct run_options *o = s->options;
    struct buf source;

    buf_init(&source, RESULT_MAX_BYTES);
    fact_bytes(s->result, "weight_bytes_per_token", o->active_weight_bytes,
               "option --active-weights");
    double known = machine_bandwidth(&s->result->hardware, &source);
    if (o->memory_bandwidth_bytes_s > 0)
        fact_bytes(s->result, "memory_bandwidth_bytes_s", o->memory_bandwidth_bytes_s,
                   "option --memory-bandwidth");
    else
        fact_bytes(s->result, "memory_bandwidth_bytes_s", known, source.p);
    buf_release(&source);
}

/* Where the server runs: what the user gave, or this machine when it is the same. */
static void know_hardware(struct session *s)
{
    const struct machine *given = s->options->server_hardware;
    struct result *r = s->result;

    if (given)
        machine_copy(&r->hardware, given);
    else if (s->emulated)
        session_emulated_hardware(s, &r->hardware);
    else if (!r->client.remote)
        machine_copy(&r->hardware, &r->client.host);
    else
        session_event(s, "warning",
                      "the server is another machine: give its hardware by --hardware FILE and "
                      "its command by --launch-command-file FILE, or the result cannot say what "
                      "was measured");
    const struct machine *m = &r->hardware;
    const char *name = m->gpu_count ? m->gpus[0].name : m->cpu;
    if (name)
        text_printable(s->progress.hardware, sizeof s->progress.hardware, name, strlen(name));
    know_memory_bound(s);
}

bool run_probe(const struct run_options *o, const struct run_listener *listener,
               struct run_control *control, struct result *ret, struct err *err)
{
    struct session s;
    bool ok = begin(&s, o, listener, control, ret, err) && session_connect(&s, err) &&
              session_probe(&s, err);
    if (ok) {
        know_hardware(&s);
        ok = session_calibrate(&s, err);
    }
    if (ok)
        mem_set_string(&ret->run.ended_by, "done");
    else
        session_hide_key(&s, err->text);
    finish(&s);
    return ok;
}

/* --- the plan --- */

static void keep_notes(struct result *r, const char *notes)
{
    for (const char *line = notes; *line;) {
        int n = (int)strcspn(line, "\n");
        result_add_note(r, "%.*s", n, line);
        line += n + (line[n] == '\n');
    }
}

static void note_capacity(const struct plan *plan, struct buf *notes)
{
    char budget[NUM_TEXT_MAX];
    int left_out = 0;
    for (size_t c = 0; c < plan->context_count; c++)
        for (size_t l = 0; l < plan->level_count; l++)
            left_out += !plan_runs(plan, plan->contexts[c], plan->levels[l]);
    if (left_out)
        buf_addf(notes,
                 "%d cell%s over capacity: contexts and answers do not fit the KV cache of %s "
                 "tokens\n",
                 left_out, left_out == 1 ? " is" : "s are",
                 num_grouped(budget, (double)plan->kv_budget, 0));
}

/* What was asked for beyond the plan and shapes the figures: a reader should know. */
static void note_options(const struct run_options *o, struct result *r)
{
    if (o->prompt_file)
        result_add_note(r, "the prompts' text comes from a file of the user's own (--prompt-file)");
    if (o->no_loop_guard)
        result_add_note(r, "repeating text was not discarded (--no-loop-guard)");
    if (o->max_errors > 0)
        result_add_note(r, "up to %d failed requests were allowed in a cell (--max-errors)",
                        o->max_errors);
    if (o->allow_busy)
        result_add_note(r, "cells were run also on a busy server (--allow-busy)");
    if (o->run_over_capacity)
        result_add_note(r, "cells over capacity were run (--run-over-capacity)");
}

static bool make_plan(struct session *s, struct err *err)
{
    struct plan *plan = &s->result->plan;
    struct buf notes;
    bool ok = true;

    buf_init(&notes, 65536);
    plan->kv_budget = s->facts.kv_budget.value;
    plan->run_over_capacity = s->options->run_over_capacity;
    plan_trim(plan, s->facts.context_limit.value, &notes);
    plan_estimate(plan, s->prefill_tok_s);
    if (plan->budget_ns > 0)
        ok = plan_fit_budget(plan, s->prefill_tok_s, &notes, err);
    note_capacity(plan, &notes);
    s->progress.plan = *plan;
    keep_notes(s->result, notes.p);
    note_options(s->options, s->result);
    if (ok && plan->context_count == 0)
        ok = err_set(err, ERR_USAGE,
                     "the plan has no context that fits the server's limit of %" PRId64
                     " tokens with %" PRId64 " tokens of output; lower --contexts or --max-output",
                     s->facts.context_limit.value, plan->max_output);
    if (ok && s->listener->on_plan)
        s->listener->on_plan(s->listener->ctx, s->result, notes.p);
    buf_release(&notes);
    return ok;
}

/* --- cells --- */

/* Tokens of KV cache a cell needs, by the plan's rule. */
static double kv_need(const struct session *s, int64_t context, int concurrency)
{
    const struct plan *plan = &s->result->plan;
    double written = (double)plan->max_output, rate = s->fastest_stream_tok_s;
    bool window = plan->capacity_rule == CAPACITY_WINDOW;

    if (window && rate > 0)
        written = fmin(written,
                       rate * 1.2 * ns_to_s(plan->settle_ns + plan->duration_ns * plan->repeats));
    bool shared = window && plan->prompts == PROMPTS_SHARED && s->prefix_cache_seen;
    return plan_kv_need(context, concurrency, written, shared);
}

static bool leave_out(struct cell *cell, enum cell_status status, const char *why)
{
    cell->status = status;
    mem_set_string(&cell->reason, why);
    return true;
}

/* True when the time that is left of a budget is shorter than this cell would take. */
static bool out_of_time(const struct session *s)
{
    const struct plan *plan = &s->result->plan;
    int64_t needs = plan->settle_ns + plan->duration_ns * plan->repeats;
    return plan->budget_ns > 0 && clock_now() - s->run_at + needs > plan->budget_ns;
}

/* True when the cell is decided without running it: the rules in the order of the statuses. */
static bool decide_unrun(struct session *s, struct cell *cell)
{
    char text[160];
    double need = kv_need(s, cell->context_tokens, cell->concurrency);
    int queued = 0;

    for (size_t i = 0; i < s->result->decode_count; i++) {
        const struct cell *other = &s->result->decode[i];
        queued += other->context_tokens == cell->context_tokens &&
                  other->concurrency < cell->concurrency && other->status == STATUS_QUEUED;
    }
    if (queued >= 2)
        return leave_out(cell, STATUS_SKIPPED,
                         "two smaller concurrencies of this context were queued already");
    if (out_of_time(s))
        return leave_out(cell, STATUS_SKIPPED, "the time budget is used up");
    if (s->facts.kv_budget.value <= 0 || need <= (double)s->facts.kv_budget.value)
        return false;
    if (s->options->run_over_capacity) {
        cell->marks |= MARK_OVER_CAPACITY;
        return false;
    }
    snprintf(text, sizeof text, "needs %.0f tokens of KV cache, the server has %" PRId64 " (%s)",
             need, s->facts.kv_budget.value, s->facts.kv_budget.source);
    return leave_out(cell, STATUS_OVER_CAPACITY, text);
}

static void show_cell(struct session *s, struct plan_step step, const struct cell *cell)
{
    struct progress_cell *p = &s->progress.cells[step.context][step.level];
    p->state = cell ? CELL_DONE : CELL_RUNNING;
    if (cell) {
        p->status = cell->status;
        p->marks = cell->marks;
        p->total_tok_s = cell->total_tok_s;
        p->ttft_ms = cell->ttft_ms.p50;
        p->itl_ms = cell->itl_ms.p50;
        if (!isnan(cell->client.cpu_pct))
            s->progress.client_cpu_pct = cell->client.cpu_pct;
    }
    session_show(s);
}

static bool has_prefill_row(const struct plan *plan, int64_t context)
{
    for (size_t i = 0; i < plan->prefill_count; i++)
        if (plan->prefill[i] == context)
            return true;
    return false;
}

/* Prefill rows that no decode cell will bring about, or all of them in standalone mode. */
static bool measure_prefill_apart(struct session *s)
{
    const struct plan *plan = &s->result->plan;
    if (plan->prefill_mode == PREFILL_NONE)
        return true;
    for (size_t i = 0; i < plan->prefill_count && !session_stopping(s); i++) {
        bool decoded = false;
        for (size_t c = 0; c < plan->context_count; c++)
            decoded |= plan->contexts[c] == plan->prefill[i];
        if (decoded && plan->prefill_mode == PREFILL_WARMUP)
            continue;
        if (!session_prefill(s, plan->prefill[i], "standalone") && !session_server_alive(s))
            return false;
    }
    return true;
}

/* The context's prefill row, when this is its first cell. False: the cell cannot be run. */
static bool prefill_first(struct session *s, struct cell *cell)
{
    const struct plan *plan = &s->result->plan;
    struct row_context *row = session_context(s, cell->context_tokens);

    if (row->prefill_done || plan->prefill_mode != PREFILL_WARMUP ||
        !has_prefill_row(plan, cell->context_tokens))
        return true;
    bool gone = !session_prefill(s, cell->context_tokens, "warmup") && !session_stopping(s) &&
                !session_server_alive(s);
    if (!gone && !session_stopping(s))
        return true;
    cell->status = STATUS_ERROR;
    mem_set_string(&cell->reason, gone ? "the server does not answer" : "interrupted");
    return false;
}

static void measure_cell(struct session *s, struct cell *cell)
{
    atomic_store(&s->control->skip, 0);
    if (decide_unrun(s, cell) || !prefill_first(s, cell))
        return;
    session_run_cell(s, cell);
    atomic_store(&s->control->skip, 0); /* it was for this cell */
}

static void estimate_rest(struct session *s, size_t done, size_t total, int64_t began_at)
{
    int64_t spent = clock_now() - began_at;
    s->progress.eta_ns = done ? spent / (int64_t)done * (int64_t)(total - done) : -1;
}

static void skip_rest(struct session *s, const struct plan_step *steps, size_t from, size_t total,
                      const char *why)
{
    for (size_t i = from; i < total; i++) {
        struct cell cell;
        cell_init(&cell, s->result->plan.contexts[steps[i].context],
                  s->result->plan.levels[steps[i].level]);
        cell.status = STATUS_SKIPPED;
        mem_set_string(&cell.reason, why);
        result_add_cell_take(s->result, &cell);
    }
}

/* All cells in order. False when the server went away or the run was stopped. */
static bool measure_cells(struct session *s, struct err *err)
{
    const struct plan *plan = &s->result->plan;
    struct plan_step *steps = mem_array(PLAN_MAX_CONTEXTS * PLAN_MAX_LEVELS, sizeof *steps);
    size_t total = plan_order(plan, steps, PLAN_MAX_CONTEXTS * PLAN_MAX_LEVELS);
    int64_t began_at = clock_now();
    bool fine = true;

    for (size_t i = 0; i < total && fine; i++) {
        struct cell cell;
        cell_init(&cell, plan->contexts[steps[i].context], plan->levels[steps[i].level]);
        show_cell(s, steps[i], NULL);
        measure_cell(s, &cell);
        struct cell *kept = result_add_cell_take(s->result, &cell);
        show_cell(s, steps[i], kept);
        estimate_rest(s, i + 1, total, began_at);
        keep_samples(s);
        if (session_stopping(s)) {
            fine = err_set(err, ERR_INTERRUPT, "interrupted");
            skip_rest(s, steps, i + 1, total, "not run: interrupted");
        } else if (kept->status == STATUS_ERROR && !session_server_alive(s)) {
            char why[ERR_TEXT_MAX];
            snprintf(why, sizeof why, "%s", kept->reason ? kept->reason : "no answer");
            mem_set_string(&s->result->run.ended_by, "server_gone");
            fine = err_set(err, ERR_CONNECT, "the server is gone: %s", why);
            skip_rest(s, steps, i + 1, total, "not run: the server is gone");
        }
        kept = &s->result->decode[i]; /* skip_rest may have moved the array */
        if (s->listener->on_cell)
            s->listener->on_cell(s->listener->ctx, s->result, kept, i + 1, total);
        if (s->monitor)
            monitor_forget(s->monitor, clock_now() - 120 * NS_PER_S);
    }
    s->result->run.complete = fine;
    free(steps);
    return fine;
}

/* A hidden first cell: kernels compiled, caches and clocks up, nothing of it kept. */
static bool warm_up(struct session *s)
{
    enum { WARM_TOKENS = 128 };
    struct buf task;
    const struct plan *plan = &s->result->plan;
    int64_t length = plan->prefill_count ? plan->prefill[0] : 0;

    session_phase(s, PHASE_WARMUP, 0);
    struct row_context context;
    session_own_context(s, length, &context);
    buf_init(&task, 4096);
    prompt_add_task(&s->prompts, s->next_task++, &task);
    bool asked = session_ask(s, context.escaped.p, task.p, WARM_TOKENS, "warmup", 0);
    if (asked && s->single.record.error.code != ERR_NONE)
        session_event(s, "warning", "the warm-up request failed: %s", s->single.record.error.text);
    else if (asked)
        session_learn_ratio(s, &s->single.record);
    row_context_release(&context);
    buf_release(&task);
    return asked || !session_stopping(s); /* skipping it is no reason to end the run */
}

static bool measure_all(struct session *s, struct err *err)
{
    if (!session_connect(s, err) || !session_probe(s, err))
        return false;
    know_hardware(s);
    if (s->listener->on_probed)
        s->listener->on_probed(s->listener->ctx, s->result);
    if (!open_samples(s, err) || !session_calibrate(s, err) || !make_plan(s, err))
        return false;
    session_start_monitor(s);
    if (!warm_up(s))
        return err_set(err, ERR_INTERRUPT, "interrupted");
    if (!measure_prefill_apart(s)) {
        mem_set_string(&s->result->run.ended_by, "server_gone");
        return err_set(err, ERR_CONNECT, "the server is gone");
    }
    return measure_cells(s, err);
}

bool run_measure(const struct run_options *o, const struct run_listener *listener,
                 struct run_control *control, struct result *ret, struct err *err)
{
    struct session s;
    bool ok = begin(&s, o, listener, control, ret, err) && measure_all(&s, err);
    if (ok)
        mem_set_string(&ret->run.ended_by, "done");
    else
        session_hide_key(&s, err->text);
    finish(&s);
    return ok;
}
