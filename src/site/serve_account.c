/* serve_account.c - accounts: in, up, out; the dashboard and what it does; device login. */
#include <string.h>

#include "base/text.h"
#include "base/uuid.h"
#include "site/publish.h"
#include "site/serve.h"
#include "site/site_pages.h"

#define MINUTE_MS INT64_C(60000)

/* ---- in and up ------------------------------------------------------------------------------- */

typedef void form_page_fn(struct frame *f, const char *user, const char *next);

static void show_form(struct visit *v, form_page_fn *page, const char *user, const char *problem,
                      int status)
{
    struct frame f;
    bool sent = v->request->method != METHOD_GET;
    const char *next = sent ? visit_form(v, "next") : params_get(&v->request->query, "next");
    v->response->status = status;
    v->response->cache = CACHE_NEVER;
    visit_frame(v, &f);
    f.problem = problem;
    page(&f, user, next);
    frame_release(&f);
}

void serve_sign_in(struct visit *v)
{
    if (v->signed_in)
        visit_redirect(v, "/dashboard", NULL);
    else
        show_form(v, page_sign_in_write, NULL, NULL, 200);
}

void serve_sign_up(struct visit *v)
{
    if (v->signed_in)
        visit_redirect(v, "/dashboard", NULL);
    else
        show_form(v, page_sign_up_write, NULL, NULL, 200);
}

/* A session that was there before is ended: what somebody else put into this browser is not what
 * the user goes on with. */
static void begin_session(struct visit *v, int64_t user)
{
    struct err ignored;
    const char *next = visit_form(v, "next");
    if (v->session && !store_session_end(v->store, v->session, &ignored))
        v->session = NULL;
    visit_begin_session(v, user);
    if (v->response->status != 200)
        return;
    if (*next && response_is_local_path(next))
        response_redirect(v->response, next);
    else
        visit_redirect(v, "/dashboard", NULL);
}

void serve_sign_in_form(struct visit *v)
{
    struct store_user user;
    const char *name = visit_form(v, "user"), *password = visit_form(v, "password");
    char shown[64];
    text_printable(shown, sizeof shown, name, strlen(name));
    const char *who = store_key_of(&v->arena, shown); /* one limit, however it is spelled */
    if (!visit_limit(v, "sign-in:address", NULL, 30, 10 * MINUTE_MS) ||
        !visit_limit(v, "sign-in:name", who, 10, 10 * MINUTE_MS))
        return;
    if (strlen(password) <= STORE_PASSWORD_MAX &&
        store_user_check(v->store, name, password, &v->arena, &user, &v->err)) {
        begin_session(v, user.id);
        return;
    }
    if (v->err.code != ERR_DENIED && v->err.code != ERR_NONE && v->err.code != ERR_FORMAT &&
        v->err.code != ERR_NOT_FOUND) {
        visit_fail_err(v, &v->err);
        return;
    }
    struct err ignored;
    if (!store_audit_add(v->store, "session.refuse", who, NULL, &ignored) && v->log)
        v->log(ignored.text);
    show_form(v, page_sign_in_write, name, site_word(v->lang, SITE_SIGN_IN_WRONG), 403);
}

void serve_sign_up_form(struct visit *v)
{
    struct store_user user;
    const char *name = visit_form(v, "user"), *password = visit_form(v, "password");
    if (!visit_limit(v, "sign-up:address", NULL, 20, 60 * MINUTE_MS))
        return;
    if (store_user_create(v->store, name, password, true, &v->arena, &user, &v->err)) {
        begin_session(v, user.id);
        return;
    }
    if (v->err.code == ERR_EXISTS)
        show_form(v, page_sign_up_write, name, site_word(v->lang, SITE_SIGN_UP_TAKEN), 409);
    else if (v->err.code == ERR_FORMAT || v->err.code == ERR_LIMIT)
        show_form(v, page_sign_up_write, name, site_word(v->lang, SITE_SIGN_UP_WRONG), 422);
    else
        visit_fail_err(v, &v->err);
}

