/* csv.h - a result as comma-separated values, one row for each measurement.
 *
 * RFC 4180: a header line, CRLF, quotes where they are needed. The first twelve columns are those
 * of the page, the rest follows; names are those of the document. Numbers are plain ("1234.5"),
 * what does not exist is empty. Text that a spreadsheet would run as a formula (it begins with = +
 * - @, a tab or a line break) gets an apostrophe in front. */
#ifndef TOKGRID_REPORT_CSV_H
#define TOKGRID_REPORT_CSV_H

#include <stdbool.h>

#include "base/buf.h"
#include "model/result.h"

bool csv_write(const struct result *r, struct buf *out); /* false: overflow */

/* One text field, guarded and quoted. */
void csv_text(const char *s, struct buf *out);

#endif
