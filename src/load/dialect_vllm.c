/* dialect_vllm.c - vLLM: /version, /metrics always on, /tokenize, per-chunk usage. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "load/dialect.h"
#include "load/metrics_text.h"

static const char info[] = "vllm:cache_config_info";
static const char model_source[] = "GET /v1/models root";

/* Behind a gateway the models list may be somebody else's. */
static const char *detect(struct pages *pages)
{
    const struct page *metrics = pages_get(pages, "/metrics");
    return metrics->status == 200 && strstr(metrics->body, "vllm:") ? "GET /metrics vllm:" : NULL;
}

/* Models with state-space layers beside attention: their blocks are padded to other sizes than the
 * one that is told. */
static bool is_hybrid(const char *text, size_t n)
{
    double ignored;
    return metrics_sum_label(text, n, info, "mamba_page_size_padded", &ignored) ||
           metrics_sum_label(text, n, info, "mamba_block_size", &ignored);
}

/* Trust in this order: the engine's own total (several engines are summed), then blocks x size, but
 * only when that is at least one full context: hybrid models report a block size that is not the
 * real one, and the product is then far too small. */
static void learn_kv(const char *text, size_t n, struct server_facts *facts)
{
    double tokens, blocks, size;
    struct metric_line line;
    size_t pos = 0, engines = 0;

    if (metrics_sum_label(text, n, info, "kv_cache_size_tokens", &tokens) &&
        known_number_set(&facts->kv_budget, (int64_t)tokens, "GET /metrics %s kv_cache_size_tokens",
                         info))
        return;
    while (metrics_next(text, n, &pos, &line))
        engines += line.name_len == sizeof info - 1 && memcmp(line.name, info, line.name_len) == 0;
    if (engines == 0 || is_hybrid(text, n) ||
        !metrics_sum_label(text, n, info, "num_gpu_blocks", &blocks) ||
        !metrics_sum_label(text, n, info, "block_size", &size))
        return;
    tokens = blocks * size / (double)engines; /* sum of blocks x mean size */
    if (facts->context_limit.value == 0 || tokens < (double)facts->context_limit.value)
        return;
    known_number_set(&facts->kv_budget, (int64_t)tokens,
                     "GET /metrics %s num_gpu_blocks x block_size", info);
}

/* The model's Hugging Face id, or the folder its files lie in. That says more of the machine than
 * of the model, but for its last part; in the hub's cache it ends ORG--NAME/snapshots/REVISION. */
static void learn_model(const char *root, struct server_facts *facts)
{
    static const char hub[] = "/models--", snapshots[] = "/snapshots/";
    const char *repo = strstr(root, hub), *snapshot = repo ? strstr(repo, snapshots) : NULL;
    const char *dashes = snapshot ? strstr(repo + sizeof hub - 1, "--") : NULL;
    size_t n = strlen(root);

    if (dashes && dashes < snapshot) {
        char id[sizeof facts->model.value];
        const char *org = repo + sizeof hub - 1, *name = dashes + 2;
        const char *revision = snapshot + sizeof snapshots - 1;
        snprintf(id, sizeof id, "%.*s/%.*s", (int)(dashes - org), org, (int)(snapshot - name),
                 name);
        known_text_set(&facts->model, id, model_source);
        snprintf(id, sizeof id, "%.*s", (int)strcspn(revision, "/"), revision);
        known_text_set(&facts->revision, id, model_source);
        return;
    }
    while (n > 1 && root[n - 1] == '/')
        n--;
    const char *slash = *root == '/' || *root == '.' ? memrchr(root, '/', n) : NULL;
    const char *name = slash && slash + 1 < root + n ? slash + 1 : root;
    char last[sizeof facts->model.value];
    snprintf(last, sizeof last, "%.*s", (int)(root + n - name), name);
    known_text_set(&facts->model, last, model_source);
}

static void learn(struct pages *pages, const char *model, struct server_facts *facts)
{
    const char *parent =
        json_string_at(dialect_card(pages, "/v1/models", model), "parent"); /* an adapter's */
    const struct page *metrics = pages_get(pages, "/metrics");

    const char *root = json_string_at(dialect_card(pages, "/v1/models", model), "root");

    if (root)
        learn_model(root, facts);
    if (facts->context_limit.value == 0 && parent)
        known_number_from(&facts->context_limit, pages, parent,
                          (struct place){"/v1/models", "@max_model_len"});
    if (metrics->status == 200)
        learn_kv(metrics->body, metrics->len, facts);
}

static bool count_tokens(struct fetcher *f, const char *model, const char *text, int64_t *ret)
{
    json_t *answer =
        dialect_post(f, "/tokenize",
                     json_pack("{s:s, s:[{s:s, s:s}], s:b}", "model", model, "messages", "role",
                               "user", "content", text, "add_generation_prompt", 1));
    bool ok = json_int_at(answer, "count", ret);
    json_decref(answer);
    return ok;
}

const struct dialect dialect_vllm = {
    .name = "vllm",
    .repository = "github.com/vllm-project/vllm",
    .owner = "vllm",
    .detect = detect,
    .places =
        {
            .version = {{"/version", "version"}},
            .context_limit = {{"/v1/models", "@max_model_len"}},
        },
    .learn = learn,
    .metrics =
        {
            .running = {"vllm:num_requests_running"},
            .waiting = {"vllm:num_requests_waiting"},
            .generated = {"vllm:generation_tokens_total", "vllm:generation_tokens"},
            .prompt = {"vllm:prompt_tokens_total", "vllm:prompt_tokens"},
            .kv_used = {"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"},
            .preemptions = {"vllm:num_preemptions_total", "vllm:num_preemptions"},
            .prefix_hits = {"vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"},
            .prefill_s = {"vllm:request_prefill_time_seconds_sum"},
            .prefills = {"vllm:request_prefill_time_seconds_count"},
        },
    .count_tokens = count_tokens,
    .count_path = "/tokenize",
    .obeys_ignore_eos = true,
};
