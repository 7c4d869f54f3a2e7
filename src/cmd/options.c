/* options.c - walks argv once; every value, wherever it comes from, goes through set_value. */
#include "cmd/options.h"

#include <string.h>

#include "base/num.h"
#include "cmd/near.h"

/* One parse in progress. */
struct parse {
    const struct command *command;
    int argc;
    char **argv;
    int next;     /* the argument to look at */
    int operands; /* how many were found */
    char *settings;
    struct err *err;
};

static bool set_number(const struct option_row *row, const char *name, const char *text,
                       int64_t *field, struct err *err)
{
    static const struct {
        bool (*parse)(const char *text, int64_t *ret);
        const char *words;
    } kinds[] = {
        [OPTION_KIND_INT] = {num_parse_i64, "a number"},
        [OPTION_KIND_SIZE] = {num_parse_size, "a size such as 4096, 16k or 1M"},
        [OPTION_KIND_DURATION] = {num_parse_duration_ns, "a duration such as 30s, 2m or 500ms"},
    };
    int64_t v;

    if (!kinds[row->kind].parse(text, &v))
        return err_set(err, ERR_USAGE, "%s wants %s, not '%s'", name, kinds[row->kind].words, text);
    if ((row->min != 0 || row->max != 0) && (v < row->min || v > row->max)) {
        char low[NUM_TEXT_MAX], high[NUM_TEXT_MAX];
        const char *(*words)(char *out, int64_t n) =
            row->kind == OPTION_KIND_DURATION ? num_duration_text : num_size_text;
        return err_set(err, ERR_USAGE, "%s must be from %s to %s, not %s", name,
                       words(low, row->min), words(high, row->max), text);
    }
    *field = v;
    return true;
}

static bool set_choice(const struct option_row *row, const char *name, const char *text, int *field,
                       struct err *err)
{
    char all[200] = "";
    size_t used = 0;
    struct near near = {.word = text};

