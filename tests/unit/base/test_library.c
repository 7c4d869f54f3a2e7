/* What is there, what is not, what is too old; the C library's own mathematics serves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/library.h"

static const char present[] = "libm.so.6";

struct calls {
    double (*floor)(double);
    double (*ceil)(double);
    double (*nothing)(double);
};

static const struct library_call rows[] = {
    {offsetof(struct calls, floor), "floor", NULL},
    {offsetof(struct calls, ceil), "tokgrid_ceil_v2", "ceil"},
    {offsetof(struct calls, nothing), "tokgrid_no_such_call", NULL},
};

static void test_fills_what_there_is(void **state)
{
    struct calls c = {0};

    (void)state;
    assert_non_null(library_open(present, rows, ARRAY_LEN(rows), &c));
    assert_true(c.floor(2.5) == 2);
    assert_true(c.ceil(2.5) == 3); /* by its older name */
    assert_null(c.nothing);
}

static void test_not_installed(void **state)
{
    struct calls c = {0};
    struct library l = {.file = "libtokgrid-no-such.so.1",
                        .package = "libtokgrid1",
                        .calls = rows,
                        .count = 2,
                        .table = &c};
    struct err err;

    (void)state;
    assert_null(library_open(l.file, rows, ARRAY_LEN(rows), &c));
    assert_false(library_need(&l, &err));
    assert_int_equal(err.code, ERR_SYSTEM);
    assert_non_null(strstr(err.text, "libtokgrid-no-such.so.1 cannot be opened"));
    assert_non_null(strstr(err.text, "install the package libtokgrid1"));
}

static void test_too_old(void **state)
{
    struct calls c = {0};
    struct library l = {
        .file = present, .package = "libc6", .calls = rows, .count = ARRAY_LEN(rows), .table = &c};
    struct err err;

    (void)state;
    assert_false(library_need(&l, &err));
    assert_string_equal(err.text, "libm.so.6 has no tokgrid_no_such_call: install a newer package "
                                  "libc6");
    assert_false(library_need(&l, &err)); /* and again */
}

static int starts;

static bool start(struct err *err)
{
    return ++starts > 1 || err_set(err, ERR_SYSTEM, "not today");
}

static void test_starts_once(void **state)
{
    struct calls c = {0};
    struct library l = {.file = present,
                        .package = "libc6",
                        .calls = rows,
                        .count = 2,
                        .table = &c,
                        .start = start};
    struct err err;

    (void)state;
    assert_false(library_need(&l, &err));
    assert_string_equal(err.text, "not today");
    assert_true(library_need(&l, &err)); /* what failed may work later */
    assert_true(library_need(&l, &err));
    assert_int_equal(starts, 2);
    assert_true(c.floor(2.5) == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fills_what_there_is),
        cmocka_unit_test(test_not_installed),
        cmocka_unit_test(test_too_old),
        cmocka_unit_test(test_starts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
