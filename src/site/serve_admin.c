/* serve_admin.c - what moderators do: the queue, users, the audit log. The store writes every
 * action into its log, and refuses what would leave it without a moderator. */
#include <string.h>

#include "site/serve.h"
#include "site/site_pages.h"

enum { QUEUE_PAGE = 20 };

/* ---- the queue ------------------------------------------------------------------------------- */

static bool get_waiting(struct visit *v, struct admin_page *p)
{
    p->parts = arena_array(&v->arena, p->queue.n, sizeof *p->parts);
    for (size_t i = 0; i < p->queue.n; i++) {
        int64_t run = p->queue.v[i].run.id;
        if (!store_run_flags(v->store, run, &v->arena, &p->parts[i].flags, &v->err) ||
            !store_run_reports(v->store, run, &v->arena, &p->parts[i].reports, &v->err))
            return false;
    }
    return true;
}

static void show_queue(struct visit *v, const char *problem, int status)
{
    struct admin_page p = {0};
    struct store_page page;
    struct frame f;
    visit_page(v, &page);
    if (page.limit == 0)
        page.limit = QUEUE_PAGE;
    if (!store_queue(v->store, &page, &v->arena, &p.queue, &v->err) || !get_waiting(v, &p)) {
        visit_fail_err(v, &v->err);
        return;
    }
    v->response->status = status;
    visit_frame(v, &f);
    f.problem = problem;
    page_admin_write(&f, &p);
    frame_release(&f);
}

void serve_admin(struct visit *v)
{
    show_queue(v, NULL, 200);
}

/* What the store refuses in words of its own is shown above the queue. */
static void answer(struct visit *v, bool ok, const char *back, const char *segment)
{
    bool refused = v->err.code == ERR_FORMAT || v->err.code == ERR_DENIED;
    if (ok)
        visit_redirect(v, back, segment);
    else if (refused)
        show_queue(v, arena_strdup(&v->arena, v->err.text), v->err.code == ERR_DENIED ? 403 : 422);
    else
        visit_fail_err(v, &v->err);
}

static const char *text_or_null(const char *text)
{
    return *text ? text : NULL;
}

void serve_admin_run(struct visit *v)
{
    struct store_run run;
    bool from_run = strcmp(visit_form(v, "from"), "run") == 0;
    if (!serve_find_run(v, v->match.args[0], &run))
        return;
    bool ok = store_run_decide(v->store, run.uid, visit_form(v, "decision"),
                               text_or_null(visit_form(v, "reason")), &v->err);
    answer(v, ok, from_run ? "/runs" : "/admin", from_run ? run.uid : NULL);
}

void serve_admin_report(struct visit *v)
{
    int64_t id;
    if (!serve_id(v, v->match.args[0], &id))
        return;
    answer(v, store_report_resolve(v->store, id, visit_form(v, "resolution"), &v->err), "/admin",
           NULL);
}

/* ---- users ----------------------------------------------------------------------------------- */

static void show_users(struct visit *v, const char *problem, int status)
{
    struct admin_users_page p = {.prefix = visit_query(v, "q")};
    struct store_page page;
    struct frame f;
    visit_page(v, &page);
    if (!store_users(v->store, p.prefix, &page, &v->arena, &p.users, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    v->response->status = status;
    visit_frame(v, &f);
    f.problem = problem;
    page_admin_users_write(&f, &p);
    frame_release(&f);
}

void serve_admin_users(struct visit *v)
{
    show_users(v, NULL, 200);
}

void serve_admin_user(struct visit *v)
{
    static const struct {
        const char *name;
        bool (*set)(struct store *s, int64_t user, bool value, struct err *err);
        bool value;
    } changes[] = {
        {"disable", store_user_set_disabled, true},
        {"enable", store_user_set_disabled, false},
        {"moderator", store_user_set_admin, true},
        {"no-moderator", store_user_set_admin, false},
    };
    struct store_user user;
    size_t i = 0;
    while (i < ARRAY_LEN(changes) && strcmp(changes[i].name, visit_form(v, "change")) != 0)
        i++;
    if (i == ARRAY_LEN(changes)) {
        visit_fail(v, 400, "invalid", site_word(v->lang, SITE_ERROR_FORM), "change");
        return;
    }
    if (!store_user_by_name(v->store, v->match.args[0], &v->arena, &user, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    /* who gave his own right away cannot see the list any more */
    const char *back = user.id == v->user.id ? "/dashboard" : "/admin/users";
    if (changes[i].set(v->store, user.id, changes[i].value, &v->err))
        visit_redirect(v, back, NULL);
    else if (v->err.code == ERR_DENIED)
        show_users(v, arena_strdup(&v->arena, v->err.text), 403);
    else
        visit_fail_err(v, &v->err);
}

/* ---- the audit log --------------------------------------------------------------------------- */

void serve_admin_audit(struct visit *v)
{
    struct admin_audit_page p = {
        .filter = {.target = visit_query(v, "target"),
                   .action = visit_query(v, "action"),
                   .user = visit_query(v, "user")},
    };
    struct store_page page;
    struct frame f;
    visit_page(v, &page);
    if (!store_audit(v->store, &p.filter, &page, &v->arena, &p.log, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    visit_frame(v, &f);
    page_admin_audit_write(&f, &p);
    frame_release(&f);
}
