/* text.h - text that came from elsewhere, made safe to show, and small string questions.
 *
 * Nothing here allocates. "Printable" means: valid UTF-8, without C0/C1 control bytes, without the
 * bidirectional and invisible format characters that can reorder or hide what a reader sees. */
#ifndef TOKGRID_BASE_TEXT_H
#define TOKGRID_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decode one UTF-8 character at p (n >= 1 bytes left). Returns its length; on invalid bytes
 * returns 1 and stores 0xFFFD. Overlong forms, surrogates and values past 0x10FFFF are invalid. */
size_t text_utf8_decode(const char *p, size_t n, uint32_t *ret_cp);

/* Encode a code point into out (4 bytes of room); returns its length. Surrogates become U+FFFD. */
size_t text_utf8_encode(uint32_t cp, char out[4]);

bool text_utf8_valid(const char *p, size_t n);

/* True for characters that may not reach a terminal or a page as they are. */
bool text_is_unsafe(uint32_t cp);

/* Copy src to out (always NUL-ended, at most size - 1 bytes, never half a character). Line breaks
 * and tabs become spaces, unsafe or invalid characters become '?'. Returns the length written. */
size_t text_printable(char *out, size_t size, const char *src, size_t n);

/* Columns a terminal needs for this UTF-8 text: wide East Asian characters and emoji count 2,
 * combining marks 0. */
size_t text_width(const char *p, size_t n);

bool text_starts(const char *s, const char *prefix);
bool text_ends(const char *s, const char *suffix);

/* Case-insensitive (ASCII) search; NULL when absent. */
const char *text_find_nocase(const char *haystack, const char *needle);

#endif
