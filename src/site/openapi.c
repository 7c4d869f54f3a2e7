/* openapi.c - walks the routes of the API. */
#include "site/openapi.h"

#include <string.h>

#include "base/text.h"
#include "base/version.h"
#include "report/assets.h"
#include "site/api_operations.h"

extern const struct asset run_schema; /* built from schema/tokgrid-run-1.schema.json */

static const char *english(enum site_word w)
{
    return site_word(site_langs[0], w);
}

/* ---- schemas --------------------------------------------------------------------------------- */

/* "#/$defs/cell" is told among the components as "RunDocument.cell". As deep as our own schema. */
static void move_refs(json_t *node) /* NOLINT(misc-no-recursion) */
{
    static const char from[] = "#/$defs/";
    const char *name, *ref = json_string_value(json_object_get(node, "$ref"));
    json_t *child;
    size_t i;
    if (ref && text_starts(ref, from))
        json_object_set_new(node, "$ref",
                            json_sprintf("#/components/schemas/%s.%s", api_run_document.name,
                                         ref + sizeof from - 1));
    json_object_foreach(node, name, child) move_refs(child);
    json_array_foreach(node, i, child) move_refs(child);
}

static void add_run_schema(json_t *schemas)
{
    json_t *root = json_loads(run_schema.text, 0, NULL);
    json_t *defs = json_object_get(root, "$defs"), *schema;
    const char *name;
    move_refs(root);
    json_object_foreach(defs, name, schema)
    {
        json_t *key = json_sprintf("%s.%s", api_run_document.name, name);
        json_object_set(schemas, json_string_value(key), schema);
        json_decref(key);
    }
    json_object_del(root, "$defs");
    json_object_del(root, "$schema");
    json_object_del(root, "$id");
    json_object_set_new(schemas, api_run_document.name, root);
}

static void add_schema(void *schemas, const struct api_object *o)
{
    if (json_object_get(schemas, o->name))
        return;
    if (o->is == API_RUN) {
        add_run_schema(schemas);
        return;
    }
    json_object_set_new(schemas, o->name, api_schema(o));
    api_schema_walk(o, add_schema, schemas);
}

/* ---- requests -------------------------------------------------------------------------------- */

static json_t *parameter(const struct api_param *p, const char *in)
{
    json_t *schema = param_schema(p, false);
    json_t *row = json_pack("{s:s, s:s, s:b, s:s, s:o}", "name", p->name, "in", in, "required",
                            p->required, "description", p->help, "schema", schema);
    if (p->kind == PARAM_WORDS)
        json_object_set_new(row, "explode", json_false());
    if (p->example)
        json_object_set_new(row, "example", json_loads(p->example, JSON_DECODE_ANY, NULL));
    return row;
}

static json_t *header_parameter(const char *name, const char *help, int max)
{
    return json_pack("{s:s, s:s, s:b, s:s, s:{s:s, s:i, s:i}}", "name", name, "in", "header",
                     "required", 0, "description", help, "schema", "type", "string", "minLength", 1,
                     "maxLength", max);
}

static json_t *parameters(const struct route *route)
{
    const struct operation *op = route->api;
    const struct api_param *path[ROUTE_MAX_ARGS];
    size_t n = operation_path_params(route, path);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, parameter(path[i], "path"));
    for (size_t i = 0; op->query && op->query[i]; i++)
        json_array_append_new(list, parameter(op->query[i], "query"));
    if (op->flags & TAKES_ONCE)
        json_array_append_new(
            list, header_parameter("Idempotency-Key",
                                   "Of one's own making. A request that is sent again with it "
                                   "within a day takes effect once and gets the first answer.",
                                   STORE_REPLAY_KEY_MAX));
    if (route->method == METHOD_GET)
        json_array_append_new(list, header_parameter("If-None-Match",
                                                     "The ETag of an answer that one has: 304 "
                                                     "when it is still right.",
                                                     1000));
    return list;
}

