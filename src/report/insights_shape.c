/* insights_shape.c - how the figures run along contexts and concurrency. */
#include <math.h>

#include "report/insight_rules.h"

/* Cells of one row or column of the matrix, ascending. */
struct walk {
    const struct cell
        *cells[PLAN_MAX_CONTEXTS > PLAN_MAX_LEVELS ? PLAN_MAX_CONTEXTS : PLAN_MAX_LEVELS];
    size_t count;
};

static bool is_valid(const struct cell *c)
{
    return c && c->status == STATUS_VALID && c->total_tok_s > 0;
}

/* The first context that has a valid cell at one request: its valid cells by concurrency. */
static bool first_row(const struct result *r, struct walk *ret)
{
    struct axes axes;
    axes_of(r, &axes);
    ret->count = 0;
    for (size_t i = 0; i < axes.context_count && ret->count == 0; i++) {
        if (!is_valid(result_cell(r, axes.contexts[i], 1)))
            continue;
        for (size_t k = 0; k < axes.level_count; k++) {
            const struct cell *c = result_cell(r, axes.contexts[i], (int)axes.levels[k]);
            if (is_valid(c))
                ret->cells[ret->count++] = c;
        }
    }
    return ret->count > 0;
}

/* One request at each context, where `figure` exists. A queue of one changes neither the time
 * between tokens nor what this is about, so queued cells count. */
static void first_column(const struct result *r, double (*figure)(const struct cell *c),
                         struct walk *ret)
{
    struct axes axes;
    axes_of(r, &axes);
    ret->count = 0;
    for (size_t i = 0; i < axes.context_count; i++) {
        const struct cell *c = result_cell(r, axes.contexts[i], 1);
        if (c && status_has_numbers(c->status) && figure(c) > 0)
            ret->cells[ret->count++] = c;
    }
}

static double itl_of(const struct cell *c)
{
    return c->itl_ms.p50;
}

static double ttft_of(const struct cell *c)
{
    return c->ttft_ms.p50;
}

/* ---- prefill --------------------------------------------------------------------------------- */

/* Exponent of rate against context between two rows: -1 when it falls as 1/context. */
static double slope(const struct prefill_row *a, const struct prefill_row *b)
{
    return log(b->total_tok_s / a->total_tok_s) /
           log((double)b->context_tokens / (double)a->context_tokens);
}

/* The first row from which on every step falls at least as fast as this; the last row: none. */
static size_t falls_from(const struct prefill_row *const *rows, size_t count)
{
    static const double nearly_inverse = -0.8;
    size_t i = count - 1;
    while (i > 0 && slope(rows[i - 1], rows[i]) <= nearly_inverse)
        i--;
    return i;
}

void insight_prefill(const struct result *r, const struct lang *l, struct buf *out)
{
    static const double clear_ratio = 1.1;
    const struct prefill_row *rows[PLAN_MAX_CONTEXTS];
    struct axes axes;
    size_t count = 0;
    char first[NUM_TEXT_MAX], last[NUM_TEXT_MAX], fast[NUM_TEXT_MAX], slow[NUM_TEXT_MAX],
        longer[NUM_TEXT_MAX], slower[NUM_TEXT_MAX], from_text[NUM_TEXT_MAX];
    axes_of(r, &axes);
    for (size_t i = 0; i < axes.prefill_count; i++) {
        const struct prefill_row *p = result_prefill(r, axes.prefill[i]);
        if (p->status == STATUS_VALID && p->total_tok_s > 0 && p->context_tokens > 0)
            rows[count++] = p;
    }
    if (count < 3)
        return;
    const struct prefill_row *a = rows[0], *b = rows[count - 1];
    double ratio = a->total_tok_s / b->total_tok_s;
    num_size_text(first, a->context_tokens);
    num_size_text(last, b->context_tokens);
    lang_rate(l, fast, a->total_tok_s);
    lang_rate(l, slow, b->total_tok_s);
    if (ratio < clear_ratio && ratio > 1 / clear_ratio) {
        say_insight_prefill_steady(l, out, .first = first, .fast = fast, .last = last,
                                   .slow = slow);
        return;
    }
    if (ratio < 1)
        return;
    lang_brief(l, longer, (double)b->context_tokens / (double)a->context_tokens);
    say_insight_prefill_falls(l, out, .fast = fast, .first = first, .slow = slow, .last = last,
                              .slower = lang_brief(l, slower, ratio), .longer = longer);
    size_t from = falls_from(rows, count);
    if (from < count - 1)
        say_insight_prefill_inverse(l, out,
                                    .from = num_size_text(from_text, rows[from]->context_tokens));
}

