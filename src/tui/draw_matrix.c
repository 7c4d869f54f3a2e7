/* draw_matrix.c - the matrix as a heat table, and the prefill rows below it. */
#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "tui/draw_parts.h"

enum { LABEL_WIDTH = 9 };

static const char pending[] = "∙";

/* Words for cells without a headline figure; the short ones are for columns of six. */
static const struct status_look {
    const char *word, *brief;
    enum style style;
} looks[STATUS_COUNT] = {
    [STATUS_VALID] = {"", "", STYLE_PLAIN},
    [STATUS_QUEUED] = {"queued", "queue", STYLE_QUEUED},
    [STATUS_OVER_CAPACITY] = {"over cap", "over", STYLE_OVER_CAPACITY},
    [STATUS_LOOPED] = {"looped", "loop", STYLE_LOOPED},
    [STATUS_ERROR] = {"error", "error", STYLE_ERROR},
    [STATUS_SKIPPED] = {"skipped", "skip", STYLE_SKIPPED},
};

/* ---- where things stand ---- */

/* The running cell, or the one that the phase is about, or none: -1. */
static void find_focus(const struct progress *p, int *ret_context, int *ret_level)
{
    *ret_context = *ret_level = -1;
    for (size_t i = 0; i < p->plan.context_count; i++)
        for (size_t j = 0; j < p->plan.level_count; j++)
            if (p->cells[i][j].state == CELL_RUNNING) {
                *ret_context = (int)i;
                *ret_level = (int)j;
                return;
            }
    for (size_t i = 0; i < p->plan.context_count; i++)
        if (p->plan.contexts[i] == p->context_tokens)
            *ret_context = (int)i;
    for (size_t j = 0; j < p->plan.level_count; j++)
        if (p->plan.levels[j] == p->concurrency)
            *ret_level = (int)j;
}

/* The first of `shown` out of `total` so that `focus` is among them, near the middle. */
static int first_shown(int total, int shown, int focus)
{
    int first = focus < 0 ? 0 : focus - shown / 2;
    if (first > total - shown)
        first = total - shown;
    return first < 0 ? 0 : first;
}

struct columns matrix_columns(const struct frame *f)
{
    enum { LEAST = 6, MOST = 10 };
    int levels = (int)f->p->plan.level_count, context, level;
    struct columns c = {.label = f->width >= TABLE_COLS ? LABEL_WIDTH : 6};
    int room = f->width - c.label;

    find_focus(f->p, &context, &level);
    c.count = room / LEAST < levels ? room / LEAST : levels;
    if (c.count <= 0)
        return (struct columns){.label = c.label, .cell = LEAST};
    c.cell = room / c.count < MOST ? room / c.count : MOST;
    c.gaps = c.cell >= 8;
    c.first = first_shown(levels, c.count, level);
    return c;
}

static int cell_col(const struct frame *f, const struct columns *c, int index)
{
    return f->left + c->label + index * c->cell;
}

static int tile_width(const struct columns *c)
{
    return c->cell - c->gaps;
}

/* ---- cells ---- */

struct heat_range {
    double low, high;
};

static struct heat_range find_range(const struct progress *p)
{
    struct heat_range r = {INFINITY, 0};
    for (size_t i = 0; i < p->plan.context_count; i++)
        for (size_t j = 0; j < p->plan.level_count; j++) {
            const struct progress_cell *cell = &p->cells[i][j];
            if (cell->state != CELL_DONE || cell->status != STATUS_VALID ||
                !isfinite(cell->total_tok_s) || cell->total_tok_s <= 0)
                continue;
            r.low = fmin(r.low, cell->total_tok_s);
            r.high = fmax(r.high, cell->total_tok_s);
        }
    return r;
}

