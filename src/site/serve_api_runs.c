/* serve_api_runs.c - the API's runs: published, listed, revised, removed. */
#include <string.h>

#include "base/num.h"
#include "site/api_call.h"
#include "site/api_objects.h"
#include "site/publish.h"
#include "site/serve.h"

/* ---- one document comes ---------------------------------------------------------------------- */

/* The run as it is kept now. */
static void answer_stored(struct visit *v, int status, const char *uid, const struct publication *p)
{
    struct api_stored stored = {.url = arena_printf(&v->arena, "/en/runs/%s", uid),
                                .flags = p ? p->flags : NULL,
                                .flag_count = p ? p->flag_count : 0};
    if (!store_run_get(v->store, uid, &v->arena, &stored.run, &v->err))
        visit_fail_err(v, &v->err);
    else
        api_answer(v, status, &api_run_stored, &stored);
}

static void publish(struct visit *v, const struct publication *p)
{
    const char *state = visit_query(v, "state");
    char uid[UUID_TEXT_MAX] = "";
    bool draft = state && strcmp(state, "draft") == 0;
    if (publication_store(v->store, p, v->user.id, draft, uid, &v->err))
        answer_stored(v, 201, uid, p);
    else if (v->err.code == ERR_EXISTS)
        api_fail_exists(v, arena_strdup(&v->arena, v->err.text), uid);
    else
        visit_fail_err(v, &v->err);
}

void serve_api_run_create(struct visit *v)
{
    const struct publication *p = v->publication;
    const struct api_checked checked = {
        .valid = true, .dry_run = true, .flags = p->flags, .flag_count = p->flag_count};
    if (api_flag(v, "dry_run"))
        api_answer(v, 200, &api_run_checked, &checked);
    else
        publish(v, p);
}

/* ---- revisions ------------------------------------------------------------------------------- */

/* A new document, a new state, or both; all of it or nothing. */
static bool revise(struct visit *v, const struct store_run *run)
{
    const struct publication *p = v->publication;
    const char *state = visit_query(v, "state"), *note = visit_query(v, "note");
    enum store_run_state to = run->state;
    if (!store_begin(v->store, &v->err))
        return false;
    bool ok = !p || publication_revise(v->store, run->uid, p, run->owner, note, &v->err);
    ok = ok && (!state || (store_run_state_from_name(state, &to) &&
                           store_run_set_state(v->store, run->uid, to, "owner", &v->err)));
    if (ok && store_commit(v->store, &v->err))
        return true;
    store_rollback(v->store);
    return false;
}

static bool check_revision(struct visit *v, const struct store_run *run)
{
    const char *state = visit_query(v, "state");
    bool has_document = v->publication != NULL;
    const char *wrong = NULL;
    if (run->owner != v->user.id) {
        visit_fail(v, 403, "forbidden", "this run is somebody else's", NULL);
        return false;
    }
    if (!has_document && !state)
        wrong = "there is neither a document nor a state: nothing would change";
    else if (has_document != (visit_query(v, "note") != NULL))
        wrong = "a note goes with a new document, and a new document with a note";
    if (wrong)
        visit_fail(v, 400, "invalid", wrong, has_document || state ? "note" : "state");
    return !wrong;
}

void serve_api_run_revise(struct visit *v)
{
    struct store_run run;
    if (!serve_find_run(v, v->match.args[0], &run) || !check_revision(v, &run))
        return;
    if (revise(v, &run))
        answer_stored(v, 200, run.uid, v->publication);
    else if (v->err.code == ERR_EXISTS)
        api_fail_exists(v, arena_strdup(&v->arena, v->err.text), NULL);
    else if (v->err.code == ERR_DENIED)
        visit_fail(v, 403, "forbidden", site_word(v->lang, SITE_ERROR_MODERATED), NULL);
    else
        visit_fail_err(v, &v->err);
}

void serve_api_revisions(struct visit *v)
{
    struct store_run run;
    struct store_revisions revisions;
    if (!serve_find_run(v, v->match.args[0], &run))
        return;
    if (!store_run_history(v->store, run.id, &v->arena, &revisions, &v->err))
        visit_fail_err(v, &v->err);
    else
        api_answer(v, 200, &api_run_revisions, &revisions);
}

/* ---- documents ------------------------------------------------------------------------------- */

static void answer_document(struct visit *v, const struct store_run *run, int revision)
{
    if (!store_run_document(v->store, run->uid, revision, &v->response->body, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    v->response->type = "application/json";
    response_header(v->response, "Content-Disposition",
                    arena_printf(&v->arena, "attachment; filename=\"%s.json\"", run->uid));
}

void serve_api_run_raw(struct visit *v)
{
    struct store_run run;
    if (serve_find_run(v, v->match.args[0], &run))
        answer_document(v, &run, 0);
}

void serve_api_revision_raw(struct visit *v)
{
    struct store_run run;
    int64_t revision;
    if (!serve_find_run(v, v->match.args[0], &run) || !serve_id(v, v->match.args[1], &revision))
        return;
    if (revision > run.revision)
        visit_fail(v, 404, "not_found", "there is no such revision", "n");
    else
        answer_document(v, &run, (int)revision);
}

/* ---- lists, one, none ------------------------------------------------------------------------ */

void serve_api_runs(struct visit *v)
{
    struct store_filter filter;
    struct store_page page;
    struct store_runs runs;
    const char *order = visit_query(v, "order");
    serve_filter(v, &filter);
    visit_page(v, &page);
    if (!store_runs(v->store, &filter,
                    order && strcmp(order, "fastest") == 0 ? STORE_RUNS_FASTEST : STORE_RUNS_NEWEST,
                    &page, false, &v->arena, &runs, &v->err))
        visit_fail_err(v, &v->err);
    else
        api_answer(v, 200, &api_runs, &runs);
}

void serve_api_run(struct visit *v)
{
    struct store_run run;
    if (serve_find_run(v, v->match.args[0], &run))
        api_answer(v, 200, &api_run, &run);
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
