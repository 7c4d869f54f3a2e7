/* api_operations.c - what follows from a row. */
#include "site/api_operations.h"

#include <string.h>

#include "base/json.h"
#include "base/text.h"

bool operation_has_body(const struct operation *op)
{
    return op->body || (op->flags & TAKES_RUN);
}

const char *api_method_name(enum request_method m)
{
    static const char *const names[] = {
        [METHOD_GET] = "GET",       [METHOD_POST] = "POST", [METHOD_PATCH] = "PATCH",
        [METHOD_DELETE] = "DELETE", [METHOD_OTHER] = "?",
    };
    return names[m];
}

size_t operation_path_params(const struct route *route, const struct api_param *ret[ROUTE_MAX_ARGS])
{
    size_t count = 0;
    for (const char *p = strchr(route->path, '{'); p; p = strchr(p + 1, '{')) {
        const struct api_param *param = param_of_path(p + 1, strcspn(p + 1, "}"));
        if (param && count < ROUTE_MAX_ARGS)
            ret[count++] = param;
    }
    return count;
}

size_t operation_refusals(const struct route *route, struct api_refusal ret[OPERATION_REFUSALS])
{
    const struct operation *op = route->api;
    bool body = operation_has_body(op);
    const struct {
        bool can;
        struct api_refusal refusal;
    } rows[] = {
        {true, {400, "A parameter or field is unknown, missing or wrong; `field` names it."}},
        {true, {401, "There is no key where one is needed, or it is not known."}},
        {op->errors & FAILS_FORBIDDEN, {403, "It is somebody else's, or a moderator's to decide."}},
        {strchr(route->path, '{'), {404, "There is no such thing."}},
        {op->errors & FAILS_EXISTS,
         {409, "The same document has been published by this user; `id` names the run."}},
        {op->errors & FAILS_GONE, {410, "Its owner has withdrawn it."}},
        {body, {413, "The body is too large."}},
        {body, {415, "The body is not application/json."}},
        {op->errors & FAILS_INVALID,
         {422, "What was sent cannot be stored, or an Idempotency-Key was used for another "
               "request."}},
        {op->limit != LIMIT_NONE, {429, "Too often; Retry-After says when to try again."}},
    };
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].can)
            ret[count++] = rows[i].refusal;
    return count;
}

/* ---- an example for a shell ------------------------------------------------------------------ */

/* The example of a row as it stands in an address. */
static void add_example(struct buf *out, const struct api_param *p)
{
    json_t *value = p->example ? json_loads(p->example, JSON_DECODE_ANY, NULL) : NULL;
    struct arena a;
    arena_init(&a);
    const char *text = value ? param_text(value, &a) : NULL;
    url_add_encoded(out, text ? text : "...");
    json_decref(value);
    arena_release(&a);
}

static void add_path(const struct route *route, struct buf *out)
{
    for (const char *p = route->path; *p;) {
        size_t n = strcspn(p, "{");
        buf_add(out, p, n);
        p += n;
        if (!*p)
            break;
        n = strcspn(p, "}");
        add_example(out, param_of_path(p + 1, n - 1));
        p += n + 1;
    }
}

static void add_query(const struct operation *op, struct buf *out)
{
    char mark = '?';
    for (size_t i = 0; op->query && op->query[i]; i++) {
        const struct api_param *p = op->query[i];
        if (!p->example)
            continue;
        buf_addf(out, "%c%s=", mark, p->name);
        add_example(out, p);
        mark = '&';
    }
}

/* {"name": example, ...}: what must be there, or else the first rows that have an example. */
static void add_body(const struct operation *op, struct buf *out)
{
    bool first = true;
    buf_adds(out, " \\\n     -d '{");
    for (size_t i = 0; op->body[i]; i++) {
        const char *value = op->body[i]->example ? op->body[i]->example : op->body[i]->initial;
        if (!value || (!op->body[i]->example && i >= 2))
            continue;
        buf_addf(out, "%s\"%s\": %s", first ? "" : ", ", op->body[i]->name, value);
        first = false;
    }
    buf_adds(out, "}'");
}

void operation_curl(const struct route *route, const char *origin, struct buf *out)
{
    const struct operation *op = route->api;
    buf_adds(out, "curl");
    if (route->method == METHOD_PATCH || route->method == METHOD_DELETE)
        buf_addf(out, " -X %s", api_method_name(route->method));
    if (route->need != NEED_NOTHING)
        buf_adds(out, " -H \"Authorization: Bearer $TOKGRID_KEY\"");
    if (operation_has_body(op))
        buf_adds(out, " \\\n     -H \"Content-Type: application/json\"");
    if (op->flags & TAKES_RUN)
        buf_adds(out, " --data-binary @run.json");
    else if (op->body)
        add_body(op, out);
    buf_adds(out, operation_has_body(op) ? " \\\n     '" : " '");
    buf_adds(out, origin);
    add_path(route, out);
    add_query(op, out);
    buf_addc(out, '\'');
}
