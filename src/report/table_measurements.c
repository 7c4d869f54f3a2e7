/* table_measurements.c - one line per measurement with the twelve columns of the page, in the
 * widest of four layouts that fits. */
#include <stdlib.h>
#include <string.h>

#include "report/columns.h"
#include "report/grid.h"
#include "report/plain.h"
#include "report/table_lines.h"
#include "report/words.h"

enum head { HEAD_ONE_LINE, HEAD_WORDS, HEAD_UNITS }; /* whole name; a word per line; name, unit */

static const struct layout {
    enum head head;
    enum column_style style;
    size_t gap;
} layouts[] = {
    {HEAD_ONE_LINE, COLUMN_FULL, 2},
    {HEAD_WORDS, COLUMN_FULL, 2},
    {HEAD_WORDS, COLUMN_FULL, 1},
    {HEAD_UNITS, COLUMN_BRIEF, 1},
};

struct rows {
    struct measurement *all;
    size_t count;
};

/* Line `line` of `lines` of a heading, bottom-aligned: its words from the right. */
static void add_head(const struct column *c, const struct lang *l, enum head head, size_t line,
                     size_t lines, struct buf *out)
{
    if (head == HEAD_ONE_LINE) {
        buf_adds(out, column_name(c, l));
    } else if (head == HEAD_UNITS) {
        bool rate = strstr(c->key, "tok_s") != NULL;
        buf_adds(out, line == 0 ? column_brief(c, l) : rate ? "tok/s" : c->unit ? c->unit : "");
    } else {
        const char *p = column_name(c, l);
        size_t words = 1;
        for (const char *q = p; *q; q++)
            words += *q == ' ';
        size_t skip = lines - words; /* empty lines above */
        for (size_t i = skip; i < line; i++)
            p += strcspn(p, " ") + 1;
        if (line >= skip)
            buf_add(out, p, strcspn(p, " "));
    }
}

static size_t head_lines(enum head head)
{
    static const size_t lines[] = {[HEAD_ONE_LINE] = 1, [HEAD_WORDS] = 3, [HEAD_UNITS] = 2};
    return lines[head];
}

static void fill(const struct rows *rows, const struct layout *layout, const bool *left,
                 const struct table_options *o, struct grid *g)
{
    struct buf b;
    size_t lines = head_lines(layout->head);
    buf_init(&b, 8 * PLAIN_MAX);
    grid_init(g, COLUMNS_MAIN, layout->gap, left, o->ascii);
    for (size_t line = 0; line < lines; line++) {
        for (size_t c = 0; c < COLUMNS_MAIN; c++) {
            buf_reset(&b);
            add_head(&columns[c], o->lang, layout->head, line, lines, &b);
            grid_add(g, b.p, GRID_HEAD);
        }
    }
    for (size_t i = 0; i < rows->count; i++) {
        for (size_t c = 0; c < COLUMNS_MAIN; c++) {
            buf_reset(&b);
            bool any = column_add(&columns[c], &rows->all[i], layout->style, o->lang, &b);
            grid_add(g, any ? b.p : word(o->lang, WORD_FIGURE_NONE), any ? GRID_PLAIN : GRID_DIM);
        }
    }
    buf_release(&b);
}

/* For a terminal narrower than any table: a paragraph for each measurement, of what it has. */
static void add_paragraphs(const struct rows *rows, const struct table_options *o, struct buf *out)
{
    struct buf line, value;
    buf_init(&line, 8 * PLAIN_MAX);
    buf_init(&value, 8 * PLAIN_MAX);
    for (size_t i = 0; i < rows->count; i++) {
        buf_reset(&line);
        for (size_t c = 0; c < COLUMNS_MAIN; c++) {
            buf_reset(&value);
            if (column_add(&columns[c], &rows->all[i], COLUMN_FULL, o->lang, &value))
                buf_addf(&line, "%s%s %s", line.len ? word(o->lang, WORD_LIST_COMMA) : "",
                         column_name(&columns[c], o->lang), value.p);
        }
        lines_add(o, 0, line.p, out);
    }
    buf_release(&line);
    buf_release(&value);
}

static void draw(const struct rows *rows, const struct table_options *o, struct buf *out)
{
    bool left[COLUMNS_MAIN];
    size_t width = lines_width(o);
    for (size_t c = 0; c < COLUMNS_MAIN; c++)
        left[c] = column_is_text(&columns[c]);
    for (size_t i = 0; i < ARRAY_LEN(layouts); i++) {
        struct grid g;
        fill(rows, &layouts[i], left, o, &g);
        bool fits = !width || grid_width(&g) <= width;
        if (fits)
            grid_draw(&g, 0, o->colour, out);
        grid_release(&g);
        if (fits)
            return;
    }
    add_paragraphs(rows, o, out);
}

void table_measurements(const struct result *r, const struct table_options *o, struct buf *out)
{
    struct rows rows;
    rows.all = measurements_of(r, &rows.count);
    if (rows.count) {
        lines_heading(o, word(o->lang, WORD_MEASUREMENTS_TITLE), out);
        lines_add(o, 0, word(o->lang, WORD_MEASUREMENTS_BY), out);
        draw(&rows, o, out);
    }
    free(rows.all);
}
