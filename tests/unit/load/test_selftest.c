/* test_selftest.c - when a load was carried: against rates worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "load/selftest.h"

/* 50 tokens, 10 ms apart, after 50 ms: 540 ms a request, 92.6 tokens a second. */
static void test_held(void **state)
{
    static const struct {
        int concurrency;
        int64_t gap_ms, failed;
        double events_per_s, late_us;
        bool held;
    } rows[] = {
        {1, 10, 0, 92.6, 100, true},
        {1, 10, 0, 90.8, 100, true},
        {1, 10, 0, 90.7, 100, false},
        {1000, 10, 0, 92592, 999, true},
        {1000, 10, 0, 92592, 1001, false}, /* the server was late, by more than a millisecond */
        {1000, 10, 0, 80000, 100, false},
        {1000, 10, 1, 92592, 100, false}, /* one request failed */
        {1000, 25, 0, 39216, 2400, true}, /* 1,275 ms a request */
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct selftest_row row = {.load = {.concurrency = rows[i].concurrency,
                                                  .gap_ms = rows[i].gap_ms,
                                                  .tokens = 50,
                                                  .bundle = 1},
                                         .failed = rows[i].failed,
                                         .events_per_s = rows[i].events_per_s,
                                         .server_late_us_p99 = rows[i].late_us};
        if (selftest_held(&row) != rows[i].held)
            fail_msg("row %zu", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_held)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
