/* setup.c - one small function for each row that is not a plain string. */
#include "report/setup.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "report/plain.h"
#include "report/words.h"

#define SETUP_STRING(name, member)                                                                 \
    static void name(const struct result *r, const struct lang *l, struct buf *out)                \
    {                                                                                              \
        (void)l;                                                                                   \
        plain_add(out, r->member);                                                                 \
    }
SETUP_STRING(add_os, hardware.os)
SETUP_STRING(add_kernel, hardware.kernel)
SETUP_STRING(add_engine, engine.name)
SETUP_STRING(add_engine_version, engine.version)
SETUP_STRING(add_quantization, subject.quantization)
SETUP_STRING(add_backend, engine.backend)
SETUP_STRING(add_repository, engine.repository)
SETUP_STRING(add_commit, engine.commit)
SETUP_STRING(add_build, engine.build)
SETUP_STRING(add_model, subject.model)
SETUP_STRING(add_served_model, subject.served_model)
SETUP_STRING(add_revision, subject.revision)
SETUP_STRING(add_seed, run.seed)
SETUP_STRING(add_url, server.url)
SETUP_STRING(add_samples, samples.file)

/* ---- Hardware -------------------------------------------------------------------------------- */

static void add_type(const struct result *r, const struct lang *l, struct buf *out)
{
    plain_add(out, words_machine_type(l, r->hardware.type));
}

/* Adds what `add` says of each GPU, once for cards that say the same. */
static void add_per_gpu(const struct result *r, const struct lang *l, struct buf *out,
                        void (*add)(const struct gpu *g, const struct lang *l, struct buf *out))
{
    struct buf last, now;
    buf_init(&last, PLAIN_COMMAND_MAX);
    buf_init(&now, PLAIN_COMMAND_MAX);
    for (int i = 0; i < r->hardware.gpu_count; i++) {
        buf_reset(&now);
        add(&r->hardware.gpus[i], l, &now);
        if (now.len == 0 || (last.len == now.len && memcmp(last.p, now.p, now.len) == 0))
            continue;
        buf_addf(out, "%s%s", last.len ? " + " : "", now.p);
        buf_reset(&last);
        buf_add(&last, now.p, now.len);
    }
    buf_release(&last);
    buf_release(&now);
}

static void gpu_name(const struct gpu *g, const struct lang *l, struct buf *out)
{
    (void)l;
    plain_add(out, g->name ? gpu_short_name(g->name) : NULL);
}

static void gpu_vram(const struct gpu *g, const struct lang *l, struct buf *out)
{
    (void)l;
    if (g->vram_bytes)
        buf_addf(out, "%lld GB", memory_gb(g->vram_bytes));
}

static void gpu_driver(const struct gpu *g, const struct lang *l, struct buf *out)
{
    (void)l;
    plain_add(out, g->driver);
}

static void gpu_link(const struct gpu *g, const struct lang *l, struct buf *out)
{
    char now[64], most[64];
    if (!g->pcie_gen || !g->pcie_width)
        return;
    snprintf(now, sizeof now, "Gen%d x%d", g->pcie_gen, g->pcie_width);
    snprintf(most, sizeof most, "Gen%d x%d", g->pcie_gen_max, g->pcie_width_max);
    if (!g->pcie_gen_max || !g->pcie_width_max || strcmp(now, most) == 0)
        buf_adds(out, now);
    else
        say_setup_link_below(l, out, .link = now, .best = most);
}

static void gpu_power(const struct gpu *g, const struct lang *l, struct buf *out)
{
    char text[NUM_TEXT_MAX];
    if (g->power_limit_w > 0)
        buf_addf(out, "%s W", lang_number(l, text, g->power_limit_w, 0));
}

static void add_gpu(const struct result *r, const struct lang *l, struct buf *out)
{
    if (r->hardware.gpu_count > 1)
        buf_addf(out, "%dx ", r->hardware.gpu_count);
    add_per_gpu(r, l, out, gpu_name);
}

