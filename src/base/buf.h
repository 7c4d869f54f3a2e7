/* buf.h - a byte buffer that grows up to a stated maximum.
 *
 * You may rely on: `p` is never NULL after buf_init and always ends with a NUL that is not counted
 * in `len`; a buffer that would exceed `max` keeps what it had, sets `overflow`, and every further
 * add is ignored, so that a writer can check once at the end. Memory belongs to the buffer. */
#ifndef TOKGRID_BASE_BUF_H
#define TOKGRID_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

struct buf {
    char *p;
    size_t len, cap, max;
    bool overflow;
};

/* Life cycle. `max` is the largest length the buffer may reach. */
void buf_init(struct buf *b, size_t max);
void buf_release(struct buf *b); /* zeroed or released buffers are fine */
void buf_reset(struct buf *b);   /* empty it, keep the storage, clear `overflow` */
char *buf_detach(struct buf *b); /* the caller owns the string; the buffer is empty again */

/* Adding. Each returns false once the maximum was hit. */
bool buf_add(struct buf *b, const void *p, size_t n);
bool buf_adds(struct buf *b, const char *s);
bool buf_addc(struct buf *b, char c);
bool buf_addf(struct buf *b, const char *format, ...) ATTR_PRINTF(2, 3);
bool buf_addv(struct buf *b, const char *format, va_list args) ATTR_PRINTF(2, 0);
bool buf_add_repeat(struct buf *b, char c, size_t times);

/* A JSON string literal, quotes included; invalid UTF-8 becomes U+FFFD. */
bool buf_add_json_string(struct buf *b, const char *s, size_t n);

/* Make room for n more bytes and return where they go; finish with buf_advance. NULL when that
 * would exceed the maximum. */
char *buf_reserve(struct buf *b, size_t n);
void buf_advance(struct buf *b, size_t n);

/* Drop n bytes from the front. */
void buf_consume(struct buf *b, size_t n);

#endif
