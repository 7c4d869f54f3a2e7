/* prom.h - metrics as Prometheus text, and the histograms that serving engines keep.
 *
 * The writer prints families in the order they are called; how numbers and label sets look is the
 * engine's own habit and set once. */
#ifndef TOKGRID_ENGINE_PROM_H
#define TOKGRID_ENGINE_PROM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { PROM_MAX_BUCKETS = 24 };

/* Counts of values up to each bound. `bounds` is borrowed, ascending, without +Inf. */
struct prom_histogram {
    const double *bounds;
    size_t bound_count;
    uint64_t bucket[PROM_MAX_BUCKETS + 1]; /* not cumulative; the last one is +Inf's */
    uint64_t n;
    double sum;
};

void prom_observe(struct prom_histogram *h, double value);

struct prom {
    struct buf *out;
    const char *before, *after; /* labels that sort before and behind a family's own */
    bool python;                /* numbers as Python's client prints them: 12.0 */
    double created_at;          /* > 0: each counter and histogram says since when it counts */
};

/* A family of one sample. `type` is "gauge" or "counter". */
void prom_value(struct prom *p, const char *name, const char *type, const char *help, double value);

/* A family of several, told apart by one label. */
struct prom_part {
    const char *label_value;
    double value;
};
void prom_parts(struct prom *p, const char *name, const char *type, const char *help,
                const char *label, const struct prom_part *parts, size_t n);

void prom_histogram_write(struct prom *p, const char *name, const char *help,
                          const struct prom_histogram *h);

/* Append `name="value"` with the value escaped. */
void prom_label(struct buf *out, const char *name, const char *value);

#endif
