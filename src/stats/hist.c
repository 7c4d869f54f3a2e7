/* hist.c - bucket = power of two, then its 128 steps: the index is the value's leading eight bits
 * and how far they were shifted. */
#include "stats/hist.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { STEP_BITS = 7 };

_Static_assert(HIST_STEPS == 1 << STEP_BITS, "a power has 2^STEP_BITS steps");

void hist_reset(struct hist *h)
{
    memset(h, 0, sizeof *h);
}

/* Power 0 holds 0..127 one by one; power k >= 1 holds [2^(k+6), 2^(k+7)) in steps of 2^(k-1). */
static size_t bucket_of(int64_t span_ns)
{
    uint64_t v = (uint64_t)span_ns;
    if (v < HIST_STEPS)
        return (size_t)v;
    unsigned shift = 63u - (unsigned)__builtin_clzll(v) - STEP_BITS;
    size_t index = ((size_t)shift + 1) * HIST_STEPS + (size_t)(v >> shift) - HIST_STEPS;
    return index < HIST_BUCKETS ? index : HIST_BUCKETS - 1;
}

static int64_t middle_of(size_t index)
{
    if (index < HIST_STEPS)
        return (int64_t)index;
    unsigned shift = (unsigned)(index / HIST_STEPS) - 1;
    int64_t low = (int64_t)(index % HIST_STEPS + HIST_STEPS) << shift;
    return low + ((INT64_C(1) << shift) >> 1);
}

void hist_record(struct hist *h, int64_t span_ns)
{
    if (span_ns < 0)
        span_ns = 0;
    h->total++;
    h->bucket[bucket_of(span_ns)]++;
    if (span_ns > h->max_ns)
        h->max_ns = span_ns;
}

void hist_forget(struct hist *h, int64_t span_ns)
{
    size_t i = bucket_of(span_ns > 0 ? span_ns : 0);
    assert(h->bucket[i] > 0);
    h->total--;
    h->bucket[i]--;
    if (span_ns < h->max_ns)
        return;
    for (i = HIST_BUCKETS - 1; i > 0 && h->bucket[i] == 0;)
        i--;
    int64_t middle = middle_of(i);
    h->max_ns = middle < h->max_ns ? middle : h->max_ns;
}

void hist_merge(struct hist *into, const struct hist *from)
{
    into->total += from->total;
    for (size_t i = 0; i < HIST_BUCKETS; i++)
        into->bucket[i] += from->bucket[i];
    if (from->max_ns > into->max_ns)
        into->max_ns = from->max_ns;
}

int64_t hist_quantile_ns(const struct hist *h, double q)
{
    if (h->total == 0)
        return -1;
    if (q >= 1)
        return h->max_ns;
    /* nearest rank, 1-based; the hair taken off keeps 0.07 * 100 from becoming rank 8 */
    double exact = q * (double)h->total;
    uint64_t rank = exact > 0 ? (uint64_t)ceil(exact - exact * 1e-12) : 1;
    uint64_t below = 0;
    size_t i = 0;
    while (i < HIST_BUCKETS - 1 && below + h->bucket[i] < rank)
        below += h->bucket[i++];
    int64_t middle = middle_of(i);
    return middle < h->max_ns ? middle : h->max_ns; /* a quantile never exceeds the maximum */
}
