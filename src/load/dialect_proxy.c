/* dialect_proxy.c - programs that hand requests on: LiteLLM, OpenRouter. What decodes behind them
 * is unknown.
 *
 * The context in their catalogues is what somebody wrote down about the model, not a limit of the
 * server that answers, so it is shown and not used. */
#include <stddef.h>

#include "load/dialect.h"

static const char *detect_litellm(struct pages *pages)
{
    return pages_get(pages, "/v1/models")->litellm[0] ? "the x-litellm-version header" : NULL;
}

static void learn_litellm(struct pages *pages, const char *model, struct server_facts *facts)
{
    (void)model;
    if (!facts->version.value[0])
        known_text_set(&facts->version, pages_get(pages, "/v1/models")->litellm,
                       "the x-litellm-version header");
}

const struct dialect dialect_litellm = {
    .name = "litellm",
    .repository = "github.com/BerriAI/litellm",
    .signs = {{"/health/readiness", "litellm_version", NULL}},
    .detect = detect_litellm,
    .places =
        {
            .version = {{"/health/readiness", "litellm_version"}},
            .model = {{"/v1/model/info", "@litellm_params.model"}},
            .model_context = {{"/v1/model/info", "@model_info.max_input_tokens"}},
        },
    .learn = learn_litellm,
};

const struct dialect dialect_openrouter = {
    .name = "openrouter",
    .signs = {{"/v1/models", "data.0.top_provider", NULL}},
    .places =
        {
            .model = {{"/v1/models", "@hugging_face_id"}},
            .model_context = {{"/v1/models", "@context_length"}},
        },
};
