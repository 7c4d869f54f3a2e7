/* dialect_sglang.c - SGLang: /server_info (older: /get_server_info), metrics when switched on,
 * aborts by request id, since a closed connection may go on decoding there.
 *
 * Its totals of tokens move only when a request ends; realtime_tokens_total moves with every step
 * (the first token of an answer is none of its decode mode), in versions that have it. */
#include "base/json.h"
#include "load/dialect.h"

/* A request may be refused for two reasons: it is longer than the model's context, or longer than
 * what the pool can hold of one request. The smaller one is the limit; a difference of a few tokens
 * is the server's margin. */
static void learn_limit(struct pages *pages, struct server_facts *facts)
{
    enum { MARGIN = 64 };
    static const struct place input[] = {{"/server_info", "max_req_input_len"},
                                         {"/get_server_info", "max_req_input_len"}};
    struct known_number pool = {0};

    if (!known_number_from(&pool, pages, "", input[0]) &&
        !known_number_from(&pool, pages, "", input[1]))
        return;
    if (facts->context_limit.value > 0 && pool.value + MARGIN >= facts->context_limit.value)
        return;
    facts->model_context = facts->context_limit;
    facts->context_limit = pool;
}

static void learn(struct pages *pages, const char *model, struct server_facts *facts)
{
    const char *path = pages_json(pages, "/server_info") ? "/server_info" : "/get_server_info";
    int64_t ranks = 1;

    (void)model;
    learn_limit(pages, facts);
    /* the figure is one rank's pool; data-parallel ranks have one each */
    if (facts->kv_budget.value > 0 && json_int_at(pages_json(pages, path), "dp_size", &ranks) &&
        ranks > 1)
        known_number_set(&facts->kv_budget, facts->kv_budget.value * ranks,
                         "GET %s max_total_num_tokens x dp_size", path);
}

/* Every version takes a prompt, the newest ones messages as well: the text is counted without the
 * chat template, which is the same for all. */
static bool count_tokens(struct fetcher *f, const char *model, const char *text, int64_t *ret)
{
    json_t *answer =
        dialect_post(f, "/tokenize", json_pack("{s:s, s:s}", "model", model, "prompt", text));
    bool ok = json_int_at(answer, "count", ret);
    json_decref(answer);
    return ok;
}

#define INFO(member)                                                                               \
    {"/server_info", member},                                                                      \
    {                                                                                              \
        "/get_server_info", member                                                                 \
    }

const struct dialect dialect_sglang = {
    .name = "sglang",
    .repository = "github.com/sgl-project/sglang",
    .owner = "sglang",
    .signs = {{"/server_info", "max_total_num_tokens", NULL},
              {"/server_info", "internal_states", NULL},
              {"/get_server_info", "max_total_num_tokens", NULL}},
    .places =
        {
            .version = {INFO("version")},
            .model = {INFO("model_path"), {"/model_info", "model_path"}},
            .quantization = {INFO("quantization")},
            .revision = {INFO("revision")},
            .context_limit = {{"/v1/models", "@max_model_len"}, INFO("context_length")},
            .kv_budget = {INFO("max_total_num_tokens")},
            .max_running = {INFO("max_running_requests")},
        },
    .learn = learn,
    .metrics =
        {
            .running = {"sglang:num_running_reqs", "sglang_num_running_reqs"},
            .waiting = {"sglang:num_queue_reqs", "sglang_num_queue_reqs"},
            .generated = {"sglang:realtime_tokens_total{mode=\"decode\"}",
                          "sglang_realtime_tokens_total{mode=\"decode\"}"},
            .prompt = {"sglang:prompt_tokens_total", "sglang_prompt_tokens_total"},
            .kv_used = {"sglang:full_token_usage", "sglang:token_usage", "sglang_token_usage"},
            .prefix_hits = {"sglang:cached_tokens_total", "sglang_cached_tokens_total"},
        },
    .metrics_option = "--enable-metrics",
    .count_tokens = count_tokens,
    .count_path = "/tokenize",
    .abort_path = "/abort_request",
    .obeys_ignore_eos = true,
};
