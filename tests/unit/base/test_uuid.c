/* Shape, version and variant bits, and order in time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/clock.h"
#include "base/uuid.h"

static void test_shape(void **state)
{
    char a[UUID_TEXT_MAX], b[UUID_TEXT_MAX];
    (void)state;
    uuid_v7(a);
    uuid_v7(b);
    assert_true(uuid_valid(a));
    assert_int_equal(a[14], '7');
    assert_non_null(strchr("89ab", a[19]));
    assert_string_not_equal(a, b);
}

static void test_sorts_by_time(void **state)
{
    char a[UUID_TEXT_MAX], b[UUID_TEXT_MAX];
    (void)state;
    uuid_v7(a);
    int64_t begin = clock_realtime();
    while (clock_realtime() - begin < 3000000)
        continue;
    uuid_v7(b);
    assert_true(strcmp(a, b) < 0);
}

static void test_valid(void **state)
{
    static const struct {
        const char *text;
        bool valid;
    } cases[] = {
        {"0193a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b", true},
        {"0193A1B2-C3D4-7E5F-8A6B-7C8D9E0F1A2B", true},
        {"0193a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2", false},
        {"0193a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2bb", false},
        {"0193a1b2xc3d4-7e5f-8a6b-7c8d9e0f1a2b", false},
        {"0193a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2g", false},
        {"", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(uuid_valid(cases[i].text), cases[i].valid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape),
        cmocka_unit_test(test_sorts_by_time),
        cmocka_unit_test(test_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
