/* svg.h - a result as a picture: a card with the matrix, or one chart.
 *
 * Each is a whole SVG file that draws the same everywhere: no script, nothing fetched, system
 * fonts. */
#ifndef TOKGRID_REPORT_SVG_H
#define TOKGRID_REPORT_SVG_H

#include <stdbool.h>

#include "model/result.h"
#include "report/charts.h"

/* 1200 x 630, as social sites show it. A large matrix is thinned out, which the card says.
 * `warning`: a line in front of all, or NULL. False: `out` was too small. */
bool svg_write_card(const struct result *r, const struct lang *l, const char *warning,
                    struct buf *out);

/* False when there is nothing to draw, or `out` was too small (out->overflow). */
bool svg_write_chart(const struct result *r, enum chart_kind kind, const struct lang *l,
                     struct buf *out);

#endif
