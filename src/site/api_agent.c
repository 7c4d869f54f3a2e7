/* api_agent.c - the tables of the document for agents, and what fills them. */
#include "site/api_agent.h"

#include "base/text.h"
#include "base/version.h"
#include "model/gpu_bandwidth.h"
#include "site/api_operations.h"
#include "site/api_table.h"

struct agent_login {
    const char *header, *dashboard;
    const char *const *device_login;
};
struct agent_limit {
    const char *what, *of;
    int count, seconds;
};
struct agent_bounds {
    int document_bytes, page_rows, keys, setups, setup_bytes;
};
struct agent_need {
    const char *field, *help;
};
struct agent_call {
    const char *id, *method, *path, *summary;
    bool key;
};
struct agent_example {
    const char *about, *command;
};

struct agent {
    const char *service, *about, *version, *origin, *openapi, *documentation, *errors;
    const char *hardware_names;
    struct agent_login login;
    struct agent_bounds bounds;
    struct agent_limit *limits;
    const struct agent_need *needs;
    const struct store_hardware *hardware;
    const struct store_choice *engines, *quantizations;
    const char *const *cards, *const *classes, *const *metrics;
    struct agent_call *calls;
    struct agent_example *examples;
    size_t limit_count, need_count, hardware_count, engine_count, quantization_count, call_count,
        example_count;
};

/* ---- tables ---------------------------------------------------------------------------------- */

#define OF struct agent_login
static const struct api_field login_fields[] = {
    ROW(header, "header", API_TEXT, 0, "Sent with what needs a key."),
    ROW(dashboard, "dashboard", API_TEXT, 0, "Where a person makes and revokes keys."),
    ROW(device_login, "device_login", API_TEXTS, 0, "How a program gets one, step by step."),
};
#undef OF
static const struct api_object login_object =
    TABLE("AgentAuthentication", struct agent_login, login_fields, NULL);

#define OF struct agent_limit
static const struct api_field limit_fields[] = {
    ROW(what, "what", API_TEXT, 0, NULL),
    ROW(of, "of", API_TEXT, 0, "user or address."),
    ROW(count, "count", API_INT, 0, NULL),
    ROW(seconds, "seconds", API_INT, 0, "In which the bucket fills up again."),
};
#undef OF
static const struct api_object limit_object =
    TABLE("AgentLimit", struct agent_limit, limit_fields, NULL);

#define OF struct agent_bounds
static const struct api_field bounds_fields[] = {
    ROW(document_bytes, "document_bytes", API_INT, 0, "Of a run, as it comes and unpacked."),
    ROW(page_rows, "page_rows", API_INT, 0, NULL),
    ROW(keys, "keys", API_INT, 0, "Of one user."),
    ROW(setups, "setups", API_INT, 0, "Of one user."),
    ROW(setup_bytes, "setup_bytes", API_INT, 0, NULL),
};
#undef OF
static const struct api_object bounds_object =
    TABLE("AgentBounds", struct agent_bounds, bounds_fields, NULL);

#define OF struct agent_need
static const struct api_field need_fields[] = {
    ROW(field, "field", API_TEXT, 0, NULL),
    ROW(help, "help", API_TEXT, 0, NULL),
};
#undef OF
static const struct api_object need_object =
    TABLE("AgentField", struct agent_need, need_fields, NULL);

#define OF struct store_choice
static const struct api_field choice_fields[] = {
    ROW(name, "name", API_TEXT, 0, NULL),
    ROW(run_count, "runs", API_I64, 0, NULL),
};
#undef OF
static const struct api_object choice_object =
    TABLE("AgentName", struct store_choice, choice_fields, NULL);

#define OF struct agent_call
static const struct api_field call_fields[] = {
    ROW(id, "id", API_TEXT, 0, NULL),
    ROW(method, "method", API_TEXT, 0, NULL),
    ROW(path, "path", API_TEXT, 0, NULL),
    ROW(summary, "summary", API_TEXT, 0, NULL),
    ROW(key, "key", API_BOOL, 0, "It needs a key."),
};
#undef OF
static const struct api_object call_object =
    TABLE("AgentOperation", struct agent_call, call_fields, NULL);

#define OF struct agent_example
static const struct api_field example_fields[] = {
    ROW(about, "about", API_TEXT, 0, NULL),
    ROW(command, "command", API_TEXT, 0, "For a shell."),
};
#undef OF
static const struct api_object example_object =
    TABLE("AgentExample", struct agent_example, example_fields, NULL);

#define OF struct agent
static const struct api_field agent_fields[] = {
    ROW(service, "service", API_TEXT, 0, NULL),
    ROW(about, "about", API_TEXT, 0, NULL),
    ROW(version, "version", API_TEXT, 0, NULL),
    ROW(origin, "origin", API_TEXT, 0, "What the paths below begin behind."),
    ROW(openapi, "openapi", API_TEXT, 0, NULL),
    ROW(documentation, "documentation", API_TEXT, 0, NULL),
    ROW_OBJECT(login, "authentication", &login_object, NULL),
    ROW(errors, "errors", API_TEXT, 0, NULL),
    ROW_LIST(limits, limit_count, "limits", &limit_object, NULL),
    ROW_OBJECT(bounds, "bounds", &bounds_object, NULL),
    ROW_LIST(needs, need_count, "required_fields", &need_object, "Of a run's document."),
    ROW(metrics, "metrics", API_TEXTS, 0, "Of the leaderboard."),
    ROW(classes, "hardware_classes", API_TEXTS, 0, NULL),
    ROW(hardware_names, "hardware_names", API_TEXT, 0, "What is one and the same."),
    ROW(cards, "cards", API_TEXTS, 0, "Those whose memory bandwidth is known here."),
    ROW_LIST(hardware, hardware_count, "hardware", &api_hardware, "With runs, most first."),
    ROW_LIST(engines, engine_count, "engines", &choice_object, "With runs, most first."),
    ROW_LIST(quantizations, quantization_count, "quantizations", &choice_object,
             "With runs, most first."),
    ROW_LIST(calls, call_count, "operations", &call_object, NULL),
    ROW_LIST(examples, example_count, "examples", &example_object, NULL),
};
#undef OF
const struct api_object api_agent =
    TABLE("AgentDocument", struct agent, agent_fields, "Everything that a program begins with.");

