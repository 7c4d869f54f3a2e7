/* test_commands.c - walks every row of every command's table, and sets manuals. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "cmd/commands.h"
#include "cmd/manual.h"

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static bool ends_sentence(const char *text)
{
    return text[strlen(text) - 1] == '.';
}

static void check_option(const struct command *c, const struct option_row *row)
{
    for (const char *p = row->name; *p; p++)
        assert_true(islower((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '-');
    assert_true(row->help && ends_sentence(row->help));
    assert_int_equal(row->kind == OPTION_KIND_FLAG, row->value == NULL);
    assert_int_equal(row->kind == OPTION_KIND_CHOICE, row->choices != NULL);
    assert_int_equal(row->kind == OPTION_KIND_CUSTOM, row->parse != NULL);
    assert_true(!row->env || text_starts(row->env, "TOKGRID_"));
    assert_string_not_equal(row->name, "help");
    assert_int_not_equal(row->letter, 'h');
    for (const struct option_row *other = c->options; other < row; other++) {
        assert_string_not_equal(row->name, other->name);
        assert_true(!row->letter || row->letter != other->letter);
    }
}

static void every_row_is_complete_and_unique(void **state)
{
    (void)state;
    for (size_t i = 0; commands_all[i]; i++) {
        const struct command *c = commands_all[i];
        assert_true(c->name && c->run && c->summary && !ends_sentence(c->summary));
        assert_true(ends_sentence(c->about));
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(c->name, commands_all[j]->name);
        for (const struct option_row *row = c->options; row && row->name; row++)
            check_option(c, row);
        for (const struct operand_row *row = c->operands; row && row->name; row++) {
            assert_true(ends_sentence(row->help));
            if (row->arity == OPERAND_IS_LIST)
                assert_null(row[1].name);
        }
        for (const char *const *line = c->examples; line && line[0]; line += 2)
            assert_true(line[1] && ends_sentence(line[1]));
    }
}

/* The largest settings struct of any command; options_parse writes into it blindly here. */
enum { SETTINGS_MAX = 64 << 10 };

static void every_default_is_one_its_own_parser_takes(void **state)
{
    (void)state;
    for (size_t i = 0; commands_all[i]; i++) {
        char name[] = "x", operand[] = "y";
        char *argv[] = {name, operand, operand, operand, NULL};
        struct err err = {0};
        void *settings = mem_alloc(SETTINGS_MAX);
        const struct operand_row *row = commands_all[i]->operands;
        int argc = 1;
        for (; row && row->name; row++)
            argc++;
        assert_true((size_t)argc < ARRAY_LEN(argv));
        if (options_parse(commands_all[i], argc, argv, no_env, settings, &err) != OPTIONS_PARSED)
            fail_msg("%s: %s", commands_all[i]->name, err.text);
        free(settings);
    }
}

static void commands_are_found_by_name(void **state)
{
    struct err err = {0};
    (void)state;
    assert_ptr_equal(commands_find("version", &err), &cmd_version);
    assert_null(commands_find("vresion", &err));
    assert_string_equal(err.text, "unknown command 'vresion' (did you mean version?)");
    assert_null(commands_find("zzz", &err));
    assert_string_equal(err.text, "unknown command 'zzz'; 'tokgrid help' lists them");
    assert_int_equal(err.code, ERR_USAGE);
}

static size_t widest_line(const char *text)
{
    size_t widest = 0;
    for (; *text; text += strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n')) {
        size_t columns = text_width(text, strcspn(text, "\n"));
        widest = columns > widest ? columns : widest;
    }
    return widest;
}

static void manuals_fit_their_width(void **state)
{
    static const size_t widths[] = {MANUAL_WIDTH_MIN, 80, MANUAL_WIDTH_MAX};
    (void)state;
    for (size_t i = 0; commands_all[i]; i++) {
        for (size_t j = 0; j < ARRAY_LEN(widths); j++) {
            struct buf text;
            buf_init(&text, MANUAL_MAX_BYTES);
            manual_help(commands_all[i], widths[j], &text);
            assert_false(text.overflow);
            /* usage and examples are lines to copy: they are never broken */
            if (!commands_all[i]->examples && widths[j] >= 80)
                assert_true(widest_line(text.p) <= widths[j]);
            assert_null(strstr(text.p, " \n"));
            buf_release(&text);
        }
    }
}

/* ---- one command with everything in it, and how it is set ---- */

struct shown {
    const char *out, *url;
    int mode;
    bool quiet, secret;
    int64_t n;
};

static const char *const modes[] = {"near", "far", NULL};

