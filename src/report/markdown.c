/* markdown.c - the same parts as the terminal's table, as Markdown. */
#include "report/markdown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "report/columns.h"
#include "report/headline.h"
#include "report/plain.h"
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

static void add_headline(const struct result *r, struct buf *out)
{
    static void (*const lines[])(const struct result *r, struct buf *out) = {
        headline_title, headline_engine, headline_grid, headline_by};
    struct buf b;
    scratch_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        buf_reset(&b);
        lines[i](r, &b);
        if (b.len)
            add_lines(b.p, i == 0 ? "### " : "", i == 0 ? "\n" : "<br>", out);
    }
    buf_addc(out, '\n');
    buf_release(&b);
}

static void add_prefill(const struct result *r, struct buf *out)
{
    struct axes axes;
    char text[NUM_TEXT_MAX];
    axes_of(r, &axes);
    if (axes.prefill_count == 0)
        return;
    buf_addf(out, "**%s**, %s\n\n| Context | tok/s | TTFT |\n|---:|---:|---:|\n", words_prefill,
             words_prefill_by);
    for (size_t i = 0; i < axes.prefill_count; i++) {
        const struct prefill_row *row = result_prefill(r, axes.prefill[i]);
        bool figures = status_has_numbers(row->status) && !isnan(row->total_tok_s);
        buf_addf(out, "| %s | ", num_size_text(text, axes.prefill[i]));
        if (figures)
            rate_add(out, row->total_tok_s);
        else
            buf_adds(out, status_label(row->status));
        buf_adds(out, row->marks ? "\\* | " : " | ");
        if (figures && !isnan(row->ttft_ms.p50))
            buf_addf(out, "%s ms", num_grouped(text, row->ttft_ms.p50, 0));
        buf_adds(out, " |\n");
    }
    buf_addc(out, '\n');
}

static void add_cell(const struct cell *c, struct buf *out)
{
    char text[NUM_TEXT_MAX];
    if (!c)
        return;
    const char *star = c->marks ? "\\*" : "";
    if (!status_has_numbers(c->status) || isnan(c->total_tok_s)) {
        buf_addf(out, "%s%s", status_label(c->status), star);
        return;
    }
    buf_adds(out, "**");
    rate_add(out, c->total_tok_s);
    buf_addf(out, "**%s", star);
    if (c->status != STATUS_VALID)
        buf_addf(out, "<br>%s", status_label(c->status));
    if (!isnan(c->ttft_ms.p50))
        buf_addf(out, "<br>%s ms TTFT", num_grouped(text, c->ttft_ms.p50, 0));
}

static void add_matrix(const struct result *r, struct buf *out)
{
    struct axes axes;
    struct buf legends;
    char text[NUM_TEXT_MAX];
    unsigned marks = 0;
    if (r->decode_count == 0)
        return;
    axes_of(r, &axes);
    buf_addf(out, "**%s**, %s\n\n| Context |", words_decode, words_decode_by);
    for (size_t l = 0; l < axes.level_count; l++)
        buf_addf(out, " %lld |", (long long)axes.levels[l]);
    buf_adds(out, "\n|---:|");
    for (size_t l = 0; l < axes.level_count; l++)
        buf_adds(out, "---:|");
    buf_addc(out, '\n');
    for (size_t i = 0; i < axes.context_count; i++) {
        buf_addf(out, "| %s |", num_size_text(text, axes.contexts[i]));
        for (size_t l = 0; l < axes.level_count; l++) {
            buf_addc(out, ' ');
            add_cell(result_cell(r, axes.contexts[i], (int)axes.levels[l]), out);
            buf_adds(out, " |");
        }
        buf_addc(out, '\n');
    }
    for (size_t i = 0; i < r->decode_count; i++)
        marks |= r->decode[i].marks;
    buf_addc(out, '\n');
    if (marks)
        add_lines(words_starred, "", "<br>", out);
    scratch_init(&legends);
    remarks_legends(r, &legends);
    add_lines(legends.p, "", "<br>", out);
    buf_release(&legends);
    buf_addc(out, '\n');
}

static void begin_details(struct buf *out, const char *summary)
{
    buf_addf(out, "<details><summary>%s</summary>\n\n", summary);
}

static void end_details(struct buf *out)
{
    buf_adds(out, "\n</details>\n\n");
}

static void add_measurement(const struct measurement *m, struct buf *out)
{
    struct buf value;
    scratch_init(&value);
    buf_addc(out, '|');
    for (size_t c = 0; c < COLUMNS_MAIN; c++) {
        buf_reset(&value);
        buf_addc(out, ' ');
        markdown_text(column_add(&columns[c], m, COLUMN_FULL, &value) ? value.p : words_none, out);
        buf_adds(out, " |");
    }
    buf_addc(out, '\n');
    buf_release(&value);
}

static void add_measurements(const struct result *r, struct buf *out)
{
    size_t count;
    struct measurement *all = measurements_of(r, &count);
    if (count) {
        begin_details(out, "All measurements");
        buf_addf(out, "%s\n\n|", words_medians);
        for (size_t c = 0; c < COLUMNS_MAIN; c++)
            buf_addf(out, " %s |", columns[c].name);
        buf_adds(out, "\n|");
        for (size_t c = 0; c < COLUMNS_MAIN; c++)
            buf_adds(out, column_is_text(&columns[c]) ? ":---|" : "---:|");
        buf_addc(out, '\n');
        for (size_t i = 0; i < count; i++)
            add_measurement(&all[i], out);
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

static void add_setup(const struct result *r, struct buf *out)
{
    struct buf b;
    scratch_init(&b);
    begin_details(out, "Setup");
    for (size_t i = 0; i < SETUP_BLOCKS; i++) {
        buf_addf(out, "**%s**\n\n", setup_blocks[i].title);
        for (size_t k = 0; k < setup_blocks[i].count; k++) {
            buf_reset(&b);
            setup_blocks[i].rows[k].add(r, &b);
            if (!b.len)
                continue;
            buf_addf(out, "- %s: ", setup_blocks[i].rows[k].label);
            markdown_text(b.p, out);
            buf_addc(out, '\n');
        }
        buf_addc(out, '\n');
    }
    if (r->engine.launch_command) {
        buf_reset(&b);
        plain_add_command(&b, r->engine.launch_command);
        buf_adds(out, "**Launch command**\n\n");
        add_code(b.p, out);
    }
    end_details(out);
    buf_release(&b);
}

static void add_remarks(const struct result *r, struct buf *out)
{
    struct buf b;
    scratch_init(&b);
    remarks_sources(r, &b);
    remarks_reasons(r, &b);
    remarks_notes(r, &b);
    add_lines(b.p, "- ", "", out);
    buf_release(&b);
}

bool markdown_write(const struct result *r, struct buf *out)
{
    add_headline(r, out);
    add_prefill(r, out);
    add_matrix(r, out);
    add_measurements(r, out);
    add_setup(r, out);
    add_remarks(r, out);
    return !out->overflow;
}
