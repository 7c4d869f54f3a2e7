/* dialect_vllm.c - vLLM: /version, /metrics always on, /tokenize, per-chunk usage. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "load/dialect.h"
#include "load/metrics_text.h"

static bool detect(struct pages *pages)
{
    const struct page *metrics = pages_get(pages, "/metrics");
    if (metrics->status == 200 && strstr(metrics->body, "vllm:"))
        return true;
    json_t *card = json_at(pages_json(pages, "/v1/models"), "data.0");
    const char *owner = json_string_at(card, "owned_by");
    return owner && strcmp(owner, "vllm") == 0;
}

/* Trust in this order: the engine's own total (several engines are summed), then blocks x size, but
 * only when that is at least one full context: hybrid models report a block size that is not the
 * real one, and the product is then far too small. */
static void learn_kv(const char *text, size_t n, struct server_facts *facts)
{
    static const char info[] = "vllm:cache_config_info";
    double tokens, blocks, size;
    struct metric_line line;
    size_t pos = 0, engines = 0;

    if (metrics_sum_label(text, n, info, "kv_cache_size_tokens", &tokens) && tokens > 0) {
        facts->kv_budget = (int64_t)tokens;
        snprintf(facts->kv_source, sizeof facts->kv_source, "GET /metrics %s kv_cache_size_tokens",
                 info);
        return;
    }
    while (metrics_next(text, n, &pos, &line))
        engines += line.name_len == sizeof info - 1 && memcmp(line.name, info, line.name_len) == 0;
    if (engines == 0 || !metrics_sum_label(text, n, info, "num_gpu_blocks", &blocks) ||
        !metrics_sum_label(text, n, info, "block_size", &size))
        return;
    tokens = blocks * size / (double)engines; /* sum of blocks x mean size */
    if (facts->context_limit == 0 || tokens < (double)facts->context_limit)
        return;
    facts->kv_budget = (int64_t)tokens;
    snprintf(facts->kv_source, sizeof facts->kv_source,
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
        char id[sizeof facts->model];
        const char *org = repo + sizeof hub - 1, *name = dashes + 2;
        const char *revision = snapshot + sizeof snapshots - 1;
        snprintf(id, sizeof id, "%.*s/%.*s", (int)(dashes - org), org, (int)(snapshot - name),
                 name);
        text_printable(facts->model, sizeof facts->model, id, strlen(id));
        text_printable(facts->revision, sizeof facts->revision, revision, strcspn(revision, "/"));
        return;
    }
    while (n > 1 && root[n - 1] == '/')
        n--;
    const char *slash = *root == '/' || *root == '.' ? memrchr(root, '/', n) : NULL;
    const char *name = slash && slash + 1 < root + n ? slash + 1 : root;
    text_printable(facts->model, sizeof facts->model, name, (size_t)(root + n - name));
}

static void learn(struct pages *pages, const char *model, struct server_facts *facts)
{
    json_t *card = dialect_model_card(pages, model);
    const struct page *metrics = pages_get(pages, "/metrics");

    dialect_copy(facts->version, sizeof facts->version, pages_json(pages, "/version"), "version");
    if (json_string_at(card, "root"))
        learn_model(json_string_at(card, "root"), facts);
    if (card && json_int_at(card, "max_model_len", &facts->context_limit))
        snprintf(facts->context_source, sizeof facts->context_source,
                 "GET /v1/models max_model_len");
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
    .detect = detect,
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
    .obeys_ignore_eos = true,
};
