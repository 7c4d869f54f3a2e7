/* engine.h - the emulated serving engine: requests in, tokens out at the times a profile says.
 *
 * A scheduler as serving engines have it (scheduler.h): first come first served, continuous
 * batching up to max_running sequences, prefill in chunks under a token budget for each step, paged
 * KV blocks (kv_pool.h) with a prefix cache, pre-emption by recompute when blocks run out. One step
 * runs at a time, and each sequence whose tokens are all computed gets one token at its end.
 *
 * How long a step takes, in the engine's own time:
 *
 *     sum of profile_prefill_ns(a, b) over the chunks [a, b) of cold prompts
 *     + max(profile_decode_ns(mean context, decoding sequences),
 *           profile_warm_ns(mean context, warm prompts))
 *
 * What is in one step is in one forward pass. Decoding and the short rest of a warm prompt are both
 * bound by reading weights and KV, which the pass does once: the larger of the two covers both. A
 * cold chunk is bound by arithmetic, which nobody shares: it is added. That counts the weights
 * twice where cold and decoding meet; against a chunk of thousands of tokens it is little. The
 * chunks of a prompt alone add up to profile_prefill_ns(0, prompt), however they were cut.
 *
 * Gathering: C requests sent at once arrive one by one, and the first would leave without the
 * others. So while a step holds nothing but warm prompts and less than half of its plan has passed,
 * warm requests that arrive join it, and its end is planned anew: the first one's arrival +
 * profile_warm_ns(mean context, all of them). A step that begins on an idle engine is counted from
 * the stamp of the request that began it, so that the time the emulator took to read the request is
 * not added to its time to first token.
 *
 * Time: everything above is divided by `speed`. Steps follow one another by their planned ends, so
 * that lateness of the timer does not add up; when the process falls behind by more than 50 ms the
 * plan starts anew and the lost time is counted (engine_stats.late_ns).
 *
 * Causes (profile_cause) bend this while exactly the requests they name are present, from the first
 * token of the last of them on (`looped` from the beginning): sequences that a cause keeps from
 * decoding hold their blocks, and are counted as waiting, but for those that it only lets come
 * round less often. A cause ends when a request comes or goes, and is looked up anew.
 *
 * The engine knows tokens, not text: what a token looks like and how it is sent is the face's
 * business. One loop, one thread. Callbacks come only from loop_turn, or from engine_abort_all; in
 * them everything may be called but engine_free. */
#ifndef TOKGRID_ENGINE_ENGINE_H
#define TOKGRID_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/profile.h"
#include "net/loop.h"

struct engine;
struct engine_request;

enum engine_end {
    ENGINE_END_LENGTH,  /* max_output reached */
    ENGINE_END_STOP,    /* the model was done: stop_after reached, also when max_output is too */
    ENGINE_END_ABORTED, /* engine_abort_all */
};

struct engine_events {
    /* One more output token; `index` counts from 0. `looped`: a cause wants repeating text. */
    void (*on_token)(void *owner, int64_t index, bool looped);
    /* No more will come. The request is freed after this returns. */
    void (*on_end)(void *owner, enum engine_end why);
};

struct engine_submission {
    const uint64_t *tokens; /* the prompt, one number each; copied as block hashes */
    int64_t token_count;    /* >= 1, token_count + max_output <= context_limit: the face checks */
    int64_t max_output;     /* >= 1 */
    int64_t stop_after;     /* the model ends by itself after so many tokens, >= 1; INT64_MAX: never
                             */
    int64_t arrived;        /* monotonic ns: when the request came in, not in the future */
    void *owner;
};

/* Gauges of this instant and counters since the start, as vLLM counts: the tokens of a prompt when
 * its first output token comes, a prefix query when it is first admitted. */
struct engine_stats {
    int running, waiting;
    double kv_used;                          /* 0..1; blocks that only the cache holds are unused */
    int64_t kv_tokens, kv_blocks;            /* the budget, in whole blocks */
    int64_t prompt_tokens, generated_tokens; /* counters */
    int64_t prefix_queries, prefix_hits;     /* tokens */
    int64_t preemptions, steps;
    int64_t requests_done; /* by length or stop */
    int64_t late_ns;       /* plan given up because the emulator could not keep up */
};

/* Life cycle. loop, profile and events are borrowed; speed > 0. The KV budget is the profile's, but
 * holds one sequence of context_limit at least, without which no engine starts. Freeing tells
 * nobody. */
struct engine *engine_new(struct loop *loop, const struct profile *profile, double speed,
                          const struct engine_events *events);
void engine_free(struct engine *e);

/* A request joins the queue. The pointer is good until its on_end returned or engine_abort. */
struct engine_request *engine_submit(struct engine *e, const struct engine_submission *s);

/* r is gone at once and no callback follows; a step that it is in runs on without it. From within
 * its own on_end this does nothing. */
void engine_abort(struct engine *e, struct engine_request *r);

/* Every present request ends with ENGINE_END_ABORTED before this returns. */
void engine_abort_all(struct engine *e);

/* Prompt tokens of r that came from the prefix cache, known from its first token on. */
int64_t engine_cached_tokens(const struct engine_request *r);

/* Throw the latest `count` running sequences out of their blocks, to be recomputed, before the next
 * step: a pre-emption storm. */
void engine_preempt(struct engine *e, int count);

void engine_flush_cache(struct engine *e); /* forget every cached prefix */
void engine_read_stats(const struct engine *e, struct engine_stats *ret);

#endif
