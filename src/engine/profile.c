/* profile.c - looking up step times: piecewise linear tables, the cause that applies, and the whole
 * profile as JSON. */
#include "engine/profile.h"

#include <math.h>
#include <stdlib.h>

#include "base/json.h"

/* --- lines --- */

/* First index of the pair of points that `at` lies between, or the pair nearest to it. n >= 2. */
static size_t pair_of(const double *x, size_t n, double at)
{
    size_t i = 0;
    while (i + 2 < n && at > x[i + 1])
        i++;
    return i;
}

/* The line through two points; outside them it follows the slope only where that rises, and
 * downwards not below a tenth of y0. */
static double line_at(double x0, double y0, double x1, double y1, double at)
{
    double slope = (y1 - y0) / (x1 - x0);
    if (at > x1)
        return y1 + fmax(slope, 0) * (at - x1);
    if (at < x0)
        return fmax(y0 - fmax(slope, 0) * (x0 - at), y0 / 10);
    double share = (at - x0) / (x1 - x0);
    return y0 * (1 - share) + y1 * share; /* in this form it cannot leave what is between them */
}

static double row_at(const struct grid *g, size_t row, double batch)
{
    const double *ns = g->ns[row];
    if (g->batches == 1)
        return ns[0];
    size_t i = pair_of(g->batch, g->batches, batch);
    return line_at(g->batch[i], ns[i], g->batch[i + 1], ns[i + 1], batch);
}

double grid_at(const struct grid *g, double context, double batch)
{
    if (g->contexts == 1)
        return row_at(g, 0, batch);
    size_t i = pair_of(g->context, g->contexts, context);
    return line_at(g->context[i], row_at(g, i, batch), g->context[i + 1], row_at(g, i + 1, batch),
                   context);
}

/* --- filling a grid --- */

static size_t known_in(const struct grid *g, size_t row, size_t *ret_last)
{
    size_t n = 0;
    for (size_t b = 0; b < g->batches; b++)
        if (!isnan(g->ns[row][b])) {
            n++;
            *ret_last = b;
        }
    return n;
}

/* A row in which two figures or more are known. */
static void complete_row(struct grid *g, size_t row)
{
    struct grid known = {.contexts = 1};
    for (size_t b = 0; b < g->batches; b++)
        if (!isnan(g->ns[row][b])) {
            known.batch[known.batches] = g->batch[b];
            known.ns[0][known.batches++] = g->ns[row][b];
        }
    for (size_t b = 0; b < g->batches; b++)
        if (isnan(g->ns[row][b]))
            g->ns[row][b] = row_at(&known, 0, g->batch[b]);
}

/* The row nearest in context among those marked, g->contexts when there is none. */
static size_t nearest_row(const struct grid *g, const bool *marked, size_t row)
{
    size_t best = g->contexts;
    double least = INFINITY;
    for (size_t c = 0; c < g->contexts; c++) {
        double distance = fabs(g->context[c] - g->context[row]);
        if (marked[c] && distance < least) {
            least = distance;
            best = c;
        }
    }
    return best;
}

/* A row in which only `at` is known: a step costs what it costs there, times what `model` (a row,
 * or g->contexts: none) says more sequences cost. Without one, a step costs the same for any
 * batch, as it does while the weights are most of what it reads. */
static void shape_row(struct grid *g, size_t row, size_t at, size_t model)
{
    for (size_t b = 0; b < g->batches; b++)
        if (b != at)
            g->ns[row][b] = model == g->contexts
                                ? g->ns[row][at]
                                : g->ns[row][at] * g->ns[model][b] / g->ns[model][at];
}

/* Rows in which nothing is known, from the rows that are full. */
static void fill_between(struct grid *g, const bool *full)
{
    struct grid *rows = mem_alloc(sizeof *rows);
    rows->batches = g->batches;
    for (size_t b = 0; b < g->batches; b++)
        rows->batch[b] = g->batch[b];
    for (size_t c = 0; c < g->contexts; c++) {
        if (!full[c])
            continue;
        rows->context[rows->contexts] = g->context[c];
        for (size_t b = 0; b < g->batches; b++)
            rows->ns[rows->contexts][b] = g->ns[c][b];
        rows->contexts++;
    }
    for (size_t c = 0; c < g->contexts && rows->contexts > 0; c++)
        for (size_t b = 0; b < g->batches && !full[c]; b++)
            g->ns[c][b] = grid_at(rows, g->context[c], g->batch[b]);
    free(rows);
}

