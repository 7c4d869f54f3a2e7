/* serve_run.c - one run, several side by side, and the calculator. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/uuid.h"
#include "model/gpu_bandwidth.h"
#include "report/svg.h"
#include "site/serve.h"
#include "site/site_pages.h"

enum { CHOICES = 40 };

bool serve_id(struct visit *v, const char *text, int64_t *ret)
{
    if (num_parse_i64(text, ret) && *ret > 0)
        return true;
    visit_fail(v, 404, "not_found", site_word(v->lang, SITE_ERROR_NOT_FOUND), NULL);
    return false;
}

bool serve_find_run(struct visit *v, const char *uid, struct store_run *ret)
{
    if (!uuid_valid(uid)) {
        visit_fail(v, 404, "not_found", site_word(v->lang, SITE_ERROR_NOT_FOUND), NULL);
        return false;
    }
    if (!store_run_get(v->store, uid, &v->arena, ret, &v->err)) {
        visit_fail_err(v, &v->err);
        return false;
    }
    if (store_run_visible(ret, v->signed_in ? &v->user : NULL))
        return true;
    if (ret->state == STORE_RUN_WITHDRAWN)
        visit_fail(v, 410, "withdrawn", site_word(v->lang, SITE_ERROR_WITHDRAWN), NULL);
    else
        visit_fail(v, 404, "not_found", site_word(v->lang, SITE_ERROR_NOT_FOUND), NULL);
    return false;
}

enum { HEAVY_FROM = 1 << 20 }; /* bytes of a document */

/* Its document as a result; *ret is to be released. */
static bool load_result(struct visit *v, const char *uid, struct result *ret)
{
    struct buf document;
    buf_init(&document, RESULT_MAX_BYTES);
    bool ok = store_run_document(v->store, uid, 0, &document, &v->err) &&
              result_read_json(document.p, document.len, uid, ret, &v->err);
    v->response->heavy = document.len >= HEAVY_FROM;
    buf_release(&document);
    if (!ok)
        visit_fail_err(v, &v->err);
    return ok;
}

/* ---- a run ----------------------------------------------------------------------------------- */

/* The calculator with what a run's document tells about its machine. */
static const char *bound_query(struct visit *v, const struct store_run *run, const struct result *r)
{
    if (r->hardware.gpu_count == 0)
        return NULL;
    double bandwidth = gpu_bandwidth(&r->hardware.gpus[0]);
    if (isnan(bandwidth))
        return arena_printf(&v->arena, "run=%s", run->uid);
    return arena_printf(&v->arena, "memory-gb=%.4g&bandwidth-gb-s=%.4g&devices=%d&run=%s",
                        (double)r->hardware.gpus[0].vram_bytes / 1e9, bandwidth / 1e9,
                        r->hardware.gpu_count, run->uid);
}

/* The card of a run, as other sites embed it. */
void serve_run_card(struct visit *v)
{
    static const char end[] = ".svg";
    const char *name = v->match.args[0];
    struct store_run run;
    struct result result;
    char *uid = arena_strndup(&v->arena, name, strlen(name) - (sizeof end - 1));
    if (!serve_find_run(v, uid, &run) || !load_result(v, uid, &result))
        return;
    const char *warning =
        run.state == STORE_RUN_FLAGGED ? site_word(v->lang, SITE_SHARE_FLAGGED) : NULL;
    v->response->type = "image/svg+xml";
    if (!svg_write_card(&result, site_report_lang(v->lang), warning, &v->response->body))
        visit_fail(v, 500, "internal", site_word(v->lang, SITE_ERROR_INTERNAL), NULL);
    result_release(&result);
}

