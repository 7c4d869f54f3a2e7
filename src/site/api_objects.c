/* api_objects.c - the tables of runs, boards and groups. */
#include "site/api_objects.h"

#include "base/text.h"
#include "site/api_table.h"

static const char *state_name(int i)
{
    return i < STORE_RUN_STATES ? store_run_state_name((enum store_run_state)i) : NULL;
}

const char *api_metric_name(int i)
{
    return i < STORE_METRICS ? store_metric_name((enum store_metric)i) : NULL;
}

static const char *cell_status_name(int i)
{
    return i < STATUS_COUNT ? status_name((enum cell_status)i) : NULL;
}

const char *const api_class_names[] = {"DISCRETE_GPU", "UNIFIED", "CPU_ONLY", NULL};
const char *const api_kind_names[] = {"measured", "simulated", "imported", NULL};

/* ---- runs ------------------------------------------------------------------------------------ */

#define OF struct store_run
static const struct api_field run_fields[] = {
    ROW(uid, "id", API_TEXT, 0, "UUID; newer runs sort later."),
    ROW_WORD(
        state, "state", state_name,
        "draft: its owner sees it. public and flagged: everybody; flagged with a warning, as a "
        "figure is implausible. withdrawn: gone for all but its owner."),
    ROW(revision, "revision", API_INT, 0, "1, 2, ..."),
    ROW(created_ms, "created_at", API_TIME, 0, NULL),
    ROW(updated_ms, "updated_at", API_TIME, API_NULL, NULL),
    ROW(owner_name, "user", API_TEXT, API_NULL, "Who published it."),
    ROW(title, "title", API_TEXT, API_NULL, NULL),
    ROW(model, "model", API_TEXT, API_NULL, "Hugging Face id, or the served name without one."),
    ROW(base, "base_model", API_TEXT, API_NULL, "The model that repackagings are grouped under."),
    ROW(organization, "organization", API_TEXT, API_NULL, "The part before the slash."),
    ROW(hardware, "hardware", API_TEXT, API_NULL, "Its slug, as in /hardware/{slug}."),
    ROW(hardware_title, "hardware_title", API_TEXT, API_NULL, NULL),
    ROW(hardware_class, "hardware_class", API_TEXT, API_NULL, "DISCRETE_GPU, UNIFIED or CPU_ONLY."),
    ROW(engine, "engine", API_TEXT, API_NULL, NULL),
    ROW(engine_version, "engine_version", API_TEXT, API_NULL, NULL),
    ROW(quantization, "quantization", API_TEXT, API_NULL, NULL),
    ROW(backend, "backend", API_TEXT, API_NULL, NULL),
    ROW(kind, "kind", API_TEXT, API_NULL, "measured, simulated or imported."),
    ROW(tool, "tool", API_TEXT, API_NULL, "What measured, with its version."),
    ROW(verified, "verified", API_BOOL, 0, "A moderator vouches for it."),
    ROW(single_tok_s, "single_tok_s", API_NUMBER, API_NULL, "Best decode of one stream."),
    ROW(total_tok_s, "total_tok_s", API_NUMBER, API_NULL, "Best decode over all streams."),
    ROW(prefill_tok_s, "prefill_tok_s", API_NUMBER, API_NULL, "Best cold prefill."),
    ROW(ttft_ms, "ttft_ms", API_NUMBER, API_NULL, "To the first token of the shortest prompt."),
    ROW(valid_cells, "valid_cells", API_I64, 0, NULL),
    ROW(cell_count, "cell_count", API_I64, 0, "Decode cells, valid or not."),
    ROW(document_bytes, "document_bytes", API_I64, 0, NULL),
    ROW(measured_at, "measured_at", API_TEXT, API_NULL, "UTC, as the document says."),
};
#undef OF
const struct api_object api_run = TABLE("Run", struct store_run, run_fields, "A published matrix.");

#define OF struct store_runs
static const struct api_field runs_fields[] = {ROW_LIST(v, n, "runs", &api_run, NULL), ROW_NEXT};
#undef OF
const struct api_object api_runs = TABLE("Runs", struct store_runs, runs_fields, NULL);

#define OF struct store_flag
static const struct api_field flag_fields[] = {
    ROW(code, "code", API_TEXT, 0, NULL),
    ROW(text, "text", API_TEXT, 0, "One sentence."),
    ROW(context_tokens, "context_tokens", API_I64, API_MINUS_NULL, "Null: the whole run."),
    ROW(concurrency, "concurrency", API_INT, API_ZERO_NULL, "Null: the prefill row."),
};
#undef OF
static const struct api_object flag_object =
    TABLE("Flag", struct store_flag, flag_fields, "Why a moderator should look at a run.");

