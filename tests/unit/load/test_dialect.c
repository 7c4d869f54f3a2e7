/* test_dialect.c - pages as engines really send them: which engine, and what is learned of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../net/peer.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/num.h"
#include "load/dialect.h"

/* A server of these pages, and what a dialect asks it with. */
struct rig {
    struct peer_step script[2];
    const struct peer_step *scripts[1];
    struct peer *peer;
    struct endpoint endpoint;
    struct fetcher *fetcher;
    struct pages *pages;
};

static void rig_init(struct rig *r, const struct peer_page *pages)
{
    *r = (struct rig){.script = {{.what = PEER_PAGES, .pages = pages}, {.what = PEER_END}}};
    r->scripts[0] = r->script;
    r->peer = peer_start(r->scripts, 1, NULL);
    peer_endpoint(r->peer, &r->endpoint, true);
    r->fetcher = fetcher_new(&r->endpoint, NULL);
    r->pages = pages_new(r->fetcher, 10 * NS_PER_S);
}

static void rig_release(struct rig *r)
{
    pages_free(r->pages);
    fetcher_free(r->fetcher);
    endpoint_close(&r->endpoint);
    peer_stop(r->peer);
}

#define MODELS(owner, more)                                                                        \
    {                                                                                              \
        "/v1/models", "{\"object\":\"list\",\"data\":[{\"id\":\"other\",\"max_model_len\":1},"     \
                      "{\"id\":\"m\",\"object\":\"model\",\"owned_by\":\"" owner "\"" more "}]}"   \
    }
#define VLLM_MODELS                                                                                \
    {                                                                                              \
        "/v1/models", "{\"data\":[{\"id\":\"m\",\"owned_by\":\"vllm\",\"root\":\"Qwen/Q3\","       \
                      "\"max_model_len\":65536}]}"                                                 \
    }
#define GAUGES         "vllm:num_requests_running{engine=\"0\"} 0.0\n"
#define CONFIG(labels) "vllm:cache_config_info{" labels "} 1.0\n"

static const struct peer_page vllm_two_engines[] = {
    VLLM_MODELS,
    {"/version", "{\"version\":\"0.32.0\"}"},
    {"/metrics", "# HELP vllm:cache_config_info x\n" GAUGES CONFIG(
                     "block_size=\"16\",engine=\"0\",kv_cache_max_concurrency=\"3.7\","
                     "kv_cache_size_tokens=\"120000\",num_gpu_blocks=\"300\"")
                     CONFIG("block_size=\"16\",engine=\"1\",kv_cache_size_tokens=\"130000\","
                            "num_gpu_blocks=\"300\"")},
    {NULL, NULL}};
static const struct peer_page vllm_blocks[] = {
    VLLM_MODELS,
    {"/metrics", GAUGES CONFIG("block_size=\"16\",engine=\"0\",num_gpu_blocks=\"5000\"")
                     CONFIG("block_size=\"16\",engine=\"1\",num_gpu_blocks=\"6000\"")},
    {NULL, NULL}};
static const struct peer_page vllm_none[] = {
    VLLM_MODELS,
    {"/metrics", GAUGES CONFIG("block_size=\"16\",cache_dtype=\"auto\",num_gpu_blocks=\"None\"")},
    {NULL, NULL}};
/* hybrid models: the block size that is told is not the real one */
static const struct peer_page vllm_hybrid[] = {
    VLLM_MODELS,
    {"/metrics", GAUGES CONFIG("block_size=\"16\",num_gpu_blocks=\"4095\"")}, /* 65,520 */
    {NULL, NULL}};
static const struct peer_page vllm_just_enough[] = {
    VLLM_MODELS,
    {"/metrics", GAUGES CONFIG("block_size=\"16\",num_gpu_blocks=\"4096\"")},
    {NULL, NULL}};
static const struct peer_page vllm_unlimited[] = {
    MODELS("vllm", ""),
    {"/metrics", GAUGES CONFIG("block_size=\"16\",num_gpu_blocks=\"9999\"")},
    {NULL, NULL}};
