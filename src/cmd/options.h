/* options.h - one table describes a command; parser, defaults, environment, --help and man page
 * all read it, so they cannot disagree.
 *
 * A command keeps its settings in a struct of its own. Each row says which member it fills, by a
 * macro that names the member and refuses one of the wrong type:
 *
 *     struct show { const char *run; int format; bool wide; };
 *
 *     static const char *const formats[] = {"table", "md", NULL};
 *     static const struct option_row rows[] = {
 *         {.name = "format", .letter = 'f', OPTION_CHOICE(struct show, format, formats),
 *          .value = "NAME", .initial = "table", .help = "How to print it."},
 *         {.name = "wide", OPTION_FLAG(struct show, wide), .help = "Show every column."},
 *         {0},
 *     };
 *     static const struct operand_row operands[] = {
 *         {.name = "RUN", OPERAND_ONE(struct show, run), .help = "A result file."}, {0},
 *     };
 *
 * Values are set in this order, later ones winning: `initial`, the environment variable, the
 * command line from left to right. Options may stand before, between and after operands; `--` ends
 * them. `--name value`, `--name=value`, `-n value` and `-nvalue` are the same; letters of flags may
 * be joined. Names are never abbreviated, and `--no-x` exists only where a row says so.
 *
 * Nothing here prints, exits or allocates; strings are borrowed from argv, the table and the
 * environment. */
#ifndef TOKGRID_CMD_OPTIONS_H
#define TOKGRID_CMD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum option_kind {
    OPTION_KIND_FLAG,     /* bool: true when given */
    OPTION_KIND_STRING,   /* const char * */
    OPTION_KIND_INT,      /* int64_t: a decimal number */
    OPTION_KIND_SIZE,     /* int64_t: 16k is 16,384 */
    OPTION_KIND_DURATION, /* int64_t nanoseconds: 30s, 2m, 500ms; a bare number is seconds */
    OPTION_KIND_CHOICE,   /* int or enum: the index into `choices` */
    OPTION_KIND_CUSTOM,   /* anything: `parse` fills the member */
};

/* Fills `field` from text. `name` is what the user wrote ("--header"), for the error, which is
 * complete as it is. Called once for each time the option is given. */
typedef bool option_parse_fn(const char *name, const char *text, void *field, struct err *err);

struct option_row {
    const char *name;      /* long name without dashes; NULL ends the table */
    char letter;           /* short name; 0: none */
    bool hidden;           /* works, but is in no manual */
    enum option_kind kind; /* this and the next three: by a macro below */
    size_t offset;
    const char *const *choices; /* NULL-ended */
    option_parse_fn *parse;
    int64_t min, max;      /* of INT, SIZE and DURATION; both 0: any */
    const char *value;     /* metavariable: "FILE"; NULL for flags */
    const char *initial;   /* parsed before anything else; NULL: the member keeps its value */
    const char *otherwise; /* for the manual, when the default is not a constant */
    const char *env;       /* variable that can set it; NULL: none */
    const char *help;      /* sentences */
    const char *group;     /* heading that begins here; NULL: as the row before */
};

/* The offset of a member; does not compile when the member is of another type. */
/* NOLINTNEXTLINE(bugprone-macro-parentheses) */
#define OPTION_MEMBER(s, m, type) (offsetof(s, m) + _Generic(((s *)0)->m, type : 0))

#define OPTION_FLAG(s, m)     .kind = OPTION_KIND_FLAG, .offset = OPTION_MEMBER(s, m, bool)
#define OPTION_STRING(s, m)   .kind = OPTION_KIND_STRING, .offset = OPTION_MEMBER(s, m, const char *)
#define OPTION_INT(s, m)      .kind = OPTION_KIND_INT, .offset = OPTION_MEMBER(s, m, int64_t)
#define OPTION_SIZE(s, m)     .kind = OPTION_KIND_SIZE, .offset = OPTION_MEMBER(s, m, int64_t)
#define OPTION_DURATION(s, m) .kind = OPTION_KIND_DURATION, .offset = OPTION_MEMBER(s, m, int64_t)
#define OPTION_CHOICE(s, m, list)                                                                  \
    .kind = OPTION_KIND_CHOICE, .choices = (list),                                                 \
    .offset = offsetof(s, m) + _Generic(((s *)0)->m, int : 0, unsigned : 0)
#define OPTION_CUSTOM(s, m, fn) .kind = OPTION_KIND_CUSTOM, .parse = (fn), .offset = offsetof(s, m)

/* An argument without a name. */
enum operand_arity { OPERAND_IS_REQUIRED, OPERAND_IS_OPTIONAL, OPERAND_IS_LIST };

/* All the arguments that are left: a part of argv. */
struct operand_list {
    char **v;
    size_t n;
};

struct operand_row {
    const char *name;         /* "URL"; NULL ends the table */
    enum operand_arity arity; /* this and the next: by a macro below */
    size_t offset;
    const char *help;
};

#define OPERAND_ONE(s, m) .arity = OPERAND_IS_REQUIRED, .offset = OPTION_MEMBER(s, m, const char *)
#define OPERAND_MAYBE(s, m)                                                                        \
    .arity = OPERAND_IS_OPTIONAL, .offset = OPTION_MEMBER(s, m, const char *)
#define OPERAND_LIST(s, m)                                                                         \
    .arity = OPERAND_IS_LIST, .offset = OPTION_MEMBER(s, m, struct operand_list)

/* A subcommand: what it is called, what it takes, what it does. */
struct command {
    const char *name;
    const char *summary;                /* one line, no full stop */
    const char *about;                  /* paragraphs, an empty line between them */
    const struct option_row *options;   /* NULL: none */
    const struct operand_row *operands; /* NULL: none; a list comes last and needs one at least */
    const char *const *examples;        /* command, comment, command, comment, ..., NULL */
    int (*run)(int argc, char **argv);  /* argv[0] is the command's name; returns an exit code */
};

enum options_outcome {
    OPTIONS_PARSED,
    OPTIONS_HELP, /* --help or -h is among the arguments; nothing was parsed */
    OPTIONS_BAD,  /* err says why */
};

/* Looks up an environment variable; NULL when it is not set. */
typedef const char *option_env_fn(const char *name);

/* Parse argv[1..] into `settings`, the command's struct. Operands are moved to the front of
 * argv (argv[1] and on), in their order. */
enum options_outcome options_parse(const struct command *command, int argc, char **argv,
                                   option_env_fn *env, void *settings, struct err *err) ATTR_CHECK;

#endif