    for (int i = 0; row->choices[i]; i++) {
        if (strcmp(text, row->choices[i]) == 0) {
            *field = i;
            return true;
        }
        near_offer(&near, row->choices[i]);
        used +=
            (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", row->choices[i]);
        if (used >= sizeof all)
            used = sizeof all - 1;
    }
    if (near.match)
        return err_set(err, ERR_USAGE, "%s: '%s' is none of %s (did you mean %s?)", name, text, all,
                       near.match);
    return err_set(err, ERR_USAGE, "%s: '%s' is none of %s", name, text, all);
}

static bool set_value(const struct option_row *row, const char *name, const char *text,
                      char *settings, struct err *err)
{
    void *field = settings + row->offset;

    switch (row->kind) {
    case OPTION_KIND_FLAG: *(bool *)field = true; return true;
    case OPTION_KIND_STRING: *(const char **)field = text; return true;
    case OPTION_KIND_INT:
    case OPTION_KIND_SIZE:
    case OPTION_KIND_DURATION: return set_number(row, name, text, field, err);
    case OPTION_KIND_CHOICE: return set_choice(row, name, text, field, err);
    case OPTION_KIND_CUSTOM: return row->parse(name, text, field, err);
    }
    return false;
}

static bool set_defaults(const struct command *command, option_env_fn *env, char *settings,
                         struct err *err)
{
    for (const struct option_row *row = command->options; row && row->name; row++) {
        const char *text = row->env ? env(row->env) : NULL;
        if (row->initial && !set_value(row, row->name, row->initial, settings, err))
            return false;
        if (text && *text && !set_value(row, row->env, text, settings, err))
            return false;
    }
    return true;
}

static bool unknown_option(const struct parse *p, const char *name, size_t len)
{
    char typed[64];
    struct near near = {.word = typed};

    snprintf(typed, sizeof typed, "%.*s", (int)(len < sizeof typed ? len : sizeof typed - 1), name);
    for (const struct option_row *row = p->command->options; row && row->name; row++)
        if (!row->hidden)
            near_offer(&near, row->name);
    near_offer(&near, "help");
    if (near.match)
        return err_set(p->err, ERR_USAGE, "unknown option --%s (did you mean --%s?)", typed,
                       near.match);
    return err_set(p->err, ERR_USAGE, "unknown option --%s; 'tokgrid %s --help' lists them", typed,
                   p->command->name);
}

/* The value of an option is the next argument. One that looks like an option is more likely a
 * forgotten value; `--name=--x` says that it is meant. */
static bool take_next(struct parse *p, const struct option_row *row, const char *name)
{
    const char *text = p->next < p->argc ? p->argv[p->next] : NULL;
    if (!text || strncmp(text, "--", 2) == 0)
        return err_set(p->err, ERR_USAGE, "%s wants a value: %s %s", name, name, row->value);
    p->next++;
    return set_value(row, name, text, p->settings, p->err);
}

static bool parse_long(struct parse *p, const char *arg)
{
    const char *name = arg + 2;
    size_t len = strcspn(name, "=");
    const char *value = name[len] ? name + len + 1 : NULL;
    char shown[72];

    for (const struct option_row *row = p->command->options; row && row->name; row++) {
        if (strlen(row->name) != len || strncmp(row->name, name, len) != 0)
            continue;
        snprintf(shown, sizeof shown, "--%s", row->name);
        if (row->kind == OPTION_KIND_FLAG && value)
            return err_set(p->err, ERR_USAGE, "%s takes no value", shown);
        if (row->kind == OPTION_KIND_FLAG || value)
            return set_value(row, shown, value, p->settings, p->err);
        return take_next(p, row, shown);
    }
    return unknown_option(p, name, len);
}

static const struct option_row *find_letter(const struct command *command, char letter)
{
    for (const struct option_row *row = command->options; row && row->name; row++)
        if (row->letter == letter)
            return row;
    return NULL;
}

/* "-ab": flags a and b; "-oFILE" and "-o FILE": a value. */
static bool parse_letters(struct parse *p, const char *arg)
{
    for (const char *c = arg + 1; *c; c++) {
        const struct option_row *row = find_letter(p->command, *c);
        char shown[3] = {'-', *c, '\0'};
        if (!row)
            return err_set(p->err, ERR_USAGE, "unknown option %s; 'tokgrid %s --help' lists them",
                           shown, p->command->name);
        if (row->kind != OPTION_KIND_FLAG && c[1])
            return set_value(row, shown, c + 1, p->settings, p->err);
        if (row->kind != OPTION_KIND_FLAG)
            return take_next(p, row, shown);
        if (!set_value(row, shown, NULL, p->settings, p->err))
            return false;
    }
    return true;
}

/* Operands are compacted to the front of argv while it is read: slots 1..operands are theirs. */
static bool walk(struct parse *p)
{
    bool only_operands = false, ok = true;

    for (p->next = 1; ok && p->next < p->argc;) {
        char *arg = p->argv[p->next++];
        if (only_operands || arg[0] != '-' || arg[1] == '\0')
            p->argv[++p->operands] = arg;
        else if (strcmp(arg, "--") == 0)
            only_operands = true;
        else if (arg[1] == '-')
            ok = parse_long(p, arg);
        else
            ok = parse_letters(p, arg);
    }
    return ok;
}

static bool assign_operands(struct parse *p)
{
    char **v = p->argv + 1;
    size_t left = (size_t)p->operands;

    for (const struct operand_row *row = p->command->operands; row && row->name; row++) {
        void *field = p->settings + row->offset;
        if (left == 0 && row->arity != OPERAND_IS_OPTIONAL)
            return err_set(p->err, ERR_USAGE, "%s is missing; 'tokgrid %s --help' shows the usage",
                           row->name, p->command->name);
        if (row->arity == OPERAND_IS_LIST) {
            *(struct operand_list *)field = (struct operand_list){v, left};
            left = 0;
        } else if (left > 0) {
            *(const char **)field = *v++;
            left--;
        }
    }
    if (left > 0)
        return err_set(p->err, ERR_USAGE, "unexpected argument '%s'", *v);
    return true;
}

/* Help is shown whatever else is wrong with the line. */
static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

enum options_outcome options_parse(const struct command *command, int argc, char **argv,
                                   option_env_fn *env, void *settings, struct err *err)
{
    struct parse p = {
        .command = command, .argc = argc, .argv = argv, .settings = settings, .err = err};

    if (asks_for_help(argc, argv))
        return OPTIONS_HELP;
    bool ok = set_defaults(command, env, settings, err) && walk(&p) && assign_operands(&p);
    return ok ? OPTIONS_PARSED : OPTIONS_BAD;
}
