/* page_parts.h - for the files behind page.h: the parts of a page, in their order. */
#ifndef TOKGRID_REPORT_PAGE_PARTS_H
#define TOKGRID_REPORT_PAGE_PARTS_H

#include "report/headline.h"
#include "report/html.h"
#include "report/page.h"

struct page {
    const struct result *r;
    const struct lang *l;
    struct html *h;
    struct axes axes;
};

void page_highlights(const struct page *p); /* page_head.c */
void page_setup(const struct page *p);      /* page_setup.c: Hardware, Engine, Run, command */
void page_conditions(const struct page *p);
void page_prefill(const struct page *p); /* page_matrix.c */
void page_matrix(const struct page *p);
void page_measurements(const struct page *p); /* page_tables.c */
void page_details(const struct page *p);

/* <h2 id="id">words</h2> */
#define page_heading(p, id, w)                                                                     \
    do {                                                                                           \
        html_raw((p)->h, "<h2 id=\"" id "\">");                                                    \
        html_text((p)->h, word((p)->l, w));                                                        \
        html_raw((p)->h, "</h2>");                                                                 \
    } while (0)

/* <p class="by">words</p> */
void page_by(const struct page *p, enum word w);

/* Lines that end in '\n' as <li>s. */
void page_items(const struct page *p, const char *lines);

/* Where a cell is found: "16k-4", after the letter of what is meant. */
void page_cell_id(const struct page *p, int64_t context, int concurrency);

#endif
