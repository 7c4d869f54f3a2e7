/* serve_api_tools.c - search, the calculator, and what the API says about itself. */
#include "model/calculator.h"
#include "site/api_agent.h"
#include "site/api_call.h"
#include "site/api_operations.h"
#include "site/openapi.h"
#include "site/serve.h"
#include "site/site_pages.h"

enum { FOUND_EACH = 12 };

/* ---- search ---------------------------------------------------------------------------------- */

/* Where more is told; names have no more than one slash. */
static const char *found_url(struct visit *v, const struct store_found *found)
{
    static const char *const places[] = {
        [STORE_FOUND_MODEL] = "models",      [STORE_FOUND_ORGANIZATION] = "organizations",
        [STORE_FOUND_HARDWARE] = "hardware", [STORE_FOUND_USER] = "users",
        [STORE_FOUND_RUN] = "runs",
    };
    struct buf b;
    buf_init(&b, REQUEST_MAX_TARGET);
    buf_addf(&b, API_ROOT "/%s/", places[found->kind]);
    path_add_name(&b, found->key);
    const char *url = arena_strdup(&v->arena, b.p);
    buf_release(&b);
    return url;
}

void serve_api_search(struct visit *v)
{
    struct store_founds found;
    int64_t limit = FOUND_EACH;
    struct api_founds rows;
    if (visit_query(v, "limit") && !params_int(&v->request->query, "limit", &limit))
        limit = FOUND_EACH;
    if (!store_search(v->store, visit_query(v, "q"), (int)limit, &v->arena, &found, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    rows = (struct api_founds){.v = arena_array(&v->arena, found.n, sizeof *rows.v), .n = found.n};
    for (size_t i = 0; i < found.n; i++)
        rows.v[i] = (struct api_found){.kind = (int)found.v[i].kind,
                                       .key = found.v[i].key,
                                       .title = found.v[i].title,
                                       .url = found_url(v, &found.v[i])};
    api_answer(v, 200, &api_found_rows, &rows);
}

/* ---- the calculator -------------------------------------------------------------------------- */

void serve_api_calculator(struct visit *v)
{
    struct calculator c;
    struct calculator_answer answer;
    const char *corrections = api_value(v, "corrections");
    calculator_init(&c);
    bool ok = !corrections || calculator_parse_corrections(corrections, &c.corrections, &v->err);
    for (size_t i = 0; ok && i < calculator_field_count; i++) {
        const char *name = params_calculator[i]->name;
        const char *value = api_value(v, name);
        ok = !value || calculator_set(&c, name, value, &v->err);
    }
    if (!ok || !calculator_check(&c, &v->err)) {
        visit_fail(v, 400, "invalid", v->err.text, NULL);
        return;
    }
    calculator_solve(&c, &answer);
    v->response->type = "application/json";
    calculator_write_json(&c, &answer, &v->response->body);
}

/* ---- about the API --------------------------------------------------------------------------- */

void serve_api_openapi(struct visit *v)
{
    visit_json(v, 200, openapi_document());
}

void serve_api_agent(struct visit *v)
{
    struct agent_facts facts = {.origin = serve_origin(v)};
    const struct store_page page = {.limit = STORE_PAGE_MAX};
    if (!store_hardwares(v->store, NULL, NULL, STORE_BY_RUNS, &page, &v->arena, &facts.hardware,
                         &v->err) ||
        !store_engines(v->store, &v->arena, &facts.engines, &v->err) ||
        !store_quantizations(v->store, &v->arena, &facts.quantizations, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    visit_json(v, 200, agent_document(&facts, &v->arena));
}

void serve_api_page(struct visit *v)
{
    struct frame f;
    visit_frame(v, &f);
    page_api_write(&f, serve_origin(v));
    frame_release(&f);
}
