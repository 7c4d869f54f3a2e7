/* compare_report.h - a comparison for a terminal and for programs. */
#ifndef TOKGRID_REPORT_COMPARE_REPORT_H
#define TOKGRID_REPORT_COMPARE_REPORT_H

#include <jansson.h>

#include "report/compare.h"
#include "report/table.h"

/* Two of several results, named by their letters: results[0], the base, is A. */
struct compare_pair {
    const struct result *base, *other;
    const char *base_name, *other_name; /* "A", "B" */
    const struct view *view;
    const struct compare_axes *axes; /* of both at least */
};

/* One line for each cell that either has, then how many are better, worse and the same. `only`
 * worse ones, or all. */
void compare_table(const struct compare_pair *p, bool only_worse, const struct table_options *o,
                   struct buf *out);

/* {"view", "mean_ratio", "better", "worse", "same", "cells": [...]}; the caller owns it. */
json_t *compare_json(const struct compare_pair *p);

#endif
