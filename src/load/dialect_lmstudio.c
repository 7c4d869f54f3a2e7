/* dialect_lmstudio.c - LM Studio: no metrics; its own API lists models with their loaded context.
 *
 * A model is loaded by its first request, and the loaded context is known only then; the largest
 * one it could be loaded with is no limit of this server. */
#include "load/dialect.h"

const struct dialect dialect_lmstudio = {
    .name = "lm-studio",
    .owner = "organization_owner",
    .signs = {{"/api/v0/models", "data.0.compatibility_type", NULL}},
    .places =
        {
            .backend = {{"/api/v0/models", "@compatibility_type"}, {"/api/v1/models", "@format"}},
            .quantization = {{"/api/v0/models", "@quantization"},
                             {"/api/v1/models", "@quantization.name"}},
            .context_limit = {{"/api/v0/models", "@loaded_context_length"},
                              {"/api/v1/models", "@loaded_instances.0.config.context_length"}},
            .model_context = {{"/api/v0/models", "@max_context_length"},
                              {"/api/v1/models", "@max_context_length"}},
        },
    .tells_more_loaded = true,
};
