/* dialect.h - how one family of engines says things: a row of a table and one file each.
 *
 * A dialect knows how to recognise its engine, where its facts stand, how its metrics are called
 * (with their former names), how to count a prompt's tokens without running it, and how to abort a
 * request. Most of that is data: signs, places, names. What an engine does not offer stays unknown;
 * nothing is guessed. To add one: a file dialect_NAME.c with a `const struct dialect`, and its row
 * in dialect.c. */
#ifndef TOKGRID_LOAD_DIALECT_H
#define TOKGRID_LOAD_DIALECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "load/pages.h"
#include "net/fetch.h"

enum { DIALECT_NAMES = 5, DIALECT_SIGNS = 4, DIALECT_PLACES = 4, SOURCE_MAX = 128 };

/* Each list holds a metric's names, the current one first, NULL-ended. Empty: not offered. A name
 * may select series by a label: "name{label=\"value\"}". */
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

/* A member of a page's JSON: "a.b.0.c". With '@' in front, a member of the model's card: the
 * element of the page's data[] or models[] that has the model's name. page NULL ends a list. */
struct place {
    const char *page, *path;
};

/* What gives an engine away: that member is there, and is `value` unless that is NULL. */
struct sign {
    const char *page, *path, *value;
};

/* Where each fact stands, the most trusted place first. */
struct places {
    struct place version[DIALECT_PLACES], build[DIALECT_PLACES], backend[DIALECT_PLACES],
        quantization[DIALECT_PLACES], revision[DIALECT_PLACES], model[DIALECT_PLACES];
    struct place context_limit[DIALECT_PLACES], model_context[DIALECT_PLACES],
        kv_budget[DIALECT_PLACES], max_running[DIALECT_PLACES];
};

/* A fact and where it comes from: "" and 0 when unknown. */
struct known_text {
    char value[256], source[SOURCE_MAX];
};
struct known_number {
    int64_t value;
    char source[SOURCE_MAX];
};

/* What is known about the server. */
struct server_facts {
    struct known_text engine; /* the dialect's name, and what gave it away */
    struct known_text version, build, backend, quantization, revision;
    struct known_text model;                /* Hugging Face id or file, where the server says */
    struct known_number context_limit;      /* tokens of one request, prompt and output */
    struct known_number model_context;      /* what the model could do: no limit of this server */
    struct known_number model_bytes;        /* of all weights */
    struct known_number kv_budget;          /* tokens of all requests together */
    struct known_number max_running;        /* requests decoded at once */
    char metrics_path[320], load_path[320]; /* "" as the dialect has them */
};

/* How much the server works on, by itself. NAN: not said. */
struct server_load {
    double running, waiting;
    double generated; /* output tokens of the requests in progress */
};

struct dialect {
    const char *name;       /* the result's engine.name */
    const char *repository; /* where its source lives; NULL unknown */
    const char *owner;      /* owned_by of a card in /v1/models gives it away; NULL: not told */
    struct sign signs[DIALECT_SIGNS];
    /* What signs cannot say; returns where it shows ("GET /props"), or NULL. May be NULL. */
    const char *(*detect)(struct pages *pages);
    struct places places;
    /* Facts that are no plain members of a page, after those that are. May be NULL. */
    void (*learn)(struct pages *pages, const char *model, struct server_facts *facts);
    bool tells_more_loaded;       /* some facts are only there once the model has answered */
    const char *metrics_paths[3]; /* tried in this order; empty: "/metrics" */
    struct metric_names metrics;
    const char *metrics_option; /* of its command line, that switches them on; NULL: they are on */
    /* Tokens of one user message, after the chat template where the server applies it; false when
     * it cannot be asked. Whether the count is to be believed is seen by comparing it with usage.
     */
    bool (*count_tokens)(struct fetcher *f, const char *model, const char *text, int64_t *ret);
    const char *count_path; /* what count_tokens asks */
    /* What a page of its own says about its load, at facts->load_path. May be NULL. */
    const char *load_path;
    bool (*read_load)(json_t *page, struct server_load *ret);
    bool counts_when_done; /* the metrics' output counter moves only when a request ends: what the
                              requests in progress add to it comes from read_load */
    /* Engines that go on decoding after a disconnect and abort by the request's own id. */
    const char *abort_path; /* POST {"rid": id}; NULL: closing is enough */
    bool obeys_ignore_eos;  /* documented by the engine, where a probe cannot tell */
};

/* The first row that recognises the server, the last row ("openai") always does, and what gave it
 * away. */
const struct dialect *dialect_detect(struct pages *pages, struct known_text *ret_engine);

/* All that the server says about itself and `model`, the name it is asked by. */
void dialect_learn(const struct dialect *d, struct pages *pages, const char *model,
                   struct server_facts *facts);

extern const struct dialect dialect_tabby, dialect_koboldcpp, dialect_textgen, dialect_litellm,
    dialect_openrouter, dialect_lmstudio, dialect_trtllm, dialect_lmdeploy, dialect_sglang,
    dialect_vllm, dialect_llamacpp, dialect_tgi, dialect_ollama, dialect_mlx, dialect_plain;

/* --- for the dialects --- */

/* Store a number above 0 with its source; false, and nothing is changed, for any other. */
bool known_number_set(struct known_number *k, int64_t value, const char *source, ...)
    ATTR_PRINTF(3, 4);
/* The member at `place`, a number above 0, with "GET page path" as its source. */
bool known_number_from(struct known_number *k, struct pages *pages, const char *model,
                       struct place place);
/* Store a text that is not empty, printable, with its source. */
bool known_text_set(struct known_text *k, const char *text, const char *source);
/* The card of `model` in a page that lists models, or NULL. Borrowed. */
json_t *dialect_card(struct pages *pages, const char *page, const char *model);
/* POST a document, get one: NULL unless 200 with JSON. Caller: json_decref. */
json_t *dialect_post(struct fetcher *f, const char *path, json_t *body_take);
/* "/path?model=NAME" into out, the name escaped. */
void dialect_path_of_model(const char *path, const char *model, char *out, size_t size);

#endif
