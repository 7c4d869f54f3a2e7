/* canvas.h - a screenful of styled characters in memory: what the drawing draws on.
 *
 * Nothing here knows a terminal, so that a picture can be compared with a file. You may rely on:
 * writing outside the grid does nothing; text from elsewhere is made printable; a wide character
 * takes two cells, the second of which has cp 0, and is never cut in half. With `ascii` every
 * symbol has a plain stand-in of the same width. Text is UTF-8. Memory belongs to the grid. */
#ifndef TOKGRID_TUI_CANVAS_H
#define TOKGRID_TUI_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

enum { HEAT_STEPS = 8 };

enum style {
    STYLE_PLAIN,
    STYLE_DIM, /* there to be found, not to be read first */
    STYLE_STRONG,
    STYLE_ACCENT,  /* what moves */
    STYLE_TRACE,   /* the speed of the last minutes: a large shape in a calm colour */
    STYLE_RUNNING, /* the cell that is being measured */
    STYLE_WARNING,
    STYLE_QUEUED, /* statuses of cells */
    STYLE_OVER_CAPACITY,
    STYLE_LOOPED,
    STYLE_ERROR,
    STYLE_SKIPPED,
    STYLE_HEAT, /* the first of HEAT_STEPS, low to high */
    STYLE_COUNT = STYLE_HEAT + HEAT_STEPS,
};

struct canvas_cell {
    uint32_t cp; /* a code point, or 0: the right half of the character before */
    enum style style;
};

struct canvas {
    int cols, rows;
    bool ascii;                /* draw with ASCII only */
    bool mono;                 /* there are no colours: leave out what only colours say */
    struct canvas_cell *cells; /* rows * cols */
};

/* Life cycle. Sizes below 1 count as 1. A new or resized grid is blank. */
void canvas_init(struct canvas *g, int cols, int rows);
void canvas_release(struct canvas *g); /* zeroed grids are fine */
void canvas_resize(struct canvas *g, int cols, int rows);
void canvas_clear(struct canvas *g);

/* Drawing. `room` is the number of columns the text may take: longer text ends in an ellipsis.
 * Each returns the columns used. */
int canvas_text(struct canvas *g, int row, int col, int room, enum style style, const char *text);
int canvas_textf(struct canvas *g, int row, int col, int room, enum style style, const char *format,
                 ...) ATTR_PRINTF(6, 7);
int canvas_text_right(struct canvas *g, int row, int col, int room, enum style style,
                      const char *text); /* flush with the right end of the room */
void canvas_fill(struct canvas *g, int row, int col, int count, enum style style, uint32_t cp);

/* Columns that this text takes. */
int canvas_width(const struct canvas *g, const char *text);

static inline const struct canvas_cell *canvas_at(const struct canvas *g, int row, int col)
{
    return &g->cells[(size_t)row * (size_t)g->cols + (size_t)col];
}

#endif
