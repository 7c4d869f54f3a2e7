/* frame.h - the document around every page of the site, and the pieces pages are put together from.
 *
 * Pure: a page is a function of a frame (language, viewer, address) and of a struct with what it
 * shows, and writes into a buffer. Markup is a literal, everything else is escaped (report/html.h);
 * addresses are made here, percent-encoded, always within the language. */
#ifndef TOKGRID_SITE_FRAME_H
#define TOKGRID_SITE_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "report/html.h"
#include "site/site_assets.h"
#include "site/site_words.h"
#include "site/web_request.h"

/* How a page is shown where somebody links to it. Addresses are absolute. */
struct frame_card {
    const char *title, *description, *url, *image;
};

struct frame {
    struct html html;
    const struct site_lang *l;
    const struct lang *rl; /* the report's words in the same language */
    const struct site_assets *assets;
    const char *path;           /* of this page without the language: "/runs"; with its query */
    const struct params *query; /* of this page */
    const char *viewer;         /* user name; NULL: not signed in */
    bool viewer_is_admin;
    int64_t waiting;               /* for moderators: runs in their queue */
    const struct frame_card *card; /* what other sites show of the page; NULL: nothing */
    const char *csrf;              /* for forms */
    bool has_script;               /* the page uses the report's script */
    const char *notice, *problem;  /* one line each, or NULL */
};

void frame_init(struct frame *f, const struct site_lang *l, struct buf *out);
void frame_release(struct frame *f);

/* From <!DOCTYPE> to inside <body>, behind the navigation. `title` is printable text. */
void frame_begin(struct frame *f, const char *title);
/* The usual page goes on with this: a header and <main>. `lead` may be NULL. */
void frame_heading(struct frame *f, const char *title, const char *lead);
void frame_end(struct frame *f); /* </main>, footer, the rest */

/* ---- pieces ---------------------------------------------------------------------------------- */

#define put(f, literal) html_raw(&(f)->html, literal)
void put_text(struct frame *f, const char *s); /* made printable; NULL: a dash */
void put_word(struct frame *f, enum site_word w);
void put_number(struct frame *f, double v, int decimals); /* NAN: a dash */
void put_rate(struct frame *f, double tok_s);
void put_count(struct frame *f, int64_t n);
void put_day(struct frame *f, int64_t unix_ms);    /* "2026-11-30"; 0: a dash */
void put_moment(struct frame *f, int64_t unix_ms); /* "2026-11-30 17:06:12", UTC; 0: a dash */
void put_size(struct frame *f, int64_t tokens);    /* "16K" */

/* <a href="/en<path>/<segment>">; finish with put(f, "</a>"). `segment` NULL: the path alone. A
 * segment may be "org/name", which are two. */
void put_link(struct frame *f, const char *path, const char *segment);
/* The same with this page's query, but for one parameter, which gets another value (NULL: none);
 * and without "after", which belongs to the old one. */
void put_query_link(struct frame *f, const char *path, const char *name, const char *value);
/* One of several views of this page, as an item of a list: the current one is marked. */
void put_tab(struct frame *f, const char *path, const char *name, const char *value,
             enum site_word label);
/* Another page, as an item of a list; marked when it is `here`. */
void put_place(struct frame *f, const char *path, enum site_word name, bool here);
/* The address itself, into an attribute that is open. */
void put_href(struct frame *f, const char *path, const char *segment);

/* Forms: <form method="post" action="/en<path>"> with the token; a labelled field; a button. */
void put_form(struct frame *f, const char *path, const char *segment, bool has_file);
void put_field(struct frame *f, enum site_word label, const char *name, const char *type,
               const char *value, const char *hint);
void put_area(struct frame *f, enum site_word label, const char *name, const char *hint);
void put_button(struct frame *f, enum site_word label);
/* One of several buttons of a form, which tells which it was. */
void put_button_value(struct frame *f, enum site_word label, const char *name, const char *value);
void put_hidden(struct frame *f, const char *name, const char *value);

/* <select>: the options one by one, between these. */
void put_select(struct frame *f, enum site_word label, const char *name);
void put_option(struct frame *f, const char *value, const char *text, bool chosen);
void put_select_end(struct frame *f);

/* An <h2> for those who listen: what the list below is. */
void put_hidden_heading(struct frame *f, enum site_word w);

/* In place of a list that has no rows. */
void put_empty(struct frame *f, enum site_word words);

/* "Next page", when there is one; `next` is a cursor. `path` NULL: this page's own. */
void put_pager(struct frame *f, const char *path, const char *next);

/* "org/name" as path segments, anything else as one. */
void path_add_name(struct buf *out, const char *name);

#endif
