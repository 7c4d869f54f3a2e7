/* run.h - one measurement, from an address to a result.
 *
 * The layer's front door: options in, a struct result out, with a listener told of everything worth
 * printing on the way. Nothing here prints or exits. */
#ifndef TOKGRID_LOAD_RUN_H
#define TOKGRID_LOAD_RUN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/plan.h"
#include "model/progress.h"
#include "model/result.h"

struct run_options {
    const char *url;
    const char *model; /* NULL: the one the server lists */
    const char *api_key;
    const char *ca_file;
    bool insecure;
    const char *transport; /* "own" or "curl" */
    const char *prompt_file;
    bool has_seed;
    uint64_t seed;
    double temperature; /* NAN: not sent */
    int64_t kv_budget;  /* 0: as probed */
    /* bytes that one token reads of the weights, and that the memory can give in a second; 0: the
     * first stays unknown, the second is that of the hardware where it is known */
    double active_weight_bytes, memory_bandwidth_bytes_s;
    int64_t connect_timeout_ns, request_timeout_ns, load_timeout_ns, idle_timeout_ns;
    int64_t ready_timeout_ns; /* 60 s; the expected prefill is added */
    int max_errors;
    int threads; /* for the measured streams; 0: as many as they need */
    bool run_over_capacity, allow_busy, no_loop_guard;
    bool ordinary_priority;                /* do not ask for real-time priority */
    struct plan plan;                      /* as asked for; trimmed to the server's limits */
    const struct machine *server_hardware; /* NULL: this machine, when the server is local */
    const char *launch_command;            /* NULL: unknown */
    const char *selftest;          /* this client's last selftest here, as JSON text; NULL: none */
    struct progress_box *progress; /* NULL: nobody looks */
};

/* Told from inside run_measure, on its thread. Any member may be NULL. `r` is the result so far. */
struct run_listener {
    void (*on_probed)(void *ctx, const struct result *r);
    /* Asked once, after on_probed: make ready to keep the result; a failure ends the run. Where raw
     * samples go is stored in *ret_samples, NULL: they are not kept. Borrowed. */
    bool (*open_output)(void *ctx, const struct result *r, const char **ret_samples,
                        struct err *err);
    void (*on_plan)(void *ctx, const struct result *r, const char *notes);
    void (*on_prefill)(void *ctx, const struct result *r, const struct prefill_row *row);
    void (*on_cell)(void *ctx, const struct result *r, const struct cell *cell, size_t done,
                    size_t total);
    void (*on_event)(void *ctx, const char *level, const char *text);
    void *ctx;
};

/* What may be asked of a run from a signal handler or another thread. */
struct run_control {
    atomic_int stop; /* end the current cell and the run */
    atomic_int skip; /* end the current cell only */
    int wake_fd;     /* an eventfd that the run's loop watches */
};
bool run_control_init(struct run_control *c, struct err *err) ATTR_CHECK;
void run_control_release(struct run_control *c); /* when nobody can call the two below any more */
void run_stop(struct run_control *c);            /* async-signal-safe */
void run_skip(struct run_control *c);            /* async-signal-safe */

/* Measure. True when the run went to its end (also with cells that are errors); false with the
 * reason when it could not begin, the server went away, or it was stopped: *ret then still holds
 * everything measured so far. The caller releases *ret in either case. */
bool run_measure(const struct run_options *o, const struct run_listener *listener,
                 struct run_control *control, struct result *ret, struct err *err) ATTR_CHECK;

/* Only find out what the server is: engine, model, limits, features, each as a fact of *ret. */
bool run_probe(const struct run_options *o, const struct run_listener *listener,
               struct run_control *control, struct result *ret, struct err *err) ATTR_CHECK;

#endif
