/* summary.h - percentiles, intervals and comparisons of samples. Pure arithmetic.
 *
 * Percentiles of exact samples interpolate linearly between ranks (the definition of R's type 7 and
 * numpy's default). A percentile far in the tail is an accident of a few samples, so each has a
 * floor, the n at which the 0.99-confidence bound of the binomial is met (about 6.64 / (1 - p),
 * measurement.md section 7): p90 wants 64, p99 wants 662. Below its floor a percentile is NAN. */
#ifndef TOKGRID_STATS_SUMMARY_H
#define TOKGRID_STATS_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

enum { SUMMARY_P90_FLOOR = 64, SUMMARY_P99_FLOOR = 662 };

struct summary {
    size_t n;
    double mean, sd;                /* sd with n - 1; NAN below two samples */
    double min, p50, p90, p99, max; /* NAN when n is 0 or below the floor */
};

void summary_sort(double *v, size_t n);                            /* ascending, in place */
double summary_quantile(const double *sorted, size_t n, double q); /* NAN when n is 0 */
double summary_median(double *v, size_t n);                        /* sorts v */
struct summary summary_of(double *v, size_t n);                    /* sorts v */

/* Student's t: the two-sided 95 % point for df degrees of freedom (df >= 1). */
double summary_t95(double df);

struct ci {
    double low, high;   /* NAN when there are too few samples, as is n_effective */
    double n_effective; /* independent samples this is worth */
};

/* Mean of repeats (independent): t interval. n >= 2. */
struct ci ci_of_repeats(const double *v, size_t n);

/* Mean rate from counts in equal consecutive bins of `bin_s` seconds: batch means.
 * Streams are correlated from one bin to the next, so the bins are first joined into batches, the
 * widest that still leave ten; the t interval is over the batches. When the batches themselves are
 * positively correlated (lag-one r > 0) the variance is widened by (1 + r) / (1 - r), capped at 10,
 * and n_effective shrinks alike. Trailing bins that do not fill a batch are left out. Needs 10
 * bins. */
struct ci ci_of_bins(const double *bins, size_t n, double bin_s);

/* Time-weighted average of a step function given as samples (at[i], v[i]), over [from, to]. The
 * value before the first sample is the first sample. `at` ascends. NAN without samples and for an
 * empty span. */
double step_average(const int64_t *at, const double *v, size_t n, int64_t from, int64_t to);

/* Share of [from, to] during which the step function is above `level`. NAN likewise. */
double step_share_above(const int64_t *at, const double *v, size_t n, int64_t from, int64_t to,
                        double level);

/* Trapezoid integral over [from, to] of linearly interpolated samples, in value * seconds. Outside
 * the samples the nearest one holds. NAN below two samples. */
double trapezoid(const int64_t *at, const double *v, size_t n, int64_t from, int64_t to);

#endif
