/* test_options.c - command lines against a table with one row of each kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/num.h"
#include "cmd/options.h"

enum format { FORMAT_TABLE, FORMAT_MD, FORMAT_JSON };

struct settings {
    bool wide, all;
    const char *out, *key;
    int64_t repeats, limit, duration, any;
    enum format format;
    int headers; /* how often --header was given, by a custom parser */
    const char *url, *second;
    struct operand_list rest;
};

static bool parse_header(const char *name, const char *text, void *field, struct err *err)
{
    int *count = field;
    if (!strchr(text, ':'))
        return err_set(err, ERR_USAGE, "%s: '%s' has no colon", name, text);
    ++*count;
    return true;
}

static const char *const formats[] = {"table", "md", "json", NULL};

static const struct option_row options[] = {
    {.name = "wide", .letter = 'w', OPTION_FLAG(struct settings, wide)},
    {.name = "all", .letter = 'a', OPTION_FLAG(struct settings, all)},
    {.name = "out", .letter = 'o', OPTION_STRING(struct settings, out), .value = "FILE"},
    {.name = "api-key", OPTION_STRING(struct settings, key), .value = "KEY", .env = "TEST_API_KEY"},
    {.name = "repeats",
     OPTION_INT(struct settings, repeats),
     .value = "N",
     .initial = "1",
     .min = 1,
     .max = 100},
    {.name = "any", OPTION_INT(struct settings, any), .value = "N"},
    {.name = "limit",
     OPTION_SIZE(struct settings, limit),
     .value = "N",
     .initial = "8k",
     .max = 1 << 20},
    {.name = "duration",
     OPTION_DURATION(struct settings, duration),
     .value = "TIME",
     .initial = "30s",
     .min = NS_PER_S,
     .max = 600 * NS_PER_S,
     .env = "TEST_DURATION"},
    {.name = "format",
     .letter = 'f',
     OPTION_CHOICE(struct settings, format, formats),
     .value = "NAME",
     .initial = "md"},
    {.name = "header",
     .letter = 'H',
     OPTION_CUSTOM(struct settings, headers, parse_header),
     .value = "TEXT"},
    {.name = "secret", .hidden = true, OPTION_FLAG(struct settings, all)},
    {0},
};

static const struct operand_row url_and_maybe[] = {
    {.name = "URL", OPERAND_ONE(struct settings, url)},
    {.name = "SECOND", OPERAND_MAYBE(struct settings, second)},
    {0},
};

static const struct operand_row url_and_list[] = {
    {.name = "URL", OPERAND_ONE(struct settings, url)},
    {.name = "FILE", OPERAND_LIST(struct settings, rest)},
    {0},
};

static const struct command command = {
    .name = "try", .options = options, .operands = url_and_maybe};
static const struct command list_command = {
    .name = "try", .options = options, .operands = url_and_list};
static const struct command bare_command = {.name = "bare"};

/* ---- helpers ---- */

static const char *env_duration, *env_key;

static const char *fake_env(const char *name)
{
    if (strcmp(name, "TEST_DURATION") == 0)
        return env_duration;
    return strcmp(name, "TEST_API_KEY") == 0 ? env_key : NULL;
}

enum { WORDS_MAX = 24, LINE_MAX_BYTES = 256 };

/* A command line, cut at spaces; the words live in `line`. */
struct words {
    char line[LINE_MAX_BYTES];
    char *argv[WORDS_MAX + 1];
    int argc;
};

static void cut(struct words *w, const char *text)
{
    *w = (struct words){.argc = 0};
    snprintf(w->line, sizeof w->line, "%s", text);
    for (char *p = w->line; *p && w->argc < WORDS_MAX; p += strcspn(p, " ")) {
        if (w->argc > 0)
            *p++ = '\0';
        w->argv[w->argc++] = p;
    }
}

