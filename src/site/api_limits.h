/* api_limits.h - how often one user, or one address, may do what changes something.
 *
 * A form and the call of the API that does the same take from the same bucket. */
#ifndef TOKGRID_SITE_API_LIMITS_H
#define TOKGRID_SITE_API_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* One bucket for all calls and forms of a row. */
enum api_limit {
    LIMIT_NONE,
    LIMIT_UPLOAD,
    LIMIT_WRITE,
    LIMIT_REPORT,
    LIMIT_DEVICE,
    LIMIT_POLL,
    LIMIT_COUNT
};

struct api_limit_row {
    const char *what; /* of the store's key, and of the document */
    int count;
    int64_t window_ms;
    bool by_address; /* else by user */
};
extern const struct api_limit_row api_limits[LIMIT_COUNT];

#endif
