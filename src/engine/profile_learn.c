/* profile_learn.c - a profile from a measured matrix, so that measuring the profile gives the
 * matrix back.
 *
 * Each decode cell says two things about the length s of a step with C sequences: the time between
 * tokens (s = itl) and the total (s = C / total). They differ by a few per cent; the geometric mean
 * keeps both within half of that. Beyond it there is the number of sequences that decode on
 * average, d = total x itl (Little's law):
 *
 * - valid, d well below C: some streams lag. They do so again (cause.decoding).
 * - queued, d about C: all decode, while somebody is seen waiting (cause.waiting_seen).
 * - queued, d below C: so many run at once, rounded up (cause.max_running, when that is not all of
 *   them), and the last of them part of the time (cause.decoding). Of one or two that would show in
 *   the time between tokens; those pause together at the window's end (cause.hold_*), which leaves
 *   it as it was.
 *
 * A cell's step time is an average over its window, in which its contexts grow; the table wants the
 * time at the context itself, so the growth is taken off again. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "engine/profile.h"

/* What imported results do not say, the tool that measured them had as its default. */
static const double default_settle_s = 2;

/* Shares of C: a queued cell with fewer decoding has them queue; a valid one with fewer has
 * laggards, as the geometric mean would be off by 3 %. */
static const double all_decode = 0.97, mean_is_enough = 0.945;

/* Of fewer streams a laggard would move the median. */
enum { MEDIAN_LEAST = 3 };

/* Sequences: less than this above a whole number is the rounding of the printed figures. */
static const double rounding = 0.02;

/* Without a prefill row: prompts pass so many times as fast as one stream's tokens. (29 and 41 on
 * the two published pages at 8K.) */
static const double prefill_factor = 32;

static const double most_tokens = 1e15, most_window_s = 1e6; /* as in a result */

/* Context 0 is a task alone; without a count by the server, as long as this program's own. */
static const double shortest_prompt = 48;

enum { BLOCK_TOKENS = 16, STEP_TOKENS = 2048, WARM_TOKENS = 512, GROWTH_ROUNDS = 16 };

/* What one cell teaches. */
struct lesson {
    const struct cell *cell;
    int batch; /* sequences that run; 0: no figures */
    double step_ns, warm_ns;
    double until_s; /* after the first tokens: end of the decoding in the window */
    bool has_cause;
    struct cause cause;
};

struct learner {
    const struct result *r;
    struct profile *p;
    double settle_s, window_s; /* all repeats together */
    struct lesson *lessons;
    size_t count;
};

static bool positive(double v)
{
    return isfinite(v) && v > 0;
}

/* --- cells --- */

/* Share of its time that a stream decodes: when requests end and are replaced, each first waits for
 * its first token. */
static double decoding_share(const struct learner *l, const struct cell *c, double itl_s)
{
    double length = (double)l->r->plan.max_output;
    if (c->completed <= 0 || !positive(c->ttft_ms.p50))
        return 1;
    if (c->output_tokens > 0)
        length = fmin(length > 0 ? length : INFINITY,
                      fmax((double)c->output_tokens / (double)c->completed, 2));
    if (!(length >= 2))
        return 1;
    double decoding_s = (length - 1) * itl_s;
    return decoding_s / (decoding_s + c->ttft_ms.p50 / 1e3);
}

/* Time between tokens and the sequences that decode; false when the cell has no figures. */
static bool take_figures(const struct learner *l, const struct cell *c, double *ret_itl_s,
                         double *ret_decoding)
{
    double itl_s = NAN, decoding = c->concurrency;

    if (!status_has_numbers(c->status))
        return false;
    if (positive(c->per_request_tok_s)) /* it has more digits than the time between tokens */
        itl_s = 1 / c->per_request_tok_s;
    else if (positive(c->itl_ms.p50))
        itl_s = c->itl_ms.p50 / 1e3;
    if (positive(itl_s) && positive(c->total_tok_s))
        decoding = c->total_tok_s * itl_s / decoding_share(l, c, itl_s);
    else if (positive(c->total_tok_s))
        itl_s = c->concurrency / c->total_tok_s;
    if (!positive(itl_s) || !positive(decoding))
        return false;
    *ret_itl_s = fmin(fmax(itl_s, 1e-6), 1e3);
    *ret_decoding = decoding;
    return true;
}

static void learn_valid(struct lesson *m, double itl_s, double decoding)
{
    int all = m->cell->concurrency;
    m->step_ns = itl_s * 1e9;
    if (decoding < mean_is_enough * all && all >= MEDIAN_LEAST) {
        m->has_cause = true;
        m->cause.decoding = decoding;
        m->cause.step_ns = m->step_ns;
    } else {
        m->step_ns *= sqrt(all / decoding); /* sqrt(itl x C / total) */
    }
}

