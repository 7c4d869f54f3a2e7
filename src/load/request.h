/* request.h - the JSON body of one measured request, in pieces.
 *
 * The context is long and the same for all streams of a cell, so a body is three borrowed pieces:
 * the opening, the (JSON-escaped) context, and the ending with the task and the options. */
#ifndef TOKGRID_LOAD_REQUEST_H
#define TOKGRID_LOAD_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* What may be sent: starts as everything; the probe drops what the server refuses. */
struct request_shape {
    bool stream_options;   /* include_usage */
    bool continuous_usage; /* stream_options.continuous_usage_stats */
    bool ignore_eos;
    bool min_tokens;            /* as many as max_tokens: for servers that do not obey ignore_eos */
    bool max_completion_tokens; /* instead of max_tokens */
    double temperature;         /* NAN: not sent */
};

/* {"model":...,"messages":[{"role":"user","content":" */
void request_opening(const char *model, struct buf *out);

/* The task (escaped here) and the rest: "}],"max_tokens":...} `rid`: our own id for this request,
 * for servers that abort by it; NULL: none. */
void request_ending(const struct request_shape *shape, const char *task, int64_t max_tokens,
                    const char *rid, struct buf *out);

/* Text as the inside of a JSON string, without quotes. */
void request_escape(const char *text, size_t n, struct buf *out);

#endif
