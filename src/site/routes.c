/* routes.c - the table, and the walk over it. */
#include "site/routes.h"

#include <stdio.h>
#include <string.h>

#include "site/api_operations.h"
#include "site/serve.h"

#define GET    .method = METHOD_GET
#define POST   .method = METHOD_POST, .flags = ROUTE_FORM
#define WRITE  POST, .limit = LIMIT_WRITE, .need = NEED_USER
#define ALIKE  .method = METHOD_GET, .flags = ROUTE_ALIKE
#define API    .flags = ROUTE_API
#define LIST   .method = METHOD_GET, .flags = ROUTE_API | ROUTE_ALIKE
#define UPLOAD .method = METHOD_POST, .flags = ROUTE_FORM | ROUTE_UPLOAD

/* Of the API; what takes a key of one's own is for its user alone. */
#define OWN     .flags = ROUTE_API, .need = NEED_KEY
#define UPLOADS .flags = ROUTE_API | ROUTE_UPLOAD, .need = NEED_KEY
#define DELETES .method = METHOD_DELETE, .flags = ROUTE_API, .need = NEED_KEY

const struct route routes[] = {
    /* files and addresses without a language */
    {GET, .path = "/", .handle = serve_root},
    {GET, .path = "/assets/{file}", .handle = serve_asset},
    {GET, .path = "/robots.txt", .handle = serve_robots},
    {ALIKE, .path = "/runs/{uid}.svg", .handle = serve_run_card},

    /* pages that everybody sees */
    {ALIKE, .path = "/{lang}", .handle = serve_home, .title = SITE_HOME_TITLE},
    {GET, .path = "/{lang}/get-started", .handle = serve_start, .title = SITE_START_TITLE},
    {ALIKE, .path = "/{lang}/leaderboard", .handle = serve_board, .title = SITE_BOARD_TITLE},
    {ALIKE, .path = "/{lang}/runs", .handle = serve_runs, .title = SITE_RUNS_TITLE},
    {ALIKE, .path = "/{lang}/runs/{uid}.svg", .handle = serve_run_card},
    {ALIKE, .path = "/{lang}/runs/{uid}", .handle = serve_run},
    {ALIKE, .path = "/{lang}/compare", .handle = serve_compare, .title = SITE_COMPARE_TITLE},
    {ALIKE, .path = "/{lang}/models", .handle = serve_models, .title = SITE_MODELS_TITLE},
    {ALIKE, .path = "/{lang}/models/{name}", .handle = serve_model},
    {ALIKE, .path = "/{lang}/models/{organization}/{name}", .handle = serve_model},
    {ALIKE, .path = "/{lang}/organizations", .handle = serve_organizations,
     .title = SITE_ORGANIZATIONS_TITLE},
    {ALIKE, .path = "/{lang}/organizations/{name}", .handle = serve_organization},
    {ALIKE, .path = "/{lang}/hardware", .handle = serve_hardwares, .title = SITE_HARDWARE_TITLE},
    {ALIKE, .path = "/{lang}/hardware/{slug}", .handle = serve_hardware},
    {ALIKE, .path = "/{lang}/users/{name}", .handle = serve_user},
    {ALIKE, .path = "/{lang}/calculator", .handle = serve_calculator, .title = SITE_CALC_TITLE},
    {GET, .path = "/{lang}/api", .handle = serve_api_page, .title = SITE_API_TITLE},
    {ALIKE, .path = "/{lang}/search", .handle = serve_search, .title = SITE_SEARCH_TITLE},

    /* accounts */
    {GET, .flags = ROUTE_ASKS, .path = "/{lang}/sign-in", .handle = serve_sign_in,
     .title = SITE_SIGN_IN_TITLE},
    {POST, .path = "/{lang}/sign-in", .handle = serve_sign_in_form},
    {GET, .flags = ROUTE_ASKS, .path = "/{lang}/sign-up", .handle = serve_sign_up,
     .title = SITE_SIGN_UP_TITLE},
    {POST, .path = "/{lang}/sign-up", .handle = serve_sign_up_form},
    {POST, .path = "/{lang}/sign-out", .handle = serve_sign_out, .need = NEED_USER},
    {GET, .path = "/{lang}/dashboard", .handle = serve_dashboard, .need = NEED_USER,
     .title = SITE_DASHBOARD_TITLE},
    {UPLOAD, .path = "/{lang}/dashboard/upload", .handle = serve_upload, .need = NEED_USER,
     .limit = LIMIT_UPLOAD},
    {WRITE, .path = "/{lang}/dashboard/keys", .handle = serve_key_make},
    {WRITE, .path = "/{lang}/dashboard/keys/{id}", .handle = serve_key_revoke},
    {WRITE, .path = "/{lang}/dashboard/password", .handle = serve_password},
    {WRITE, .path = "/{lang}/dashboard/setups", .handle = serve_setup_save},
    {WRITE, .path = "/{lang}/dashboard/setups/{id}", .handle = serve_setup_change},
    {WRITE, .path = "/{lang}/runs/{uid}", .handle = serve_run_state},
    {WRITE, .path = "/{lang}/runs/{uid}/setup", .handle = serve_run_setup},
    {POST, .path = "/{lang}/runs/{uid}/report", .handle = serve_report_form, .need = NEED_USER,
     .limit = LIMIT_REPORT},
    {GET, .path = "/{lang}/device", .handle = serve_device, .need = NEED_USER,
     .title = SITE_DEVICE_TITLE},
    {POST, .path = "/{lang}/device", .handle = serve_device_form, .need = NEED_USER},

    /* moderation */
    {GET, .path = "/{lang}/admin", .handle = serve_admin, .need = NEED_ADMIN,
     .title = SITE_ADMIN_TITLE},
    {POST, .path = "/{lang}/admin/runs/{uid}", .handle = serve_admin_run, .need = NEED_ADMIN},
    {POST, .path = "/{lang}/admin/reports/{id}", .handle = serve_admin_report, .need = NEED_ADMIN},
    {GET, .path = "/{lang}/admin/users", .handle = serve_admin_users, .need = NEED_ADMIN,
     .title = SITE_ADMIN_USERS},
    {POST, .path = "/{lang}/admin/users/{name}", .handle = serve_admin_user, .need = NEED_ADMIN},
    {GET, .path = "/{lang}/admin/audit", .handle = serve_admin_audit, .need = NEED_ADMIN,
     .title = SITE_ADMIN_AUDIT},

    /* the API */
    {UPLOADS, .method = METHOD_POST, .path = "/api/v1/runs", .handle = serve_api_run_create,
     .api = &operation_run_create},
    {LIST, .path = "/api/v1/runs", .handle = serve_api_runs, .api = &operation_runs},
    {LIST, .path = "/api/v1/runs/{uid}", .handle = serve_api_run, .api = &operation_run},
    {UPLOADS, .method = METHOD_PATCH, .path = "/api/v1/runs/{uid}", .handle = serve_api_run_revise,
     .api = &operation_run_revise},
    {DELETES, .path = "/api/v1/runs/{uid}", .handle = serve_api_run_delete,
     .api = &operation_run_delete},
    {LIST, .path = "/api/v1/runs/{uid}/raw", .handle = serve_api_run_raw,
     .api = &operation_run_raw},
    {LIST, .path = "/api/v1/runs/{uid}/revisions", .handle = serve_api_revisions,
     .api = &operation_revisions},
    {LIST, .path = "/api/v1/runs/{uid}/revisions/{n}", .handle = serve_api_revision_raw,
     .api = &operation_revision_raw},
    {OWN, .method = METHOD_POST, .path = "/api/v1/runs/{uid}/reports", .handle = serve_api_report,
     .api = &operation_report_add},
    {LIST, .path = "/api/v1/leaderboard", .handle = serve_api_board, .api = &operation_board},
    {LIST, .path = "/api/v1/models", .handle = serve_api_models, .api = &operation_models},
    {LIST, .path = "/api/v1/models/{organization}/{name}", .handle = serve_api_model,
     .api = &operation_model},
    {LIST, .path = "/api/v1/models/{name}", .handle = serve_api_model,
     .api = &operation_model_alone},
    {LIST, .path = "/api/v1/organizations", .handle = serve_api_organizations,
     .api = &operation_organizations},
    {LIST, .path = "/api/v1/organizations/{name}", .handle = serve_api_organization,
     .api = &operation_organization},
    {LIST, .path = "/api/v1/hardware", .handle = serve_api_hardwares, .api = &operation_hardwares},
    {LIST, .path = "/api/v1/hardware/{slug}", .handle = serve_api_hardware,
     .api = &operation_hardware},
    {LIST, .path = "/api/v1/users/{name}", .handle = serve_api_user_by_name,
     .api = &operation_user_by_name},
    {LIST, .path = "/api/v1/search", .handle = serve_api_search, .api = &operation_search},
    {LIST, .path = "/api/v1/calculator", .handle = serve_api_calculator,
     .api = &operation_calculate},
    {API, .method = METHOD_POST, .path = "/api/v1/calculator", .handle = serve_api_calculator,
     .api = &operation_calculate_body},
    {LIST, .path = "/api/v1/openapi.json", .handle = serve_api_openapi, .api = &operation_openapi},
    {API, .path = "/api/v1/agent", .handle = serve_api_agent, .api = &operation_agent},
    {OWN, .path = "/api/v1/user", .handle = serve_api_user, .api = &operation_user},
    {OWN, .path = "/api/v1/keys", .handle = serve_api_keys, .api = &operation_keys},
    {OWN, .method = METHOD_POST, .path = "/api/v1/keys", .handle = serve_api_key_create,
     .api = &operation_key_create},
    {DELETES, .path = "/api/v1/keys/{id}", .handle = serve_api_key_delete,
     .api = &operation_key_delete},
    {OWN, .path = "/api/v1/setups", .handle = serve_api_setups, .api = &operation_setups},
    {OWN, .method = METHOD_POST, .path = "/api/v1/setups", .handle = serve_api_setup_put,
     .api = &operation_setup_put},
    {DELETES, .path = "/api/v1/setups/{id}", .handle = serve_api_setup_delete,
     .api = &operation_setup_delete},
    {API, .method = METHOD_POST, .path = "/api/v1/device/code", .handle = serve_api_device_code,
     .api = &operation_device_code},
    {API, .method = METHOD_POST, .path = "/api/v1/device/token", .handle = serve_api_device_token,
     .api = &operation_device_token},
};
const size_t route_count = ARRAY_LEN(routes);

