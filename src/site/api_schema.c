/* api_schema.c - the two walks over a table of fields. */
#include "site/api_schema.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "site/stamp_text.h"

const char *api_word(const struct api_words *w, int i)
{
    return w->list ? w->list[i] : w->name ? w->name(i) : NULL;
}

json_t *api_words_json(const struct api_words *w)
{
    json_t *list = json_array();
    for (int i = 0; api_word(w, i); i++)
        json_array_append_new(list, json_string(api_word(w, i)));
    return list;
}

/* The tables are nested as deep as answers are, so the walks over them end. */
/* NOLINTBEGIN(misc-no-recursion) */

/* ---- a document ------------------------------------------------------------------------------ */

static json_t *text_json(const char *s)
{
    json_t *text = s ? json_string(s) : NULL;
    return text ? text : json_null();
}

static json_t *whole_json(const struct api_field *f, int64_t v)
{
    if ((v == 0 && (f->flags & API_ZERO_NULL)) || (v < 0 && (f->flags & API_MINUS_NULL)))
        return json_null();
    return json_integer(v);
}

static json_t *time_json(int64_t unix_ms)
{
    char stamp[CLOCK_TEXT_MAX];
    return unix_ms > 0 ? json_string(stamp_text(unix_ms, stamp)) : json_null();
}

static json_t *texts_json(const char *const *list)
{
    json_t *texts = json_array();
    for (size_t i = 0; list && list[i]; i++)
        json_array_append_new(texts, text_json(list[i]));
    return texts;
}

static json_t *embedded_json(const char *text)
{
    json_t *document = text ? json_loads(text, 0, NULL) : NULL;
    return document ? document : json_null();
}

static json_t *list_json(const struct api_field *f, const char *rows, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, api_write(f->object, rows + i * f->object->size));
    return list;
}

static const void *pointer_at(const void *at)
{
    const void *pointer;
    memcpy(&pointer, at, sizeof pointer);
    return pointer;
}

static json_t *field_json(const struct api_field *f, const char *base)
{
    const void *at = base + f->offset;
    switch (f->kind) {
    case API_TEXT: return text_json(pointer_at(at));
    case API_CHARS: return text_json(*(const char *)at ? at : NULL);
    case API_INT: return whole_json(f, *(const int *)at);
    case API_I64: return whole_json(f, *(const int64_t *)at);
    case API_NUMBER:
        return isfinite(*(const double *)at) ? json_real(*(const double *)at) : json_null();
    case API_BOOL: return json_boolean(*(const bool *)at);
    case API_TIME: return time_json(*(const int64_t *)at);
    case API_WORD: return text_json(api_word(&f->words, *(const int *)at));
    case API_TEXTS: return texts_json(pointer_at(at));
    case API_JSON: return embedded_json(pointer_at(at));
    case API_OBJECT: return api_write(f->object, at);
    case API_LIST:
        return list_json(f, pointer_at(at),
                         *(const size_t *)(const void *)(base + f->count_offset));
    }
    return json_null();
}

static void write_fields(json_t *to, const struct api_object *o, const void *at)
{
    if (o->begins_with)
        write_fields(to, o->begins_with, at);
    for (size_t i = 0; i < o->count; i++) {
        json_t *value = field_json(&o->fields[i], at);
        if ((o->fields[i].flags & API_ABSENT) && json_is_null(value))
            json_decref(value);
        else
            json_object_set_new(to, o->fields[i].name, value);
    }
}

json_t *api_write(const struct api_object *o, const void *at)
{
    json_t *document = json_object();
    write_fields(document, o, at);
    return document;
}

/* ---- its schema ------------------------------------------------------------------------------ */

json_t *api_schema_ref(const struct api_object *o)
{
    return json_pack("{s:o}", "$ref", json_sprintf("#/components/schemas/%s", o->name));
}

static json_t *kind_schema(const struct api_field *f)
{
    switch (f->kind) {
    case API_TEXT:
    case API_CHARS: return json_pack("{s:s}", "type", "string");
    case API_INT:
    case API_I64: return json_pack("{s:s}", "type", "integer");
    case API_NUMBER: return json_pack("{s:s}", "type", "number");
    case API_BOOL: return json_pack("{s:s}", "type", "boolean");
    case API_TIME: return json_pack("{s:s, s:s}", "type", "string", "format", "date-time");
    case API_WORD:
        return json_pack("{s:s, s:o}", "type", "string", "enum", api_words_json(&f->words));
    case API_TEXTS: return json_pack("{s:s, s:{s:s}}", "type", "array", "items", "type", "string");
    case API_JSON: return json_pack("{s:s}", "type", "object");
    case API_OBJECT: return api_schema_ref(f->object);
    case API_LIST:
        return json_pack("{s:s, s:o}", "type", "array", "items", api_schema_ref(f->object));
    }
    return json_object();
}

static json_t *field_schema(const struct api_field *f)
{
    json_t *schema = kind_schema(f);
    json_t *type = json_object_get(schema, "type");
    if ((f->flags & (API_NULL | API_ZERO_NULL | API_MINUS_NULL)) && type)
        json_object_set_new(schema, "type", json_pack("[O, s]", type, "null"));
    else if (f->flags & API_NULL)
        schema = json_pack("{s:[o, {s:s}]}", "anyOf", schema, "type", "null");
    if (f->help)
        json_object_set_new(schema, "description", json_string(f->help));
    return schema;
}

static void add_properties(json_t *properties, json_t *required, const struct api_object *o)
{
    if (o->begins_with)
        add_properties(properties, required, o->begins_with);
    for (size_t i = 0; i < o->count; i++) {
        json_object_set_new(properties, o->fields[i].name, field_schema(&o->fields[i]));
        if (!(o->fields[i].flags & API_ABSENT))
            json_array_append_new(required, json_string(o->fields[i].name));
    }
}

json_t *api_schema(const struct api_object *o)
{
    json_t *properties = json_object(), *required = json_array();
    add_properties(properties, required, o);
    json_t *schema = json_pack("{s:s}", "type", "object");
    if (o->help)
        json_object_set_new(schema, "description", json_string(o->help));
    if (o->is == API_ANYTHING) {
        json_decref(properties);
        json_decref(required);
        return schema;
    }
    json_object_set_new(schema, "additionalProperties", json_false());
    json_object_set_new(schema, "required", required);
    json_object_set_new(schema, "properties", properties);
    return schema;
}

void api_schema_walk(const struct api_object *o, void (*see)(void *ctx, const struct api_object *),
                     void *ctx)
{
    if (o->begins_with)
        api_schema_walk(o->begins_with, see, ctx);
    for (size_t i = 0; i < o->count; i++)
        if (o->fields[i].object)
            see(ctx, o->fields[i].object);
}

/* NOLINTEND(misc-no-recursion) */
