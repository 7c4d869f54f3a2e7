/* markdown.h - a result as a block of GitHub-flavoured Markdown, for a README or an issue.
 *
 * Headline, prefill and matrix as tables, legends, then setup, launch command and all measurements
 * folded away. Text from elsewhere is escaped: it can make no markup, table column, HTML, link,
 * mention (@name), issue reference (#1) or formula. */
#ifndef TOKGRID_REPORT_MARKDOWN_H
#define TOKGRID_REPORT_MARKDOWN_H

#include <stdbool.h>

#include "base/buf.h"
#include "model/result.h"
#include "report/lang.h"

/* False: `out` was too small. */
bool markdown_write(const struct result *r, const struct lang *l, struct buf *out);

/* Add one line of plain text, escaped. */
void markdown_text(const char *s, struct buf *out);

#endif