#define OF struct api_stored
static const struct api_field stored_fields[] = {
    ROW(url, "url", API_TEXT, 0, "The run's page."),
    ROW_LIST(flags, flag_count, "flags", &flag_object, "What looks implausible."),
};
#undef OF
const struct api_object api_run_stored = {.name = "StoredRun",
                                          .help = "The run as it is kept now.",
                                          .begins_with = &api_run,
                                          .fields = stored_fields,
                                          .count = ARRAY_LEN(stored_fields),
                                          .size = sizeof(struct api_stored)};

#define OF struct api_checked
static const struct api_field checked_fields[] = {
    ROW(valid, "valid", API_BOOL, 0, NULL),
    ROW(dry_run, "dry_run", API_BOOL, 0, "Nothing was stored."),
    ROW_LIST(flags, flag_count, "flags", &flag_object, "What looks implausible."),
};
#undef OF
const struct api_object api_run_checked =
    TABLE("RunChecked", struct api_checked, checked_fields, "The document could be published.");

#define OF struct store_revision
static const struct api_field revision_fields[] = {
    ROW(revision, "revision", API_INT, 0, "1, 2, ..."),
    ROW(created_ms, "created_at", API_TIME, 0, NULL),
    ROW(author, "user", API_TEXT, API_NULL, NULL),
    ROW(note, "note", API_TEXT, API_NULL, "Why there is a new document."),
    ROW(document_digest, "digest", API_TEXT, 0, "BLAKE2b-256 of the document, hex."),
    ROW(document_bytes, "document_bytes", API_I64, 0, NULL),
};
#undef OF
static const struct api_object revision_object =
    TABLE("Revision", struct store_revision, revision_fields, NULL);

#define OF struct store_revisions
static const struct api_field revisions_fields[] = {
    ROW_LIST(v, n, "revisions", &revision_object, "Newest first."),
};
#undef OF
const struct api_object api_run_revisions =
    TABLE("Revisions", struct store_revisions, revisions_fields, NULL);

const struct api_object api_run_document = {.name = "RunDocument", .is = API_RUN};

/* ---- boards ---------------------------------------------------------------------------------- */

#define OF struct api_ranked
static const struct api_field ranked_fields[] = {
    ROW_WORD(metric, "metric", api_metric_name, "What the board ranks."),
    ROW(row.value, "value", API_NUMBER, API_NULL, "tok/s; of ttft ms; of per_joule tok/J."),
    ROW(row.cell.context_tokens, "context_tokens", API_I64, 0, NULL),
    ROW(row.cell.concurrency, "concurrency", API_INT, API_ZERO_NULL, "Null: a prefill row."),
    ROW_WORD(row.cell.status, "status", cell_status_name, NULL),
    ROW(row.cell.flagged, "flagged", API_BOOL, 0, NULL),
    ROW(row.cell.total_tok_s, "total_tok_s", API_NUMBER, API_NULL, NULL),
    ROW(row.cell.per_request_tok_s, "per_request_tok_s", API_NUMBER, API_NULL, NULL),
    ROW(row.cell.ttft_ms, "ttft_ms", API_NUMBER, API_NULL, NULL),
    ROW(row.cell.itl_ms, "itl_ms", API_NUMBER, API_NULL, "Between two tokens of a stream."),
    ROW_OBJECT(row.run, "run", &api_run, NULL),
};
#undef OF
static const struct api_object ranked_object =
    TABLE("BoardRow", struct api_ranked, ranked_fields, "A cell of a run, and the run.");

#define OF struct api_ranked_rows
static const struct api_field board_fields[] = {
    ROW_LIST(v, n, "rows", &ranked_object, "Best first."),
    ROW_NEXT,
};
#undef OF
const struct api_object api_board = TABLE("Board", struct api_ranked_rows, board_fields, NULL);

void api_rank(const struct store_board_rows *rows, enum store_metric metric, struct arena *a,
              struct api_ranked_rows *ret)
{
    *ret = (struct api_ranked_rows){.v = arena_array(a, rows->n, sizeof *ret->v), .n = rows->n};
    for (size_t i = 0; i < rows->n; i++) {
        ret->v[i] = (struct api_ranked){.metric = metric, .row = rows->v[i]};
        if (rows->v[i].run.state == STORE_RUN_FLAGGED)
            ret->v[i].row.cell.flagged = true; /* with its run */
    }
    memcpy(ret->next, rows->next, sizeof ret->next);
}

/* ---- models ---------------------------------------------------------------------------------- */

#define BEST_FIGURES                                                                               \
    ROW(single_tok_s, "single_tok_s", API_NUMBER, API_NULL, "Best decode of one stream."),         \
        ROW(total_tok_s, "total_tok_s", API_NUMBER, API_NULL, "Best decode over all streams."),    \
        ROW(last_run_ms, "last_run_at", API_TIME, API_NULL, NULL)

