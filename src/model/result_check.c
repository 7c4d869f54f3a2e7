/* result_check.c - what must hold between the figures of a result.
 *
 * Every test allows for rounding: each figure stands for an interval, its value plus and minus half
 * a unit of its last printed digit. For measured figures that half unit is 0; imported ones were
 * printed by their source with the digits given below. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "model/result.h"
#include "stats/hist.h"
#include "stats/summary.h"

/* half a unit of the last digit that the source of an imported result prints */
struct rounding {
    double rate, itl_ms, ttft_ms, active, seconds, tokens, prefill_rate;
};
static const struct rounding exact = {0};
static const struct rounding printed = {
    .rate = 0.05,
    .itl_ms = 0.05,
    .ttft_ms = 0.5,
    .active = 0.05,
    .seconds = 0.05,
    .tokens = 0.5,
    .prefill_rate = 0.5,
};

struct check {
    const struct result *r;
    const struct rounding *round;
    char where[96]; /* "decode[3] (16K x 2)" */
    struct err *err;
};

struct range {
    double low, high;
};

static struct range around(double v, double half)
{
    return (struct range){fmax(v - half, 0), v + half};
}

static struct range widen(struct range a, double share)
{
    return (struct range){a.low * (1 - share), a.high * (1 + share)};
}

static struct range times(struct range a, struct range b)
{
    return (struct range){a.low * b.low, a.high * b.high};
}

static struct range over(struct range a, struct range b)
{
    return (struct range){a.low / b.high, b.low > 0 ? a.high / b.low : INFINITY};
}

static bool overlap(struct range a, struct range b)
{
    return a.low <= b.high && b.low <= a.high;
}

#define TOLERANCE         0.005 /* of totals: measurement.md section 11 */
#define TOLERANCE_INVERSE 1e-3  /* of 1000 / itl, which is computed from it */
#define HIST_SLACK        (2.0 / HIST_STEPS)

static bool check_total(const struct check *c, const struct cell *cell)
{
    if (cell->output_tokens < 0 || isnan(cell->measured_s) || isnan(cell->total_tok_s))
        return true;
    struct range rate = over(around((double)cell->output_tokens, c->round->tokens),
                             around(cell->measured_s, c->round->seconds));
    if (overlap(widen(rate, TOLERANCE), around(cell->total_tok_s, c->round->rate)))
        return true;
    return err_set(c->err, ERR_FORMAT,
                   "%s: total_tok_s is %.6g, but output_tokens / measured_s is %.6g", c->where,
                   cell->total_tok_s, (double)cell->output_tokens / cell->measured_s);
}

static bool check_per_request(const struct check *c, const struct cell *cell)
{
    double itl = cell->itl_ms.p50;
    if (isnan(cell->per_request_tok_s) || isnan(itl))
        return true;
    struct range product =
        times(around(cell->per_request_tok_s, c->round->rate), around(itl, c->round->itl_ms));
    if (overlap(widen(product, TOLERANCE_INVERSE), (struct range){1000, 1000}))
        return true;
    return err_set(c->err, ERR_FORMAT,
                   "%s: per_request_tok_s x itl_ms.p50 is %.6g x %.6g = %.6g, not 1000", c->where,
                   cell->per_request_tok_s, itl, cell->per_request_tok_s * itl);
}

static bool check_active(const struct check *c, const struct cell *cell)
{
    double most = cell->concurrency * 1.02 + c->round->active;
    if (isnan(cell->avg_active) || cell->avg_active <= most || cell->marks & MARK_FOREIGN_LOAD)
        return true;
    return err_set(c->err, ERR_FORMAT,
                   "%s: avg_active is %.6g, more than the %d streams of the cell, without the mark "
                   "foreign_load",
                   c->where, cell->avg_active, cell->concurrency);
}

