/* test_open_files.c - the limit rises as far as the hard one, and what is enough is left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "base/open_files.h"

static struct rlimit before;

static int keep_limit(void **state)
{
    (void)state;
    return getrlimit(RLIMIT_NOFILE, &before);
}

static int restore_limit(void **state)
{
    (void)state;
    return setrlimit(RLIMIT_NOFILE, &before);
}

static rlim_t set_soft(rlim_t n)
{
    const struct rlimit limit = {n, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return n;
}

static rlim_t soft(void)
{
    struct rlimit now;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    return now.rlim_cur;
}

static void enough_is_left_alone(void **state)
{
    (void)state;
    set_soft(200);
    assert_int_equal(open_files_raise(200), 200);
    assert_int_equal(soft(), 200);
}

static void too_few_become_as_many_as_there_may_be(void **state)
{
    (void)state;
    set_soft(200);
    assert_int_equal(open_files_raise(201), before.rlim_max);
    assert_int_equal(soft(), before.rlim_max);
}

static void connections_need_more_files_than_they_are(void **state)
{
    struct err err = {0};
    (void)state;
    set_soft(200);
    assert_true(open_files_for(100, &err));
    assert_int_equal(soft(), 200);
    assert_true(open_files_for(190, &err));
    assert_int_equal(soft(), before.rlim_max);
}

static void more_than_the_system_allows_is_said(void **state)
{
    struct err err = {0};
    (void)state;
    if (before.rlim_max >= INT32_MAX)
        skip();
    assert_false(open_files_for(INT32_MAX, &err));
    assert_int_equal(err.code, ERR_SYSTEM);
    assert_non_null(strstr(err.text, "ulimit -Hn"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(enough_is_left_alone, restore_limit),
        cmocka_unit_test_teardown(too_few_become_as_many_as_there_may_be, restore_limit),
        cmocka_unit_test_teardown(connections_need_more_files_than_they_are, restore_limit),
        cmocka_unit_test_teardown(more_than_the_system_allows_is_said, restore_limit),
    };
    return cmocka_run_group_tests(tests, keep_limit, NULL);
}
