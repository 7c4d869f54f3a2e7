/* manual.h - the manuals of commands, written from their tables: for --help and for man.
 *
 * Pure: everything goes into a buffer. Terminal text is wrapped to `width` columns; roff uses the
 * classic man macros, with every character that roff reads as its own escaped. */
#ifndef TOKGRID_CMD_MANUAL_H
#define TOKGRID_CMD_MANUAL_H

#include <stddef.h>

#include "base/buf.h"
#include "cmd/options.h"

enum { MANUAL_WIDTH_MIN = 40, MANUAL_WIDTH_MAX = 100, MANUAL_MAX_BYTES = 256 << 10 };

/* What `tokgrid CMD --help` prints. */
void manual_help(const struct command *command, size_t width, struct buf *out);

/* What `tokgrid help` prints. `commands` ends with NULL. */
void manual_overview(const struct command *const *commands, size_t width, struct buf *out);

/* tokgrid-CMD.1 and tokgrid.1. */
void manual_roff(const struct command *command, const char *version, struct buf *out);
void manual_roff_overview(const struct command *const *commands, const char *version,
                          struct buf *out);

#endif
