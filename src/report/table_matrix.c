/* table_matrix.c - contexts x concurrency, as one grid or, where that is too wide, several. */
#include <math.h>

#include "report/columns.h"
#include "report/grid.h"
#include "report/headline.h"
#include "report/table_lines.h"
#include "report/views.h"
#include "report/words.h"

enum { INDENT = 2 };

/* The layouts, widest first; the last one is cut into blocks of levels. */
static const struct layout {
    bool brief; /* "over cap" and "30 ms" instead of "Over capacity" and "30 ms TTFT" */
    size_t gap;
} layouts[] = {{false, 2}, {true, 2}, {true, 1}};

struct matrix {
    const struct result *r;
    const struct table_options *o;
    struct axes axes;
    struct scale scale; /* of total_tok_s */
    bool starred;
};

static bool has_total(const struct cell *c)
{
    return c && status_has_numbers(c->status) && !isnan(c->total_tok_s);
}

static void scan(struct matrix *m)
{
    m->scale = scale_of(&views[0], m->r);
    for (size_t i = 0; i < m->r->decode_count; i++)
        m->starred |= m->r->decode[i].marks != 0;
}

static int heat(const struct matrix *m, const struct cell *c)
{
    int step = has_total(c) ? scale_step(&m->scale, c->total_tok_s, GRID_HEAT_STEPS) : -1;
    return step < 0 ? GRID_DIM : GRID_HEAT + step;
}

/* The lines of a row of the matrix. */
static void add_total(const struct cell *c, const struct lang *l, bool brief, struct buf *out)
{
    char text[NUM_TEXT_MAX];
    if (!c)
        return;
    if (has_total(c))
        buf_adds(out, lang_rate(l, text, c->total_tok_s));
    else
        buf_adds(out, brief ? words_status_brief(l, c->status) : words_status(l, c->status));
    buf_adds(out, c->marks ? "*" : "");
}

static void add_status(const struct cell *c, const struct lang *l, bool brief, struct buf *out)
{
    if (has_total(c) && c->status != STATUS_VALID)
        buf_adds(out, brief ? words_status_brief(l, c->status) : words_status(l, c->status));
}

static void add_ttft(const struct cell *c, const struct lang *l, bool brief, struct buf *out)
{
    char text[NUM_TEXT_MAX];
    if (!has_total(c) || isnan(c->ttft_ms.p50))
        return;
    lang_number(l, text, c->ttft_ms.p50, 0);
    if (brief)
        buf_addf(out, "%s ms", text);
    else
        say_cell_ttft(l, out, .ms = text);
}

static void (*const row_lines[])(const struct cell *c, const struct lang *l, bool brief,
                                 struct buf *out) = {add_total, add_status, add_ttft};

static bool row_has_line(const struct matrix *m, size_t context, size_t line, size_t from,
                         size_t to)
{
    struct buf b;
    bool any = line == 0;
    buf_init(&b, 256);
    for (size_t k = from; k < to && !any; k++) {
        row_lines[line](result_cell(m->r, m->axes.contexts[context], (int)m->axes.levels[k]),
                        m->o->lang, true, &b);
        any = b.len > 0;
    }
    buf_release(&b);
    return any;
}

static void add_row(const struct matrix *m, const struct layout *layout, size_t context,
                    size_t from, size_t to, struct grid *g)
{
    struct buf b;
    char text[NUM_TEXT_MAX];
    buf_init(&b, 256);
    for (size_t line = 0; line < ARRAY_LEN(row_lines); line++) {
        if (!row_has_line(m, context, line, from, to))
            continue;
        grid_add(g, line == 0 ? num_size_text(text, m->axes.contexts[context]) : "", GRID_HEAD);
        for (size_t k = from; k < to; k++) {
            const struct cell *c =
                result_cell(m->r, m->axes.contexts[context], (int)m->axes.levels[k]);
            buf_reset(&b);
            row_lines[line](c, m->o->lang, layout->brief, &b);
            grid_add(g, b.p, line == 0 && c ? heat(m, c) : GRID_DIM);
        }
    }
    buf_release(&b);
}

static void fill(const struct matrix *m, const struct layout *layout, size_t from, size_t to,
                 struct grid *g)
{
    char text[NUM_TEXT_MAX];
    grid_init(g, 1 + to - from, layout->gap, NULL, m->o->ascii);
    grid_add(g, word(m->o->lang, layout->brief ? WORD_BRIEF_CONTEXT : WORD_COLUMN_CONTEXT),
             GRID_HEAD);
    for (size_t k = from; k < to; k++)
        grid_add(g, num_size_text(text, m->axes.levels[k]), GRID_HEAD);
    for (size_t c = 0; c < m->axes.context_count; c++)
        add_row(m, layout, c, from, to, g);
}

/* Draws the levels [from, to) if they fit, or anyway. */
static bool try_draw(const struct matrix *m, const struct layout *layout, size_t from, size_t to,
                     size_t indent, bool anyway, struct buf *out)
{
    struct grid g;
    size_t width = lines_width(m->o);
    fill(m, layout, from, to, &g);
    bool fits = !width || grid_width(&g) + indent <= width || anyway;
    if (fits)
        grid_draw(&g, indent, m->o->colour, out);
    grid_release(&g);
    return fits;
}

static void draw(const struct matrix *m, struct buf *out)
{
    const struct layout *narrowest = &layouts[ARRAY_LEN(layouts) - 1];
    size_t count = m->axes.level_count;
    for (size_t i = 0; i < ARRAY_LEN(layouts); i++)
        if (try_draw(m, &layouts[i], 0, count, INDENT, false, out))
            return;
    for (size_t from = 0, to; from < count; from = to) {
        buf_adds(out, from ? "\n" : "");
        for (to = count; !try_draw(m, narrowest, from, to, 0, to == from + 1, out);)
            to--;
    }
}

void table_matrix(const struct result *r, const struct table_options *o, struct buf *out)
{
    struct matrix m = {.r = r, .o = o};
    struct buf legends;
    if (r->decode_count == 0)
        return;
    axes_of(r, &m.axes);
    scan(&m);
    lines_heading(o, word(o->lang, WORD_PHASE_DECODE), out);
    lines_add(o, 0, word(o->lang, WORD_DECODE_BY), out);
    draw(&m, out);
    buf_init(&legends, RESULT_MAX_BYTES);
    remarks_legends(r, o->lang, &legends);
    if (m.starred)
        lines_add(o, 0, word(o->lang, WORD_MARK_STARRED), out);
    lines_add_all(o, 0, legends.p, out);
    buf_release(&legends);
}
