/* fault.h - things that go wrong on purpose, and for which requests.
 *
 * A fault is written  KIND[:KEY=VALUE[,KEY=VALUE...]]:
 *
 *     stall:token=40,for=500ms,every=3      refuse:status=429,retry-after=2,probability=0.1,seed=7
 *
 * Requests are those for a completion, numbered from 1 as they arrive. A fault applies to every
 * one of them unless its keys say otherwise; all the conditions it has must hold. Which kinds there
 * are, which keys each takes and what they are when not given stands in one table (fault_kinds). */
#ifndef TOKGRID_ENGINE_FAULT_H
#define TOKGRID_ENGINE_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum fault_kind {
    FAULT_STALL,        /* nothing is sent for a while; what came meanwhile follows at once */
    FAULT_RESET,        /* the connection is reset */
    FAULT_CUT,          /* the connection is closed in the middle of the message */
    FAULT_TRUNCATE,     /* the message ends properly, without finish reason and [DONE] */
    FAULT_ERROR,        /* an error object in the stream, which then ends */
    FAULT_REFUSE,       /* an HTTP status instead of a stream */
    FAULT_SLOW_HEADERS, /* the response's head comes late, and all that follows with it */
    FAULT_BUNDLE,       /* several events in one write */
    FAULT_SPLIT,        /* each write in pieces, characters of several bytes in the text */
    FAULT_LOOP,         /* the text repeats itself */
    FAULT_PREEMPT,      /* running sequences lose their blocks and are recomputed */
    FAULT_WRONG_USAGE,  /* usage counts other tokens than were sent */
    FAULT_CUT_PROMPT,   /* the prompt is silently cut to its last tokens */
    FAULT_KINDS,
};

struct fault {
    enum fault_kind kind;
    /* what */
    int64_t token;  /* at this output token, from 0 */
    int64_t for_ns; /* how long */
    int64_t count;  /* events in a write, bytes in a piece, tokens in a period ... */
    int64_t status, retry_after_s;
    double factor;
    /* which requests: 0 is "not asked for" */
    int64_t request, every, from, until, open;
    double probability; /* 1 unless given */
    uint64_t seed;
};

enum { FAULTS_MAX = 32 };

struct faults {
    struct fault list[FAULTS_MAX];
    size_t n;
};

/* One line about each kind and its keys, for the manual. */
struct fault_kind_row {
    const char *name, *help;
};
extern const struct fault_kind_row fault_kinds[FAULT_KINDS];

/* Append a fault. `where` begins the error's text: "--fault" or "faults.txt:3". */
bool faults_add(struct faults *f, const char *spec, const char *where, struct err *err) ATTR_CHECK;

/* Append those of a file: one a line, '#' begins a comment. */
bool faults_read(struct faults *f, const char *path, struct err *err) ATTR_CHECK;

/* What goes wrong with request number `request` (from 1), which finds `open` requests in the
 * engine, itself counted: for each kind the first fault that applies, or NULL. */
void faults_pick(const struct faults *f, int64_t request, int64_t open,
                 const struct fault *ret[FAULT_KINDS]);

#endif
