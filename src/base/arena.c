/* arena.c - blocks in a list, filled from the front; large pieces get a block of their own. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 16 << 10, ALIGNMENT = 16 };

struct arena_block {
    struct arena_block *next;
    size_t size, used;
    _Alignas(ALIGNMENT) char bytes[];
};

void arena_init(struct arena *a)
{
    *a = (struct arena){0};
}

static void free_blocks(struct arena_block *b)
{
    while (b) {
        struct arena_block *next = b->next;
        free(b);
        b = next;
    }
}

void arena_release(struct arena *a)
{
    free_blocks(a->blocks);
    *a = (struct arena){0};
}

void arena_reset(struct arena *a)
{
    struct arena_block *kept = a->blocks;

    a->used = 0;
    if (!kept)
        return;
    free_blocks(kept->next);
    kept->next = NULL;
    memset(kept->bytes, 0, kept->used);
    kept->used = 0;
}

static struct arena_block *add_block(struct arena *a, size_t size)
{
    struct arena_block *b = mem_alloc(sizeof *b + size);

    b->size = size;
    b->next = a->blocks;
    a->blocks = b;
    return b;
}

void *arena_alloc(struct arena *a, size_t size)
{
    /* SIZE_MAX makes mem_alloc refuse */
    size_t rounded = size > SIZE_MAX - BLOCK_SIZE ? SIZE_MAX - BLOCK_SIZE
                                                  : (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct arena_block *b = a->blocks;

    if (!b || b->size - b->used < rounded)
        b = add_block(a, rounded > BLOCK_SIZE ? rounded : BLOCK_SIZE);
    void *p = b->bytes + b->used;
    b->used += rounded;
    a->used += rounded;
    return p;
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    size_t total;

    if (__builtin_mul_overflow(count, size, &total))
        total = SIZE_MAX;
    return arena_alloc(a, total);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *copy = arena_alloc(a, n + 1);

    memcpy(copy, s, n);
    return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return s ? arena_strndup(a, s, strlen(s)) : NULL;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
    va_list args, again;

    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    size_t size = n < 0 ? 1 : (size_t)n + 1;
    char *text = arena_alloc(a, size);
    vsnprintf(text, size, format, again);
    va_end(again);
    return text;
}