/* behind a gateway that serves the API alone */
static const struct peer_page vllm_api_only[] = {VLLM_MODELS, {NULL, NULL}};
/* 0.32.0 on a CPU, as recorded but for the ids: a model from a folder, blocks of 128 tokens */
static const struct peer_page vllm_recorded[] = {
    {"/v1/models",
     "{\"object\":\"list\",\"data\":[{\"id\":\"m\",\"object\":\"model\",\"created\":1796045730,"
     "\"owned_by\":\"vllm\",\"root\":\"./random-weights\",\"parent\":null,\"max_model_len\":8192,"
     "\"permission\":[{\"id\":\"modelperm-1\",\"object\":\"model_permission\",\"created\":"
     "1796045730,"
     "\"allow_create_engine\":false,\"organization\":\"*\",\"group\":null,\"is_blocking\":false}]}]"
     "}"},
    {"/version", "{\"version\":\"0.32.0\"}"},
    {"/metrics",
     "# TYPE vllm:num_requests_running gauge\n"
     "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 0.0\n" CONFIG(
         "_block_size_resolved=\"True\",block_size=\"128\",cache_dtype=\"auto\","
         "effective_attention_block_size=\"128\",enable_prefix_caching=\"True\",engine=\"0\","
         "hash_block_size=\"None\",kv_cache_max_concurrency=\"2.0\",kv_cache_size_tokens=\"16384\","
         "mamba_block_size=\"None\",num_cpu_blocks=\"None\",num_gpu_blocks=\"128\","
         "num_gpu_blocks_override=\"128\",user_specified_block_size=\"False\"")},
    {NULL, NULL}};
static const struct peer_page vllm_hostile[] = {
    {"/v1/models", "{\"data\":[{\"id\":\"m\",\"root\":\"a\\u001b[31m\\u202eb\",\"max_model_len\":"
                   "\"many\"}]}"},
    {"/version", "{\"version\":7}"},
    {"/metrics", GAUGES CONFIG("kv_cache_size_tokens=\"-5\"") CONFIG("block_size=\"16")},
    {NULL, NULL}};

#define SGLANG_INFO(more)                                                                          \
    "{\"model_path\":\"Qwen/Q3\",\"quantization\":\"fp8\",\"revision\":null,"                      \
    "\"version\":\"0.5.6\",\"max_total_num_tokens\":230000,\"max_req_input_len\":131066" more "}"

static const struct peer_page sglang_ranks[] = {
    MODELS("sglang", ",\"max_model_len\":131072"),
    {"/server_info", SGLANG_INFO(",\"dp_size\":4,\"max_running_requests\":256,"
                                 "\"internal_states\":[{},{},{},{}]")},
    {NULL, NULL}};
static const struct peer_page sglang_old[] = {
    MODELS("sglang", ""),
    {"/get_server_info", SGLANG_INFO(",\"dp_size\":1,\"max_running_requests\":null")},
    {NULL, NULL}};
static const struct peer_page sglang_models_alone[] = {
    {"/v1/models", "{\"data\":[{\"id\":\"m\",\"owned_by\":\"sglang\",\"max_model_len\":4096}]}"},
    {NULL, NULL}};
/* the pool holds less than the model's context: that is the limit */
static const struct peer_page sglang_small_pool[] = {
    MODELS("sglang", ",\"max_model_len\":1000000"),
    {"/server_info", "{\"max_total_num_tokens\":500000,\"max_req_input_len\":499994,"
                     "\"context_length\":null,\"api_key\":\"sk-secret\"}"},
    {NULL, NULL}};
static const struct peer_page sglang_grpc[] = {/* no internal state, on purpose */
                                               {"/server_info",
                                                "{\"version\":\"0.5.6\",\"internal_states\":null,"
                                                "\"max_total_num_tokens\":0}"},
                                               {NULL, NULL}};

#define LLAMACPP_PROPS(path, more)                                                                 \
    "{\"default_generation_settings\":{\"id\":0,\"n_ctx\":16384,\"params\":{}},"                   \
    "\"total_slots\":4,\"model_path\":\"" path "\",\"build_info\":\"b11669-Debian\"" more "}"