static void learn_queued(const struct learner *l, struct lesson *m, double itl_s, double decoding)
{
    int all = m->cell->concurrency, run = (int)ceil(fmin(decoding, all) - rounding);

    m->has_cause = true;
    if (decoding >= all_decode * all) {
        m->cause.waiting_seen = true;
        learn_valid(m, itl_s, decoding);
        return;
    }
    m->batch = run < 1 ? 1 : run;
    m->step_ns = m->cause.step_ns = itl_s * 1e9;
    if (m->batch < all)
        m->cause.max_running = m->batch;
    else
        m->cause.waiting_seen = true; /* a short pause alone can be missed by who looks at times */
    if (m->batch >= MEDIAN_LEAST) {
        m->cause.decoding = decoding < m->batch ? decoding : 0;
    } else if (decoding < m->batch) {
        m->until_s = l->settle_s + decoding / m->batch * l->window_s;
        m->cause.hold_from_s = m->until_s;
        m->cause.hold_until_s = l->settle_s + l->window_s;
    }
}

static void learn_cell(const struct learner *l, const struct cell *c, struct lesson *m)
{
    double itl_s, decoding;

    *m = (struct lesson){.cell = c, .warm_ns = NAN, .until_s = l->settle_s + l->window_s};
    m->cause.context_tokens = c->context_tokens;
    m->cause.concurrency = c->concurrency;
    if (c->status == STATUS_LOOPED)
        m->has_cause = m->cause.looped = true;
    if (!take_figures(l, c, &itl_s, &decoding))
        return;
    m->batch = c->concurrency;
    /* where requests queue and follow one another, TTFT holds the time in the queue as well */
    if (positive(c->ttft_ms.p50) && !(c->status == STATUS_QUEUED && c->completed > 0))
        m->warm_ns = fmin(fmax(c->ttft_ms.p50 * 1e6, 1e3), 1e15);
    if (c->status == STATUS_VALID)
        learn_valid(m, itl_s, decoding);
    else
        learn_queued(l, m, itl_s, decoding);
}

/* --- the grids --- */

static void add_to_axis(double *axis, size_t *count, size_t room, double v)
{
    size_t at = 0;
    while (at < *count && axis[at] < v)
        at++;
    if ((at < *count && !(axis[at] > v)) || *count == room)
        return;
    memmove(axis + at + 1, axis + at, (*count - at) * sizeof *axis);
    axis[at] = v;
    (*count)++;
}

/* The prompt that a row of cells was measured with: what the server counted in the first of them
 * that says so, if that is near what was asked for. */
static double row_tokens(const struct learner *l, const struct lesson *m)
{
    double context = (double)m->cell->context_tokens;
    for (size_t i = 0; i < l->count; i++) {
        const struct cell *c = l->lessons[i].cell;
        if (c->context_tokens == m->cell->context_tokens && positive(c->prompt_tokens))
            return fmin(fmax(c->prompt_tokens, context / 2), context * 1.5 + 512);
    }
    return fmax(context, shortest_prompt);
}

static void add_axes(struct grid *g, double context, double batch)
{
    add_to_axis(g->context, &g->contexts, PROFILE_MAX_CONTEXTS, context);
    add_to_axis(g->batch, &g->batches, PROFILE_MAX_BATCHES, batch);
}

static void forget_all(struct grid *g)
{
    for (size_t c = 0; c < PROFILE_MAX_CONTEXTS; c++)
        for (size_t b = 0; b < PROFILE_MAX_BATCHES; b++)
            g->ns[c][b] = NAN;
}

/* False: the axes had no room for it. */
static bool find_point(const struct grid *g, double context, double batch, size_t *ret_context,
                       size_t *ret_batch)
{
    for (size_t c = 0; c < g->contexts; c++)
        for (size_t b = 0; b < g->batches; b++)
            if (fabs(g->context[c] - context) < 0.5 && fabs(g->batch[b] - batch) < 0.5) {
                *ret_context = c;
                *ret_batch = b;
                return true;
            }
    return false;
}

/* Once for the cells that ran all they asked for, so that they have room and their word stands;
 * then for those that say something about a smaller batch. */
