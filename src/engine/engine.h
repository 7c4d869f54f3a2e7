/* engine.h - the emulated serving engine: requests in, tokens out at the times a profile says.
 *
 * A scheduler as serving engines have it (scheduler.h): first come first served, continuous
 * batching up to max_running sequences, prefill in chunks under a token budget for each step, paged
 * KV blocks (kv_pool.h) with a prefix cache, pre-emption by recompute when blocks run out. One step
 * runs at a time; its length comes from the profile divided by `speed`; each running sequence gets
 * one token at its end. Steps follow one another by their planned ends, so that lateness of the
 * timer does not add up; when the process falls behind by more than 50 ms the plan starts anew and
 * the lost time is counted (engine_stats.late_ns).
 *
 * The engine knows tokens, not text: what a token looks like and how it is sent is the face's
 * business. One loop, one thread. Callbacks come only from loop_turn. */
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
    ENGINE_END_STOP,    /* the model was done */
    ENGINE_END_ABORTED, /* engine_abort_all */
};

struct engine_events {
    /* One more output token; `index` counts from 0. `looped`: a cause wants repeating text. */
    void (*on_token)(void *owner, int64_t index, bool looped);
    void (*on_end)(void *owner, enum engine_end why); /* the request is freed after this returns */
};

struct engine_submission {
    const uint64_t *tokens; /* the prompt, one number each; copied as block hashes */
    int64_t token_count;    /* >= 1, token_count + max_output <= context_limit: the face checks */
    int64_t max_output;     /* >= 1 */
    int64_t stop_after;     /* the model ends by itself after so many tokens; INT64_MAX: never */
    int64_t arrived;        /* monotonic ns: when the request came in */
    void *owner;
};

struct engine_stats {
    int running, waiting;
    double kv_used;                          /* 0..1 */
    int64_t kv_tokens, kv_blocks;            /* the budget */
    int64_t prompt_tokens, generated_tokens; /* counters, as the engines count */
    int64_t prefix_queries, prefix_hits;     /* tokens */
    int64_t preemptions, requests_done, steps;
    int64_t late_ns; /* by how much steps were late in all: the emulator could not keep up */
};

/* Life cycle. loop, profile and events are borrowed. Freeing tells nobody. */
struct engine *engine_new(struct loop *loop, const struct profile *profile, double speed,
                          const struct engine_events *events);
void engine_free(struct engine *e);

/* A request joins the queue. The pointer is good until its on_end returned or engine_abort. */
struct engine_request *engine_submit(struct engine *e, const struct engine_submission *s);
void engine_abort(struct engine *e, struct engine_request *r); /* no callback follows */

/* Prompt tokens of r that came from the prefix cache, known from its first token on. */
int64_t engine_cached_tokens(const struct engine_request *r);

/* Throw running sequences out of their blocks, to be recomputed: a preemption storm. */
void engine_preempt(struct engine *e, int count);

void engine_flush_cache(struct engine *e); /* forget every cached prefix */
void engine_read_stats(const struct engine *e, struct engine_stats *ret);

#endif
