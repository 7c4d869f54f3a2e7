/* arena.h - memory that dies together: everything made for one request, one page, one answer.
 *
 * You may rely on: what was allocated stays where it is until the arena is reset or released, and
 * nothing in it is freed by hand. Allocation cannot fail (mem.h); who fills an arena from what a
 * peer sent bounds that first. Not shared between threads. */
#ifndef TOKGRID_BASE_ARENA_H
#define TOKGRID_BASE_ARENA_H

#include <stddef.h>

#include "base/mem.h"

struct arena_block;

struct arena {
    struct arena_block *blocks; /* the one being filled first */
    size_t used;                /* bytes given out */
};

void arena_init(struct arena *a);    /* zeroed arenas are fine too */
void arena_release(struct arena *a); /* zeroed or released arenas are fine */
void arena_reset(struct arena *a);   /* empty it, keep one block */

ATTR_MALLOC void *arena_alloc(struct arena *a, size_t size); /* zeroed, aligned for anything */
ATTR_MALLOC void *arena_array(struct arena *a, size_t count, size_t size);
ATTR_MALLOC char *arena_strndup(struct arena *a, const char *s, size_t n); /* NUL-ended */
char *arena_strdup(struct arena *a, const char *s);                        /* NULL stays NULL */
ATTR_MALLOC char *arena_printf(struct arena *a, const char *format, ...) ATTR_PRINTF(2, 3);

#endif
