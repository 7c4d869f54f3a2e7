/* columns.h - the columns of a table of measurements, declared once for every format.
 *
 * The first COLUMNS_MAIN are those of the published matrix pages, in their order and under their
 * names; the rest is what a spreadsheet wants besides. A row is one measurement: a prefill row or a
 * decode cell. Text that a column gives is printable (plain.h) and not yet escaped. */
#ifndef TOKGRID_REPORT_COLUMNS_H
#define TOKGRID_REPORT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "model/result.h"
#include "report/lang.h"

enum { COLUMNS_MAIN = 12 };

struct measurement {
    const struct result *result;
    const struct prefill_row *prefill; /* one of these two is NULL */
    const struct cell *cell;
};

/* All of them: prefill by context, then decode by context and concurrency. The caller frees. */
struct measurement *measurements_of(const struct result *r, size_t *ret_count);

enum column_kind {
    COLUMN_NUMBER, /* double, NAN: none */
    COLUMN_COUNT,  /* int64_t, below 0: none */
    COLUMN_INT,    /* int */
    COLUMN_STRING, /* char *, NULL: none */
    COLUMN_STAMP,  /* char[], "": none */
    COLUMN_WORDS,  /* a function says it */
};

enum column_style {
    COLUMN_FULL,  /* "2,337 ms", "Requests queued", "Sustained decode" */
    COLUMN_BRIEF, /* "2,337", "queued", "decode": for narrow tables, units in the header */
    COLUMN_DATA,  /* "2337", "queued", "decode": for programs, as in the document */
};

struct column {
    const char *key;  /* for programs, in English: "ttft_ms_p50" */
    enum word name;   /* for readers: "TTFT"; none: the key */
    enum word brief;  /* for narrow tables: at most 6 columns */
    const char *unit; /* behind the number: "ms"; NULL: none */
    enum column_kind kind;
    int decimals;         /* for readers */
    bool figure;          /* a rate or a latency: not shown where the status is error */
    bool numeric;         /* a number although a function says it */
    size_t cell, prefill; /* offsets in the structs; COLUMN_ABSENT */
    void (*words)(const struct measurement *m, enum column_style style, const struct lang *l,
                  struct buf *out);
};

#define COLUMN_ABSENT SIZE_MAX

extern const struct column columns[];
extern const size_t column_count;

bool column_is_text(const struct column *c); /* else a number: aligned right */
const char *column_name(const struct column *c, const struct lang *l);
const char *column_brief(const struct column *c, const struct lang *l);
const struct column *column_find(const char *key); /* a key that is there */

/* Add the value; false, adding nothing, when there is none. */
bool column_add(const struct column *c, const struct measurement *m, enum column_style style,
                const struct lang *l, struct buf *out);

/* The figure of a column that is one; NAN when there is none. */
double column_value(const struct column *c, const struct measurement *m);

#endif