void serve_run(struct visit *v)
{
    struct run_page p = {0};
    struct result result;
    struct frame f;
    if (!serve_find_run(v, v->match.args[0], &p.run))
        return;
    if (!store_run_flags(v->store, p.run.id, &v->arena, &p.flags, &v->err) ||
        !store_run_history(v->store, p.run.id, &v->arena, &p.history, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    if (!load_result(v, p.run.uid, &result))
        return;
    p.result = &result;
    p.own = v->signed_in && v->user.id == p.run.owner;
    p.bound_query = bound_query(v, &p.run, &result);
    p.origin = serve_origin(v);
    p.reported = v->signed_in && visit_query(v, "reported");
    visit_frame(v, &f);
    page_run_write(&f, &p);
    frame_release(&f);
    result_release(&result);
}

/* Its owner publishes or withdraws it. */
void serve_run_state(struct visit *v)
{
    struct store_run run;
    enum store_run_state state;
    if (!serve_find_run(v, v->match.args[0], &run))
        return;
    if (run.owner != v->user.id) {
        visit_fail(v, 403, "forbidden", site_word(v->lang, SITE_ERROR_NOT_YOURS), NULL);
        return;
    }
    if (!store_run_state_from_name(visit_form(v, "state"), &state) ||
        (state != STORE_RUN_PUBLIC && state != STORE_RUN_WITHDRAWN)) {
        visit_fail(v, 400, "invalid", site_word(v->lang, SITE_ERROR_FORM), "state");
        return;
    }
    if (store_run_set_state(v->store, run.uid, state, "owner", &v->err))
        visit_redirect(v, "/runs", run.uid);
    else if (v->err.code == ERR_DENIED)
        visit_fail(v, 403, "forbidden", site_word(v->lang, SITE_ERROR_MODERATED), NULL);
    else
        visit_fail_err(v, &v->err);
}

/* ---- several --------------------------------------------------------------------------------- */

static bool get_choices(struct visit *v, struct store_runs *ret)
{
    const struct store_filter all = {0};
    const struct store_page page = {.limit = CHOICES};
    return store_runs(v->store, &all, STORE_RUNS_NEWEST, &page, false, &v->arena, ret, &v->err);
}

static bool add_run(struct visit *v, struct compare_page *p, const char *uid)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->runs[i].uid, uid) == 0)
            return true;
    if (p->count == COMPARE_MAX) {
        visit_fail(v, 400, "invalid", site_word(v->lang, SITE_COMPARE_MANY), "run");
        return false;
    }
    if (!serve_find_run(v, uid, &p->runs[p->count]) || !load_result(v, uid, &p->results[p->count]))
        return false;
    p->count++;
    return true;
}

void serve_compare(struct visit *v)
{
    struct compare_page *p = mem_alloc(sizeof *p);
    const char *view = visit_query(v, "view");
    struct frame f;
    bool ok = true;
    p->view = view ? view : "";
    for (size_t i = 0; ok && i < v->request->query.count; i++) {
        const struct param *param = &v->request->query.v[i];
        if (strcmp(param->name, "run") == 0 && *param->value)
            ok = add_run(v, p, param->value);
    }
    if (ok && !get_choices(v, &p->choices)) {
        visit_fail_err(v, &v->err);
        ok = false;
    }
    if (ok) {
        visit_frame(v, &f);
        page_compare_write(&f, p);
        frame_release(&f);
    }
    for (size_t i = 0; i < p->count; i++)
        result_release(&p->results[i]);
    free(p);
}

/* ---- the calculator -------------------------------------------------------------------------- */

/* A form sends one for each switch that is on, and "none" in any case; an address without any means
 * all. */
static bool read_corrections(const struct visit *v, int *bits, struct err *err)
{
    int sum = 0;
    bool there = false;
    for (size_t i = 0; i < v->request->query.count; i++) {
        const struct param *param = &v->request->query.v[i];
        int some;
        if (strcmp(param->name, "corrections") != 0 || !*param->value)
            continue;
        if (!calculator_parse_corrections(param->value, &some, err))
            return false;
        there = true;
        sum |= some;
    }
    if (there)
        *bits = sum;
    return true;
}

/* The query over the defaults: what is not there keeps its default. */
static bool read_inputs(const struct visit *v, struct calculator *c, struct err *err)
{
    calculator_init(c);
    for (size_t i = 0; i < calculator_field_count; i++) {
        const char *value = visit_query(v, calculator_fields[i].name);
        if (value && !calculator_set(c, calculator_fields[i].name, value, err))
            return false;
    }
    return read_corrections(v, &c->corrections, err) && calculator_check(c, err);
}

static void solve(struct predict_page *p)
{
    calculator_solve(&p->calculator, &p->answer);
    calculator_solve_plain(&p->calculator, &p->plain);
}

void serve_calculator(struct visit *v)
{
    struct predict_page p = {0};
    struct store_run run;
    struct result measured;
    struct frame f;
    const char *uid = visit_query(v, "run");
    if (read_inputs(v, &p.calculator, &v->err))
        solve(&p);
    else
        p.problem = arena_strdup(&v->arena, v->err.text);
    if (!get_choices(v, &p.choices)) {
        visit_fail_err(v, &v->err);
        return;
    }
    if (uid) {
        if (!serve_find_run(v, uid, &run) || !load_result(v, uid, &measured))
            return;
        p.measured = &measured;
        p.measured_uid = run.uid;
    }
    visit_frame(v, &f);
    page_predict_write(&f, &p);
    frame_release(&f);
    if (uid)
        result_release(&measured);
}
