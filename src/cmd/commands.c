/* commands.c - the table of subcommands and how each of them speaks to the user. */
#include "cmd/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/manual.h"
#include "cmd/near.h"

const struct command *const commands_all[] = {
    &cmd_run,      &cmd_demo,    &cmd_probe,    &cmd_show,   &cmd_compare, &cmd_check, &cmd_engine,
    &cmd_selftest, &cmd_predict, &cmd_login,    &cmd_logout, &cmd_publish, &cmd_serve, &cmd_import,
    &cmd_db,       &cmd_admin,   &cmd_hardware, &cmd_help,   &cmd_version, NULL,
};

const struct command *commands_find(const char *name, struct err *err)
{
    struct near near = {.word = name};

    for (size_t i = 0; commands_all[i]; i++) {
        if (strcmp(name, commands_all[i]->name) == 0)
            return commands_all[i];
        near_offer(&near, commands_all[i]->name);
    }
    if (near.match)
        err_set(err, ERR_USAGE, "unknown command '%s' (did you mean %s?)", name, near.match);
    else
        err_set(err, ERR_USAGE, "unknown command '%s'; 'tokgrid help' lists them", name);
    return NULL;
}

/* Read before any thread is started, so nothing can change the environment meanwhile. */
static const char *environment(const char *name)
{
    return getenv(name);
}

bool command_parse(const struct command *command, int argc, char **argv, void *settings,
                   int *ret_exit)
{
    struct err err = {0};
    struct buf text;

    switch (options_parse(command, argc, argv, environment, settings, &err)) {
    case OPTIONS_PARSED: return true;
    case OPTIONS_BAD: *ret_exit = command_fail(&err); return false;
    case OPTIONS_HELP:
        buf_init(&text, MANUAL_MAX_BYTES);
        manual_help(command, command_width(), &text);
        *ret_exit = command_print(&text);
        buf_release(&text);
        return false;
    }
    return false;
}

int command_fail(const struct err *err)
{
    fprintf(stderr, "tokgrid: %s\n", err->text);
    switch (err->code) {
    case ERR_USAGE: return EXIT_CODE_USAGE;
    case ERR_INTERRUPT: return EXIT_CODE_INTERRUPTED;
    default: return EXIT_CODE_FAILED;
    }
}

int command_print(const struct buf *text)
{
    struct err err = {0};

    if (fwrite(text->p, 1, text->len, stdout) == text->len && fflush(stdout) == 0)
        return EXIT_CODE_DONE;
    err_set(&err, ERR_SYSTEM, "cannot write to standard output: %s", strerror(errno));
    return command_fail(&err);
}

char *command_take_secret(const char *value, const char *env)
{
    if (!value || !*value)
        return NULL;
    char *copy = mem_strdup(value);
    if (value != getenv(env))
        memset((char *)(uintptr_t)value, '*', strlen(value));
    return copy;
}

size_t command_width(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    if (size.ws_col < MANUAL_WIDTH_MIN)
        return MANUAL_WIDTH_MIN;
    return size.ws_col < MANUAL_WIDTH_MAX ? size.ws_col : MANUAL_WIDTH_MAX;
}
