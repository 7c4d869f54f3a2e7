/* markdown.c - the same parts as the terminal's table, as Markdown. */
#include "report/markdown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "report/columns.h"
#include "report/headline.h"
#include "report/insights.h"
#include "report/plain.h"
#include "report/setup.h"
#include "report/words.h"

void markdown_text(const char *s, struct buf *out)
{
    static const struct {
        char c;
        const char *instead;
    } special[] = {
        {'<', "&lt;"},
        {'>', "&gt;"},
        {'&', "&amp;"},
        /* an empty comment keeps @name and #1 from being resolved; it is not shown */
        {'@', "@<!-- -->"},
        {'#', "#<!-- -->"},
    };
    for (const char *p = s; *p; p++) {
        const char *instead = NULL;
        for (size_t i = 0; i < ARRAY_LEN(special); i++)
            if (special[i].c == *p)
                instead = special[i].instead;
        bool link = (*p == ':' && p[1] == '/') ||
                    (*p == '.' && p - s >= 3 && strncasecmp(p - 3, "www", 3) == 0);
        if (instead)
            buf_adds(out, instead);
        else if (link || strchr("\\`*_[]|~!$", *p))
            buf_addf(out, "\\%c", *p);
        else
            buf_addc(out, *p);
    }
}

static void scratch_init(struct buf *b)
{
    buf_init(b, 8 * (size_t)RESULT_MAX_BYTES);
}

/* Each line of plain text as a line of its own, with something before and after. */
static void add_lines(const char *text, const char *before, const char *after, struct buf *out)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        char *line = mem_strndup(text, n);
        buf_adds(out, before);
        markdown_text(line, out);
        buf_addf(out, "%s\n", after);
        free(line);
        text += n + (text[n] == '\n');
    }
}

static void add_headline(const struct result *r, const struct lang *l, struct buf *out)
{
    static report_part_fn *const lines[] = {headline_title, headline_engine, headline_grid,
                                            headline_by, headline_simulated};
    struct buf b;
    scratch_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        buf_reset(&b);
        lines[i](r, l, &b);
        if (b.len)
            add_lines(b.p, i == 0 ? "### " : "", i == 0 ? "\n" : "<br>", out);
    }
    buf_addc(out, '\n');
    buf_release(&b);
}

static void add_prefill(const struct result *r, const struct lang *l, struct buf *out)
{
    struct axes axes;
    char text[NUM_TEXT_MAX];
    axes_of(r, &axes);
    if (axes.prefill_count == 0)
        return;
    buf_addf(out, "**%s**%s%s\n\n| %s | tok/s | %s |\n|---:|---:|---:|\n",
             word(l, WORD_PHASE_PREFILL), word(l, WORD_LIST_DOT), word(l, WORD_PREFILL_BY),
             word(l, WORD_COLUMN_CONTEXT), word(l, WORD_COLUMN_TTFT));
    for (size_t i = 0; i < axes.prefill_count; i++) {
        const struct prefill_row *row = result_prefill(r, axes.prefill[i]);
        bool figures = status_has_numbers(row->status) && !isnan(row->total_tok_s);
        buf_addf(out, "| %s | ", num_size_text(text, axes.prefill[i]));
        if (figures)
            buf_adds(out, lang_rate(l, text, row->total_tok_s));
        else
            buf_adds(out, words_status(l, row->status));
        buf_adds(out, row->marks ? "\\* | " : " | ");
        if (figures && !isnan(row->ttft_ms.p50))
            buf_addf(out, "%s ms", lang_number(l, text, row->ttft_ms.p50, 0));
        buf_adds(out, " |\n");
    }
    buf_addc(out, '\n');
}

static void add_cell(const struct cell *c, const struct lang *l, struct buf *out)
{
    char text[NUM_TEXT_MAX];
    if (!c)
        return;
    const char *star = c->marks ? "\\*" : "";
    if (!status_has_numbers(c->status) || isnan(c->total_tok_s)) {
        buf_addf(out, "%s%s", words_status(l, c->status), star);
        return;
    }
    buf_adds(out, "**");
    buf_adds(out, lang_rate(l, text, c->total_tok_s));
    buf_addf(out, "**%s", star);
    if (c->status != STATUS_VALID)
        buf_addf(out, "<br>%s", words_status(l, c->status));
    if (!isnan(c->ttft_ms.p50)) {
        buf_adds(out, "<br>");
        say_cell_ttft(l, out, .ms = lang_number(l, text, c->ttft_ms.p50, 0));
    }
}

