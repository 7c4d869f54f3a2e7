/* near.h - which known word was meant: for "did you mean" after a typing mistake. */
#ifndef TOKGRID_CMD_NEAR_H
#define TOKGRID_CMD_NEAR_H

#include <stddef.h>

/* The best match so far; start from {.word = what was typed}. */
struct near {
    const char *word;
    const char *match; /* borrowed from the candidate; NULL when nothing is near */
    size_t distance;
};

/* Offer one candidate. Near means at most one slip (a letter changed, added, dropped, or two
 * swapped) for every three letters typed, or that the word is the candidate's beginning. */
void near_offer(struct near *n, const char *candidate);

#endif
