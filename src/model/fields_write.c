/* fields_write.c - a described struct as JSON: one writer for each kind of field. */
#include "model/fields.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/num.h"
#include "base/text.h"

/* Valid UTF-8, and nothing above ASCII that a terminal would obey. */
static void clean(const char *s, struct buf *out)
{
    size_t n = strlen(s);
    buf_init(out, SIZE_MAX / 2);
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        char one[4];
        i += text_utf8_decode(s + i, n - i, &cp);
        if (cp >= 0x7F && cp < 0xA0)
            cp = 0xFFFD;
        buf_add(out, one, text_utf8_encode(cp, one));
    }
}

static json_t *string_value(const char *s)
{
    struct buf b;
    clean(s, &b);
    json_t *v = json_stringn(b.p, b.len);
    buf_release(&b);
    return v;
}

/* How deep brackets nest in compact JSON text. */
static int depth_of(const char *text)
{
    int depth = 0, deepest = 0;
    bool quoted = false;
    for (const char *p = text; *p; p++) {
        if (quoted && *p == '\\' && p[1])
            p++;
        else if (*p == '"')
            quoted = !quoted;
        else if (!quoted && (*p == '[' || *p == '{'))
            deepest = ++depth > deepest ? depth : deepest;
        else if (!quoted && (*p == ']' || *p == '}'))
            depth--;
    }
    return deepest;
}

json_t *fields_embed(const char *text)
{
    struct buf b;
    json_t *v = NULL;
    clean(text, &b);
    if (depth_of(b.p) <= FIELD_JSON_DEPTH)
        v = json_loadb(b.p, b.len, JSON_REJECT_DUPLICATES, NULL);
    buf_release(&b);
    return v;
}

static json_t *number_value(const struct field *f, double v)
{
    double max = field_max(f);
    if (!isfinite(v) || (v == 0 && f->flags & FIELD_ZERO_NULL) ||
        (v < 0 && f->flags & FIELD_MINUS_NULL))
        return json_null();
    v = v < f->min ? f->min : v > max ? max : v;
    /* whole numbers read better without ".0" */
    return v == floor(v) && fabs(v) < FIELD_MAX ? json_integer((json_int_t)v) : json_real(v);
}

static json_t *write_const(const struct field *f, const void *m)
{
    (void)m;
    return json_string(f->words[0]);
}

static json_t *write_string(const struct field *f, const void *m)
{
    const char *s = *(const char *const *)m;
    (void)f;
    return s ? string_value(s) : json_null();
}

static json_t *write_stamp(const struct field *f, const void *m)
{
    const char *s = m;
    (void)f;
    return *s ? string_value(s) : json_null();
}

static json_t *write_json(const struct field *f, const void *m)
{
    const char *s = *(const char *const *)m;
    json_t *v = s ? fields_embed(s) : NULL;
    (void)f;
    return v ? v : json_null();
}

static json_t *write_number(const struct field *f, const void *m)
{
    return number_value(f, *(const double *)m);
}

static json_t *write_int(const struct field *f, const void *m)
{
    return number_value(f, *(const int *)m);
}

static json_t *write_i64(const struct field *f, const void *m)
{
    return number_value(f, (double)*(const int64_t *)m);
}

static json_t *write_seconds(const struct field *f, const void *m)
{
    return number_value(f, ns_to_s(*(const int64_t *)m));
}

static json_t *write_bool(const struct field *f, const void *m)
{
    (void)f;
    return json_boolean(*(const bool *)m);
}

static json_t *write_enum(const struct field *f, const void *m)
{
    return json_string(f->words[*(const unsigned *)m]);
}

static json_t *write_bits(const struct field *f, const void *m)
{
    unsigned bits = *(const unsigned *)m;
    json_t *array = json_array();
    for (unsigned i = 0; f->words[i]; i++)
        if (bits & 1u << i)
            json_array_append_new(array, json_string(f->words[i]));
    return array;
}

static bool is_blank(json_t *v)
{
    return json_is_null(v) || json_is_false(v) || (json_is_integer(v) && !json_integer_value(v)) ||
           (json_is_array(v) && json_array_size(v) == 0);
}

static json_t *write_struct(const struct field *f, const void *m)
{
    json_t *object = fields_write(f->table, m);
    const char *key;
    json_t *v;
    if (!(f->flags & FIELD_BLANK_NULL))
        return object;
    json_object_foreach(object, key, v) if (!is_blank(v)) return object;
    json_decref(object);
    return json_null();
}

/* As deep as the tables are: a handful of levels. */
/* NOLINTBEGIN(misc-no-recursion) */
static json_t *write_value(const struct field *f, const void *base);

static json_t *write_list(const struct field *f, const void *base)
{
    const struct field_list *l = f->list;
    size_t count = fields_list_count(l, base);
    const char *items = fields_list_items(f, base);
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, write_value(&l->item, items + i * l->stride));
    return array;
}

static json_t *(*const writers[FIELD_KIND_COUNT])(const struct field *f, const void *member) = {
    [FIELD_CONST] = write_const,   [FIELD_STRING] = write_string, [FIELD_LABEL] = write_string,
    [FIELD_STAMP] = write_stamp,   [FIELD_JSON] = write_json,     [FIELD_NUMBER] = write_number,
    [FIELD_INT] = write_int,       [FIELD_I64] = write_i64,       [FIELD_SECONDS] = write_seconds,
    [FIELD_BOOL] = write_bool,     [FIELD_ENUM] = write_enum,     [FIELD_BITS] = write_bits,
    [FIELD_STRUCT] = write_struct,
};

static json_t *write_value(const struct field *f, const void *base)
{
    if (f->kind == FIELD_LIST)
        return write_list(f, base); /* its count lies elsewhere in the struct */
    return writers[f->kind](f, (const char *)base + f->offset);
}
/* NOLINTEND(misc-no-recursion) */

json_t *fields_write(const struct field_table *t, const void *base)
{
    json_t *object = json_object();
    for (size_t i = 0; i < t->count; i++)
        if (!(t->rows[i].flags & FIELD_PRIVATE))
            json_object_set_new(object, t->rows[i].name, write_value(&t->rows[i], base));
    return object;
}
