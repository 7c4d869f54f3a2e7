/* fill.h - for tests: a described struct with something in every field.
 *
 * Walks the same tables as the reader and the writer, so a new field is filled without a change
 * here. Strings get `text` where any text may stand; numbers count up. */
#ifndef TOKGRID_TESTS_FILL_H
#define TOKGRID_TESTS_FILL_H

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "model/result_fields.h"

struct fill {
    const char *text;
    int n;
};

static void fill_table(const struct field_table *t, void *base, struct fill *fill);

static const char *fill_string(const struct field *f, const struct fill *fill)
{
    if (f->words)
        return f->words[0];
    if (!f->form)
        return fill->text;
    if (f->form->holds("0193a1b2-0000-7000-8000-000000000000"))
        return "0193a1b2-0000-7000-8000-000000000000";
    return "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
}

static void fill_field(const struct field *f, void *base, struct fill *fill);

static void fill_list(const struct field *f, void *base, struct fill *fill)
{
    const struct field_list *l = f->list;
    char *struct_base = base;
    if (l->cap_offset != FIELD_INLINE) {
        char *items = mem_array(2, l->stride);
        size_t cap = 2;
        memcpy(struct_base + f->offset, &items, sizeof items);
        memcpy(struct_base + l->cap_offset, &cap, sizeof cap);
    }
    char *items = fields_list_items(f, base);
    for (size_t i = 0; i < 2; i++)
        fill_field(&l->item, items + i * l->stride, fill);
    if (l->count_size == sizeof(size_t))
        *(size_t *)(void *)(struct_base + l->count_offset) = 2;
    else
        *(int *)(void *)(struct_base + l->count_offset) = 2;
}

static void fill_field(const struct field *f, void *base, struct fill *fill)
{
    void *m = (char *)base + f->offset;
    int n = ++fill->n;
    switch (f->kind) {
    case FIELD_STRING: mem_set_string(m, fill_string(f, fill)); break;
    case FIELD_LABEL: *(const char **)m = f->words[0]; break;
    case FIELD_STAMP: snprintf(m, FIELD_STAMP_MAX, "2026-11-30T10:13:%02dZ", n % 60); break;
    case FIELD_JSON: mem_set_string(m, "{\"a\":[1,2.5,null],\"b\":\"\\u00e9\"}"); break;
    case FIELD_NUMBER: *(double *)m = f->max == 1 ? 0.25 : n + 0.5; break;
    case FIELD_INT: *(int *)m = n; break;
    case FIELD_I64: *(int64_t *)m = n; break;
    case FIELD_SECONDS: *(int64_t *)m = n * INT64_C(1500000000); break;
    case FIELD_BOOL: *(bool *)m = true; break;
    case FIELD_ENUM: *(unsigned *)m = 1; break;
    case FIELD_BITS: *(unsigned *)m = 5; break;
    case FIELD_STRUCT: fill_table(f->table, m, fill); break;
    case FIELD_LIST: fill_list(f, base, fill); break;
    default: break;
    }
}

static void fill_table(const struct field_table *t, void *base, struct fill *fill)
{
    for (size_t i = 0; i < t->count; i++)
        fill_field(&t->rows[i], base, fill);
}

/* The caller releases. */
static inline void fill_result(struct result *r, const char *text)
{
    struct fill fill = {.text = text};
    result_init(r);
    fill_table(&result_fields, r, &fill);
}

#endif
