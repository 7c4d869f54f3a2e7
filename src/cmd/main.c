/* main.c - picks the subcommand. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/manual.h"

/* `tokgrid --x` for those who ask the program before they know its commands. */
static const struct {
    const char *option, *command;
} shortcuts[] = {
    {"--help", "help"},
    {"-h", "help"},
    {"--version", "version"},
    {"-V", "version"},
};

static int no_command(void)
{
    struct buf text;

    buf_init(&text, MANUAL_MAX_BYTES);
    manual_overview(commands_all, command_width(), &text);
    fputs(text.p, stderr);
    buf_release(&text);
    return EXIT_CODE_USAGE;
}

int main(int argc, char **argv)
{
    struct err err = {0};

    /* Only what counts characters: numbers are written with a point everywhere. */
    setlocale(LC_CTYPE, "");
    if (argc < 2)
        return no_command();
    const char *name = argv[1];
    for (size_t i = 0; i < ARRAY_LEN(shortcuts); i++)
        if (strcmp(name, shortcuts[i].option) == 0)
            name = shortcuts[i].command;
    const struct command *command = commands_find(name, &err);
    if (!command)
        return command_fail(&err);
    return command->run(argc - 1, argv + 1);
}