/* ---- decode along the context ---------------------------------------------------------------- */

struct line {
    double base, per_k, r2;
};

/* Least squares of time between tokens against context in K. */
static struct line fit_itl(const struct walk *w)
{
    double n = (double)w->count, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
    for (size_t i = 0; i < w->count; i++) {
        double x = (double)w->cells[i]->context_tokens / 1024, y = itl_of(w->cells[i]);
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
        syy += y * y;
    }
    double dx = n * sxx - sx * sx, dy = n * syy - sy * sy, dxy = n * sxy - sx * sy;
    struct line f = {.per_k = dxy / dx};
    f.base = (sy - f.per_k * sx) / n;
    f.r2 = dy > 0 ? dxy * dxy / (dx * dy) : 0;
    return f;
}

void insight_context_cost(const struct result *r, const struct lang *l, struct buf *out)
{
    static const double straight = 0.98; /* r2 from which it is called a line */
    struct walk w;
    char base[NUM_TEXT_MAX], per_k[NUM_TEXT_MAX], half[NUM_TEXT_MAX];
    first_column(r, itl_of, &w);
    if (w.count < 3)
        return;
    struct line f = fit_itl(&w);
    double reach = (double)w.cells[w.count - 1]->context_tokens / 1024;
    bool matters = f.per_k * reach > 0.1 * f.base;
    if (f.r2 < straight || f.base <= 0 || !matters)
        return;
    say_insight_context_cost(l, out, .base = lang_number(l, base, f.base, 1),
                             .per_k = lang_brief(l, per_k, f.per_k));
    double halves_at = f.base / f.per_k;
    if (halves_at <= reach)
        say_insight_context_half(l, out, .context = num_size_text(half, llround(halves_at) * 1024));
}

void insight_ttft(const struct result *r, const struct lang *l, struct buf *out)
{
    static const double clear_ratio = 2, clear_ms = 50;
    struct walk w;
    char first[NUM_TEXT_MAX], last[NUM_TEXT_MAX], low[NUM_TEXT_MAX], high[NUM_TEXT_MAX];
    first_column(r, ttft_of, &w);
    if (w.count < 2)
        return;
    const struct cell *a = w.cells[0], *b = w.cells[w.count - 1];
    if (ttft_of(b) < clear_ratio * ttft_of(a) || ttft_of(b) - ttft_of(a) < clear_ms)
        return;
    say_insight_ttft(l, out, .low = lang_number(l, low, ttft_of(a), 0),
                     .first = num_size_text(first, a->context_tokens),
                     .high = lang_number(l, high, ttft_of(b), 0),
                     .last = num_size_text(last, b->context_tokens));
}

/* ---- decode along concurrency ---------------------------------------------------------------- */

/* Where the speed crosses `half` between two cells, on a logarithmic axis of concurrency. */
static double crossing(const struct cell *a, const struct cell *b, double half)
{
    double share = (a->per_request_tok_s - half) / (a->per_request_tok_s - b->per_request_tok_s);
    double from = log2(a->concurrency), to = log2(b->concurrency);
    return exp2(from + share * (to - from));
}

void insight_alone(const struct result *r, const struct lang *l, struct buf *out)
{
    struct walk w;
    char context[NUM_TEXT_MAX], alone[NUM_TEXT_MAX], level[NUM_TEXT_MAX], each[NUM_TEXT_MAX],
        share[NUM_TEXT_MAX];
    if (!first_row(r, &w) || w.count < 2 || !(w.cells[0]->per_request_tok_s > 0))
        return;
    double single = w.cells[0]->per_request_tok_s;
    num_size_text(context, w.cells[0]->context_tokens);
    lang_rate(l, alone, single);
    for (size_t i = 0; i + 1 < w.count; i++) {
        const struct cell *a = w.cells[i], *b = w.cells[i + 1];
        if (a->per_request_tok_s > single / 2 && b->per_request_tok_s <= single / 2) {
            lang_number(l, level, round(crossing(a, b, single / 2)), 0);
            say_insight_alone_half(l, out, .context = context, .alone = alone, .level = level);
            return;
        }
    }
    const struct cell *last = w.cells[w.count - 1];
    if (!(last->per_request_tok_s > 0))
        return;
    say_insight_alone_holds(l, out, .context = context, .alone = alone,
                            .level = lang_number(l, level, last->concurrency, 0),
                            .each = lang_rate(l, each, last->per_request_tok_s),
                            .percent =
                                lang_number(l, share, 100 * last->per_request_tok_s / single, 0));
}

