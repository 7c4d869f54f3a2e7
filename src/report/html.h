/* html.h - a writer of HTML and SVG that escapes by construction.
 *
 * Markup is html_raw, which takes string literals only: a variable does not compile. Everything
 * else goes through html_text or html_attr, which escape, and replace what a page must not hold:
 * control bytes, broken UTF-8, characters that reorder or hide text. So no value can become markup,
 * whoever it came from; there is no other way into the output.
 *
 * A value made by a function that adds to a buffer goes through the scratch buffer:
 *
 *     html_raw(h, "<h1>");
 *     headline_title(r, l, html_scratch(h));
 *     html_text_scratch(h);
 *     html_raw(h, "</h1>"); */
#ifndef TOKGRID_REPORT_HTML_H
#define TOKGRID_REPORT_HTML_H

#include "base/buf.h"
#include "report/assets.h"

struct html {
    struct buf *out; /* borrowed */
    struct buf scratch;
};

void html_init(struct html *h, struct buf *out);
void html_release(struct html *h);

#define html_raw(h, literal) html_markup_((h), "" literal, sizeof(literal) - 1)

void html_text(struct html *h, const char *s);
void html_int(struct html *h, long long n);

/* ` name="value"`, the blank included. Numbers have at most one decimal: they are coordinates. */
#define html_attr(h, name, value)        html_attr_((h), " " name "=\"", (value))
#define html_attr_number(h, name, value) html_attr_number_((h), " " name "=\"", (value))
#define html_attr_scratch(h, name)       html_attr_((h), " " name "=\"", (h)->scratch.p)

/* A coordinate inside an attribute of markup: "12.5". */
void html_number(struct html *h, double v);

/* Emptied; what it held is gone. */
struct buf *html_scratch(struct html *h);
void html_text_scratch(struct html *h);

/* A style sheet or a script of ours, between its tags. */
void html_asset(struct html *h, const struct asset *a);

/* JSON text as the content of an element: without blanks outside of strings, and with what a page
 * must not hold as \u escapes inside of them. Still the same document. */
void html_json(struct html *h, const char *json, size_t n);

/* behind the macros */
void html_markup_(struct html *h, const char *markup, size_t n);
void html_attr_(struct html *h, const char *begin, const char *value);
void html_attr_number_(struct html *h, const char *begin, double value);

#endif
