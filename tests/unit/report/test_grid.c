/* Alignment in terminal columns, measured before drawn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/grid.h"

static void add_row(struct grid *g, const char *a, const char *b, const char *c, int look)
{
    grid_add(g, a, GRID_PLAIN);
    grid_add(g, b, look);
    grid_add(g, c, GRID_PLAIN);
}

static void test_alignment(void **state)
{
    static const bool left[] = {true, false, false};
    struct grid g;
    struct buf b;
    (void)state;
    buf_init(&b, 4096);
    grid_init(&g, 3, 2, left, false);
    add_row(&g, "name", "1", "22", GRID_PLAIN);
    add_row(&g, "\xE4\xBD\xA0\xE5\xA5\xBD\xE5\x90\x97", "100", "", GRID_HEAD); /* six columns */
    add_row(&g, "e\xCC\x81", "", "", GRID_DIM); /* e and a combining accent: one */
    assert_int_equal(grid_width(&g), 6 + 2 + 3 + 2 + 2);
    grid_draw(&g, 1, false, &b);
    assert_string_equal(b.p, " name      1  22\n"
                             " \xE4\xBD\xA0\xE5\xA5\xBD\xE5\x90\x97  100\n"
                             " e\xCC\x81\n");
    buf_reset(&b);
    grid_draw(&g, 0, true, &b);
    assert_string_equal(b.p, "name      1  22\n"
                             "\xE4\xBD\xA0\xE5\xA5\xBD\xE5\x90\x97  \033[1m100\033[0m\n"
                             "e\xCC\x81\n");
    grid_release(&g);
    buf_release(&b);
}

static void test_ascii_is_measured_as_shown(void **state)
{
    struct grid g;
    struct buf b;
    (void)state;
    buf_init(&b, 4096);
    grid_init(&g, 1, 2, NULL, true);
    grid_add(&g, "a…", GRID_PLAIN);
    grid_add(&g, "—", GRID_PLAIN);
    assert_int_equal(grid_width(&g), 4);
    grid_draw(&g, 0, false, &b);
    assert_string_equal(b.p, "a...\n   -\n");
    grid_release(&g);
    grid_release(&g);
    buf_release(&b);
}

static void test_every_look_has_a_code(void **state)
{
    (void)state;
    assert_string_equal(grid_look_code(GRID_PLAIN), "");
    for (int look = GRID_HEAD; look < GRID_HEAT + GRID_HEAT_STEPS; look++)
        assert_int_equal(grid_look_code(look)[0], 0x1B);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_ascii_is_measured_as_shown),
        cmocka_unit_test(test_every_look_has_a_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
