/* headline.h - the lines above a report, the facts beside it, the remarks below: plain text.
 *
 * Shared by every format. What each function adds is printable (plain.h) and not yet escaped. */
#ifndef TOKGRID_REPORT_HEADLINE_H
#define TOKGRID_REPORT_HEADLINE_H

#include <stddef.h>

#include "base/buf.h"
#include "model/result.h"

/* The axes of what is shown: planned or measured, ascending. */
struct axes {
    int64_t contexts[PLAN_MAX_CONTEXTS], levels[PLAN_MAX_LEVELS], prefill[PLAN_MAX_CONTEXTS];
    size_t context_count, level_count, prefill_count;
};
void axes_of(const struct result *r, struct axes *ret);

/* One line each; nothing where nothing is known. */
void headline_title(const struct result *r, struct buf *out);  /* "Qwen3.5-27B on RTX 3090 24GB" */
void headline_engine(const struct result *r, struct buf *out); /* "vllm · 0.32.0 · AWQ 4-bit" */
void headline_grid(const struct result *r, struct buf *out);   /* "4 contexts (0–56K) × ..." */
void headline_by(const struct result *r, struct buf *out); /* "by X · tokgrid v0.1 · Measured" */

/* The Hardware, Engine and Run blocks: labels with a function that adds the value, or nothing. */
struct setup_row {
    const char *label;
    void (*add)(const struct result *r, struct buf *out);
};
struct setup_block {
    const char *title;
    const struct setup_row *rows;
    size_t count;
};
enum { SETUP_BLOCKS = 3 };
extern const struct setup_block setup_blocks[SETUP_BLOCKS];

/* Lines that end in '\n'. */
void remarks_legends(const struct result *r, struct buf *out); /* statuses and marks that occur */
void remarks_sources(const struct result *r, struct buf *out); /* token source, client's verdict */
void remarks_reasons(const struct result *r, struct buf *out); /* why cells are not valid */
void remarks_notes(const struct result *r, struct buf *out);   /* the run's own notes */

#endif
