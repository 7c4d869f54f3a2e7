/* calculator.h - the decode calculator: the most a machine can decode, from memory traffic.
 *
 * A decoding step reads the weights it uses once for the whole batch and each session's KV cache,
 * so bandwidth over bytes is a bound that no engine passes. It is no forecast: measured runs lie
 * below it.
 *
 * Units: GB are 10^9 bytes, parameters 10^9, contexts tokens, rates tokens per second.
 *
 *   tau  = (1 - a^(n+1)) / (1 - a), n+1 for a = 1      tokens a verification pass yields; 1 without
 *                                                      speculation (n drafted, accepted with a)
 *   beta = w/8;  R = P beta + D_r                      resident weights
 *   dense:  T(b) = W_t = P beta + D_t                  weight traffic of a step of b sessions
 *   MoE:    e = (P - A)/(E - k), trunk = A - k e, W_t = A beta + D_t
 *           T(b) = W_t with minimum routing, else
 *           T(b) = (trunk + e E (1 - (1 - k/E)^(b tau))) beta + D_t
 *   KV(C, bits, F) = 2 H d (bits/8) (L_g C + L_l min(C, W)) / 10^9 + F
 *   K_a = KV(C_a, store bits, F_s);  K_r = KV(C_r, read bits, F_r)
 *   m = M - R - O;  b_mem = floor(m / K_a)
 *   step(b) = (T(b) + b tau K_r) / B                   seconds
 *   per session(b) = tau / step(b);  aggregate(b) = b tau / step(b)
 *   b_rate = floor((tau B / f - W_t) / (tau K_r))      sessions that keep the floor f
 *   memory-power bound = tau B m / (K_a W_t);  large-memory bound = tau M B / (K_a W_t)
 *
 * Corrections to these formulas, each of which can be switched off:
 *   CORRECT_KV_PASS  a verification pass reads a session's KV cache once, not once for each of its
 *                    tau tokens: step(b) = (T(b) + b K_r) / B. With tau K_r the figure is no upper
 *                    bound, since a real engine can pass it.
 *   CORRECT_RATE     b_rate counts what a step of b sessions really reads: the largest b whose
 *                    sessions keep f. With W_t, an MoE that routes as expected seems to carry more
 *                    sessions than it does.
 *   CORRECT_COMPUTE  a step also takes 2 A FLOPs for each token it looks at, b (n + 1) of them, so
 *                    it lasts at least that over the peak; and there is a bound for prefill:
 *                    2 A C + 2 d H_q (L_g C^2 + L_l C min(C, W)) FLOPs (causal attention). Without
 *                    a peak (0) nothing changes.
 *   CORRECT_SPLIT    several devices, each with M, B and the peak. Without it, they count as one
 *                    device with the sum of all. Tensor split: the sum, plus two all-reduces a
 *                    layer, 2 (N-1)/N times 2 bytes for each of h values and token, over the link.
 *                    Pipeline split: a session's pass goes through the devices one after the
 *                    other, so b sessions run as min(b, N) groups, each at one device's bandwidth.
 */
#ifndef TOKGRID_MODEL_CALCULATOR_H
#define TOKGRID_MODEL_CALCULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum calculator_kind { CALCULATOR_DENSE, CALCULATOR_MOE };
enum calculator_routing { ROUTING_EXPECTED, ROUTING_MINIMUM };
enum calculator_decoding { DECODING_STANDARD, DECODING_SPECULATIVE };
enum calculator_split { SPLIT_TENSOR, SPLIT_PIPELINE };

enum {
    CORRECT_KV_PASS = 1 << 0,
    CORRECT_RATE = 1 << 1,
    CORRECT_COMPUTE = 1 << 2,
    CORRECT_SPLIT = 1 << 3,
    CORRECT_ALL = 15,
};

struct calculator {
    double memory_gb, bandwidth_gb_s, overhead_gb; /* M, B of one device; O once */
    double peak_tflops;                            /* of one device; 0: unknown */
    double devices;                                /* N */
    int split;                                     /* enum calculator_split */
    double link_gb_s;                              /* all-reduce bandwidth; 0: free */

    int kind; /* enum calculator_kind */
    double params_b, active_b, weight_bits;
    double experts, experts_per_token; /* E, k */
    int routing;
    double hidden; /* h; 0: the tensor split's traffic is not counted */

    double global_layers, local_layers, kv_heads, query_heads, head_dim;
    double store_bits, read_bits, window;
    double fixed_store_gb, fixed_read_gb;   /* F_s, F_r */
    double allocated_context, read_context; /* C_a, C_r */

