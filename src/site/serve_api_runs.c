/* serve_api_runs.c - the API's runs, boards and models. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/uuid.h"
#include "report/csv.h"
#include "site/api_json.h"
#include "site/publish.h"
#include "site/serve.h"
#include "site/stamp_text.h"

#define HOUR_MS INT64_C(3600000)

/* ---- queries --------------------------------------------------------------------------------- */

#define FILTER_NAMES                                                                               \
    "model", "base", "organization", "hardware", "card", "class", "engine", "quantization",        \
        "kind", "user", "verified", "after", "limit"

/* A parameter that nobody reads is a mistake somebody should learn of. */
static bool has_only(struct visit *v, const char *const names[])
{
    for (size_t i = 0; i < v->request->query.count; i++) {
        const char *name = v->request->query.v[i].name;
        size_t k = 0;
        while (names[k] && strcmp(names[k], name) != 0)
            k++;
        if (names[k])
            continue;
        visit_fail(v, 400, "unknown_parameter",
                   arena_printf(&v->arena, "there is no parameter '%s' here", name), name);
        return false;
    }
    return true;
}

/* ---- create ---------------------------------------------------------------------------------- */

struct creation {
    struct publication p;
    bool dry_run, draft;
    int status; /* of the answer */
    json_t *answer;
};

static bool is_set(const struct visit *v, const char *name)
{
    const char *value = visit_query(v, name);
    return value && strcmp(value, "0") != 0 && strcmp(value, "false") != 0;
}

static json_t *error_json(const char *code, const char *text, const char *field, const char *id)
{
    json_t *error = json_pack("{s:s, s:s, s:s?}", "code", code, "message", text, "field", field);
    if (id && *id)
        json_object_set_new(error, "id", json_string(id));
    return json_pack("{s:o}", "error", error);
}

/* Stores it and makes the answer; false: a fault that is not the sender's. */
static bool create(struct visit *v, struct creation *c)
{
    char uid[UUID_TEXT_MAX] = "";
    if (publication_store(v->store, &c->p, v->user.id, c->draft, uid, &v->err)) {
        struct store_run run;
        if (!store_run_get(v->store, uid, &v->arena, &run, &v->err))
            return false;
        c->status = 201;
        c->answer = api_run(&run);
        json_object_set_new(c->answer, "url", json_sprintf("/en/runs/%s", uid));
        json_object_set_new(c->answer, "flags", api_flags(&c->p));
        return true;
    }
    if (v->err.code != ERR_EXISTS)
        return false;
    c->status = 409;
    c->answer = error_json("exists", v->err.text, "id", uid);
    return true;
}

static bool create_once(struct visit *v, struct creation *c, const char *key)
{
    struct store_replay replay;
    if (!store_begin(v->store, &v->err))
        return false;
    /* What must be the same for a retry: the document and how it is to be stored. */
    const char *what = arena_printf(&v->arena, "POST /api/v1/runs draft=%d\n", c->draft);
    struct buf request;
    buf_init(&request, RESULT_MAX_BYTES + 200);
    buf_adds(&request, what);
    buf_add(&request, c->p.document, c->p.bytes);
    bool ok = store_replay_claim(v->store, v->user.id, key, request.p, request.len, &v->arena,
                                 &replay, &v->err);
    buf_release(&request);
    if (ok && replay.state == REPLAY_DONE) {
        struct err ignored;
        c->status = replay.status;
        c->answer = json_parse(replay.body, strlen(replay.body), "stored answer", &ignored);
        store_rollback(v->store);
        response_header(v->response, "Idempotent-Replay", "true");
        return c->answer != NULL;
    }
    if (ok && replay.state == REPLAY_OTHER) {
        store_rollback(v->store);
        c->status = 422;
        c->answer =
            error_json("idempotency_key", "this Idempotency-Key was used for another request",
                       "Idempotency-Key", NULL);
        return true;
    }
    if (ok && create(v, c) && c->status == 201) {
        char *body = json_dumps(c->answer, JSON_COMPACT);
        ok = body && store_replay_save(v->store, v->user.id, key, c->status, body, &v->err) &&
             store_commit(v->store, &v->err);
        free(body);
        if (ok)
            return true;
        json_decref(c->answer);
        c->answer = NULL;
    }
    store_rollback(v->store);
    return c->answer != NULL;
}