static const struct peer_page llamacpp[] = {
    MODELS("llamacpp", ",\"meta\":{\"n_ctx_train\":262144,\"size\":18556686912}"),
    {"/props", LLAMACPP_PROPS("/models/Qwen3-Q4_K_M.gguf", ",\"model_ftype\":\"Q4_K - Medium\"")},
    {NULL, NULL}};
static const struct peer_page llamacpp_bare[] = {{"/props", LLAMACPP_PROPS("model.gguf", "")},
                                                 {NULL, NULL}};
#define TEN   "aaaaaaaaaa"
#define FIFTY TEN TEN TEN TEN TEN
static const struct peer_page llamacpp_deep[] = {
    {"/props", LLAMACPP_PROPS("/" FIFTY "/" FIFTY "/" FIFTY "/" FIFTY "/" FIFTY "/deep.gguf", "")},
    {NULL, NULL}};

/* a router has no slots of its own, and answers for the model that is named */
static const struct peer_page llamacpp_router[] = {
    MODELS("llamacpp", ""),
    {"/props", "{\"role\":\"router\",\"model_path\":\"none\","
               "\"default_generation_settings\":{\"n_ctx\":0}}"},
    {"/props?model=m", LLAMACPP_PROPS("/models/m.gguf", "")},
    {NULL, NULL}};

static const struct peer_page vllm_adapter[] = {
    {"/v1/models", "{\"data\":[{\"id\":\"base\",\"owned_by\":\"vllm\",\"max_model_len\":8192},"
                   "{\"id\":\"m\",\"parent\":\"base\",\"max_model_len\":null}]}"},
    {NULL, NULL}};
/* state-space layers: the size that is told is not the real one, however large the product */
static const struct peer_page vllm_state_space[] = {
    VLLM_MODELS,
    {"/metrics",
     GAUGES CONFIG("block_size=\"528\",mamba_page_size_padded=\"8192\",num_gpu_blocks=\"9999\"")},
    {NULL, NULL}};

static const struct peer_page ollama[] = {
    MODELS("library", ""),
    {"/api/version", "{\"version\":\"0.12.3\"}"},
    {"/api/ps", "{\"models\":[{\"name\":\"other:latest\",\"context_length\":4096},"
                "{\"name\":\"m:latest\",\"context_length\":32768,"
                "\"details\":{\"quantization_level\":\"Q4_K_M\"}}]}"},
    {NULL, NULL}};
static const struct peer_page ollama_not_loaded[] = {MODELS("library", ""),
                                                     {"/api/version", "{\"version\":\"0.12.3\"}"},
                                                     {"/api/ps", "{\"models\":[]}"},
                                                     {NULL, NULL}};
static const struct peer_page lmstudio[] = {
    MODELS("organization_owner", ""),
    {"/api/v0/models", "{\"data\":[{\"id\":\"m\",\"compatibility_type\":\"gguf\","
                       "\"quantization\":\"Q8_0\",\"state\":\"loaded\","
                       "\"max_context_length\":131072,\"loaded_context_length\":8192}]}"},
    {NULL, NULL}};
static const struct peer_page lmstudio_v1[] = {
    MODELS("organization_owner", ""),
    {"/api/v1/models", "{\"models\":[{\"key\":\"m\",\"format\":\"mlx\","
                       "\"quantization\":{\"name\":\"4bit\"},\"max_context_length\":40960,"
                       "\"loaded_instances\":[{\"config\":{\"context_length\":16384}}]}]}"},
    {NULL, NULL}};
static const struct peer_page tgi[] = {
    {"/info", "{\"model_id\":\"acme/m\",\"max_total_tokens\":4096,\"max_input_tokens\":4095,"
              "\"version\":\"3.3.4\",\"max_batch_total_tokens\":16000,\"sha\":\"abc\","
              "\"docker_label\":null}"},
    {NULL, NULL}};
static const struct peer_page trtllm[] = {
    MODELS("tensorrt_llm", ""),
    {"/version", "{\"version\":\"1.2.0\"}"},
    {"/metrics", "[{\"kvCacheStats\":{\"maxNumBlocks\":1,\"tokensPerBlock\":1}},"
                 "{\"maxNumActiveRequests\":64,"
                 "\"kvCacheStats\":{\"maxNumBlocks\":500,\"tokensPerBlock\":32}}]"},
    {NULL, NULL}};
