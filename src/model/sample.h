/* sample.h - one request as it was seen from the client: the raw material of every figure.
 *
 * Written beside the result as zstd-compressed JSON lines, one per request, so that anyone can
 * compute the figures again. Stamps are nanoseconds since the run's start. */
#ifndef TOKGRID_MODEL_SAMPLE_H
#define TOKGRID_MODEL_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/outcome.h"

/* One event that carried tokens. */
struct token_stamp {
    int64_t at_ns;  /* since the run's start */
    int32_t tokens; /* growth of usage where the server sends it, else 0: unknown */
};

struct sample {
    const char *phase; /* static: "prefill", "warmup", "decode", "calibrate", "canary" */
    int64_t context_tokens;
    int concurrency, stream, repeat;
    enum outcome outcome;
    int64_t send_ns, headers_ns, first_event_ns, first_token_ns, first_visible_ns, second_token_ns,
        last_token_ns, close_ns; /* since the run's start; -1: did not happen */
    int64_t connect_ns;          /* duration of connect + TLS; 0 on a reused connection */
    int64_t prompt_tokens, completion_tokens, cached_tokens; /* -1: not said */
    int64_t events;                                          /* token events */
    int64_t reads, bytes;
    int http_status;
    bool retried;
    char finish[24]; /* the literal finish_reason */
    char error[160];
    struct token_stamp *stamps; /* borrowed by the writer */
    size_t stamp_count;
};

/* One line of the file, wrapped here; null where something did not happen or was not said:
 *
 *   {"phase":"decode","context_tokens":16384,"concurrency":4,"stream":0,"repeat":0,
 *    "outcome":"cancelled","send_us":81000250,
 *    "headers_us":1200,"first_event_us":1300,"first_token_us":101000,"first_visible_us":101000,
 *    "second_token_us":114600,"last_token_us":30091000,"close_us":30092000,"connect_us":0,
 *    "prompt_tokens":16391,"completion_tokens":2193,"cached_tokens":16384,"events":2193,
 *    "reads":2193,"bytes":650000,"http_status":200,"retried":false,"finish":null,"error":null,
 *    "stamps":[101000,1,13600,1,13590,2]}
 *
 * Times are whole microseconds: send_us since the run's start, the others since send_us. "stamps"
 * is flat, two numbers for each event that carried tokens: the time since the event before (the
 * first: since send_us) and the growth of the token count, 0 where the server did not say. */

/* Where samples go: a compressed file that is complete after samples_close, and readable up to the
 * last samples_flush after a crash. */
struct sample_file;
/* An existing file is replaced. */
struct sample_file *samples_open(const char *path, struct err *err) ATTR_CHECK;
void samples_add(struct sample_file *f, const struct sample *s);
/* Ends a compressed block: what was added until now can be read even if nothing more comes. */
bool samples_flush(struct sample_file *f, struct err *err) ATTR_CHECK;
/* Flushes, closes and frees, also on failure; writes the hex BLAKE2b-256 of the whole file (65
 * bytes with NUL). */
bool samples_close(struct sample_file *f, char ret_digest[65], int64_t *ret_requests,
                   struct err *err) ATTR_CHECK;

#endif
