/* draw.c - shares out the rows of the screen, then lets each part draw itself. */
#include "tui/draw.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "tui/draw_parts.h"

/* ---- helpers of all parts ---- */

void pen_add(struct pen *pen, enum style style, const char *format, ...)
{
    char text[PROGRESS_TEXT * 4];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pen->col += canvas_text(pen->g, pen->row, pen->col, pen->end - pen->col, style, text);
}

const char *rate_text(char *out, double rate, int room)
{
    static const struct {
        double divisor;
        int decimals;
        const char *unit;
    } forms[] = {{1, 1, ""},    {1, 0, ""},    {1e3, 1, "K"},
                 {1e3, 0, "K"}, {1e6, 1, "M"}, {1e6, 0, "M"}};

    if (!isfinite(rate) || rate < 0)
        return snprintf(out, NUM_TEXT_MAX, "–"), out;
    for (size_t i = rate < 999.95 ? 0 : 1; i < ARRAY_LEN(forms); i++) {
        char number[NUM_TEXT_MAX];
        num_grouped(number, rate / forms[i].divisor, forms[i].decimals);
        if (snprintf(out, NUM_TEXT_MAX, "%s%s", number, forms[i].unit) <= room)
            return out;
    }
    return snprintf(out, NUM_TEXT_MAX, "–"), out;
}

/* ---- small parts ---- */

static void draw_header(const struct frame *f, int row, int rows)
{
    const struct progress *p = f->p;
    const char *const facts[] = {p->engine, p->url, p->hardware};
    struct pen pen = {f->g, row, f->left, f->left + f->width};
    bool any = false;

    pen_add(&pen, STYLE_STRONG, "%s", p->model[0] ? p->model : "tokgrid");
    if (rows < 2) {
        if (p->engine[0])
            pen_add(&pen, STYLE_DIM, " · %s", p->engine);
        return;
    }
    if (p->model[0] && pen.end - pen.col >= 10)
        canvas_text_right(f->g, row, f->left, f->width, STYLE_DIM, "tokgrid");
    pen.row++;
    pen.col = f->left;
    for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
        if (!facts[i][0])
            continue;
        pen_add(&pen, STYLE_DIM, "%s%s", any ? " · " : "", facts[i]);
        any = true;
    }
}

/* "16K context × 8 streams", or what the phase has of it. */
static void where_text(char *out, size_t size, const struct progress *p, bool is_wide)
{
    char context[NUM_TEXT_MAX];
    num_size_text(context, p->context_tokens);
    if (p->phase == PHASE_PREFILL)
        snprintf(out, size, "%s%s", context, is_wide ? " context, cold" : "");
    else if (p->phase < PHASE_IDLE || p->phase == PHASE_DONE)
        out[0] = '\0';
    else if (is_wide)
        snprintf(out, size, "%s context × %d stream%s", context, p->concurrency,
                 p->concurrency == 1 ? "" : "s");
    else
        snprintf(out, size, "%s × %d", context, p->concurrency);
}

static void draw_bar(struct canvas *g, int row, int col, int width, double share)
{
    int full = (int)lround(share * width);
    canvas_fill(g, row, col, full, STYLE_ACCENT, 0x2501);
    canvas_fill(g, row, col + full, width - full, STYLE_DIM, 0x2500);
}

static double clamp_share(double share)
{
    return share > 1 ? 1 : share > 0 ? share : 0; /* NAN is 0 */
}

/* What happens now, where, and how far it is. The columns of each do not move from phase to phase.
 */