static const struct peer_page trtllm_read_already[] = {
    MODELS("tensorrt_llm", ""), {"/metrics", "[]"}, {NULL, NULL}};
static const struct peer_page lmdeploy[] = {MODELS("lmdeploy", ""), {NULL, NULL}};
static const struct peer_page koboldcpp[] = {
    MODELS("koboldcpp", ""),
    {"/api/extra/version", "{\"result\":\"KoboldCpp\",\"version\":\"1.99\"}"},
    {"/api/version", "{\"version\":\"0.7.0\"}"}, /* Ollama's, imitated, as the next one */
    {"/props", LLAMACPP_PROPS("m.gguf", "")},
    {"/api/v1/model", "{\"result\":\"koboldcpp/m\"}"},
    {"/api/v1/config/max_context_length", "{\"value\":8192}"},
    {NULL, NULL}};
static const struct peer_page tabby[] = {
    MODELS("tabbyAPI", ""),
    {"/props", LLAMACPP_PROPS("m", "")},
    {"/v1/model", "{\"id\":\"m-exl3\",\"parameters\":{\"max_seq_len\":32768,"
                  "\"cache_size\":65536,\"max_batch_size\":16}}"},
    {NULL, NULL}};
static const struct peer_page textgen[] = {
    MODELS("user", ""),
    {"/v1/internal/model/info", "{\"model_name\":\"m-textgen\"}"},
    {NULL, NULL}};
static const struct peer_page litellm[] = {
    MODELS("openai", ""),
    {"/health/readiness", "{\"litellm_version\":\"1.80.0\"}"},
    {"/v1/model/info", "{\"data\":[{\"model_name\":\"m\",\"model_info\":"
                       "{\"max_input_tokens\":128000}}]}"},
    {NULL, NULL}};
static const struct peer_page openrouter[] = {
    {"/v1/models", "{\"data\":[{\"id\":\"m\",\"context_length\":200000,"
                   "\"top_provider\":{},\"hugging_face_id\":\"acme/M\"}]}"},
    {NULL, NULL}};

static const struct peer_page plain[] = {MODELS("me", ",\"max_model_len\":32768"), {NULL, NULL}};
static const struct peer_page plain_unlimited[] = {MODELS("me", ",\"max_model_len\":0"),
                                                   {NULL, NULL}};
static const struct peer_page nothing[] = {{NULL, NULL}};
static const struct peer_page no_json[] = {{"/v1/models", "<html>"},
                                           {"/props", "[]"},
                                           {"/server_info", "7"},
                                           {"/metrics", ""},
                                           {NULL, NULL}};

#define METRICS "GET /metrics vllm:cache_config_info "
#define CARD    "GET /v1/models max_model_len"
#define SGL_KV  "GET /server_info max_total_num_tokens"
#define PROPS   "GET /props "

