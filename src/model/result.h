/* result.h - the result of a run: `tokgrid-run/1` as structs.
 *
 * One document per run, described by schema/tokgrid-run-1.schema.json; the field names here are the
 * names there. Figures that do not exist are NAN (numbers) or NULL (strings) in memory and null in
 * the document; they are never 0. Strings and arrays are owned by the result unless marked static.
 *
 * Units: tokens, tokens per second (_tok_s), milliseconds (_ms), seconds (_s), watts, bytes. */
#ifndef TOKGRID_MODEL_RESULT_H
#define TOKGRID_MODEL_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/machine.h"
#include "model/outcome.h"
#include "model/plan.h"

#define RESULT_SCHEMA "tokgrid-run/1"

enum { RESULT_MAX_EVENTS = 500 };    /* more are dropped: the first ones tell the story */
enum { RESULT_MAX_BYTES = 8 << 20 }; /* the largest document that is read */

enum cell_status {
    STATUS_VALID,
    STATUS_QUEUED,
    STATUS_OVER_CAPACITY,
    STATUS_LOOPED,
    STATUS_ERROR,
    STATUS_SKIPPED,
    STATUS_COUNT,
};
const char *status_name(enum cell_status s);  /* "valid": the document's word */
const char *status_label(enum cell_status s); /* "Requests queued": the page's word */
bool status_has_numbers(enum cell_status s);  /* valid, queued; error keeps its own apart */

/* Marks ride beside a status; a set of bits in memory, an array of names in the document. */
enum cell_mark {
    MARK_CLIENT_LIMITED = 1 << 0,
    MARK_UNSTEADY = 1 << 1,
    MARK_CACHE_HIT = 1 << 2,
    MARK_PROMPT_OFF = 1 << 3,
    MARK_FOREIGN_LOAD = 1 << 4,
    MARK_PREEMPTED = 1 << 5,
    MARK_THROTTLED = 1 << 6,
    MARK_RETRIED = 1 << 7,
    MARK_INFERRED = 1 << 8,       /* queued was inferred from the streams, not from metrics */
    MARK_OVER_CAPACITY = 1 << 9,  /* ran although the rule said over capacity */
    MARK_HIDDEN_TOKENS = 1 << 10, /* the server thinks and does not show what */
    MARK_BUFFERED = 1 << 11,      /* events came in bundles: only the total is valid */
    MARK_COUNT = 12,
};
const char *mark_name(unsigned bit_index); /* "client_limited" */

/* What of the requests we would like to send the server obeys, as short requests have shown. */
enum feature {
    FEATURE_IGNORE_EOS,
    FEATURE_MIN_TOKENS,
    FEATURE_STREAM_OPTIONS,
    FEATURE_CONTINUOUS_USAGE,
    FEATURE_MAX_COMPLETION_TOKENS,
    FEATURE_TOKENIZE,
    FEATURE_METRICS,
    FEATURE_ABORT,
    FEATURE_COUNT,
};
const char *feature_name(enum feature f); /* "ignore_eos" */

/* Percentiles of one quantity, in the unit of its field's name. p90 needs 64 samples, p99 662. */
struct spread {
    int64_t n; /* -1: not known (imported) */
    double p50, p90, p99, max;
};

struct interval {
    double low, high; /* 95 % */
    double n_effective;
    const char *method; /* static: "batch_means", "t_repeats"; NULL when there is none */
};

/* The client's judgement of itself (measurement.md section 10). */
struct verdict {
    double cpu_pct;            /* busiest thread, per cent of one CPU */
    int threads;               /* that the streams were shared out over; 0: not known */
    struct spread lag_ms;      /* readable to read, by kernel receive stamps where there are any */
    struct spread send_lag_ms; /* planned to actual start of a request */
    double events_per_read;
    int64_t unread_bytes; /* left in the sockets at the window's end, all streams */
    bool limited;
};

struct loop_evidence {
    int64_t period, cycles; /* characters, whole repetitions */
    char *channel;          /* "content" or "reasoning" */
    char *excerpt;          /* at most 512 characters */
};

struct cell {
    int64_t context_tokens;
    int concurrency;
    enum cell_status status;
    unsigned marks;
    char *reason; /* why not valid, in words; NULL when valid */

    double total_tok_s;
    double per_request_tok_s; /* 1000 / itl_ms.p50 */
    struct spread ttft_ms;
    struct spread itl_ms; /* one sample per request */
    struct spread gap_ms; /* one sample per gap between token events */
    double avg_active;
    char *avg_active_source; /* "server" or "client" */
    int64_t completed;       /* requests finished in the window; -1: none measured */
    int64_t output_tokens;   /* in the window; -1: none measured */
    double measured_s;
    struct interval ci95; /* of total_tok_s */
    int repeats;

    char *token_source;                    /* "usage_stream", "usage_final", "events" */
    double tokens_per_event;               /* usage / events */
    double prompt_tokens;                  /* median of what the server counted */
    double ready_s;                        /* start of the streams to the window's opening */
    double drain_s;                        /* last close to idle */
    double server_output_tokens;           /* growth of the server's own counter over the window */
    double server_running, server_waiting; /* time averages in the window */
    double waiting_share;                  /* share of the window with waiting > 0 */
    double kv_used_max;                    /* 0..1 */
    double preemptions;
    double power_w, energy_j; /* all GPUs, trapezoid over the window */
    struct outcomes outcomes;
    struct verdict client;
    struct loop_evidence loop; /* period 0: none */
    char started_at[32];       /* UTC, a label */
};

