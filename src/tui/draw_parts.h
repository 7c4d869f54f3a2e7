/* draw_parts.h - the parts of the picture, for draw.c only. */
#ifndef TOKGRID_TUI_DRAW_PARTS_H
#define TOKGRID_TUI_DRAW_PARTS_H

#include "model/progress.h"
#include "tui/canvas.h"

/* What every part needs: the picture, and the columns between its margins. */
struct frame {
    struct canvas *g;
    const struct progress *p;
    int64_t now;
    int left, width;
};

/* A place to write on, moving right. */
struct pen {
    struct canvas *g;
    int row, col, end;
};
void pen_add(struct pen *pen, enum style style, const char *format, ...) ATTR_PRINTF(3, 4);

/* A rate in at most `room` columns: "839.0", "1,804", "12.3K"; a dash when unknown. */
const char *rate_text(char *out, double rate, int room); /* NUM_TEXT_MAX bytes */

enum {
    TABLE_COLS = 58,      /* least width for labels in full and prefill as a table */
    SPEED_TALL_COLS = 96, /* least width for the tall form of the speed */
};

/* Speed and load, in 1, 2 or 4 rows. */
void draw_speed(const struct frame *f, int row, int rows);

/* Where the matrix's columns stand; the prefill table follows them. */
struct columns {
    int label;        /* width of the row labels */
    int cell;         /* width of a column */
    bool gaps;        /* the last character of each column stays blank */
    int first, count; /* the levels that fit */
};
struct columns matrix_columns(const struct frame *f);

/* With `title` and `legend` a line above and below; `rows` counts all lines. */
void draw_matrix(const struct frame *f, const struct columns *c, int row, int rows, bool title,
                 bool legend);

/* 1 row: a line; 3 rows: a table. */
void draw_prefill(const struct frame *f, const struct columns *c, int row, int rows);

#endif