static bool check_request(struct visit *v, struct creation *c)
{
    static const char *const names[] = {"dry_run", "state", NULL};
    const char *state = visit_query(v, "state");
    if (!has_only(v, names))
        return false;
    if (!request_has_type(v->request, "application/json")) {
        visit_fail(v, 415, "content_type", "the body's Content-Type must be application/json",
                   "Content-Type");
        return false;
    }
    if (state && strcmp(state, "draft") != 0 && strcmp(state, "public") != 0) {
        visit_fail(v, 400, "invalid", "state is draft or public", "state");
        return false;
    }
    c->dry_run = is_set(v, "dry_run");
    c->draft = state && strcmp(state, "draft") == 0;
    return true;
}

static bool is_key(const char *key)
{
    size_t n = strlen(key);
    for (const char *p = key; *p; p++)
        if (*p <= ' ' || *p > '~')
            return false;
    return n > 0 && n <= STORE_REPLAY_KEY_MAX;
}

void serve_api_run_create(struct visit *v)
{
    struct creation c = {0};
    const struct buf *body = &v->request->body;
    const char *key = v->request->header[HEADER_IDEMPOTENCY_KEY];
    const char *user = arena_printf(&v->arena, "%lld", (long long)v->user.id);
    if (!check_request(v, &c) || !visit_limit(v, "upload", user, 120, HOUR_MS))
        return;
    if (key && !is_key(key)) {
        visit_fail(v, 400, "invalid", "an Idempotency-Key has 1 to 128 visible ASCII characters",
                   "Idempotency-Key");
        return;
    }
    if (!publication_read(&c.p, body->p, body->len, &v->arena, &v->err)) {
        visit_fail(v, v->err.code == ERR_LIMIT ? 413 : 422, "invalid_run", v->err.text, c.p.field);
    } else if (c.dry_run) {
        visit_json(
            v, 200,
            json_pack("{s:b, s:b, s:o}", "valid", 1, "dry_run", 1, "flags", api_flags(&c.p)));
    } else if (key ? create_once(v, &c, key) : create(v, &c)) {
        if (c.status == 201)
            response_header(v->response, "Location",
                            arena_printf(&v->arena, "/api/v1/runs/%s",
                                         json_string_value(json_object_get(c.answer, "id"))));
        visit_json(v, c.status, c.answer);
    } else {
        visit_fail_err(v, &v->err);
    }
    publication_release(&c.p);
}

/* ---- runs ------------------------------------------------------------------------------------ */

