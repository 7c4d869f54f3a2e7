/* hist.h - counts durations in buckets whose width grows with the value.
 *
 * Log-linear: 128 equal steps in each power of two, so a quantile is within 1/128 (0.8 %) of a true
 * sample; below 128 ns it is exact. Range 0 to 2^41 ns (36 minutes); longer ones fall into the last
 * bucket but `max_ns` stays exact. Fixed size (35 KB), never allocates after hist_new, can be
 * merged. Not shared: one thread records, others merge after it stopped. */
#ifndef TOKGRID_STATS_HIST_H
#define TOKGRID_STATS_HIST_H

#include <stdint.h>

enum { HIST_STEPS = 128, HIST_POWERS = 35, HIST_BUCKETS = HIST_STEPS * HIST_POWERS };

struct hist {
    uint64_t total;
    int64_t max_ns;
    uint64_t bucket[HIST_BUCKETS]; /* all zero = empty */
};

void hist_reset(struct hist *h);
void hist_record(struct hist *h, int64_t span_ns); /* negative counts as 0 */
/* Take back one hist_record of that span. When it was the longest, max_ns becomes the middle of the
 * highest bucket that is left. */
void hist_forget(struct hist *h, int64_t span_ns);
void hist_merge(struct hist *into, const struct hist *from);

/* The middle of the smallest bucket such that at least q of the samples are in it or below it
 * (nearest rank), never above max_ns; -1 when empty. q in [0, 1]; hist_quantile_ns(h, 1) is the
 * exact maximum. */
int64_t hist_quantile_ns(const struct hist *h, double q);

#endif
