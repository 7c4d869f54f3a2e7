/* page_run.c - a run: the report's page within the site, with what the site knows about it. */
#include <math.h>
#include <string.h>

#include "report/headline.h"
#include "report/page.h"
#include "report/plain.h"
#include "site/site_pages.h"
#include "site/stamp_text.h"

static void write_state(struct frame *f, const struct run_page *p)
{
    static const enum site_word words[STORE_RUN_STATES] = {
        [STORE_RUN_DRAFT] = SITE_RUN_IS_DRAFT,
        [STORE_RUN_FLAGGED] = SITE_RUN_IS_FLAGGED,
        [STORE_RUN_WITHDRAWN] = SITE_RUN_IS_WITHDRAWN,
    };
    if (p->run.state == STORE_RUN_PUBLIC)
        return;
    put(f, "<div class=\"notice problem\"><p>");
    put_word(f, words[p->run.state]);
    put(f, "</p>");
    if (p->flags.n > 0)
        put(f, "<ul>");
    for (size_t i = 0; i < p->flags.n; i++) {
        put(f, "<li>");
        put_text(f, p->flags.v[i].text);
        put(f, "</li>");
    }
    if (p->flags.n > 0)
        put(f, "</ul>");
    put(f, "</div>\n");
}

static void write_where(struct frame *f, const struct run_page *p)
{
    put(f, "<p class=\"facts\">");
    put_link(f, "/models", p->run.model);
    put_text(f, p->run.model);
    put(f, "</a> · ");
    put_link(f, "/hardware", p->run.hardware);
    put_text(f, p->run.hardware_title);
    put(f, "</a> · ");
    put_link(f, "/users", p->run.owner_name);
    put_text(f, p->run.owner_name);
    put(f, "</a> · ");
    put_day(f, p->run.created_ms);
    if (p->run.revision > 1) {
        char text[NUM_TEXT_MAX];
        put(f, " · ");
        site_say_run_revision(f->l, html_scratch(&f->html),
                              .number = lang_number(f->rl, text, p->run.revision, 0));
        html_text_scratch(&f->html);
    }
    put(f, "</p>\n");
}

static void write_actions(struct frame *f, const struct run_page *p)
{
    put(f, "<p class=\"actions\"><a class=\"button\" href=\"");
    put_href(f, "/compare", NULL);
    put(f, "?run=");
    html_text(&f->html, p->run.uid);
    put(f, "\">");
    put_word(f, SITE_RUN_COMPARE);
    put(f, "</a>");
    if (p->bound_query) {
        put(f, " <a class=\"button\" href=\"");
        put_href(f, "/calculator", NULL);
        put(f, "?");
        html_text(&f->html, p->bound_query);
        put(f, "\">");
        put_word(f, SITE_RUN_BOUND);
        put(f, "</a>");
    }
    put(f, "</p>\n");
}

/* What its owner can do with it. */
static void write_own(struct frame *f, const struct run_page *p)
{
    static const struct {
        enum store_run_state from;
        const char *to;
        enum site_word word;
    } moves[] = {
        {STORE_RUN_DRAFT, "public", SITE_RUN_PUBLISH},
        {STORE_RUN_PUBLIC, "withdrawn", SITE_RUN_WITHDRAW},
        {STORE_RUN_FLAGGED, "withdrawn", SITE_RUN_WITHDRAW},
        {STORE_RUN_WITHDRAWN, "public", SITE_RUN_PUBLISH},
    };
    for (size_t i = 0; p->own && i < ARRAY_LEN(moves); i++) {
        if (moves[i].from != p->run.state)
            continue;
        put_form(f, "/runs", p->run.uid, false);
        put(f, "<p class=\"actions\"><input type=\"hidden\" name=\"state\"");
        html_attr(&f->html, "value", moves[i].to);
        put(f, ">");
        put_button(f, moves[i].word);
        put(f, "</p></form>\n");
    }
}

static void write_history(struct frame *f, const struct run_page *p)
{
    if (p->history.n < 2)
        return;
    put(f, "<section><h2>");
    put_word(f, SITE_RUN_HISTORY);
    put(f, "</h2><ul class=\"lines\">");
    for (size_t i = 0; i < p->history.n; i++) {
        const struct store_revision *r = &p->history.v[i];
        put(f, "<li>");
        html_int(&f->html, r->revision);
        put(f, " · ");
        put_day(f, r->created_ms);
        put(f, " · ");
        put_text(f, r->note);
        put(f, "</li>");
    }
    put(f, "</ul></section>\n");
}

bool page_run_write(struct frame *f, const struct run_page *p)
{
    struct buf url;
    f->has_script = true;
    frame_begin(f, p->run.title);
    put(f, "<aside class=\"above\"");
    html_attr(&f->html, "aria-label", site_word(f->l, SITE_RUN_ABOUT));
    put(f, ">");
    write_where(f, p);
    write_state(f, p);
    write_actions(f, p);
    write_own(f, p);
    write_history(f, p);
    put(f, "</aside>\n");
    buf_init(&url, 200);
    buf_addf(&url, "/api/v1/runs/%s/raw", p->run.uid);
    const struct page_options options = {.lang = f->rl, .document_url = url.p};
    bool ok = page_write_within(p->result, &options, f->html.out);
    buf_release(&url);
    put(f, "<footer><p>");
    put_word(f, SITE_FOOTER_WORDS);
    put(f, "</p></footer>\n</body>\n</html>\n");
    return ok;
}
