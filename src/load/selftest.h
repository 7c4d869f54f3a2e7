/* selftest.h - how wrong this client is on this machine: the receive path that measures servers,
 * held against one whose answers are due at known instants (engine/clockwork.h).
 *
 * C streams run at once, each restarted when it ends; their starts are spread evenly over the
 * length of a request (two seconds at most), so that tokens are due and requests end all the time
 * and not C at a time. Counting begins half a second after the last start. What is reported
 * includes the loopback, the kernel and the server's own lateness: the client is never better than
 * its row.
 */
#ifndef TOKGRID_LOAD_SELFTEST_H
#define TOKGRID_LOAD_SELFTEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct selftest_load {
    int concurrency;
    int64_t duration_ns; /* counted */
    int64_t tokens;      /* of each request */
    int64_t gap_ms;      /* between tokens; the first comes after 50 ms; 0: no pause at all */
    int bundle;          /* token events in one write */
    bool split;          /* writes cut inside events */
};

/* Errors are the client's figure minus the planned one; percentiles are nearest rank over
 * `requests` first tokens and `events` token events. NAN where there is none. */
struct selftest_row {
    struct selftest_load load;
    int64_t requests; /* first tokens inside the counted time */
    int64_t events;   /* token events inside it */
    int64_t failed;   /* requests that did not end as planned, or lost or doubled a token */
    double ttft_error_ms_p50, ttft_error_ms_p99;
    double itl_error_ms_p99;                 /* |time between two writes' tokens - planned| */
    double lateness_us_p50, lateness_us_p99; /* the stamp taken after the read, minus the send */
    double kernel_lateness_us_p99; /* the kernel's stamp minus the send; reads of one event only */
    double server_late_us_p99;     /* the send minus the instant it was planned for */
    double cpu_us_per_event;       /* this thread, the kernel's part included */
    double events_per_s;
    double rss_mb;
};

/* One row against the clockwork server at `url`. `transport` is "own" or "curl". */
bool selftest_measure(const char *url, const char *transport, const struct selftest_load *load,
                      struct selftest_row *ret, struct err *err) ATTR_CHECK;

/* The machine really carried the load: nothing failed, the events came at least at 98 % of the
 * planned rate, and the server itself was at p99 no later than a tenth of the gap. */
bool selftest_held(const struct selftest_row *row);

#endif