static const struct {
    const struct peer_page *pages;
    const char *name;
    int64_t context_limit, kv_budget, max_running;
    const char *context_source, *kv_source, *max_running_source;
    const char *version, *model, *quantization, *build;
} servers[] = {
    {vllm_two_engines, "vllm", 65536, 250000, 0, CARD, METRICS "kv_cache_size_tokens", "", "0.32.0",
     "Qwen/Q3", "", ""},
    {vllm_blocks, "vllm", 65536, 11000 * 16, 0, CARD, METRICS "num_gpu_blocks x block_size", "", "",
     "Qwen/Q3", "", ""},
    {vllm_none, "vllm", 65536, 0, 0, CARD, "", "", "", "Qwen/Q3", "", ""},
    {vllm_hybrid, "vllm", 65536, 0, 0, CARD, "", "", "", "Qwen/Q3", "", ""},
    {vllm_just_enough, "vllm", 65536, 65536, 0, CARD, METRICS "num_gpu_blocks x block_size", "", "",
     "Qwen/Q3", "", ""},
    {vllm_unlimited, "vllm", 0, 0, 0, "", "", "", "", "", "", ""},
    {vllm_api_only, "vllm", 65536, 0, 0, CARD, "", "", "", "Qwen/Q3", "", ""},
    {vllm_recorded, "vllm", 8192, 16384, 0, CARD, METRICS "kv_cache_size_tokens", "", "0.32.0",
     "random-weights", "", ""},
    {vllm_hostile, "vllm", 0, 0, 0, "", "", "", "", "a?[31m?b", "", ""},
    {sglang_ranks, "sglang", 131072, 920000, 256, CARD, SGL_KV " x dp_size",
     "GET /server_info max_running_requests", "0.5.6", "Qwen/Q3", "fp8", ""},
    {sglang_old, "sglang", 131066, 230000, 0, "GET /get_server_info max_req_input_len",
     "GET /get_server_info max_total_num_tokens", "", "0.5.6", "Qwen/Q3", "fp8", ""},
    {sglang_small_pool, "sglang", 499994, 500000, 0, "GET /server_info max_req_input_len", SGL_KV,
     "", "", "", "", ""},
    {sglang_models_alone, "sglang", 4096, 0, 0, CARD, "", "", "", "", "", ""},
    {sglang_grpc, "sglang", 0, 0, 0, "", "", "", "0.5.6", "", "", ""},
    {llamacpp, "llama.cpp", 16384, 0, 4, PROPS "default_generation_settings.n_ctx", "",
     PROPS "total_slots", "b11669", "Qwen3-Q4_K_M.gguf", "Q4_K - Medium", "b11669-Debian"},
    {llamacpp_bare, "llama.cpp", 16384, 0, 4, PROPS "default_generation_settings.n_ctx", "",
     PROPS "total_slots", "b11669", "model.gguf", "", "b11669-Debian"},
    {llamacpp_deep, "llama.cpp", 16384, 0, 4, PROPS "default_generation_settings.n_ctx", "",
     PROPS "total_slots", "b11669", "deep.gguf", "", "b11669-Debian"},
    {llamacpp_router, "llama.cpp", 16384, 0, 4,
     "GET /props?model=m default_generation_settings.n_ctx", "", "GET /props?model=m total_slots",
     "b11669", "m.gguf", "", "b11669-Debian"},
    {vllm_adapter, "vllm", 8192, 0, 0, CARD, "", "", "", "", "", ""},
    {vllm_state_space, "vllm", 65536, 0, 0, CARD, "", "", "", "Qwen/Q3", "", ""},
    {ollama, "ollama", 32768, 0, 0, "GET /api/ps context_length", "", "", "0.12.3", "", "Q4_K_M",
     ""},
    {ollama_not_loaded, "ollama", 0, 0, 0, "", "", "", "0.12.3", "", "", ""},
    {lmstudio, "lm-studio", 8192, 0, 0, "GET /api/v0/models loaded_context_length", "", "", "", "",
     "Q8_0", ""},
    {lmstudio_v1, "lm-studio", 16384, 0, 0,
     "GET /api/v1/models loaded_instances.0.config.context_length", "", "", "", "", "4bit", ""},
    {tgi, "tgi", 4096, 16000, 0, "GET /info max_total_tokens", "GET /info max_batch_total_tokens",
     "", "3.3.4", "acme/m", "", "abc"},
    {trtllm, "tensorrt-llm", 0, 16000, 64, "",
     "GET /metrics kvCacheStats maxNumBlocks x tokensPerBlock", "GET /metrics maxNumActiveRequests",
     "1.2.0", "", "", ""},
    {trtllm_read_already, "tensorrt-llm", 0, 0, 0, "", "", "", "", "", "", ""},
    {lmdeploy, "lmdeploy", 0, 0, 0, "", "", "", "", "", "", ""},
    {koboldcpp, "koboldcpp", 8192, 0, 0, "GET /api/v1/config/max_context_length value", "", "",
     "1.99", "koboldcpp/m", "", ""},
    {tabby, "tabbyapi", 32768, 65536, 16, "GET /v1/model parameters.max_seq_len",
     "GET /v1/model parameters.cache_size", "GET /v1/model parameters.max_batch_size", "", "m-exl3",
     "", ""},
    {textgen, "text-generation-webui", 0, 0, 0, "", "", "", "", "m-textgen", "", ""},
    {litellm, "litellm", 0, 0, 0, "", "", "", "1.80.0", "", "", ""},
    {openrouter, "openrouter", 0, 0, 0, "", "", "", "", "acme/M", "", ""},
    {plain, "openai", 32768, 0, 0, CARD, "", "", "", "", "", ""},
    {plain_unlimited, "openai", 0, 0, 0, "", "", "", "", "", "", ""},
    {nothing, "openai", 0, 0, 0, "", "", "", "", "", "", ""},
    {no_json, "openai", 0, 0, 0, "", "", "", "", "", "", ""},
};

