/* dialect_textgen.c - text-generation-webui: no metrics, usage counted by encoding the text again.
 * Where it cuts prompts is a setting of its interface that its API does not tell. */
#include "base/json.h"
#include "load/dialect.h"

static bool count_tokens(struct fetcher *f, const char *model, const char *text, int64_t *ret)
{
    json_t *answer = dialect_post(f, "/v1/internal/token-count", json_pack("{s:s}", "text", text));
    (void)model;
    bool ok = json_int_at(answer, "length", ret);
    json_decref(answer);
    return ok;
}

const struct dialect dialect_textgen = {
    .name = "text-generation-webui",
    .repository = "github.com/oobabooga/text-generation-webui",
    .signs = {{"/v1/internal/model/info", "model_name", NULL}},
    .places = {.model = {{"/v1/internal/model/info", "model_name"}}},
    .count_tokens = count_tokens,
    .count_path = "/v1/internal/token-count",
};