static json_t *body_schema(const struct operation *op)
{
    json_t *properties = json_object(), *required = json_array();
    if (op->flags & TAKES_RUN) {
        json_decref(properties);
        json_decref(required);
        return api_schema_ref(&api_run_document);
    }
    for (size_t i = 0; op->body[i]; i++) {
        json_object_set_new(properties, op->body[i]->name, param_schema(op->body[i], true));
        if (op->body[i]->required)
            json_array_append_new(required, json_string(op->body[i]->name));
    }
    return json_pack("{s:s, s:b, s:o, s:o}", "type", "object", "additionalProperties", 0,
                     "required", required, "properties", properties);
}

static json_t *request_body(const struct operation *op)
{
    return json_pack("{s:b, s:{s:{s:o}}}", "required", !(op->flags & TAKES_LESS), "content",
                     "application/json", "schema", body_schema(op));
}

/* ---- answers --------------------------------------------------------------------------------- */

static const struct {
    const char *name, *type, *help;
} headers[] = {
    {"ETag", "string", "Of this answer, for If-None-Match."},
    {"X-RateLimit-Limit", "integer", "How many the bucket holds."},
    {"X-RateLimit-Remaining", "integer", "How many are left."},
    {"X-RateLimit-Reset", "integer", "Unix time in seconds when it is full again."},
    {"Retry-After", "integer", "Seconds to wait."},
    {"Idempotent-Replay", "string", "true: the answer to an earlier request with the same key."},
    {"Location", "string", "What was made."},
    {"WWW-Authenticate", "string", "Bearer"},
};

static void refer(json_t *to, const char *header)
{
    json_object_set_new(
        to, header, json_pack("{s:o}", "$ref", json_sprintf("#/components/headers/%s", header)));
}

static json_t *answer_headers(const struct route *route, int status)
{
    const struct operation *op = route->api;
    json_t *all = json_object();
    if (route->method == METHOD_GET && (status == 200 || status == 304))
        refer(all, "ETag");
    if (op->limit != LIMIT_NONE && (status < 300 || status == 429)) {
        refer(all, "X-RateLimit-Limit");
        refer(all, "X-RateLimit-Remaining");
        refer(all, "X-RateLimit-Reset");
    }
    if (status == 429)
        refer(all, "Retry-After");
    if ((status == 200 || status == 201) && (op->flags & TAKES_ONCE))
        refer(all, "Idempotent-Replay");
    if (status == 201 && (op->flags & TAKES_RUN))
        refer(all, "Location");
    if (status == 401)
        refer(all, "WWW-Authenticate");
    return all;
}

static json_t *answer(const struct route *route, int status, const struct api_object *object,
                      const char *help)
{
    json_t *row = json_pack("{s:s}", "description", help), *all = answer_headers(route, status);
    if (json_object_size(all) > 0)
        json_object_set(row, "headers", all);
    json_decref(all);
    if (object)
        json_object_set_new(
            row, "content",
            json_pack("{s:{s:o}}", "application/json", "schema", api_schema_ref(object)));
    if (object && object != &api_error && (route->api->flags & GIVES_CSV))
        json_object_set_new(json_object_get(row, "content"), "text/csv",
                            json_pack("{s:{s:s}}", "schema", "type", "string"));
    return row;
}

static void set_answer(json_t *to, int status, json_t *row)
{
    json_t *name = json_sprintf("%d", status);
    json_object_set_new(to, json_string_value(name), row);
    json_decref(name);
}

