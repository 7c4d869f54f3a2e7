/* svg.c - the card, and charts in files of their own. */
#include "report/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/version.h"
#include "report/headline.h"
#include "report/html.h"
#include "report/plain.h"
#include "report/views.h"
#include "report/words.h"

enum {
    WIDTH = 1200,
    MARGIN = 56,
    TABLE_TOP = 246,
    TABLE_BOTTOM = 560,
    HEAD_ROOM = 92, /* the column of contexts */
    MAX_ROWS = 7,
    MAX_COLUMNS = 9,
    STEPS = 9,
    TITLE_SIZE = 42,
    TITLE_LEAST = 26,
};

/* The light scale of page.css: a card is seen outside of its reader's colour scheme. */
static const struct {
    const char *fill, *ink;
} heat[STEPS] = {
    {"#f3f5d9", "#0b1715"}, {"#d3e7b0", "#0b1715"}, {"#a3d69b", "#0b1715"},
    {"#66c397", "#0b1715"}, {"#1fb09b", "#0b1715"}, {"#0a9ba0", "#0b1715"},
    {"#0b6f8e", "#ffffff"}, {"#1f5380", "#ffffff"}, {"#22386a", "#ffffff"},
};

/* The width of a letter that takes one column on a terminal, as a part of its size: the average of
   a text in the widest of the usual fonts. One that takes two columns is as wide as it is high. */
#define LETTER      0.56
#define BOLD_LETTER 0.72

struct card {
    struct html *h;
    const struct result *r;
    const struct lang *l;
    struct axes axes;
    size_t rows[MAX_ROWS], columns[MAX_COLUMNS]; /* indexes into the axes */
    size_t row_count, column_count;
    struct scale scale;
};

