/* rand.c - splitmix64 (Steele, Lea, Flood 2014): one add and three multiply-xorshift rounds. */
#include "base/rand.h"

#include <sys/random.h>

#include "base/clock.h"

static uint64_t scramble(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

uint64_t rng_next(struct rng *r)
{
    r->state += UINT64_C(0x9E3779B97F4A7C15);
    return scramble(r->state);
}

uint32_t rng_below(struct rng *r, uint32_t bound)
{
    /* multiply-shift: the bias is below 2^-32 * bound, far under anything a prompt can show */
    return (uint32_t)((rng_next(r) >> 32) * bound >> 32);
}

uint64_t rng_mix(uint64_t a, uint64_t b)
{
    return scramble(a + UINT64_C(0x9E3779B97F4A7C15) * (b + 1));
}

uint64_t rng_entropy(void)
{
    uint64_t v;
    if (getrandom(&v, sizeof v, 0) != (ssize_t)sizeof v)
        v = rng_mix((uint64_t)clock_now(), (uint64_t)clock_realtime());
    return v;
}