static void test_learn(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(servers); i++) {
        struct rig r;
        struct server_facts f = {.load_path = ""};
        rig_init(&r, servers[i].pages);
        const struct dialect *d = dialect_detect(r.pages, &f.engine);
        if (strcmp(d->name, servers[i].name) != 0)
            fail_msg("server %zu is taken for %s", i, d->name);
        dialect_learn(d, r.pages, "m", &f);
        if (f.context_limit.value != servers[i].context_limit ||
            f.kv_budget.value != servers[i].kv_budget ||
            f.max_running.value != servers[i].max_running)
            fail_msg("server %zu: %lld, %lld, %lld", i, (long long)f.context_limit.value,
                     (long long)f.kv_budget.value, (long long)f.max_running.value);
        assert_string_equal(f.context_limit.source, servers[i].context_source);
        assert_string_equal(f.kv_budget.source, servers[i].kv_source);
        assert_string_equal(f.max_running.source, servers[i].max_running_source);
        assert_string_equal(f.version.value, servers[i].version);
        assert_string_equal(f.model.value, servers[i].model);
        assert_string_equal(f.quantization.value, servers[i].quantization);
        assert_string_equal(f.build.value, servers[i].build);
        assert_string_equal(f.revision.value, "");
        rig_release(&r);
    }
}

/* Only a size that the server states; its absence is not 0 bytes. */
static void test_model_bytes(void **state)
{
    struct rig r;
    struct server_facts f = {.context_limit = 0};
    (void)state;
    rig_init(&r, llamacpp);
    dialect_llamacpp.learn(r.pages, "nobody", &f);
    assert_int_equal(f.model_bytes.value, 0);
    assert_string_equal(f.model_bytes.source, "");
    dialect_llamacpp.learn(r.pages, "m", &f);
    assert_int_equal(f.model_bytes.value, 18556686912);
    assert_string_equal(f.model_bytes.source, "GET /v1/models meta.size");
    rig_release(&r);
}

