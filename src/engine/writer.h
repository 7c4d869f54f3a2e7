/* writer.h - what an emulated model says: words that are one token each, by a seed.
 *
 * The text of every output token depends on the seed and on its number alone. It has no period, and
 * read back by the tokenizer it has exactly as many tokens as were written. */
#ifndef TOKGRID_ENGINE_WRITER_H
#define TOKGRID_ENGINE_WRITER_H

#include <stddef.h>
#include <stdint.h>

enum { WRITER_TOKEN_MAX = 8 }; /* bytes; ASCII or one code point; nothing that JSON escapes */

/* The text of output token `index` (from 0). Returns its length. */
size_t writer_token(uint64_t seed, int64_t index, char out[WRITER_TOKEN_MAX]);

/* The same with every fourth token a character of two to four bytes: for cuts inside characters. */
size_t writer_wide_token(uint64_t seed, int64_t index, char out[WRITER_TOKEN_MAX]);

/* Text that repeats itself after `period` tokens. */
size_t writer_loop_token(uint64_t seed, int64_t index, int64_t period, char out[WRITER_TOKEN_MAX]);

#endif
