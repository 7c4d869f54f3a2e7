/* dialect_sglang.c - SGLang: /server_info (older: /get_server_info), metrics when switched on,
 * aborts by request id, since a closed connection may go on decoding there. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "load/dialect.h"

/* Where this version says it. */
static const char *info_path(struct pages *pages)
{
    return pages_json(pages, "/server_info") ? "/server_info" : "/get_server_info";
}

static bool detect(struct pages *pages)
{
    json_t *info = pages_json(pages, info_path(pages));
    if (json_at(info, "max_total_num_tokens") || json_at(info, "internal_states"))
        return true;
    const char *owner = json_string_at(pages_json(pages, "/v1/models"), "data.0.owned_by");
    return owner && strcmp(owner, "sglang") == 0;
}

static void learn(struct pages *pages, const char *model, struct server_facts *facts)
{
    const char *path = info_path(pages);
    json_t *info = pages_json(pages, path), *card = dialect_model_card(pages, model);
    int64_t tokens, ranks = 1;

    dialect_copy(facts->version, sizeof facts->version, info, "version");
    dialect_copy(facts->model, sizeof facts->model, info, "model_path");
    dialect_copy(facts->quantization, sizeof facts->quantization, info, "quantization");
    dialect_copy(facts->revision, sizeof facts->revision, info, "revision");
    if (card && json_int_at(card, "max_model_len", &facts->context_limit))
        snprintf(facts->context_source, sizeof facts->context_source,
                 "GET /v1/models max_model_len");
    /* the figure is one rank's pool; data-parallel ranks have one each */
    if (json_int_at(info, "max_total_num_tokens", &tokens) && tokens > 0) {
        if (json_int_at(info, "dp_size", &ranks) && ranks > 1)
            tokens *= ranks;
        facts->kv_budget = tokens;
        snprintf(facts->kv_source, sizeof facts->kv_source, "GET %s max_total_num_tokens%s", path,
                 ranks > 1 ? " x dp_size" : "");
    }
    if (json_int_at(info, "max_running_requests", &facts->max_running))
        snprintf(facts->max_running_source, sizeof facts->max_running_source,
                 "GET %s max_running_requests", path);
}

const struct dialect dialect_sglang = {
    .name = "sglang",
    .repository = "github.com/sgl-project/sglang",
    .detect = detect,
    .learn = learn,
    .metrics =
        {
            .running = {"sglang:num_running_reqs", "sglang_num_running_reqs"},
            .waiting = {"sglang:num_queue_reqs", "sglang_num_queue_reqs"},
            .generated = {"sglang:generation_tokens_total", "sglang_generation_tokens_total"},
            .prompt = {"sglang:prompt_tokens_total", "sglang_prompt_tokens_total"},
            .kv_used = {"sglang:full_token_usage", "sglang:token_usage"},
        },
    .abort_path = "/abort_request",
    .obeys_ignore_eos = true,
};
