/* api_call.c - parameters, body, limit, retries; then the handler. */
#include "site/api_call.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "site/api_operations.h"
#include "site/publish.h"

/* ---- what came ------------------------------------------------------------------------------- */

static bool refuse(struct visit *v, const char *code, const char *text, const char *field)
{
    visit_fail(v, 400, code, text, field);
    return false;
}

static bool check_query(struct visit *v, const struct operation *op)
{
    const struct params *query = &v->request->query;
    for (size_t i = 0; i < query->count; i++) {
        const char *name = query->v[i].name, *value = query->v[i].value;
        const struct api_param *p = op->query ? param_find(op->query, name) : NULL;
        if (!p)
            return refuse(v, "unknown_parameter",
                          arena_printf(&v->arena, "there is no parameter '%s' here", name), name);
        if (*value && !param_check_text(p, value, &v->err))
            return refuse(v, "invalid", v->err.text, name);
    }
    for (size_t i = 0; op->query && op->query[i]; i++)
        if (op->query[i]->required && !visit_query(v, op->query[i]->name))
            return refuse(
                v, "invalid",
                arena_printf(&v->arena, "the parameter '%s' is missing", op->query[i]->name),
                op->query[i]->name);
    return true;
}

/* The fields of v->input. */
static bool check_fields(struct visit *v, const struct operation *op)
{
    const char *name;
    json_t *value;
    json_object_foreach(v->input, name, value)
    {
        const struct api_param *p = param_find(op->body, name);
        char field[61];
        text_printable(field, sizeof field, name, strlen(name));
        if (!p)
            return refuse(v, "unknown_field",
                          arena_printf(&v->arena, "there is no field '%s' here", field), field);
        if (!param_check_json(p, value, &v->err))
            return refuse(v, "invalid", v->err.text, field);
    }
    for (size_t i = 0; op->body[i]; i++)
        if (op->body[i]->required && !json_object_get(v->input, op->body[i]->name))
            return refuse(v, "invalid",
                          arena_printf(&v->arena, "the field '%s' is missing", op->body[i]->name),
                          op->body[i]->name);
    return true;
}

static bool check_body(struct visit *v, const struct operation *op)
{
    const struct buf *body = &v->request->body;
    if (!operation_has_body(op))
        return body->len == 0 || refuse(v, "invalid", "this call takes no body", NULL);
    if (body->len == 0 && (op->flags & TAKES_LESS))
        return true;
    if (!request_has_type(v->request, "application/json")) {
        visit_fail(v, 415, "content_type", "the body's Content-Type must be application/json",
                   "Content-Type");
        return false;
    }
    if (!op->body)
        return true;
    v->input = json_parse(body->p, body->len, "body", &v->err);
    if (!v->input)
        return refuse(v, "invalid", v->err.text, NULL);
    if (!json_is_object(v->input))
        return refuse(v, "invalid", "the body must be a JSON object", NULL);
    return check_fields(v, op);
}

/* ---- once ------------------------------------------------------------------------------------ */

static bool is_key(const char *key)
{
    size_t n = strlen(key);
    for (const char *p = key; *p; p++)
        if (*p <= ' ' || *p > '~')
            return false;
    return n > 0 && n <= STORE_REPLAY_KEY_MAX;
}

/* What must be the same for a retry: the call, its query, its body. */
static void write_identity(const struct visit *v, struct buf *out)
{
    const struct request *r = v->request;
    buf_adds(out, api_method_name(r->method));
    for (size_t i = 0; i < r->path_count; i++) {
        buf_addc(out, i ? '/' : ' ');
        url_add_encoded(out, r->path[i]);
    }
    for (size_t i = 0; i < r->query.count; i++) {
        buf_addc(out, i ? '&' : '?');
        url_add_encoded(out, r->query.v[i].name);
        buf_addc(out, '=');
        url_add_encoded(out, r->query.v[i].value);
    }
    buf_addc(out, '\n');
    buf_add(out, r->body.p, r->body.len);
}

static bool claim(struct visit *v, const char *key, struct store_replay *ret)
{
    struct buf identity;
    buf_init(&identity, RESULT_MAX_BYTES + (4 * REQUEST_MAX_TARGET));
    write_identity(v, &identity);
    bool ok = store_replay_claim(v->store, v->user.id, key, identity.p, identity.len, &v->arena,
                                 ret, &v->err);
    buf_release(&identity);
    return ok;
}

