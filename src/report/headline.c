/* headline.c - what stands above the figures. */
#include "report/headline.h"

#include <string.h>

#include "base/num.h"
#include "report/plain.h"
#include "report/words.h"

void axes_of(const struct result *r, struct axes *ret)
{
    memset(ret, 0, sizeof *ret);
    for (size_t i = 0; i < r->plan.context_count; i++)
        plan_insert(ret->contexts, &ret->context_count, PLAN_MAX_CONTEXTS, r->plan.contexts[i]);
    for (size_t i = 0; i < r->plan.level_count; i++)
        plan_insert(ret->levels, &ret->level_count, PLAN_MAX_LEVELS, r->plan.levels[i]);
    for (size_t i = 0; i < r->decode_count; i++) {
        const struct cell *c = &r->decode[i];
        plan_insert(ret->contexts, &ret->context_count, PLAN_MAX_CONTEXTS, c->context_tokens);
        plan_insert(ret->levels, &ret->level_count, PLAN_MAX_LEVELS, c->concurrency);
    }
    for (size_t i = 0; i < r->prefill_count; i++)
        plan_insert(ret->prefill, &ret->prefill_count, PLAN_MAX_CONTEXTS,
                    r->prefill[i].context_tokens);
}

/* The part of a Hugging Face id after the owner. */
static const char *model_name(const struct result *r)
{
    const char *model = r->subject.model ? r->subject.model : r->subject.served_model;
    const char *slash = model ? strrchr(model, '/') : NULL;
    if (!model)
        return "unknown model";
    return slash && slash[1] ? slash + 1 : model;
}

void headline_title(const struct result *r, struct buf *out)
{
    struct buf machine;
    buf_init(&machine, 2 * (size_t)RESULT_MAX_BYTES);
    machine_title(&r->hardware, &machine);
    plain_add(out, model_name(r));
    buf_adds(out, " on ");
    plain_add(out, machine.p);
    buf_release(&machine);
}

/* Parts with a dot between; those that are NULL are left out. */
static void add_dotted(struct buf *out, const char *const *parts, size_t count)
{
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        if (!parts[i])
            continue;
        buf_adds(out, first ? "" : " · ");
        plain_add(out, parts[i]);
        first = false;
    }
}

void headline_engine(const struct result *r, struct buf *out)
{
    const char *const parts[] = {r->engine.name, r->engine.version, r->subject.quantization};
    add_dotted(out, parts, ARRAY_LEN(parts));
}

/* "6 contexts (0–136K)" */
static void add_axis(struct buf *out, const int64_t *values, size_t count, const char *one,
                     const char *many)
{
    char a[NUM_TEXT_MAX], b[NUM_TEXT_MAX];
    if (count == 0)
        buf_addf(out, "no %s", many);
    else if (count == 1)
        buf_addf(out, "1 %s (%s)", one, num_size_text(a, values[0]));
    else
        buf_addf(out, "%zu %s (%s–%s)", count, many, num_size_text(a, values[0]),
                 num_size_text(b, values[count - 1]));
}

void headline_grid(const struct result *r, struct buf *out)
{
    struct axes axes;
    axes_of(r, &axes);
    add_axis(out, axes.contexts, axes.context_count, "context", "contexts");
    buf_adds(out, " × ");
    add_axis(out, axes.levels, axes.level_count, "concurrency level", "concurrency levels");
    for (size_t i = 0; i < axes.prefill_count; i++) {
        char text[NUM_TEXT_MAX];
        buf_addf(out, "%s%s", i ? ", " : " · prefill at ", num_size_text(text, axes.prefill[i]));
    }
}

static void add_tool(const struct result *r, struct buf *out)
{
    plain_add(out, r->tool.name);
    if (r->tool.name && r->tool.version)
        buf_adds(out, " v");
    plain_add(out, r->tool.version);
}

void headline_by(const struct result *r, struct buf *out)
{
    size_t before = out->len;
    if (r->by) {
        buf_adds(out, "by ");
        plain_add(out, r->by);
    }
    if (r->tool.name) {
        buf_adds(out, out->len > before ? " · " : "");
        add_tool(r, out);
    }
    if (r->kind) {
        buf_adds(out, out->len > before ? " · " : "");
        plain_add(out, words_kind(r->kind));
    }
}

/* Setup: one small function for each row that is not a plain string. */

