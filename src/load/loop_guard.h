/* loop_guard.h - finds a model that keeps repeating itself, off the receive path.
 *
 * A stream loops when the tail of one channel's text is an exact repetition: at least 4 cycles and
 * 4,096 characters, period at most 32,768, whitespace-only cycles ignored (measurement.md section
 * 9). The test is exact: the smallest period of every suffix comes from the prefix function (Knuth,
 * Morris, Pratt) of the reversed text, in time linear in the history kept; it runs only when the
 * history grew by an eighth, so the cost per character is bounded.
 *
 * loop_text is one channel of one stream. It is not shared: whoever adds also checks. */
#ifndef TOKGRID_LOAD_LOOP_GUARD_H
#define TOKGRID_LOAD_LOOP_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LOOP_MIN_CYCLES = 4,
    LOOP_MIN_CHARS = 4096,
    LOOP_MAX_PERIOD = 32768,
    LOOP_HISTORY = LOOP_MAX_PERIOD * LOOP_MIN_CYCLES + LOOP_MAX_PERIOD,
    LOOP_EXCERPT = 512,
};

struct loop_text {
    char *history; /* the newest bytes; those before the last LOOP_HISTORY do not count */
    size_t len, cap;
    size_t unchecked; /* bytes added since the last check */
};

struct loop_finding {
    size_t period, cycles;
    char excerpt[LOOP_EXCERPT + 1]; /* printable, from the newest cycle */
};

void loop_text_reset(struct loop_text *t); /* a new request begins; storage kept */
void loop_text_release(struct loop_text *t);
void loop_text_add(struct loop_text *t, const char *p, size_t n);

/* True when the tail repeats. Cheap when too little came since the last call (then false);
 * `force` checks regardless. */
bool loop_text_check(struct loop_text *t, bool force, struct loop_finding *ret);

#endif
