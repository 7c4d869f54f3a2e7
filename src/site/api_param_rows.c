/* api_param_rows.c - the table of all parameters and fields. */
#include "model/calculator.h"
#include "model/calculator_inputs.h"
#include "site/api_objects.h"
#include "site/api_params.h"
#include "site/report_reasons.h"
#include "site/web_request.h"

enum { NAME_BYTES = 200, NOTE_BYTES = 500 };

/* ---- the rows -------------------------------------------------------------------------------- */

#define NARROWS(text, sentence)                                                                    \
    {                                                                                              \
        .name = (text), .kind = PARAM_TEXT, .max = NAME_BYTES, .help = (sentence)                  \
    }

static const struct api_param after = {.name = "after",
                                       .kind = PARAM_CURSOR,
                                       .max = STORE_CURSOR_MAX - 1,
                                       .help = "The \"next\" of the page before this one."};
static const struct api_param limit = {.name = "limit",
                                       .kind = PARAM_INTEGER,
                                       .min = 1,
                                       .max = STORE_PAGE_MAX,
                                       .initial = "50",
                                       .example = "20",
                                       .help = "Rows of a page."};
static const struct api_param model = NARROWS("model", "Exactly this repackaging.");
static const struct api_param base = NARROWS("base", "All repackagings of this model.");
static const struct api_param organization = NARROWS("organization", "Models of this one.");
static const struct api_param hardware = NARROWS("hardware", "Exactly this configuration: a slug.");
static const struct api_param card = NARROWS("card", "This card, whatever their number: a slug.");
static const struct api_param engine = NARROWS("engine", "As in the list of /agent.");
static const struct api_param quantization = NARROWS("quantization", "As in the list of /agent.");
static const struct api_param user = NARROWS("user", "Who published.");
static const struct api_param class = {.name = "class",
                                       .kind = PARAM_WORD,
                                       .words = {.list = api_class_names},
                                       .help = "Of hardware."};
static const struct api_param kind = {
    .name = "kind",
    .kind = PARAM_WORD,
    .words = {.list = api_kind_names},
    .help = "Boards rank simulated runs only when this asks for them."};
static const struct api_param verified = {.name = "verified",
                                          .kind = PARAM_FLAG,
                                          .initial = "false",
                                          .help = "Only runs that a moderator vouches for."};

static const char *const run_orders[] = {"newest", "fastest", NULL};
static const struct api_param run_order = {.name = "order",
                                           .kind = PARAM_WORD,
                                           .words = {.list = run_orders},
                                           .initial = "\"newest\"",
                                           .help = "fastest: by total_tok_s."};

#define FILTER                                                                                     \
    &model, &base, &organization, &hardware, &card, &class, &engine, &quantization, &kind, &user,  \
        &verified
const struct api_param *const params_runs[] = {FILTER, &run_order, &after, &limit, NULL};

static const struct api_param metric = {.name = "metric",
                                        .kind = PARAM_WORD,
                                        .words = {.name = api_metric_name},
                                        .initial = "\"single\"",
                                        .help = "What is ranked; one class of figure at a time."};
static const struct api_param context = {.name = "context",
                                         .kind = PARAM_TOKENS,
                                         .max = 32,
                                         .example = "\"16k\"",
                                         .help = "Tokens of context, as 16384 or 16k; without it "
                                                 "each run stands with its best."};
static const struct api_param concurrency = {.name = "concurrency",
                                             .kind = PARAM_INTEGER,
                                             .min = 1,
                                             .max = 100000,
                                             .help = "Only total and per_joule have one."};
static const char *const board_orders[] = {"best", "newest", NULL};
static const struct api_param board_order = {.name = "order",
                                             .kind = PARAM_WORD,
                                             .words = {.list = board_orders},
                                             .initial = "\"best\"",
                                             .help = "Best first, or newest."};
static const char *const formats[] = {"json", "csv", NULL};
static const struct api_param format = {.name = "format",
                                        .kind = PARAM_WORD,
                                        .words = {.list = formats},
                                        .initial = "\"json\"",
                                        .help = "JSON, or a table for a spreadsheet."};
const struct api_param *const params_board[] = {
    &metric, &context, &concurrency, &board_order, FILTER, &format, &after, &limit, NULL};

static const char *const group_orders[] = {"runs", "name", "newest", "speed", NULL};
static const struct api_param group_order = {.name = "order",
                                             .kind = PARAM_WORD,
                                             .words = {.list = group_orders},
                                             .initial = "\"runs\"",
                                             .help = "Most runs first, and so on."};
const struct api_param *const params_bases[] = {&organization, &group_order, &after, &limit, NULL};
const struct api_param *const params_organizations[] = {&group_order, &after, &limit, NULL};
const struct api_param *const params_hardware[] = {&class, &card,  &group_order,
                                                   &after, &limit, NULL};

static const struct api_param dry_run = {.name = "dry_run",
                                         .kind = PARAM_FLAG,
                                         .initial = "false",
                                         .help = "Check the document and store nothing."};
static const char *const first_states[] = {"public", "draft", NULL};
static const struct api_param first_state = {.name = "state",
                                             .kind = PARAM_WORD,
                                             .words = {.list = first_states},
                                             .initial = "\"public\"",
                                             .help = "draft: only its owner sees it."};
const struct api_param *const params_publish[] = {&dry_run, &first_state, NULL};

static const char *const new_states[] = {"public", "withdrawn", NULL};
static const struct api_param new_state = {
    .name = "state",
    .kind = PARAM_WORD,
    .words = {.list = new_states},
    .example = "\"public\"",
    .help = "public: publish a draft, or what was withdrawn. withdrawn: take it back."};
