/* sse.h - server-sent events out of any byte stream, by the WHATWG rules.
 *
 * You may rely on: the events do not depend on how the bytes are split over calls; LF, CRLF and CR
 * end a line in any mixture; comments and unknown fields are skipped; an event without a data line
 * dispatches nothing; several data lines are joined by LF; a BOM in front of the stream is skipped.
 * The last event is dispatched at sse_finish even when its blank line is missing (servers do that).
 * Also, since measured servers do it: a line that is none of the SSE fields, but JSON or text, is
 * kept as `stray` text for the caller to judge (error bodies inside a 200 event stream, NDJSON).
 * Lines that look like a field of another name ("name: value") are unknown fields, not stray; but
 * `error: value` is how some servers report one, and its value is kept as stray.
 * An event or a line longer than the maximum sets `too_long`, once, and nothing more is dispatched.
 *
 * Events are handed out as pointers into the decoder's own buffer or into the fed bytes, valid for
 * the call only. An event whose lines lie whole in the fed bytes is not copied, and nothing is
 * allocated for an event that fits the buffer's storage so far. on_event must not call back into
 * its decoder. */
#ifndef TOKGRID_NET_SSE_H
#define TOKGRID_NET_SSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { SSE_EVENT_MAX = 64 << 20, SSE_STRAY_MAX = 64 << 10 };

struct sse_event {
    const char *type; /* the `event:` field, NUL-ended, "" when absent; at most 63 bytes */
    const char *data; /* not NUL-ended */
    size_t len;
};

typedef void sse_event_fn(void *ctx, const struct sse_event *event);

struct sse {
    sse_event_fn *on_event;
    void *ctx;
    struct buf data;  /* data lines of the event so far, unless `fed` holds the only one */
    struct buf line;  /* the unfinished line of earlier calls */
    struct buf stray; /* lines that are no SSE field, joined by LF; cut at SSE_STRAY_MAX */
    const char *fed;  /* the event's only data line, still in the fed bytes; NULL: none */
    size_t fed_len;
    char type[64];
    bool has_data, after_cr, too_long, started;
    uint64_t events, comments, strays; /* events dispatched, comment lines, stray lines */
};

void sse_init(struct sse *s, size_t max_event, sse_event_fn *on_event, void *ctx);
void sse_reset(struct sse *s); /* ready for the next stream, storage kept */
void sse_release(struct sse *s);
void sse_feed(struct sse *s, const char *p, size_t n);
void sse_finish(struct sse *s);

#endif
