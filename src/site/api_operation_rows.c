/* api_operation_rows.c - the table of all calls. */
#include "site/api_agent.h"
#include "site/api_operations.h"

#define MINUTE_MS INT64_C(60000)

const struct api_tag_row api_tags[TAG_COUNT] = {
    [TAG_RUNS] = {"runs", SITE_API_TAG_RUNS},
    [TAG_BOARDS] = {"boards", SITE_API_TAG_BOARDS},
    [TAG_GROUPS] = {"groups", SITE_API_TAG_GROUPS},
    [TAG_TOOLS] = {"tools", SITE_API_TAG_TOOLS},
    [TAG_ACCOUNT] = {"account", SITE_API_TAG_ACCOUNT},
    [TAG_LOGIN] = {"login", SITE_API_TAG_LOGIN},
};

const struct api_limit_row api_limits[LIMIT_COUNT] = {
    [LIMIT_UPLOAD] = {"upload", 120, 60 * MINUTE_MS, false},
    [LIMIT_WRITE] = {"write", 300, 60 * MINUTE_MS, false},
    [LIMIT_REPORT] = {"report", 20, 60 * MINUTE_MS, false},
    [LIMIT_DEVICE] = {"device:address", 20, 10 * MINUTE_MS, true},
    [LIMIT_POLL] = {"poll:address", 300, 10 * MINUTE_MS, true},
};

#define OP(name) const struct operation operation_##name

/* ---- runs ------------------------------------------------------------------------------------ */

OP(run_create) = {.id = "createRun",
                  .tag = TAG_RUNS,
                  .summary = SITE_API_RUN_CREATE,
                  .query = params_publish,
                  .flags = TAKES_RUN | TAKES_ONCE,
                  .errors = FAILS_EXISTS | FAILS_INVALID,
                  .limit = LIMIT_UPLOAD,
                  .answers = {{200, &api_run_checked}, {201, &api_run_stored}}};
OP(runs) = {.id = "listRuns",
            .tag = TAG_RUNS,
            .summary = SITE_API_RUNS,
            .query = params_runs,
            .answers = {{200, &api_runs}}};
OP(run) = {.id = "getRun",
           .tag = TAG_RUNS,
           .summary = SITE_API_RUN,
           .errors = FAILS_GONE,
           .answers = {{200, &api_run}}};
OP(run_raw) = {.id = "getRunDocument",
               .tag = TAG_RUNS,
               .summary = SITE_API_RUN_RAW,
               .errors = FAILS_GONE,
               .answers = {{200, &api_run_document}}};
OP(run_revise) = {.id = "reviseRun",
                  .tag = TAG_RUNS,
                  .summary = SITE_API_RUN_REVISE,
                  .query = params_revise,
                  .flags = TAKES_RUN | TAKES_LESS | TAKES_ONCE,
                  .errors = FAILS_FORBIDDEN | FAILS_EXISTS | FAILS_GONE | FAILS_INVALID,
                  .limit = LIMIT_UPLOAD,
                  .answers = {{200, &api_run_stored}}};
OP(run_delete) = {.id = "deleteRun",
                  .tag = TAG_RUNS,
                  .summary = SITE_API_RUN_DELETE,
                  .errors = FAILS_FORBIDDEN | FAILS_GONE,
                  .limit = LIMIT_WRITE,
                  .answers = {{204, NULL}}};
OP(report_add) = {.id = "reportRun",
                  .tag = TAG_RUNS,
                  .summary = SITE_API_REPORT_ADD,
                  .body = params_report,
                  .errors = FAILS_GONE,
                  .limit = LIMIT_REPORT,
                  .answers = {{201, &api_report}}};
OP(revisions) = {.id = "listRevisions",
                 .tag = TAG_RUNS,
                 .summary = SITE_API_REVISIONS,
                 .errors = FAILS_GONE,
                 .answers = {{200, &api_run_revisions}}};
OP(revision_raw) = {.id = "getRevisionDocument",
                    .tag = TAG_RUNS,
                    .summary = SITE_API_REVISION_RAW,
                    .errors = FAILS_GONE,
                    .answers = {{200, &api_run_document}}};

/* ---- boards and groups ----------------------------------------------------------------------- */

OP(board) = {.id = "getLeaderboard",
             .tag = TAG_BOARDS,
             .summary = SITE_API_BOARD,
             .query = params_board,
             .flags = GIVES_CSV,
             .answers = {{200, &api_board}}};
OP(models) = {.id = "listModels",
              .tag = TAG_GROUPS,
              .summary = SITE_API_MODELS,
              .query = params_bases,
              .answers = {{200, &api_models}}};
OP(model) = {.id = "getModel",
             .tag = TAG_GROUPS,
             .summary = SITE_API_MODEL,
             .answers = {{200, &api_model_all}}};
