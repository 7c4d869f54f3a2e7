/* profile.h - what an emulated engine is: its model, its limits, and how long its steps take.
 *
 * Step time is three tables, whether a preset filled them from memory traffic or a measured result
 * taught them:
 *   decode   one decoding step of `batch` sequences with a mean context, which counts the prompt
 *            and the output so far
 *   prefill  P(L): time to prefill L tokens of an empty cache, P(0) = 0, increasing; tokens [a, b)
 *            of one prompt cost P(b) - P(a)
 *   warm     first step of `batch` sequences whose prompt is cached but for a short rest (at most
 *            warm_tokens): W(context, batch)
 * All times are nanoseconds of the engine's own time; a speed factor is applied by whoever waits.
 */
#ifndef TOKGRID_ENGINE_PROFILE_H
#define TOKGRID_ENGINE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/result.h"

enum { PROFILE_MAX_CONTEXTS = 32, PROFILE_MAX_BATCHES = 32, PROFILE_MAX_CAUSES = 256 };

/* The longest context limit: in blocks of a single token it still fits the largest pool
 * (kv_pool.h), and an engine must hold one sequence at least. */
enum { PROFILE_MAX_CONTEXT_LIMIT = 1 << 24 };

/* Figures over contexts (rows) and batch sizes (columns), both ascending, at least one of each. NAN
 * in the grid while it is being filled means "not known"; grid_complete replaces each from its
 * neighbours. */
struct grid {
    size_t contexts, batches;
    double context[PROFILE_MAX_CONTEXTS]; /* tokens */
    double batch[PROFILE_MAX_BATCHES];    /* sequences */
    double ns[PROFILE_MAX_CONTEXTS][PROFILE_MAX_BATCHES];
};

/* Points of an increasing line that begins at (0, 0), which is not stored. */
struct curve {
    size_t count;
    double tokens[PROFILE_MAX_CONTEXTS], ns[PROFILE_MAX_CONTEXTS];
};

/* Something a measured cell shows that the tables do not bring about. It applies while exactly
 * `concurrency` requests are in the engine and their mean prompt is within 10 % (or 512 tokens) of
 * context_tokens; all but `looped` only once the last of them has its first token. */
struct cause {
    int64_t context_tokens;
    int concurrency;
    bool looped;       /* every stream repeats itself */
    int max_running;   /* fewer than asked run, the others are seen waiting; 0: all */
    double decoding;   /* of those that run so many get a token in a step, on average: the last of
                        * them comes round less often; 0: all do */
    double step_ns;    /* a decoding step meanwhile, whatever its batch; 0: as the table says */
    bool waiting_seen; /* one request is reported as waiting while all decode */
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

/* The cause that applies now, the nearest in context if several do; NULL: none. */
const struct cause *profile_cause(const struct profile *p, int requests, double mean_prompt);

/* Presets: hardware x model through the memory-traffic model (profile_presets.c says the formula
 * and each figure's source). The first is the default. An unknown name is an error that lists the
 * known ones. */
size_t profile_preset_count(void);
bool profile_preset(size_t index, struct profile *ret);
bool profile_by_name(const char *name, struct profile *ret, struct err *err) ATTR_CHECK;

/* Learn from a result of any kind, so that measuring the engine gives its matrix back: totals and
 * time between tokens within 3 %, TTFT, and the status of every cell. It needs at least one decode
 * cell with numbers. What the result does not hold is taken from its neighbours; what the tables
 * cannot bring about becomes a cause. profile_learn.c says how each figure is found. */
bool profile_learn(const struct result *r, struct profile *ret, struct err *err) ATTR_CHECK;

/* What the profile says, as JSON: for --print-profile and for the engine's own record. */
void profile_write_json(const struct profile *p, struct buf *out);

/* Bilinear between the points. Outside them the last slope goes on where it rises; where it falls
 * the figure stays. Towards smaller contexts and batches it is never below a tenth of the first
 * point's. */
double grid_at(const struct grid *g, double context, double batch);

/* Replace every NAN; nothing is left of them when at least one figure was known. In this order:
 * a row with two figures or more is interpolated and continued over the batch; a row with one
 * follows the shape of the nearest such row; a row with none lies between its neighbours. */
void grid_complete(struct grid *g);

#endif
