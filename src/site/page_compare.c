/* page_compare.c - two to four runs, cell by cell: both values and their ratio, on a scale whose
 * middle is "the same". */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/chart.h"
#include "report/compare.h"
#include "report/views.h"
#include "report/words.h"
#include "site/site_pages.h"

enum { RATIO_STEPS = 7 }; /* q0 .. q6 in site.css: much less, ..., the same, ..., much more */

/* Steps at 1.05, 1.25 and 2, and their inverses. */
static int ratio_step(double ratio)
{
    static const double edges[] = {0.5, 0.8, 1 / 1.05, 1.05, 1.25, 2};
    int step = 0;
    while (step < RATIO_STEPS - 1 && ratio > edges[step])
        step++;
    return step;
}

static const char letters[] = "ABCD";

/* ---- which runs ------------------------------------------------------------------------------ */

static void write_letter(struct frame *f, size_t i)
{
    const char text[2] = {letters[i], '\0'};
    put(f, "<b class=\"letter\">");
    html_text(&f->html, text);
    put(f, "</b> ");
}

static void write_chosen(struct frame *f, const struct compare_page *p)
{
    if (p->count == 0)
        return;
    put_hidden_heading(f, SITE_RUNS_TITLE);
    put(f, "<ul class=\"runs\">\n");
    for (size_t i = 0; i < p->count; i++) {
        const struct store_run *run = &p->runs[i];
        put(f, "<li class=\"run\"><div class=\"about\"><h3>");
        write_letter(f, i);
        put_link(f, "/runs", run->uid);
        put_text(f, run->title);
        put(f, "</a></h3><p>");
        put_text(f, run->engine);
        put(f, " ");
        put_text(f, run->engine_version);
        put(f, " · ");
        put_text(f, run->quantization);
        put(f, "</p><p class=\"meta\">");
        put_text(f, run->owner_name);
        put(f, " · ");
        put_day(f, run->created_ms);
        put_flag_mark(f, run);
        put(f, "</p></div></li>\n");
    }
    put(f, "</ul>\n");
}

/* The runs that can be added, each by a link that needs no script. */
static void write_choices(struct frame *f, const struct compare_page *p)
{
    if (p->count >= COMPARE_MAX)
        return;
    put(f, "<section><h2>");
    put_word(f, SITE_COMPARE_ADD);
    put(f, "</h2><ul class=\"found\">");
    for (size_t i = 0; i < p->choices.n; i++) {
        const struct store_run *run = &p->choices.v[i];
        bool there = false;
        for (size_t k = 0; k < p->count; k++)
            there |= strcmp(p->runs[k].uid, run->uid) == 0;
        if (there)
            continue;
        put(f, "<li><a href=\"");
        put_href(f, "/compare", NULL);
        put(f, "?");
        for (size_t k = 0; k < p->count; k++) {
            put(f, "run=");
            html_text(&f->html, p->runs[k].uid);
            put(f, "&amp;");
        }
        put(f, "run=");
        html_text(&f->html, run->uid);
        put(f, "\">");
        put_text(f, run->title);
        put(f, "</a> <small>");
        put_text(f, run->engine);
        put(f, " · ");
        put_text(f, run->quantization);
        put(f, " · ");
        put_text(f, run->owner_name);
        put(f, "</small></li>");
    }
    put(f, "</ul></section>\n");
}

/* ---- one table ------------------------------------------------------------------------------- */

/* A figure, or why there is none. */
static void write_side(struct frame *f, const struct view *view, const struct result *r,
                       const struct cell *c)
{
    char text[NUM_TEXT_MAX];
    double v = c && status_has_numbers(c->status) ? view->value(r, c) : NAN;
    if (isfinite(v))
        html_text(&f->html, view_text(view, f->rl, text, v));
    else if (c)
        html_text(&f->html, words_status(f->rl, c->status));
    else
        html_text(&f->html, word(f->rl, WORD_FIGURE_NONE));
}

/* A cell that not both have a figure for: each side by itself. */
static void write_apart(struct frame *f, const struct compare_page *p, const struct view *view,
                        size_t other, int64_t context, int level)
{
    const struct cell *a = result_cell(&p->results[0], context, level);
    const struct cell *b = result_cell(&p->results[other], context, level);
    put(f, "<td><small>");
    if ((a || b) && !(a && b && a->status == b->status && !status_has_numbers(a->status))) {
        write_side(f, view, &p->results[0], a);
        put(f, " → ");
    }
    write_side(f, view, &p->results[other], b);
    put(f, "</small>");
    put(f, "</td>");
}

static void write_pair(struct frame *f, const struct view *view, const struct comparison *c)
{
    char text[NUM_TEXT_MAX];
    put(f, "<td class=\"q");
    html_int(&f->html, ratio_step(c->gain));
    put(f, "\"><b>");
    html_text(&f->html, lang_number(f->rl, text, c->ratio, 2));
    put(f, "×</b><small>");
    html_text(&f->html, view_text(view, f->rl, text, c->base));
    put(f, " → ");
    html_text(&f->html, view_text(view, f->rl, text, c->other));
    put(f, "</small></td>");
}

static void write_cell(struct frame *f, const struct compare_page *p, const struct view *view,
                       size_t other, int64_t context, int level)
{
    struct comparison c;
    compare_cell(view, &p->results[0], &p->results[other], context, level, &c);
    if (c.verdict != COMPARE_UNKNOWN)
        write_pair(f, view, &c);
    else
        write_apart(f, p, view, other, context, level);
}

