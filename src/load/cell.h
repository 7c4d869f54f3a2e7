/* cell.h - one decode cell while it runs: its streams and its counters. Private to load/.
 *
 * cell.c drives it (open, start, ready, settle, window, cancel), cell_count.c counts the events of
 * the window on the receive path, cell_judge.c turns the counts into figures and a status. */
#ifndef TOKGRID_LOAD_CELL_H
#define TOKGRID_LOAD_CELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load/guard.h"
#include "load/session.h"
#include "load/stream.h"
#include "model/result.h"
#include "stats/hist.h"

enum { CELL_MAX_BINS = 2400, CELL_MAX_REPEATS = 64, CELL_THREADS = 3 };

/* Streams that break within so long of each other, and with the same words, broke together. */
enum { CELL_AT_ONCE_NS = 100000000 };

/* The part of one request that lies in the window. Instants; 0: none. */
struct request_window {
    int64_t first_at, last_at;
    int64_t tokens, first_tokens, events;
    size_t first_stamp; /* of its stream: where the part begins */
};

struct cell_stream {
    struct stream stream;
    struct cell_run *run;
    struct row_context own; /* its own context (distinct prompts); empty: the shared one */
    struct buf ending;
    char rid[40]; /* our id of the present request */
    struct request_window in;
    int64_t prompt_tokens; /* of its newest request that ended and told; 0: none did */
    bool ever_token;       /* it has produced a token in this cell */
    bool has_token;        /* its present request has */
    size_t ttft;           /* where the present request's is in the tally */
    int64_t last_at;       /* the present request's newest token, in or before the window */
    int64_t unread;        /* at the window's end */
};

/* One request's time between tokens, kept apart from the token source until the cell is over: what
 * a token is may only be known then. */
struct span {
    int64_t ns, events, usage;
};

struct doubles {
    double *v;
    size_t n, cap;
};

/* The window's counts. With repeats, counts of all windows add up; bins restart with each. */
struct tally {
    int64_t events, tokens; /* token events, and the usage they carried */
    int64_t completed;
    double *bin_events, *bin_tokens;
    size_t bins;
    int64_t bin_ns;
    struct hist *gaps, *lag, *send_lag;
    struct hist *late;      /* how late the loop came back from a wait of known length */
    struct doubles ttft_ms; /* NAN: taken back */
    struct span *spans;
    size_t span_count, span_cap;
    int64_t reads;
    double active_integral;       /* streams x ns with a token, inside the window */
    int64_t cpu_ns[CELL_THREADS]; /* CPU time in the windows: the loop's thread, the loop guard's,
                                     the monitor's */
    bool usage_fell;
    bool cumulative;             /* deltas that repeat the text so far */
    int64_t billed, undelivered; /* usage of whole requests; what came behind their last text */
    int64_t hidden;              /* tokens of whole requests that were thought and not shown */
};

struct cell_part; /* cell_parts.c */

/* Members that are atomic are looked at by the main thread while a part's thread changes them. */
struct cell_run {
    struct session *s;
    struct cell *cell;
    struct row_context *row;
    struct cell_stream *streams;
    int first, count;  /* the streams: the number of the first one, how many */
    struct loop *loop; /* that they run on */
    struct transport *transport;
    struct buf opening;
    struct guard *guard;
    const struct buf *shared; /* the escaped context; NULL: none */

    atomic_int opened;
    int opening_next;
    bool started, closing; /* streams are (re)started; no more restarts */
    atomic_int with_token; /* streams that have produced a token in this cell */
    atomic_int active;     /* requests with a token and no end */
    int64_t active_since;
    _Atomic int64_t moved_at;
    bool window_open;
    int64_t t0, t1; /* the window; t1 is fixed when t0 is taken */
    int repeat;
    struct tally tally;
    int64_t each_events[CELL_MAX_REPEATS], each_usage[CELL_MAX_REPEATS]; /* of each window */
    int64_t repeat_events, repeat_tokens;                                /* of the present window */
    struct outcomes outcomes;
    atomic_int failures;
    struct err failure;            /* the first one */
    struct err warm_failure;       /* why the context could not be warmed; ERR_NONE: it was */
    _Atomic int64_t failure_at;    /* when it was */
    int failures_at_once;          /* those that said the same within a moment of it */
    bool opened_early, ready_late; /* how the window came to open before all were ready */
    int64_t prompts_cut, cut_to;   /* requests whose prompt the server shortened, the last one's
                                      length */
    bool prompt_off;               /* a request missed its length */
    struct guard_finding finding;
    bool looped;
    int64_t last_progress_shown;
    _Atomic int64_t shown_events;
    _Atomic int64_t shown_lag_ns; /* p99 of the reads' lag, as of a moment ago */

    struct cell_part *parts; /* with several threads, each has one */
    int part_count;
    int threads;        /* that the streams were shared out over; set by cell_join_parts */
    int64_t cpu_all_ns; /* of all of them in the window; set likewise */
};

/* cell_count.c */
void tally_init(struct tally *t, int64_t duration_ns);
void tally_release(struct tally *t);
void cell_open_window(struct cell_run *run, int64_t t0, int64_t duration_ns);
void cell_close_window(struct cell_run *run);
void cell_on_token(void *ctx, struct stream *stream, int64_t at, int64_t tokens);
void cell_on_read(void *ctx, struct stream *stream, const struct read_stamp *stamp);
/* Bring shown_lag_ns up to date, for a part: on its thread. */
void cell_show_lag(struct cell_run *run);
void cell_end_request(struct cell_run *run, struct cell_stream *cs); /* counts its outcome */
/* Two failures in the same words, however far their requests had come. */
bool cell_failed_alike(const struct err *a, const struct err *b);
/* Is usage that grows with the text what this cell's tokens are? Not when it went down, nor when it
 * counts what is never shown: such tokens were made at instants that nobody knows. */
bool cell_counts_usage(const struct cell_run *run);
/* Tokens of so many events and so much usage, by the run's token source. */
double cell_tokens(const struct cell_run *run, double events, double usage);

/* cell_parts.c: with one thread the run itself is the part of each of these. */
int cell_threads(const struct session *s, int streams); /* how many such a cell should have */
/* Start the threads; false when one cannot be had, and cell_join_parts is still to be called. */
bool cell_share_out(struct cell_run *run, int threads);
/* Run `job` on each part's thread, and wait for them all. The part's window and shared context are
 * the run's. */
void cell_each_part(struct cell_run *run, void (*job)(struct cell_run *part));
void cell_gather(struct cell_run *run); /* bring the run's atomic members up to date */
/* End the threads; the streams are then the caller's, and the run's counts those of all parts. */
void cell_join_parts(struct cell_run *run);
void cell_release_parts(struct cell_run *run); /* after the streams */

/* cell_judge.c */
void cell_judge(struct cell_run *run, const struct window_view *view);

#endif
