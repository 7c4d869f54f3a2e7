/* test_arena.c - what is given out is zeroed, aligned, and stays in its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"

static void test_pieces(void **state)
{
    struct arena a;
    char *kept[300];

    (void)state;
    arena_init(&a);
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < 300; i++) {
            kept[i] = arena_alloc(&a, i * 7);
            assert_int_equal((uintptr_t)kept[i] % 16, 0);
            for (size_t k = 0; k < i * 7; k++)
                assert_int_equal(kept[i][k], 0);
            memset(kept[i], (int)i, i * 7);
        }
        for (size_t i = 0; i < 300; i++)
            for (size_t k = 0; k < i * 7; k++)
                assert_int_equal((unsigned char)kept[i][k], i & 255);
        assert_true(a.used >= 300 * 299 / 2 * 7);
        arena_reset(&a);
        assert_int_equal(a.used, 0);
    }
    arena_release(&a);
    arena_release(&a);
}

static void test_strings(void **state)
{
    struct arena a = {0};

    (void)state;
    assert_string_equal(arena_strdup(&a, "one"), "one");
    assert_null(arena_strdup(&a, NULL));
    assert_string_equal(arena_strndup(&a, "one two", 3), "one");
    assert_string_equal(arena_printf(&a, "%s-%d", "x", 7), "x-7");
    char *large = arena_printf(&a, "%050000d", 1);
    assert_int_equal(strlen(large), 50000);
    int *array = arena_array(&a, 1000, sizeof *array);
    assert_int_equal(array[999], 0);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