void serve_sign_out(struct visit *v)
{
    if (v->session && !store_session_end(v->store, v->session, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    response_cookie(v->response, visit_session_cookie(v), "", 0, v->request->secure);
    visit_redirect(v, "/", NULL);
}

/* ---- dashboard ------------------------------------------------------------------------------- */

void serve_show_dashboard(struct visit *v, const char *new_key, const char *problem, int status)
{
    struct dashboard_page p = {.new_key = new_key,
                               .password_changed = visit_query(v, "password") != NULL};
    struct store_page page;
    struct frame f;
    visit_page(v, &page);
    if (!store_keys(v->store, v->user.id, &v->arena, &p.keys, &v->err) ||
        !store_runs_of(v->store, v->user.id, &page, &v->arena, &p.runs, &v->err) ||
        !store_setups(v->store, v->user.id, &v->arena, &p.setups, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    v->response->status = status;
    visit_frame(v, &f);
    f.problem = problem;
    page_dashboard_write(&f, &p);
    frame_release(&f);
}

void serve_dashboard(struct visit *v)
{
    serve_show_dashboard(v, NULL, NULL, 200);
}

void serve_upload(struct visit *v)
{
    const struct param *file = params_find(&v->request->form, "run");
    bool draft = *visit_form(v, "draft") != '\0';
    char uid[UUID_TEXT_MAX] = "";
    struct publication p;
    if (!file || !file->file_name || file->size == 0) {
        serve_show_dashboard(v, NULL, site_word(v->lang, SITE_UPLOAD_NONE), 400);
        return;
    }
    bool ok = publication_read(&p, file->value, file->size, &v->arena, &v->err) &&
              publication_store(v->store, &p, v->user.id, draft, uid, &v->err);
    publication_release(&p);
    if (ok || (v->err.code == ERR_EXISTS && *uid))
        visit_redirect(v, "/runs", uid);
    else if (v->err.code == ERR_FORMAT || v->err.code == ERR_LIMIT || v->err.code == ERR_EXISTS)
        serve_show_dashboard(v, NULL, arena_strdup(&v->arena, v->err.text), 422);
    else
        visit_fail_err(v, &v->err);
}

/* Who has found an open browser does not know the password; tries count as those of a sign-in do.
 * Other browsers have to sign in again. */
void serve_password(struct visit *v)
{
    const char *now = visit_form(v, "password"), *next = visit_form(v, "new_password");
    const char *who = store_key_of(&v->arena, v->user.name);
    int64_t user = v->user.id;
    struct store_user found;
    if (!visit_limit(v, "sign-in:name", who, 10, 10 * MINUTE_MS))
        return;
    if (strlen(now) > STORE_PASSWORD_MAX ||
        !store_user_check(v->store, v->user.name, now, &v->arena, &found, &v->err)) {
        if (v->err.code == ERR_NONE || v->err.code == ERR_DENIED || v->err.code == ERR_FORMAT)
            serve_show_dashboard(v, NULL, site_word(v->lang, SITE_PASSWORD_WRONG), 403);
        else
            visit_fail_err(v, &v->err);
    } else if (!store_user_set_password(v->store, user, next, &v->err)) {
        if (v->err.code == ERR_FORMAT || v->err.code == ERR_LIMIT)
            serve_show_dashboard(v, NULL, arena_strdup(&v->arena, v->err.text), 422);
        else
            visit_fail_err(v, &v->err);
    } else {
        visit_begin_session(v, user);
        if (v->response->status == 200)
            response_redirect(v->response, arena_printf(&v->arena, "/%s/dashboard?password=changed",
                                                        v->lang->code));
    }
}

void serve_key_make(struct visit *v)
{
    char key[STORE_KEY_TEXT_MAX];
    if (store_key_create(v->store, v->user.id, visit_form(v, "label"), key, &v->err))
        serve_show_dashboard(v, key, NULL, 200);
    else if (v->err.code == ERR_LIMIT || v->err.code == ERR_FORMAT)
        serve_show_dashboard(v, NULL, arena_strdup(&v->arena, v->err.text), 422);
    else
        visit_fail_err(v, &v->err);
}

void serve_key_revoke(struct visit *v)
{
    int64_t id;
    if (!serve_id(v, v->match.args[0], &id))
        return;
    if (!store_key_delete(v->store, v->user.id, id, &v->err))
        visit_fail_err(v, &v->err);
    else
        visit_redirect(v, "/dashboard", NULL);
}

/* ---- device login ---------------------------------------------------------------------------- */

static void show_device(struct visit *v, const struct device_page *p, const char *notice,
                        const char *problem, int status)
{
    struct frame f;
    v->response->status = status;
    visit_frame(v, &f);
    f.notice = notice;
    f.problem = problem;
    page_device_write(&f, p);
    frame_release(&f);
}

void serve_device(struct visit *v)
{
    const struct device_page p = {.code = params_get(&v->request->query, "code")};
    show_device(v, &p, NULL, NULL, 200);
}

/* First the code, then what it belongs to and the question, then the answer: nobody agrees to what
 * he was not shown. */
void serve_device_form(struct visit *v)
{
    struct device_page p = {.code = visit_form(v, "code")};
    struct store_device device;
    const char *answer = visit_form(v, "answer");
    const char *user = arena_printf(&v->arena, "%lld", (long long)v->user.id);
    if (!visit_limit(v, "device", user, 30, 10 * MINUTE_MS))
        return;
    bool ok = store_device_find(v->store, p.code, &v->arena, &device, &v->err);
    bool decided = ok && (strcmp(answer, "yes") == 0 || strcmp(answer, "no") == 0);
    if (decided)
        ok = store_device_decide(v->store, p.code, v->user.id, strcmp(answer, "yes") == 0, &v->err);
    if (!ok && v->err.code != ERR_NOT_FOUND && v->err.code != ERR_DENIED &&
        v->err.code != ERR_FORMAT) {
        visit_fail_err(v, &v->err);
    } else if (!ok) {
        show_device(v, &p, NULL, site_word(v->lang, SITE_DEVICE_UNKNOWN), 404);
    } else if (decided) {
        p.code = "";
        show_device(v, &p,
                    site_word(v->lang, *answer == 'y' ? SITE_DEVICE_DONE : SITE_DEVICE_REFUSED),
                    NULL, 200);
    } else {
        p.device = &device;
        show_device(v, &p, NULL, NULL, 200);
    }
}
