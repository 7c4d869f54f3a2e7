/* api_operations.h - the calls of the API: what each takes, gives and refuses.
 *
 * One row a call, which its route points to. api_call.h holds requests against it before the
 * handler sees them; openapi.h, the page and the document for agents are written from it. */
#ifndef TOKGRID_SITE_API_OPERATIONS_H
#define TOKGRID_SITE_API_OPERATIONS_H

#include "site/api_limits.h"
#include "site/api_objects.h"
#include "site/api_params.h"
#include "site/routes.h"

enum api_tag { TAG_RUNS, TAG_BOARDS, TAG_GROUPS, TAG_TOOLS, TAG_ACCOUNT, TAG_LOGIN, TAG_COUNT };

struct api_tag_row {
    const char *name;
    enum site_word title;
};
extern const struct api_tag_row api_tags[TAG_COUNT];

enum operation_flags {
    TAKES_RUN = 1 << 0,  /* the body is a run's document */
    TAKES_LESS = 1 << 1, /* the body may be left out */
    TAKES_ONCE = 1 << 2, /* an Idempotency-Key is obeyed */
    GIVES_CSV = 1 << 3,  /* or a table, when asked for with format=csv */
};

/* Statuses besides 400 (with parameters or a body), 401, 404 (with a part of the path), 413 and 415
 * (with a body), 429 (with a limit), which follow from the rest. */
enum operation_errors {
    FAILS_FORBIDDEN = 1 << 0, /* 403 */
    FAILS_EXISTS = 1 << 1,    /* 409 */
    FAILS_GONE = 1 << 2,      /* 410 */
    FAILS_INVALID = 1 << 3,   /* 422 */
};

enum { OPERATION_ANSWERS = 2 };

struct operation {
    const char *id; /* in camelCase, as generators of clients want it */
    enum api_tag tag;
    enum site_word summary;
    const struct api_param *const *query; /* NULL: none */
    const struct api_param *const *body;  /* fields of a JSON object; NULL: none */
    unsigned flags, errors;
    enum api_limit limit;
    struct {
        int status;
        const struct api_object *object; /* NULL: no body */
    } answers[OPERATION_ANSWERS];        /* status 0 ends */
};

extern const struct operation operation_run_create, operation_runs, operation_run,
    operation_run_raw, operation_run_revise, operation_run_delete, operation_report_add,
    operation_revisions, operation_revision_raw, operation_board, operation_models, operation_model,
    operation_model_alone, operation_organizations, operation_organization, operation_hardwares,
    operation_hardware, operation_user_by_name, operation_search, operation_calculate,
    operation_calculate_body, operation_openapi, operation_agent, operation_user, operation_keys,
    operation_key_create, operation_key_delete, operation_setups, operation_setup_put,
    operation_setup_delete, operation_device_code, operation_device_token;

bool operation_has_body(const struct operation *op);

/* What can be answered besides success, ascending, with the reason in a sentence. */
struct api_refusal {
    int status;
    const char *help;
};
enum { OPERATION_REFUSALS = 12 };
size_t operation_refusals(const struct route *route, struct api_refusal ret[OPERATION_REFUSALS]);

/* The path's parameters in their order; the count. */
size_t operation_path_params(const struct route *route,
                             const struct api_param *ret[ROUTE_MAX_ARGS]);

const char *api_method_name(enum request_method m); /* "GET" */

/* A call with the examples of what it must have, for a shell: "curl -H ... ORIGIN/api/v1/user". */
void operation_curl(const struct route *route, const char *origin, struct buf *out);

#define API_ROOT "/api/v1"

#endif
