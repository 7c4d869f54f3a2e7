/* fields.h - structs described by tables of their fields, and the walks over such a table.
 *
 * A field of the document is declared once, as a row: its name there, its kind, where it lives in
 * the struct, what it may hold. Five walks share the rows: init (every figure "does not exist"),
 * release, write (struct to JSON), read (JSON to struct) and one over all texts. So no two of them
 * can disagree, and a new field is one row.
 *
 * How "does not exist" looks in memory, written as null: a string is NULL, a double is NAN, a stamp
 * is empty; integers and durations have no such value of their own and say by a flag which one
 * stands for it. A field that is absent from a document keeps what init gave it, unless it is
 * required. The reader refuses what it does not know: an unknown name, another type, a value
 * outside the range; its errors begin with the place ("decode[3].ttft_ms.p50: ..."). The writer
 * moves a finite figure outside its range to the nearest bound, so that it never makes a document
 * that the reader refuses; what is not valid UTF-8, and the control bytes 7F to 9F that terminals
 * obey, become U+FFFD. */
#ifndef TOKGRID_MODEL_FIELDS_H
#define TOKGRID_MODEL_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

enum field_kind {
    FIELD_CONST,   /* no member: the document says words[0] */
    FIELD_STRING,  /* char *, owned; with `words`: one of them */
    FIELD_LABEL,   /* const char *, static: one of `words` */
    FIELD_STAMP,   /* char[FIELD_STAMP_MAX]: "2026-11-30T10:13:26Z" or empty */
    FIELD_JSON,    /* char *, owned: the text of an object or array, embedded as JSON */
    FIELD_NUMBER,  /* double */
    FIELD_INT,     /* int */
    FIELD_I64,     /* int64_t */
    FIELD_SECONDS, /* int64_t nanoseconds; seconds in the document */
    FIELD_BOOL,    /* bool */
    FIELD_ENUM,    /* an enum whose values index `words` */
    FIELD_BITS,    /* unsigned; bit i is words[i]; an array of words in the document */
    FIELD_STRUCT,  /* a struct described by `table` */
    FIELD_LIST,    /* an array described by `list` */
    FIELD_KIND_COUNT,
};

enum field_flags {
    FIELD_REQUIRED = 1 << 0,   /* must be there and not null */
    FIELD_ZERO_NULL = 1 << 1,  /* 0 stands for "does not exist" */
    FIELD_MINUS_NULL = 1 << 2, /* below 0 stands for "does not exist"; init gives -1 */
    FIELD_BLANK_NULL = 1 << 3, /* a struct in which nothing exists is null as a whole */
    FIELD_PRIVATE = 1 << 4,    /* in memory only: released, never written, unknown to the reader */
};

enum { FIELD_STAMP_MAX = 32 };

/* A form that a string must have besides being a string. */
struct field_form {
    bool (*holds)(const char *s);
    const char *words; /* "a UUID": completes "expected ..." */
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset;
    unsigned flags;
    double min, max;               /* of numbers; max 0: see field_max */
    const char *const *words;      /* NULL-ended */
    const struct field_form *form; /* of strings */
    const struct field_table *table;
    const struct field_list *list;
};

#define FIELD_MAX   1e15 /* the largest number: every whole one below is exact in 15 digits */
#define FIELD_MAX_S 1e6  /* the longest duration, eleven days: exact to the nanosecond likewise */

struct field_table {
    const char *name; /* its name among the schema's definitions */
    const struct field *rows;
    size_t count, size; /* of rows; of the struct in bytes */
};

/* An array: inside the struct (cap_offset is FIELD_INLINE, at most `max` elements) or on the heap,
 * growing (a pointer, a count and a capacity). */
struct field_list {
    struct field item; /* offset 0 */
    size_t stride;
    size_t max; /* elements; 0: bounded by the document's size only */
    size_t count_offset;
    size_t count_size; /* sizeof the count: an int or a size_t */
    size_t cap_offset;
};

#define FIELD_INLINE SIZE_MAX

void fields_init(const struct field_table *t, void *base);           /* zeroes it first */
void fields_release(const struct field_table *t, void *base);        /* zeroed structs are fine */
json_t *fields_write(const struct field_table *t, const void *base); /* the caller owns it */

/* `base` is initialised. On failure it holds what was read so far and still wants a release. */
bool fields_read(const struct field_table *t, json_t *object, void *base,
                 struct err *err) ATTR_CHECK;

double field_max(const struct field *f); /* its max, or the largest that its kind can hold */

/* For the walks: element count and storage of a list whose field starts at `member`'s struct. */
size_t fields_list_count(const struct field_list *l, const void *base);
void *fields_list_items(const struct field *f, const void *base);

/* Every text that somebody wrote: strings that are not one of a few words and have no form of their
 * own, and embedded JSON. `path` is "events[3].text"; the visitor may replace the heap string
 * *text, which is never NULL. A visitor that returns false ends the walk, which then returns false.
 */
typedef bool field_text_fn(void *ctx, const char *path, const struct field *f, char **text);
bool fields_each_text(const struct field_table *t, void *base, field_text_fn *visit, void *ctx);

/* Text of an embedded document as a value, or NULL when it is not JSON, not an object or array,
 * or nested deeper than FIELD_JSON_DEPTH. The caller owns it. */
enum { FIELD_JSON_DEPTH = 32 };
json_t *fields_embed(const char *text);

#endif
