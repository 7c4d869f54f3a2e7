/* run_lines.h - a run in plain lines: what is printed where there is no live screen. */
#ifndef TOKGRID_CMD_RUN_LINES_H
#define TOKGRID_CMD_RUN_LINES_H

#include <stddef.h>
#include <stdio.h>

#include "model/result.h"

void lines_probed(FILE *out, const struct result *r);
void lines_plan(FILE *out, const struct result *r, const char *notes);
void lines_prefill(FILE *out, const struct prefill_row *row);
void lines_cell(FILE *out, const struct cell *cell, size_t done, size_t total);

#endif