/* Nothing is kept of what stored nothing: a failure, a dry run. */
static void finish_new(struct visit *v, const char *key)
{
    int status = v->response->status;
    if (status != 201 && !(status == 200 && v->request->method == METHOD_PATCH)) {
        store_rollback(v->store);
        return;
    }
    if (store_replay_save(v->store, v->user.id, key, status, v->response->body.p, &v->err) &&
        store_commit(v->store, &v->err))
        return;
    store_rollback(v->store);
    visit_fail_err(v, &v->err);
}

static void call_once(struct visit *v, const char *key)
{
    struct store_replay replay;
    if (!store_begin(v->store, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    if (!claim(v, key, &replay)) {
        store_rollback(v->store);
        visit_fail_err(v, &v->err);
        return;
    }
    if (replay.state == REPLAY_NEW) {
        v->match.route->handle(v);
        finish_new(v, key);
        return;
    }
    store_rollback(v->store);
    if (replay.state == REPLAY_OTHER) {
        visit_fail(v, 422, "idempotency_key", "this Idempotency-Key was used for another request",
                   "Idempotency-Key");
        return;
    }
    response_header(v->response, "Idempotent-Replay", "true");
    v->response->status = replay.status;
    v->response->type = "application/json";
    buf_adds(&v->response->body, replay.body);
}

/* ---- the way through ------------------------------------------------------------------------- */

static bool check_key(struct visit *v, const struct operation *op, const char *key)
{
    if (!key || !operation_has_body(op))
        return true;
    if (op->limit != LIMIT_NONE && !(op->flags & TAKES_ONCE))
        return refuse(
            v, "invalid",
            "this call takes no Idempotency-Key: its answer is a secret that is not kept, "
            "or sending it twice does no harm",
            "Idempotency-Key");
    return is_key(key) ||
           refuse(v, "invalid", "an Idempotency-Key has 1 to 128 visible ASCII characters",
                  "Idempotency-Key");
}

/* A document is read before anything is locked: that takes longer than all the rest. False:
 * answered. */
static bool read_document(struct visit *v, const struct operation *op)
{
    const struct buf *body = &v->request->body;
    if (!(op->flags & TAKES_RUN) || (body->len == 0 && (op->flags & TAKES_LESS)))
        return true;
    struct publication *p = arena_alloc(&v->arena, sizeof *p);
    v->publication = p;
    if (publication_read(p, body->p, body->len, &v->arena, &v->err))
        return true;
    visit_fail(v, v->err.code == ERR_LIMIT ? 413 : 422, "invalid_run", v->err.text, p->field);
    return false;
}

/* Where the run that was made is; the answer says its id, be it new or an earlier one. */
static void add_location(struct visit *v)
{
    struct err ignored;
    json_t *made = json_parse(v->response->body.p, v->response->body.len, "answer", &ignored);
    const char *id = json_string_value(json_object_get(made, "id"));
    if (id)
        response_header(v->response, "Location",
                        arena_printf(&v->arena, "%s/%s", v->match.route->path, id));
    json_decref(made);
}

void api_call(struct visit *v)
{
    const struct route *route = v->match.route;
    const struct operation *op = route->api;
    const char *key = v->request->header[HEADER_IDEMPOTENCY_KEY];
    if (!check_query(v, op) || !check_body(v, op) || !check_key(v, op, key) ||
        !visit_take(v, op->limit) || !read_document(v, op))
        return;
    if (key && (op->flags & TAKES_ONCE))
        call_once(v, key);
    else
        route->handle(v);
    if (v->response->status == 201 && (op->flags & TAKES_RUN))
        add_location(v);
}

/* ---- for handlers ---------------------------------------------------------------------------- */

const char *api_value(struct visit *v, const char *name)
{
    json_t *value = v->input ? json_object_get(v->input, name) : NULL;
    return value ? param_text(value, &v->arena) : visit_query(v, name);
}

bool api_flag(struct visit *v, const char *name)
{
    const char *value = api_value(v, name);
    return value && strcmp(value, "0") != 0 && strcmp(value, "false") != 0;
}

void api_answer(struct visit *v, int status, const struct api_object *o, const void *at)
{
    visit_json(v, status, api_write(o, at));
}

void api_fail_exists(struct visit *v, const char *text, const char *uid)
{
    const struct api_failure failure = {
        .error = {
            .code = "exists", .message = text, .field = "id", .id = uid && *uid ? uid : NULL}};
    v->response->cache = CACHE_NEVER;
    api_answer(v, 409, &api_error, &failure);
}