    int decoding;
    double draft_tokens, acceptance_pct; /* n, 100 a */
    double draft_resident_gb, draft_traffic_gb;

    double floor_tok_s; /* f */
    int corrections;    /* CORRECT_ bits */
};

/* One table of the inputs: defaults, command line, JSON, forms and help all come from it. */
struct calculator_field {
    const char *name; /* "memory-gb"; in JSON with underscores */
    size_t offset;
    const char *const *choices; /* of an int: its words, NULL-ended; NULL: a number */
    double initial, min, max;
    bool whole;       /* no fractions */
    const char *unit; /* "GB"; NULL: none */
    const char *help; /* a sentence */
    const char *group;
};
extern const struct calculator_field calculator_fields[];
extern const size_t calculator_field_count;
extern const char *const calculator_kinds[],
    *const calculator_routings[], *const calculator_decodings[], *const calculator_splits[];

/* The corrections by name: "kv-per-pass", "exact-rate", "compute", "split". */
struct calculator_correction {
    const char *name;
    int bit;
};
enum { CALCULATOR_CORRECTIONS = 4 };
extern const struct calculator_correction calculator_corrections[CALCULATOR_CORRECTIONS];

/* What may stand in a list: these, then "all" and "none". NULL: there are no more. */
const char *calculator_correction_name(int i);

/* A list of them with commas between, with dashes or underscores; "" is "none". */
bool calculator_parse_corrections(const char *list, int *ret_bits, struct err *err) ATTR_CHECK;

void calculator_init(struct calculator *c); /* every field's default; all corrections on */

/* Set a field by its name, with dashes or underscores. Errors name the field and its bounds. */
bool calculator_set(struct calculator *c, const char *name, const char *text,
                    struct err *err) ATTR_CHECK;

/* The same where the value goes to `at` (an int for a choice, else a double). */
bool calculator_parse(const char *name, const char *text, void *at, struct err *err) ATTR_CHECK;

/* What no single field can tell: one layer at least, C_r <= C_a, A <= P, k < E, trunk >= 0. */
bool calculator_check(const struct calculator *c, struct err *err) ATTR_CHECK;

enum calculator_state {
    STATE_RESIDENT_FAIL, /* the weights do not fit */
    STATE_SESSION_FAIL,  /* not one session's KV cache fits beside them */
    STATE_FLOOR_FAIL,    /* one session alone is below the floor */
    STATE_USABLE,
};
const char *calculator_state_name(enum calculator_state s); /* "resident-fail", ... */

struct calculator_point {
    double batch;
    double weight_gb, kv_gb;               /* read by the step */
    double bytes_per_token_gb;             /* of output */
    double aggregate_tok_s, session_tok_s; /* the bounds */
    bool compute_bound;                    /* the peak is what bounds it */
};

struct calculator_answer {
    enum calculator_state state;
    double tau;
    double resident_gb, active_gb;            /* R, W_t */
    double free_gb;                           /* m; negative: the shortfall */
    double session_store_gb, session_read_gb; /* K_a, K_r */
    double memory_batch;                      /* b_mem; INFINITY: sessions need no memory */
    double rate_batch;   /* b_rate; INFINITY: no number of sessions breaks the floor */
    double usable_batch; /* 0 unless STATE_USABLE */
    struct calculator_point single, best; /* of one session, of usable_batch */
    double memory_power_tok_s, large_memory_tok_s;
    double prefill_tok_s, prefill_s; /* bounds for C_r tokens; NAN without a peak */
    bool expected_routing;
};

/* Of the same inputs without any correction. */
void calculator_solve_plain(const struct calculator *c, struct calculator_answer *ret);

/* The inputs must have passed calculator_check. */
void calculator_solve(const struct calculator *c, struct calculator_answer *ret);

/* The bound at a batch of one's own choice, batch >= 1, and at a read context of one's own. */
struct calculator_point calculator_at(const struct calculator *c, double batch);

/* In words: what failed, by how much, and what would help, in one line; NULL when usable. */
const char *calculator_advice(const struct calculator *c, const struct calculator_answer *a,
                              char *out, size_t size);

/* {"inputs": {...}, "state": ..., ..., "plain": {...}}: JSON of both, and of what the formulas
 * without corrections say; null when there are none. */
void calculator_write_json(const struct calculator *c, const struct calculator_answer *a,
                           struct buf *out);

#endif