/* By ratio, not by difference: a matrix spans two orders of magnitude. */
static enum style heat_style(const struct heat_range *r, double rate)
{
    if (!isfinite(rate) || rate <= 0)
        return STYLE_PLAIN;
    double span = log(r->high / r->low);
    double share = span > 0.05 && isfinite(span) ? log(rate / r->low) / span : 0.5;
    int step = (int)(share * HEAT_STEPS); /* low <= rate <= high */
    return STYLE_HEAT + (enum style)(step < HEAT_STEPS ? step : HEAT_STEPS - 1);
}

/* Numbers are flush right and leave one column for the remark's star, so they stay in line. */
static void draw_tile(const struct frame *f, const struct columns *c, int row, int col,
                      enum style style, const char *text, bool has_remark)
{
    int width = tile_width(c);
    canvas_fill(f->g, row, col, width, style, ' ');
    canvas_text_right(f->g, row, col, width - 1, style, text);
    if (has_remark)
        canvas_text(f->g, row, col + width - 1, 1, style, "*");
}

static void draw_cell(const struct frame *f, const struct columns *c, int row, int col,
                      const struct progress_cell *cell, const struct heat_range *range)
{
    char text[NUM_TEXT_MAX];
    int room = tile_width(c) - 1;

    if (cell->state == CELL_PENDING) {
        draw_tile(f, c, row, col, STYLE_DIM, pending, false);
    } else if (cell->state == CELL_RUNNING) {
        bool decoding = f->p->phase >= PHASE_RAMP && f->p->phase <= PHASE_WINDOW;
        draw_tile(f, c, row, col, STYLE_RUNNING,
                  decoding ? rate_text(text, f->p->tok_s, room) : "▸", false);
    } else if (cell->status == STATUS_VALID) {
        draw_tile(f, c, row, col, heat_style(range, cell->total_tok_s),
                  rate_text(text, cell->total_tok_s, room), cell->marks != 0);
    } else if (cell->status < STATUS_COUNT) {
        const struct status_look *look = &looks[cell->status];
        bool fits = canvas_width(f->g, look->word) <= room;
        draw_tile(f, c, row, col, look->style, fits ? look->word : look->brief, false);
    }
}

/* ---- the table ---- */

static void draw_matrix_head(const struct frame *f, const struct columns *c, int row, int focus)
{
    const struct plan *plan = &f->p->plan;
    canvas_text(f->g, row, f->left, c->label - 1, STYLE_DIM,
                c->label >= LABEL_WIDTH ? "context" : "ctx");
    for (int j = 0; j < c->count; j++) {
        char text[NUM_TEXT_MAX];
        int level = c->first + j;
        snprintf(text, sizeof text, "%d", plan->levels[level]);
        canvas_text_right(f->g, row, cell_col(f, c, j), tile_width(c) - 1,
                          level == focus ? STYLE_STRONG : STYLE_DIM, text);
    }
    if (c->first > 0)
        canvas_text(f->g, row, f->left + c->label - 1, 1, STYLE_ACCENT, "‹");
    if (c->first + c->count < (int)plan->level_count)
        canvas_text(f->g, row, cell_col(f, c, c->count) - 1 - c->gaps, 1, STYLE_ACCENT, "›");
}

static void draw_legend(const struct frame *f, const struct columns *c, int row,
                        const struct heat_range *range)
{
    char text[NUM_TEXT_MAX];
    struct pen pen = {f->g, row, f->left + c->label, f->left + f->width};
    if (range->high <= 0 || f->g->mono)
        return;
    pen_add(&pen, STYLE_DIM, "%s ", rate_text(text, range->low, 8));
    for (int i = 0; i < HEAT_STEPS; i++) {
        canvas_fill(f->g, row, pen.col, 2, STYLE_HEAT + (enum style)i, ' ');
        pen.col += 2;
    }
    pen_add(&pen, STYLE_DIM, " %s tok/s", rate_text(text, range->high, 8));
}