static json_t *answers(const struct route *route, json_t *schemas)
{
    static const struct {
        int status;
        const char *help;
    } successes[] = {{200, "Here it is."}, {201, "It was made."}, {204, "It was done."}};
    const struct operation *op = route->api;
    struct api_refusal refusals[OPERATION_REFUSALS];
    size_t n = operation_refusals(route, refusals);
    json_t *all = json_object();
    for (size_t i = 0; i < OPERATION_ANSWERS && op->answers[i].status; i++) {
        const struct api_object *object = op->answers[i].object;
        for (size_t k = 0; k < ARRAY_LEN(successes); k++)
            if (successes[k].status == op->answers[i].status)
                set_answer(all, op->answers[i].status,
                           answer(route, op->answers[i].status, object, successes[k].help));
        if (object)
            add_schema(schemas, object);
    }
    if (route->method == METHOD_GET)
        set_answer(all, 304, answer(route, 304, NULL, "What If-None-Match names is still right."));
    for (size_t i = 0; i < n; i++)
        set_answer(all, refusals[i].status,
                   answer(route, refusals[i].status, &api_error, refusals[i].help));
    json_object_set_new(
        all, "default",
        answer(route, 0, &api_error, "Something broke (500), or is busy (503): try again."));
    return all;
}

/* ---- the document ---------------------------------------------------------------------------- */

static json_t *operation(const struct route *route, json_t *schemas)
{
    const struct operation *op = route->api;
    json_t *row =
        json_pack("{s:s, s:s, s:[s], s:o}", "operationId", op->id, "summary", english(op->summary),
                  "tags", api_tags[op->tag].name, "parameters", parameters(route));
    if (operation_has_body(op))
        json_object_set_new(row, "requestBody", request_body(op));
    if (op->flags & TAKES_RUN)
        add_schema(schemas, &api_run_document);
    json_object_set_new(row, "responses", answers(route, schemas));
    json_object_set_new(row, "security",
                        route->need == NEED_NOTHING ? json_pack("[{}, {s:[]}]", "key")
                                                    : json_pack("[{s:[]}]", "key"));
    return row;
}

static void add_operation(json_t *paths, const struct route *route, json_t *schemas)
{
    static const char *const verbs[] = {
        [METHOD_GET] = "get",       [METHOD_POST] = "post",   [METHOD_PATCH] = "patch",
        [METHOD_DELETE] = "delete", [METHOD_OTHER] = "trace",
    };
    const char *path = route->path + strlen(API_ROOT);
    json_t *item = json_object_get(paths, path);
    if (!item) {
        item = json_object();
        json_object_set_new(paths, path, item);
    }
    json_object_set_new(item, verbs[route->method], operation(route, schemas));
}

static json_t *components(json_t *schemas)
{
    json_t *all = json_object();
    for (size_t i = 0; i < ARRAY_LEN(headers); i++)
        json_object_set_new(all, headers[i].name,
                            json_pack("{s:s, s:{s:s}}", "description", headers[i].help, "schema",
                                      "type", headers[i].type));
    return json_pack("{s:o, s:o, s:{s:{s:s, s:s, s:s}}}", "schemas", schemas, "headers", all,
                     "securitySchemes", "key", "type", "http", "scheme", "bearer", "description",
                     "A key, tgk_...: made on the dashboard, or by the device login.");
}

static json_t *tags(void)
{
    json_t *list = json_array();
    for (size_t i = 0; i < TAG_COUNT; i++)
        json_array_append_new(list, json_pack("{s:s, s:s}", "name", api_tags[i].name, "description",
                                              english(api_tags[i].title)));
    return list;
}

json_t *openapi_document(void)
{
    json_t *schemas = json_object(), *paths = json_object();
    add_schema(schemas, &api_error);
    for (size_t i = 0; i < route_count; i++)
        if (routes[i].api)
            add_operation(paths, &routes[i], schemas);
    json_t *about = json_sprintf("%s %s", english(SITE_API_LEAD), english(SITE_API_LENGTHS));
    json_t *info =
        json_pack("{s:s, s:s, s:o, s:{s:s, s:s}}", "title", "tokgrid", "version", TOKGRID_VERSION,
                  "description", about, "license", "name", "MIT", "identifier", "MIT");
    return json_pack("{s:s, s:o, s:[{s:s}], s:o, s:o, s:o}", "openapi", "3.1.0", "info", info,
                     "servers", "url", API_ROOT, "tags", tags(), "paths", paths, "components",
                     components(schemas));
}
