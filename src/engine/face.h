/* face.h - how one engine speaks: its routes, the shapes of its events, its errors. Private to
 * engine/.
 *
 * A face is one file face_NAME.c with a `const struct face`, and a row in face.c. Shapes are
 * written into a buffer as text: a stream's middle events are a head and a tail made once, with
 * only the text, and where asked for the usage, between and behind. What the shapes are is recorded
 * from the engines themselves (versions in each file). */
#ifndef TOKGRID_ENGINE_FACE_H
#define TOKGRID_ENGINE_FACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "engine/ask.h"
#include "engine/engine.h"
#include "engine/prom.h"
#include "engine/service.h"
#include "net/http_server.h"

/* What a face knows of the completion it writes about. */
struct answer {
    enum endpoint endpoint;
    const char *id, *model;
    int64_t created; /* seconds since 1970 */
    bool include_usage, continuous_usage;
    bool cached_in_usage;
    int64_t prompt_tokens, completion_tokens, cached_tokens;
    double prompt_ms, predicted_ms; /* to the first token, from there on */
    const char *finish;             /* "length", "stop", "abort"; NULL: not over */
};

struct route {
    const char *method, *path; /* NULL ends the table */
    void (*handle)(struct service *s, struct exchange *x);
    bool keyless; /* needs no API key */
};

struct face {
    const char *name;
    const struct route *routes;
    const char *json_type, *stream_type;
    const char *headers;        /* further header lines of each response, CRLF-ended; or "" */
    const char *id_prefix[2];   /* by endpoint */
    int id_digits;              /* hexadecimal digits behind it */
    bool head_with_first_token; /* the response begins with the first token, not at once */
    const char *detokenized;    /* /detokenize's member with the text; NULL: no such page */
    bool token_strings;         /* /tokenize has a member for the tokens' texts */
    struct ask_rules rules;     /* served_model and context_limit are filled in at start */

    /* The event before the first text; NULL: none. */
    void (*opener)(const struct answer *a, struct buf *out);
    /* A middle event without its text and usage. */
    void (*frame)(const struct answer *a, struct buf *head, struct buf *tail);
    /* What a middle event says of usage, a comma in front; mostly nothing. */
    void (*usage_part)(const struct answer *a, struct buf *out);
    /* The last token's text (n = 0: it has none) and the finish reason, in one or two events. */
    void (*last)(const struct answer *a, const char *text, size_t n, struct buf *out);
    /* What comes between that and [DONE]: the final usage, if asked for. */
    void (*ending)(const struct answer *a, struct buf *out);
    /* The answer in one piece. */
    void (*whole)(const struct answer *a, const char *text, size_t n, struct buf *out);
    /* A complaint as a response's body; returns the HTTP status. */
    int (*complain)(const struct complaint *c, struct buf *out);
    /* True: this complaint to a streaming request comes inside of a stream with status 200. */
    bool (*in_stream)(const struct complaint *c);
};

extern const struct face face_vllm, face_sglang, face_llamacpp, face_plain;
const struct face *face_find(const char *name); /* NULL: none */

/* --- the service as faces see it --- */

struct completion;

struct counters {
    int64_t requests, stopped, full_length, aborted, refused, broken;
    /* of requests that are over, however they ended */
    int64_t finished_tokens, finished_prompt, finished_cached;
    double prompt_s, predicted_s;
    int64_t longest; /* prompt and output of one sequence */
    struct prom_histogram ttft, token_gap, token_mean, latency, prompt, output, asked;
};

struct service {
    const struct face *face;
    const struct profile *profile;
    struct loop *loop;
    struct http_server *http;
    struct engine *engine;
    const struct faults *faults;
    const char *api_key;
    double speed;
    bool no_metrics, cached_in_usage;
    struct ask_rules rules;
    double started_at; /* seconds since 1970 */
    struct counters counters;
    struct completion *open; /* all that are in the engine, newest first */
    int64_t open_count;
    struct tokens prompt; /* of the request being read */
    struct token_memo memo;
    struct buf scratch; /* of the event being written */
    char headers[400];  /* of the response being begun */
};

/* Answers. `body` is what was written, its own overflow is a 500. */
void service_reply(struct service *s, struct exchange *x, int status, const char *type,
                   const struct buf *body);
void service_reply_text(struct service *s, struct exchange *x, int status, const char *type,
                        const char *body);
void service_complain(struct service *s, struct exchange *x, const struct complaint *c);
void service_start_stream(struct service *s, struct exchange *x);

/* Read the request's JSON; false: it was answered with a complaint. */
bool service_read_body(struct service *s, struct exchange *x, struct body *ret) ATTR_CHECK;

/* --- handlers and pieces that faces share (face.c) --- */

void face_chat(struct service *s, struct exchange *x);
void face_text(struct service *s, struct exchange *x);
void face_empty_ok(struct service *s, struct exchange *x);

/* "emulator":{...}: what answers here and how fast it pretends to be. */
void face_add_emulator(const struct service *s, struct buf *out);

/* As most engines begin, in OpenAI's order: an event up to the choice,
 *     data: {"id":...,"object":...,"created":...,"model":"...","choices":[
 * and an answer in one piece up to the end of its text, within the message of a chat. */
void face_open_event(const struct answer *a, struct buf *out);
void face_open_whole(const struct answer *a, const char *text, size_t n, struct buf *out);

/* What vLLM's and SGLang's web framework refuses before their own code is asked: unknown routes,
 * methods, keys. The HTTP status, its body in `out`; 0 for all other complaints. */
int face_refuse_early(const struct complaint *c, struct buf *out);

/* POST /tokenize and /detokenize as vLLM and SGLang have them. */
void face_tokenize(struct service *s, struct exchange *x);
void face_detokenize(struct service *s, struct exchange *x);

/* False with a complaint when s->prompt is longer than any prompt may be and was not kept whole. */
bool face_prompt_fits(const struct service *s, struct complaint *c) ATTR_CHECK;

/* A list of token ids: [1,2,3] */
void face_add_ids(const struct tokens *t, struct buf *out);

/* --- completion.c --- */

/* A request for a completion: answered now with a complaint, or later as the engine decides. */
void completion_start(struct service *s, struct exchange *x, enum endpoint endpoint);
void completion_gone(struct completion *c); /* its client hung up */
void completion_free_all(struct service *s);
extern const struct engine_events completion_events;

/* End the completions whose id begins with this one; "" matches none. Returns how many. */
int completion_abort(struct service *s, const char *id);

/* The output tokens of each open completion that is being decoded: at most `max` of them. */
size_t completion_progress(const struct service *s, int64_t *ret, size_t max);

#endif