static void fill_decode(const struct learner *l, struct grid *decode, struct grid *until_s)
{
    for (int borrowed = 0; borrowed < 2; borrowed++)
        for (size_t i = 0; i < l->count; i++) {
            const struct lesson *m = &l->lessons[i];
            if (m->batch && borrowed == (m->batch != m->cell->concurrency))
                add_axes(decode, row_tokens(l, m), m->batch);
        }
    forget_all(decode);
    *until_s = *decode;
    for (int borrowed = 0; borrowed < 2; borrowed++)
        for (size_t i = 0; i < l->count; i++) {
            const struct lesson *m = &l->lessons[i];
            size_t c, b;
            if (borrowed != (m->batch != m->cell->concurrency) ||
                !find_point(decode, row_tokens(l, m), m->batch, &c, &b) || !isnan(decode->ns[c][b]))
                continue;
            decode->ns[c][b] = m->step_ns;
            until_s->ns[c][b] = m->until_s;
        }
}

static void fill_warm(const struct learner *l, struct grid *warm)
{
    for (size_t i = 0; i < l->count; i++)
        if (!isnan(l->lessons[i].warm_ns))
            add_axes(warm, row_tokens(l, &l->lessons[i]), l->lessons[i].cell->concurrency);
    forget_all(warm);
    for (size_t i = 0; i < l->count; i++) {
        const struct lesson *m = &l->lessons[i];
        size_t c, b;
        if (!isnan(m->warm_ns) && find_point(warm, row_tokens(l, m), m->cell->concurrency, &c, &b))
            warm->ns[c][b] = m->warm_ns;
    }
    grid_complete(warm);
}

/* Tokens that a stream has after t when its first step takes s and each token adds k to the next:
 * t = s n + k n^2 / 2. */
static double tokens_after(double t, double s, double k)
{
    return 2 * t / (s + sqrt(fmax(s * s + 2 * k * t, 0)));
}

/* What the mean step from the window's opening to `until_s` is longer than the first, when contexts
 * grow from `context` on. The table is taken as straight from there to the last token. */
static double growth_ns(const struct learner *l, const struct grid *g, double context, double batch,
                        double until_s)
{
    double from = l->settle_s * 1e9, until = until_s * 1e9, s = grid_at(g, context, batch);
    double last = until / s, k = (grid_at(g, context + last, batch) - s) / last;
    double tokens = tokens_after(until, s, k) - tokens_after(from, s, k);
    return tokens > 0 ? (until - from) / tokens - s : 0;
}

/* `measured` are mean steps of windows in which the contexts grew. Find the steps at the contexts
 * themselves: each round takes off what the table of the round before says the growth cost. It
 * settles at once, as the growth is small beside the distance of the rows; a bound keeps noise
 * between close rows from running away. */
static void take_off_growth(const struct learner *l, const struct grid *measured,
                            const struct grid *until_s, struct grid *g)
{
    struct grid *next = mem_alloc(sizeof *next);

    *g = *measured;
    grid_complete(g);
    for (int round = 0; round < GROWTH_ROUNDS; round++) {
        *next = *measured;
        for (size_t c = 0; c < g->contexts; c++)
            for (size_t b = 0; b < g->batches; b++) {
                double ns = measured->ns[c][b];
                if (isnan(ns))
                    continue;
                double grown = growth_ns(l, g, g->context[c], g->batch[b], until_s->ns[c][b]);
                next->ns[c][b] = ns - fmin(fmax(grown, -ns / 4), ns / 2);
            }
        grid_complete(next);
        *g = *next;
    }
    free(next);
}

static void learn_grids(struct learner *l)
{
    struct profile *p = l->p;
    struct grid *measured = mem_alloc(sizeof *measured), *until_s = mem_alloc(sizeof *until_s);

    fill_decode(l, measured, until_s);
    take_off_growth(l, measured, until_s, &p->decode);
    fill_warm(l, &p->warm);
    if (p->warm.contexts == 0) /* no TTFT anywhere: as long as one more step */
        p->warm = p->decode;
    free(measured);
    free(until_s);
}

static void learn_causes(struct learner *l)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->lessons[i].has_cause && l->p->cause_count < PROFILE_MAX_CAUSES)
            l->p->causes[l->p->cause_count++] = l->lessons[i].cause;
}

/* --- prefill --- */

static void add_point(struct curve *c, double tokens, double ns)
{
    size_t at = 0;
    while (at < c->count && c->tokens[at] < tokens)
        at++;
    if (c->count == PROFILE_MAX_CONTEXTS || (at < c->count && !(c->tokens[at] > tokens)))
        return;
    memmove(c->tokens + at + 1, c->tokens + at, (c->count - at) * sizeof *c->tokens);
    memmove(c->ns + at + 1, c->ns + at, (c->count - at) * sizeof *c->ns);
    c->tokens[at] = tokens;
    c->ns[at] = ns;
    c->count++;
}