static void add_matrix(const struct result *r, const struct lang *l, struct buf *out)
{
    struct axes axes;
    struct buf legends;
    char text[NUM_TEXT_MAX];
    unsigned marks = 0;
    if (r->decode_count == 0)
        return;
    axes_of(r, &axes);
    buf_addf(out, "**%s**%s%s\n\n| %s |", word(l, WORD_PHASE_DECODE), word(l, WORD_LIST_DOT),
             word(l, WORD_DECODE_BY), word(l, WORD_COLUMN_CONTEXT));
    for (size_t k = 0; k < axes.level_count; k++)
        buf_addf(out, " %lld |", (long long)axes.levels[k]);
    buf_adds(out, "\n|---:|");
    for (size_t k = 0; k < axes.level_count; k++)
        buf_adds(out, "---:|");
    buf_addc(out, '\n');
    for (size_t i = 0; i < axes.context_count; i++) {
        buf_addf(out, "| %s |", num_size_text(text, axes.contexts[i]));
        for (size_t k = 0; k < axes.level_count; k++) {
            buf_addc(out, ' ');
            add_cell(result_cell(r, axes.contexts[i], (int)axes.levels[k]), l, out);
            buf_adds(out, " |");
        }
        buf_addc(out, '\n');
    }
    for (size_t i = 0; i < r->decode_count; i++)
        marks |= r->decode[i].marks;
    buf_addc(out, '\n');
    if (marks)
        add_lines(word(l, WORD_MARK_STARRED), "", "<br>", out);
    scratch_init(&legends);
    remarks_legends(r, l, &legends);
    add_lines(legends.p, "", "<br>", out);
    buf_release(&legends);
    buf_addc(out, '\n');
}

static void add_insights(const struct result *r, const struct lang *l, struct buf *out)
{
    struct buf b;
    scratch_init(&b);
    insights_add(r, l, &b);
    if (b.len) {
        buf_addf(out, "**%s**\n\n", word(l, WORD_INSIGHT_TITLE));
        add_lines(b.p, "- ", "", out);
        buf_addc(out, '\n');
    }
    buf_release(&b);
}

static void begin_details(struct buf *out, const char *summary)
{
    buf_addf(out, "<details><summary>%s</summary>\n\n", summary);
}

static void end_details(struct buf *out)
{
    buf_adds(out, "\n</details>\n\n");
}

static void add_measurement(const struct measurement *m, const struct lang *l, struct buf *out)
{
    struct buf value;
    scratch_init(&value);
    buf_addc(out, '|');
    for (size_t c = 0; c < COLUMNS_MAIN; c++) {
        buf_reset(&value);
        buf_addc(out, ' ');
        bool any = column_add(&columns[c], m, COLUMN_FULL, l, &value);
        markdown_text(any ? value.p : word(l, WORD_FIGURE_NONE), out);
        buf_adds(out, " |");
    }
    buf_addc(out, '\n');
    buf_release(&value);
}

static void add_measurements(const struct result *r, const struct lang *l, struct buf *out)
{
    size_t count;
    struct measurement *all = measurements_of(r, &count);
    if (count) {
        begin_details(out, word(l, WORD_MEASUREMENTS_TITLE));
        buf_addf(out, "%s\n\n|", word(l, WORD_MEASUREMENTS_BY));
        for (size_t c = 0; c < COLUMNS_MAIN; c++)
            buf_addf(out, " %s |", column_name(&columns[c], l));
        buf_adds(out, "\n|");
        for (size_t c = 0; c < COLUMNS_MAIN; c++)
            buf_adds(out, column_is_text(&columns[c]) ? ":---|" : "---:|");
        buf_addc(out, '\n');
        for (size_t i = 0; i < count; i++)
            add_measurement(&all[i], l, out);
        end_details(out);
    }
    free(all);
}

/* A fence longer than any run of backticks within. */
static void add_code(const char *code, struct buf *out)
{
    size_t longest = 2, run = 0;
    for (const char *p = code; *p; p++) {
        run = *p == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    buf_add_repeat(out, '`', longest + 1);
    buf_addf(out, "sh\n%s\n", code);
    buf_add_repeat(out, '`', longest + 1);
    buf_addc(out, '\n');
}

static void add_setup(const struct result *r, const struct lang *l, struct buf *out)
{
    struct buf b;
    scratch_init(&b);
    begin_details(out, word(l, WORD_SETUP_TITLE));
    for (size_t i = 0; i < SETUP_BLOCKS; i++) {
        buf_addf(out, "**%s**\n\n", word(l, setup_blocks[i].title));
        for (size_t k = 0; k < setup_blocks[i].count; k++) {
            buf_reset(&b);
            setup_blocks[i].rows[k].add(r, l, &b);
            if (!b.len)
                continue;
            buf_addf(out, "- %s%s", word(l, setup_blocks[i].rows[k].label),
                     word(l, WORD_LIST_COLON));
            markdown_text(b.p, out);
            buf_addc(out, '\n');
        }
        buf_addc(out, '\n');
    }
    if (r->engine.launch_command) {
        buf_reset(&b);
        plain_add_command(&b, r->engine.launch_command);
        buf_addf(out, "**%s**\n\n", word(l, WORD_SETUP_LAUNCH_COMMAND));
        add_code(b.p, out);
    }
    end_details(out);
    buf_release(&b);
}

static void add_remarks(const struct result *r, const struct lang *l, struct buf *out)
{
    struct buf b;
    scratch_init(&b);
    remarks_sources(r, l, &b);
    remarks_reasons(r, l, &b);
    remarks_outcomes(r, l, &b);
    remarks_notes(r, l, &b);
    add_lines(b.p, "- ", "", out);
    buf_release(&b);
}

bool markdown_write(const struct result *r, const struct lang *l, struct buf *out)
{
    add_headline(r, l, out);
    add_prefill(r, l, out);
    add_matrix(r, l, out);
    add_insights(r, l, out);
    add_measurements(r, l, out);
    add_setup(r, l, out);
    add_remarks(r, l, out);
    return !out->overflow;
}
