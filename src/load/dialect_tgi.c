/* dialect_tgi.c - Text Generation Inference: /info, metrics always on.
 *
 * Its output counter is a histogram that moves when a request ends, so it is not used as a live
 * count. The budget of a batch is in /info of older versions; the gauge of that name in /metrics
 * is the present batch's, 0 on an idle server. */
#include "base/json.h"
#include "load/dialect.h"

static bool count_tokens(struct fetcher *f, const char *model, const char *text, int64_t *ret)
{
    json_t *answer = dialect_post(f, "/chat_tokenize",
                                  json_pack("{s:s, s:[{s:s, s:s}]}", "model", model, "messages",
                                            "role", "user", "content", text));
    json_t *tokens = json_at(answer, "tokenize_response");
    bool ok = json_is_array(tokens);
    if (ok)
        *ret = (int64_t)json_array_size(tokens);
    json_decref(answer);
    return ok;
}

const struct dialect dialect_tgi = {
    .name = "tgi",
    .repository = "github.com/huggingface/text-generation-inference",
    .signs = {{"/info", "max_total_tokens", NULL}},
    .places =
        {
            .version = {{"/info", "version"}},
            .build = {{"/info", "docker_label"}, {"/info", "sha"}},
            .model = {{"/info", "model_id"}},
            .revision = {{"/info", "model_sha"}},
            .context_limit = {{"/info", "max_total_tokens"}},
            .kv_budget = {{"/info", "max_batch_total_tokens"}},
        },
    .metrics =
        {
            .running = {"tgi_batch_current_size"},
            .waiting = {"tgi_queue_size"},
            .prompt = {"tgi_request_input_length_sum"},
        },
    .count_tokens = count_tokens,
    .count_path = "/chat_tokenize",
};
