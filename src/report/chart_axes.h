/* chart_axes.h - for the files behind chart.h: from values to places on the drawing. */
#ifndef TOKGRID_REPORT_CHART_AXES_H
#define TOKGRID_REPORT_CHART_AXES_H

#include "report/chart.h"

enum {
    CHART_WIDTH = 500,
    CHART_HEIGHT = 320,
    CHART_LEFT = 68, /* "100,000" fits beside it */
    CHART_TOP = 40,
    CHART_BOTTOM = CHART_HEIGHT - 46,
    CHART_TICKS_MAX = CHART_MAX,
};

/* The values between which an axis runs, and where it has ticks. */
struct axis {
    double low, high;
    bool log;
    double from, to; /* places of low and high */
    double ticks[CHART_TICKS_MAX];
    size_t tick_count;
};

/* From the left of the drawing to `right`, with the ticks that have room for their text. */
struct axis axis_x(const struct chart *c, double right);
struct axis axis_y(const struct chart *c);
double axis_place(const struct axis *a, double v);

#endif