/* A looped cell was begun, so its counts may say 0; figures it has none. */
static bool check_no_numbers(const struct check *c, const struct cell *cell)
{
    const struct {
        const char *name;
        double value;
    } figures[] = {
        {"total_tok_s", cell->total_tok_s},
        {"per_request_tok_s", cell->per_request_tok_s},
        {"ttft_ms.p50", cell->ttft_ms.p50},
        {"itl_ms.p50", cell->itl_ms.p50},
        {"gap_ms.p50", cell->gap_ms.p50},
        {"avg_active", cell->avg_active},
        {"measured_s", cell->measured_s},
        {"ci95.low", cell->ci95.low},
        {"completed", cell->completed > 0 ? (double)cell->completed : NAN},
        {"output_tokens", cell->output_tokens > 0 ? (double)cell->output_tokens : NAN},
    };
    if (status_has_numbers(cell->status) || cell->status == STATUS_ERROR)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(figures); i++)
        if (!isnan(figures[i].value))
            return err_set(c->err, ERR_FORMAT, "%s: %s is %.6g in a cell that is %s", c->where,
                           figures[i].name, figures[i].value, status_name(cell->status));
    return true;
}

static bool check_has_total(const struct check *c, enum cell_status status, double total)
{
    if (!status_has_numbers(status) || !isnan(total))
        return true;
    return err_set(c->err, ERR_FORMAT, "%s: total_tok_s is missing in a cell that is %s", c->where,
                   status_name(status));
}

/* Percentiles ascend (those of a histogram to within its buckets' width), and each has the samples
 * it needs; an imported n may be unknown. */
static bool check_spread(const struct check *c, const char *name, const struct spread *s)
{
    const double steps[] = {s->p50, s->p90, s->p99, s->max};
    double last = 0;
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        if (isnan(steps[i]))
            continue;
        if (steps[i] < last * (1 - HIST_SLACK))
            return err_set(c->err, ERR_FORMAT, "%s: %s: the percentiles do not ascend", c->where,
                           name);
        last = steps[i];
    }
    if ((!isnan(s->p90) && s->n >= 0 && s->n < SUMMARY_P90_FLOOR) ||
        (!isnan(s->p99) && s->n >= 0 && s->n < SUMMARY_P99_FLOOR))
        return err_set(c->err, ERR_FORMAT, "%s: %s: p90 needs %d samples and p99 %d, n is %lld",
                       c->where, name, SUMMARY_P90_FLOOR, SUMMARY_P99_FLOOR, (long long)s->n);
    return true;
}

static bool check_interval(const struct check *c, const struct interval *i)
{
    if (isnan(i->low) || isnan(i->high) || i->low <= i->high)
        return true;
    return err_set(c->err, ERR_FORMAT, "%s: ci95: low is above high", c->where);
}

static bool check_loop(const struct check *c, const struct loop_evidence *l)
{
    size_t characters = 0;
    for (const char *p = l->excerpt; p && *p; p++)
        characters += (*p & 0xC0) != 0x80;
    if (characters <= 512)
        return true;
    return err_set(c->err, ERR_FORMAT, "%s: loop.excerpt: more than 512 characters", c->where);
}

static bool check_cell(struct check *c, size_t i)
{
    const struct cell *cell = &c->r->decode[i];
    char context[NUM_TEXT_MAX];
    snprintf(c->where, sizeof c->where, "decode[%zu] (%s x %d)", i,
             num_size_text(context, cell->context_tokens), cell->concurrency);
    if (result_cell(c->r, cell->context_tokens, cell->concurrency) != cell)
        return err_set(c->err, ERR_FORMAT, "%s: this cell is there twice", c->where);
    return check_no_numbers(c, cell) && check_has_total(c, cell->status, cell->total_tok_s) &&
           check_total(c, cell) && check_per_request(c, cell) && check_active(c, cell) &&
           check_spread(c, "ttft_ms", &cell->ttft_ms) && check_spread(c, "itl_ms", &cell->itl_ms) &&
           check_spread(c, "gap_ms", &cell->gap_ms) && check_interval(c, &cell->ci95) &&
           check_loop(c, &cell->loop);
}

