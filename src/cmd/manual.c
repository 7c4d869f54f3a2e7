/* manual.c - one description of an option, set twice: wrapped for a terminal, and as roff. */
#include "cmd/manual.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "cmd/commands.h"

enum {
    INDENT = 2,
    EXAMPLE_INDENT = 6,
    COLUMN_MAX = 28, /* labels wider than this get a line of their own */
    DESCRIPTION_MAX = 4096,
};

static const struct {
    int code;
    const char *words;
} exit_codes[] = {
    {EXIT_CODE_DONE, "Done."},
    {EXIT_CODE_FAILED, "The run failed: no valid cell, the server is gone, a file cannot be read."},
    {EXIT_CODE_USAGE, "Wrong usage: the message says what was wrong and what to do."},
    {EXIT_CODE_THRESHOLD, "A threshold that was asked for is missed."},
    {EXIT_CODE_INTERRUPTED, "Interrupted; what was measured until then is written."},
};

/* ---- what both say --------------------------------------------------------------------------- */

static void add_label(const struct option_row *row, struct buf *out)
{
    if (row->letter)
        buf_addf(out, "-%c, ", row->letter);
    buf_addf(out, "--%s", row->name);
    if (row->value)
        buf_addf(out, " %s", row->value);
}

static void add_description(const struct option_row *row, struct buf *out)
{
    buf_adds(out, row->help);
    if (row->choices) {
        buf_adds(out, " One of");
        for (size_t i = 0; row->choices[i]; i++)
            buf_addf(out, "%s `%s`", i ? "," : "", row->choices[i]);
        buf_adds(out, ".");
    }
    if (row->initial || row->otherwise)
        buf_addf(out, " Default: %s.", row->otherwise ? row->otherwise : row->initial);
    if (row->env)
        buf_addf(out, " Environment: `%s`.", row->env);
}

static bool has_options(const struct command *command)
{
    for (const struct option_row *row = command->options; row && row->name; row++)
        if (!row->hidden)
            return true;
    return false;
}

static void add_synopsis(const struct command *command, struct buf *out)
{
    static const char *const shapes[] = {
        [OPERAND_IS_REQUIRED] = " %s",
        [OPERAND_IS_OPTIONAL] = " [%s]",
        [OPERAND_IS_LIST] = " %s...",
    };

    if (has_options(command))
        buf_adds(out, " [OPTIONS]");
    for (const struct operand_row *row = command->operands; row && row->name; row++) {
        const char *shape = shapes[row->arity], *mark = strstr(shape, "%s");
        buf_add(out, shape, (size_t)(mark - shape));
        buf_adds(out, row->name);
        buf_adds(out, mark + 2);
    }
}

/* ---- terminal ----------------------------------------------------------------------------------
 */

/* A line being filled: `column` is where the next character goes. */
struct page {
    struct buf *out;
    size_t width, indent, column;
};

static void page_break(struct page *p)
{
    buf_addc(p->out, '\n');
    p->column = 0;
}

/* Add text word by word; an empty line in it begins a new paragraph. */
static void page_text(struct page *p, const char *text)
{
    while (*text) {
        size_t space = strspn(text, " \n");
        bool paragraph = space > 1 && text[0] == '\n' && text[1] == '\n';
        text += space;
        size_t len = strcspn(text, " \n"), columns = text_width(text, len);
        if (len == 0)
            break;
        if (paragraph) {
            page_break(p);
            page_break(p);
        } else if (p->column > p->indent && p->column + 1 + columns > p->width) {
            page_break(p);
        } else if (p->column > p->indent) {
            buf_addc(p->out, ' ');
            p->column++;
        }
        if (p->column < p->indent) {
            buf_add_repeat(p->out, ' ', p->indent - p->column);
            p->column = p->indent;
        }
        buf_add(p->out, text, len);
        p->column += columns;
        text += len;
    }
    page_break(p);
}

static void page_heading(struct page *p, const char *heading)
{
    buf_addf(p->out, "\n%s:\n", heading);
}

/* A label, and its description in the column beside it or below. */
static void page_item(struct page *p, const char *label, const char *text, size_t column)
{
    buf_add_repeat(p->out, ' ', INDENT);
    buf_adds(p->out, label);
    p->column = INDENT + text_width(label, strlen(label));
    if (p->column + 2 > column)
        page_break(p);
    p->indent = column;
    page_text(p, text);
    p->indent = 0;
}

static size_t label_column(size_t widest)
{
    size_t column = INDENT + widest + 2;
    return column < COLUMN_MAX ? column : COLUMN_MAX;
}

/* Letters stand before the names, so names without one are moved under the others. */
static void option_label(const struct option_row *row, struct buf *label)
{
    buf_reset(label);
    if (!row->letter)
        buf_adds(label, "    ");
    add_label(row, label);
}

