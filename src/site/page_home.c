/* page_home.c - the first page, how to begin, and the page about what went wrong. */
#include <string.h>

#include "site/board_words.h"
#include "site/site_pages.h"

void page_error_write(struct frame *f, int status, const char *text)
{
    frame_begin(f, site_word(f->l, SITE_ERROR_TITLE));
    frame_heading(f, site_word(f->l, SITE_ERROR_TITLE), NULL);
    put(f, "<p class=\"code\">");
    html_int(&f->html, status);
    put(f, "</p><p>");
    put_text(f, text);
    put(f, "</p><p>");
    put_link(f, "/", NULL);
    put_word(f, SITE_ERROR_HOME);
    put(f, "</a></p>\n");
    frame_end(f);
}

/* ---- home ------------------------------------------------------------------------------------ */

static void write_count(struct frame *f, int64_t n, enum site_word label, const char *path)
{
    put(f, "<div><dt>");
    put_link(f, path, NULL);
    put_word(f, label);
    put(f, "</a></dt><dd><b>");
    put_count(f, n);
    put(f, "</b></dd></div>");
}

static void write_counts(struct frame *f, const struct store_counts *c)
{
    put(f, "<dl class=\"highlights\">");
    write_count(f, c->runs, SITE_NAV_RUNS, "/runs");
    write_count(f, c->bases, SITE_NAV_MODELS, "/models");
    write_count(f, c->hardware, SITE_NAV_HARDWARE, "/hardware");
    write_count(f, c->organizations, SITE_NAV_ORGANIZATIONS, "/organizations");
    put(f, "</dl>\n");
}

static void write_best(struct frame *f, enum store_metric m, const struct store_board_rows *rows)
{
    put(f, "<section class=\"block\"><h3><a href=\"");
    put_href(f, "/leaderboard", NULL);
    put(f, "?metric=");
    html_text(&f->html, store_metric_name(m));
    put(f, "\">");
    put_word(f, metric_word(m));
    put(f, "</a></h3><ol class=\"best-of\">");
    for (size_t i = 0; i < rows->n; i++) {
        const struct store_board_row *row = &rows->v[i];
        put(f, "<li><b>");
        put_metric(f, m, row->value);
        put(f, " <small>");
        put_word(f, metric_unit(m));
        put(f, "</small></b> ");
        put_link(f, "/runs", row->run.uid);
        put_text(f, row->run.title);
        put(f, "</a>");
        put_flag_mark(f, &row->run);
        put(f, "</li>");
    }
    put(f, "</ol></section>");
}

void page_home_write(struct frame *f, const struct home_page *p)
{
    static const enum store_metric metrics[] = {STORE_SINGLE, STORE_TOTAL, STORE_PREFILL};
    frame_begin(f, site_word(f->l, SITE_HOME_TITLE));
    frame_heading(f, site_word(f->l, SITE_HOME_TITLE), site_word(f->l, SITE_HOME_LEAD));
    put(f, "<p class=\"actions\"><a class=\"button main\" href=\"");
    put_href(f, "/get-started", NULL);
    put(f, "\">");
    put_word(f, SITE_HOME_START);
    put(f, "</a> <a class=\"button\" href=\"");
    put_href(f, "/leaderboard", NULL);
    put(f, "\">");
    put_word(f, SITE_NAV_LEADERBOARD);
    put(f, "</a></p>\n");
    write_counts(f, &p->counts);
    if (p->newest.n > 0) {
        put(f, "<section><h2>");
        put_word(f, SITE_HOME_BEST);
        put(f, "</h2><div class=\"blocks\">");
        for (size_t i = 0; i < ARRAY_LEN(metrics); i++)
            write_best(f, metrics[i], &p->best[i]);
        put(f, "</div></section>\n<section><h2>");
        put_word(f, SITE_HOME_NEWEST);
        put(f, "</h2><ul class=\"runs\">\n");
        for (size_t i = 0; i < p->newest.n; i++)
            put_run_card(f, &p->newest.v[i], p->newest.cells ? &p->newest.cells[i] : NULL);
        put(f, "</ul></section>\n");
    }
    frame_end(f);
}

/* ---- get started ----------------------------------------------------------------------------- */

static void begin_step(struct frame *f, enum site_word title, enum site_word words)
{
    put(f, "<section><h2>");
    put_word(f, title);
    put(f, "</h2><p>");
    put_word(f, words);
    put(f, "</p>");
}

void page_start_write(struct frame *f, const char *origin)
{
    frame_begin(f, site_word(f->l, SITE_START_TITLE));
    frame_heading(f, site_word(f->l, SITE_START_TITLE), site_word(f->l, SITE_START_LEAD));
    begin_step(f, SITE_START_MEASURE, SITE_START_MEASURE_WORDS);
    put(f, "<pre tabindex=\"0\"><code>tokgrid run http://127.0.0.1:8000 --out "
           "runs/mine.json</code></pre></section>\n");
    begin_step(f, SITE_START_ACCOUNT, SITE_START_ACCOUNT_WORDS);
    put(f, "<p class=\"actions\"><a class=\"button\" href=\"");
    put_href(f, "/sign-up", NULL);
    put(f, "\">");
    put_word(f, SITE_SIGN_UP_TITLE);
    put(f, "</a></p></section>\n");
    begin_step(f, SITE_START_PUBLISH, SITE_START_PUBLISH_WORDS);
    put(f, "<pre tabindex=\"0\"><code>tokgrid login ");
    html_text(&f->html, origin);
    put(f, "\ntokgrid publish runs/mine.json</code></pre></section>\n");
    begin_step(f, SITE_START_RULES, SITE_START_RULES_WORDS);
    put(f, "<ul class=\"lines\"><li>");
    put_word(f, SITE_START_RULE_CLASSES);
    put(f, "</li><li>");
    put_word(f, SITE_START_RULE_VALID);
    put(f, "</li><li>");
    put_word(f, SITE_START_RULE_CHECKED);
    put(f, "</li><li>");
    put_word(f, SITE_START_RULE_SECRETS);
    put(f, "</li></ul></section>\n");
    frame_end(f);
}
