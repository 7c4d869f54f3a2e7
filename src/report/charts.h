/* charts.h - the charts of a result. */
#ifndef TOKGRID_REPORT_CHARTS_H
#define TOKGRID_REPORT_CHARTS_H

#include "model/result.h"
#include "report/chart.h"

enum chart_kind {
    CHART_DECODE,  /* total speed against concurrency, one line per context */
    CHART_CONTEXT, /* speed per request against context, one line per concurrency */
    CHART_PREFILL, /* prefill speed against context */
    CHART_SHARE,   /* share of full concurrency reached */
    CHART_KINDS,
};

/* Fill *ret; false when there is nothing to draw. */
bool chart_of(enum chart_kind kind, const struct result *r, const struct lang *l,
              struct chart *ret);

#endif
