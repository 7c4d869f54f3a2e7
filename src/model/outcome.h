/* outcome.h - how a request ended: one class for each, named once, for samples, cells and pages.
 *
 * A server's answer is whole when its end is marked, twice over: a finish_reason says why the text
 * stopped, and [DONE] says that nothing follows. Servers leave out either; without both nobody can
 * tell a whole answer from one that was cut off, however cleanly the connection ended. */
#ifndef TOKGRID_MODEL_OUTCOME_H
#define TOKGRID_MODEL_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

enum outcome {
    OUTCOME_COMPLETE,  /* a finish_reason, then [DONE] */
    OUTCOME_NO_DONE,   /* a finish_reason, and no [DONE] behind it */
    OUTCOME_NO_FINISH, /* [DONE] behind text, and no finish_reason before it */
    OUTCOME_TRUNCATED, /* some text and neither mark, or cut off by the connection's end */
    OUTCOME_FAILED,    /* an error, after so many tokens as its sample says, or before any */
    OUTCOME_REJECTED,  /* turned down before a token: HTTP 4xx or 503, or the same inside a 200 */
    OUTCOME_TIMED_OUT, /* nothing came in time, by our clock or a gateway's (408, 504, 524) */
    OUTCOME_EMPTY,     /* a success without a token */
    OUTCOME_CANCELLED, /* by us, at the window's end */
    OUTCOME_COUNT,
};

/* How many requests ended how. */
struct outcomes {
    int64_t count[OUTCOME_COUNT];
};

const char *outcome_name(enum outcome o); /* "no_done": the document's word */

/* True for the outcomes that are failures of the server: nothing of such a request is part of a
 * latency or a rate. An end with one mark is none, nor is a request that we cancelled. */
bool outcome_is_failure(enum outcome o);

/* Requests that ended in any other way than complete or cancelled. */
int64_t outcomes_odd(const struct outcomes *o);

#endif
