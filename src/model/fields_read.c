/* fields_read.c - JSON into a described struct: one reader for each kind of field, each of which
 * says what it wanted and what it found. */
#include "model/fields.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/num.h"

/* Where the reader is: a chain on the stack, spelt out only when something is wrong. */
struct place {
    const struct place *up;
    const char *name; /* NULL: an element of an array */
    size_t index;
};

struct reader {
    const struct field *field;
    const struct place *place;
    struct err *err;
};

static void place_text(const struct place *p, struct buf *out)
{
    const struct place *chain[16];
    size_t n = 0;
    for (; p && n < ARRAY_LEN(chain); p = p->up)
        chain[n++] = p;
    while (n-- > 0) {
        if (chain[n]->name)
            buf_addf(out, "%s%s", out->len ? "." : "", chain[n]->name);
        else
            buf_addf(out, "[%zu]", chain[n]->index);
    }
}

ATTR_PRINTF(3, 4)
static bool wrong(const struct place *place, struct err *err, const char *format, ...)
{
    struct buf b;
    va_list args;
    buf_init(&b, ERR_TEXT_MAX);
    place_text(place, &b);
    if (b.len)
        buf_adds(&b, ": ");
    char text[ERR_TEXT_MAX];
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    err_set(err, ERR_FORMAT, "%s%s", b.p, text);
    buf_release(&b);
    return false;
}

static const char *type_words(json_t *v)
{
    static const char *const words[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a number",  [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",      [JSON_NULL] = "null",
    };
    return words[json_typeof(v)];
}

static bool accepts_null(const struct field *f)
{
    if (f->flags & FIELD_REQUIRED)
        return false;
    switch (f->kind) {
    case FIELD_STRING:
    case FIELD_LABEL:
    case FIELD_STAMP:
    case FIELD_JSON:
    case FIELD_NUMBER: return true;
    default: return f->flags & (FIELD_ZERO_NULL | FIELD_MINUS_NULL | FIELD_BLANK_NULL);
    }
}

static bool expected(const struct reader *r, const char *what, json_t *found)
{
    return wrong(r->place, r->err, "expected %s%s, found %s", what,
                 accepts_null(r->field) ? " or null" : "", type_words(found));
}

static bool not_a_word(const struct reader *r, const char *found)
{
    struct buf list;
    buf_init(&list, ERR_TEXT_MAX);
    for (size_t i = 0; r->field->words[i]; i++)
        buf_addf(&list, "%s%s", i ? ", " : "", r->field->words[i]);
    wrong(r->place, r->err, "'%.80s' is not one of %s", found, list.p);
    buf_release(&list);
    return false;
}

/* Index of a word, or -1. */
static int word_index(const char *const *words, const char *s)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], s) == 0)
            return i;
    return -1;
}

static bool read_const(const struct reader *r, json_t *v, void *m)
{
    (void)m;
    if (!json_is_string(v))
        return expected(r, "a string", v);
    if (strcmp(json_string_value(v), r->field->words[0]) != 0)
        return wrong(r->place, r->err, "'%.80s' is not known here: this program reads %s",
                     json_string_value(v), r->field->words[0]);
    return true;
}

static bool read_string(const struct reader *r, json_t *v, void *m)
{
    const struct field *f = r->field;
    const char *s = json_string_value(v);
    if (!s)
        return expected(r, "a string", v);
    if (f->words && word_index(f->words, s) < 0)
        return not_a_word(r, s);
    if (f->form && !f->form->holds(s))
        return wrong(r->place, r->err, "expected %s, found '%.80s'", f->form->words, s);
    mem_set_string(m, s);
    return true;
}

static bool read_label(const struct reader *r, json_t *v, void *m)
{
    const char *s = json_string_value(v);
    if (!s)
        return expected(r, "a string", v);
    int i = word_index(r->field->words, s);
    if (i < 0)
        return not_a_word(r, s);
    *(const char **)m = r->field->words[i];
    return true;
}

