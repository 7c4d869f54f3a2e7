/* stream.h - one streamed request, from its first byte out to its last token in.
 *
 *   bytes -> stamp (net/conn) -> HTTP body (net/transport) -> SSE events (net/sse)
 *         -> payload (load/event) -> first times, token stamps, usage, outcome (here)
 *         -> the owner: a cell's counters, or somebody waiting for one answer
 *
 * A stream has one lane and is used for many requests in turn. Nothing is allocated per event once
 * its buffers have grown. All instants are monotonic nanoseconds; 0 = did not happen. */
#ifndef TOKGRID_LOAD_STREAM_H
#define TOKGRID_LOAD_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "load/event.h"
#include "model/sample.h"
#include "net/loop.h"
#include "net/sse.h"
#include "net/transport.h"

struct stream;

struct stream_owner {
    /* A token event at that stamp. `tokens`: growth of the server's usage since the last token
     * event, 0 when it does not say. */
    void (*on_token)(void *ctx, struct stream *s, int64_t at, int64_t tokens);
    /* Generated text, JSON-escaped. May be NULL. */
    void (*on_text)(void *ctx, struct stream *s, enum channel channel, struct slice text);
    /* A read with body bytes, before its events. May be NULL. */
    void (*on_read)(void *ctx, struct stream *s, const struct read_stamp *stamp);
    /* The request is over: s->record is complete. Another may be started from here. */
    void (*on_end)(void *ctx, struct stream *s);
    /* The answer to stream_open; err NULL: the connection is up. */
    void (*on_open)(void *ctx, struct stream *s, const struct err *err);
};

/* What is known of the present or last request. */
struct record {
    enum outcome outcome; /* valid once over */
    int64_t planned_at;   /* when we decided to send */
    int64_t asked_tokens; /* max_tokens of the request, for whoever judges its usage; 0: unknown */
    int64_t send_at, sent_at, head_at, first_event_at, first_token_at, first_visible_at,
        second_token_at, last_token_at, close_at;
    int64_t connect_ns;
    int64_t prompt_tokens, completion_tokens, cached_tokens; /* -1: not said */
    int64_t reasoning_tokens; /* of completion_tokens; -1: not said */
    double prompt_ms; /* the server's own timing, in the stream or its metrics; NAN: not said */
    int64_t token_events, reads, bytes;
    int64_t reasoning_events; /* of token_events: those that showed what was thought */
    int64_t credited;         /* usage that came with token events, or before them */
    int64_t usage_growths;    /* how often usage grew between token events */
    bool usage_fell;          /* it went down, or prompt_tokens changed: not to be trusted */
    bool cumulative;          /* "deltas" repeat the whole text so far */
    int http_status;
    int error_status; /* of a failure: the HTTP status, or the code of the error inside a 200 */
    bool retried;
    char finish[24];
    struct err error; /* code ERR_NONE: none */
};

struct stream {
    struct transport *transport;
    struct loop *loop;
    struct lane *lane;
    const struct stream_owner *owner;
    void *ctx;
    int index;          /* the owner's number for it */
    int64_t timeout_ns; /* longest wait for the next token event */
    struct record record;
    struct token_stamp *stamps; /* of this request, at_ns monotonic */
    size_t stamp_count, stamp_cap;
    char request_id[96]; /* the server's id for this request */
    void *user;          /* the owner's own */

    /* private */
    struct sse sse;
    struct event_memo *memo;   /* how its events begin */
    struct buf scratch, plain; /* full parser's text; body that is no event stream */
    struct loop_timer watchdog, kill;
    struct http_head head;
    const struct read_stamp *stamp;
    int64_t last_read_at; /* tells the pieces of one read from the next read */
    int64_t progress_at;
    char before[64]; /* how the text of the token event before began, and how long it was */
    size_t before_len;
    int longer_in_a_row; /* texts that began with all of the one before them */
    bool is_sse, done_seen, finish_seen, active;
};

void stream_init(struct stream *s, struct transport *t, struct loop *loop,
                 const struct stream_owner *owner, void *ctx, int index);
void stream_release(struct stream *s);

/* Connect ahead of the first request. */
void stream_open(struct stream *s);

/* POST the body pieces to `path`; borrowed until the request is over. */
void stream_send(struct stream *s, const char *path, const struct part *body, size_t parts);

/* End the request now: outcome OUTCOME_CANCELLED, connection closed, on_end is not called. */
void stream_cancel(struct stream *s);

bool stream_active(const struct stream *s);

/* The record as a sample of a run that began at `run_at`. Borrows the stamps. */
void stream_sample(const struct stream *s, int64_t run_at, struct sample *ret);

#endif
