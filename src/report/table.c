/* table.c - the parts of a result in the order of the page, except the table of measurements. */
#include "report/table.h"

#include <math.h>
#include <string.h>

#include "report/columns.h"
#include "report/grid.h"
#include "report/headline.h"
#include "report/insights.h"
#include "report/plain.h"
#include "report/setup.h"
#include "report/table_lines.h"
#include "report/words.h"

enum { INDENT = 2, GAP = 2 };

/* Room for every string of the largest document, so that only `out` can be too small. */
static void scratch_init(struct buf *b)
{
    buf_init(b, 8 * (size_t)RESULT_MAX_BYTES);
}

/* A grid where it fits, else its content as lines. */
static void grid_or_lines(const struct table_options *o, const struct grid *g, const char *lines,
                          struct buf *out)
{
    size_t width = lines_width(o);
    if (!width || grid_width(g) + INDENT <= width)
        grid_draw(g, INDENT, o->colour, out);
    else
        lines_add_all(o, INDENT, lines, out);
}

static void table_headline(const struct result *r, const struct table_options *o, struct buf *out)
{
    static report_part_fn *const lines[] = {headline_title, headline_engine, headline_grid,
                                            headline_by, headline_simulated};
    struct buf b;
    scratch_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        buf_reset(&b);
        lines[i](r, o->lang, &b);
        if (i == 0)
            lines_heading(o, b.p, out);
        else if (b.len)
            lines_add(o, 0, b.p, out);
    }
    buf_release(&b);
}

/* Labels in a column where there is room for values beside them, else "label: value" wrapped. */
static void add_block(const struct result *r, const struct table_options *o,
                      const struct setup_block *block, struct buf *out)
{
    static const bool left[] = {true, true};
    struct grid g;
    struct buf value, lines;
    grid_init(&g, 2, GAP, left, o->ascii);
    scratch_init(&value);
    scratch_init(&lines);
    for (size_t i = 0; i < block->count; i++) {
        buf_reset(&value);
        block->rows[i].add(r, o->lang, &value);
        if (!value.len)
            continue;
        const char *label = word(o->lang, block->rows[i].label);
        grid_add(&g, label, GRID_PLAIN);
        grid_add(&g, value.p, GRID_PLAIN);
        say_line_labelled(o->lang, &lines, .label = label, .text = value.p);
        buf_addc(&lines, '\n');
    }
    if (lines.len) {
        lines_heading(o, word(o->lang, block->title), out);
        grid_or_lines(o, &g, lines.p, out);
    }
    grid_release(&g);
    buf_release(&value);
    buf_release(&lines);
}

static void add_launch_command(const struct result *r, const struct table_options *o,
                               struct buf *out)
{
    struct buf command;
    scratch_init(&command);
    plain_add_command(&command, r->engine.launch_command);
    lines_heading(o, word(o->lang, WORD_SETUP_LAUNCH_COMMAND), out);
    lines_add_command(o, INDENT, command.p, out);
    buf_release(&command);
}

void table_setup(const struct result *r, const struct table_options *o, struct buf *out)
{
    struct buf block;
    bool first = true;
    scratch_init(&block);
    for (size_t i = 0; i <= SETUP_BLOCKS; i++) {
        buf_reset(&block);
        if (i < SETUP_BLOCKS)
            add_block(r, o, &setup_blocks[i], &block);
        else if (r->engine.launch_command)
            add_launch_command(r, o, &block);
        if (!block.len)
            continue;
        buf_addf(out, "%s%s", first ? "" : "\n", block.p);
        first = false;
    }
    buf_release(&block);
}

static const char *star(unsigned marks)
{
    return marks ? "*" : "";
}

/* One row of the strip: three cells of the grid, or one line. */
static void add_prefill_row(const struct prefill_row *row, const struct lang *l, struct grid *g,
                            struct buf *lines)
{
    bool figures = status_has_numbers(row->status) && !isnan(row->total_tok_s);
    char text[NUM_TEXT_MAX];
    struct buf name, rate, ttft;
    buf_init(&name, 256);
    buf_init(&rate, 256);
    buf_init(&ttft, 256);
    say_prefill_context(l, &name, .context = num_size_text(text, row->context_tokens));
    if (figures)
        buf_adds(&rate, lang_rate(l, text, row->total_tok_s));
    else
        buf_adds(&rate, words_status(l, row->status));
    buf_adds(&rate, star(row->marks));
    if (figures && !isnan(row->ttft_ms.p50))
        say_cell_ttft(l, &ttft, .ms = lang_number(l, text, row->ttft_ms.p50, 0));
    grid_add(g, name.p, GRID_PLAIN);
    grid_add(g, rate.p, GRID_HEAD);
    grid_add(g, ttft.p, GRID_PLAIN);
    if (ttft.len)
        buf_addf(&rate, "%s%s", word(l, WORD_LIST_COMMA), ttft.p);
    say_line_labelled(l, lines, .label = name.p, .text = rate.p);
    buf_addc(lines, '\n');
    buf_release(&name);
    buf_release(&rate);
    buf_release(&ttft);
}

static void table_prefill(const struct result *r, const struct table_options *o, struct buf *out)
{
    struct axes axes;
    struct grid g;
    struct buf lines;
    axes_of(r, &axes);
    if (axes.prefill_count == 0)
        return;
    grid_init(&g, 3, GAP, NULL, o->ascii);
    scratch_init(&lines);
    for (size_t i = 0; i < axes.prefill_count; i++)
        add_prefill_row(result_prefill(r, axes.prefill[i]), o->lang, &g, &lines);
    lines_heading(o, word(o->lang, WORD_PHASE_PREFILL), out);
    lines_add(o, 0, word(o->lang, WORD_PREFILL_BY), out);
    grid_or_lines(o, &g, lines.p, out);
    grid_release(&g);
    buf_release(&lines);
}

static void table_insights(const struct result *r, const struct table_options *o, struct buf *out)
{
    struct buf b;
    scratch_init(&b);
    insights_add(r, o->lang, &b);
    if (b.len) {
        lines_heading(o, word(o->lang, WORD_INSIGHT_TITLE), out);
        lines_add_all(o, 0, b.p, out);
    }
    buf_release(&b);
}

static void table_remarks(const struct result *r, const struct table_options *o, struct buf *out)
{
    static report_part_fn *const remarks[] = {remarks_sources, remarks_reasons, remarks_outcomes,
                                              remarks_notes};
    struct buf b;
    scratch_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(remarks); i++)
        remarks[i](r, o->lang, &b);
    lines_add_all(o, 0, b.p, out);
    buf_release(&b);
}

bool table_write(const struct result *r, const struct table_options *o, struct buf *out)
{
    static void (*const parts[])(const struct result *r, const struct table_options *o,
                                 struct buf *out) = {
        table_headline, table_setup,        table_prefill, table_matrix,
        table_insights, table_measurements, table_remarks,
    };
    struct buf part;
    bool first = true, fits = true;
    buf_init(&part, out->max);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        buf_reset(&part);
        parts[i](r, o, &part);
        fits &= !part.overflow;
        if (!part.len)
            continue;
        buf_adds(out, first ? "" : "\n");
        buf_add(out, part.p, part.len);
        first = false;
    }
    buf_release(&part);
    return fits && !out->overflow;
}