static void add_vram(const struct result *r, const struct lang *l, struct buf *out)
{
    struct buf each;
    buf_init(&each, PLAIN_COMMAND_MAX);
    add_per_gpu(r, l, &each, gpu_vram);
    if (r->hardware.gpu_count > 1 && each.len)
        say_setup_each(l, out, .size = each.p);
    else
        buf_add(out, each.p, each.len);
    buf_release(&each);
}

static void add_driver(const struct result *r, const struct lang *l, struct buf *out)
{
    add_per_gpu(r, l, out, gpu_driver);
}

static void add_link(const struct result *r, const struct lang *l, struct buf *out)
{
    add_per_gpu(r, l, out, gpu_link);
}

static void add_power(const struct result *r, const struct lang *l, struct buf *out)
{
    add_per_gpu(r, l, out, gpu_power);
}

static void add_cpu(const struct result *r, const struct lang *l, struct buf *out)
{
    (void)l;
    plain_add(out, r->hardware.cpu);
    if (r->hardware.cpu && r->hardware.cpu_cores)
        buf_addf(out, " (%dC)", r->hardware.cpu_cores);
}

static void add_ram(const struct result *r, const struct lang *l, struct buf *out)
{
    (void)l;
    if (r->hardware.ram_bytes)
        buf_addf(out, "%lld GB", memory_gb(r->hardware.ram_bytes));
}

/* ---- Run ------------------------------------------------------------------------------------- */

static void add_decode_test(const struct result *r, const struct lang *l, struct buf *out)
{
    if (r->decode_count > 0)
        buf_adds(out, word(l, WORD_SETUP_FIXED_DURATION));
}

static void add_prefill_mode(const struct result *r, const struct lang *l, struct buf *out)
{
    buf_adds(out, words_prefill_mode(l, r->plan.prefill_mode));
}

static void add_duration(const struct result *r, const struct lang *l, struct buf *out)
{
    char text[NUM_TEXT_MAX];
    if (r->plan.duration_ns)
        buf_addf(out, "%s s",
                 lang_number(l, text, ns_to_s(r->plan.duration_ns),
                             r->plan.duration_ns % NS_PER_S ? 1 : 0));
}

static void add_repeats(const struct result *r, const struct lang *l, struct buf *out)
{
    char text[NUM_TEXT_MAX];
    if (r->plan.repeats > 1)
        buf_adds(out, lang_number(l, text, r->plan.repeats, 0));
}

static void add_tokens(double tokens, const struct lang *l, struct buf *out)
{
    char text[NUM_TEXT_MAX];
    if (tokens > 0) /* false for NAN */
        say_setup_tokens(l, out, .count = lang_number(l, text, tokens, 0));
}

static void add_max_output(const struct result *r, const struct lang *l, struct buf *out)
{
    add_tokens((double)r->plan.max_output, l, out);
}

/* ---- Conditions ------------------------------------------------------------------------------ */

static void add_started(const struct result *r, const struct lang *l, struct buf *out)
{
    if (*r->run.started_at)
        lang_date(l, r->run.started_at, out);
}

static void add_took(const struct result *r, const struct lang *l, struct buf *out)
{
    if (r->run.duration_s > 0 && r->run.duration_s < 1e9)
        lang_duration(l, r->run.duration_s, out);
}

static void add_ended(const struct result *r, const struct lang *l, struct buf *out)
{
    if (r->run.ended_by && strcmp(r->run.ended_by, "done") != 0)
        plain_add(out, words_ended_by(l, r->run.ended_by));
}

static void add_transport(const struct result *r, const struct lang *l, struct buf *out)
{
    plain_add(out, words_transport(l, r->tool.transport));
}

static const char *source_of(const struct result *r, const char *name)
{
    for (size_t i = 0; i < r->server.fact_count; i++)
        if (r->server.facts[i].name && strcmp(r->server.facts[i].name, name) == 0)
            return r->server.facts[i].source;
    return NULL;
}

