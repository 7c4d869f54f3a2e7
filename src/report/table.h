/* table.h - a result as text for a terminal or a pipe.
 *
 * Pure: the caller says how wide the terminal is and what it can show. No line is wider than
 * `width`: tables change to narrower layouts (shorter words, units in the header, columns in
 * several blocks, at last one paragraph for each measurement), text wraps. */
#ifndef TOKGRID_REPORT_TABLE_H
#define TOKGRID_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "model/result.h"
#include "report/lang.h"

struct table_options {
    size_t width;            /* columns; 0: unlimited. Below TABLE_MIN_WIDTH counts as that */
    bool ascii;              /* nothing but ASCII; other letters become "?" */
    bool colour;             /* ANSI: bold headings, the matrix as a heat map */
    const struct lang *lang; /* NULL: English */
};

enum { TABLE_MIN_WIDTH = 20 };

/* Everything, as the published page has it: headline, setup, launch command, prefill, matrix,
 * legends, insights, all measurements, remarks. False when `out` was too small. */
bool table_write(const struct result *r, const struct table_options *o, struct buf *out);

/* Parts of it, each ending with a newline. */
void table_setup(const struct result *r, const struct table_options *o, struct buf *out);
void table_matrix(const struct result *r, const struct table_options *o, struct buf *out);
void table_measurements(const struct result *r, const struct table_options *o, struct buf *out);

#endif