/* Drop what does not take longer than less: P increases. */
static void keep_increasing(struct curve *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (n > 0 && c->ns[i] <= c->ns[n - 1])
            continue;
        c->tokens[n] = c->tokens[i];
        c->ns[n++] = c->ns[i];
    }
    c->count = n;
}

/* Attention makes prefill quadratic: continue the parabola through the last three points (the
 * origin is one when there are but two) up to the context limit. */
static void continue_to(struct curve *c, double limit)
{
    size_t n = c->count;
    if (n < 2 || n == PROFILE_MAX_CONTEXTS || limit <= c->tokens[n - 1] * 1.01)
        return;
    double x0 = n > 2 ? c->tokens[n - 3] : 0, y0 = n > 2 ? c->ns[n - 3] : 0;
    double x1 = c->tokens[n - 2], y1 = c->ns[n - 2], x2 = c->tokens[n - 1], y2 = c->ns[n - 1];
    double slope = (y2 - y1) / (x2 - x1);
    double bend = fmax((slope - (y1 - y0) / (x1 - x0)) / (x2 - x0), 0);
    c->tokens[n] = limit;
    c->ns[n] = y2 + slope * (limit - x2) + bend * (limit - x2) * (limit - x1);
    c->count++;
}

static void learn_prefill(struct learner *l)
{
    struct curve *c = &l->p->prefill;
    for (size_t i = 0; i < l->r->prefill_count; i++) {
        const struct prefill_row *row = &l->r->prefill[i];
        double tokens =
            positive(row->prompt_tokens) ? row->prompt_tokens : (double)row->context_tokens;
        if (row->status == STATUS_VALID && !(row->marks & MARK_CACHE_HIT) && positive(tokens) &&
            positive(row->ttft_ms.p50))
            add_point(c, tokens, row->ttft_ms.p50 * 1e6);
    }
    keep_increasing(c);
    double limit = (double)l->p->context_limit;
    if (c->count == 0)
        add_point(c, limit, limit * grid_at(&l->p->decode, 0, 1) / prefill_factor);
    continue_to(c, limit);
    l->p->warm_tokens = WARM_TOKENS;
    if (c->tokens[0] < 2.0 * WARM_TOKENS) /* a row of the result is no warm start */
        l->p->warm_tokens = (int64_t)fmax(c->tokens[0] / 2, 1);
}

/* --- limits --- */

static int64_t output_of(const struct result *r)
{
    return r->plan.max_output > 0 ? r->plan.max_output : 8192;
}

static void learn_context_limit(struct learner *l)
{
    double largest = 0;
    for (size_t i = 0; i < l->r->decode_count; i++)
        largest = fmax(largest, (double)l->r->decode[i].context_tokens);
    for (size_t i = 0; i < l->r->prefill_count; i++)
        largest = fmax(largest, (double)l->r->prefill[i].context_tokens);
    largest += (double)output_of(l->r);
    if (positive(l->r->server.context_limit))
        largest = l->r->server.context_limit;
    l->p->context_limit = (int64_t)fmin(fmax(largest, 1), PROFILE_MAX_CONTEXT_LIMIT);
}

/* The budget that brings the over-capacity cells back: at least what the cells that ran needed by
 * the full rule, below what the others did. Where the two contradict each other (another rule was
 * used), the latter decide. */
static void learn_kv(struct learner *l)
{
    double most = (double)output_of(l->r), least_over = INFINITY, budget = l->r->server.kv_budget;

    for (size_t i = 0; i < l->r->decode_count; i++) {
        const struct cell *c = &l->r->decode[i];
        double need =
            plan_kv_need(c->context_tokens, c->concurrency, (double)output_of(l->r), false);
        if (c->status == STATUS_OVER_CAPACITY || c->marks & MARK_OVER_CAPACITY)
            least_over = fmin(least_over, need);
    }
    for (size_t i = 0; i < l->r->decode_count; i++) {
        const struct cell *c = &l->r->decode[i];
        double need =
            plan_kv_need(c->context_tokens, c->concurrency, (double)output_of(l->r), false);
        if (c->status != STATUS_OVER_CAPACITY && c->status != STATUS_SKIPPED && need < least_over)
            most = fmax(most, need);
    }
    if (positive(budget)) {
        most = budget;
        least_over = budget + 1;
    }
    /* whole blocks, of a size with which the budget stays where it has to be */
    int size = BLOCK_TOKENS;
    while (size > 1 && ceil(most / size) * size >= least_over)
        size /= 2;
    l->p->block_size = size;
    l->p->kv_tokens = (int64_t)fmin(ceil(most / size) * size, most_tokens);
}

