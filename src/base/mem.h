/* mem.h - allocation that cannot fail.
 *
 * These abort with a message when the system has no memory left: a measuring tool that has lost an
 * allocation has nothing sensible to report. They take (count, size), check the product, and never
 * return NULL. Sizes that a peer chooses are bounded first, by struct buf's maximum or by hand. */
#ifndef TOKGRID_BASE_MEM_H
#define TOKGRID_BASE_MEM_H

#include <stddef.h>

#define ATTR_MALLOC       __attribute__((malloc, returns_nonnull, warn_unused_result))
#define ATTR_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define ATTR_CHECK        __attribute__((warn_unused_result))
#define ARRAY_LEN(a)      (sizeof(a) / sizeof((a)[0]))

ATTR_MALLOC void *mem_alloc(size_t size);               /* zeroed */
ATTR_MALLOC void *mem_array(size_t count, size_t size); /* zeroed */
__attribute__((returns_nonnull, warn_unused_result)) void *
mem_resize(void *old, size_t count, size_t size); /* new bytes are not zeroed */
ATTR_MALLOC char *mem_strdup(const char *s);
ATTR_MALLOC char *mem_strndup(const char *s, size_t n);

/* Replace a heap string: frees *slot, stores a copy of s (NULL stores NULL). */
void mem_set_string(char **slot, const char *s);

/* Make room for one more element in a growable array of `*cap` slots. Doubles; returns the array.
 */
#define MEM_GROW(array, len, cap)                                                                  \
    do {                                                                                           \
        if ((len) == (cap)) {                                                                      \
            (cap) = (cap) ? (cap)*2 : 8;                                                           \
            (array) = mem_resize((array), (cap), sizeof *(array));                                 \
        }                                                                                          \
    } while (0)

#endif
