/* monitor.h - watches the server's metrics and this machine's GPUs while cells run.
 *
 * A thread of its own, so that fetching and parsing never delay a stamp. Each reading is stamped
 * with the monotonic clock at the middle of its round trip. What a server does not offer is NAN. */
#ifndef TOKGRID_LOAD_MONITOR_H
#define TOKGRID_LOAD_MONITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "load/dialect.h"
#include "load/hardware.h"
#include "net/endpoint.h"

struct reading {
    int64_t at, took;                                   /* took: the whole round trip */
    double running, waiting;                            /* gauges, all label sets summed */
    double generated, prompt, preemptions, prefix_hits; /* counters */
    double prefill_s, prefills; /* seconds of prefill, and of how many ended requests */
    double kv_used;
    bool has_gpu;
    double power_w; /* all GPUs */
    bool throttled;
};

/* What to average over a window. NAN where nothing is known. */
struct window_view {
    size_t readings;
    double running, running_held, waiting, waiting_share, kv_used_max;
    double generated;                /* growth over [from, to), interpolated */
    double preemptions, prefix_hits; /* growth */
    double power_w, energy_j;
    bool throttled;
};

/* Whose metrics, and where; borrowed. Series of other models are left out. */
struct metrics_source {
    const struct dialect *dialect;
    const struct server_facts *facts;
    const char *model;
};

struct monitor;

/* `metrics`: the server's metrics are usable (else only the GPUs are watched). `gpus` may be NULL;
 * both are borrowed. */
struct monitor *monitor_start(const struct endpoint *e, const struct metrics_source *source,
                              bool metrics, struct hardware_probe *gpus, int64_t interval_ns);
void monitor_stop(struct monitor *m); /* joins; NULL is fine */

/* CPU time its thread has used; 0 for NULL. */
int64_t monitor_cpu(const struct monitor *m);

bool monitor_has_metrics(const struct monitor *m);

/* Read now instead of at the next interval: at a window's ends, so that its counters are read
 * there. */
void monitor_poke(struct monitor *m); /* NULL is fine */

/* The newest reading; false when there is none yet. */
bool monitor_latest(struct monitor *m, struct reading *ret);

/* True when every reading taken since `since` shows a server without work, over at least `for_ns`.
 */
bool monitor_idle_since(struct monitor *m, int64_t since, int64_t for_ns);

/* Readings reach a little past the window, so call it some intervals after `to` for the counters
 * (monitor_settled says when). Counters of answers that were held up on the way are not used. */
struct window_view monitor_window(struct monitor *m, int64_t from, int64_t to);
struct window_view monitor_window_none(void); /* nothing is known */
bool monitor_settled(struct monitor *m, int64_t to);

/* Drop readings older than `before`: a long run does not grow. */
void monitor_forget(struct monitor *m, int64_t before);

/* One reading by hand, on any fetcher: false when the server's metrics cannot be used. */
bool monitor_read_metrics(struct fetcher *f, const struct metrics_source *source,
                          struct reading *ret);

/* The server's own page about its load, where it has one; false when it cannot be read. */
bool monitor_read_load(struct fetcher *f, const struct metrics_source *source,
                       struct server_load *ret);

#endif