static void draw_phase(const struct frame *f, int row)
{
    enum { WORDS = 35, WHERE_WIDE = 28, WHERE = 13, TIME_WIDTH = 14, LEAST_BAR = 6, GOOD_BAR = 16 };
    const struct progress *p = f->p;
    bool is_wide = f->width >= WORDS + WHERE_WIDE + TIME_WIDTH + GOOD_BAR;
    bool is_narrow = f->width < WORDS + WHERE + TIME_WIDTH + LEAST_BAR;
    int words = is_narrow ? f->width - WHERE - TIME_WIDTH : WORDS;
    int where_width = is_wide ? WHERE_WIDE : WHERE;
    char where[64], text[NUM_TEXT_MAX], total[NUM_TEXT_MAX], time_text[2 * NUM_TEXT_MAX] = "";
    int64_t spent = f->now > p->phase_started_at ? f->now - p->phase_started_at : 0;

    canvas_textf(f->g, row, f->left, words - 1, STYLE_ACCENT, "● %s", phase_words(p->phase));
    where_text(where, sizeof where, p, is_wide);
    canvas_text(f->g, row, f->left + words, where_width - 1, STYLE_STRONG, where);
    if (p->phase == PHASE_DONE)
        return;
    spent -= spent % NS_PER_S;
    num_duration_text(text, spent);
    if (p->phase_length_ns > 0)
        snprintf(time_text, sizeof time_text, "%s of %s", text,
                 num_duration_text(total, p->phase_length_ns));
    else
        snprintf(time_text, sizeof time_text, "%s", text);
    int bar_col = f->left + words + where_width;
    int bar = f->left + f->width - TIME_WIDTH - bar_col;
    if (bar >= LEAST_BAR)
        draw_bar(f->g, row, bar_col, bar,
                 p->phase_length_ns > 0 ? clamp_share((double)(f->now - p->phase_started_at) /
                                                      (double)p->phase_length_ns)
                                        : 0);
    canvas_text_right(f->g, row, f->left + f->width - TIME_WIDTH + 1, TIME_WIDTH - 1, STYLE_PLAIN,
                      time_text);
}

static void draw_events(const struct frame *f, int row, int rows)
{
    int count = f->p->event_count;
    if (count > PROGRESS_EVENTS)
        count = PROGRESS_EVENTS;
    int shown = count < rows ? count : rows;
    for (int i = 0; i < shown; i++) {
        int event = count - shown + i;
        canvas_text(f->g, row + i, f->left, f->width, event == count - 1 ? STYLE_PLAIN : STYLE_DIM,
                    f->p->events[event]);
    }
}

static int count_done(const struct progress *p)
{
    int done = 0;
    for (size_t i = 0; i < p->plan.context_count; i++)
        for (size_t j = 0; j < p->plan.level_count; j++)
            done += p->cells[i][j].state == CELL_DONE;
    return done;
}

static int draw_keys(const struct frame *f, int row)
{
    static const char *const keys[][2] = {{"s", " skip  "}, {"q", " finish  "}, {"?", " help"}};
    enum { KEYS_WIDTH = 24, HELP_WIDTH = 6 };
    bool all = f->width >= 76;
    int width = all ? KEYS_WIDTH : HELP_WIDTH;
    struct pen pen = {f->g, row, f->left + f->width - width, f->left + f->width};
    for (size_t i = all ? 0 : 2; i < ARRAY_LEN(keys); i++) {
        pen_add(&pen, STYLE_STRONG, "%s", keys[i][0]);
        pen_add(&pen, STYLE_DIM, "%s", keys[i][1]);
    }
    return width;
}

static void draw_footer(const struct frame *f, int row)
{
    enum { BAR = 12 };
    const struct progress *p = f->p;
    char elapsed[NUM_TEXT_MAX], eta[NUM_TEXT_MAX];
    int done = count_done(p), total = (int)(p->plan.context_count * p->plan.level_count);
    int end = f->left + f->width - draw_keys(f, row) - 1;
    bool is_narrow = f->width < 76;
    struct pen pen = {f->g, row, f->left, end};
    int64_t spent = f->now > p->run_started_at ? f->now - p->run_started_at : 0;

    num_duration_text(elapsed, spent - spent % NS_PER_S);
    if (total > 0)
        pen_add(&pen, STYLE_PLAIN, is_narrow ? "%d/%d  " : "%d of %d cells  ", done, total);
    if (f->width >= 96 && total > 0) {
        draw_bar(f->g, row, pen.col, BAR, (double)done / total);
        pen.col += BAR + 2;
    }
    pen_add(&pen, STYLE_DIM, is_narrow ? "%s" : "%s elapsed", elapsed);
    if (p->eta_ns >= 0 && p->phase != PHASE_DONE) {
        num_duration_text(eta, p->eta_ns - p->eta_ns % NS_PER_S);
        pen_add(&pen, STYLE_DIM, is_narrow ? "  %s left" : "  about %s left", eta);
    }
}

