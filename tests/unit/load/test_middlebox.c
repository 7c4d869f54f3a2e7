/* test_middlebox.c - whose limit it was: by status, or by the age of what broke. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/num.h"
#include "load/middlebox.h"

static void test_gave_up(void **state)
{
    static const struct {
        int status;
        int64_t tokens;
        double age_s;
        bool gave_up;
    } rows[] = {
        {504, 0, 3, true},    {524, 0, 118, true},   {522, 0, 15, true},  {0, 0, 60.02, true},
        {200, 0, 59.4, true}, {200, 0, 100.9, true}, {502, 0, 125, true}, {0, 0, 300, true},
        {0, 0, 58.9, false},  {0, 0, 61.1, false},   {200, 0, 0, false},  {500, 0, 2, false},
        {400, 0, 60, false}, /* an answer of the engine's, whenever it comes */
        {200, 5, 60, false}, /* it was speaking */
        {504, 1, 60, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (middlebox_gave_up(rows[i].status, rows[i].tokens,
                              (int64_t)(rows[i].age_s * (double)NS_PER_S)) != rows[i].gave_up)
            fail_msg("row %zu", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gave_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
