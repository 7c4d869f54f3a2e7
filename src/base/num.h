/* num.h - numbers in text, both ways. Parsers take the whole text or fail; nothing is guessed.
 *
 * Sizes are tokens or bytes with binary suffixes (16k = 16,384), times are nanoseconds. */
#ifndef TOKGRID_BASE_NUM_H
#define TOKGRID_BASE_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_US INT64_C(1000)

bool num_parse_i64(const char *s, int64_t *ret);            /* decimal, optional sign */
bool num_parse_double(const char *s, double *ret);          /* decimal point whatever the locale */
bool num_parse_size(const char *s, int64_t *ret);           /* 16k, 1M, 0, 4096: >= 0 */
bool num_parse_duration_ns(const char *s, int64_t *ret_ns); /* 30, 30s, 2m, 1h, 500ms: > 0 or 0 */

enum { NUM_TEXT_MAX = 40 };

/* Each writes into out (NUM_TEXT_MAX bytes) and returns it. */
const char *num_size_text(char *out, int64_t n);            /* 16384 -> "16K", 1000 -> "1000" */
const char *num_grouped(char *out, double v, int decimals); /* 17744 -> "17,744", NAN -> "n/a" */
const char *num_duration_text(char *out, int64_t ns);       /* 75 s -> "1m15s" */
const char *num_bytes_text(char *out, double bytes);        /* "24.0 GB", decimal units */

static inline double ns_to_s(int64_t ns)
{
    return (double)ns / 1e9;
}

static inline double ns_to_ms(int64_t ns)
{
    return (double)ns / 1e6;
}

#endif