void grid_complete(struct grid *g)
{
    bool rich[PROFILE_MAX_CONTEXTS] = {false}, full[PROFILE_MAX_CONTEXTS] = {false};
    size_t at = 0;

    for (size_t c = 0; c < g->contexts; c++)
        if (known_in(g, c, &at) >= 2) {
            complete_row(g, c);
            rich[c] = full[c] = true;
        }
    for (size_t c = 0; c < g->contexts; c++)
        if (!full[c] && known_in(g, c, &at) == 1) {
            shape_row(g, c, at, nearest_row(g, rich, c));
            full[c] = true;
        }
    fill_between(g, full);
}

/* --- step times --- */

double profile_decode_ns(const struct profile *p, double mean_context, double batch)
{
    return grid_at(&p->decode, mean_context, batch);
}

double profile_warm_ns(const struct profile *p, double mean_context, double batch)
{
    return grid_at(&p->warm, mean_context, batch);
}

static double prefilled_ns(const struct curve *c, double tokens)
{
    double x0 = 0, y0 = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (tokens <= c->tokens[i] || i + 1 == c->count)
            return y0 + (c->ns[i] - y0) / (c->tokens[i] - x0) * (tokens - x0);
        x0 = c->tokens[i];
        y0 = c->ns[i];
    }
    return 0;
}

double profile_prefill_ns(const struct profile *p, double from, double to)
{
    return prefilled_ns(&p->prefill, to) - prefilled_ns(&p->prefill, from);
}

const struct cause *profile_cause(const struct profile *p, int requests, double mean_prompt)
{
    const struct cause *best = NULL;
    double least = INFINITY;

    for (size_t i = 0; i < p->cause_count; i++) {
        const struct cause *c = &p->causes[i];
        double context = (double)c->context_tokens, distance = fabs(mean_prompt - context);
        if (c->concurrency != requests || distance > fmax(512, context / 10) || distance >= least)
            continue;
        best = c;
        least = distance;
    }
    return best;
}

/* --- as JSON --- */

/* Milliseconds to the nanosecond, so that what is printed is short. */
static json_t *ms_json(double ns)
{
    return isfinite(ns) ? json_real(round(ns) / 1e6) : json_null();
}

static json_t *axis_json(const double *values, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_integer((json_int_t)llround(values[i])));
    return list;
}

static json_t *times_json(const double *ns, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, ms_json(ns[i]));
    return list;
}

static json_t *grid_json(const struct grid *g)
{
    json_t *rows = json_array();
    for (size_t c = 0; c < g->contexts; c++)
        json_array_append_new(rows, times_json(g->ns[c], g->batches));
    return json_pack("{s:o, s:o, s:o}", "contexts", axis_json(g->context, g->contexts), "batches",
                     axis_json(g->batch, g->batches), "step_ms", rows);
}

static json_t *cause_json(const struct cause *c)
{
    json_t *o = json_pack("{s:I, s:i}", "context_tokens", (json_int_t)c->context_tokens,
                          "concurrency", c->concurrency);
    if (c->looped)
        json_object_set_new(o, "looped", json_true());
    if (c->max_running)
        json_object_set_new(o, "max_running", json_integer(c->max_running));
    if (c->decoding > 0)
        json_object_set_new(o, "decoding", json_real(c->decoding));
    if (c->step_ns > 0)
        json_object_set_new(o, "step_ms", ms_json(c->step_ns));
    if (c->waiting_seen)
        json_object_set_new(o, "waiting_seen", json_true());
    if (c->hold_until_s > 0)
        json_object_set_new(o, "hold_s", json_pack("[f, f]", c->hold_from_s, c->hold_until_s));
    return o;
}

void profile_write_json(const struct profile *p, struct buf *out)
{
    json_t *causes = json_array();
    for (size_t i = 0; i < p->cause_count; i++)
        json_array_append_new(causes, cause_json(&p->causes[i]));
    json_t *root = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:f, s:I, s:I, s:i, s:i, s:I, s:I, s:b, s:o, s:o,"
        " s:{s:o, s:o}, s:o}",
        "name", p->name, "title", p->title, "model", p->model, "served_model", p->served_model,
        "quantization", p->quantization, "gpu", p->gpu, "vram_bytes", p->vram_bytes,
        "context_limit", (json_int_t)p->context_limit, "kv_tokens", (json_int_t)p->kv_tokens,
        "block_size", p->block_size, "max_running", p->max_running, "step_tokens",
        (json_int_t)p->step_tokens, "warm_tokens", (json_int_t)p->warm_tokens, "prefix_cache",
        (int)p->prefix_cache, "decode", grid_json(&p->decode), "warm", grid_json(&p->warm),
        "prefill", "tokens", axis_json(p->prefill.tokens, p->prefill.count), "ms",
        times_json(p->prefill.ns, p->prefill.count), "causes", causes);
    json_write(root, out);
    json_decref(root);
}