static const struct option_row shown_options[] = {
    {.name = "out",
     .letter = 'o',
     OPTION_STRING(struct shown, out),
     .value = "FILE",
     .otherwise = "`runs/TIME.json`",
     .help = "Where it goes."},
    {.name = "secret", .hidden = true, OPTION_FLAG(struct shown, secret), .help = "Hidden."},
    {.name = "mode",
     OPTION_CHOICE(struct shown, mode, modes),
     .value = "NAME",
     .initial = "near",
     .env = "TOKGRID_MODE",
     .help = "How far to look; far takes much longer than anybody would want to wait.",
     .group = "Looking"},
    {.name = "a-name-that-is-too-long", OPTION_INT(struct shown, n), .value = "N", .help = "Why."},
    {0},
};
static const struct operand_row shown_operands[] = {
    {.name = "URL", OPERAND_ONE(struct shown, url), .help = "The server."},
    {0},
};
static const char *const shown_examples[] = {"tokgrid see -o- http://a", "Sees it.", NULL};
static const struct command shown = {
    .name = "see",
    .summary = "look at it",
    .about = "Looks.\n\n.It's \"done\" with `see -x`, a \\ and ~.",
    .options = shown_options,
    .operands = shown_operands,
    .examples = shown_examples,
};

static void help_is_set_in_columns(void **state)
{
    struct buf text;
    (void)state;
    buf_init(&text, MANUAL_MAX_BYTES);
    manual_help(&shown, 60, &text);
    assert_string_equal(text.p, "usage: tokgrid see [OPTIONS] URL\n"
                                "\n"
                                "Looks.\n"
                                "\n"
                                ".It's \"done\" with `see -x`, a \\ and ~.\n"
                                "\n"
                                "Arguments:\n"
                                "  URL  The server.\n"
                                "\n"
                                "Options:\n"
                                "  -o, --out FILE   Where it goes. Default: `runs/TIME.json`.\n"
                                "\n"
                                "Looking:\n"
                                "      --mode NAME  How far to look; far takes much longer\n"
                                "                   than anybody would want to wait. One of\n"
                                "                   `near`, `far`. Default: near.\n"
                                "                   Environment: `TOKGRID_MODE`.\n"
                                "      --a-name-that-is-too-long N\n"
                                "                   Why.\n"
                                "\n"
                                "Help:\n"
                                "  -h, --help       Show this text.\n"
                                "\n"
                                "Examples:\n"
                                "  tokgrid see -o- http://a\n"
                                "      Sees it.\n");
    buf_release(&text);
}

static void roff_escapes_what_roff_reads(void **state)
{
    struct buf text;
    (void)state;
    buf_init(&text, MANUAL_MAX_BYTES);
    manual_roff(&shown, "1.2", &text);
    assert_non_null(strstr(text.p, ".TH \"TOKGRID\\-SEE\" \"1\" \"\" \"tokgrid 1.2\""));
    assert_non_null(strstr(text.p, ".SH \"NAME\"\ntokgrid\\-see \\- look at it\n"));
    assert_non_null(strstr(text.p, "\\fBtokgrid see\\fR [OPTIONS] URL\n"));
    assert_non_null(strstr(text.p, "Looks.\n.PP\n\\&.It\\(aqs \\(dqdone\\(dq with "
                                   "\\fBsee \\-x\\fR, a \\(rs and \\(ti.\n"));
    assert_non_null(strstr(text.p, ".SS \"Looking\"\n.TP\n\\fB\\-\\-mode NAME\\fR\n"));
    assert_non_null(strstr(text.p, ".TP\n\\fBtokgrid see \\-o\\- http://a\\fR\nSees it.\n"));
    assert_null(strstr(text.p, "secret"));
    buf_release(&text);
}

static void overviews_name_every_command(void **state)
{
    struct buf text, roff;
    char line[128];
    (void)state;
    buf_init(&text, MANUAL_MAX_BYTES);
    buf_init(&roff, MANUAL_MAX_BYTES);
    manual_overview(commands_all, 1000, &text); /* no summary is broken */
    manual_roff_overview(commands_all, "1.2", &roff);
    for (size_t i = 0; commands_all[i]; i++) {
        assert_non_null(strstr(text.p, commands_all[i]->summary));
        snprintf(line, sizeof line, ".BR tokgrid\\-%s (1)", commands_all[i]->name);
        assert_non_null(strstr(roff.p, line));
    }
    buf_release(&text);
    buf_release(&roff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_complete_and_unique),
        cmocka_unit_test(every_default_is_one_its_own_parser_takes),
        cmocka_unit_test(commands_are_found_by_name),
        cmocka_unit_test(manuals_fit_their_width),
        cmocka_unit_test(help_is_set_in_columns),
        cmocka_unit_test(roff_escapes_what_roff_reads),
        cmocka_unit_test(overviews_name_every_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