void draw_matrix(const struct frame *f, const struct columns *c, int row, int rows, bool title,
                 bool legend)
{
    const struct plan *plan = &f->p->plan;
    int contexts = (int)plan->context_count, context, level;
    int shown = rows - 1 - title - legend;
    struct heat_range range = find_range(f->p);

    find_focus(f->p, &context, &level);
    if (title) {
        struct pen pen = {f->g, row++, f->left, f->left + f->width};
        pen_add(&pen, STYLE_STRONG, "Decode");
        pen_add(&pen, STYLE_DIM, "  total tok/s by context and number of streams");
    }
    draw_matrix_head(f, c, row++, level);
    if (shown > contexts)
        shown = contexts;
    int first = first_shown(contexts, shown, context);
    for (int i = 0; i < shown; i++, row++) {
        char text[NUM_TEXT_MAX];
        int at = first + i;
        canvas_text_right(f->g, row, f->left, c->label - 2,
                          at == context ? STYLE_STRONG : STYLE_DIM,
                          num_size_text(text, plan->contexts[at]));
        if ((i == 0 && first > 0) || (i == shown - 1 && first + shown < contexts))
            canvas_text(f->g, row, f->left, 1, STYLE_ACCENT, i == 0 && first > 0 ? "↑" : "↓");
        for (int j = 0; j < c->count; j++)
            draw_cell(f, c, row, cell_col(f, c, j), &f->p->cells[at][c->first + j], &range);
    }
    if (legend)
        draw_legend(f, c, row, &range);
}

/* ---- prefill ---- */

/* The newest of the rows that are measured: it must be on the screen. */
static int prefill_focus(const struct progress *p)
{
    int newest = 0;
    for (size_t i = 0; i < p->plan.prefill_count; i++)
        if (isfinite(p->prefill_tok_s[i]))
            newest = (int)i;
    return newest;
}

static void draw_prefill_line(const struct frame *f, int row)
{
    enum { WORD = 7, ITEM = 12 }; /* "  128K 12.3K" */
    const struct plan *plan = &f->p->plan;
    struct pen pen = {f->g, row, f->left, f->left + f->width};
    int count = (int)plan->prefill_count, fit = (f->width - WORD) / ITEM;
    int shown = count < fit ? count : fit;
    int first = first_shown(count, shown, prefill_focus(f->p));

    pen_add(&pen, STYLE_DIM, "Prefill");
    for (int i = first; i < first + shown; i++) {
        char size[NUM_TEXT_MAX], rate[NUM_TEXT_MAX];
        pen_add(&pen, STYLE_DIM, "  %s ", num_size_text(size, plan->prefill[i]));
        pen_add(&pen, STYLE_PLAIN, "%s", rate_text(rate, f->p->prefill_tok_s[i], 5));
    }
}

void draw_prefill(const struct frame *f, const struct columns *c, int row, int rows)
{
    static const char *const labels[] = {"Prefill", "tok/s", "TTFT ms"};
    const struct plan *plan = &f->p->plan;
    int count = (int)plan->prefill_count;
    int fit = (f->width - c->label) / c->cell;
    int shown = count < fit ? count : fit;
    int first = first_shown(count, shown, prefill_focus(f->p));

    if (rows < 3) {
        draw_prefill_line(f, row);
        return;
    }
    for (int i = 0; i < 3; i++)
        canvas_text(f->g, row + i, f->left, c->label - 1, i == 0 ? STYLE_STRONG : STYLE_DIM,
                    labels[i]);
    for (int i = 0; i < shown; i++) {
        char text[NUM_TEXT_MAX];
        int at = first + i, col = cell_col(f, c, i), room = tile_width(c) - 1;
        double rate = f->p->prefill_tok_s[at], ttft = f->p->prefill_ttft_ms[at];
        canvas_text_right(f->g, row, col, room, STYLE_DIM, num_size_text(text, plan->prefill[at]));
        canvas_text_right(f->g, row + 1, col, room, isfinite(rate) ? STYLE_PLAIN : STYLE_DIM,
                          isfinite(rate) ? rate_text(text, rate, room) : pending);
        canvas_text_right(f->g, row + 2, col, room, STYLE_DIM,
                          isfinite(ttft) ? rate_text(text, ttft, room) : pending);
    }
}
