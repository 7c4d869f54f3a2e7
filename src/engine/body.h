/* body.h - the JSON document of a request, long strings taken aside.
 *
 * A prompt of half a megabyte takes a JSON parser ten milliseconds, in which an engine that runs
 * twenty times faster than life would have written several tokens. So long strings are cut out of
 * the text first and checked and unescaped by themselves; jansson reads what is left, with a word
 * that nobody can guess in each gap. The outcome is the same as from jansson alone: strict JSON,
 * valid UTF-8.
 *
 * Bounds: a document of more than `max_values` values or nested deeper than jansson allows is
 * refused before anything is built; besides the text itself memory is 100 bytes a value at most. */
#ifndef TOKGRID_ENGINE_BODY_H
#define TOKGRID_ENGINE_BODY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct body_piece {
    const char *p; /* into the request's text, or into `own` */
    size_t n;
    char *own; /* when there was something to unescape */
};

struct body {
    json_t *root; /* any JSON value */
    struct body_piece *pieces;
    size_t piece_count, piece_cap;
    uint64_t nonce;
};

/* Read a document; p[0..n) must outlive *ret. False: *ret needs no release, err says where. */
bool body_read(const char *p, size_t n, size_t max_values, struct body *ret,
               struct err *err) ATTR_CHECK;
void body_release(struct body *b);

/* The text of any string of the document; false when `value` is none. Borrowed from the body. */
bool body_string(const struct body *b, const json_t *value, const char **ret_p, size_t *ret_n);

#endif
