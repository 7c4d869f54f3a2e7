/* api_schema.h - what the API answers, as tables of fields: one table writes the JSON and says what
 * JSON it is.
 *
 * An answer is a struct of the store or of a handler. Its table has a row for each field: the name
 * in JSON, its kind, where it lies in the struct, what it means. api_write makes the document of a
 * struct, api_schema the JSON Schema (2020-12) of every such document, so the two cannot disagree.
 *
 * A figure that does not exist is null, times are UTC text. Objects hold exactly their fields. */
#ifndef TOKGRID_SITE_API_SCHEMA_H
#define TOKGRID_SITE_API_SCHEMA_H

#include <jansson.h>
#include <stddef.h>

/* The names of an enum, in its order: a NULL-ended list, or a function that ends with NULL. */
struct api_words {
    const char *const *list;
    const char *(*name)(int i);
};
const char *api_word(const struct api_words *w, int i); /* NULL: there are no more */
json_t *api_words_json(const struct api_words *w);      /* an array of them */

enum api_kind {
    API_TEXT,   /* const char *; what is not valid UTF-8 is null */
    API_CHARS,  /* char[]; "" is null */
    API_INT,    /* int */
    API_I64,    /* int64_t */
    API_NUMBER, /* double; what is not finite is null */
    API_BOOL,   /* bool */
    API_TIME,   /* int64_t, Unix milliseconds; 0 is null */
    API_WORD,   /* an enum, by `words` */
    API_TEXTS,  /* const char *const *, NULL-ended */
    API_JSON,   /* const char *: the text of a JSON object */
    API_OBJECT, /* a struct, by `object` */
    API_LIST,   /* structs, by `object`: a pointer to them, and their size_t count elsewhere */
};

enum api_field_flags {
    API_NULL = 1 << 0,       /* may be null */
    API_ZERO_NULL = 1 << 1,  /* the same, and 0 stands for it */
    API_MINUS_NULL = 1 << 2, /* the same, and what is below 0 stands for it */
    API_ABSENT = 1 << 3,     /* left out instead of null */
};

struct api_object;

struct api_field {
    const char *name;
    enum api_kind kind;
    size_t offset;
    unsigned flags;
    struct api_words words;
    const struct api_object *object;
    size_t count_offset; /* of a list's size_t */
    const char *help;    /* a sentence; NULL: the name says it */
};

struct api_object {
    const char *name; /* among the document's schemas */
    const char *help;
    const struct api_object *begins_with; /* whose fields come first; its struct is at offset 0 */
    const struct api_field *fields;
    size_t count, size; /* fields; bytes of the struct */
    enum {
        API_FIELDS,   /* as the table says */
        API_RUN,      /* the result's document, schema/tokgrid-run-1.schema.json */
        API_ANYTHING, /* an object that another standard describes */
    } is;
};

json_t *api_write(const struct api_object *o, const void *at); /* the caller owns it */
json_t *api_schema(const struct api_object *o);                /* others by $ref */
json_t *api_schema_ref(const struct api_object *o);            /* {"$ref": ...} */

/* Calls `see` for each object that a field of `o` names. */
void api_schema_walk(const struct api_object *o, void (*see)(void *ctx, const struct api_object *),
                     void *ctx);

#endif
