/* dialect_ollama.c - Ollama: no metrics; what is loaded, and with which context, stands in /api/ps.
 *
 * The context of /api/show is what the model could do, that of /api/ps what it was loaded with. A
 * longer prompt is not refused but cut, so this limit matters. How many requests run at once
 * (OLLAMA_NUM_PARALLEL) is told nowhere, hence no KV budget. Closing a connection ends the work. */
#include "base/json.h"
#include "load/dialect.h"

static const char *detect(struct pages *pages)
{
    if (!json_string_at(pages_json(pages, "/api/version"), "version"))
        return NULL;
    return json_is_array(json_at(pages_json(pages, "/api/ps"), "models")) ? "GET /api/ps models"
                                                                          : NULL;
}

const struct dialect dialect_ollama = {
    .name = "ollama",
    .repository = "github.com/ollama/ollama",
    .detect = detect,
    .places =
        {
            .version = {{"/api/version", "version"}},
            .quantization = {{"/api/ps", "@details.quantization_level"},
                             {"/api/tags", "@details.quantization_level"}},
            .revision = {{"/api/ps", "@digest"}, {"/api/tags", "@digest"}},
            .context_limit = {{"/api/ps", "@context_length"}},
        },
    .tells_more_loaded = true,
};
