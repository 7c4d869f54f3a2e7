/* session.h - what the parts of one run share: the connection to the server, what was learned about
 * it, the prompts, and the result being made. Private to load/. */
#ifndef TOKGRID_LOAD_SESSION_H
#define TOKGRID_LOAD_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "load/dialect.h"
#include "load/hardware.h"
#include "load/monitor.h"
#include "load/prompt.h"
#include "load/request.h"
#include "load/run.h"
#include "load/stream.h"
#include "model/result.h"
#include "model/sample.h"
#include "net/fetch.h"
#include "net/loop.h"
#include "net/transport.h"
#include "stats/summary.h"

#define CHAT_PATH "/v1/chat/completions"

/* Where token counts come from, best first (measurement.md section 3). */
enum token_source { TOKENS_USAGE_STREAM, TOKENS_USAGE_FINAL, TOKENS_EVENTS };
const char *token_source_name(enum token_source source);

/* The text all streams of a context's cells share, JSON-escaped. */
struct row_context {
    int64_t context_tokens;
    size_t words;
    uint64_t text;         /* which of the prompt source's texts */
    int64_t prompt_tokens; /* what the server counted last, task included; 0: it did not say */
    struct buf escaped;
    int64_t ttft_ns;      /* of its cold prefill; 0: not measured */
    int64_t warm_ttft_ns; /* of the same text once more; 0: not measured */
    bool prefill_done;
};

struct session {
    const struct run_options *options;
    const struct run_listener *listener;
    struct run_control *control;
    struct result *result;
    struct progress progress;
    struct sample_file *samples;
    const char *samples_path; /* the listener's */
    char *samples_part;       /* where they are until something was measured; NULL afterwards */

    struct endpoint endpoint;
    struct loop *loop;
    struct loop_watch wake; /* the control's eventfd: a turn ends when it is written */
    struct transport *transport;
    struct fetcher *fetcher;
    struct pages *pages;
    const struct dialect *dialect;
    struct server_facts facts;
    char *model;
    struct metrics_source metrics;   /* whose, and where */
    bool has_metrics;                /* they can be read, and move with our requests */
    struct reading metrics_at_first; /* before our first request */
    struct request_shape shape;
    enum token_source token_source;
    pthread_mutex_t lock; /* guards the next two and the samples while a cell's threads run */
    int64_t ratio_tokens, ratio_events;    /* of completed requests: usage / events */
    double event_cost_ns, stream_events_s; /* this client's CPU an event; events of a stream; of the
                                            * newest cell, 0: not known */
    int64_t idle_ttft_ns;                  /* the best of a few tiny requests */
    int64_t idle_itl_ns;                   /* time between tokens of a short request; 0: unknown */
    bool prefix_cache_seen;                /* a repeated prompt was answered from a cache */
    bool ignores_max_tokens;               /* that is, goes on past it */
    bool counts_before;                    /* the tokenize endpoint counts as usage does, and */
    int64_t count_offset;                  /* so many tokens fewer */
    bool counts_prompt;                    /* usage.prompt_tokens is there */
    bool hides_tokens;                     /* it thinks, and does not show what */

    struct prompt_source prompts;
    struct prompt_fit fit;
    struct row_context **rows;
    size_t row_count, row_cap;
    uint64_t next_text; /* texts and tasks are never used twice */
    _Atomic uint64_t next_task;
    _Atomic uint64_t next_request; /* numbers our own ids of requests */

    struct monitor *monitor;
    struct hardware_probe *gpus;
    int64_t run_at;              /* monotonic: samples count from here */
    int64_t last_activity_at;    /* when our last request ended */
    int64_t idle_at;             /* when the server was last found idle, after all of that */
    double fastest_stream_tok_s; /* for the `window` capacity rule */
    double prefill_tok_s;        /* newest estimate */
    bool gone;                   /* the server answers nothing any more */
    bool emulated;               /* the server is tokgrid's own emulator */
    bool abort_failed;           /* aborting by id does not work here */
    int64_t first_tokens;        /* max_tokens that makes the server show a first piece of text */

    struct stream single; /* for one request at a time */
    bool single_over;
};

/* Interrupted: by the user (stop) or for this cell only (skip). */
bool session_stopping(const struct session *s);
bool session_skipping(const struct session *s); /* stop or skip */

/* Add to the result's events and tell the listener. */
void session_event(struct session *s, const char *level, const char *format, ...) ATTR_PRINTF(3, 4);
void session_phase(struct session *s, enum run_phase phase, int64_t length_ns);
void session_show(struct session *s); /* hand the progress to whoever looks */

/* Take the API key out of text that a server wrote, in place. Servers echo keys, whole or in part.
 */
void session_hide_key(const struct session *s, char *text);

/* "URL wants an API key" or "refuses this one": what HTTP 401 and 403 mean. Returns false. */
bool session_key_error(const struct session *s, int status, struct err *err);

