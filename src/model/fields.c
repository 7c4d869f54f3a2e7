/* fields.c - the walks that need no JSON: beginning and end of a described struct, its texts.
 *
 * The walks call themselves for a struct within a struct; the tables are static and a few levels
 * deep, so the depth is bounded by them. */
#include "model/fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

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

/* A walk over texts: `path` is the place it has reached. */
struct text_walk {
    struct buf path;
    field_text_fn *visit;
    void *ctx;
};

static bool walk_field(struct text_walk *w, const struct field *f, void *base);

static bool walk_rows(struct text_walk *w, const struct field_table *t, void *base)
{
    size_t here = w->path.len;
    bool on = true;
    for (size_t i = 0; on && i < t->count; i++) {
        if (t->rows[i].flags & FIELD_PRIVATE)
            continue;
        buf_addf(&w->path, "%s%s", here ? "." : "", t->rows[i].name);
        on = walk_field(w, &t->rows[i], base);
        w->path.len = here;
    }
    return on;
}

static bool walk_list(struct text_walk *w, const struct field *f, void *base)
{
    size_t here = w->path.len, count = fields_list_count(f->list, base);
    char *items = fields_list_items(f, base);
    bool on = true;
    for (size_t i = 0; on && i < count; i++) {
        buf_addf(&w->path, "[%zu]", i);
        on = walk_field(w, &f->list->item, items + i * f->list->stride);
        w->path.len = here;
    }
    return on;
}

static bool walk_field(struct text_walk *w, const struct field *f, void *base)
{
    char **text = at(base, f->offset);
    switch (f->kind) {
    case FIELD_STRING:
    case FIELD_JSON: return f->words || f->form || !*text || w->visit(w->ctx, w->path.p, f, text);
    case FIELD_STRUCT: return walk_rows(w, f->table, at(base, f->offset));
    case FIELD_LIST: return walk_list(w, f, base);
    default: return true;
    }
}

/* NOLINTEND(misc-no-recursion, clang-analyzer-unix.Malloc) */

bool fields_each_text(const struct field_table *t, void *base, field_text_fn *visit, void *ctx)
{
    struct text_walk w = {.visit = visit, .ctx = ctx};
    buf_init(&w.path, 1024);
    bool whole = walk_rows(&w, t, base);
    buf_release(&w.path);
    return whole;
}
