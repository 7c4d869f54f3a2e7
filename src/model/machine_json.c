/* machine_json.c - a machine as a document of its own, by the same table as inside a result. */
#include "base/json.h"
#include "model/machine.h"
#include "model/result_fields.h"

void machine_copy(struct machine *to, const struct machine *from)
{
    struct err err;
    json_t *image = fields_write(&machine_fields, from);

    fields_init(&machine_fields, to);
    /* what the writer made, the reader takes */
    if (!fields_read(&machine_fields, image, to, &err)) {
        fields_release(&machine_fields, to);
        fields_init(&machine_fields, to);
    }
    json_decref(image);
}

bool machine_write_json(const struct machine *m, struct buf *out)
{
    json_t *root = fields_write(&machine_fields, m);
    bool ok = json_write(root, out);
    json_decref(root);
    return ok;
}

bool machine_read_json(const char *p, size_t n, const char *name, struct machine *ret,
                       struct err *err)
{
    struct machine m;
    json_t *root = json_parse(p, n, name, err);

    if (!root)
        return false;
    fields_init(&machine_fields, &m);
    bool ok = json_is_object(root) ? fields_read(&machine_fields, root, &m, err)
                                   : err_set(err, ERR_FORMAT, "expected an object");
    json_decref(root);
    if (!ok) {
        fields_release(&machine_fields, &m);
        return err_prefix(err, "%s", name);
    }
    *ret = m;
    return true;
}