static enum options_outcome parse(const struct command *c, struct words *w, const char *line,
                                  struct settings *set, struct err *err)
{
    *set = (struct settings){0};
    *err = (struct err){0};
    cut(w, line);
    return options_parse(c, w->argc, w->argv, fake_env, set, err);
}

static void parse_well(const char *line, struct words *w, struct settings *set)
{
    struct err err;
    if (parse(&command, w, line, set, &err) != OPTIONS_PARSED)
        fail_msg("%s: %s", line, err.text);
}

/* ---- tests ---- */

static void defaults_come_from_the_table(void **state)
{
    struct words w;
    struct settings set;
    (void)state;
    parse_well("try u", &w, &set);
    assert_string_equal(set.url, "u");
    assert_null(set.second);
    assert_null(set.out);
    assert_false(set.wide);
    assert_int_equal(set.repeats, 1);
    assert_int_equal(set.limit, 8192);
    assert_int_equal(set.duration, 30 * NS_PER_S);
    assert_int_equal(set.format, FORMAT_MD);
    assert_int_equal(set.headers, 0);
}

static void every_spelling_of_a_value_is_the_same(void **state)
{
    static const char *const lines[] = {
        "try u --out x --format json -w",
        "try --out=x --format=json --wide u",
        "try -ox u -fjson -w",
        "try -o x -f json -w u",
        "try -wo x u --format json",
        "try -wfjson -ox -- u",
        "try --out y u -o x -f md -f json -w",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct words w;
        struct settings set;
        parse_well(lines[i], &w, &set);
        assert_string_equal(set.out, "x");
        assert_string_equal(set.url, "u");
        assert_int_equal(set.format, FORMAT_JSON);
        assert_true(set.wide);
        assert_false(set.all);
    }
}

static void values_are_read_by_their_kind(void **state)
{
    struct words w;
    struct settings set;
    (void)state;
    parse_well("try --repeats 100 --limit 16k --duration 2m --any -7 -H a:b --header c:d - -- -x",
               &w, &set);
    assert_int_equal(set.repeats, 100);
    assert_int_equal(set.limit, 16384);
    assert_int_equal(set.duration, 120 * NS_PER_S);
    assert_int_equal(set.any, -7);
    assert_int_equal(set.headers, 2);
    assert_string_equal(set.url, "-"); /* standard input, by custom */
    assert_string_equal(set.second, "-x");
    parse_well("try u --out=--odd --api-key=", &w, &set);
    assert_string_equal(set.out, "--odd");
    assert_string_equal(set.key, "");
}

static void environment_stands_between_default_and_line(void **state)
{
    struct words w;
    struct settings set;
    struct err err;
    (void)state;
    env_duration = "10s";
    env_key = "";
    parse_well("try u", &w, &set);
    assert_int_equal(set.duration, 10 * NS_PER_S);
    assert_null(set.key); /* an empty variable is as good as none */
    parse_well("try u --duration 5s", &w, &set);
    assert_int_equal(set.duration, 5 * NS_PER_S);
    env_duration = "soon";
    assert_int_equal(parse(&command, &w, "try u", &set, &err), OPTIONS_BAD);
    assert_string_equal(err.text,
                        "TEST_DURATION wants a duration such as 30s, 2m or 500ms, not 'soon'");
    env_duration = env_key = NULL;
}

static void lists_take_what_is_left_in_order(void **state)
{
    struct words w;
    struct settings set;
    struct err err;
    (void)state;
    assert_int_equal(parse(&list_command, &w, "try u -w a --out o b -- -c", &set, &err),
                     OPTIONS_PARSED);
    assert_string_equal(set.url, "u");
    assert_int_equal(set.rest.n, 3);
    assert_string_equal(set.rest.v[0], "a");
    assert_string_equal(set.rest.v[1], "b");
    assert_string_equal(set.rest.v[2], "-c");
    assert_int_equal(parse(&list_command, &w, "try u", &set, &err), OPTIONS_BAD);
    assert_string_equal(err.text, "FILE is missing; 'tokgrid try --help' shows the usage");
}