OP(model_alone) = {.id = "getModelWithoutOrganization",
                   .tag = TAG_GROUPS,
                   .summary = SITE_API_MODEL_ALONE,
                   .answers = {{200, &api_model_all}}};
OP(organizations) = {.id = "listOrganizations",
                     .tag = TAG_GROUPS,
                     .summary = SITE_API_ORGANIZATIONS,
                     .query = params_organizations,
                     .answers = {{200, &api_organizations}}};
OP(organization) = {.id = "getOrganization",
                    .tag = TAG_GROUPS,
                    .summary = SITE_API_ORGANIZATION,
                    .answers = {{200, &api_organization_all}}};
OP(hardwares) = {.id = "listHardware",
                 .tag = TAG_GROUPS,
                 .summary = SITE_API_HARDWARES,
                 .query = params_hardware,
                 .answers = {{200, &api_hardwares}}};
OP(hardware) = {.id = "getHardware",
                .tag = TAG_GROUPS,
                .summary = SITE_API_HARDWARE,
                .answers = {{200, &api_hardware_all}}};
OP(user_by_name) = {.id = "getUser",
                    .tag = TAG_GROUPS,
                    .summary = SITE_API_USER_BY_NAME,
                    .answers = {{200, &api_user}}};

/* ---- tools ----------------------------------------------------------------------------------- */

OP(search) = {.id = "search",
              .tag = TAG_TOOLS,
              .summary = SITE_API_SEARCH,
              .query = params_search,
              .answers = {{200, &api_found_rows}}};
OP(calculate) = {.id = "calculate",
                 .tag = TAG_TOOLS,
                 .summary = SITE_API_CALCULATE,
                 .query = params_calculator,
                 .answers = {{200, &api_calculation}}};
OP(calculate_body) = {.id = "calculateFromBody",
                      .tag = TAG_TOOLS,
                      .summary = SITE_API_CALCULATE_BODY,
                      .body = params_calculator,
                      .flags = TAKES_LESS,
                      .answers = {{200, &api_calculation}}};
OP(openapi) = {.id = "getOpenApi",
               .tag = TAG_TOOLS,
               .summary = SITE_API_OPENAPI,
               .answers = {{200, &api_openapi}}};
OP(agent) = {.id = "getAgentDocument",
             .tag = TAG_TOOLS,
             .summary = SITE_API_AGENT,
             .answers = {{200, &api_agent}}};

/* ---- accounts -------------------------------------------------------------------------------- */

OP(user) = {.id = "getOwnUser",
            .tag = TAG_ACCOUNT,
            .summary = SITE_API_USER,
            .answers = {{200, &api_user}}};
OP(keys) = {
    .id = "listKeys", .tag = TAG_ACCOUNT, .summary = SITE_API_KEYS, .answers = {{200, &api_keys}}};
OP(key_create) = {.id = "createKey",
                  .tag = TAG_ACCOUNT,
                  .summary = SITE_API_KEY_CREATE,
                  .body = params_key,
                  .errors = FAILS_INVALID,
                  .limit = LIMIT_WRITE,
                  .answers = {{201, &api_new_key}}};
OP(key_delete) = {.id = "deleteKey",
                  .tag = TAG_ACCOUNT,
                  .summary = SITE_API_KEY_DELETE,
                  .limit = LIMIT_WRITE,
                  .answers = {{204, NULL}}};
OP(setups) = {.id = "listSetups",
              .tag = TAG_ACCOUNT,
              .summary = SITE_API_SETUPS,
              .answers = {{200, &api_setups}}};
OP(setup_put) = {.id = "putSetup",
                 .tag = TAG_ACCOUNT,
                 .summary = SITE_API_SETUP_PUT,
                 .body = params_setup,
                 .flags = TAKES_ONCE,
                 .errors = FAILS_INVALID,
                 .limit = LIMIT_WRITE,
                 .answers = {{201, &api_setup}}};
OP(setup_delete) = {.id = "deleteSetup",
                    .tag = TAG_ACCOUNT,
                    .summary = SITE_API_SETUP_DELETE,
                    .limit = LIMIT_WRITE,
                    .answers = {{204, NULL}}};

/* ---- device login ---------------------------------------------------------------------------- */

OP(device_code) = {.id = "beginDeviceLogin",
                   .tag = TAG_LOGIN,
                   .summary = SITE_API_DEVICE_CODE,
                   .body = params_device,
                   .flags = TAKES_LESS,
                   .limit = LIMIT_DEVICE,
                   .answers = {{200, &api_device_code}}};
OP(device_token) = {.id = "pollDeviceLogin",
                    .tag = TAG_LOGIN,
                    .summary = SITE_API_DEVICE_TOKEN,
                    .body = params_token,
                    .limit = LIMIT_POLL,
                    .answers = {{200, &api_new_key}}};
