/* grid.h - cells of text in aligned columns, for a terminal.
 *
 * Filled row by row; widths follow from what is in it, in terminal columns (text_width), so wide
 * and combining characters line up. Text is printable already. A grid may be measured before it is
 * drawn, so that a caller can try layouts until one fits. */
#ifndef TOKGRID_REPORT_GRID_H
#define TOKGRID_REPORT_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum grid_look {
    GRID_PLAIN,
    GRID_HEAD, /* bold */
    GRID_DIM,
    GRID_HEAT, /* GRID_HEAT + 0 .. GRID_HEAT_STEPS - 1: shades from low to high */
};
enum { GRID_HEAT_STEPS = 6 };

struct grid_cell {
    char *text;
    int look; /* enum grid_look, or a shade */
};

struct grid {
    size_t columns, gap;
    const bool *left; /* per column: aligned left; NULL: all right. Borrowed */
    bool ascii;       /* text is turned into ASCII as it comes in */
    struct grid_cell *cells;
    size_t count, cap;
};

void grid_init(struct grid *g, size_t columns, size_t gap, const bool *left, bool ascii);
void grid_release(struct grid *g);

void grid_add(struct grid *g, const char *text, int look);

/* Columns that a drawn line takes, without the indent. */
size_t grid_width(const struct grid *g);

/* One line per row, without trailing spaces. Colour adds ANSI sequences around cells. */
void grid_draw(const struct grid *g, size_t indent, bool colour, struct buf *out);

/* The ANSI sequence that begins a look, "" for plain, and the one that ends it. */
#define GRID_LOOK_END "\033[0m"
const char *grid_look_code(int look);

#endif
