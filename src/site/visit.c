/* visit.c - from a request to its handler: route, visitor, rights, forgery; and the way back. */
#include "site/visit.h"

#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/text.h"
#include "site/api_call.h"
#include "site/api_objects.h"
#include "site/client_network.h"
#include "site/publish.h"
#include "site/site_pages.h"

enum { SESSION_S = 30 * 24 * 3600, VISIT_S = 24 * 3600 };

/* ---- cookies --------------------------------------------------------------------------------- */

/* Over https the name itself makes browsers refuse a cookie that another host of the domain set. */
const char *visit_session_cookie(const struct visit *v)
{
    return v->request->secure ? "__Host-tokgrid_session" : "tokgrid_session";
}

static const char *visitor_cookie(const struct visit *v)
{
    return v->request->secure ? "__Host-tokgrid_visit" : "tokgrid_visit";
}

/* A token for forms before there is a session: from the visitor's cookie, which is made when a page
 * with a form is asked for. */
static void find_form_token(struct visit *v)
{
    char fresh[FORM_TOKEN_MAX];
    const char *cookie = params_get(&v->request->cookies, visitor_cookie(v));
    if (strlen(cookie) != 40) {
        if (v->request->method != METHOD_GET)
            return;
        form_token_secret(fresh);
        cookie = fresh;
        response_cookie(v->response, visitor_cookie(v), fresh, VISIT_S, v->request->secure);
    }
    form_token_of(cookie, v->csrf);
}

