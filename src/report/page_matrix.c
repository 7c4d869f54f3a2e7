/* page_matrix.c - the prefill strip, and the matrix once for each figure. */
#include <math.h>
#include <stdlib.h>

#include "report/insights.h"
#include "report/page_parts.h"
#include "report/views.h"
#include "report/words.h"

enum { HEAT_STEPS = 9 }; /* h0 .. h8 in page.css */

static void write_star(const struct page *p, unsigned marks)
{
    if (marks)
        html_raw(p->h, "<sup>*</sup>");
}

/* ---- prefill --------------------------------------------------------------------------------- */

static void write_prefill_row(const struct page *p, const struct prefill_row *row, double most)
{
    bool figures = status_has_numbers(row->status) && !isnan(row->total_tok_s);
    char text[NUM_TEXT_MAX];
    html_raw(p->h, "<li id=\"p-");
    page_cell_id(p, row->context_tokens, 1);
    html_raw(p->h, "\"><span class=\"at\">");
    say_prefill_context(p->l, html_scratch(p->h),
                        .context = num_size_text(text, row->context_tokens));
    html_text_scratch(p->h);
    html_raw(p->h, "</span> <b>");
    if (figures)
        html_text(p->h, lang_rate(p->l, text, row->total_tok_s));
    else
        html_text(p->h, words_status(p->l, row->status));
    html_raw(p->h, "</b>");
    write_star(p, row->marks);
    if (figures && !isnan(row->ttft_ms.p50)) {
        html_raw(p->h, " <small>");
        say_cell_ttft(p->l, html_scratch(p->h), .ms = lang_number(p->l, text, row->ttft_ms.p50, 0));
        html_text_scratch(p->h);
        html_raw(p->h, "</small>");
    }
    if (figures) {
        html_raw(p->h, "<svg class=\"bar\" viewBox=\"0 0 100 4\" preserveAspectRatio=\"none\" "
                       "aria-hidden=\"true\"><rect height=\"4\"");
        html_attr_number(p->h, "width", 100 * row->total_tok_s / most);
        html_raw(p->h, "/></svg>");
    }
    html_raw(p->h, "</li>\n");
}

void page_prefill(const struct page *p)
{
    double most = 0;
    if (p->axes.prefill_count == 0)
        return;
    for (size_t i = 0; i < p->r->prefill_count; i++)
        most = fmax(most, p->r->prefill[i].total_tok_s);
    html_raw(p->h, "<section aria-labelledby=\"prefill\">");
    page_heading(p, "prefill", WORD_PHASE_PREFILL);
    page_by(p, WORD_PREFILL_BY);
    html_raw(p->h, "<ul class=\"strip\">\n");
    for (size_t i = 0; i < p->axes.prefill_count; i++)
        write_prefill_row(p, result_prefill(p->r, p->axes.prefill[i]), most);
    html_raw(p->h, "</ul></section>\n");
}

/* ---- one cell -------------------------------------------------------------------------------- */

struct heat_table {
    const struct page *p;
    const struct view *view;
    struct scale scale;
    bool first; /* its cells have the anchors */
};

static void write_status(const struct heat_table *t, const struct cell *c, unsigned marks)
{
    html_raw(t->p->h, "<span class=\"status\">");
    html_text(t->p->h, words_status(t->p->l, c->status));
    write_star(t->p, marks);
    html_raw(t->p->h, "</span>");
}

static void write_figure(const struct heat_table *t, const struct cell *c, double v)
{
    const struct page *p = t->p;
    char text[NUM_TEXT_MAX];
    if (t->first) {
        html_raw(p->h, "<a href=\"#c-");
        page_cell_id(p, c->context_tokens, c->concurrency);
        html_raw(p->h, "\"><b>");
    } else {
        html_raw(p->h, "<b>");
    }
    html_text(p->h, view_text(t->view, p->l, text, v));
    html_raw(p->h, "</b>");
    if (t->first)
        html_raw(p->h, "</a>");
    write_star(p, c->marks);
    if (c->status != STATUS_VALID)
        write_status(t, c, 0);
    if (t->first && !isnan(c->ttft_ms.p50)) {
        html_raw(p->h, " <small>");
        say_cell_ttft(p->l, html_scratch(p->h), .ms = lang_number(p->l, text, c->ttft_ms.p50, 0));
        html_text_scratch(p->h);
        html_raw(p->h, "</small>");
    }
}

static void write_cell(const struct heat_table *t, const struct cell *c)
{
    const struct page *p = t->p;
    double v = c && status_has_numbers(c->status) ? t->view->value(p->r, c) : NAN;
    int step = scale_step(&t->scale, v, HEAT_STEPS);
    if (!c) {
        html_raw(p->h, "<td></td>");
        return;
    }
    html_raw(p->h, "<td");
    if (t->first) {
        html_raw(p->h, " id=\"c-");
        page_cell_id(p, c->context_tokens, c->concurrency);
        html_raw(p->h, "\"");
    }
    if (step >= 0) {
        html_raw(p->h, " class=\"h");
        html_int(p->h, step);
        html_raw(p->h, "\"");
    } else {
        html_attr(p->h, "class", status_name(c->status));
    }
    html_raw(p->h, ">");
    if (isfinite(v))
        write_figure(t, c, v);
    else
        write_status(t, c, c->marks);
    html_raw(p->h, "</td>");
}

/* ---- one table ------------------------------------------------------------------------------- */

