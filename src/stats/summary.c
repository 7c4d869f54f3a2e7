/* summary.c - sorts, sums and integrates; the one thing looked up nowhere is Student's t. */
#include "stats/summary.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void summary_sort(double *v, size_t n)
{
    if (n > 1)
        qsort(v, n, sizeof *v, ascending);
}

double summary_quantile(const double *sorted, size_t n, double q)
{
    if (n == 0)
        return NAN;
    double rank = q * (double)(n - 1);
    size_t below = rank > 0 ? (size_t)rank : 0;
    if (below >= n - 1)
        return sorted[n - 1];
    return sorted[below] + (rank - (double)below) * (sorted[below + 1] - sorted[below]);
}

double summary_median(double *v, size_t n)
{
    summary_sort(v, n);
    return summary_quantile(v, n, 0.5);
}

static double mean_of(const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return n ? sum / (double)n : NAN;
}

static double squares_about(const double *v, size_t n, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (v[i] - mean) * (v[i] - mean);
    return sum;
}

struct summary summary_of(double *v, size_t n)
{
    struct summary s = {n, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (n == 0)
        return s;
    summary_sort(v, n);
    s.mean = mean_of(v, n);
    if (n >= 2)
        s.sd = sqrt(squares_about(v, n, s.mean) / (double)(n - 1));
    s.min = v[0];
    s.p50 = summary_quantile(v, n, 0.5);
    if (n >= SUMMARY_P90_FLOOR)
        s.p90 = summary_quantile(v, n, 0.9);
    if (n >= SUMMARY_P99_FLOOR)
        s.p99 = summary_quantile(v, n, 0.99);
    s.max = v[n - 1];
    return s;
}

/* P(|T| < t). With t = sqrt(df) tan(a) the density becomes cos(a)^(df - 1), which Simpson's rule
 * integrates to 1e-9 in 128 steps; its whole integral is a ratio of gamma functions. */
static double t_within(double t, double df)
{
    enum { STEPS = 128 };
    double step = atan(t / sqrt(df)) / STEPS;
    double sum = 1;
    for (int i = 1; i <= STEPS; i++)
        sum += pow(cos(i * step), df - 1) * (i == STEPS ? 1 : i % 2 ? 4 : 2);
    double whole = sqrt(M_PI) / 2 * tgamma(df / 2) / tgamma((df + 1) / 2);
    return sum * step / 3 / whole;
}

double summary_t95(double df)
{
    if (df > 30) { /* Cornish-Fisher about the normal point z, good to 1e-7 from here on */
        double z = 1.959963984540054, z2 = z * z;
        double t1 = z * (z2 + 1) / 4;
        double t2 = z * ((5 * z2 + 16) * z2 + 3) / 96;
        double t3 = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
        double t4 = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
        return z + (t1 + (t2 + (t3 + t4 / df) / df) / df) / df;
    }
    double low = 1.9, high = 12.8; /* t95 falls from 12.706 at df = 1 to 2.042 at df = 30 */
    while (high - low > 1e-7) {
        double middle = (low + high) / 2;
        if (t_within(middle, df) < 0.95)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

struct ci ci_of_repeats(const double *v, size_t n)
{
    if (n < 2)
        return (struct ci){NAN, NAN, NAN};
    double mean = mean_of(v, n);
    double variance = squares_about(v, n, mean) / (double)(n - 1);
    double half = summary_t95((double)(n - 1)) * sqrt(variance / (double)n);
    return (struct ci){mean - half, mean + half, (double)n};
}

enum { MIN_BATCHES = 10, MAX_WIDENING = 10 };

/* Mean of batch `i`, per second. */
static double batch_rate(const double *bins, size_t width, size_t i, double bin_s)
{
    return mean_of(bins + i * width, width) / bin_s;
}

struct ci ci_of_bins(const double *bins, size_t n, double bin_s)
{
    if (n < MIN_BATCHES)
        return (struct ci){NAN, NAN, NAN};
    size_t width = n / MIN_BATCHES, batches = n / width;
    double mean = mean_of(bins, batches * width) / bin_s;
    double squares = 0, products = 0, previous = 0;
    for (size_t i = 0; i < batches; i++) {
        double off = batch_rate(bins, width, i, bin_s) - mean;
        squares += off * off;
        products += i ? off * previous : 0;
        previous = off;
    }
    double r = squares > 0 ? products / squares : 0;
    double widening = r > 0 ? fmin((1 + r) / (1 - r), MAX_WIDENING) : 1;
    double variance = squares / (double)(batches - 1) * widening;
    double half = summary_t95((double)(batches - 1)) * sqrt(variance / (double)batches);
    return (struct ci){mean - half, mean + half, (double)batches / widening};
}

/* The length of step i inside [from, to]: from its instant (the first one: from ever) up to the
 * next one's (the last one: for ever). */
static double step_length(const int64_t *at, size_t n, size_t i, int64_t from, int64_t to)
{
    int64_t begin = i > 0 && at[i] > from ? at[i] : from;
    int64_t end = i + 1 < n && at[i + 1] < to ? at[i + 1] : to;
    return end > begin ? (double)(end - begin) : 0;
}

double step_average(const int64_t *at, const double *v, size_t n, int64_t from, int64_t to)
{
    if (n == 0 || to <= from)
        return NAN;
    double area = 0;
    for (size_t i = 0; i < n; i++) {
        double length = step_length(at, n, i, from, to);
        area += length > 0 ? v[i] * length : 0;
    }
    return area / (double)(to - from);
}

double step_share_above(const int64_t *at, const double *v, size_t n, int64_t from, int64_t to,
                        double level)
{
    if (n == 0 || to <= from)
        return NAN;
    double above = 0;
    for (size_t i = 0; i < n; i++)
        above += v[i] > level ? step_length(at, n, i, from, to) : 0;
    return above / (double)(to - from);
}

/* Height at `t` on the line through samples i and i + 1. */
static double height_at(const int64_t *at, const double *v, size_t i, int64_t t)
{
    double share = (double)(t - at[i]) / (double)(at[i + 1] - at[i]);
    return v[i] + share * (v[i + 1] - v[i]);
}

double trapezoid(const int64_t *at, const double *v, size_t n, int64_t from, int64_t to)
{
    if (n < 2 || to < from)
        return NAN;
    double area = 0; /* value * nanoseconds */
    if (from < at[0])
        area += v[0] * (double)((to < at[0] ? to : at[0]) - from);
    if (to > at[n - 1])
        area += v[n - 1] * (double)(to - (from > at[n - 1] ? from : at[n - 1]));
    for (size_t i = 0; i + 1 < n; i++) {
        int64_t begin = at[i] > from ? at[i] : from;
        int64_t end = at[i + 1] < to ? at[i + 1] : to;
        if (end > begin)
            area +=
                (height_at(at, v, i, begin) + height_at(at, v, i, end)) / 2 * (double)(end - begin);
    }
    return area / 1e9;
}
