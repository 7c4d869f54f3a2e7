/* dialect_lmdeploy.c - LMDeploy: metrics on by default in newer versions, tokenizing at /v1/encode.
 * Its usage is final only; it does not say its limits. */
#include "base/json.h"
#include "load/dialect.h"

static bool count_tokens(struct fetcher *f, const char *model, const char *text, int64_t *ret)
{
    json_t *answer =
        dialect_post(f, "/v1/encode",
                     json_pack("{s:s, s:b, s:b}", "input", text, "do_preprocess", 1, "add_bos", 1));
    (void)model;
    bool ok = json_int_at(answer, "length", ret);
    json_decref(answer);
    return ok;
}

const struct dialect dialect_lmdeploy = {
    .name = "lmdeploy",
    .repository = "github.com/InternLM/lmdeploy",
    .owner = "lmdeploy",
    .metrics =
        {
            .running = {"lmdeploy:num_requests_running"},
            .waiting = {"lmdeploy:num_requests_waiting"},
            .generated = {"lmdeploy:generation_tokens_total"},
            .prompt = {"lmdeploy:prompt_tokens_total"},
            .kv_used = {"lmdeploy:gpu_cache_usage_perc"},
        },
    .count_tokens = count_tokens,
    .count_path = "/v1/encode",
    .obeys_ignore_eos = true,
};
