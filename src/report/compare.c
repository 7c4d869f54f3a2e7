/* compare.c - the arithmetic of two results side by side. */
#include "report/compare.h"

#include <math.h>
#include <string.h>

#include "report/headline.h"

static void add_value(int64_t *v, size_t *n, int64_t value)
{
    size_t at = 0;
    while (at < *n && v[at] < value)
        at++;
    if (at < *n && v[at] == value)
        return;
    memmove(v + at + 1, v + at, (*n - at) * sizeof *v);
    v[at] = value;
    ++*n;
}

void compare_axes_of(const struct result *results, size_t count, struct compare_axes *ret)
{
    struct axes axes;
    *ret = (struct compare_axes){0};
    for (size_t i = 0; i < count; i++) {
        axes_of(&results[i], &axes);
        for (size_t k = 0; k < axes.context_count; k++)
            add_value(ret->contexts, &ret->context_count, axes.contexts[k]);
        for (size_t k = 0; k < axes.level_count; k++)
            add_value(ret->levels, &ret->level_count, axes.levels[k]);
    }
}

const struct view *compare_view(const char *id)
{
    for (size_t i = 0; i < view_count; i++)
        if (strcmp(views[i].id, id) == 0)
            return &views[i];
    return &views[0];
}

double compare_value(const struct view *view, const struct result *r, int64_t context, int level)
{
    const struct cell *c = result_cell(r, context, level);
    return c && status_has_numbers(c->status) ? view->value(r, c) : NAN;
}

const char *compare_verdict_name(enum compare_verdict v)
{
    static const char *const names[] = {
        [COMPARE_IS_SAME] = "same", [COMPARE_BETTER] = "better", [COMPARE_WORSE] = "worse"};
    return names[v];
}

/* Half the width of the cell's interval over its total; NAN: there is none. */
static double relative_width(const struct result *r, int64_t context, int level)
{
    const struct cell *c = result_cell(r, context, level);
    return c ? (c->ci95.high - c->ci95.low) / 2 / c->total_tok_s : NAN;
}

/* Times are better when they are less. */
static bool less_is_better(const struct view *v)
{
    return v->unit == WORD_UNIT_MS;
}

static enum compare_verdict judge(const struct comparison *c, double gain_least)
{
    if (gain_least > 1)
        return COMPARE_BETTER;
    return c->gain_most < 1 ? COMPARE_WORSE : COMPARE_IS_SAME;
}

void compare_cell(const struct view *view, const struct result *base, const struct result *other,
                  int64_t context, int level, struct comparison *ret)
{
    struct comparison c = {
        .base = compare_value(view, base, context, level),
        .other = compare_value(view, other, context, level),
        .ratio = NAN,
        .low = NAN,
        .high = NAN,
        .gain = NAN,
        .gain_most = NAN,
    };
    *ret = c;
    if (!(c.base > 0 && c.other > 0 && isfinite(c.other / c.base)))
        return;
    c.ratio = c.other / c.base;
    c.gain = less_is_better(view) ? 1 / c.ratio : c.ratio;
    double width = view == &views[0] ? hypot(relative_width(base, context, level),
                                             relative_width(other, context, level))
                                     : NAN;
    if (width >= 0 && width < 1) {
        c.low = c.ratio * (1 - width);
        c.high = c.ratio * (1 + width);
        c.gain_most = c.high; /* of totals, more is better */
        c.verdict = judge(&c, c.low);
    } else {
        c.gain_most = c.gain;
        c.verdict = c.gain > COMPARE_SAME       ? COMPARE_BETTER
                    : c.gain < 1 / COMPARE_SAME ? COMPARE_WORSE
                                                : COMPARE_IS_SAME;
    }
    *ret = c;
}

void compare_count(const struct view *view, const struct result *base, const struct result *other,
                   const struct compare_axes *axes, struct compare_counts *ret)
{
    struct comparison c;
    double sum = 0;

    *ret = (struct compare_counts){0};
    for (size_t i = 0; i < axes->context_count; i++)
        for (size_t k = 0; k < axes->level_count; k++) {
            compare_cell(view, base, other, axes->contexts[i], (int)axes->levels[k], &c);
            if (c.verdict == COMPARE_UNKNOWN)
                continue;
            sum += log(c.ratio);
            ret->cells++;
            ret->better += c.verdict == COMPARE_BETTER;
            ret->worse += c.verdict == COMPARE_WORSE;
            ret->same += c.verdict == COMPARE_IS_SAME;
        }
    ret->mean_ratio = ret->cells > 0 ? exp(sum / (double)ret->cells) : NAN;
}
