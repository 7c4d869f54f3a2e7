/* json.c - jansson behind four small questions. */
#include "base/json.h"

#include <math.h>
#include <string.h>

#include "base/num.h"

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

static int add_chunk(const char *p, size_t n, void *out)
{
    return buf_add(out, p, n) ? 0 : -1;
}

bool json_write(json_t *root, struct buf *out)
{
    /* 15 digits print every figure of a result exactly as a person would write it */
    return json_dump_callback(root, add_chunk, out, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) ==
               0 &&
           buf_addc(out, '\n');
}
