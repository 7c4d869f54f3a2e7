/* page.h - a result as a web page: one HTML file that needs nothing else.
 *
 * Pure. The page holds its style sheet, its charts as SVG, the document itself as JSON, and one
 * small script for the copy button, the download and the switch between figures; without script it
 * shows every figure, one table below the other. A Content-Security-Policy in it allows exactly
 * this style sheet and this script. Everything foreign is escaped by html.h. */
#ifndef TOKGRID_REPORT_PAGE_H
#define TOKGRID_REPORT_PAGE_H

#include <stdbool.h>

#include "base/buf.h"
#include "model/result.h"
#include "report/lang.h"

struct page_options {
    const struct lang *lang;  /* NULL: English */
    const char *document_url; /* of page_write_within: where the document is; NULL: on the page */
};

/* False: `out` was too small. */
bool page_write(const struct result *r, const struct page_options *o, struct buf *out);

/* The header and the sections alone, <header> and <main id="main">, for a document around them that
 * brings page_style and page_script (assets.h) along. */
bool page_write_within(const struct result *r, const struct page_options *o, struct buf *out);

#endif