struct prefill_row {
    int64_t context_tokens; /* asked for */
    enum cell_status status;
    unsigned marks;
    char *reason;
    double total_tok_s; /* (prompt - cached) / TTFT, median over samples */
    struct spread ttft_ms;
    double prompt_tokens;    /* median */
    double cached_tokens;    /* median; NAN when the server does not say */
    double server_prompt_ms; /* the server's own prompt timing, median; NAN: gives none */
    int64_t completed;       /* samples that count */
    struct interval ci95;
    char *how; /* "warmup" or "standalone" */
    char started_at[32];
};

/* A fact about the server with the place it came from ("GET /props", "option --kv-budget"). */
struct fact {
    char *name;  /* "context_limit" */
    char *value; /* as text; NULL: unknown */
    char *source;
};

struct result_event {
    char at[32]; /* UTC */
    char *level; /* "info", "warning", "error" */
    char *text;
};

struct result {
    char *id;   /* UUIDv7 */
    char *kind; /* "measured", "simulated", "imported" */
    struct {
        char *name, *version; /* "tokgrid", "0.1.0" */
        char *transport;      /* "own", "curl" */
    } tool;
    struct {
        char *model;        /* Hugging Face id where known */
        char *served_model; /* the name the server answers to */
        char *revision, *quantization;
    } subject;
    struct machine hardware; /* where the server runs */
    struct {
        char *name, *version, *backend, *build, *repository, *commit, *launch_command;
        char *flags; /* as JSON text, or NULL */
    } engine;
    struct plan plan;
    struct {
        char *url;            /* without credentials */
        double context_limit; /* tokens; NAN unknown */
        double kv_budget;     /* tokens; NAN unknown */
        double max_running;   /* requests at once; NAN unknown */
        char *kv_budget_source;
        char *features[FEATURE_COUNT]; /* "obeyed", "ignored", "refused", "absent"; NULL unknown */
        struct fact *facts;
        size_t fact_count, fact_cap;
    } server;
    struct {
        struct machine host; /* where this program ran */
        char *selftest;      /* JSON text of the last selftest, or NULL */
        bool remote;         /* the server is another machine */
        bool realtime;       /* the measuring threads had real-time priority */
    } client;
    struct {
        char started_at[32], ended_at[32];
        double duration_s;
        bool complete;      /* every planned cell was decided */
        char *seed;         /* hex; the prompts can be made again from it */
        char *ended_by;     /* "done", "interrupted", "server_gone" */
        double temperature; /* NAN: not sent */
        double idle_ttft_ms;
    } run;
    struct prefill_row *prefill;
    size_t prefill_count, prefill_cap;
    struct cell *decode;
    size_t decode_count, decode_cap;
    struct result_event *events;
    size_t event_count, event_cap;
    char **notes;
    size_t note_count, note_cap;
    struct {
        char *file;    /* beside the result, or NULL */
        char *blake2b; /* hex digest of that file */
        int64_t requests;
    } samples;
    char *by;        /* who publishes it; NULL here */
    char *telemetry; /* JSON text or NULL */
};

/* Life cycle. result_init makes every figure "does not exist": NAN, NULL, -1 where the comment says
 * so, and 0 elsewhere; the plan is empty. Released or zeroed structs may be released again. */
void result_init(struct result *r);
void result_release(struct result *r);
void cell_init(struct cell *c, int64_t context_tokens, int concurrency);
void cell_release(struct cell *c);
void prefill_row_init(struct prefill_row *p, int64_t context_tokens);
void prefill_row_release(struct prefill_row *p);

/* Adding. The result takes the contents of *c / *p (shallow move). Pointers into the arrays are
 * valid until the next add. */
struct cell *result_add_cell_take(struct result *r, struct cell *c);
struct prefill_row *result_add_prefill_take(struct result *r, struct prefill_row *p);
/* A fact of the same name is replaced. */
void result_add_fact(struct result *r, const char *name, const char *value, const char *source);
void result_add_event(struct result *r, const char *level, const char *format, ...)
    ATTR_PRINTF(3, 4);
void result_add_note(struct result *r, const char *format, ...) ATTR_PRINTF(2, 3);

/* Queries. NULL when there is none. */
struct cell *result_cell(const struct result *r, int64_t context_tokens, int concurrency);
struct prefill_row *result_prefill(const struct result *r, int64_t context_tokens);
size_t result_count_status(const struct result *r, enum cell_status s);   /* decode cells */
const struct fact *result_fact(const struct result *r, const char *name); /* of the server */

/* The document, by the tables of result_fields.h. Writing never fails but for the buffer's maximum;
 * NAN becomes null, as does text that should be JSON and is not; a figure outside its field's range
 * becomes the nearest bound. What was written reads back and writes the same bytes. Reading checks
 * the schema name, every type, range and enumeration, and result_check; an error is one line with
 * the document's name and the place ("run.json: decode[3].ttft_ms.p50: expected a number or null,
 * found a string"). Unknown fields are errors naming the field. `ret` is filled only on success. */
bool result_write_json(const struct result *r, struct buf *out);
bool result_read_json(const char *p, size_t n, const char *name, struct result *ret,
                      struct err *err) ATTR_CHECK;

/* measurement.md section 11: the invariants every stored result satisfies, and the shape that the
 * renderers rely on (each cell once, axes within the plan's limits, a URL without credentials).
 * Imported figures were rounded by their source, so each test allows half a unit of the last
 * printed digit as well. A cell that is over_capacity holds no numbers: one that was run all the
 * same is valid or queued and carries MARK_OVER_CAPACITY. */
bool result_check(const struct result *r, struct err *err) ATTR_CHECK;

#endif
