/* dialect_trtllm.c - trtllm-serve: Prometheus at /prometheus/metrics when switched on; /metrics is
 * JSON, one object for each iteration, and reading it empties it.
 *
 * So that list is read once, after the first answers: its newest entry says how many blocks the KV
 * cache has and how large they are. An empty list says nothing. */
#include "base/json.h"
#include "load/dialect.h"

static void learn(struct pages *pages, const char *model, struct server_facts *facts)
{
    json_t *list = pages_json(pages, "/metrics");
    json_t *last = json_array_get(list, json_array_size(list) - 1);
    int64_t blocks, size, batch;

    (void)model;
    if (json_int_at(last, "kvCacheStats.maxNumBlocks", &blocks) &&
        json_int_at(last, "kvCacheStats.tokensPerBlock", &size) && blocks > 0 && size > 0 &&
        blocks < INT64_MAX / size)
        known_number_set(&facts->kv_budget, blocks * size,
                         "GET /metrics kvCacheStats maxNumBlocks x tokensPerBlock");
    if (json_int_at(last, "maxNumActiveRequests", &batch))
        known_number_set(&facts->max_running, batch, "GET /metrics maxNumActiveRequests");
}

const struct dialect dialect_trtllm = {
    .name = "tensorrt-llm",
    .repository = "github.com/NVIDIA/TensorRT-LLM",
    .owner = "tensorrt_llm",
    .places = {.version = {{"/version", "version"}}},
    .learn = learn,
    .tells_more_loaded = true,
    .metrics_paths = {"/prometheus/metrics", "/metrics"},
    .metrics =
        {
            .running = {"trtllm_num_requests_running", "num_requests_running"},
            .waiting = {"trtllm_num_requests_waiting", "num_requests_waiting"},
            .generated = {"trtllm_generation_tokens_total", "generation_tokens_total"},
            .prompt = {"trtllm_prompt_tokens_total", "prompt_tokens_total"},
            .kv_used = {"trtllm_kv_cache_utilization", "kv_cache_utilization"},
        },
};