/* How engines call their limit of requests at once on their command lines. */
static const char *const max_running_options[] = {"--max-num-seqs", "--max-running-requests",
                                                  "--parallel", "-np"};

static bool number_after(const char *text, const char *option, int64_t *ret)
{
    char digits[16];
    size_t n = strlen(option);

    for (const char *at = strstr(text, option); at; at = strstr(at + n, option)) {
        const char *value = at + n + strspn(at + n, " =");
        size_t length = strspn(value, "0123456789");
        if (value == at + n || length == 0 || length >= sizeof digits)
            continue;
        memcpy(digits, value, length);
        digits[length] = '\0';
        return num_parse_i64(digits, ret);
    }
    return false;
}

static void learn_max_running(struct learner *l)
{
    const char *command = l->r->engine.launch_command;
    int64_t most = 1;

    for (size_t i = 0; i < l->r->decode_count; i++)
        if (l->r->decode[i].concurrency > most)
            most = l->r->decode[i].concurrency;
    for (size_t i = 0; command && i < ARRAY_LEN(max_running_options); i++)
        if (number_after(command, max_running_options[i], &most))
            break;
    if (positive(l->r->server.max_running))
        most = (int64_t)l->r->server.max_running;
    l->p->max_running = (int)(most < 1                      ? 1
                              : most > PLAN_MAX_CONCURRENCY ? PLAN_MAX_CONCURRENCY
                                                            : most);
}

/* --- names --- */

static void set_text(char *out, size_t size, const char *text)
{
    text_printable(out, size, text, strlen(text));
}

static void learn_names(struct learner *l)
{
    const struct result *r = l->r;
    struct profile *p = l->p;
    const char *model = r->subject.model          ? r->subject.model
                        : r->subject.served_model ? r->subject.served_model
                                                  : "unknown";
    const char *slash = strrchr(model, '/'), *base = slash && slash[1] ? slash + 1 : model;
    struct buf title;

    set_text(p->name, sizeof p->name, base);
    set_text(p->model, sizeof p->model, model);
    set_text(p->served_model, sizeof p->served_model,
             r->subject.served_model ? r->subject.served_model : model);
    set_text(p->quantization, sizeof p->quantization,
             r->subject.quantization ? r->subject.quantization : "");
    buf_init(&title, 4096);
    buf_addf(&title, "%s on ", base);
    machine_title(&r->hardware, &title);
    buf_adds(&title, ", learned from a result");
    set_text(p->title, sizeof p->title, title.p);
    buf_release(&title);
    const char *gpu = r->hardware.gpu_count ? r->hardware.gpus[0].name : r->hardware.cpu;
    set_text(p->gpu, sizeof p->gpu, gpu ? gpu : "");
    for (int i = 0; i < r->hardware.gpu_count; i++)
        p->vram_bytes += (double)r->hardware.gpus[i].vram_bytes;
    if (!positive(p->vram_bytes))
        p->vram_bytes = (double)r->hardware.ram_bytes;
}

bool profile_learn(const struct result *r, struct profile *ret, struct err *err)
{
    const struct plan *plan = &r->plan;
    int repeats = plan->repeats > 1 ? plan->repeats : 1;
    struct learner l = {
        .r = r,
        .settle_s = plan->settle_ns >= 0 ? ns_to_s(plan->settle_ns) : default_settle_s,
        .window_s = fmin(ns_to_s(plan->duration_ns) * repeats, most_window_s),
        .count = r->decode_count,
    };
    bool any = false;

    l.lessons = mem_array(l.count + 1, sizeof *l.lessons);
    for (size_t i = 0; i < l.count; i++) {
        learn_cell(&l, &r->decode[i], &l.lessons[i]);
        any = any || l.lessons[i].batch > 0;
    }
    if (any) {
        l.p = mem_alloc(sizeof *l.p);
        l.p->prefix_cache = true;
        l.p->step_tokens = STEP_TOKENS;
        learn_names(&l);
        learn_context_limit(&l);
        learn_kv(&l);
        learn_max_running(&l);
        learn_grids(&l);
        learn_prefill(&l);
        learn_causes(&l);
        *ret = *l.p;
        free(l.p);
    }
    free(l.lessons);
    return any || err_set(err, ERR_FORMAT,
                          "no decode cell of the result is valid or queued with figures: there is "
                          "nothing to learn from");
}
