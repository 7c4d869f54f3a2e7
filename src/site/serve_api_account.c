/* serve_api_account.c - the API's own user, keys, setups and device login. */
#include <stdlib.h>
#include <string.h>

#include "site/api_call.h"
#include "site/api_objects.h"
#include "site/serve.h"

void serve_api_user(struct visit *v)
{
    api_answer(v, 200, &api_user, &v->user);
}

/* ---- keys ------------------------------------------------------------------------------------ */

void serve_api_keys(struct visit *v)
{
    struct store_keys keys;
    if (!store_keys(v->store, v->user.id, &v->arena, &keys, &v->err))
        visit_fail_err(v, &v->err);
    else
        api_answer(v, 200, &api_keys, &keys);
}

void serve_api_key_create(struct visit *v)
{
    char key[STORE_KEY_TEXT_MAX];
    const struct api_secret secret = {.key = key};
    if (!store_key_create(v->store, v->user.id, api_value(v, "label"), key, &v->err))
        visit_fail_err(v, &v->err);
    else
        api_answer(v, 201, &api_new_key, &secret);
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

/* ---- setups ---------------------------------------------------------------------------------- */

void serve_api_setups(struct visit *v)
{
    struct store_setups setups;
    if (!store_setups(v->store, v->user.id, &v->arena, &setups, &v->err))
        visit_fail_err(v, &v->err);
    else
        api_answer(v, 200, &api_setups, &setups);
}

static const struct store_setup *find_setup(const struct store_setups *setups, int64_t id)
{
    for (size_t i = 0; i < setups->n; i++)
        if (setups->v[i].id == id)
            return &setups->v[i];
    return NULL;
}

void serve_api_setup_put(struct visit *v)
{
    struct store_setups setups;
    int64_t id;
    const json_t *settings = json_object_get(v->input, "settings");
    if (serve_setup_has_secret(settings)) {
        visit_fail(v, 422, "secret", "the settings hold a key or a password; put *** there",
                   "settings");
        return;
    }
    char *body = json_dumps(settings, JSON_COMPACT);
    bool ok = store_setup_put(v->store, v->user.id, api_value(v, "name"), body,
                              api_flag(v, "default"), &id, &v->err) &&
              store_setups(v->store, v->user.id, &v->arena, &setups, &v->err);
    free(body);
    const struct store_setup *setup = ok ? find_setup(&setups, id) : NULL;
    if (setup)
        api_answer(v, 201, &api_setup, setup);
    else
        visit_fail_err(v, &v->err);
}

void serve_api_setup_delete(struct visit *v)
{
    int64_t id;
    if (!serve_id(v, v->match.args[0], &id))
        return;
    if (!store_setup_delete(v->store, v->user.id, id, &v->err))
        visit_fail_err(v, &v->err);
    else
        v->response->status = 204;
}

/* ---- device login ---------------------------------------------------------------------------- */

void serve_api_device_code(struct visit *v)
{
    char device[STORE_TOKEN_MAX], user[STORE_USER_CODE_MAX];
    const char *label = api_value(v, "label");
    if (!store_device_start(v->store, label && *label ? label : "tokgrid", device, user, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    const struct api_device answer = {
        .device_code = device,
        .user_code = user,
        .verification_uri = arena_printf(&v->arena, "%s/en/device", serve_origin(v)),
        .expires_in = STORE_DEVICE_LIFE_MS / 1000,
        .interval = STORE_DEVICE_POLL_MS / 1000,
    };
    api_answer(v, 200, &api_device_code, &answer);
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
    const struct api_secret secret = {.key = key};
    if (!store_device_poll(v->store, api_value(v, "device_code"), &state, key, &v->err))
        visit_fail_err(v, &v->err);
    else if (state == STORE_DEVICE_APPROVED)
        api_answer(v, 200, &api_new_key, &secret);
    else
        visit_fail(v, 400, waits[state].code, waits[state].text, NULL);
}
