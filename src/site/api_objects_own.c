/* api_objects_own.c - the tables of accounts, searches, errors and the calculator. */
#include "base/text.h"
#include "model/calculator.h"
#include "model/calculator_inputs.h"
#include "site/api_objects.h"
#include "site/api_table.h"

/* ---- search ---------------------------------------------------------------------------------- */

static const char *const found_names[] = {
    [STORE_FOUND_MODEL] = "model",       [STORE_FOUND_ORGANIZATION] = "organization",
    [STORE_FOUND_HARDWARE] = "hardware", [STORE_FOUND_USER] = "user",
    [STORE_FOUND_RUN] = "run",           [STORE_FOUND_KINDS] = NULL,
};

#define OF struct api_found
static const struct api_field found_fields[] = {
    ROW_CHOICE(kind, "kind", found_names, NULL),
    ROW(key, "key", API_TEXT, API_NULL, "Name, slug or id."),
    ROW(title, "title", API_TEXT, API_NULL, NULL),
    ROW(url, "url", API_TEXT, 0, "The call that tells more."),
};
#undef OF
static const struct api_object found_object = TABLE("Found", struct api_found, found_fields, NULL);

#define OF struct api_founds
static const struct api_field founds_fields[] = {ROW_LIST(v, n, "results", &found_object, NULL)};
#undef OF
const struct api_object api_found_rows =
    TABLE("SearchResults", struct api_founds, founds_fields, NULL);

/* ---- accounts -------------------------------------------------------------------------------- */

#define OF struct store_user
static const struct api_field user_fields[] = {
    ROW(name, "name", API_TEXT, 0, NULL),
    ROW(admin, "admin", API_BOOL, 0, "A moderator."),
    ROW(created_ms, "created_at", API_TIME, API_NULL, NULL),
    ROW(run_count, "runs", API_I64, 0, "Listed ones."),
};
#undef OF
const struct api_object api_user = TABLE("User", struct store_user, user_fields, NULL);

#define OF struct store_key
static const struct api_field key_fields[] = {
    ROW(id, "id", API_I64, 0, NULL),
    ROW(label, "label", API_TEXT, API_NULL, NULL),
    ROW(prefix, "prefix", API_TEXT, 0, "How it begins; the rest is not kept."),
    ROW(created_ms, "created_at", API_TIME, 0, NULL),
    ROW(used_ms, "used_at", API_TIME, API_NULL, "Within the minute."),
};
#undef OF
const struct api_object api_key = TABLE("Key", struct store_key, key_fields, NULL);

#define OF struct store_keys
static const struct api_field keys_fields[] = {ROW_LIST(v, n, "keys", &api_key, NULL)};
#undef OF
const struct api_object api_keys = TABLE("Keys", struct store_keys, keys_fields, NULL);

#define OF struct api_secret
static const struct api_field secret_fields[] = {
    ROW(key, "key", API_TEXT, 0, "\"tgk_...\", shown this once.")};
#undef OF
const struct api_object api_new_key = TABLE("NewKey", struct api_secret, secret_fields, NULL);

#define OF struct api_device
static const struct api_field device_fields[] = {
    ROW(device_code, "device_code", API_TEXT, 0, "To poll with; a secret."),
    ROW(user_code, "user_code", API_TEXT, 0, "To show; it is typed in on the page."),
    ROW(verification_uri, "verification_uri", API_TEXT, 0, "That page."),
    ROW(expires_in, "expires_in", API_INT, 0, "Seconds."),
    ROW(interval, "interval", API_INT, 0, "Seconds between two polls."),
};
#undef OF
const struct api_object api_device_code =
    TABLE("DeviceCode", struct api_device, device_fields, NULL);

#define OF struct api_report
static const struct api_field report_fields[] = {
    ROW(run, "run", API_TEXT, 0, "Its id."),
    ROW(reason, "reason", API_TEXT, 0, NULL),
    ROW(text, "text", API_TEXT, 0, NULL),
};
#undef OF
const struct api_object api_report = TABLE("Report", struct api_report, report_fields, NULL);

#define OF struct store_setup
static const struct api_field setup_fields[] = {
    ROW(id, "id", API_I64, 0, NULL),
    ROW(name, "name", API_TEXT, 0, NULL),
    ROW(is_default, "default", API_BOOL, 0, "One at most is."),
    ROW(updated_ms, "updated_at", API_TIME, 0, NULL),
    ROW(body, "settings", API_JSON, API_NULL, "An object of one's own."),
};
#undef OF
const struct api_object api_setup = TABLE("Setup", struct store_setup, setup_fields, NULL);

#define OF struct store_setups
static const struct api_field setups_fields[] = {ROW_LIST(v, n, "setups", &api_setup, "By name.")};
#undef OF
const struct api_object api_setups = TABLE("Setups", struct store_setups, setups_fields, NULL);

/* ---- errors ---------------------------------------------------------------------------------- */

