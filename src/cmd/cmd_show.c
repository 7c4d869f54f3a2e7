/* cmd_show.c - tokgrid show: a stored result in another form. */
#include "base/file.h"
#include "cmd/commands.h"
#include "cmd/terminal.h"
#include "model/result.h"
#include "report/csv.h"
#include "report/markdown.h"
#include "report/page.h"
#include "report/svg.h"
#include "report/table.h"

enum { CHART_CARD = CHART_KINDS, LANG_OF_LOCALE = -1 };

struct show_settings {
    const char *path, *output;
    int format, chart, lang;
};

static const struct lang *lang_of(const struct show_settings *s)
{
    return s->lang == LANG_OF_LOCALE ? lang_of_locale() : langs[s->lang];
}

static bool write_table(const struct result *r, const struct show_settings *s, struct buf *out)
{
    const struct lang *asked = s->lang == LANG_OF_LOCALE ? NULL : langs[s->lang];
    const struct table_options options = terminal_table_options(asked, s->output != NULL);
    return table_write(r, &options, out);
}

static bool write_markdown(const struct result *r, const struct show_settings *s, struct buf *out)
{
    return markdown_write(r, lang_of(s), out);
}

static bool write_csv(const struct result *r, const struct show_settings *s, struct buf *out)
{
    (void)s;
    return csv_write(r, out);
}

static bool write_json(const struct result *r, const struct show_settings *s, struct buf *out)
{
    (void)s;
    return result_write_json(r, out);
}

static bool write_html(const struct result *r, const struct show_settings *s, struct buf *out)
{
    const struct page_options options = {.lang = lang_of(s)};
    return page_write(r, &options, out);
}

static bool write_svg(const struct result *r, const struct show_settings *s, struct buf *out)
{
    if (s->chart == CHART_CARD)
        return svg_write_card(r, lang_of(s), NULL, out);
    return svg_write_chart(r, (enum chart_kind)s->chart, lang_of(s), out);
}

static const char *const format_names[] = {"table", "md", "csv", "json", "html", "svg", NULL};

static bool (*const writers[])(const struct result *r, const struct show_settings *s,
                               struct buf *out) = {
    write_table, write_markdown, write_csv, write_json, write_html, write_svg,
};

static int print(const struct result *r, const struct show_settings *s, struct buf *out)
{
    struct err err = {0};
    if (!writers[s->format](r, s, out)) {
        err_set(&err, ERR_FORMAT, "%s: %s", s->path,
                out->overflow ? "too large to be shown in this form"
                              : "has no figures for this chart");
        return command_fail(&err);
    }
    if (!s->output)
        return command_print(out);
    if (!file_write_atomic(s->output, out->p, out->len, &err))
        return command_fail(&err);
    return EXIT_CODE_DONE;
}

static int show(int argc, char **argv)
{
    struct show_settings settings = {.chart = CHART_CARD, .lang = LANG_OF_LOCALE};
    struct result result;
    struct buf text, out;
    struct err err = {0};
    int exit_code;

    if (!command_parse(&cmd_show, argc, argv, &settings, &exit_code))
        return exit_code;
    buf_init(&text, RESULT_MAX_BYTES);
    buf_init(&out, 64 << 20);
    bool read = file_read(settings.path, &text, &err) &&
                result_read_json(text.p, text.len, settings.path, &result, &err);
    if (!read) {
        exit_code = command_fail(&err);
    } else {
        exit_code = print(&result, &settings, &out);
        result_release(&result);
    }
    buf_release(&text);
    buf_release(&out);
    return exit_code;
}

/* in the order of langs[] and, for charts, of enum chart_kind */
static const char *const lang_names[] = {"en", "zh", NULL};
static const char *const chart_choices[] = {"decode", "context", "prefill", "share", "none", NULL};

static const struct option_row rows[] = {
    {.name = "format",
     .letter = 'f',
     OPTION_CHOICE(struct show_settings, format, format_names),
     .value = "NAME",
     .initial = "table",
     .help =
         "table: as wide as the terminal, in colour where it has some. md: a block for a README "
         "or an issue. csv: one row for each measurement. json: the document itself, checked. "
         "html: a web page in one file. svg: a card with the matrix, 1200 by 630, or a chart."},
    {.name = "chart",
     OPTION_CHOICE(struct show_settings, chart, chart_choices),
     .value = "NAME",
     .otherwise = "none, the card",
     .help = "For svg: speed against concurrency, per request against context, prefill against "
             "context, or the share of full concurrency that was reached."},
    {.name = "lang",
     .letter = 'l',
     OPTION_CHOICE(struct show_settings, lang, lang_names),
     .value = "CODE",
     .otherwise = "the locale's language",
     .help = "The language of tables, Markdown, pages and pictures. csv and json are the same in "
             "every language."},
    {.name = "output",
     .letter = 'o',
     OPTION_STRING(struct show_settings, output),
     .value = "FILE",
     .otherwise = "standard output",
     .help = "Write there. The file is replaced as a whole."},
    {0},
};

static const struct operand_row operands[] = {
    {.name = "RUN",
     OPERAND_ONE(struct show_settings, path),
     .help = "A result file; - reads standard input."},
    {0},
};

static const char *const examples[] = {
    "tokgrid show runs/demo.json",
    "The matrix and all measurements.",
    "tokgrid show runs/demo.json --format csv >demo.csv",
    "For a spreadsheet.",
    "tokgrid show runs/demo.json --format html --output demo.html",
    "A page to look at or to send to somebody.",
    NULL,
};

const struct command cmd_show = {
    .name = "show",
    .summary = "Print a result: as tables, Markdown, CSV, JSON, a page or a picture",
    .about =
        "Reads a result file, checks it against the schema and the invariants every result "
        "satisfies, and prints it. A file that is not what it should be gives one line with the "
        "place of the first fault.",
    .options = rows,
    .operands = operands,
    .examples = examples,
    .run = show,
};
