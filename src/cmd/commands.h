/* commands.h - the subcommands, and what they share: exit codes, errors, output.
 *
 * A command is one file cmd_<name>.c that defines `const struct command cmd_<name>`, one line
 * below, and one row in commands.c. Its run function begins with command_parse and returns one of
 * the exit codes. */
#ifndef TOKGRID_CMD_COMMANDS_H
#define TOKGRID_CMD_COMMANDS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "cmd/options.h"

extern const struct command cmd_admin;
extern const struct command cmd_check;
extern const struct command cmd_compare;
extern const struct command cmd_db;
extern const struct command cmd_demo;
extern const struct command cmd_engine;
extern const struct command cmd_hardware;
extern const struct command cmd_help;
extern const struct command cmd_import;
extern const struct command cmd_login;
extern const struct command cmd_logout;
extern const struct command cmd_predict;
extern const struct command cmd_probe;
extern const struct command cmd_publish;
extern const struct command cmd_run;
extern const struct command cmd_selftest;
extern const struct command cmd_serve;
extern const struct command cmd_show;
extern const struct command cmd_version;

/* All of them in the order they are listed; ends with NULL. */
extern const struct command *const commands_all[];

/* NULL when there is none of that name; err then says so, with what may have been meant. */
const struct command *commands_find(const char *name, struct err *err) ATTR_CHECK;

enum exit_code {
    EXIT_CODE_DONE = 0,
    EXIT_CODE_FAILED = 1, /* the run failed: no valid cell, server gone, no such file */
    EXIT_CODE_USAGE = 2,
    EXIT_CODE_THRESHOLD = 3,    /* measured, and worse than asked for */
    EXIT_CODE_INTERRUPTED = 130 /* Ctrl-C; what was done is written */
};

/* Parse into `settings`. False: help or an error was printed, return *ret_exit. */
bool command_parse(const struct command *command, int argc, char **argv, void *settings,
                   int *ret_exit) ATTR_CHECK;

/* Print "tokgrid: text" on standard error; returns the exit code for this error. */
int command_fail(const struct err *err);

/* Print the buffer on standard output. Returns an exit code: a full disk is a failure. */
int command_print(const struct buf *text);

/* A secret that an option or the environment variable `env` gave: a heap copy, NULL when there is
 * none. On the command line, where every user of the machine could read it, stars take its place.
 */
char *command_take_secret(const char *value, const char *env);

/* Columns for help: the terminal's, within the manual's bounds; 80 when there is no terminal. */
size_t command_width(void);

#endif
