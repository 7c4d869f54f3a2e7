/* near.h - for tests: comparing doubles. cmocka's own comparison is in single precision, which does
 * not tell nanoseconds of a step apart. */
#ifndef TOKGRID_TESTS_NEAR_H
#define TOKGRID_TESTS_NEAR_H

#include <math.h>

#define assert_near(got, want, most) near_check((got), (want), (most), __FILE__, __LINE__)

static inline void near_check(double got, double want, double most, const char *file, int line)
{
    if (!(fabs(got - want) <= most)) {
        print_error("%.12g is not %.12g within %g\n", got, want, most);
        _fail(file, line);
    }
}

#endif