/* vLLM names the model as its command line did: an id, or a folder. */
static void test_vllm_model(void **state)
{
    static const struct {
        const char *root, *model, *revision;
    } rows[] = {
        {"Qwen/Qwen3-8B", "Qwen/Qwen3-8B", ""},
        {"gpt2", "gpt2", ""},
        {"/srv/models/Qwen3-8B", "Qwen3-8B", ""},
        {"../Qwen3-8B//", "Qwen3-8B", ""},
        {"/", "/", ""},
        {".", ".", ""},
        {"", "", ""},
        {"/cache/hub/models--Qwen--Qwen3-8B/snapshots/9c0ffee", "Qwen/Qwen3-8B", "9c0ffee"},
        {"/cache/hub/models--Qwen--Qwen3--8B/snapshots/9c0ffee/", "Qwen/Qwen3--8B", "9c0ffee"},
        {"/cache/hub/models--gpt2/snapshots/9c--0ffee", "9c--0ffee", ""},
        {"/cache/hub/models--Qwen--Qwen3-8B", "models--Qwen--Qwen3-8B", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char models[300];
        const struct peer_page pages[] = {{"/v1/models", models}, {NULL, NULL}};
        struct rig r;
        struct server_facts f = {.context_limit = 0};
        snprintf(models, sizeof models,
                 "{\"data\":[{\"id\":\"m\",\"owned_by\":\"vllm\",\"root\":\"%s\"}]}", rows[i].root);
        rig_init(&r, pages);
        dialect_vllm.learn(r.pages, "m", &f);
        assert_string_equal(f.model.value, rows[i].model);
        assert_string_equal(f.revision.value, rows[i].revision);
        rig_release(&r);
    }
}

/* A model that the server does not list has no card; what belongs to the server is known. */
static void test_another_model(void **state)
{
    struct rig r;
    struct server_facts f = {.load_path = ""};
    (void)state;
    rig_init(&r, vllm_two_engines);
    assert_null(dialect_card(r.pages, "/v1/models", "nobody"));
    assert_non_null(dialect_card(r.pages, "/v1/models", "m"));
    dialect_learn(&dialect_vllm, r.pages, "nobody", &f);
    assert_int_equal(f.context_limit.value, 0);
    assert_string_equal(f.model.value, "");
    assert_string_equal(f.version.value, "0.32.0");
    assert_int_equal(f.kv_budget.value, 250000);
    rig_release(&r);
}

/* Each page is fetched once, a missing one too; one that is forgotten is fetched anew. */
static void test_pages_are_kept(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r, vllm_two_engines);
    const struct page *page = pages_get(r.pages, "/version");
    assert_int_equal(page->status, 200);
    assert_string_equal(page->body, "{\"version\":\"0.32.0\"}");
    assert_ptr_equal(pages_get(r.pages, "/version"), page);
    assert_non_null(pages_json(r.pages, "/version"));
    assert_int_equal(pages_get(r.pages, "/nowhere")->status, 404);
    assert_null(pages_json(r.pages, "/nowhere"));
    assert_null(pages_json(r.pages, "/metrics")); /* no JSON */
    size_t received = peer_received(r.peer);
    pages_get(r.pages, "/nowhere");
    pages_get(r.pages, "/metrics");
    assert_int_equal(peer_received(r.peer), received);
    pages_forget(r.pages, "/version");
    pages_forget(r.pages, "/never asked for");
    assert_int_equal(pages_get(r.pages, "/version")->status, 200);
    assert_true(peer_received(r.peer) > received);
    peer_stop(r.peer);
    r.peer = NULL;
    page = pages_get(r.pages, "/late"); /* no answer is a page, too */
    assert_int_equal(page->status, 0);
    assert_string_equal(page->body, "");
    assert_int_equal(page->err.code, ERR_CONNECT);
    assert_null(pages_json(r.pages, "/late"));
    rig_release(&r);
    pages_free(NULL);
}

/* --- counting a prompt --- */

