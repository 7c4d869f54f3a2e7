/* cmd_show.c - tokgrid show: a stored result in another form. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/commands.h"
#include "cmd/run_lines.h"
#include "model/result.h"
#include "report/csv.h"
#include "report/markdown.h"
#include "report/table.h"

struct show_settings {
    const char *path;
    int format;
};

static bool write_table(const struct result *r, struct buf *out)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    bool terminal = isatty(STDOUT_FILENO);
    const struct table_options options = {
        .width = terminal ? terminal_width() : 0,
        .ascii = !locale_is_utf8(),
        .colour = terminal && !(no_colour && *no_colour) && term && strcmp(term, "dumb") != 0,
    };
    return table_write(r, &options, out);
}

static const char *const format_names[] = {"table", "md", "csv", "json", NULL};

static bool (*const writers[])(const struct result *r, struct buf *out) = {
    write_table, markdown_write, csv_write, result_write_json};

static int show(int argc, char **argv)
{
    struct show_settings settings = {0};
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
        writers[settings.format](&result, &out);
        exit_code = command_print(&out);
        result_release(&result);
    }
    buf_release(&text);
    buf_release(&out);
    return exit_code;
}

static const struct option_row rows[] = {
    {.name = "format",
     .letter = 'f',
     OPTION_CHOICE(struct show_settings, format, format_names),
     .value = "NAME",
     .initial = "table",
     .help =
         "table: as wide as the terminal, in colour where it has some. md: a block for a README "
         "or an issue. csv: one row for each measurement. json: the document itself, checked."},
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
    NULL,
};

const struct command cmd_show = {
    .name = "show",
    .summary = "Print a result: as tables, Markdown, CSV or JSON",
    .about =
        "Reads a result file, checks it against the schema and the invariants every result "
        "satisfies, and prints it. A file that is not what it should be gives one line with the "
        "place of the first fault.",
    .options = rows,
    .operands = operands,
    .examples = examples,
    .run = show,
};
