/* table_lines.h - for the files behind table.h: lines of text within a width. */
#ifndef TOKGRID_REPORT_TABLE_LINES_H
#define TOKGRID_REPORT_TABLE_LINES_H

#include "report/table.h"

size_t lines_width(const struct table_options *o); /* 0: unlimited */

/* Add text wrapped at the width, every line indented. */
void lines_add(const struct table_options *o, size_t indent, const char *text, struct buf *out);
void lines_heading(const struct table_options *o, const char *text, struct buf *out);

/* Add each line of `text` (they end in '\n'), wrapped. */
void lines_add_all(const struct table_options *o, size_t indent, const char *text, struct buf *out);

/* Add a launch command; a line that is too long breaks before an option, with a backslash, so that
 * it can still be pasted into a shell. */
void lines_add_command(const struct table_options *o, size_t indent, const char *command,
                       struct buf *out);

#endif
