/* test_near.c - what counts as a slip of the finger. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cmd/near.h"

static const char *const commands[] = {"run", "probe", "show", "hardware", "help", "version"};

static void near_finds_what_was_meant(void **state)
{
    static const struct {
        const char *typed, *match;
    } rows[] = {
        {"rnu", "run"},    /* two letters swapped */
        {"prob", "probe"}, /* one missing */
        {"sshow", "show"}, /* one too many */
        {"hellp", "help"},
        {"hardwear", "hardware"}, /* two changed, eight typed */
        {"hard", "hardware"},     /* a beginning */
        {"vers", "version"},
        {"he", NULL}, /* too short for a beginning */
        {"xyz", NULL},
        {"", NULL},
        {"thiswordislongerthananycommandthatanyonewouldtype", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct near near = {.word = rows[i].typed};
        for (size_t j = 0; j < ARRAY_LEN(commands); j++)
            near_offer(&near, commands[j]);
        if (rows[i].match)
            assert_string_equal(near.match, rows[i].match);
        else
            assert_null(near.match);
    }
}

static void near_prefers_the_smaller_slip(void **state)
{
    (void)state;
    struct near near = {.word = "contexs"};
    near_offer(&near, "content"); /* two changes */
    near_offer(&near, "contexts");
    near_offer(&near, "context"); /* one change as well: the first stays */
    assert_string_equal(near.match, "contexts");

    near = (struct near){.word = "pre"};
    near_offer(&near, "prefill-mode"); /* a beginning only */
    near_offer(&near, "pro");
    assert_string_equal(near.match, "pro");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_finds_what_was_meant),
        cmocka_unit_test(near_prefers_the_smaller_slip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
