/* profile.h - what an emulated engine is: its model, its limits, and how long its steps take.
 *
 * Step time is three tables on a grid, whether a preset filled them from memory traffic or a
 * measured result taught them:
 *   decode   one decoding step of `batch` sequences with a mean context: bilinear between points,
 *            continued by the last slope outside them, never below a thousandth of the nearest
 * point prefill  P(L): time to prefill L tokens of an empty cache, P(0) = 0, increasing; tokens [a,
 * b) of one prompt cost P(b) - P(a) warm     first step of `batch` sequences whose prompt is cached
 * but for a short rest (at most warm_tokens): W(context, batch) All times are nanoseconds of the
 * engine's own time; a speed factor is applied by whoever waits.
 */
#ifndef TOKGRID_ENGINE_PROFILE_H
#define TOKGRID_ENGINE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/result.h"

enum { PROFILE_MAX_CONTEXTS = 32, PROFILE_MAX_BATCHES = 32, PROFILE_MAX_CAUSES = 64 };

/* Figures over contexts (rows) and batch sizes (columns), both ascending. NAN in the grid while it
 * is being filled means "not known"; grid_complete replaces each from its neighbours. */
struct grid {
    size_t contexts, batches;
    double context[PROFILE_MAX_CONTEXTS]; /* tokens */
    double batch[PROFILE_MAX_BATCHES];    /* sequences */
    double ns[PROFILE_MAX_CONTEXTS][PROFILE_MAX_BATCHES];
};

struct curve {
    size_t count;
    double tokens[PROFILE_MAX_CONTEXTS], ns[PROFILE_MAX_CONTEXTS];
};

/* Something a published cell shows that its figures alone do not bring about. It applies while
 * exactly `concurrency` requests are in the engine and their mean prompt is within 10 % (or 512
 * tokens) of context_tokens. */
struct cause {
    int64_t context_tokens;
    int concurrency;
    bool looped;                      /* every stream repeats itself */
    int max_running;                  /* fewer than asked run at once; 0: no limit of its own */
    bool waiting_seen;                /* one request is reported as waiting while all decode */
    double hold_from_s, hold_until_s; /* decoding pauses, the sequences wait: seconds after the
                                       * last of the first tokens; 0, 0: never */
};

struct profile {
    char name[64];   /* "rtx3090-24gb" */
    char title[160]; /* one line for --list-profiles */
    char model[160]; /* Hugging Face id */
    char served_model[160];
    char quantization[64];
    char gpu[96];
    double vram_bytes;
    int64_t context_limit; /* --max-model-len */
    int64_t kv_tokens;     /* the KV cache, in tokens */
    int block_size;        /* tokens */
    int max_running;       /* --max-num-seqs */
    int64_t step_tokens;   /* token budget of a step: chunked prefill */
    int64_t warm_tokens;
    bool prefix_cache;
    struct grid decode, warm;
    struct curve prefill;
    struct cause causes[PROFILE_MAX_CAUSES];
    size_t cause_count;
};

/* Step times, nanoseconds. */
double profile_decode_ns(const struct profile *p, double mean_context, double batch);
double profile_warm_ns(const struct profile *p, double mean_context, double batch);
double profile_prefill_ns(const struct profile *p, double from, double to); /* from <= to */

/* The cause that applies now, or NULL. */
const struct cause *profile_cause(const struct profile *p, int requests, double mean_prompt);

/* Presets: hardware x model through the memory-traffic model (profile_presets.c says the formula
 * and each figure's source). */
size_t profile_preset_count(void);
bool profile_preset(size_t index, struct profile *ret);
bool profile_by_name(const char *name, struct profile *ret, struct err *err) ATTR_CHECK;

/* Learn from a result of any kind: needs at least one decode cell with numbers. What the result
 * does not hold is taken from its neighbours; what it cannot bring about becomes a cause. */
bool profile_learn(const struct result *r, struct profile *ret, struct err *err) ATTR_CHECK;

/* What the profile says, as JSON: for --print-profile and for the engine's own record. */
void profile_write_json(const struct profile *p, struct buf *out);

/* Grids. */
double grid_at(const struct grid *g, double context, double batch);
void grid_complete(struct grid *g); /* no NAN is left when at least one figure was known */

#endif
