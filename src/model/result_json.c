/* result_json.c - the document: the walks of fields.h over result_fields, with a name for errors.
 */
#include "base/json.h"
#include "model/result.h"
#include "model/result_fields.h"

bool result_write_json(const struct result *r, struct buf *out)
{
    json_t *root = fields_write(&result_fields, r);
    bool ok = json_write(root, out);
    json_decref(root);
    return ok;
}

bool result_read_json(const char *p, size_t n, const char *name, struct result *ret,
                      struct err *err)
{
    struct result r;
    if (n > RESULT_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "%s: a result is at most %d MB", name,
                       RESULT_MAX_BYTES >> 20);
    json_t *root = json_parse(p, n, name, err);
    if (!root)
        return false;
    result_init(&r);
    bool ok = fields_read(&result_fields, root, &r, err) && result_check(&r, err);
    json_decref(root);
    if (!ok) {
        result_release(&r);
        return err_prefix(err, "%s", name);
    }
    *ret = r;
    return true;
}
