/* json.c - jansson behind four small questions. */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"

/* At least as many as there are: each stands behind a bracket or a comma. */
static size_t count_values(const char *p, size_t n)
{
    size_t count = 1;
    bool quoted = false;

    for (size_t i = 0; i < n; i++) {
        if (quoted && p[i] == '\\')
            i++;
        else if (p[i] == '"')
            quoted = !quoted;
        else if (!quoted && (p[i] == ',' || p[i] == '[' || p[i] == '{'))
            count++;
    }
    return count;
}

json_t *json_parse(const char *p, size_t n, const char *name, struct err *err)
{
    json_error_t where;
    if (count_values(p, n) > JSON_MAX_VALUES) {
        err_set(err, ERR_LIMIT, "%s holds more than %d values", name, JSON_MAX_VALUES);
        return NULL;
    }
    json_t *root = json_loadb(p, n, JSON_REJECT_DUPLICATES, &where);
    if (!root)
        err_set(err, ERR_FORMAT, "%s is not valid JSON: line %d, column %d: %s", name, where.line,
                where.column, where.text);
    return root;
}

json_t *json_at(json_t *root, const char *path)
{
    while (root && *path) {
        char key[128];
        size_t n = strcspn(path, ".");
        if (n >= sizeof key)
            return NULL;
        memcpy(key, path, n);
        key[n] = '\0';
        path += n + (path[n] == '.');
        int64_t index;
        if (json_is_array(root))
            root = num_parse_i64(key, &index) && index >= 0 ? json_array_get(root, (size_t)index)
                                                            : NULL;
        else
            root = json_object_get(root, key);
    }
    return root;
}

const char *json_string_at(json_t *root, const char *path)
{
    return json_string_value(json_at(root, path));
}

bool json_number_at(json_t *root, const char *path, double *ret)
{
    json_t *v = json_at(root, path);
    if (!json_is_number(v))
        return false;
    *ret = json_number_value(v);
    return true;
}

bool json_int_at(json_t *root, const char *path, int64_t *ret)
{
    double d;
    json_t *v = json_at(root, path);
    if (json_is_integer(v)) {
        *ret = json_integer_value(v);
        return true;
    }
    if (!json_number_at(root, path, &d) || d != floor(d) || fabs(d) > 9e15)
        return false;
    *ret = (int64_t)d;
    return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* 15 digits print every figure of a result exactly as a person would write it. */
enum { LEAF_FLAGS = JSON_ENCODE_ANY | JSON_REAL_PRECISION(15) };

static int add_chunk(const char *p, size_t n, void *out)
{
    return buf_add(out, p, n) ? 0 : -1;
}

static bool add_leaf(json_t *v, size_t flags, struct buf *out)
{
    return json_dump_callback(v, add_chunk, out, LEAF_FLAGS | flags) == 0;
}

static bool is_plain(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)p[i] < 0x20 || p[i] == '"' || p[i] == '\\')
            return false;
    return true;
}

/* Whether a terminal would obey some of it, or show it in another order: line breaks and the like
 * are escaped in any case. */
static bool is_unsafe(const char *p, size_t n)
{
    uint32_t cp;
    for (size_t i = 0; i < n;) {
        if ((unsigned char)p[i] < 0x7F) {
            i++;
            continue;
        }
        i += text_utf8_decode(p + i, n - i, &cp);
        if (text_is_unsafe(cp))
            return true;
    }
    return false;
}

static bool add_text(const char *p, size_t n, json_t *v, struct buf *out)
{
    bool unsafe = is_unsafe(p, n);
    if (!unsafe && is_plain(p, n))
        return buf_addc(out, '"') && buf_add(out, p, n) && buf_addc(out, '"');
    json_t *text = v ? json_incref(v) : json_stringn(p, n);
    bool fine = text && add_leaf(text, unsafe ? JSON_ENSURE_ASCII : 0, out);
    json_decref(text);
    return fine;
}

/* What needs an exponent, or another decimal point in this locale, is left to jansson. */
static bool add_real(json_t *v, struct buf *out)
{
    char text[NUM_TEXT_MAX];
    int n = snprintf(text, sizeof text, "%.15g", json_real_value(v));
    size_t digits = strspn(text, "-0123456789");
    bool whole = digits == (size_t)n;
    if (!whole &&
        (text[digits] != '.' || strspn(text + digits + 1, "0123456789") != (size_t)n - digits - 1))
        return add_leaf(v, 0, out);
    return buf_add(out, text, (size_t)n) && (!whole || buf_adds(out, ".0"));
}

static bool add_break(struct buf *out, int depth)
{
    return buf_addc(out, '\n') && buf_add_repeat(out, ' ', (size_t)depth * 2);
}

/* As json_dump_callback would with JSON_INDENT(2), at a third of its cost: that remembers every
 * container by its printed address, in case one holds itself, and gives the text away in pieces of
 * a few bytes. A document of ours is a tree of a few levels. */
/* NOLINTBEGIN(misc-no-recursion) */

static bool add_value(json_t *v, struct buf *out, int depth);

static bool add_object(json_t *object, struct buf *out, int depth)
{
    const char *key;
    json_t *v;
    size_t n = 0;
    bool fine = buf_addc(out, '{');
    json_object_foreach(object, key, v) fine = fine && (n++ == 0 || buf_addc(out, ',')) &&
                                               add_break(out, depth + 1) &&
                                               add_text(key, strlen(key), NULL, out) &&
                                               buf_adds(out, ": ") && add_value(v, out, depth + 1);
    return fine && (n == 0 || add_break(out, depth)) && buf_addc(out, '}');
}

static bool add_array(json_t *array, struct buf *out, int depth)
{
    size_t n = json_array_size(array);
    bool fine = buf_addc(out, '[');
    for (size_t i = 0; fine && i < n; i++)
        fine = (i == 0 || buf_addc(out, ',')) && add_break(out, depth + 1) &&
               add_value(json_array_get(array, i), out, depth + 1);
    return fine && (n == 0 || add_break(out, depth)) && buf_addc(out, ']');
}

static bool add_value(json_t *v, struct buf *out, int depth)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT: return add_object(v, out, depth);
    case JSON_ARRAY: return add_array(v, out, depth);
    case JSON_STRING: return add_text(json_string_value(v), json_string_length(v), v, out);
    case JSON_REAL: return add_real(v, out);
    case JSON_INTEGER:
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NULL: break;
    }
    return add_leaf(v, 0, out);
}

/* NOLINTEND(misc-no-recursion) */

bool json_write(json_t *root, struct buf *out)
{
    return root && add_value(root, out, 0) && buf_addc(out, '\n');
}
