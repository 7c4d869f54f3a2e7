/* json.h - JSON documents: strict parsing with the place of an error, and loose look-ups.
 *
 * Built on jansson. For documents (results, models lists, server info), not for the receive path.
 * All strings are borrowed from the document. */
#ifndef TOKGRID_BASE_JSON_H
#define TOKGRID_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Values of a document, with those inside others: each takes up to 350 bytes once it is parsed,
 * though it may be two bytes of text. A run of 1,024 cells has less than half as many. */
enum { JSON_MAX_VALUES = 250000 };

/* Parse a whole document; NULL on error, with line and column in the text. Strict: duplicate keys
 * and trailing text are errors; more values than JSON_MAX_VALUES are ERR_LIMIT, found before any is
 * parsed. `name` is what the text calls the document. Caller: json_decref. */
json_t *json_parse(const char *p, size_t n, const char *name, struct err *err) ATTR_CHECK;

/* Loose look-ups for documents that others write: NULL, false or the fallback when the path is
 * absent or of another type. `path` is "a.b.c"; array elements are numbers: "data.0.id". */
json_t *json_at(json_t *root, const char *path);
const char *json_string_at(json_t *root, const char *path); /* NULL when absent */
bool json_number_at(json_t *root, const char *path, double *ret);
bool json_int_at(json_t *root, const char *path, int64_t *ret);

/* Serialise with sorted-by-insertion keys, indented by two; ends with a newline. A text with
 * characters that a terminal would obey (text_is_unsafe) is written in ASCII. */
bool json_write(json_t *root, struct buf *out);

#endif