/* An id for a request that no other one has, whichever thread asks. */
void session_request_id(struct session *s, char *out, size_t size);

struct spread spread_of_summary(const struct summary *m);

/* Record a finished request's sample. */
void session_sample(struct session *s, const struct stream *stream, const char *phase,
                    int64_t context_tokens, int concurrency, int repeat);

/* Tokens in one event, by the completed requests of this run; 1 until something is known. */
double session_tokens_per_event(struct session *s);
/* Tokens that were thought and never shown: the text came without them. */
int64_t record_hidden_tokens(const struct record *r);
bool session_usage_is_plausible(const struct record *r);
void session_learn_ratio(struct session *s, const struct record *r);

/* One request, waited for: `context` is the escaped shared part ("" for none). The record is in
 * s->single.record. False only when interrupted; a failed request is a record with an error. */
bool session_ask(struct session *s, const char *context, const char *task, int64_t max_tokens,
                 const char *phase, int64_t context_tokens);

/* Is anybody there? Only a refused or broken connection, for up to five seconds, means that nobody
 * is; a slow answer means a busy server. A server that was found gone stays gone for this run. */
bool session_server_alive(struct session *s);

/* The same, given up at an instant: then false too. */
bool session_ask_until(struct session *s, const char *context, const char *task, int64_t max_tokens,
                       const char *phase, int64_t context_tokens, int64_t give_up_at);

/* probe.c: connect, find model and engine, learn limits. */
bool session_connect(struct session *s, struct err *err) ATTR_CHECK;
bool session_probe(struct session *s, struct err *err) ATTR_CHECK;
/* What some servers say only once their model is loaded. */
void session_learn_loaded(struct session *s);
/* The thread that watches metrics and GPUs; after session_calibrate, which may find the metrics to
 * be of no use. */
void session_start_monitor(struct session *s);

/* emulated.c: recognise tokgrid's own emulator, whose results are `simulated`; the hardware that it
 * pretends to be, where it says so (*ret is zeroed). */
void session_note_emulator(struct session *s);
void session_emulated_hardware(const struct session *s, struct machine *ret);

/* calibrate.c: a first answer, token source, words to tokens, idle TTFT. */
bool session_calibrate(struct session *s, struct err *err) ATTR_CHECK;
bool session_interrupted(struct err *err); /* "interrupted"; returns false */
/* A message of `words` words behind a nonce, then the task (NULL: one like those that are
 * measured), as plain text. */
void session_short_text(struct session *s, size_t words, const char *task, struct buf *ret);
/* Ask with that as the whole message. False only when interrupted. */
bool session_ask_text(struct session *s, const char *text, int64_t max_tokens);

/* features.c: what the server obeys. Each verdict ("obeyed", "ignored", "refused", "absent", NULL
 * unknown) becomes a field and a fact of the result. */
void session_feature(struct session *s, enum feature f, const char *verdict, const char *source);
bool session_probe_features(struct session *s, struct err *err) ATTR_CHECK;

/* context.c: the shared text of a context, made when first asked for; exact length where the
 * server can count. Never NULL. */
struct row_context *session_context(struct session *s, int64_t context_tokens);
/* The same text behind a nonce of its own: as long, and cold for any prefix cache. */
void session_cold_context(struct session *s, const struct row_context *row,
                          struct buf *ret_escaped);
/* The same length, another text and nonce, for a stream that shares nothing. */
void session_own_context(struct session *s, int64_t context_tokens, struct row_context *ret);
void row_context_release(struct row_context *row);
/* The context's real length was seen: improve the estimate where nothing better is known. True when
 * its text was made anew and should be asked again, because it was off by more than 2 %. */
bool session_correct_length(struct session *s, struct row_context *row, int64_t prompt_tokens);
/* A prompt that missed its context by more than 2 % (and by more than 8 tokens). */
bool session_prompt_is_off(int64_t context_tokens, double prompt_tokens);
/* One that is more than 5 % short although its length was corrected: the server threw part of it
 * away. With context 0, one that is less than half of what is always there. */
bool session_prompt_is_cut(const struct session *s, int64_t context_tokens, int64_t prompt_tokens);
/* What that means, as a cell's reason. */
void session_cut_words(int64_t context_tokens, int64_t prompt_tokens, char *out, size_t size);

/* prefill.c */
bool session_prefill(struct session *s, int64_t context_tokens, const char *how);
/* Warm the context's text before a cell; the record is in s->single.record. */
bool session_warm(struct session *s, struct row_context *row);

/* idle.c: wait until the server has nothing to do. False: still busy at the limit, or interrupted.
 */
bool session_wait_idle(struct session *s, int64_t limit_ns);

/* cell.c: run one decode cell; *cell is filled. */
void session_run_cell(struct session *s, struct cell *cell);

#endif
