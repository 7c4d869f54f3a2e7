/* uuid.c - 48 bits of time, version and variant bits, 74 bits of entropy. */
#include "base/uuid.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/rand.h"

void uuid_v7(char out[UUID_TEXT_MAX])
{
    uint64_t ms = (uint64_t)(clock_realtime() / NS_PER_MS) & UINT64_C(0xFFFFFFFFFFFF);
    uint64_t a = rng_entropy(), b = rng_entropy();
    unsigned version_a = 0x7000 | (unsigned)(a & 0x0FFF);
    unsigned variant_b = 0x8000 | (unsigned)(a >> 16 & 0x3FFF);

    snprintf(out, UUID_TEXT_MAX, "%08llx-%04llx-%04x-%04x-%012llx", (unsigned long long)(ms >> 16),
             (unsigned long long)(ms & 0xFFFF), version_a, variant_b,
             (unsigned long long)(b & UINT64_C(0xFFFFFFFFFFFF)));
}

bool uuid_valid(const char *s)
{
    if (strlen(s) != UUID_TEXT_MAX - 1)
        return false;
    for (int i = 0; i < UUID_TEXT_MAX - 1; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? s[i] != '-' : !isxdigit((unsigned char)s[i]))
            return false;
    }
    return true;
}