static void write_scale(const struct heat_table *t)
{
    const struct page *p = t->p;
    char text[NUM_TEXT_MAX];
    if (!(t->scale.least < t->scale.most))
        return;
    html_raw(p->h, "<p class=\"scale\"><span>");
    html_text(p->h, view_text(t->view, p->l, text, t->scale.least));
    html_raw(p->h, "</span><span class=\"steps\" aria-hidden=\"true\">");
    for (int i = 0; i < HEAT_STEPS; i++) {
        html_raw(p->h, "<i class=\"h");
        html_int(p->h, i);
        html_raw(p->h, "\"></i>");
    }
    html_raw(p->h, "</span><span>");
    html_text(p->h, view_text(t->view, p->l, text, t->scale.most));
    html_raw(p->h, " ");
    html_text(p->h, word(p->l, t->view->unit));
    html_raw(p->h, "</span></p>");
}

static void write_head_row(const struct heat_table *t)
{
    const struct page *p = t->p;
    html_raw(p->h, "<thead><tr><th scope=\"col\">");
    html_text(p->h, word(p->l, WORD_COLUMN_CONTEXT));
    html_raw(p->h, "</th>");
    for (size_t k = 0; k < p->axes.level_count; k++) {
        html_raw(p->h, "<th scope=\"col\">");
        html_int(p->h, (long long)p->axes.levels[k]);
        html_raw(p->h, "</th>");
    }
    html_raw(p->h, "</tr></thead>\n<tbody>");
}

static void write_table(const struct heat_table *t)
{
    const struct page *p = t->p;
    char text[NUM_TEXT_MAX];
    html_raw(p->h, "<section class=\"view\" id=\"view-");
    html_text(p->h, t->view->id);
    html_raw(p->h, "\"><div class=\"scroll\" role=\"group\" tabindex=\"0\"");
    html_attr(p->h, "aria-label", word(p->l, t->view->name));
    html_raw(p->h, "><table class=\"heat\"><caption>");
    html_text(p->h, word(p->l, t->view->by));
    html_raw(p->h, "</caption>");
    write_head_row(t);
    for (size_t i = 0; i < p->axes.context_count; i++) {
        html_raw(p->h, "<tr><th scope=\"row\">");
        html_text(p->h, num_size_text(text, p->axes.contexts[i]));
        html_raw(p->h, "</th>");
        for (size_t k = 0; k < p->axes.level_count; k++)
            write_cell(t, result_cell(p->r, p->axes.contexts[i], (int)p->axes.levels[k]));
        html_raw(p->h, "</tr>\n");
    }
    html_raw(p->h, "</tbody></table></div>");
    write_scale(t);
    html_raw(p->h, "</section>\n");
}

/* ---- around the tables ----------------------------------------------------------------------- */

static void write_switch(const struct page *p)
{
    html_raw(p->h, "<div class=\"switch\" role=\"group\" hidden");
    html_attr(p->h, "aria-label", word(p->l, WORD_VIEW_SWITCH));
    html_raw(p->h, ">");
    for (size_t i = 0; i < view_count; i++) {
        if (!view_has_any(&views[i], p->r))
            continue;
        html_raw(p->h, "<button type=\"button\" aria-pressed=\"");
        if (i == 0)
            html_raw(p->h, "true");
        else
            html_raw(p->h, "false");
        html_raw(p->h, "\" data-view=\"view-");
        html_text(p->h, views[i].id);
        html_raw(p->h, "\">");
        html_text(p->h, word(p->l, views[i].name));
        html_raw(p->h, "</button>");
    }
    html_raw(p->h, "</div>\n");
}

static void write_legends(const struct page *p)
{
    struct buf *marks = html_scratch(p->h);
    remarks_marks(p->r, p->l, marks);
    char *lines = buf_detach(marks);
    html_raw(p->h, "<ul class=\"legend\">");
    for (int s = 0; s < STATUS_COUNT; s++) {
        const char *legend = words_status_legend(p->l, (enum cell_status)s);
        if (!legend || !result_count_status(p->r, (enum cell_status)s))
            continue;
        html_raw(p->h, "<li><b>");
        html_text(p->h, words_status(p->l, (enum cell_status)s));
        html_text(p->h, word(p->l, WORD_LIST_COLON));
        html_raw(p->h, "</b>");
        html_text(p->h, legend);
        html_raw(p->h, "</li>");
    }
    if (*lines) {
        html_raw(p->h, "<li>");
        html_text(p->h, word(p->l, WORD_MARK_STARRED));
        html_raw(p->h, "</li>");
    }
    page_items(p, lines);
    html_raw(p->h, "<li>");
    html_text(p->h, word(p->l, WORD_DECODE_WARM_TTFT));
    html_raw(p->h, "</li></ul>\n");
    free(lines);
}

static void write_insights(const struct page *p)
{
    struct buf *b = html_scratch(p->h);
    insights_add(p->r, p->l, b);
    if (!b->len)
        return;
    char *lines = buf_detach(b);
    html_raw(p->h, "<div class=\"insights\"><h3>");
    html_text(p->h, word(p->l, WORD_INSIGHT_TITLE));
    html_raw(p->h, "</h3><ul>");
    page_items(p, lines);
    html_raw(p->h, "</ul></div>");
    free(lines);
}

void page_matrix(const struct page *p)
{
    if (p->r->decode_count == 0)
        return;
    html_raw(p->h, "<section aria-labelledby=\"decode\">");
    page_heading(p, "decode", WORD_PHASE_DECODE);
    write_switch(p);
    for (size_t i = 0; i < view_count; i++) {
        struct heat_table t = {.p = p, .view = &views[i], .first = i == 0};
        t.scale = scale_of(t.view, p->r);
        if (i == 0 || view_has_any(t.view, p->r))
            write_table(&t);
    }
    write_legends(p);
    write_insights(p);
    html_raw(p->h, "</section>\n");
}
