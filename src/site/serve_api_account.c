/* serve_api_account.c - the API's user, keys and device login. */
#include <string.h>

#include "base/json.h"
#include "site/api_json.h"
#include "site/serve.h"

#define MINUTE_MS INT64_C(60000)

static bool take_text(struct body_text *fields, size_t n, const char *key, const json_t *value,
                      struct arena *a)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(fields[i].name, key) != 0 || !json_is_string(value))
            continue;
        fields[i].value = arena_strdup(a, json_string_value(value));
        return true;
    }
    return false;
}

bool serve_body_texts(struct visit *v, struct body_text *fields, size_t n)
{
    const struct buf *body = &v->request->body;
    const char *key, *unknown = NULL;
    json_t *value, *document = NULL;
    for (size_t i = 0; i < n; i++)
        fields[i].value = NULL;
    if (body->len > 0) {
        document = json_parse(body->p, body->len, "body", &v->err);
        if (!json_is_object(document)) {
            visit_fail(v, 400, "invalid", document ? "the body must be a JSON object" : v->err.text,
                       NULL);
            json_decref(document);
            return false;
        }
    }
    json_object_foreach(document, key, value)
    {
        if (!unknown && !take_text(fields, n, key, value, &v->arena))
            unknown = arena_printf(&v->arena, "%.60s", key);
    }
    json_decref(document);
    if (unknown) {
        visit_fail(v, 400, "unknown_field",
                   arena_printf(&v->arena, "there is no field '%s' of this type here", unknown),
                   unknown);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!fields[i].value && !fields[i].optional) {
            visit_fail(v, 400, "invalid",
                       arena_printf(&v->arena, "the field '%s' is missing", fields[i].name),
                       fields[i].name);
            return false;
        }
        if (!fields[i].value)
            fields[i].value = "";
    }
    return true;
}

/* One text of this name. */
static bool read_text(struct visit *v, const char *name, bool optional, const char **ret)
{
    struct body_text field = {.name = name, .optional = optional};
    bool ok = serve_body_texts(v, &field, 1);
    *ret = ok ? field.value : "";
    return ok;
}

void serve_api_user(struct visit *v)
{
    visit_json(v, 200, api_user(&v->user));
}

/* ---- keys ------------------------------------------------------------------------------------ */

void serve_api_keys(struct visit *v)
{
    struct store_keys keys;
    if (!store_keys(v->store, v->user.id, &v->arena, &keys, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    json_t *rows = json_array();
    for (size_t i = 0; i < keys.n; i++)
        json_array_append_new(rows, api_key(&keys.v[i]));
    visit_json(v, 200, json_pack("{s:o}", "keys", rows));
}

void serve_api_key_create(struct visit *v)
{
    char key[STORE_KEY_TEXT_MAX];
    const char *label;
    if (!read_text(v, "label", false, &label))
        return;
    if (!store_key_create(v->store, v->user.id, label, key, &v->err))
        visit_fail_err(v, &v->err);
    else
        visit_json(v, 201, json_pack("{s:s}", "key", key));
}

void serve_api_key_delete(struct visit *v)
{
    int64_t id;
    if (!serve_id(v, v->match.args[0], &id))
        return;
    if (!store_key_delete(v->store, v->user.id, id, &v->err))
        visit_fail_err(v, &v->err);
    else
        v->response->status = 204;
}

/* ---- device login ---------------------------------------------------------------------------- */

void serve_api_device_code(struct visit *v)
{
    char device[STORE_TOKEN_MAX], user[STORE_USER_CODE_MAX];
    const char *label;
    if (!visit_limit(v, "device:address", NULL, 20, 10 * MINUTE_MS) ||
        !read_text(v, "label", true, &label))
        return;
    if (!store_device_start(v->store, *label ? label : "tokgrid", device, user, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    const char *page = arena_printf(&v->arena, "%s/en/device", serve_origin(v));
    visit_json(v, 200,
               json_pack("{s:s, s:s, s:s, s:i, s:i}", "device_code", device, "user_code", user,
                         "verification_uri", page, "expires_in", STORE_DEVICE_LIFE_MS / 1000,
                         "interval", STORE_DEVICE_POLL_MS / 1000));
}

void serve_api_device_token(struct visit *v)
{
    static const struct {
        const char *code, *text;
    } waits[] = {
        [STORE_DEVICE_PENDING] = {"authorization_pending", "nobody has answered yet"},
        [STORE_DEVICE_SLOW_DOWN] = {"slow_down", "ask less often"},
        [STORE_DEVICE_APPROVED] = {"", ""},
        [STORE_DEVICE_DENIED] = {"access_denied", "it was refused"},
        [STORE_DEVICE_EXPIRED] = {"expired_token", "the code has expired; begin again"},
        [STORE_DEVICE_KEY_LIMIT] = {"key_limit_exceeded", "revoke a key on the dashboard first"},
    };
    enum store_device_state state;
    char key[STORE_KEY_TEXT_MAX];
    const char *code;
    if (!read_text(v, "device_code", false, &code))
        return;
    if (!store_device_poll(v->store, code, &state, key, &v->err))
        visit_fail_err(v, &v->err);
    else if (state == STORE_DEVICE_APPROVED)
        visit_json(v, 200, json_pack("{s:s}", "key", key));
    else
        visit_fail(v, 400, waits[state].code, waits[state].text, NULL);
}
