/* compare_report.c - the cells of two results as a grid and as JSON. */
#include "report/compare_report.h"

#include <math.h>
#include <stdio.h>

#include "report/grid.h"
#include "report/table_lines.h"
#include "report/words.h"

enum { COLUMNS = 7 };

static const enum word verdict_words[] = {
    [COMPARE_IS_SAME] = WORD_COMPARE_SAME,
    [COMPARE_BETTER] = WORD_COMPARE_BETTER,
    [COMPARE_WORSE] = WORD_COMPARE_WORSE,
};

static void add_head(const struct compare_pair *p, const struct lang *l, struct grid *g)
{
    const char *const names[COLUMNS] = {
        word(l, WORD_COLUMN_CONTEXT),
        word(l, WORD_COLUMN_CONCURRENCY),
        p->base_name,
        p->other_name,
        word(l, WORD_COMPARE_RATIO),
        word(l, WORD_COMPARE_INTERVAL),
        word(l, WORD_COMPARE_VERDICT),
    };
    for (size_t i = 0; i < COLUMNS; i++)
        grid_add(g, names[i], GRID_HEAD);
}

/* A figure, or the status that says why there is none. */
static void add_side(const struct compare_pair *p, const struct result *r, double value,
                     int64_t context, int level, const struct lang *l, struct grid *g)
{
    char text[NUM_TEXT_MAX];
    const struct cell *c = result_cell(r, context, level);
    if (isfinite(value))
        grid_add(g, view_text(p->view, l, text, value), GRID_PLAIN);
    else
        grid_add(g, c ? words_status(l, c->status) : word(l, WORD_FIGURE_NONE), GRID_DIM);
}

static void add_row(const struct compare_pair *p, const struct comparison *c, int64_t context,
                    int level, const struct lang *l, struct grid *g)
{
    char text[NUM_TEXT_MAX], high[NUM_TEXT_MAX], cell[3 * NUM_TEXT_MAX];

    grid_add(g, num_size_text(text, context), GRID_PLAIN);
    snprintf(cell, sizeof cell, "%d", level);
    grid_add(g, cell, GRID_PLAIN);
    add_side(p, p->base, c->base, context, level, l, g);
    add_side(p, p->other, c->other, context, level, l, g);
    cell[0] = '\0';
    if (isfinite(c->ratio))
        snprintf(cell, sizeof cell, "%s×", lang_number(l, text, c->ratio, 3));
    grid_add(g, cell, GRID_PLAIN);
    cell[0] = '\0';
    if (isfinite(c->low))
        snprintf(cell, sizeof cell, "%s–%s", lang_number(l, text, c->low, 3),
                 lang_number(l, high, c->high, 3));
    grid_add(g, cell, GRID_DIM);
    grid_add(g, c->verdict == COMPARE_UNKNOWN ? "" : word(l, verdict_words[c->verdict]),
             c->verdict == COMPARE_WORSE ? GRID_HEAD : GRID_PLAIN);
}

static void add_summary(const struct compare_pair *p, const struct table_options *o,
                        struct buf *out)
{
    char ratio[NUM_TEXT_MAX], better[NUM_TEXT_MAX], worse[NUM_TEXT_MAX], same[NUM_TEXT_MAX];
    struct compare_counts n;
    struct buf line;

    compare_count(p->view, p->base, p->other, p->axes, &n);
    buf_init(&line, 4096);
    say_compare_summary(o->lang, &line, .n = n.cells, .base = p->base_name, .other = p->other_name,
                        .ratio = isnan(n.mean_ratio) ? word(o->lang, WORD_FIGURE_NONE)
                                                     : lang_number(o->lang, ratio, n.mean_ratio, 3),
                        .better = lang_number(o->lang, better, (double)n.better, 0),
                        .worse = lang_number(o->lang, worse, (double)n.worse, 0),
                        .same = lang_number(o->lang, same, (double)n.same, 0));
    lines_add(o, 0, line.p, out);
    buf_release(&line);
}

void compare_table(const struct compare_pair *p, bool only_worse, const struct table_options *o,
                   struct buf *out)
{
    static const bool left[COLUMNS] = {[COLUMNS - 1] = true};
    struct comparison c;
    struct grid g;
    size_t rows = 0;

    grid_init(&g, COLUMNS, 2, left, o->ascii);
    add_head(p, o->lang, &g);
    for (size_t i = 0; i < p->axes->context_count; i++)
        for (size_t k = 0; k < p->axes->level_count; k++) {
            int64_t context = p->axes->contexts[i];
            int level = (int)p->axes->levels[k];
            compare_cell(p->view, p->base, p->other, context, level, &c);
            bool shown =
                only_worse ? c.verdict == COMPARE_WORSE : isfinite(c.base) || isfinite(c.other);
            if (shown)
                add_row(p, &c, context, level, o->lang, &g);
            rows += shown;
        }
    if (rows > 0)
        grid_draw(&g, 0, o->colour, out);
    grid_release(&g);
    add_summary(p, o, out);
}

static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

json_t *compare_json(const struct compare_pair *p)
{
    json_t *cells = json_array();
    struct compare_counts n;
    struct comparison c;

    for (size_t i = 0; i < p->axes->context_count; i++)
        for (size_t k = 0; k < p->axes->level_count; k++) {
            compare_cell(p->view, p->base, p->other, p->axes->contexts[i], (int)p->axes->levels[k],
                         &c);
            if (!isfinite(c.base) && !isfinite(c.other))
                continue;
            json_array_append_new(
                cells, json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:s?}", "context_tokens",
                                 (json_int_t)p->axes->contexts[i], "concurrency",
                                 (json_int_t)p->axes->levels[k], "base", number(c.base), "other",
                                 number(c.other), "ratio", number(c.ratio), "ratio_low",
                                 number(c.low), "ratio_high", number(c.high), "verdict",
                                 compare_verdict_name(c.verdict)));
        }
    compare_count(p->view, p->base, p->other, p->axes, &n);
    return json_pack("{s:s, s:o, s:I, s:I, s:I, s:o}", "view", p->view->id, "mean_ratio",
                     number(n.mean_ratio), "better", (json_int_t)n.better, "worse",
                     (json_int_t)n.worse, "same", (json_int_t)n.same, "cells", cells);
}
