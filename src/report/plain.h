/* plain.h - strings of a result as plain text that can be shown anywhere.
 *
 * Everything a result holds came from somewhere else: a server, a file, another person. Every
 * renderer takes it through here first, so that no control byte, line break or direction mark
 * reaches its output, and no string is longer than a reader can want; escaping for a format comes
 * after. Text made by this program (words, numbers) needs none of it. */
#ifndef TOKGRID_REPORT_PLAIN_H
#define TOKGRID_REPORT_PLAIN_H

#include <stddef.h>

#include "base/buf.h"

enum {
    PLAIN_MAX = 400,          /* bytes of one string; a longer one ends in "…" */
    PLAIN_COMMAND_MAX = 8192, /* bytes of a launch command */
};

/* Add s as one printable line; NULL adds nothing. */
void plain_add(struct buf *out, const char *s);

/* Add a launch command: printable, but line breaks stay. Blank lines at either end are dropped. */
void plain_add_command(struct buf *out, const char *s);

/* Add s (printable already) for a reader without Unicode: dashes, dots and crosses become their
 * look-alikes, anything else "?". */
void plain_add_ascii(struct buf *out, const char *s);

/* How many bytes of s go on a line of `width` columns: all of them, or up to the last space that
 * fits, or, within one long word, what fits; at least one character. Width 0 is unlimited. */
size_t plain_fit(const char *s, size_t width);

#endif