/* What total speed gains, as a share, for each doubling of the concurrency from a to b. */
static double gain(const struct cell *a, const struct cell *b)
{
    double doublings = log2((double)b->concurrency / a->concurrency);
    return pow(b->total_tok_s / a->total_tok_s, 1 / doublings) - 1;
}

/* The cell to the right of c in its row; NULL: none. */
static const struct cell *next_in_row(const struct result *r, const struct cell *c)
{
    const struct cell *next = NULL;
    for (size_t i = 0; i < r->decode_count; i++) {
        const struct cell *d = &r->decode[i];
        if (d->context_tokens == c->context_tokens && d->concurrency > c->concurrency &&
            (!next || d->concurrency < next->concurrency))
            next = d;
    }
    return next;
}

static enum word row_ends_by(const struct cell *next)
{
    if (next && next->status == STATUS_OVER_CAPACITY)
        return WORD_INSIGHT_KNEE_CAPACITY;
    if (next && next->status == STATUS_QUEUED)
        return WORD_INSIGHT_KNEE_QUEUE;
    return WORD_INSIGHT_KNEE_OPEN;
}

void insight_knee(const struct result *r, const struct lang *l, struct buf *out)
{
    static const double flat = 0.15, steep = 0.3; /* gains for each doubling */
    struct walk w;
    char from[NUM_TEXT_MAX], to[NUM_TEXT_MAX], low[NUM_TEXT_MAX], high[NUM_TEXT_MAX],
        percent[NUM_TEXT_MAX];
    if (!first_row(r, &w) || w.count < 3)
        return;
    size_t i = 0;
    while (i + 2 < w.count && gain(w.cells[i], w.cells[i + 1]) >= flat)
        i++;
    const struct cell *a = w.cells[i], *b = w.cells[i + 1];
    double g = gain(a, b);
    lang_number(l, from, a->concurrency, 0);
    lang_number(l, to, b->concurrency, 0);
    lang_number(l, percent, 100 * (b->total_tok_s / a->total_tok_s - 1), 0);
    lang_rate(l, low, a->total_tok_s);
    lang_rate(l, high, b->total_tok_s);
    if (g < flat) {
        say_insight_knee_at(l, out, .from = from, .to = to, .low = low, .high = high,
                            .percent = percent);
    } else if (g > steep) {
        say_insight_knee_none(l, out, .percent = percent, .from = from, .to = to, .low = low,
                              .high = high);
        buf_adds(out, word(l, row_ends_by(next_in_row(r, b))));
    }
}

/* ---- tails and energy ------------------------------------------------------------------------ */

void insight_stutter(const struct result *r, const struct lang *l, struct buf *out)
{
    static const double clear_ratio = 4;
    const struct cell *worst = NULL;
    double most = clear_ratio;
    char tail[NUM_TEXT_MAX], usual[NUM_TEXT_MAX], times[NUM_TEXT_MAX];
    for (size_t i = 0; i < r->decode_count; i++) {
        const struct cell *c = &r->decode[i];
        double ratio = c->gap_ms.p99 / c->gap_ms.p50;
        if (is_valid(c) && c->gap_ms.p50 > 0 && ratio >= most) { /* false for NAN */
            most = ratio;
            worst = c;
        }
    }
    if (!worst)
        return;
    struct buf name;
    buf_init(&name, 256);
    insight_cell_name(l, worst, &name);
    say_insight_stutter(l, out, .cell = name.p, .tail = lang_number(l, tail, worst->gap_ms.p99, 0),
                        .times = lang_brief(l, times, most),
                        .usual = lang_brief(l, usual, worst->gap_ms.p50));
    buf_release(&name);
}

static double tok_per_j(const struct cell *c)
{
    bool known = is_valid(c) && c->energy_j > 0 && c->output_tokens > 0;
    return known ? (double)c->output_tokens / c->energy_j : 0;
}

void insight_energy(const struct result *r, const struct lang *l, struct buf *out)
{
    const struct cell *best = NULL;
    char most[NUM_TEXT_MAX], single[NUM_TEXT_MAX];
    for (size_t i = 0; i < r->decode_count; i++)
        if (tok_per_j(&r->decode[i]) > (best ? tok_per_j(best) : 0))
            best = &r->decode[i];
    const struct cell *alone = best ? result_cell(r, best->context_tokens, 1) : NULL;
    if (!alone || alone == best || tok_per_j(alone) <= 0)
        return;
    struct buf name;
    buf_init(&name, 256);
    insight_cell_name(l, best, &name);
    say_insight_energy(l, out, .cell = name.p, .most = lang_brief(l, most, tok_per_j(best)),
                       .single = lang_brief(l, single, tok_per_j(alone)));
    buf_release(&name);
}
