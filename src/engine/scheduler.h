/* scheduler.h - what an emulated engine does in its next step: a pure plan, no clock, no I/O.
 *
 * Sequences wait in one queue, first come first served, and run until they are done. A step carries
 * at most step_tokens tokens and is filled in this order:
 *   1. one token of each decoding sequence, in the order of admission;
 *   2. the next chunks of prompts that are partly computed;
 *   3. newly admitted sequences, while fewer than max_running run. The first of the queue is
 *      admitted when there are blocks for all of its tokens, never one behind it before it.
 *
 * Admission looks the prompt up in the prefix cache, block by block from the front. At least the
 * last token is always computed, or there would be nothing to sample from: so a prompt that is
 * cached whole and ends with a block has that block computed again. What is not cached is the
 * sequence's rest:
 *   warm   the rest is at most warm_tokens. It is computed in one go, and its tokens are not
 *          charged to the step: W of the profile is measured over whole prompts.
 *   cold   anything longer: computed in chunks under what is left of the step's tokens.
 * Blocks are published to the cache when the step that fills them is planned; a later sequence of
 * the same step finds them, since within a step KV is written before it is read.
 *
 * When a decoding sequence needs a block and none is left, the latest admitted sequence is
 * pre-empted: it loses its blocks and goes back to the front of the queue, to be computed anew,
 * prompt and output, as far as the cache does not have them still. Until it fits again nobody is
 * admitted.
 *
 * A sequence alone always fits: the caller sees to blocks >= (prompt + output) / block_size.
 * Cost: a step is linear in its sequences; blocks, queues and removal are O(1). */
#ifndef TOKGRID_ENGINE_SCHEDULER_H
#define TOKGRID_ENGINE_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "engine/kv_pool.h"

enum sequence_state {
    SEQUENCE_WAITING,
    SEQUENCE_PREFILL, /* admitted, not all of its tokens computed */
    SEQUENCE_DECODE,
    SEQUENCE_DONE, /* its last token is out; it holds nothing */
};

/* Lives in the caller's memory, all zero but for the first group. */
struct sequence {
    /* given before scheduler_add */
    int64_t prompt_tokens; /* >= 1 */
    int64_t output_limit;  /* >= 1: it is done after so many tokens */
    uint64_t number;       /* tells its output apart from everybody else's */
    uint64_t *hashes;      /* kv_hash_prompt; heap, the sequence's own from scheduler_add on */

    /* to be read */
    enum sequence_state state;
    int64_t produced;      /* output tokens */
    int64_t cached_tokens; /* of the prompt, found at its first admission; 0 before */

    /* the scheduler's own */
    int64_t computed; /* tokens whose KV is there */
    bool admitted;    /* once at least */
    bool warm;
    int32_t *blocks;
    size_t block_count, block_cap;
    size_t slot; /* index in the step's items + 1; 0: not in it */
    TAILQ_ENTRY(sequence) queue;
};
TAILQ_HEAD(sequence_queue, sequence);

enum step_kind { STEP_DECODE, STEP_COLD, STEP_WARM };

/* KV of tokens [from, to) is computed; a decode is [n, n + 1). */
struct step_item {
    struct sequence *sequence; /* NULL: removed since */
    enum step_kind kind;
    int64_t from, to;
};

struct step {
    struct step_item *items; /* decodes first */
    size_t count, cap;
    int decodes, warm, cold;
    int paused;                           /* decoding sequences held back by decode_limit */
    int64_t decode_context, warm_context; /* tokens, summed over the sequences of the kind */
    int64_t tokens_left;                  /* of step_tokens */
};

struct scheduler_limits {
    int32_t blocks;
    int block_size; /* tokens */
    int max_running;
    int64_t step_tokens, warm_tokens;
    bool prefix_cache;
};

/* As vLLM counts: a prompt when its first token comes, a prefix query (in tokens) at the first
 * admission, nothing of either again after a pre-emption. */
struct scheduler_counts {
    int64_t prompt_tokens, generated_tokens;
    int64_t prefix_queries, prefix_hits;
    int64_t preemptions;
};

struct scheduler {
    struct scheduler_limits limits;
    struct kv_pool pool;
    struct sequence_queue waiting, running; /* running: in the order of admission */
    int waiting_count, running_count;
    struct step step;
    bool head_blocked; /* the first of the queue did not fit, and no block came free since */
    struct scheduler_counts counts;
};

/* Life cycle. Limits below 1 count as 1. Release frees no sequence: remove them first. */
void scheduler_init(struct scheduler *s, const struct scheduler_limits *limits);
void scheduler_release(struct scheduler *s);

/* Join the end of the queue. */
void scheduler_add(struct scheduler *s, struct sequence *q);

/* Leave, in any state and at any time: blocks go back, its storage is freed, its item in the step
 * is blanked. */
void scheduler_remove(struct scheduler *s, struct sequence *q);

/* Plan the next step; the one before must have been applied. At most decode_limit sequences decode,
 * the earliest admitted; INT_MAX: all. The step is empty when there is nothing to do. It is the
 * scheduler's and good until the next plan. */
const struct step *scheduler_plan(struct scheduler *s, int decode_limit);

/* While a step runs: let the first of the queue join it, as many as are warm and fit. Says how
 * many did. */
int scheduler_join(struct scheduler *s);

enum step_outcome {
    STEP_NOTHING,    /* removed since, or a chunk that did not end the prompt */
    STEP_TOKEN,      /* one more output token */
    STEP_LAST_TOKEN, /* and it was the last: the sequence is done */
};

/* The step is over: take in what it did for items[i]. Each item once, in any order. */
enum step_outcome scheduler_apply(struct scheduler *s, size_t i);

/* Between steps: pre-empt the latest admitted sequences, at most `count`. */
void scheduler_preempt(struct scheduler *s, int count);

#endif
