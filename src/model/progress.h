/* progress.h - a run in progress, as a picture: what the live screen draws.
 *
 * The measuring side fills one of these a few times a second and hands it over under a lock
 * (struct progress_box); the screen copies it out and draws. A recorded run can fill it as well. */
#ifndef TOKGRID_MODEL_PROGRESS_H
#define TOKGRID_MODEL_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/plan.h"
#include "model/result.h"

enum run_phase {
    PHASE_PROBE,
    PHASE_CALIBRATE,
    PHASE_WARMUP,
    PHASE_PREFILL,
    PHASE_IDLE, /* waiting until the server is idle */
    PHASE_RAMP, /* streams started, not all ready */
    PHASE_SETTLE,
    PHASE_WINDOW, /* counting */
    PHASE_DRAIN,
    PHASE_DONE,
};
const char *phase_words(enum run_phase p);

enum cell_state { CELL_PENDING, CELL_RUNNING, CELL_DONE };

struct progress_cell {
    enum cell_state state;
    enum cell_status status; /* when done */
    unsigned marks;
    double total_tok_s, ttft_ms, itl_ms;
};

enum { PROGRESS_TRACE = 120, PROGRESS_EVENTS = 8, PROGRESS_TEXT = 160 };

struct progress {
    char model[PROGRESS_TEXT], engine[PROGRESS_TEXT], url[PROGRESS_TEXT], hardware[PROGRESS_TEXT];
    struct plan plan;
    enum run_phase phase;
    int64_t phase_started_at, phase_length_ns; /* monotonic; length 0: open-ended */
    int64_t run_started_at, eta_ns;            /* eta: remaining; -1 unknown */
    int64_t context_tokens;
    int concurrency;
    int streams_with_token;       /* of the current cell */
    double running, waiting;      /* the server's gauges; NAN without metrics */
    double tok_s;                 /* over the last second */
    double trace[PROGRESS_TRACE]; /* tok/s, one per second, oldest first */
    int trace_count;
    double client_cpu_pct, client_lag_ms;
    struct progress_cell cells[PLAN_MAX_CONTEXTS][PLAN_MAX_LEVELS];
    double prefill_tok_s[PLAN_MAX_CONTEXTS], prefill_ttft_ms[PLAN_MAX_CONTEXTS]; /* NAN: not yet */
    char events[PROGRESS_EVENTS][PROGRESS_TEXT];                                 /* newest last */
    int event_count;
};

/* A picture behind a lock. Writers and readers hold it only for one copy. */
struct progress_box {
    pthread_mutex_t lock;
    struct progress now; /* guarded by lock */
};

void progress_init(struct progress *p);
void progress_box_init(struct progress_box *box);
void progress_box_release(struct progress_box *box);
void progress_put(struct progress_box *box, const struct progress *p);
void progress_get(struct progress_box *box, struct progress *out);
void progress_add_event(struct progress *p, const char *text);

#endif
