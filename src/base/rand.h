/* rand.h - a small seeded generator (splitmix64) for prompts and tests. Not for secrets.
 * The same seed gives the same sequence on every machine and in every version. */
#ifndef TOKGRID_BASE_RAND_H
#define TOKGRID_BASE_RAND_H

#include <stdint.h>

struct rng {
    uint64_t state;
};

uint64_t rng_next(struct rng *r);
uint32_t rng_below(struct rng *r, uint32_t bound); /* 0 <= x < bound, bound > 0 */
uint64_t rng_mix(uint64_t a, uint64_t b);          /* a seed made of two */

/* 64 bits from the operating system: a run's nonce. */
uint64_t rng_entropy(void);

#endif
