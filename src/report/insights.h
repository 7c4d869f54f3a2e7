/* insights.h - what a good engineer reads off the figures, in sentences with their numbers.
 *
 * Each rule looks at one thing and adds one line, or nothing where the figures do not support it:
 * too few cells, no clear shape, an effect within the noise. Rules use cells that are valid, and
 * queued ones only where that is the subject. Thresholds stand beside the rules. */
#ifndef TOKGRID_REPORT_INSIGHTS_H
#define TOKGRID_REPORT_INSIGHTS_H

#include "report/headline.h"

report_part_fn insights_add; /* every rule's line; they end in '\n' */

/* The rules by name, in the order of their lines. */
struct insight_rule {
    const char *name;
    report_part_fn *add; /* the sentences, without a line end */
};
extern const struct insight_rule insight_rules[];
extern const size_t insight_rule_count;

#endif
