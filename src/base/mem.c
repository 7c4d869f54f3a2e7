/* mem.c - allocation wrappers: check the product, zero the memory, abort when there is none. */
#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void out_of_memory(size_t count, size_t size)
{
    fprintf(stderr, "tokgrid: out of memory (%zu x %zu bytes)\n", count, size);
    abort();
}

void *mem_array(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (!p)
        out_of_memory(count, size);
    return p;
}

void *mem_alloc(size_t size)
{
    return mem_array(1, size);
}

void *mem_resize(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        out_of_memory(count, size);
    void *p = realloc(old, bytes ? bytes : 1);
    if (!p)
        out_of_memory(count, size);
    return p;
}

char *mem_strndup(const char *s, size_t n)
{
    size_t len = strnlen(s, n);
    char *copy = mem_array(len + 1, 1);
    memcpy(copy, s, len);
    return copy;
}

char *mem_strdup(const char *s)
{
    return mem_strndup(s, strlen(s));
}

void mem_set_string(char **slot, const char *s)
{
    char *copy = s ? mem_strdup(s) : NULL;
    free(*slot);
    *slot = copy;
}