/* ---- what does not change -------------------------------------------------------------------- */

static const char *const login_steps[] = {
    "POST /api/v1/device/code with {\"label\": \"what you are\"}; keep device_code to yourself.",
    "Show your user verification_uri and user_code; a signed-in user types it in and agrees.",
    "POST /api/v1/device/token with {\"device_code\": ...} every `interval` seconds.",
    "400 with the code authorization_pending or slow_down means wait; any other means stop.",
    "200 has the key, once. Send it as the header says; keep it as a password.",
    NULL,
};

/* What schema and publishing ask for; everything else may be left out or null. */
static const struct agent_need needs[] = {
    {"schema", "\"tokgrid-run/1\"."},
    {"tool", "What measured: an object with its name."},
    {"kind", "measured, simulated or imported."},
    {"subject", "The model: model is its Hugging Face id, served_model what the server calls it; "
                "one of them is needed."},
    {"hardware", "What the model ran on: gpus, or a cpu."},
    {"prefill", "Rows, each with context_tokens and status; may be empty when decode is not."},
    {"decode", "Cells, each with context_tokens, concurrency and status."},
};

static const char hardware_names[] =
    "Vendors' words, letters' case and blanks do not matter: \"NVIDIA GeForce RTX 3090\", \"RTX "
    "3090\" and \"Geforce RTX3090\" are one. Two of them with 24 GB have the slug "
    "2x-rtx-3090-24gb.";

/* ---- what does ------------------------------------------------------------------------------- */

static void fill_limits(struct agent *d, struct arena *a)
{
    d->limits = arena_array(a, LIMIT_COUNT, sizeof *d->limits);
    for (size_t i = LIMIT_NONE + 1; i < LIMIT_COUNT; i++)
        d->limits[d->limit_count++] =
            (struct agent_limit){.what = api_limits[i].what,
                                 .of = api_limits[i].by_address ? "address" : "user",
                                 .count = api_limits[i].count,
                                 .seconds = (int)(api_limits[i].window_ms / 1000)};
}

/* The names of a table, as a list that ends with NULL; those that stand there twice, once. */
static const char *const *names_of(const char *(*name)(int i), struct arena *a)
{
    int n = 0;
    while (name(n))
        n++;
    const char **list = arena_array(a, (size_t)n + 1, sizeof *list);
    size_t kept = 0;
    for (int i = 0; i < n; i++)
        if (kept == 0 || strcmp(list[kept - 1], name(i)) != 0)
            list[kept++] = name(i);
    return list;
}

static void fill_calls(struct agent *d, const char *origin, struct arena *a)
{
    d->calls = arena_array(a, route_count, sizeof *d->calls);
    d->examples = arena_array(a, route_count, sizeof *d->examples);
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &routes[i];
        if (!route->api)
            continue;
        const char *summary = site_word(site_langs[0], route->api->summary);
        struct buf command;
        buf_init(&command, 4096);
        operation_curl(route, origin, &command);
        d->calls[d->call_count++] = (struct agent_call){.id = route->api->id,
                                                        .method = api_method_name(route->method),
                                                        .path = route->path,
                                                        .summary = summary,
                                                        .key = route->need != NEED_NOTHING};
        d->examples[d->example_count++] =
            (struct agent_example){.about = summary, .command = arena_strdup(a, command.p)};
        buf_release(&command);
    }
}

json_t *agent_document(const struct agent_facts *facts, struct arena *a)
{
    struct agent d = {
        .service = "tokgrid",
        .about = site_word(site_langs[0], SITE_API_AGENT_ABOUT),
        .version = TOKGRID_VERSION,
        .origin = facts->origin,
        .openapi = API_ROOT "/openapi.json",
        .documentation = "/en/api",
        .errors = "{\"error\": {\"code\", \"message\", \"field\"}}: a word for programs, a line "
                  "for people, the part of the request that is wrong or null.",
        .hardware_names = hardware_names,
        .login = {.header = "Authorization: Bearer tgk_...",
                  .dashboard = "/en/dashboard",
                  .device_login = login_steps},
        .bounds = {.document_bytes = RESULT_MAX_BYTES,
                   .page_rows = STORE_PAGE_MAX,
                   .keys = STORE_KEYS_MAX,
                   .setups = STORE_SETUPS_MAX,
                   .setup_bytes = STORE_SETUP_BYTES_MAX},
        .needs = needs,
        .need_count = ARRAY_LEN(needs),
        .hardware = facts->hardware.v,
        .hardware_count = facts->hardware.n,
        .engines = facts->engines.v,
        .engine_count = facts->engines.n,
        .quantizations = facts->quantizations.v,
        .quantization_count = facts->quantizations.n,
        .cards = names_of(gpu_bandwidth_name, a),
        .classes = api_class_names,
        .metrics = names_of(api_metric_name, a),
    };
    fill_limits(&d, a);
    fill_calls(&d, facts->origin, a);
    return api_write(&api_agent, &d);
}