static bool check_prefill(struct check *c, size_t i)
{
    const struct prefill_row *row = &c->r->prefill[i];
    char context[NUM_TEXT_MAX];
    double tokens = row->prompt_tokens - (isnan(row->cached_tokens) ? 0 : row->cached_tokens);
    snprintf(c->where, sizeof c->where, "prefill[%zu] (%s)", i,
             num_size_text(context, row->context_tokens));
    if (result_prefill(c->r, row->context_tokens) != row)
        return err_set(c->err, ERR_FORMAT, "%s: this row is there twice", c->where);
    if (!status_has_numbers(row->status) && row->status != STATUS_ERROR &&
        (!isnan(row->total_tok_s) || !isnan(row->ttft_ms.p50)))
        return err_set(c->err, ERR_FORMAT, "%s: figures in a row that is %s", c->where,
                       status_name(row->status));
    if (!check_has_total(c, row->status, row->total_tok_s) ||
        !check_spread(c, "ttft_ms", &row->ttft_ms) || !check_interval(c, &row->ci95))
        return false;
    if (isnan(row->total_tok_s) || isnan(row->ttft_ms.p50) || isnan(tokens))
        return true;
    struct range product = times(around(row->total_tok_s, c->round->prefill_rate),
                                 around(row->ttft_ms.p50, c->round->ttft_ms));
    if (overlap(widen(product, TOLERANCE), (struct range){tokens * 1000, tokens * 1000}))
        return true;
    return err_set(c->err, ERR_FORMAT,
                   "%s: total_tok_s x ttft_ms.p50 is %.6g tokens, but prompt_tokens less "
                   "cached_tokens is %.6g",
                   c->where, row->total_tok_s * row->ttft_ms.p50 / 1000, tokens);
}

/* The axes of the matrix hold what a plan can. */
static bool check_axes(const struct check *c)
{
    size_t contexts = 0, levels = 0;
    for (size_t i = 0; i < c->r->decode_count; i++) {
        bool new_context = true, new_level = true;
        for (size_t j = 0; j < i; j++) {
            new_context &= c->r->decode[j].context_tokens != c->r->decode[i].context_tokens;
            new_level &= c->r->decode[j].concurrency != c->r->decode[i].concurrency;
        }
        contexts += new_context;
        levels += new_level;
    }
    if (contexts <= PLAN_MAX_CONTEXTS && levels <= PLAN_MAX_LEVELS)
        return true;
    return err_set(c->err, ERR_FORMAT,
                   "decode: %zu contexts x %zu concurrency levels; at most %d x %d", contexts,
                   levels, PLAN_MAX_CONTEXTS, PLAN_MAX_LEVELS);
}

static bool check_plan(const struct check *c)
{
    const struct plan *p = &c->r->plan;
    bool ascends = true;
    for (size_t i = 1; i < p->context_count; i++)
        ascends &= p->contexts[i - 1] < p->contexts[i];
    for (size_t i = 1; i < p->level_count; i++)
        ascends &= p->levels[i - 1] < p->levels[i];
    for (size_t i = 1; i < p->prefill_count; i++)
        ascends &= p->prefill[i - 1] < p->prefill[i];
    return ascends ||
           err_set(c->err, ERR_FORMAT, "plan: contexts, concurrency and prefill must ascend");
}

/* A result is made to be published. */
static bool check_url(const struct check *c)
{
    const char *url = c->r->server.url;
    const char *host = url ? strstr(url, "://") : NULL;
    host = host ? host + 3 : url;
    if (!host || !memchr(host, '@', strcspn(host, "/?#")))
        return true;
    return err_set(c->err, ERR_FORMAT, "server.url: a user name or password stands in it");
}

bool result_check(const struct result *r, struct err *err)
{
    bool imported = r->kind && strcmp(r->kind, "imported") == 0;
    struct check c = {.r = r, .round = imported ? &printed : &exact, .err = err};

    if (!check_plan(&c) || !check_url(&c) || !check_axes(&c))
        return false;
    for (size_t i = 0; i < r->prefill_count; i++)
        if (!check_prefill(&c, i))
            return false;
    for (size_t i = 0; i < r->decode_count; i++)
        if (!check_cell(&c, i))
            return false;
    return true;
}
