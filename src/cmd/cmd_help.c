/* cmd_help.c - tokgrid help: the manuals on the terminal, or as man pages for the build. */
#include "base/version.h"
#include "cmd/commands.h"
#include "cmd/manual.h"

struct settings {
    const char *command;
    bool man;
};

static const struct option_row options[] = {
    {.name = "man",
     .hidden = true,
     OPTION_FLAG(struct settings, man),
     .help = "Write the man page instead, as roff."},
    {0},
};

static const struct operand_row operands[] = {
    {.name = "COMMAND",
     OPERAND_MAYBE(struct settings, command),
     .help = "The command to explain; without it, all are listed."},
    {0},
};

static void write_manual(const struct settings *set, const struct command *about, struct buf *out)
{
    if (set->man && about)
        manual_roff(about, TOKGRID_VERSION, out);
    else if (set->man)
        manual_roff_overview(commands_all, TOKGRID_VERSION, out);
    else if (about)
        manual_help(about, command_width(), out);
    else
        manual_overview(commands_all, command_width(), out);
}

static int run(int argc, char **argv)
{
    struct settings set = {0};
    const struct command *about = NULL;
    struct err err = {0};
    struct buf text;
    int code;

    if (!command_parse(&cmd_help, argc, argv, &set, &code))
        return code;
    if (set.command && !(about = commands_find(set.command, &err)))
        return command_fail(&err);
    buf_init(&text, MANUAL_MAX_BYTES);
    write_manual(&set, about, &text);
    code = command_print(&text);
    buf_release(&text);
    return code;
}

const struct command cmd_help = {
    .name = "help",
    .summary = "Explain a command",
    .about = "Explains a command and its options, as `tokgrid COMMAND --help` does.",
    .options = options,
    .operands = operands,
    .run = run,
};