static void page_options(struct page *p, const struct command *command)
{
    struct buf label, text;
    size_t widest = strlen("-h, --help");
    const char *group = "Options";

    buf_init(&label, DESCRIPTION_MAX);
    buf_init(&text, DESCRIPTION_MAX);
    for (const struct option_row *row = command->options; row && row->name; row++) {
        option_label(row, &label);
        size_t columns = text_width(label.p, label.len);
        if (!row->hidden && columns > widest && INDENT + columns + 2 <= COLUMN_MAX)
            widest = columns;
    }
    for (const struct option_row *row = command->options; row && row->name; row++) {
        if (row->hidden)
            continue;
        if (row->group)
            group = row->group;
        if (group)
            page_heading(p, group);
        group = NULL;
        option_label(row, &label);
        buf_reset(&text);
        add_description(row, &text);
        page_item(p, label.p, text.p, label_column(widest));
    }
    page_heading(p, "Help");
    page_item(p, "-h, --help", "Show this text.", label_column(widest));
    buf_release(&label);
    buf_release(&text);
}

static void page_operands(struct page *p, const struct command *command)
{
    size_t widest = 0;

    if (!command->operands || !command->operands->name)
        return;
    page_heading(p, "Arguments");
    for (const struct operand_row *row = command->operands; row->name; row++)
        if (strlen(row->name) > widest)
            widest = strlen(row->name);
    for (const struct operand_row *row = command->operands; row->name; row++)
        page_item(p, row->name, row->help, label_column(widest));
}

static void page_examples(struct page *p, const struct command *command)
{
    const char *const *line = command->examples;

    if (line)
        page_heading(p, "Examples");
    for (; line && line[0]; line += 2) {
        buf_addf(p->out, "  %s\n", line[0]);
        p->indent = EXAMPLE_INDENT;
        page_text(p, line[1]);
        p->indent = 0;
    }
}

void manual_help(const struct command *command, size_t width, struct buf *out)
{
    struct page p = {.out = out, .width = width};

    buf_addf(out, "usage: tokgrid %s", command->name);
    add_synopsis(command, out);
    buf_adds(out, "\n\n");
    page_text(&p, command->about);
    page_operands(&p, command);
    page_options(&p, command);
    page_examples(&p, command);
}

void manual_overview(const struct command *const *commands, size_t width, struct buf *out)
{
    struct page p = {.out = out, .width = width};
    size_t widest = 0;

    buf_adds(out, "usage: tokgrid COMMAND [OPTIONS] [ARGUMENTS]\n\n");
    page_text(&p, "Measures how fast an LLM server really is, as a matrix of contexts and "
                  "concurrency levels.");
    page_heading(&p, "Commands");
    for (size_t i = 0; commands[i]; i++)
        if (strlen(commands[i]->name) > widest)
            widest = strlen(commands[i]->name);
    for (size_t i = 0; commands[i]; i++)
        page_item(&p, commands[i]->name, commands[i]->summary, label_column(widest));
    buf_adds(out, "\n");
    page_text(&p, "`tokgrid COMMAND --help` explains a command.");
}

/* ---- roff --------------------------------------------------------------------------------------
 */

/* Text as it stands: what roff would read as a command, a dash or a quote of its own is escaped,
 * and `code` becomes bold. */
static void roff_text(struct buf *out, const char *text)
{
    static const struct {
        char c;
        const char *escape;
    } specials[] = {
        {'\\', "\\(rs"}, {'-', "\\-"},   {'\'', "\\(aq"},
        {'"', "\\(dq"},  {'^', "\\(ha"}, {'~', "\\(ti"},
    };
    bool code = false, line_start = true;

    for (const char *c = text; *c; c++) {
        const char *escape = NULL;
        for (size_t i = 0; i < ARRAY_LEN(specials); i++)
            if (specials[i].c == *c)
                escape = specials[i].escape;
        if (*c == '`') {
            code = !code;
            escape = code ? "\\fB" : "\\fR";
        }
        if (line_start && *c == '.')
            buf_adds(out, "\\&");
        if (escape)
            buf_adds(out, escape);
        else
            buf_addc(out, *c);
        line_start = *c == '\n';
    }
}

static void roff_line(struct buf *out, const char *text)
{
    roff_text(out, text);
    buf_addc(out, '\n');
}

/* Text with paragraphs: an empty line in roff source is bad style, .PP is the macro for it. */
static void roff_paragraphs(struct buf *out, const char *text)
{
    const char *gap;
    struct buf part;

    buf_init(&part, MANUAL_MAX_BYTES);
    for (; (gap = strstr(text, "\n\n")); text = gap + strspn(gap, "\n")) {
        buf_reset(&part);
        buf_add(&part, text, (size_t)(gap - text));
        roff_line(out, part.p);
        buf_adds(out, ".PP\n");
    }
    roff_line(out, text);
    buf_release(&part);
}