void visit_begin_session(struct visit *v, int64_t user)
{
    char token[STORE_TOKEN_MAX];
    if (!store_session_create(v->store, user, SESSION_S * INT64_C(1000), token, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    response_cookie(v->response, visit_session_cookie(v), token, SESSION_S, v->request->secure);
}

/* ---- its own address ------------------------------------------------------------------------- */

/* How many parts of the path lead to a page: a form may be sent to an address that has none, and
 * its answer is the page above it. */
static size_t page_parts(const struct visit *v)
{
    struct request page = *v->request;
    struct route_match found;
    page.method = METHOD_GET;
    for (; v->request->method != METHOD_GET && page.path_count > 1; page.path_count--) {
        routes_find(&page, &found);
        if (found.route)
            break;
    }
    return page.path_count;
}

/* Everything after the language, for the links to the same page in another one. */
static const char *own_path(struct visit *v)
{
    struct buf b;
    size_t parts = page_parts(v);
    buf_init(&b, 4 * REQUEST_MAX_TARGET);
    for (size_t i = v->match.lang ? 1 : 0; i < parts && v->match.lang; i++) {
        buf_addc(&b, '/');
        url_add_encoded(&b, v->request->path[i]);
    }
    if (b.len == 0)
        buf_addc(&b, '/');
    for (size_t i = 0; v->match.lang && i < v->request->query.count; i++) {
        buf_addc(&b, i == 0 ? '?' : '&');
        url_add_encoded(&b, v->request->query.v[i].name);
        buf_addc(&b, '=');
        url_add_encoded(&b, v->request->query.v[i].value);
    }
    const char *path = arena_strdup(&v->arena, b.p);
    buf_release(&b);
    return path;
}

/* ---- who asks -------------------------------------------------------------------------------- */

static bool find_session(struct visit *v)
{
    struct store_session session;
    const char *token = params_get(&v->request->cookies, visit_session_cookie(v));
    if (!*token || !store_session_find(v->store, token, &v->arena, &session, &v->err))
        return !*token || v->err.code == ERR_DENIED || v->err.code == ERR_NOT_FOUND;
    v->signed_in = true;
    v->session = token;
    v->user = session.user;
    snprintf(v->csrf, sizeof v->csrf, "%s", session.csrf);
    return true;
}

/* False: there is a key, and it is wrong. */
static bool find_key(struct visit *v)
{
    static const char scheme[] = "Bearer ";
    const char *header = v->request->header[HEADER_AUTHORIZATION];
    if (!header || strncasecmp(header, scheme, sizeof scheme - 1) != 0)
        return !header;
    v->signed_in =
        store_key_find(v->store, header + sizeof scheme - 1, &v->arena, &v->user, &v->err);
    return v->signed_in;
}

static bool identify(struct visit *v)
{
    bool api = v->match.route->flags & ROUTE_API;
    if (api ? find_key(v) : find_session(v)) {
        store_act_as(v->store, v->signed_in ? v->user.id : 0, v->request->address);
        return true;
    }
    if (api)
        response_header(v->response, "WWW-Authenticate", "Bearer");
    if (v->err.code == ERR_DENIED || v->err.code == ERR_NONE || v->err.code == ERR_NOT_FOUND)
        visit_fail(v, 401, "unauthorized", "the API key is not known: make one on the dashboard",
                   "Authorization");
    else
        visit_fail_err(v, &v->err);
    return false;
}

/* And back to the page afterwards; what a form would have done is not done later. */
static void to_sign_in(struct visit *v)
{
    struct buf b;
    buf_init(&b, REQUEST_MAX_TARGET);
    buf_addf(&b, "/%s/sign-in?next=", v->lang->code);
    url_add_encoded(&b, arena_printf(&v->arena, "/%s%s", v->lang->code, own_path(v)));
    if (v->request->method != METHOD_GET || b.overflow)
        visit_redirect(v, "/sign-in", NULL);
    else
        response_redirect(v->response, b.p);
    buf_release(&b);
}

static bool has_right(struct visit *v)
{
    enum route_need need = v->match.route->need;
    if (need == NEED_NOTHING || (v->signed_in && (need != NEED_ADMIN || v->user.admin)))
        return true;
    if (v->signed_in) {
        visit_fail(v, 403, "forbidden", site_word(v->lang, SITE_ERROR_MODERATORS), NULL);
    } else if (v->match.route->flags & ROUTE_API) {
        response_header(v->response, "WWW-Authenticate", "Bearer");
        visit_fail(v, 401, "unauthorized", "an API key is needed: Authorization: Bearer tgk_...",
                   "Authorization");
    } else {
        to_sign_in(v);
    }
    return false;
}

/* ---- forms ----------------------------------------------------------------------------------- */

/* What browsers say about where a form was sent from; what says nothing is left to the token. */
static bool is_same_origin(const struct request *r)
{
    const char *site = r->header[HEADER_FETCH_SITE], *origin = r->header[HEADER_ORIGIN];
    const char *host = r->header[HEADER_HOST];
    if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
        return false;
    if (!origin)
        return true;
    const char *sep = strstr(origin, "://");
    return sep && host && strcasecmp(sep + 3, host) == 0;
}

static bool read_form(struct visit *v)
{
    if (!is_same_origin(v->request)) {
        visit_fail(v, 403, "cross_site", site_word(v->lang, SITE_ERROR_CROSS_SITE), NULL);
        return false;
    }
    if (!request_parse_form(v->request, &v->err)) {
        visit_fail(v, 400, "invalid", v->err.text, NULL);
        return false;
    }
    if (!form_token_equal(visit_form(v, "csrf"), v->csrf)) {
        visit_fail(v, 403, "form_token", site_word(v->lang, SITE_ERROR_FORM_TOKEN), "csrf");
        return false;
    }
    return true;
}

/* ---- the way through ------------------------------------------------------------------------- */

static void handle(struct visit *v)
{
    const struct route *route = v->match.route;
    if (!identify(v) || !has_right(v))
        return;
    if (!v->session && (route->flags & (ROUTE_FORM | ROUTE_ASKS)) && !(route->flags & ROUTE_API))
        find_form_token(v);
    if ((route->flags & ROUTE_FORM) && (!read_form(v) || !visit_take(v, route->limit)))
        return;
    v->response->cache = v->signed_in || route->need != NEED_NOTHING ? CACHE_NEVER : CACHE_CHECK;
    if (route->api) {
        if (v->response->cache == CACHE_NEVER)
            v->response->cache = CACHE_OWN;
        api_call(v);
    } else {
        route->handle(v);
    }
    if (v->request->method != METHOD_GET)
        v->response->cache = CACHE_NEVER;
}

static bool is_api(const struct visit *v)
{
    return v->request->path_count > 0 && strcmp(v->request->path[0], "api") == 0;
}

void visit_answer(const struct site_context *context, struct request *request, int status,
                  const char *problem, struct response *response)
{
    struct visit v = {
        .assets = context->assets,
        .store = context->store,
        .log = context->log,
        .request = request,
        .response = response,
    };
    arena_init(&v.arena);
    response->cache = CACHE_NEVER;
    routes_find(request, &v.match);
    v.lang = v.match.lang;
    if (!v.lang)
        v.lang = is_api(&v) ? site_langs[0]
                            : site_lang_accepted(request->header[HEADER_ACCEPT_LANGUAGE]);
    if (!v.store) {
        visit_fail_err(&v, &(struct err){.code = ERR_CONNECT});
        arena_release(&v.arena);
        return;
    }
    /* A body that nobody would have read does not hide that there is nobody. */
    if (problem && (v.match.route || status != 413)) {
        visit_fail(&v, status, "invalid", problem, NULL);
    } else if (v.match.route) {
        handle(&v);
    } else if (*v.match.allow) {
        response_header(response, "Allow", v.match.allow);
        visit_fail(&v, 405, "method", site_word(v.lang, SITE_ERROR_METHOD), NULL);
    } else {
        visit_fail(&v, 404, "not_found", site_word(v.lang, SITE_ERROR_NOT_FOUND), NULL);
    }
    store_act_as(v.store, 0, NULL);
    json_decref(v.input);
    if (v.publication)
        publication_release(v.publication);
    arena_release(&v.arena);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* What waits for a moderator is told on every page; that it cannot be told breaks none. */
static int64_t count_waiting(struct visit *v)
{
    int64_t n = 0;
    struct err err;
    if (!store_queue_count(v->store, &n, &err) && v->log)
        v->log(err.text);
    return n;
}

void visit_frame(struct visit *v, struct frame *f)
{
    frame_init(f, v->lang, &v->response->body);
    f->assets = v->assets;
    f->path = own_path(v);
    f->query = &v->request->query;
    f->csrf = v->csrf;
    f->viewer = v->signed_in ? v->user.name : NULL;
    f->viewer_is_admin = v->signed_in && v->user.admin;
    f->waiting = f->viewer_is_admin ? count_waiting(v) : 0;
}

void visit_json(struct visit *v, int status, json_t *document)
{
    v->response->status = status;
    v->response->type = "application/json";
    buf_reset(&v->response->body);
    json_write(document, &v->response->body);
    json_decref(document);
}

void visit_fail(struct visit *v, int status, const char *code, const char *text, const char *field)
{
    v->response->cache = CACHE_NEVER;
    if (is_api(v)) {
        const struct api_failure failure = {{.code = code, .message = text, .field = field}};
        api_answer(v, status, &api_error, &failure);
        return;
    }
    struct frame f;
    v->response->status = status;
    v->response->type = "text/html; charset=utf-8";
    buf_reset(&v->response->body);
    visit_frame(v, &f);
    page_error_write(&f, status, text);
    frame_release(&f);
}

void visit_fail_err(struct visit *v, const struct err *err)
{
    static const struct {
        enum err_code code;
        int status;
        const char *name;
    } rows[] = {
        {ERR_NOT_FOUND, 404, "not_found"}, {ERR_EXISTS, 409, "exists"},
        {ERR_FORMAT, 400, "invalid"},      {ERR_LIMIT, 422, "limit"},
        {ERR_DENIED, 403, "forbidden"},    {ERR_USAGE, 400, "invalid"},
        {ERR_BUSY, 503, "busy"},           {ERR_CONNECT, 503, "unavailable"},
    };
    struct err copy = *err;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].code != copy.code)
            continue;
        if (rows[i].status == 503)
            response_header(v->response, "Retry-After", "2");
        const char *text = copy.text;
        if (rows[i].status == 503)
            text = site_word(v->lang, SITE_ERROR_BUSY);
        else if (rows[i].status == 404 && !is_api(v))
            text = site_word(v->lang, SITE_ERROR_NOT_FOUND);
        visit_fail(v, rows[i].status, rows[i].name, text, NULL);
        return;
    }
    /* What a database says about itself is for its owner, not for visitors. */
    if (v->log)
        v->log(copy.text);
    visit_fail(v, 500, "internal", site_word(v->lang, SITE_ERROR_INTERNAL), NULL);
}