void serve_api_runs(struct visit *v)
{
    static const char *const names[] = {FILTER_NAMES, "order", NULL};
    struct store_filter filter;
    struct store_page page;
    struct store_runs runs;
    const char *order = visit_query(v, "order");
    if (!has_only(v, names))
        return;
    serve_filter(v, &filter);
    visit_page(v, &page);
    if (!store_runs(v->store, &filter,
                    order && strcmp(order, "fastest") == 0 ? STORE_RUNS_FASTEST : STORE_RUNS_NEWEST,
                    &page, false, &v->arena, &runs, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    json_t *rows = json_array();
    for (size_t i = 0; i < runs.n; i++)
        json_array_append_new(rows, api_run(&runs.v[i]));
    visit_json(v, 200, api_list("runs", rows, runs.next));
}

void serve_api_run(struct visit *v)
{
    struct store_run run;
    if (serve_find_run(v, v->match.args[0], &run))
        visit_json(v, 200, api_run(&run));
}

void serve_api_run_raw(struct visit *v)
{
    struct store_run run;
    if (!serve_find_run(v, v->match.args[0], &run))
        return;
    if (!store_run_document(v->store, run.uid, 0, &v->response->body, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    v->response->type = "application/json";
    response_header(v->response, "Content-Disposition",
                    arena_printf(&v->arena, "attachment; filename=\"%s.json\"", run.uid));
}

void serve_api_run_delete(struct visit *v)
{
    struct store_run run;
    if (!serve_find_run(v, v->match.args[0], &run))
        return;
    if (run.owner != v->user.id && !v->user.admin)
        visit_fail(v, 403, "forbidden", "this run is somebody else's", NULL);
    else if (!store_run_delete(v->store, run.uid, &v->err))
        visit_fail_err(v, &v->err);
    else
        v->response->status = 204;
}

/* ---- boards ---------------------------------------------------------------------------------- */

static void add_csv_number(struct buf *out, double v)
{
    if (isfinite(v))
        buf_addf(out, "%.10g", v);
    buf_addc(out, ',');
}

static void add_csv_text(struct buf *out, const char *s)
{
    csv_text(s ? s : "", out);
    buf_addc(out, ',');
}

static void write_csv(struct visit *v, const struct store_board *board,
                      const struct store_board_rows *rows)
{
    struct buf *out = &v->response->body;
    char stamp[CLOCK_TEXT_MAX];
    v->response->type = "text/csv; charset=utf-8";
    response_header(v->response, "Content-Disposition",
                    arena_printf(&v->arena, "attachment; filename=\"%s.csv\"",
                                 store_metric_name(board->metric)));
    buf_adds(out, "metric,value,context_tokens,concurrency,total_tok_s,per_request_tok_s,ttft_ms,"
                  "model,hardware,engine,engine_version,quantization,kind,user,verified,flagged,"
                  "run,created_at\r\n");
    for (size_t i = 0; i < rows->n; i++) {
        const struct store_board_row *row = &rows->v[i];
        add_csv_text(out, store_metric_name(board->metric));
        add_csv_number(out, row->value);
        buf_addf(out, "%lld,%d,", (long long)row->cell.context_tokens, row->cell.concurrency);
        add_csv_number(out, row->cell.total_tok_s);
        add_csv_number(out, row->cell.per_request_tok_s);
        add_csv_number(out, row->cell.ttft_ms);
        add_csv_text(out, row->run.model);
        add_csv_text(out, row->run.hardware_title);
        add_csv_text(out, row->run.engine);
        add_csv_text(out, row->run.engine_version);
        add_csv_text(out, row->run.quantization);
        add_csv_text(out, row->run.kind);
        add_csv_text(out, row->run.owner_name);
        bool flagged = row->cell.flagged || row->run.state == STORE_RUN_FLAGGED;
        buf_addf(out, "%d,%d,%s,%s\r\n", row->run.verified, flagged, row->run.uid,
                 stamp_text(row->run.created_ms, stamp));
    }
}

void serve_api_board(struct visit *v)
{
    static const char *const names[] = {FILTER_NAMES, "metric", "context", "concurrency",
                                        "order",      "format", NULL};
    const char *format = visit_query(v, "format");
    struct store_board board;
    struct store_board_rows rows;
    struct store_page page;
    if (!has_only(v, names))
        return;
    if (format && strcmp(format, "json") != 0 && strcmp(format, "csv") != 0) {
        visit_fail(v, 400, "invalid", "format is json or csv", "format");
        return;
    }
    visit_page(v, &page);
    if (!serve_board_of(v, &board, &v->err) ||
        !store_board(v->store, &board, &page, &v->arena, &rows, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    if (format && strcmp(format, "csv") == 0) {
        write_csv(v, &board, &rows);
        return;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < rows.n; i++)
        json_array_append_new(list, api_board_row(&board, &rows.v[i]));
    visit_json(v, 200, api_list("rows", list, rows.next));
}

void serve_api_models(struct visit *v)
{
    static const char *const names[] = {"organization", "order", "after", "limit", NULL};
    struct store_models models;
    struct store_page page;
    if (!has_only(v, names))
        return;
    visit_page(v, &page);
    if (!store_bases(v->store, visit_query(v, "organization"), serve_group_order(v), &page,
                     &v->arena, &models, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    json_t *rows = json_array();
    for (size_t i = 0; i < models.n; i++)
        json_array_append_new(rows, api_model(&models.v[i]));
    visit_json(v, 200, api_list("models", rows, models.next));
}