/* "147,456 tokens (launch command: --max-model-len)" */
static void add_sourced(const char *value, const char *source, const struct lang *l,
                        struct buf *out)
{
    struct buf plain;
    if (!*value)
        return;
    buf_init(&plain, 2 * (size_t)PLAIN_MAX);
    plain_add(&plain, source);
    if (plain.len)
        say_setup_sourced(l, out, .value = value, .source = plain.p);
    else
        buf_adds(out, value);
    buf_release(&plain);
}

static void add_sourced_tokens(double tokens, const char *source, const struct lang *l,
                               struct buf *out)
{
    struct buf value;
    buf_init(&value, 256);
    add_tokens(tokens, l, &value);
    add_sourced(value.p, source, l, out);
    buf_release(&value);
}

static void add_context_limit(const struct result *r, const struct lang *l, struct buf *out)
{
    add_sourced_tokens(r->server.context_limit, source_of(r, "context_limit"), l, out);
}

static void add_kv_budget(const struct result *r, const struct lang *l, struct buf *out)
{
    const char *source = r->server.kv_budget_source;
    add_sourced_tokens(r->server.kv_budget, source ? source : source_of(r, "kv_budget"), l, out);
}

static void add_max_running(const struct result *r, const struct lang *l, struct buf *out)
{
    char text[NUM_TEXT_MAX];
    if (r->server.max_running > 0)
        add_sourced(lang_number(l, text, r->server.max_running, 0), source_of(r, "max_running"), l,
                    out);
}

static void add_prompts(const struct result *r, const struct lang *l, struct buf *out)
{
    buf_adds(out, words_prompts(l, r->plan.prompts));
}

static void add_idle_ttft(const struct result *r, const struct lang *l, struct buf *out)
{
    char text[NUM_TEXT_MAX];
    if (r->run.idle_ttft_ms > 0)
        buf_addf(out, "%s ms",
                 lang_number(l, text, r->run.idle_ttft_ms, r->run.idle_ttft_ms < 100 ? 1 : 0));
}

static void add_temperature(const struct result *r, const struct lang *l, struct buf *out)
{
    char text[NUM_TEXT_MAX];
    if (!isnan(r->run.temperature))
        buf_adds(out, lang_brief(l, text, r->run.temperature));
}

static void add_client_host(const struct result *r, const struct lang *l, struct buf *out)
{
    struct buf raw, title;
    if (!r->client.host.cpu)
        return;
    buf_init(&raw, 2 * (size_t)RESULT_MAX_BYTES);
    buf_init(&title, 2 * (size_t)PLAIN_MAX);
    machine_title(&r->client.host, &raw);
    plain_add(&title, raw.p);
    say_setup_client(l, out, .machine = title.p,
                     .where = word(l, r->client.remote ? WORD_SETUP_REMOTE : WORD_SETUP_LOCAL));
    buf_release(&raw);
    buf_release(&title);
}

/* The row nearest above the matrix's highest concurrency, else the highest: what this client was
 * wrong by under such a load. NULL: the document is not one of ours. */
static json_t *selftest_row(json_t *document, int concurrency)
{
    json_t *best = NULL, *row;
    int64_t best_streams = 0, streams, bundle;
    size_t i;

    json_array_foreach(json_object_get(document, "rows"), i, row)
    {
        if (!json_int_at(row, "concurrency", &streams) || !json_int_at(row, "bundle", &bundle) ||
            bundle != 1 || json_is_true(json_object_get(row, "split")))
            continue;
        bool fits = streams >= concurrency, best_fits = best_streams >= concurrency;
        if (!best || (fits && (!best_fits || streams < best_streams)) ||
            (!fits && !best_fits && streams > best_streams)) {
            best = row;
            best_streams = streams;
        }
    }
    return best;
}

