/* dialect.h - how one family of engines says things: a row of a table and one file each.
 *
 * A dialect knows how to recognise its engine, where its limits stand, how its metrics are called
 * (with their former names), how to count a prompt's tokens without running it, and how to abort a
 * request. What an engine does not offer stays unknown; nothing is guessed. To add one: a file
 * dialect_NAME.c with a `const struct dialect`, and its row in dialect.c. */
#ifndef TOKGRID_LOAD_DIALECT_H
#define TOKGRID_LOAD_DIALECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "load/pages.h"
#include "net/fetch.h"

enum { DIALECT_NAMES = 5 };

/* Each list holds a metric's names, the current one first, NULL-ended. Empty: not offered. */
struct metric_names {
    const char *running[DIALECT_NAMES];     /* requests being decoded */
    const char *waiting[DIALECT_NAMES];     /* requests in the queue */
    const char *generated[DIALECT_NAMES];   /* counter of output tokens */
    const char *prompt[DIALECT_NAMES];      /* counter of prompt tokens */
    const char *kv_used[DIALECT_NAMES];     /* 0..1 */
    const char *preemptions[DIALECT_NAMES]; /* counter */
    const char *prefix_hits[DIALECT_NAMES]; /* counter of prompt tokens found in the cache */
    /* a histogram over the requests that ended: from being scheduled to the first token */
    const char *prefill_s[DIALECT_NAMES]; /* its sum, seconds */
    const char *prefills[DIALECT_NAMES];  /* its count */
};

/* What is known about the server. Numbers are 0 when unknown; sources say where they stand. */
struct server_facts {
    char version[96], build[128], backend[32], quantization[64], revision[96];
    char model[256];       /* Hugging Face id or file, where the server says */
    int64_t context_limit; /* tokens of one request, prompt and output */
    char context_source[96];
    int64_t kv_budget; /* tokens of all requests together */
    char kv_source[96];
    int64_t max_running; /* requests decoded at once */
    char max_running_source[96];
    int64_t model_bytes; /* of all weights */
    char model_bytes_source[96];
};

struct dialect {
    const char *name;       /* the result's engine.name */
    const char *repository; /* where its source lives; NULL unknown */
    bool (*detect)(struct pages *pages);
    /* Fill what the server says; leave the rest. `model` is the name it is asked by. */
    void (*learn)(struct pages *pages, const char *model, struct server_facts *facts);
    struct metric_names metrics;
    /* Tokens of one user message after the chat template; false when it cannot be asked. */
    bool (*count_tokens)(struct fetcher *f, const char *model, const char *text, int64_t *ret);
    /* Output tokens so far, where the counter in metrics moves only when a request ends: what the
     * requests in progress add to it. NULL: the counter is live. */
    bool (*generated_in_progress)(struct fetcher *f, double *ret);
    /* Engines that go on decoding after a disconnect and abort by the request's own id. */
    const char *abort_path; /* POST {"rid": id}; NULL: closing is enough */
    bool obeys_ignore_eos;  /* documented by the engine, where a probe cannot tell */
};

/* The first row that recognises the server; the last row ("openai") always does. */
const struct dialect *dialect_detect(struct pages *pages);

extern const struct dialect dialect_vllm, dialect_sglang, dialect_llamacpp, dialect_plain;

/* For the dialects: copy a string of a page into a fact's field, printable; false when absent. */
bool dialect_copy(char *out, size_t size, json_t *root, const char *path);
/* The card of `model` in /v1/models, or NULL. Borrowed. */
json_t *dialect_model_card(struct pages *pages, const char *model);
/* POST a document, get one: NULL unless 200 with JSON. Caller: json_decref. */
json_t *dialect_post(struct fetcher *f, const char *path, json_t *body_take);

#endif
