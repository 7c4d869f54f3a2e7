/* charts.c - from a result to series. */
#include "report/charts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/headline.h"

static const char *const ids[CHART_KINDS] = {
    [CHART_DECODE] = "decode",
    [CHART_CONTEXT] = "context",
    [CHART_PREFILL] = "prefill",
    [CHART_SHARE] = "share",
};

static void add_point(struct chart_series *s, double x, double y, const struct interval *ci)
{
    bool known = ci && isfinite(ci->low) && isfinite(ci->high);
    if (isfinite(y) && s->count < CHART_MAX)
        s->points[s->count++] =
            (struct chart_point){x, y, known ? ci->low : NAN, known ? ci->high : NAN};
}

static void ticks_of(struct chart *c, const int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        c->x_ticks[c->x_tick_count++] = (double)values[i];
}

/* Keeps the series just filled when it holds a point. */
static void keep(struct chart *c)
{
    c->count += c->series[c->count].count > 0;
}

static double share_of(const struct cell *c)
{
    return 100 * c->avg_active / c->concurrency;
}

/* One line per context, over the levels. */
static void by_level(struct chart *c, const struct result *r, const struct axes *axes, bool share)
{
    ticks_of(c, axes->levels, axes->level_count);
    for (size_t i = 0; i < axes->context_count; i++) {
        struct chart_series *s = &c->series[c->count];
        char text[NUM_TEXT_MAX];
        *s = (struct chart_series){.count = 0};
        snprintf(s->name, sizeof s->name, "%s", num_size_text(text, axes->contexts[i]));
        for (size_t k = 0; k < axes->level_count; k++) {
            const struct cell *cell = result_cell(r, axes->contexts[i], (int)axes->levels[k]);
            if (!cell || !status_has_numbers(cell->status))
                continue;
            if (share)
                add_point(s, cell->concurrency, share_of(cell), NULL);
            else
                add_point(s, cell->concurrency, cell->total_tok_s, &cell->ci95);
        }
        keep(c);
    }
}

/* One line per level, over the contexts. */
static void by_context(struct chart *c, const struct result *r, const struct axes *axes)
{
    ticks_of(c, axes->contexts, axes->context_count);
    for (size_t k = 0; k < axes->level_count; k++) {
        struct chart_series *s = &c->series[c->count];
        *s = (struct chart_series){.count = 0};
        snprintf(s->name, sizeof s->name, "× %lld", (long long)axes->levels[k]);
        for (size_t i = 0; i < axes->context_count; i++) {
            const struct cell *cell = result_cell(r, axes->contexts[i], (int)axes->levels[k]);
            if (cell && status_has_numbers(cell->status))
                add_point(s, (double)cell->context_tokens, cell->per_request_tok_s, NULL);
        }
        keep(c);
    }
}

static void of_prefill(struct chart *c, const struct result *r, const struct axes *axes,
                       const struct lang *l)
{
    struct chart_series *s = &c->series[0];
    *s = (struct chart_series){.count = 0};
    ticks_of(c, axes->prefill, axes->prefill_count);
    snprintf(s->name, sizeof s->name, "%s", word(l, WORD_PHASE_PREFILL));
    for (size_t i = 0; i < axes->prefill_count; i++) {
        const struct prefill_row *p = result_prefill(r, axes->prefill[i]);
        if (status_has_numbers(p->status))
            add_point(s, (double)p->context_tokens, p->total_tok_s, &p->ci95);
    }
    keep(c);
}

/* Where no line has a point, an axis has nothing to show. */
static void trim_ticks(struct chart *c)
{
    double last = -INFINITY;
    for (size_t i = 0; i < c->count; i++)
        last = fmax(last, c->series[i].points[c->series[i].count - 1].x);
    while (c->x_tick_count > 0 && c->x_ticks[c->x_tick_count - 1] > last)
        c->x_tick_count--;
}

bool chart_of(enum chart_kind kind, const struct result *r, const struct lang *l, struct chart *ret)
{
    struct axes axes;
    axes_of(r, &axes);
    ret->count = ret->x_tick_count = 0;
    ret->x_log = ret->y_log = ret->x_size = false;
    ret->y_top = 0;
    ret->decimals = -1;
    ret->id = ids[kind];
    ret->x_name = WORD_CHART_CONTEXT_AXIS;
    switch (kind) {
    case CHART_DECODE:
        ret->title = WORD_CHART_DECODE;
        ret->x_name = WORD_CHART_LEVEL_AXIS;
        ret->y_name = WORD_CHART_TOTAL_AXIS;
        ret->x_log = ret->y_log = true;
        by_level(ret, r, &axes, false);
        break;
    case CHART_CONTEXT:
        ret->title = WORD_CHART_CONTEXT;
        ret->y_name = WORD_CHART_EACH_AXIS;
        ret->x_size = true;
        by_context(ret, r, &axes);
        break;
    case CHART_PREFILL:
        ret->title = WORD_CHART_PREFILL;
        ret->y_name = WORD_CHART_PREFILL_AXIS;
        ret->x_size = ret->x_log = ret->y_log = true; /* 1/context is a straight line then */
        of_prefill(ret, r, &axes, l);
        break;
    case CHART_SHARE:
    case CHART_KINDS:
        ret->title = WORD_CHART_SHARE;
        ret->x_name = WORD_CHART_LEVEL_AXIS;
        ret->y_name = WORD_CHART_SHARE_AXIS;
        ret->x_log = true;
        ret->y_top = 100;
        ret->decimals = 0;
        by_level(ret, r, &axes, true);
        break;
    }
    trim_ticks(ret);
    return ret->count > 0;
}