static void write_caption(struct frame *f, const struct compare_page *p,
                          const struct compare_axes *u, const struct view *view, size_t other)
{
    char ratio[NUM_TEXT_MAX];
    const char base_letter[2] = {letters[0], '\0'}, other_letter[2] = {letters[other], '\0'};
    struct compare_counts counts;
    compare_count(view, &p->results[0], &p->results[other], u, &counts);
    put(f, "<caption>");
    site_say_compare_caption(
        f->l, html_scratch(&f->html), .n = counts.cells, .base = base_letter, .other = other_letter,
        .ratio = isnan(counts.mean_ratio) ? word(f->rl, WORD_FIGURE_NONE)
                                          : lang_number(f->rl, ratio, counts.mean_ratio, 2));
    html_text_scratch(&f->html);
    put(f, "</caption>");
}

static void write_table(struct frame *f, const struct compare_page *p, const struct compare_axes *u,
                        const struct view *view, size_t other)
{
    put(f, "<div class=\"scroll\" role=\"group\" tabindex=\"0\"");
    html_attr(&f->html, "aria-label", p->runs[other].title);
    put(f, "><table class=\"heat ratio\">");
    write_caption(f, p, u, view, other);
    put(f, "<thead><tr><th scope=\"col\">");
    html_text(&f->html, word(f->rl, WORD_COLUMN_CONTEXT));
    put(f, "</th>");
    for (size_t k = 0; k < u->level_count; k++) {
        put(f, "<th scope=\"col\">");
        html_int(&f->html, (long long)u->levels[k]);
        put(f, "</th>");
    }
    put(f, "</tr></thead>\n<tbody>");
    for (size_t i = 0; i < u->context_count; i++) {
        put(f, "<tr><th scope=\"row\">");
        put_size(f, u->contexts[i]);
        put(f, "</th>");
        for (size_t k = 0; k < u->level_count; k++)
            write_cell(f, p, view, other, u->contexts[i], (int)u->levels[k]);
        put(f, "</tr>\n");
    }
    put(f, "</tbody></table></div>\n");
}

/* ---- chart ----------------------------------------------------------------------------------- */

/* Total speed against concurrency at the smallest context that all runs have. */
static void write_chart(struct frame *f, const struct compare_page *p, const struct compare_axes *u)
{
    struct chart *c = mem_alloc(sizeof *c);
    int64_t context = u->context_count ? u->contexts[0] : 0;
    *c = (struct chart){.id = "compare",
                        .title = WORD_CHART_DECODE,
                        .x_name = WORD_CHART_LEVEL_AXIS,
                        .y_name = WORD_CHART_RUN_AXIS,
                        .x_log = true,
                        .decimals = -1};
    for (size_t k = 0; k < u->level_count && c->x_tick_count < CHART_MAX; k++)
        c->x_ticks[c->x_tick_count++] = (double)u->levels[k];
    for (size_t i = 0; i < p->count; i++) {
        struct chart_series *s = &c->series[c->count];
        const char letter[2] = {letters[i], '\0'};
        *s = (struct chart_series){0};
        snprintf(s->name, sizeof s->name, "%s", letter);
        for (size_t k = 0; k < u->level_count && s->count < CHART_MAX; k++) {
            double v = compare_value(&views[0], &p->results[i], context, (int)u->levels[k]);
            if (isfinite(v))
                s->points[s->count++] = (struct chart_point){
                    .x = (double)u->levels[k], .y = v, .low = NAN, .high = NAN};
        }
        c->count += s->count > 0;
    }
    if (c->count > 0) {
        put(f, "<section><div class=\"charts one\"><figure><figcaption>");
        html_text(&f->html, word(f->rl, c->title));
        put(f, " · ");
        put_size(f, context);
        put(f, "</figcaption>");
        chart_write(c, f->rl, false, &f->html);
        put(f, "</figure></div></section>\n");
    }
    free(c);
}

/* ---- the page -------------------------------------------------------------------------------- */

static void write_views(struct frame *f, const struct compare_page *p, const struct view *shown)
{
    put(f, "<ul class=\"tabs\">");
    for (size_t i = 0; i < view_count; i++) {
        bool any = false;
        for (size_t k = 0; k < p->count; k++)
            any |= view_has_any(&views[i], &p->results[k]);
        if (!any)
            continue;
        if (&views[i] == shown)
            put(f, "<li><a aria-current=\"page\" href=\"");
        else
            put(f, "<li><a href=\"");
        put_href(f, "/compare", NULL);
        put(f, "?view=");
        html_text(&f->html, views[i].id);
        for (size_t k = 0; k < p->count; k++) {
            put(f, "&amp;run=");
            html_text(&f->html, p->runs[k].uid);
        }
        put(f, "\">");
        html_text(&f->html, word(f->rl, views[i].name));
        put(f, "</a></li>");
    }
    put(f, "</ul>\n");
}

void page_compare_write(struct frame *f, const struct compare_page *p)
{
    const struct view *view = compare_view(p->view);
    struct compare_axes *u = mem_alloc(sizeof *u);
    frame_begin(f, site_word(f->l, SITE_COMPARE_TITLE));
    frame_heading(f, site_word(f->l, SITE_COMPARE_TITLE), site_word(f->l, SITE_COMPARE_LEAD));
    write_chosen(f, p);
    if (p->count > 1) {
        compare_axes_of(p->results, p->count, u);
        write_views(f, p, view);
        for (size_t i = 1; i < p->count; i++)
            write_table(f, p, u, view, i);
        put(f, "<p class=\"by\">");
        put_word(f, SITE_COMPARE_READING);
        put(f, "</p>\n");
        write_chart(f, p, u);
    }
    write_choices(f, p);
    frame_end(f);
    free(u);
}