/* "2026-11-30T10:13:26Z"; '0' stands for a digit. */
static bool is_stamp(const char *s)
{
    static const char shape[] = "0000-00-00T00:00:00Z";
    for (size_t i = 0; i < sizeof shape; i++)
        if (shape[i] == '0' ? s[i] < '0' || s[i] > '9' : s[i] != shape[i])
            return false;
    return true;
}

static bool read_stamp(const struct reader *r, json_t *v, void *m)
{
    const char *s = json_string_value(v);
    if (!s)
        return expected(r, "a time in UTC as text", v);
    if (!is_stamp(s))
        return wrong(r->place, r->err,
                     "expected a time such as 2026-11-30T10:13:26Z, found '%.80s'", s);
    snprintf(m, FIELD_STAMP_MAX, "%s", s);
    return true;
}

static bool read_json(const struct reader *r, json_t *v, void *m)
{
    if (!json_is_object(v) && !json_is_array(v))
        return expected(r, "an object or an array", v);
    char *text = json_dumps(v, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_t *again = text ? fields_embed(text) : NULL;
    if (again)
        mem_set_string(m, text);
    free(text);
    if (!again)
        return wrong(r->place, r->err, "nested deeper than %d levels, or a number out of range",
                     FIELD_JSON_DEPTH);
    json_decref(again);
    return true;
}

static bool number_of(const struct reader *r, json_t *v, bool whole, double *ret)
{
    const struct field *f = r->field;
    double max = field_max(f);
    double d = json_number_value(v);
    if (!json_is_number(v))
        return expected(r, whole ? "a whole number" : "a number", v);
    if (whole && d != floor(d))
        return wrong(r->place, r->err, "expected a whole number, found %g", d);
    if (d < f->min || d > max)
        return wrong(r->place, r->err, "%.15g is outside %g to %g", d, f->min, max);
    *ret = d;
    return true;
}

static bool read_number(const struct reader *r, json_t *v, void *m)
{
    return number_of(r, v, false, m);
}

static bool read_int(const struct reader *r, json_t *v, void *m)
{
    double d = 0;
    if (!number_of(r, v, true, &d))
        return false;
    *(int *)m = (int)d;
    return true;
}

static bool read_i64(const struct reader *r, json_t *v, void *m)
{
    double d = 0;
    if (!number_of(r, v, true, &d))
        return false;
    *(int64_t *)m = (int64_t)d;
    return true;
}

static bool read_seconds(const struct reader *r, json_t *v, void *m)
{
    double d = 0;
    if (!number_of(r, v, false, &d))
        return false;
    *(int64_t *)m = llround(d * (double)NS_PER_S);
    return true;
}

static bool read_bool(const struct reader *r, json_t *v, void *m)
{
    if (!json_is_boolean(v))
        return expected(r, "true or false", v);
    *(bool *)m = json_is_true(v);
    return true;
}

static bool read_enum(const struct reader *r, json_t *v, void *m)
{
    const char *s = json_string_value(v);
    if (!s)
        return expected(r, "a string", v);
    int i = word_index(r->field->words, s);
    if (i < 0)
        return not_a_word(r, s);
    *(unsigned *)m = (unsigned)i;
    return true;
}

static bool read_bits(const struct reader *r, json_t *v, void *m)
{
    size_t i;
    json_t *item;
    if (!json_is_array(v))
        return expected(r, "an array", v);
    json_array_foreach(v, i, item)
    {
        struct place place = {.up = r->place, .index = i};
        struct reader inner = {.field = r->field, .place = &place, .err = r->err};
        unsigned bit = 0;
        if (!read_enum(&inner, item, &bit))
            return false;
        *(unsigned *)m |= 1u << bit;
    }
    return true;
}

static bool read_table(const struct field_table *t, json_t *v, void *base,
                       const struct place *place, struct err *err);

static bool read_struct(const struct reader *r, json_t *v, void *m)
{
    if (!json_is_object(v))
        return expected(r, "an object", v);
    return read_table(r->field->table, v, m, r->place, r->err);
}

static bool (*const readers[FIELD_KIND_COUNT])(const struct reader *r, json_t *v, void *member) = {
    [FIELD_CONST] = read_const,   [FIELD_STRING] = read_string, [FIELD_LABEL] = read_label,
    [FIELD_STAMP] = read_stamp,   [FIELD_JSON] = read_json,     [FIELD_NUMBER] = read_number,
    [FIELD_INT] = read_int,       [FIELD_I64] = read_i64,       [FIELD_SECONDS] = read_seconds,
    [FIELD_BOOL] = read_bool,     [FIELD_ENUM] = read_enum,     [FIELD_BITS] = read_bits,
    [FIELD_STRUCT] = read_struct,
};

/* Room for one more element, initialised; NULL when the list is full. */
static void *append(const struct field *f, void *base)
{
    const struct field_list *l = f->list;
    size_t n = fields_list_count(l, base);
    char *items = fields_list_items(f, base);
    if (l->max && n >= l->max)
        return NULL;
    if (l->cap_offset != FIELD_INLINE) {
        size_t *cap = (size_t *)(void *)((char *)base + l->cap_offset);
        if (n == *cap) {
            *cap = *cap ? *cap * 2 : 8;
            items = mem_resize(items, *cap, l->stride);
            memcpy((char *)base + f->offset, &items, sizeof items);
        }
    }
    if (l->item.kind == FIELD_STRUCT)
        fields_init(l->item.table, items + n * l->stride);
    else
        memset(items + n * l->stride, 0, l->stride);
    if (l->count_size == sizeof(size_t))
        *(size_t *)(void *)((char *)base + l->count_offset) = n + 1;
    else
        *(int *)(void *)((char *)base + l->count_offset) = (int)n + 1;
    return items + n * l->stride;
}

static bool read_list(const struct reader *r, json_t *v, void *base)
{
    const struct field *item = &r->field->list->item;
    size_t i;
    json_t *value;
    if (!json_is_array(v))
        return expected(r, "an array", v);
    json_array_foreach(v, i, value)
    {
        struct place place = {.up = r->place, .index = i};
        struct reader inner = {.field = item, .place = &place, .err = r->err};
        void *slot = append(r->field, base);
        if (!slot)
            return wrong(r->place, r->err, "more than %zu elements", r->field->list->max);
        if (!readers[item->kind](&inner, value, slot))
            return false;
    }
    return true;
}

static bool read_field(const struct reader *r, json_t *v, void *base)
{
    const struct field *f = r->field;
    if (!v && f->flags & FIELD_REQUIRED)
        return wrong(r->place, r->err, "this field is missing");
    if (!v || (json_is_null(v) && accepts_null(f)))
        return true;
    if (f->kind == FIELD_LIST)
        return read_list(r, v, base);
    return readers[f->kind](r, v, (char *)base + f->offset);
}

static bool is_known(const struct field_table *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->rows[i].name, name) == 0)
            return !(t->rows[i].flags & FIELD_PRIVATE);
    return false;
}

static bool read_table(const struct field_table *t, json_t *v, void *base,
                       const struct place *place, struct err *err)
{
    const char *name;
    json_t *ignored;
    for (size_t i = 0; i < t->count; i++) {
        const struct field *f = &t->rows[i];
        struct place here = {.up = place, .name = f->name};
        struct reader r = {.field = f, .place = &here, .err = err};
        if (!(f->flags & FIELD_PRIVATE) && !read_field(&r, json_object_get(v, f->name), base))
            return false;
    }
    json_object_foreach(v, name, ignored)
    {
        if (!is_known(t, name))
            return wrong(place, err, "unknown field '%.80s'", name);
    }
    return true;
}

bool fields_read(const struct field_table *t, json_t *object, void *base, struct err *err)
{
    if (!json_is_object(object))
        return wrong(NULL, err, "expected an object, found %s", type_words(object));
    return read_table(t, object, base, NULL, err);
}
