/* insight_rules.h - for the files behind insights.h: the rules, and walks over cells. */
#ifndef TOKGRID_REPORT_INSIGHT_RULES_H
#define TOKGRID_REPORT_INSIGHT_RULES_H

#include "report/insights.h"

/* How the figures run: insights_shape.c. */
report_part_fn insight_prefill, insight_alone, insight_knee, insight_context_cost, insight_ttft,
    insight_stutter, insight_energy;

/* What ends them: insights_limits.c. */
report_part_fn insight_queue, insight_slots, insight_capacity, insight_kv_dtype, insight_max_output,
    insight_model_len;

/* "16K × 4" */
void insight_cell_name(const struct lang *l, const struct cell *c, struct buf *out);

#endif
