/* headline.h - the lines above a report and the remarks below: plain text.
 *
 * Shared by every format. What each function adds is printable (plain.h) and not yet escaped. */
#ifndef TOKGRID_REPORT_HEADLINE_H
#define TOKGRID_REPORT_HEADLINE_H

#include <stddef.h>

#include "base/buf.h"
#include "model/result.h"
#include "report/lang.h"

/* The axes of what is shown: planned or measured, ascending. */
struct axes {
    int64_t contexts[PLAN_MAX_CONTEXTS], levels[PLAN_MAX_LEVELS], prefill[PLAN_MAX_CONTEXTS];
    size_t context_count, level_count, prefill_count;
};
void axes_of(const struct result *r, struct axes *ret);

/* Adds what it knows of a result in a language, or nothing. */
typedef void report_part_fn(const struct result *r, const struct lang *l, struct buf *out);

/* One line each; nothing where nothing is known. */
report_part_fn headline_title;  /* "Qwen3.5-27B on RTX 3090 24GB" */
report_part_fn headline_engine; /* "vllm · 0.32.0 · AWQ 4-bit" */
report_part_fn headline_grid; /* "4 contexts (0–56K) × 8 concurrency levels (1–128) · ..." */
report_part_fn headline_author;    /* "by X" */
report_part_fn headline_tool;      /* "tokgrid v0.1" */
report_part_fn headline_kind;      /* "Measured"; "Simulated, 4 times as fast" */
report_part_fn headline_by;        /* "by X · tokgrid v0.1 · Measured" */
report_part_fn headline_simulated; /* by what, from which profile and how fast; of others nothing */

/* Lines that end in '\n'. */
report_part_fn remarks_legends;  /* statuses and marks that occur */
report_part_fn remarks_marks;    /* the marks alone */
report_part_fn remarks_sources;  /* what TTFT is; token source, client's verdict */
report_part_fn remarks_reasons;  /* why cells are not valid */
report_part_fn remarks_outcomes; /* requests that ended in another way than complete */
report_part_fn remarks_notes;    /* the run's own notes */

/* The clauses of remarks_sources without their labels. */
report_part_fn remarks_tokens;
report_part_fn remarks_client;

#endif
