/* draw.h - a run in progress as a picture on a grid of any size.
 *
 * Pure: the same progress, time and size give the same picture. What does not fit is left out by
 * importance; the matrix then shows the part around the cell that is being measured. */
#ifndef TOKGRID_TUI_DRAW_H
#define TOKGRID_TUI_DRAW_H

#include <stdint.h>

#include "model/progress.h"
#include "tui/canvas.h"

/* Clears the grid first. `now` is on the clock of the progress's instants (monotonic). */
void draw_progress(struct canvas *g, const struct progress *p, int64_t now);

/* The keys and the words of the matrix, in a box over what is there. */
void draw_help(struct canvas *g);

#endif