static const struct api_param note = {.name = "note",
                                      .kind = PARAM_TEXT,
                                      .min = 1,
                                      .max = NOTE_BYTES,
                                      .example = "\"driver named\"",
                                      .help = "Why there is a new document: needed with one."};
const struct api_param *const params_revise[] = {&new_state, &note, NULL};

static const struct api_param q = {.name = "q",
                                   .kind = PARAM_TEXT,
                                   .required = true,
                                   .min = 1,
                                   .max = STORE_QUERY_MAX,
                                   .example = "\"qwen\"",
                                   .help = "Words; each must be in what is found."};
static const struct api_param each = {.name = "limit",
                                      .kind = PARAM_INTEGER,
                                      .min = 1,
                                      .max = 50,
                                      .initial = "12",
                                      .help = "Results of each kind."};
const struct api_param *const params_search[] = {&q, &each, NULL};

static const struct api_param device_label = {.name = "label",
                                              .kind = PARAM_TEXT,
                                              .max = STORE_LABEL_MAX,
                                              .initial = "\"tokgrid\"",
                                              .example = "\"tokgrid on bench-box\"",
                                              .help = "What asks; the user reads it."};
static const struct api_param device_code = {.name = "device_code",
                                             .kind = PARAM_TEXT,
                                             .required = true,
                                             .min = 1,
                                             .max = NAME_BYTES,
                                             .example = "\"...\"",
                                             .help = "From /device/code."};
static const struct api_param key_label = {.name = "label",
                                           .kind = PARAM_TEXT,
                                           .required = true,
                                           .max = STORE_LABEL_MAX,
                                           .example = "\"bench-box\"",
                                           .help = "What it is for."};
const struct api_param *const params_device[] = {&device_label, NULL};
const struct api_param *const params_token[] = {&device_code, NULL};
const struct api_param *const params_key[] = {&key_label, NULL};

static const char *reason_name(int i)
{
    return (size_t)i < report_reason_count ? report_reasons[i].name : NULL;
}
static const struct api_param report_reason = {.name = "reason",
                                               .kind = PARAM_WORD,
                                               .required = true,
                                               .words = {.name = reason_name},
                                               .example = "\"implausible\"",
                                               .help = "What is wrong with the run."};
static const struct api_param report_text = {
    .name = "text", .kind = PARAM_TEXT, .max = STORE_REPORT_TEXT_MAX, .help = "The same in words."};
const struct api_param *const params_report[] = {&report_reason, &report_text, NULL};

static const struct api_param setup_name = {.name = "name",
                                            .kind = PARAM_TEXT,
                                            .required = true,
                                            .min = 1,
                                            .max = STORE_LABEL_MAX,
                                            .example = "\"two 3090s\"",
                                            .help = "Another of this name is replaced."};
static const struct api_param setup_settings = {
    .name = "settings",
    .kind = PARAM_OBJECT,
    .required = true,
    .example = "{\"memory_gb\": 25.8, \"bandwidth_gb_s\": 936, \"devices\": 2}",
    .help = "An object of one's own, such as inputs of the calculator."};
static const struct api_param setup_default = {.name = "default",
                                               .kind = PARAM_FLAG,
                                               .initial = "false",
                                               .help = "It takes that from the others."};
const struct api_param *const params_setup[] = {&setup_name, &setup_settings, &setup_default, NULL};

/* ---- the calculator -------------------------------------------------------------------------- */

#define NUMBER(member, text, initial_, least, most, is_whole, unit, group, sentence)               \
    static const struct api_param input_##member = {.name = #member,                               \
                                                    .kind =                                        \
                                                        (is_whole) ? PARAM_INTEGER : PARAM_NUMBER, \
                                                    .min = (least),                                \
                                                    .max = (most),                                 \
                                                    .initial = #initial_,                          \
                                                    .help = (sentence)};
#define CHOICE(member, text, names, initial_, group, sentence)                                     \
    static const struct api_param input_##member = {.name = #member,                               \
                                                    .kind = PARAM_WORD,                            \
                                                    .words = {.list = (names)},                    \
                                                    .initial = "\"" initial_ "\"",                 \
                                                    .help = (sentence)};
CALCULATOR_INPUTS(NUMBER, CHOICE)
#undef NUMBER
#undef CHOICE
static const struct api_param corrections = {
    .name = "corrections",
    .kind = PARAM_WORDS,
    .words = {.name = calculator_correction_name},
    .initial = "[\"all\"]",
    .help = "Which corrections to the plain memory-traffic formulas to use."};

#define NUMBER(member, text, initial_, least, most, is_whole, unit, group, sentence)               \
    &input_##member,
#define CHOICE(member, text, names, initial_, group, sentence) &input_##member,
const struct api_param *const params_calculator[] = {
    CALCULATOR_INPUTS(NUMBER, CHOICE) & corrections, NULL};
#undef NUMBER
#undef CHOICE

/* ---- paths ----------------------------------------------------------------------------------- */

#define NAMES(text, shown, sentence)                                                               \
    {                                                                                              \
        .name = (text), .kind = PARAM_TEXT, .required = true, .min = 1, .max = REQUEST_MAX_TARGET, \
        .example = (shown), .help = (sentence)                                                     \
    }
const struct api_param params_path[] = {
    NAMES("uid", "\"0190d6f0-0000-7000-8000-000000000000\"", "The run's id."),
    NAMES("n", "\"1\"", "Number of a revision, from 1 on."),
    NAMES("id", "\"1\"", "Its id, as the list has it."),
    NAMES("organization", "\"Qwen\"", "The part before the slash."),
    NAMES("name", "\"Qwen\"", "Its name; of a model the part behind the slash."),
    NAMES("slug", "\"rtx-3090-24gb\"", "As lists and runs have it."),
    {0},
};