/* Headings are upper case by custom; `level` is SH or SS. */
static void roff_heading(struct buf *out, const char *level, const char *heading)
{
    buf_addf(out, ".%s \"", level);
    roff_text(out, heading);
    buf_adds(out, "\"\n");
}

static void roff_item(struct buf *out, const char *label, const char *text)
{
    buf_adds(out, ".TP\n\\fB");
    roff_text(out, label);
    buf_adds(out, "\\fR\n");
    roff_paragraphs(out, text);
}

/* "tokgrid", or "tokgrid-run". Ragged lines: stretched ones are hard to read on a terminal. */
static void roff_title(struct buf *out, const char *name, const char *version)
{
    buf_adds(out, ".\\\" Made from the program's own tables; do not edit.\n.TH \"TOKGRID");
    if (*name)
        buf_adds(out, "\\-");
    for (const char *c = name; *c; c++)
        buf_addc(out, (char)toupper((unsigned char)*c));
    buf_addf(out, "\" \"1\" \"\" \"tokgrid %s\" \"tokgrid manual\"\n.nh\n.ad l\n", version);
}

static void roff_exit_status(struct buf *out)
{
    roff_heading(out, "SH", "EXIT STATUS");
    for (size_t i = 0; i < ARRAY_LEN(exit_codes); i++) {
        buf_addf(out, ".TP\n\\fB%d\\fR\n", exit_codes[i].code);
        roff_line(out, exit_codes[i].words);
    }
}

static void roff_options(struct buf *out, const struct command *command)
{
    struct buf label, text;

    buf_init(&label, DESCRIPTION_MAX);
    buf_init(&text, DESCRIPTION_MAX);
    roff_heading(out, "SH", "OPTIONS");
    for (const struct option_row *row = command->options; row && row->name; row++) {
        if (row->hidden)
            continue;
        if (row->group)
            roff_heading(out, "SS", row->group);
        buf_reset(&label);
        buf_reset(&text);
        add_label(row, &label);
        add_description(row, &text);
        roff_item(out, label.p, text.p);
    }
    roff_item(out, "-h, --help", "Show a summary of the options.");
    buf_release(&label);
    buf_release(&text);
}

static void roff_examples(struct buf *out, const struct command *command)
{
    const char *const *line = command->examples;

    if (line)
        roff_heading(out, "SH", "EXAMPLES");
    for (; line && line[0]; line += 2)
        roff_item(out, line[0], line[1]);
}

void manual_roff(const struct command *command, const char *version, struct buf *out)
{
    struct buf synopsis;

    buf_init(&synopsis, DESCRIPTION_MAX);
    add_synopsis(command, &synopsis);
    roff_title(out, command->name, version);
    buf_addf(out, ".SH \"NAME\"\ntokgrid\\-%s \\- ", command->name);
    roff_line(out, command->summary);
    buf_addf(out, ".SH \"SYNOPSIS\"\n\\fBtokgrid %s\\fR", command->name);
    roff_line(out, synopsis.p);
    roff_heading(out, "SH", "DESCRIPTION");
    roff_paragraphs(out, command->about);
    for (const struct operand_row *row = command->operands; row && row->name; row++)
        roff_item(out, row->name, row->help);
    roff_options(out, command);
    roff_examples(out, command);
    roff_exit_status(out);
    buf_adds(out, ".SH \"SEE ALSO\"\n.BR tokgrid (1)\n");
    buf_release(&synopsis);
}

void manual_roff_overview(const struct command *const *commands, const char *version,
                          struct buf *out)
{
    roff_title(out, "", version);
    buf_adds(out, ".SH \"NAME\"\ntokgrid \\- measure how fast an LLM server is\n"
                  ".SH \"SYNOPSIS\"\n\\fBtokgrid\\fR COMMAND [OPTIONS] [ARGUMENTS]\n");
    roff_heading(out, "SH", "DESCRIPTION");
    roff_paragraphs(
        out, "Measures any server that speaks the OpenAI-compatible streaming protocol, as a "
             "speed test matrix: contexts times concurrency levels, prefill and sustained "
             "decode, with an honest status in every cell. Each command has a page of its "
             "own.");
    roff_heading(out, "SH", "COMMANDS");
    for (size_t i = 0; commands[i]; i++) {
        buf_addf(out, ".TP\n.BR tokgrid\\-%s (1)\n", commands[i]->name);
        roff_line(out, commands[i]->summary);
    }
    roff_heading(out, "SH", "OPTIONS");
    roff_item(out, "-h, --help", "List the commands.");
    roff_item(out, "-V, --version", "Print the version.");
    roff_exit_status(out);
    buf_adds(out, ".SH \"SEE ALSO\"\n");
    for (size_t i = 0; commands[i]; i++)
        buf_addf(out, ".BR tokgrid\\-%s (1)%s\n", commands[i]->name, commands[i + 1] ? "," : "");
}
