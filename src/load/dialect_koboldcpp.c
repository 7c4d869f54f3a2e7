/* dialect_koboldcpp.c - KoboldCpp: its own API beside the OpenAI one; no Prometheus metrics.
 *
 * /api/extra/perf tells whether it works and how many wait. How many it works on is not told, so
 * that page says when the server is idle and nothing else. */
#include <math.h>

#include "base/json.h"
#include "load/dialect.h"

static bool read_load(json_t *perf, struct server_load *ret)
{
    int64_t idle, queue = 0;
    if (!json_int_at(perf, "idle", &idle))
        return false;
    json_int_at(perf, "queue", &queue);
    *ret =
        (struct server_load){.running = idle ? 0 : 1, .waiting = (double)queue, .generated = NAN};
    return true;
}

static bool count_tokens(struct fetcher *f, const char *model, const char *text, int64_t *ret)
{
    json_t *answer = dialect_post(f, "/api/extra/tokencount", json_pack("{s:s}", "prompt", text));
    (void)model;
    bool ok = json_int_at(answer, "value", ret);
    json_decref(answer);
    return ok;
}

const struct dialect dialect_koboldcpp = {
    .name = "koboldcpp",
    .repository = "github.com/LostRuins/koboldcpp",
    .owner = "koboldcpp",
    .signs = {{"/api/extra/version", "result", "KoboldCpp"}},
    .places =
        {
            .version = {{"/api/extra/version", "version"}},
            .model = {{"/api/v1/model", "result"}},
            .context_limit = {{"/api/extra/true_max_context_length", "value"},
                              {"/api/v1/config/max_context_length", "value"}},
        },
    .count_tokens = count_tokens,
    .count_path = "/api/extra/tokencount",
    .load_path = "/api/extra/perf",
    .read_load = read_load,
};