static void mistakes_are_named_in_one_line(void **state)
{
    static const struct {
        const char *line, *text;
    } rows[] = {
        {"try", "URL is missing; 'tokgrid try --help' shows the usage"},
        {"try a b c", "unexpected argument 'c'"},
        {"try u --ot x", "unknown option --ot (did you mean --out?)"},
        {"try u --formt=md", "unknown option --formt (did you mean --format?)"},
        {"try u --sekret", "unknown option --sekret; 'tokgrid try --help' lists them"},
        {"try u --zzzz", "unknown option --zzzz; 'tokgrid try --help' lists them"},
        {"try u -wz", "unknown option -z; 'tokgrid try --help' lists them"},
        {"try u --wide=yes", "--wide takes no value"},
        {"try u --out", "--out wants a value: --out FILE"},
        {"try u -wo", "-o wants a value: -o FILE"},
        {"try u --out --wide", "--out wants a value: --out FILE"},
        {"try u --repeats many", "--repeats wants a number, not 'many'"},
        {"try u --repeats 1.5", "--repeats wants a number, not '1.5'"},
        {"try u --repeats 0", "--repeats must be from 1 to 100, not 0"},
        {"try u --repeats=101", "--repeats must be from 1 to 100, not 101"},
        {"try u --limit 2M", "--limit must be from 0 to 1M, not 2M"},
        {"try u --limit -1", "--limit wants a size such as 4096, 16k or 1M, not '-1'"},
        {"try u --duration 1h", "--duration must be from 1s to 10m, not 1h"},
        {"try u --duration x", "--duration wants a duration such as 30s, 2m or 500ms, not 'x'"},
        {"try u --format jsn", "--format: 'jsn' is none of table, md, json (did you mean json?)"},
        {"try u -f pdf", "-f: 'pdf' is none of table, md, json"},
        {"try u -H nocolon", "-H: 'nocolon' has no colon"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct words w;
        struct settings set;
        struct err err;
        assert_int_equal(parse(&command, &w, rows[i].line, &set, &err), OPTIONS_BAD);
        assert_string_equal(err.text, rows[i].text);
        assert_int_equal(err.code, ERR_USAGE);
    }
}

static void help_is_found_whatever_else_is_wrong(void **state)
{
    struct words w;
    struct settings set;
    struct err err;
    (void)state;
    assert_int_equal(parse(&command, &w, "try --help", &set, &err), OPTIONS_HELP);
    assert_int_equal(parse(&command, &w, "try --bad 1 2 3 4 -h", &set, &err), OPTIONS_HELP);
    assert_int_equal(parse(&command, &w, "try -- --help", &set, &err), OPTIONS_PARSED);
    assert_string_equal(set.url, "--help");
}

static void a_command_may_take_nothing(void **state)
{
    struct words w;
    struct settings set;
    struct err err;
    (void)state;
    assert_int_equal(parse(&bare_command, &w, "bare", &set, &err), OPTIONS_PARSED);
    assert_int_equal(parse(&bare_command, &w, "bare x", &set, &err), OPTIONS_BAD);
    assert_int_equal(parse(&bare_command, &w, "bare --x", &set, &err), OPTIONS_BAD);
    assert_int_equal(parse(&bare_command, &w, "bare -x", &set, &err), OPTIONS_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_come_from_the_table),
        cmocka_unit_test(every_spelling_of_a_value_is_the_same),
        cmocka_unit_test(values_are_read_by_their_kind),
        cmocka_unit_test(environment_stands_between_default_and_line),
        cmocka_unit_test(lists_take_what_is_left_in_order),
        cmocka_unit_test(mistakes_are_named_in_one_line),
        cmocka_unit_test(help_is_found_whatever_else_is_wrong),
        cmocka_unit_test(a_command_may_take_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
