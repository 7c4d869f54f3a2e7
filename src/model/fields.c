/* fields.c - the two walks that need no JSON: beginning and end of a described struct.
 *
 * The walks call themselves for a struct within a struct; the tables are static and a few levels
 * deep, so the depth is bounded by them. */
#include "model/fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *at(void *base, size_t offset)
{
    return (char *)base + offset;
}

size_t fields_list_count(const struct field_list *l, const void *base)
{
    const char *count = (const char *)base + l->count_offset;
    if (l->count_size == sizeof(size_t)) {
        size_t n;
        memcpy(&n, count, sizeof n);
        return n;
    }
    int n;
    memcpy(&n, count, sizeof n);
    return n > 0 ? (size_t)n : 0;
}

void *fields_list_items(const struct field *f, const void *base)
{
    const char *member = (const char *)base + f->offset;
    void *items;
    if (f->list->cap_offset == FIELD_INLINE)
        return (void *)(uintptr_t)member;
    memcpy(&items, member, sizeof items);
    return items;
}

double field_max(const struct field *f)
{
    if (f->max != 0)
        return f->max;
    return f->kind == FIELD_INT ? INT32_MAX : f->kind == FIELD_SECONDS ? FIELD_MAX_S : FIELD_MAX;
}

static void init_field(const struct field *f, void *member)
{
    switch (f->kind) {
    case FIELD_NUMBER: *(double *)member = f->flags & FIELD_ZERO_NULL ? 0 : NAN; break;
    case FIELD_INT: *(int *)member = f->flags & FIELD_MINUS_NULL ? -1 : 0; break;
    case FIELD_I64:
    case FIELD_SECONDS: *(int64_t *)member = f->flags & FIELD_MINUS_NULL ? -1 : 0; break;
    default: break; /* zero bytes are right for the rest; structs within are walked below */
    }
}

/* The walks below go down a constant tree of tables, a handful of levels deep: the recursion ends,
 * and two rows never share a member, which the analyser cannot know. */
/* NOLINTBEGIN(misc-no-recursion, clang-analyzer-unix.Malloc) */

static void init_rows(const struct field_table *t, void *base)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct field *f = &t->rows[i];
        if (f->kind == FIELD_STRUCT)
            init_rows(f->table, at(base, f->offset));
        else
            init_field(f, at(base, f->offset));
    }
}

void fields_init(const struct field_table *t, void *base)
{
    memset(base, 0, t->size);
    init_rows(t, base);
}

static void release_field(const struct field *f, void *base);

static void release_list(const struct field *f, void *base)
{
    const struct field_list *l = f->list;
    size_t count = fields_list_count(l, base);
    char *items = fields_list_items(f, base);
    for (size_t i = 0; i < count; i++)
        release_field(&l->item, items + i * l->stride);
    if (l->cap_offset != FIELD_INLINE)
        free(items);
}

static void release_field(const struct field *f, void *base)
{
    switch (f->kind) {
    case FIELD_STRING:
    case FIELD_JSON: free(*(char **)at(base, f->offset)); break;
    case FIELD_STRUCT:
        for (size_t i = 0; i < f->table->count; i++)
            release_field(&f->table->rows[i], at(base, f->offset));
        break;
    case FIELD_LIST: release_list(f, base); break;
    default: break;
    }
}

void fields_release(const struct field_table *t, void *base)
{
    for (size_t i = 0; i < t->count; i++)
        release_field(&t->rows[i], base);
    memset(base, 0, t->size);
}

/* NOLINTEND(misc-no-recursion, clang-analyzer-unix.Malloc) */
