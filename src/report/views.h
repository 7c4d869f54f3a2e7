/* views.h - the figures that a matrix can show, and the scale its colours stand on. */
#ifndef TOKGRID_REPORT_VIEWS_H
#define TOKGRID_REPORT_VIEWS_H

#include <stdbool.h>

#include "model/result.h"
#include "report/lang.h"

struct view {
    const char *id; /* for anchors: "ttft" */
    enum word name; /* for the switch: "TTFT" */
    enum word by;   /* what the matrix shows then */
    enum word unit; /* behind the ends of the scale */
    int decimals;   /* -1: as rates are printed */
    double (*value)(const struct result *r, const struct cell *c); /* NAN: none */
};

/* total, per request, TTFT, time between tokens, share of the memory-bandwidth bound. The last is
 * known only where the server's facts give weight_bytes_per_token and memory_bandwidth_bytes_s. */
extern const struct view views[];
extern const size_t view_count;

bool view_has_any(const struct view *v, const struct result *r);
const char *view_text(const struct view *v, const struct lang *l, char *out, double value);

/* What memory bandwidth allows one request: every token needs the weights read once, whatever else
 * is read besides. From the server's facts; NAN: unknown. */
struct bound {
    double bytes_per_token, bytes_s; /* weight_bytes_per_token, memory_bandwidth_bytes_s */
    double tok_s;
};
void bound_get(const struct result *r, struct bound *ret);

/* Rates and latencies span powers of ten, so a scale steps by ratio. */
struct scale {
    double least, most; /* NAN: no value */
};

void scale_init(struct scale *s);
void scale_add(struct scale *s, double value);
struct scale scale_of(const struct view *v, const struct result *r);

/* 0 .. steps - 1, or -1 for a value that has no place: NAN, zero. */
int scale_step(const struct scale *s, double value, int steps);

#endif