static void test_count_tokens(void **state)
{
    static const struct peer_page vllm[] = {
        {"/tokenize", "{\"count\":7,\"max_model_len\":9,\"tokens\":[1,2,3,4,5,6,7]}"},
        {NULL, NULL}};
    static const struct peer_page slots[] = {{"/apply-template", "{\"prompt\":\"<u>hi</u>\"}"},
                                             {"/tokenize", "{\"tokens\":[1,2,3]}"},
                                             {NULL, NULL}};
    static const struct peer_page half[] = {{"/apply-template", "{\"prompt\":\"x\"}"},
                                            {NULL, NULL}};
    static const struct peer_page odd[] = {
        {"/apply-template", "{\"prompt\":7}"}, {"/tokenize", "{\"count\":\"many\"}"}, {NULL, NULL}};
    static const struct {
        const struct peer_page *pages;
        const struct dialect *dialect;
        int64_t count; /* -1: cannot be told */
        const char *sent;
    } rows[] = {
        {vllm, &dialect_vllm, 7,
         "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\\\"b\\n\"}],"
         "\"add_generation_prompt\":true}"},
        {slots, &dialect_llamacpp, 3,
         "{\"model\":\"m\",\"content\":\"<u>hi</u>\",\"add_special\":true,\"parse_special\":true}"},
        {vllm, &dialect_sglang, 7, "{\"model\":\"m\",\"prompt\":\"a\\\"b\\n\"}"},
        {nothing, &dialect_vllm, -1, NULL},
        {nothing, &dialect_sglang, -1, NULL},
        {nothing, &dialect_llamacpp, -1, NULL},
        {half, &dialect_llamacpp, -1, NULL},
        {odd, &dialect_llamacpp, -1, NULL},
        {odd, &dialect_vllm, -1, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rig r;
        int64_t count = -1;
        rig_init(&r, rows[i].pages);
        bool ok = rows[i].dialect->count_tokens(r.fetcher, "m", "a\"b\n", &count);
        if (ok != (rows[i].count >= 0) || count != rows[i].count)
            fail_msg("row %zu: %d, %lld", i, ok, (long long)count);
        char *sent = peer_request_dup(r.peer);
        if (rows[i].sent && !strstr(sent, rows[i].sent))
            fail_msg("row %zu: %s", i, sent);
        free(sent);
        rig_release(&r);
    }
    assert_null(dialect_plain.count_tokens);
}

/* --- the rows themselves --- */

static void test_rows(void **state)
{
    static const struct dialect *const all[] = {
        &dialect_tabby,    &dialect_koboldcpp, &dialect_textgen,    &dialect_litellm,
        &dialect_lmstudio, &dialect_trtllm,    &dialect_openrouter, &dialect_lmdeploy,
        &dialect_sglang,   &dialect_vllm,      &dialect_llamacpp,   &dialect_tgi,
        &dialect_ollama,   &dialect_mlx,       &dialect_plain,
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        const struct metric_names *m = &all[i]->metrics;
        assert_non_null(all[i]->name);
        /* the last one needs no sign */
        assert_true(all[i]->owner || all[i]->signs[0].page || all[i]->detect ||
                    all[i] == &dialect_plain);
        assert_int_equal(all[i]->count_tokens != NULL, all[i]->count_path != NULL);
        assert_int_equal(all[i]->read_load != NULL, all[i]->load_path != NULL);
        /* a queue is only told by a server that tells what runs */
        assert_int_equal(m->running[0] != NULL, m->waiting[0] != NULL);
        assert_int_equal(m->prefills[0] != NULL, m->prefill_s[0] != NULL);
        const char *const *const lists[] = {m->running,     m->waiting,  m->generated,
                                            m->prompt,      m->kv_used,  m->preemptions,
                                            m->prefix_hits, m->prefills, m->prefill_s};
        for (size_t k = 0; k < ARRAY_LEN(lists); k++)
            assert_null(lists[k][DIALECT_NAMES - 1]); /* the list ends */
    }
}

static void test_known(void **state)
{
    struct known_text k = {.value = "old"};
    struct known_number n = {.value = 3};
    (void)state;
    assert_true(known_text_set(&k, "x\ay", "GET /a b"));
    assert_string_equal(k.value, "x?y");
    assert_string_equal(k.source, "GET /a b");
    assert_false(known_text_set(&k, "", "GET /c"));
    assert_string_equal(k.source, "GET /a b");
    assert_false(known_number_set(&n, 0, "GET /c"));
    assert_false(known_number_set(&n, -5, "GET /c"));
    assert_int_equal(n.value, 3);
    assert_true(known_number_set(&n, 7, "GET /%s", "d"));
    assert_int_equal(n.value, 7);
    assert_string_equal(n.source, "GET /d");
}

static void test_path_of_model(void **state)
{
    char out[40];
    (void)state;
    dialect_path_of_model("/metrics", "a/b c:1", out, sizeof out);
    assert_string_equal(out, "/metrics?model=a%2Fb%20c%3A1");
    dialect_path_of_model("/metrics", "0123456789012345678901234567890123456789", out, sizeof out);
    assert_true(strlen(out) < sizeof out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learn),          cmocka_unit_test(test_vllm_model),
        cmocka_unit_test(test_another_model),  cmocka_unit_test(test_model_bytes),
        cmocka_unit_test(test_pages_are_kept), cmocka_unit_test(test_count_tokens),
        cmocka_unit_test(test_rows),           cmocka_unit_test(test_known),
        cmocka_unit_test(test_path_of_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