#define SETUP_STRING(name, member)                                                                 \
    static void name(const struct result *r, struct buf *out)                                      \
    {                                                                                              \
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
SETUP_STRING(add_started, run.started_at)

static void add_type(const struct result *r, struct buf *out)
{
    plain_add(out, words_machine_type(r->hardware.type));
}

/* Adds what `add` says of each GPU, once for cards that say the same. */
static void add_per_gpu(const struct result *r, struct buf *out,
                        void (*add)(const struct gpu *g, struct buf *out))
{
    struct buf last, now;
    buf_init(&last, PLAIN_COMMAND_MAX);
    buf_init(&now, PLAIN_COMMAND_MAX);
    for (int i = 0; i < r->hardware.gpu_count; i++) {
        buf_reset(&now);
        add(&r->hardware.gpus[i], &now);
        if (now.len == 0 || (last.len == now.len && memcmp(last.p, now.p, now.len) == 0))
            continue;
        buf_addf(out, "%s%s", last.len ? " + " : "", now.p);
        buf_reset(&last);
        buf_add(&last, now.p, now.len);
    }
    buf_release(&last);
    buf_release(&now);
}

static void gpu_name(const struct gpu *g, struct buf *out)
{
    plain_add(out, g->name ? gpu_short_name(g->name) : NULL);
}

static void gpu_vram(const struct gpu *g, struct buf *out)
{
    if (g->vram_bytes)
        buf_addf(out, "%lld GB", memory_gb(g->vram_bytes));
}

static void gpu_driver(const struct gpu *g, struct buf *out)
{
    plain_add(out, g->driver);
}

static void gpu_link(const struct gpu *g, struct buf *out)
{
    if (g->pcie_gen && g->pcie_width)
        buf_addf(out, "Gen%d x%d", g->pcie_gen, g->pcie_width);
    if (g->pcie_gen && g->pcie_width && g->pcie_gen_max && g->pcie_width_max &&
        (g->pcie_gen != g->pcie_gen_max || g->pcie_width != g->pcie_width_max))
        buf_addf(out, " (of Gen%d x%d)", g->pcie_gen_max, g->pcie_width_max);
}

static void gpu_power(const struct gpu *g, struct buf *out)
{
    char text[NUM_TEXT_MAX];
    if (g->power_limit_w > 0)
        buf_addf(out, "%s W", num_grouped(text, g->power_limit_w, 0));
}

static void add_gpu(const struct result *r, struct buf *out)
{
    if (r->hardware.gpu_count > 1)
        buf_addf(out, "%dx ", r->hardware.gpu_count);
    add_per_gpu(r, out, gpu_name);
}

static void add_vram(const struct result *r, struct buf *out)
{
    size_t before = out->len;
    add_per_gpu(r, out, gpu_vram);
    if (r->hardware.gpu_count > 1 && out->len > before)
        buf_adds(out, " each");
}

static void add_driver(const struct result *r, struct buf *out)
{
    add_per_gpu(r, out, gpu_driver);
}

static void add_link(const struct result *r, struct buf *out)
{
    add_per_gpu(r, out, gpu_link);
}

static void add_power(const struct result *r, struct buf *out)
{
    add_per_gpu(r, out, gpu_power);
}

static void add_cpu(const struct result *r, struct buf *out)
{
    plain_add(out, r->hardware.cpu);
    if (r->hardware.cpu && r->hardware.cpu_cores)
        buf_addf(out, " (%dC)", r->hardware.cpu_cores);
}

static void add_ram(const struct result *r, struct buf *out)
{
    if (r->hardware.ram_bytes)
        buf_addf(out, "%lld GB", memory_gb(r->hardware.ram_bytes));
}

static void add_decode_test(const struct result *r, struct buf *out)
{
    if (r->decode_count > 0)
        buf_adds(out, "Fixed duration");
}

static void add_prefill_mode(const struct result *r, struct buf *out)
{
    buf_adds(out, words_prefill_mode(r->plan.prefill_mode));
}

static void add_duration(const struct result *r, struct buf *out)
{
    char text[NUM_TEXT_MAX];
    if (r->plan.duration_ns)
        buf_addf(out, "%s s",
                 num_grouped(text, ns_to_s(r->plan.duration_ns),
                             r->plan.duration_ns % NS_PER_S ? 1 : 0));
}

static void add_repeats(const struct result *r, struct buf *out)
{
    if (r->plan.repeats > 1)
        buf_addf(out, "%d", r->plan.repeats);
}

static void add_tokens(struct buf *out, double tokens)
{
    char text[NUM_TEXT_MAX];
    if (tokens > 0) /* false for NAN */
        buf_addf(out, "%s tokens", num_grouped(text, tokens, 0));
}

static void add_max_output(const struct result *r, struct buf *out)
{
    add_tokens(out, (double)r->plan.max_output);
}

static void add_context_limit(const struct result *r, struct buf *out)
{
    add_tokens(out, r->server.context_limit);
}

static void add_kv_budget(const struct result *r, struct buf *out)
{
    add_tokens(out, r->server.kv_budget);
}

static void add_took(const struct result *r, struct buf *out)
{
    char text[NUM_TEXT_MAX];
    if (r->run.duration_s > 0 && r->run.duration_s < 1e9)
        buf_adds(out, num_duration_text(text, (int64_t)(r->run.duration_s * 1e9)));
}

static const struct setup_row hardware_rows[] = {
    {"Type", add_type}, {"GPU", add_gpu},           {"VRAM", add_vram}, {"Driver", add_driver},
    {"PCIe", add_link}, {"Power limit", add_power}, {"CPU", add_cpu},   {"RAM", add_ram},
    {"OS", add_os},     {"Kernel", add_kernel},
};

static const struct setup_row engine_rows[] = {
    {"Engine", add_engine},   {"Version", add_engine_version}, {"Quantization", add_quantization},
    {"Backend", add_backend}, {"Repository", add_repository},  {"Commit", add_commit},
    {"Build", add_build},
};

static const struct setup_row run_rows[] = {
    {"Model", add_model},
    {"Served model", add_served_model},
    {"Revision", add_revision},
    {"Benchmark tool", add_tool},
    {"Decode test", add_decode_test},
    {"Prefill mode", add_prefill_mode},
    {"Time per measurement", add_duration},
    {"Repeats", add_repeats},
    {"Max output", add_max_output},
    {"Context limit", add_context_limit},
    {"KV budget", add_kv_budget},
    {"Started", add_started},
    {"Took", add_took},
};

const struct setup_block setup_blocks[SETUP_BLOCKS] = {
    {"Hardware", hardware_rows, ARRAY_LEN(hardware_rows)},
    {"Engine", engine_rows, ARRAY_LEN(engine_rows)},
    {"Run", run_rows, ARRAY_LEN(run_rows)},
};