/* ---- layout ---- */

enum block { HEADER, PHASE, SPEED, MATRIX, LEGEND, PREFILL, EVENTS, FOOTER, BLOCKS };

struct layout {
    int rows[BLOCKS];
    bool gap[BLOCKS]; /* a blank line above */
    bool title;       /* of the matrix */
};

/* Rows are granted in this order while there are any. `whole`: all of them or none. */
struct want {
    enum block block;
    enum { WANT_ROWS, WANT_CONTEXTS, WANT_GAP, WANT_TITLE } what;
    int rows; /* of contexts: at most */
    bool whole;
};

static const struct want wants[] = {
    {PHASE, WANT_ROWS, 1, true},
    {FOOTER, WANT_ROWS, 1, true},
    {MATRIX, WANT_ROWS, 2, true},
    {HEADER, WANT_ROWS, 1, true},
    {SPEED, WANT_ROWS, 1, true},
    {MATRIX, WANT_CONTEXTS, 7, false},
    {SPEED, WANT_ROWS, 1, true},
    {PREFILL, WANT_ROWS, 1, true},
    {EVENTS, WANT_ROWS, 1, true},
    {MATRIX, WANT_GAP, 1, true},
    {EVENTS, WANT_GAP, 1, true},
    {HEADER, WANT_ROWS, 1, true},
    {PREFILL, WANT_ROWS, 2, true},
    {PHASE, WANT_GAP, 1, true},
    {PREFILL, WANT_GAP, 1, true},
    {MATRIX, WANT_CONTEXTS, PLAN_MAX_CONTEXTS, false},
    {FOOTER, WANT_GAP, 1, true},
    {LEGEND, WANT_ROWS, 1, true},
    {MATRIX, WANT_TITLE, 1, true},
    {EVENTS, WANT_ROWS, 1, true},
    {SPEED, WANT_GAP, 1, true},
    {SPEED, WANT_ROWS, 2, true},
    {EVENTS, WANT_ROWS, PROGRESS_EVENTS - 2, false},
};

/* How many rows this wish comes to, given the contexts that have a row already. */
static int wanted_rows(const struct frame *f, const struct want *w, int granted_contexts)
{
    const struct plan *plan = &f->p->plan;
    bool has_prefill = plan->prefill_count > 0 && plan->prefill_mode != PREFILL_NONE;
    int missing = (int)plan->context_count - granted_contexts;

    if ((w->block == MATRIX || w->block == LEGEND) && plan->context_count == 0)
        return 0;
    if (w->block == LEGEND && f->g->mono)
        return 0;
    if (w->block == PREFILL && (!has_prefill || (w->rows > 1 && f->width < TABLE_COLS)))
        return 0;
    if (w->block == SPEED && w->rows > 1 && f->width < SPEED_TALL_COLS)
        return 0;
    if (w->what == WANT_CONTEXTS)
        return missing < w->rows ? missing : w->rows;
    return w->rows;
}

static struct layout lay_out(const struct frame *f)
{
    struct layout l = {0};
    int free_rows = f->g->rows;
    for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
        const struct want *w = &wants[i];
        int rows = wanted_rows(f, w, l.rows[MATRIX] - 1); /* one row is the head */
        if (rows > free_rows)
            rows = w->whole ? 0 : free_rows;
        if (rows <= 0)
            continue;
        free_rows -= rows;
        if (w->what == WANT_GAP)
            l.gap[w->block] = true;
        else
            l.rows[w->block] += rows;
        if (w->what == WANT_TITLE)
            l.title = true;
    }
    return l;
}

