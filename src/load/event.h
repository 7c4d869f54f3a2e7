/* event.h - what one streamed payload says: text in any channel, usage, the end, an error.
 *
 * The receive path reads each payload with event_scan, which walks the bytes once and builds no
 * tree. Whatever it is not sure about (odd nesting, a key twice, numbers it cannot hold, invalid
 * JSON) goes to event_parse, which uses a full JSON parser. On every payload that event_scan
 * accepts, both give the same struct (a fuzz target holds them to that).
 *
 * A *token event* carries generated text that is not empty, in any channel: choices[0].delta's
 * content, reasoning, reasoning_content or tool-call arguments, choices[0].text, and Ollama's
 * native message.content, message.thinking, response and thinking. " " is text; null, "" and absent
 * are not; role-only and usage-only payloads are not. When two fields carry text it is one event:
 * the first non-empty field wins, in the order given here. Several choices are read like the first;
 * the first that says something wins.
 *
 * An *error* is a payload with an `error` that says something (not null, false, "" or 0), at its
 * root or in a choice, with object: "error", or with nothing but a message, a detail or a msg: such
 * a text beside choices, usage, a response or done is no error.
 *
 * Text is kept as a slice of the payload, still JSON-escaped: event_unescape makes it plain. */
#ifndef TOKGRID_LOAD_EVENT_H
#define TOKGRID_LOAD_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum event_kind {
    EVENT_CHUNK,     /* a JSON object */
    EVENT_DONE,      /* [DONE], whitespace around it allowed */
    EVENT_EMPTY,     /* nothing but whitespace: a heartbeat */
    EVENT_MALFORMED, /* neither JSON nor [DONE] */
};

enum channel { CHANNEL_NONE, CHANNEL_CONTENT, CHANNEL_REASONING, CHANNEL_TOOL };

struct slice {
    const char *p;
    size_t n;
};

struct event {
    enum event_kind kind;
    enum channel channel; /* of the first non-empty text */
    struct slice text;    /* escaped; that text */
    struct slice finish;  /* escaped; finish_reason or Ollama's done_reason, n = 0: none. "" and
                           * "null" count as none */
    bool done_flag;       /* Ollama's done: true */
    bool has_usage;       /* prompt_tokens or completion_tokens is said, by whichever of these: */
    int64_t prompt_tokens, completion_tokens,
        cached_tokens;        /* -1: not said. The usage object, else
                               * Ollama's prompt_eval_count and eval_count, else llama.cpp's timings
                               * (prompt_n + cache_n when both are there, predicted_n). cached_tokens
                               * may come from timings beside a usage object that lacks it */
    int64_t reasoning_tokens; /* the part of completion_tokens that was thought; -1: not said */
    double prompt_ms;         /* llama.cpp timings.prompt_ms; NAN: not said */
    bool has_error;
    struct slice error;      /* escaped; the message: error.message, error as a string, message,
                              * detail, msg, in this order */
    struct slice error_type; /* escaped; error.type or error_type */
    int error_code;          /* error.code or error.http_status_code, else those beside it, as a
                              * number or as digits; 0: none */
    struct slice id;         /* escaped; the request's id, for engines that abort by it */
};

/* Fast path. False: not sure, *ret undefined, use event_parse. Never reads outside [p, p + n). What
 * is found does not depend on the memo (NULL: none), only how fast: the events of one stream begin
 * alike up to their text, and what begins as the one before is taken up where they part. */
struct event_memo;
struct event_memo *event_memo_new(void); /* the caller frees it, by free */
bool event_scan(struct event_memo *memo, const char *p, size_t n, struct event *ret);

/* Full parser. Always fills *ret; what is no JSON object is EVENT_MALFORMED. Bytes that are no
 * UTF-8 and half surrogate pairs are read as U+FFFD. Slices point into `scratch`, which is emptied
 * first and must outlive *ret; a maximum of three times n always suffices, and a payload whose
 * texts do not fit is EVENT_MALFORMED. */
void event_parse(const char *p, size_t n, struct buf *scratch, struct event *ret);

/* Both in order. */
void event_read(struct event_memo *memo, const char *p, size_t n, struct buf *scratch,
                struct event *ret);

/* Append the plain text of an escaped slice; half surrogate pairs become U+FFFD. */
void event_unescape(struct slice s, struct buf *out);

/* An error body that came instead of a stream: append the message in any of the known shapes, with
 * the numbers where the server gives them as fields; an HTML page's title or first words; or the
 * text itself. One printable line of at most 500 bytes, the numbers behind it. False when there is
 * no message in it. */
bool event_error_body(const char *p, size_t n, struct buf *ret_message);

/* What an error is about, by its words (message and type, plain) and then by its code, an HTTP
 * status: the words come first, since some servers give one code to everything. */
enum error_kind {
    ERROR_OTHER,    /* the server's own trouble */
    ERROR_OVERLOAD, /* too much is asked of it at the moment */
    ERROR_REQUEST,  /* this request is not granted: 4xx */
    ERROR_TIMEOUT,  /* a gateway gave up waiting */
};
enum error_kind event_error_kind(const char *words, int code);

/* How a finish_reason ends a request. Reasons that nobody knows are FINISH_DONE. */
enum finish_kind { FINISH_NONE, FINISH_DONE, FINISH_FAILED };
enum finish_kind event_finish_kind(struct slice finish);

#endif