/* Evenly spread indexes of which the first and the last are those of the axis. */
static size_t thin_out(size_t count, size_t most, size_t *ret)
{
    size_t n = count < most ? count : most;
    for (size_t i = 0; i < n; i++)
        ret[i] = n > 1 ? (i * (count - 1) + (n - 1) / 2) / (n - 1) : 0;
    return n;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void begin_text(struct html *h, double x, double y, double size, const char *fill)
{
    html_raw(h, "<text");
    html_attr_number(h, "x", x);
    html_attr_number(h, "y", y);
    html_attr_number(h, "font-size", size);
    html_attr(h, "fill", fill);
}

/* The width of one character as a part of its size, `letter` being that of one column. */
static double character_width(const char *s, size_t len, double letter)
{
    size_t columns = text_width(s, len);
    return columns > 1 ? 1 : letter * (double)columns;
}

static double line_width(const char *s, double letter)
{
    double width = 0;
    for (size_t i = 0, n = strlen(s), len; i < n; i += len) {
        uint32_t cp;
        len = text_utf8_decode(s + i, n - i, &cp);
        width += character_width(s + i, len, letter);
    }
    return width;
}

/* What fits in `room`, a multiple of the letters' size; more ends in "…". */
static void fitted_text(struct html *h, const char *s, double room, double letter)
{
    struct buf cut;
    if (line_width(s, letter) <= room) {
        html_text(h, s);
        return;
    }
    buf_init(&cut, 8 * (size_t)PLAIN_MAX);
    room -= 1; /* the "…" */
    for (size_t i = 0, n = strlen(s); i < n;) {
        uint32_t cp;
        size_t len = text_utf8_decode(s + i, n - i, &cp);
        room -= character_width(s + i, len, letter);
        if (room < 0)
            break;
        buf_add(&cut, s + i, len);
        i += len;
    }
    buf_adds(&cut, "…");
    html_text(h, cut.p);
    buf_release(&cut);
}

static void line(const struct card *c, report_part_fn *add, double y, double size, const char *fill,
                 bool bold)
{
    double letter = bold ? BOLD_LETTER : LETTER;
    char *text;
    add(c->r, c->l, html_scratch(c->h));
    text = buf_detach(&c->h->scratch);
    begin_text(c->h, MARGIN, y, size, fill);
    if (bold)
        html_raw(c->h, " font-weight=\"700\"");
    html_raw(c->h, ">");
    fitted_text(c->h, text, (WIDTH - 2 * MARGIN) / size, letter);
    html_raw(c->h, "</text>\n");
    free(text);
}

/* The size at which the whole title fits, if it is not all too small. */
static double title_size(const struct card *c)
{
    headline_title(c->r, c->l, html_scratch(c->h));
    double size = (WIDTH - 2 * MARGIN) / fmax(line_width(c->h->scratch.p, BOLD_LETTER), 1);
    return fmin(fmax(floor(size), TITLE_LEAST), TITLE_SIZE);
}

/* ---- the matrix ------------------------------------------------------------------------------ */

struct place {
    double x, y, width, height;
};

static struct place place_of(const struct card *c, size_t row, size_t column)
{
    enum { GAP = 5 };
    double width = (double)(WIDTH - 2 * MARGIN - HEAD_ROOM) / (double)c->column_count;
    double height = fmin((double)(TABLE_BOTTOM - TABLE_TOP) / (double)c->row_count, 74);
    return (struct place){MARGIN + HEAD_ROOM + width * (double)column,
                          TABLE_TOP + height * (double)row, width - GAP, height - GAP};
}

static void write_cell(const struct card *c, const struct cell *cell, struct place at)
{
    bool figures = cell && status_has_numbers(cell->status) && !isnan(cell->total_tok_s);
    int step = figures ? scale_step(&c->scale, cell->total_tok_s, STEPS) : -1;
    const char *status = cell ? words_status(c->l, cell->status) : "";
    double size = fmin(at.height * 0.46, at.width / 5.2);
    char text[NUM_TEXT_MAX];
    html_raw(c->h, "<rect rx=\"7\"");
    html_attr_number(c->h, "x", at.x);
    html_attr_number(c->h, "y", at.y);
    html_attr_number(c->h, "width", at.width);
    html_attr_number(c->h, "height", at.height);
    html_attr(c->h, "fill", step < 0 ? "#eceae3" : heat[step].fill);
    html_raw(c->h, "/>");
    if (!cell)
        return;
    if (!figures)
        size = fmin(at.height * 0.3,
                    at.width / (LETTER * (double)text_width(status, strlen(status)) + 1));
    begin_text(c->h, at.x + at.width / 2, at.y + at.height / 2 + size * 0.36, size,
               step < 0 ? "#5d6663" : heat[step].ink);
    html_raw(c->h, " text-anchor=\"middle\"");
    if (figures)
        html_raw(c->h, " font-weight=\"600\"");
    html_raw(c->h, ">");
    if (figures)
        html_text(c->h, lang_rate(c->l, text, cell->total_tok_s));
    else
        html_text(c->h, status);
    if (figures && cell->status != STATUS_VALID)
        html_raw(c->h, "*");
    html_raw(c->h, "</text>\n");
}

static void write_heads(const struct card *c)
{
    static const char muted[] = "#4c5754";
    char text[NUM_TEXT_MAX];
    for (size_t k = 0; k < c->column_count; k++) {
        struct place at = place_of(c, 0, k);
        begin_text(c->h, at.x + at.width / 2, TABLE_TOP - 12, 20, muted);
        html_raw(c->h, " text-anchor=\"middle\">");
        html_text(c->h, lang_number(c->l, text, (double)c->axes.levels[c->columns[k]], 0));
        html_raw(c->h, "</text>");
    }
    for (size_t i = 0; i < c->row_count; i++) {
        struct place at = place_of(c, i, 0);
        begin_text(c->h, MARGIN + HEAD_ROOM - 18, at.y + at.height / 2 + 8, 22, muted);
        html_raw(c->h, " text-anchor=\"end\" font-weight=\"600\">");
        html_text(c->h, num_size_text(text, c->axes.contexts[c->rows[i]]));
        html_raw(c->h, "</text>\n");
    }
}

static void write_matrix(const struct card *c)
{
    begin_text(c->h, MARGIN, TABLE_TOP - 44, 20, "#4c5754");
    html_raw(c->h, ">");
    html_text(c->h, word(c->l, WORD_PHASE_DECODE));
    html_text(c->h, word(c->l, WORD_LIST_DOT));
    html_text(c->h, word(c->l, WORD_DECODE_BY));
    html_raw(c->h, "</text>\n");
    write_heads(c);
    for (size_t i = 0; i < c->row_count; i++)
        for (size_t k = 0; k < c->column_count; k++)
            write_cell(
                c,
                result_cell(c->r, c->axes.contexts[c->rows[i]], (int)c->axes.levels[c->columns[k]]),
                place_of(c, i, k));
}

/* ---- the card -------------------------------------------------------------------------------- */

static void add_foot(const struct result *r, const struct lang *l, struct buf *out)
{
    headline_by(r, l, out);
    if (result_count_status(r, STATUS_QUEUED)) {
        buf_adds(out, out->len ? word(l, WORD_LIST_DOT) : "");
        say_card_queued(l, out, .status = words_status(l, STATUS_QUEUED));
    }
}

static void begin_card(const struct card *c)
{
    html_raw(c->h, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1200\" height=\"630\" "
                   "viewBox=\"0 0 1200 630\" role=\"img\" aria-labelledby=\"card-title\" "
                   "font-family=\"system-ui, -apple-system, 'Segoe UI', 'Noto Sans', "
                   "'Noto Sans CJK SC', sans-serif\"");
    html_attr(c->h, "xml:lang", c->l->code);
    html_raw(c->h, "><title id=\"card-title\">");
    headline_title(c->r, c->l, html_scratch(c->h));
    html_text_scratch(c->h);
    html_raw(c->h, "</title>\n<rect width=\"1200\" height=\"630\" fill=\"#fbfaf6\"/>"
                   "<rect width=\"1200\" height=\"10\" fill=\"#0b6f8e\"/>\n");
}

static void write_warning(const struct card *c, const char *warning)
{
    begin_text(c->h, MARGIN, 44, 22, "#a3341c");
    html_raw(c->h, " font-weight=\"700\">");
    fitted_text(c->h, warning, (WIDTH - 2 * MARGIN) / 22.0, BOLD_LETTER);
    html_raw(c->h, "</text>\n");
}

bool svg_write_card(const struct result *r, const struct lang *l, const char *warning,
                    struct buf *out)
{
    struct html h;
    struct card c = {.h = &h, .r = r, .l = l ? l : langs[0]};
    html_init(&h, out);
    axes_of(r, &c.axes);
    c.row_count = thin_out(c.axes.context_count, MAX_ROWS, c.rows);
    c.column_count = thin_out(c.axes.level_count, MAX_COLUMNS, c.columns);
    c.scale = scale_of(&views[0], r);
    begin_card(&c);
    if (warning)
        write_warning(&c, warning);
    line(&c, headline_title, 84, title_size(&c), "#12211f", true);
    line(&c, headline_engine, 124, 24, "#0b5f74", true);
    line(&c, headline_grid, 158, 21, "#4c5754", false);
    if (c.row_count && c.column_count)
        write_matrix(&c);
    line(&c, add_foot, 600, 20, "#4c5754", false);
    html_raw(&h, "</svg>\n");
    html_release(&h);
    return !out->overflow;
}

bool svg_write_chart(const struct result *r, enum chart_kind kind, const struct lang *l,
                     struct buf *out)
{
    struct html h;
    struct chart *chart = mem_alloc(sizeof *chart);
    l = l ? l : langs[0];
    bool any = chart_of(kind, r, l, chart);
    if (any) {
        html_init(&h, out);
        chart_write(chart, l, true, &h);
        html_raw(&h, "\n");
        html_release(&h);
    }
    free(chart);
    return any && !out->overflow;
}
