/* compare.h - results cell by cell: both figures, their ratio, and whether that is better or worse.
 *
 * A ratio is the other result's figure over the base's. Where both figures are totals with a 95 %
 * interval, the ratio has one, too: relative half widths are added in quadrature, as for a quotient
 * of independent figures; it is better or worse when 1 lies outside. Elsewhere a ratio within
 * COMPARE_SAME of 1, either way, counts as the same. */
#ifndef TOKGRID_REPORT_COMPARE_H
#define TOKGRID_REPORT_COMPARE_H

#include "model/result.h"
#include "report/views.h"

enum { COMPARE_MAX = 4 }; /* results at a time */

#define COMPARE_SAME 1.05

/* Both axes of all results together, ascending. Large: keep it on the heap. */
struct compare_axes {
    int64_t contexts[COMPARE_MAX * PLAN_MAX_CONTEXTS], levels[COMPARE_MAX * PLAN_MAX_LEVELS];
    size_t context_count, level_count;
};
void compare_axes_of(const struct result *results, size_t count, struct compare_axes *ret);

const struct view *compare_view(const char *id); /* the first for an id that is none */

/* NAN where there is no such cell, or no figure in it. */
double compare_value(const struct view *view, const struct result *r, int64_t context, int level);

enum compare_verdict { COMPARE_UNKNOWN, COMPARE_IS_SAME, COMPARE_BETTER, COMPARE_WORSE };
const char *compare_verdict_name(enum compare_verdict v); /* "better"; NULL for unknown */

struct comparison {
    double base, other; /* NAN: no figure */
    double ratio;       /* NAN unless both are there and positive */
    double low, high;   /* of the ratio; NAN: no interval */
    double gain;        /* the ratio the way that more is better: of times its inverse */
    double gain_most;   /* the best it may be, by the interval */
    enum compare_verdict verdict;
};
void compare_cell(const struct view *view, const struct result *base, const struct result *other,
                  int64_t context, int level, struct comparison *ret);

struct compare_counts {
    int64_t cells; /* that both have */
    int64_t better, worse, same;
    double mean_ratio; /* geometric, over those; NAN: none */
};
void compare_count(const struct view *view, const struct result *base, const struct result *other,
                   const struct compare_axes *axes, struct compare_counts *ret);

#endif
