/* chart.h - a line chart as SVG: one line for each series, with intervals where they are known.
 *
 * Lines can be told apart without colour: each has a dash and a marker of its own, and a sample of
 * both with its name beside the drawing. The numbers are in the chart's text alternative and on
 * each point. Looks come from page/chart.css. */
#ifndef TOKGRID_REPORT_CHART_H
#define TOKGRID_REPORT_CHART_H

#include <stdbool.h>
#include <stddef.h>

#include "model/plan.h"
#include "report/html.h"
#include "report/lang.h"

enum {
    CHART_MAX = PLAN_MAX_CONTEXTS > PLAN_MAX_LEVELS ? PLAN_MAX_CONTEXTS : PLAN_MAX_LEVELS,
    CHART_NAME_MAX = 64,
};

struct chart_point {
    double x, y;
    double low, high; /* NAN: no interval */
};

struct chart_series {
    char name[CHART_NAME_MAX];
    struct chart_point points[CHART_MAX]; /* x ascends */
    size_t count;
};

struct chart {
    const char *id; /* for anchors */
    enum word title, x_name, y_name;
    bool x_log, y_log; /* log: values above 0 only; y falls back when it spans too little */
    bool x_size;       /* x are tokens: "16K" */
    int decimals;      /* of a value; -1: as rates are printed */
    double x_ticks[CHART_MAX];
    size_t x_tick_count;
    double y_top; /* of a linear axis, when it is not the largest value: 100 for shares; 0: none */
    struct chart_series series[CHART_MAX];
    size_t count;
};

bool chart_has_intervals(const struct chart *c);

/* The <svg> element. Standalone: with the style sheet, the title and a background in it. */
void chart_write(const struct chart *c, const struct lang *l, bool standalone, struct html *h);

#endif