void draw_progress(struct canvas *g, const struct progress *p, int64_t now)
{
    int margin = g->cols >= 60 ? 1 : 0;
    struct frame f = {g, p, now, margin, g->cols - 2 * margin};
    struct layout l = lay_out(&f);
    struct columns columns = matrix_columns(&f);
    int at[BLOCKS], row = 0;

    canvas_clear(g);
    for (int b = 0; b < BLOCKS; b++) {
        row += l.gap[b];
        at[b] = row;
        row += l.rows[b];
    }
    if (l.rows[HEADER])
        draw_header(&f, at[HEADER], l.rows[HEADER]);
    if (l.rows[PHASE])
        draw_phase(&f, at[PHASE]);
    if (l.rows[SPEED])
        draw_speed(&f, at[SPEED], l.rows[SPEED]);
    if (l.rows[MATRIX])
        draw_matrix(&f, &columns, at[MATRIX], l.rows[MATRIX] + l.rows[LEGEND], l.title,
                    l.rows[LEGEND] > 0);
    if (l.rows[PREFILL])
        draw_prefill(&f, &columns, at[PREFILL], l.rows[PREFILL]);
    if (l.rows[EVENTS])
        draw_events(&f, at[EVENTS], l.rows[EVENTS]);
    if (l.rows[FOOTER])
        draw_footer(&f, g->rows - 1);
}

/* ---- help ---- */

static void draw_box(struct canvas *g, int row, int col, int rows, int cols)
{
    for (int i = 0; i < rows; i++) {
        bool first = i == 0, last = i == rows - 1;
        canvas_fill(g, row + i, col, cols, STYLE_DIM, first || last ? 0x2500 : ' ');
        canvas_fill(g, row + i, col, 1, STYLE_DIM, first ? 0x250C : last ? 0x2514 : 0x2502);
        canvas_fill(g, row + i, col + cols - 1, 1, STYLE_DIM,
                    first  ? 0x2510
                    : last ? 0x2518
                           : 0x2502);
    }
}

void draw_help(struct canvas *g)
{
    static const struct {
        const char *word;
        enum style style;
        const char *meaning;
    } lines[] = {
        {"s", STYLE_STRONG, "skip the running cell"},
        {"q", STYLE_STRONG, "finish, keep what is done"},
        {"Ctrl-L", STYLE_STRONG, "draw the screen again"},
        {"?", STYLE_STRONG, "close this help"},
        {"queued", STYLE_QUEUED, "some requests had to wait"},
        {"over cap", STYLE_OVER_CAPACITY, "needs more KV cache"},
        {"looped", STYLE_LOOPED, "the model repeated itself"},
        {"error", STYLE_ERROR, "a request failed"},
        {"skipped", STYLE_SKIPPED, "left out"},
        {"123.4*", STYLE_PLAIN, "with a remark in the result"},
    };
    enum { WORD = 9, INNER = 38 };
    int rows = (int)ARRAY_LEN(lines) + 2, cols = INNER + 4;
    if (cols > g->cols)
        cols = g->cols;
    int row = g->rows > rows ? (g->rows - rows) / 2 : 0, col = (g->cols - cols) / 2;

    draw_box(g, row, col, rows, cols);
    canvas_text(g, row, col + 2, cols - 4, STYLE_STRONG, " Keys and words ");
    for (int i = 0; i < (int)ARRAY_LEN(lines); i++) {
        canvas_text(g, row + 1 + i, col + 2, cols - 4, lines[i].style, lines[i].word);
        canvas_text(g, row + 1 + i, col + 2 + WORD, cols - 4 - WORD, STYLE_PLAIN, lines[i].meaning);
    }
}