#define OF struct store_model
static const struct api_field model_fields[] = {
    ROW(name, "name", API_TEXT, 0, NULL),
    ROW(base, "base_model", API_TEXT, API_NULL, "What it is a repackaging of."),
    ROW(organization, "organization", API_TEXT, API_NULL, NULL),
    ROW(run_count, "runs", API_I64, 0, "Listed ones; of a group: of all its members."),
    ROW(variant_count, "variants", API_I64, 0, "Members of its group with runs."),
    BEST_FIGURES,
};
#undef OF
static const struct api_object api_model = TABLE("Model", struct store_model, model_fields, NULL);

#define OF struct store_models
static const struct api_field models_fields[] = {ROW_LIST(v, n, "models", &api_model, NULL),
                                                 ROW_NEXT};
#undef OF
const struct api_object api_models = TABLE("Models", struct store_models, models_fields, NULL);

#define OF struct api_model_detail
static const struct api_field model_all_fields[] = {
    ROW_OBJECT(base, "model", &api_model, "The group, named by the original where it is known."),
    ROW_LIST(variants.v, variants.n, "variants", &api_model, "Its members, most runs first."),
    ROW_LIST(single.v, single.n, "best_single", &ranked_object,
             "Its best decode of one stream on each hardware."),
    ROW_LIST(total.v, total.n, "best_total", &ranked_object,
             "Its best decode over all streams on each hardware."),
    ROW_LIST(prefill.v, prefill.n, "best_prefill", &ranked_object,
             "Its best cold prefill on each hardware."),
};
#undef OF
const struct api_object api_model_all =
    TABLE("ModelDetail", struct api_model_detail, model_all_fields, NULL);

/* ---- organizations --------------------------------------------------------------------------- */

#define OF struct store_organization
static const struct api_field organization_fields[] = {
    ROW(name, "name", API_TEXT, 0, NULL),
    ROW(run_count, "runs", API_I64, 0, "Listed ones."),
    ROW(model_count, "models", API_I64, 0, NULL),
    BEST_FIGURES,
};
#undef OF
static const struct api_object api_organization =
    TABLE("Organization", struct store_organization, organization_fields, NULL);

#define OF struct store_organizations
static const struct api_field organizations_fields[] = {
    ROW_LIST(v, n, "organizations", &api_organization, NULL), ROW_NEXT};
#undef OF
const struct api_object api_organizations =
    TABLE("Organizations", struct store_organizations, organizations_fields, NULL);

#define OF struct api_organization_detail
static const struct api_field organization_all_fields[] = {
    ROW_OBJECT(organization, "organization", &api_organization, NULL),
    ROW_LIST(models.v, models.n, "models", &api_model, "Most runs first."),
};
#undef OF
const struct api_object api_organization_all =
    TABLE("OrganizationDetail", struct api_organization_detail, organization_all_fields, NULL);

/* ---- hardware -------------------------------------------------------------------------------- */

#define OF struct store_hardware
static const struct api_field hardware_fields[] = {
    ROW(slug, "slug", API_TEXT, 0, "\"2x-rtx-3090-24gb\""),
    ROW(title, "title", API_TEXT, 0, "\"2x RTX 3090 24GB\""),
    ROW(class, "class", API_TEXT, 0, "DISCRETE_GPU, UNIFIED or CPU_ONLY."),
    ROW(name, "name", API_TEXT, 0, "\"RTX 3090\""),
    ROW(card, "card", API_TEXT, API_NULL, "The slug of one such device."),
    ROW(count, "count", API_INT, 0, "GPUs; 0: none."),
    ROW(memory_gb, "memory_gb", API_INT, API_ZERO_NULL, "Of one device."),
    ROW(run_count, "runs", API_I64, 0, "Listed ones."),
    BEST_FIGURES,
};
#undef OF
const struct api_object api_hardware =
    TABLE("Hardware", struct store_hardware, hardware_fields, NULL);

#define OF struct store_hardwares
static const struct api_field hardwares_fields[] = {ROW_LIST(v, n, "hardware", &api_hardware, NULL),
                                                    ROW_NEXT};
#undef OF
const struct api_object api_hardwares =
    TABLE("HardwareList", struct store_hardwares, hardwares_fields, NULL);

#define OF struct api_hardware_detail
static const struct api_field hardware_all_fields[] = {
    ROW_OBJECT(hardware, "hardware", &api_hardware, NULL),
    ROW_LIST(others.v, others.n, "others", &api_hardware, "The same card in every number."),
    ROW_LIST(single.v, single.n, "best_single", &ranked_object,
             "The best decode of one stream of each model."),
    ROW_LIST(total.v, total.n, "best_total", &ranked_object,
             "The best decode over all streams of each model."),
};
#undef OF
const struct api_object api_hardware_all =
    TABLE("HardwareDetail", struct api_hardware_detail, hardware_all_fields, NULL);