void visit_redirect(struct visit *v, const char *path, const char *segment)
{
    struct buf b;
    buf_init(&b, REQUEST_MAX_TARGET);
    buf_addf(&b, "/%s%s", v->lang->code, path);
    if (segment) {
        buf_addc(&b, '/');
        path_add_name(&b, segment);
    }
    response_redirect(v->response, b.p);
    buf_release(&b);
}

/* ---- the request ----------------------------------------------------------------------------- */

const char *visit_query(const struct visit *v, const char *name)
{
    const char *value = params_get(&v->request->query, name);
    return *value ? value : NULL;
}

const char *visit_form(const struct visit *v, const char *name)
{
    return params_get(&v->request->form, name);
}

void visit_page(const struct visit *v, struct store_page *ret)
{
    int64_t limit;
    *ret = (struct store_page){.after = visit_query(v, "after")};
    if (params_int(&v->request->query, "limit", &limit) && limit >= 1 && limit <= STORE_PAGE_MAX)
        ret->limit = (int)limit;
}

const char *visit_name(struct visit *v)
{
    if (v->match.arg_count == 2)
        return arena_printf(&v->arena, "%s/%s", v->match.args[0], v->match.args[1]);
    return v->match.args[0];
}

bool visit_limit(struct visit *v, const char *what, const char *who, int limit, int64_t window_ms)
{
    struct store_rate rate;
    char text[32], network[CLIENT_NETWORK_MAX];
    client_network(v->request->address, network);
    const char *key = arena_printf(&v->arena, "%s:%s", what, who ? who : network);
    if (!store_rate_take(v->store, key, limit, window_ms, &rate, &v->err)) {
        visit_fail_err(v, &v->err);
        return false;
    }
    snprintf(text, sizeof text, "%d", rate.limit);
    response_header(v->response, "X-RateLimit-Limit", text);
    snprintf(text, sizeof text, "%d", rate.remaining);
    response_header(v->response, "X-RateLimit-Remaining", text);
    snprintf(text, sizeof text, "%lld", (long long)(rate.reset_ms / 1000));
    response_header(v->response, "X-RateLimit-Reset", text);
    if (rate.allowed)
        return true;
    snprintf(text, sizeof text, "%lld", (long long)(rate.retry_ms / 1000 + 1));
    response_header(v->response, "Retry-After", text);
    visit_fail(v, 429, "rate_limit", site_word(v->lang, SITE_ERROR_RATE), NULL);
    return false;
}

bool visit_take(struct visit *v, enum api_limit limit)
{
    const struct api_limit_row *row = &api_limits[limit];
    const char *user = arena_printf(&v->arena, "user:%lld", (long long)v->user.id);
    return limit == LIMIT_NONE ||
           visit_limit(v, row->what, row->by_address ? NULL : user, row->count, row->window_ms);
}