static void add_selftest(const struct result *r, const struct lang *l, struct buf *out)
{
    char count[NUM_TEXT_MAX], first[NUM_TEXT_MAX], between[NUM_TEXT_MAX];
    int64_t streams;
    double ttft, itl;

    if (!r->client.selftest)
        return;
    json_t *document = json_parse(r->client.selftest, strlen(r->client.selftest), "selftest", NULL);
    json_t *row =
        selftest_row(document, r->plan.level_count ? r->plan.levels[r->plan.level_count - 1] : 1);
    if (json_int_at(row, "concurrency", &streams) &&
        json_number_at(row, "ttft_error_ms_p50", &ttft) &&
        json_number_at(row, "itl_error_ms_p99", &itl))
        say_setup_selftest_row(l, out, .streams = num_grouped(count, (double)streams, 0),
                               .ttft = num_grouped(first, ttft, 2),
                               .itl = num_grouped(between, itl, 2));
    else
        buf_adds(out, word(l, WORD_SETUP_SELFTEST_ATTACHED));
    json_decref(document);
}

/* ---- the blocks ------------------------------------------------------------------------------ */

static const struct setup_row hardware_rows[] = {
    {WORD_SETUP_TYPE, add_type}, {WORD_SETUP_GPU, add_gpu},
    {WORD_SETUP_VRAM, add_vram}, {WORD_SETUP_DRIVER, add_driver},
    {WORD_SETUP_PCIE, add_link}, {WORD_SETUP_POWER_LIMIT, add_power},
    {WORD_SETUP_CPU, add_cpu},   {WORD_SETUP_RAM, add_ram},
    {WORD_SETUP_OS, add_os},     {WORD_SETUP_KERNEL, add_kernel},
};

static const struct setup_row engine_rows[] = {
    {WORD_SETUP_ENGINE, add_engine},
    {WORD_SETUP_VERSION, add_engine_version},
    {WORD_SETUP_QUANTIZATION, add_quantization},
    {WORD_SETUP_BACKEND, add_backend},
    {WORD_SETUP_REPOSITORY, add_repository},
    {WORD_SETUP_COMMIT, add_commit},
    {WORD_SETUP_BUILD, add_build},
};

static const struct setup_row run_rows[] = {
    {WORD_SETUP_MODEL, add_model},
    {WORD_SETUP_SERVED_MODEL, add_served_model},
    {WORD_SETUP_REVISION, add_revision},
    {WORD_SETUP_TOOL, headline_tool},
    {WORD_SETUP_DECODE_TEST, add_decode_test},
    {WORD_SETUP_PREFILL_MODE, add_prefill_mode},
    {WORD_SETUP_DURATION, add_duration},
    {WORD_SETUP_REPEATS, add_repeats},
    {WORD_SETUP_MAX_OUTPUT, add_max_output},
};

static const struct setup_row condition_rows[] = {
    {WORD_SETUP_STARTED, add_started},
    {WORD_SETUP_TOOK, add_took},
    {WORD_SETUP_ENDED, add_ended},
    {WORD_SETUP_SERVER, add_url},
    {WORD_SETUP_CONTEXT_LIMIT, add_context_limit},
    {WORD_SETUP_KV_BUDGET, add_kv_budget},
    {WORD_SETUP_MAX_RUNNING, add_max_running},
    {WORD_SETUP_PROMPTS, add_prompts},
    {WORD_SETUP_TEMPERATURE, add_temperature},
    {WORD_SETUP_SEED, add_seed},
    {WORD_SETUP_TOKENS_COUNTED, remarks_tokens},
    {WORD_SETUP_IDLE_TTFT, add_idle_ttft},
    {WORD_SETUP_MEASURED_FROM, add_client_host},
    {WORD_SETUP_TRANSPORT, add_transport},
    {WORD_SETUP_CLIENT_VERDICT, remarks_client},
    {WORD_SETUP_SELFTEST, add_selftest},
    {WORD_SETUP_SAMPLES, add_samples},
};

const struct setup_block setup_blocks[SETUP_BLOCKS] = {
    {WORD_SETUP_HARDWARE, hardware_rows, ARRAY_LEN(hardware_rows)},
    {WORD_SETUP_ENGINE_BLOCK, engine_rows, ARRAY_LEN(engine_rows)},
    {WORD_SETUP_RUN, run_rows, ARRAY_LEN(run_rows)},
    {WORD_SETUP_CONDITIONS, condition_rows, ARRAY_LEN(condition_rows)},
};
