/* plan.h - what a run intends to measure: the matrix, its order, what is left out and why.
 *
 * measurement.md section 5 of the documentation defines it. Lengths are tokens, times nanoseconds.
 * The load layer makes a plan from options and the probe's facts; cmd prints it; the result keeps
 * it, so that a reader can see what was asked for. */
#ifndef TOKGRID_MODEL_PLAN_H
#define TOKGRID_MODEL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum { PLAN_MAX_CONTEXTS = 32, PLAN_MAX_LEVELS = 32, PLAN_MAX_CONCURRENCY = 16384 };

enum prompt_mode { PROMPTS_SHARED, PROMPTS_DISTINCT };
enum prefill_mode { PREFILL_WARMUP, PREFILL_STANDALONE, PREFILL_NONE };
enum capacity_rule { CAPACITY_FULL, CAPACITY_WINDOW };

struct plan {
    int64_t contexts[PLAN_MAX_CONTEXTS]; /* ascending, unique */
    size_t context_count;
    int levels[PLAN_MAX_LEVELS]; /* concurrency, ascending, unique */
    size_t level_count;
    int64_t prefill[PLAN_MAX_CONTEXTS]; /* ascending, unique, without 0 */
    size_t prefill_count;
    int prefill_samples;            /* 0: three up to 16K, one beyond */
    int repeats;                    /* windows per cell, >= 1 */
    int64_t duration_ns, settle_ns; /* settle -1: not known (imported) */
    int64_t max_output;             /* tokens; 0 until the model's limit is known */
    enum prompt_mode prompts;
    enum prefill_mode prefill_mode;
    enum capacity_rule capacity_rule;
    const char *preset;     /* static name, or NULL */
    int64_t budget_ns;      /* 0: none */
    int64_t kv_budget;      /* tokens of the server's KV cache, 0: unknown; not in the document */
    bool run_over_capacity; /* nor is this */
    int64_t estimate_ns;    /* filled by plan_estimate */
};

/* The standard plan, without its name. max_output is 0: plan_trim decides. */
void plan_init(struct plan *p);

/* Sets contexts, concurrency, prefill, window, settle time, repeats and the name; leaves the rest.
 * A preset's values never change under the same name and version.
 *
 *             contexts                     concurrency           prefill           window
 *   quick     0 8K                         1 2 4 8               8K                10 s
 *   standard  0 16K 32K 64K 128K           1 2 4 8 .. 128        8K 16K .. 128K    30 s
 *   full      0 4K 8K 16K 32K 48K 64K 96K  1 2 3 4 6 8 12 16 24  2K 4K 8K 16K 32K  60 s, 3 times
 *             128K                         32 48 64 96 128       48K 64K 96K 128K
 *
 * All settle for 2 s. */
bool plan_preset(struct plan *p, const char *name, struct err *err) ATTR_CHECK;

/* Lists as options write them: "0,16k,32k" and "1,2,4". Sorted, duplicates dropped; `out` has room
 * for PLAN_MAX_CONTEXTS. Errors name the option and the element. */
bool plan_parse_contexts(const char *text, int64_t *out, size_t *ret_count, bool allow_zero,
                         const char *option, struct err *err) ATTR_CHECK;
bool plan_parse_levels(const char *text, struct plan *p, struct err *err) ATTR_CHECK;

/* Insert into an ascending list of unique values, in place. False when it has no room left. */
bool plan_insert(int64_t *values, size_t *count, size_t room, int64_t v);

/* Trim to the model's limit (tokens, 0 = unknown).
 *
 * max_output, when 0, becomes the smaller of 8,192 and a quarter of the limit (8,192 when that is
 * unknown); one that leaves no room for a prompt is lowered. Then the largest context is
 * limit - max_output, rounded down to a whole K. Contexts above it are dropped and it becomes the
 * last row: 65,536 - 8,192 = 56K. It is added as well when nothing was dropped but it lies within
 * an eighth above the largest asked for, so that a plan which nearly reaches the limit shows it:
 * 147,456 - 8,192 = 136K after 128K. Prefill contexts above it are dropped, and it is added when
 * one was. Each change adds a line to `notes`. */
void plan_trim(struct plan *p, int64_t limit, struct buf *notes);

/* Tokens of KV cache that a cell needs when each of its requests writes `written` tokens; with
 * `shared` the context counts once. */
double plan_kv_need(int64_t context, int concurrency, double written, bool shared);

/* False for a cell that the full capacity rule leaves out, as far as kv_budget is known. */
bool plan_runs(const struct plan *p, int64_t context, int concurrency);

/* Cold requests of a prefill row: prefill_samples, or three up to 16K and one beyond. */
int plan_prefill_samples(const struct plan *p, int64_t context);

/* Fill estimate_ns: the prefill samples and warm-ups at this speed (tokens per second, 0 = unknown:
 * 1,000), and for each cell its windows, settling and a few seconds between. */
void plan_estimate(struct plan *p, double prefill_tok_s);

/* Shorten to fit budget_ns (0: leave it): first the window (not below 5 s), then concurrency, then
 * contexts and their prefill, from the large end. Adds a line to `notes` for each kind of change.
 * False when not even one cell fits; the plan is then as short as it gets. Fills estimate_ns. */
bool plan_fit_budget(struct plan *p, double prefill_tok_s, struct buf *notes,
                     struct err *err) ATTR_CHECK;

/* The order cells are run in: first concurrency column, first context row, then row by row.
 * Writes context_count * level_count pairs of indexes. */
struct plan_step {
    size_t context, level;
};
size_t plan_order(const struct plan *p, struct plan_step *out, size_t max);

#endif