#define OF struct api_fault
static const struct api_field fault_fields[] = {
    ROW(code, "code", API_TEXT, 0, "A word for programs."),
    ROW(message, "message", API_TEXT, 0, "A line for people."),
    ROW(field, "field", API_TEXT, API_NULL, "The part of the request that is wrong."),
    ROW(id, "id", API_TEXT, API_ABSENT, "The run that is in the way."),
};
#undef OF
static const struct api_object fault_object = TABLE("Fault", struct api_fault, fault_fields, NULL);

#define OF struct api_failure
static const struct api_field failure_fields[] = {ROW_OBJECT(error, "error", &fault_object, NULL)};
#undef OF
const struct api_object api_error = TABLE("Error", struct api_failure, failure_fields, NULL);

/* ---- the calculator -------------------------------------------------------------------------- */

/* These describe what calculator_write_json makes, so nothing lies anywhere. */
#define SAYS(text, is_a, flag_bits, sentence)                                                      \
    {                                                                                              \
        .name = (text), .kind = (is_a), .flags = (flag_bits), .help = (sentence)                   \
    }
#define FIGURE(text, sentence) SAYS(text, API_NUMBER, API_NULL, sentence)

#define NUMBER(member, text, initial, least, most, whole, unit, group, sentence)                   \
    SAYS(#member, API_NUMBER, 0, sentence),
#define CHOICE(member, text, names, initial, group, sentence)                                      \
    {.name = #member, .kind = API_WORD, .words = {.list = (names)}, .help = (sentence)},
static const struct api_field input_fields[] = {
    CALCULATOR_INPUTS(NUMBER, CHOICE)
        SAYS("corrections", API_TEXTS, 0, "The corrections to the plain formulas that are on."),
};
#undef NUMBER
#undef CHOICE
static const struct api_object input_object = {
    .name = "CalculatorInputs", .fields = input_fields, .count = ARRAY_LEN(input_fields)};

static const struct api_field point_fields[] = {
    FIGURE("batch", "Sessions in a step."),
    FIGURE("weight_gb", "Weights that a step reads."),
    FIGURE("kv_gb", "KV cache that a step reads."),
    FIGURE("gb_per_token", "Read for one token of output."),
    FIGURE("aggregate_tok_s", "At most, all sessions together."),
    FIGURE("session_tok_s", "At most, each session."),
    SAYS("compute_bound", API_BOOL, 0, "The peak is what bounds it."),
};
static const struct api_object point_object = {
    .name = "CalculatorPoint", .fields = point_fields, .count = ARRAY_LEN(point_fields)};

static const char *calculation_state(int i)
{
    return i <= STATE_USABLE ? calculator_state_name((enum calculator_state)i) : NULL;
}

/* With the corrections and without. */
#define ANSWER_FIELDS                                                                              \
    {.name = "state", .kind = API_WORD, .words = {.name = calculation_state}},                     \
        FIGURE("tokens_per_pass", "1 without speculation."),                                       \
        FIGURE("resident_gb", "Weights in memory."),                                               \
        FIGURE("active_gb", "Weights read by a step of one session."),                             \
        FIGURE("free_gb", "Left for sessions; below 0: what is missing."),                         \
        FIGURE("session_store_gb", "KV cache of a session."),                                      \
        FIGURE("session_read_gb", "What a step reads of it."),                                     \
        FIGURE("memory_batch", "Sessions that fit; null: no limit."),                              \
        FIGURE("rate_batch", "Sessions that keep the floor; null: no limit."),                     \
        FIGURE("usable_batch", "Sessions that do both; null: no limit."),                          \
        FIGURE("memory_power_tok_s", NULL), FIGURE("large_memory_tok_s", NULL),                    \
        FIGURE("prefill_tok_s", "Null without a peak."),                                           \
        FIGURE("prefill_s", "Of the read context."),                                               \
        {.name = "single", .kind = API_OBJECT, .object = &point_object, .help = "One session."},   \
    {                                                                                              \
        .name = "best", .kind = API_OBJECT, .flags = API_NULL, .object = &point_object,            \
        .help = "As many sessions as fit and keep the floor; null when none do."                   \
    }
static const struct api_field plain_fields[] = {ANSWER_FIELDS};
static const struct api_object plain_object = {
    .name = "PlainCalculation", .fields = plain_fields, .count = ARRAY_LEN(plain_fields)};

static const struct api_field calculation_fields[] = {
    {.name = "inputs", .kind = API_OBJECT, .object = &input_object, .help = "All of them."},
    ANSWER_FIELDS,
    SAYS("expected_routing", API_BOOL, 0, NULL),
    {.name = "plain",
     .kind = API_OBJECT,
     .flags = API_NULL,
     .object = &plain_object,
     .help = "What the formulas without corrections say; null when there are none."},
    SAYS("advice", API_TEXT, API_NULL, "What failed, and what would help."),
};
const struct api_object api_calculation = {
    .name = "Calculation", .fields = calculation_fields, .count = ARRAY_LEN(calculation_fields)};

const struct api_object api_openapi = {.name = "OpenApiDocument", .is = API_ANYTHING};