/* Whether the parts of a path are those of a row; fills what the row leaves open. */
static bool matches(const struct route *route, const struct request *r, struct route_match *ret)
{
    const char *p = route->path + 1;
    size_t at = 0;
    ret->lang = NULL;
    ret->arg_count = 0;
    while (*p) {
        size_t n = strcspn(p, "/");
        if (at == r->path_count)
            return false;
        const char *segment = r->path[at++];
        if (n == 6 && memcmp(p, "{lang}", n) == 0) {
            ret->lang = site_lang_find(segment);
            if (!ret->lang)
                return false;
        } else if (*p == '{') {
            size_t name = strcspn(p, "}") + 1, end = n - name, size = strlen(segment);
            if (size < end || memcmp(segment + size - end, p + name, end) != 0)
                return false;
            ret->args[ret->arg_count++] = segment;
        } else if (strlen(segment) != n || memcmp(segment, p, n) != 0) {
            return false;
        }
        p += n + (p[n] == '/');
    }
    return at == r->path_count;
}

static void allow(struct route_match *m, enum request_method method)
{
    static const char *const names[] = {
        [METHOD_GET] = "GET, HEAD", [METHOD_POST] = "POST", [METHOD_PATCH] = "PATCH",
        [METHOD_DELETE] = "DELETE", [METHOD_OTHER] = "",
    };
    size_t used = strlen(m->allow);
    snprintf(m->allow + used, sizeof m->allow - used, "%s%s", used ? ", " : "", names[method]);
}

void routes_find(const struct request *r, struct route_match *ret)
{
    struct route_match found = {0};
    *ret = found;
    for (size_t i = 0; i < route_count; i++) {
        struct route_match m;
        if (!matches(&routes[i], r, &m))
            continue;
        found.lang = m.lang;
        if (routes[i].method != r->method) {
            allow(&found, routes[i].method);
            continue;
        }
        *ret = m;
        ret->route = &routes[i];
        ret->allow[0] = '\0';
        return;
    }
    /* An unknown page of a language is told about in that language. */
    if (!found.lang && r->path_count > 0)
        found.lang = site_lang_find(r->path[0]);
    *ret = found;
}
