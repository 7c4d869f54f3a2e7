/* dialect_tabby.c - TabbyAPI: /v1/model with the loaded model's parameters; no metrics. Its cache
 * has a size of its own, which may be larger than one context. */
#include "base/json.h"
#include "load/dialect.h"

static bool count_tokens(struct fetcher *f, const char *model, const char *text, int64_t *ret)
{
    json_t *answer =
        dialect_post(f, "/v1/token/encode",
                     json_pack("{s:[{s:s, s:s}]}", "text", "role", "user", "content", text));
    (void)model;
    bool ok = json_int_at(answer, "length", ret);
    json_decref(answer);
    return ok;
}

const struct dialect dialect_tabby = {
    .name = "tabbyapi",
    .repository = "github.com/theroyallab/tabbyAPI",
    .owner = "tabbyAPI",
    .places =
        {
            .model = {{"/v1/model", "id"}},
            .context_limit = {{"/v1/model", "parameters.max_seq_len"},
                              {"/props", "default_generation_settings.n_ctx"}},
            .kv_budget = {{"/v1/model", "parameters.cache_size"}},
            .max_running = {{"/v1/model", "parameters.max_batch_size"}},
        },
    .count_tokens = count_tokens,
    .count_path = "/v1/token/encode",
};
