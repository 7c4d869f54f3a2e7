/* synthetic.c - a roofline with noise: decode is bound by memory traffic, batches share it. */
#include "synthetic.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rand.h"

static const struct {
    const char *organization, *name;
    double params_b, active_b;
} models[] = {
    {"Qwen", "Qwen3.5-27B", 27, 27},
    {"Qwen", "Qwen3-Coder-30B-A3B-Instruct", 30.5, 3.3},
    {"Qwen", "Qwen3-8B", 8.2, 8.2},
    {"Qwen", "Qwen3-235B-A22B", 235, 22},
    {"meta-llama", "Llama-3.1-8B-Instruct", 8, 8},
    {"meta-llama", "Llama-3.3-70B-Instruct", 70.6, 70.6},
    {"mistralai", "Mistral-Small-3.2-24B-Instruct-2506", 23.6, 23.6},
    {"mistralai", "Devstral-Small-2507", 23.6, 23.6},
    {"google", "gemma-3-12b-it", 12.2, 12.2},
    {"google", "gemma-3-27b-it", 27.4, 27.4},
    {"openai", "gpt-oss-20b", 20.9, 3.6},
    {"openai", "gpt-oss-120b", 116.8, 5.1},
    {"deepseek-ai", "DeepSeek-V2-Lite-Chat", 15.7, 2.4},
    {"microsoft", "phi-4", 14.7, 14.7},
    {"zai-org", "GLM-4.5-Air", 106, 12},
    {"zai-org", "GLM-4-32B-0414", 32.6, 32.6},
    {"allenai", "OLMo-2-1124-13B-Instruct", 13.7, 13.7},
    {"ibm-granite", "granite-3.3-8b-instruct", 8.2, 8.2},
    {"tiiuae", "Falcon-H1-34B-Instruct", 33.6, 33.6},
    {"nvidia", "Nemotron-Nano-9B-v2", 8.9, 8.9},
};

static const struct {
    const char *organization, *suffix, *label; /* organization NULL: the model's own */
    double bits;
} packages[] = {
    {NULL, "", "BF16", 16},
    {NULL, "-FP8", "FP8", 8},
    {"cyankiwi", "-AWQ-4bit", "AWQ 4-bit", 4.25},
    {"unsloth", "-GGUF", "Q4_K_M", 4.8},
    {"bartowski", "-GGUF", "Q6_K", 6.6},
    {"RedHatAI", "-FP8-dynamic", "FP8", 8},
    {"QuantTrio", "-GPTQ-Int4", "GPTQ Int4", 4.3},
    {"nvidia", "-NVFP4", "NVFP4", 4.5},
};

static const struct {
    const char *type, *name;
    double gb, gb_s, watts;
} cards[] = {
    {"DISCRETE_GPU", "NVIDIA GeForce RTX 3090", 24, 936, 350},
    {"DISCRETE_GPU", "NVIDIA GeForce RTX 4090", 24, 1008, 450},
    {"DISCRETE_GPU", "NVIDIA GeForce RTX 5090", 32, 1792, 575},
    {"DISCRETE_GPU", "NVIDIA GeForce RTX 4060 Ti", 16, 288, 165},
    {"DISCRETE_GPU", "NVIDIA RTX A6000", 48, 768, 300},
    {"DISCRETE_GPU", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 96, 1792, 600},
    {"DISCRETE_GPU", "NVIDIA A100-SXM4-80GB", 80, 2039, 400},
    {"DISCRETE_GPU", "NVIDIA H100 80GB HBM3", 80, 3350, 700},
    {"DISCRETE_GPU", "NVIDIA H200", 141, 4800, 700},
    {"DISCRETE_GPU", "AMD Radeon RX 7900 XTX", 24, 960, 355},
    {"DISCRETE_GPU", "AMD Instinct MI300X", 192, 5300, 750},
    {"DISCRETE_GPU", "Intel(R) Arc(TM) B580 Graphics", 12, 456, 190},
    {"UNIFIED", "NVIDIA GB10", 128, 273, 140},
    {"UNIFIED", "AMD Radeon 8060S Graphics", 128, 256, 120},
};

static const struct {
    const char *name, *version, *command;
} engines[] = {
    {"vLLM", "0.11.0", "vllm serve %s --max-model-len 147456"},
    {"SGLang", "0.5.3", "python -m sglang.launch_server --model-path %s"},
    {"llama.cpp", "b6700", "llama-server -hf %s -c 147456 -np 32"},
    {"TensorRT-LLM", "1.0.0", "trtllm-serve %s"},
};

static const int64_t contexts[] = {0, 16384, 32768, 65536, 131072};
static const int levels[] = {1, 2, 4, 8, 16, 32, 64, 128};
enum { LEVELS = 8, CONTEXTS = 5 };

static double noise(struct rng *r)
{
    return 0.92 + 0.16 * (rng_below(r, 1000) / 1000.0);
}

static void format_into(char **slot, const char *format, const char *a, const char *b,
                        const char *c)
{
    struct buf text;

    buf_init(&text, 1000);
    for (; *format; format++) {
        if (*format == '%') {
            buf_adds(&text, a);
            a = b;
            b = c;
            format++;
        } else {
            buf_addc(&text, *format);
        }
    }
    mem_set_string(slot, text.p);
    buf_release(&text);
}

struct setting {
    double bandwidth_gb_s, weights_gb, memory_gb, watts;
};

static void name_machine(struct result *r, struct rng *rng, struct setting *s)
{
    size_t card = rng_below(rng, ARRAY_LEN(cards));
    int count = strcmp(cards[card].type, "UNIFIED") == 0 ? 1 : 1 << rng_below(rng, 3);
    const double gib = (double)(INT64_C(1) << 30);

    mem_set_string(&r->hardware.type, cards[card].type);
    for (int i = 0; i < count; i++) {
        struct gpu *g = &r->hardware.gpus[i];
        mem_set_string(&g->name, cards[card].name);
        g->vram_bytes = (int64_t)(cards[card].gb * gib);
        mem_set_string(&g->driver, "580.95.05");
        g->power_limit_w = cards[card].watts;
    }
    r->hardware.gpu_count = count;
    mem_set_string(&r->hardware.cpu, "AMD Ryzen 9 7950X 16-Core Processor");
    r->hardware.cpu_cores = 16;
    r->hardware.cpu_threads = 32;
    r->hardware.ram_bytes = (int64_t)(128 * gib);
    mem_set_string(&r->hardware.os, "Ubuntu 24.04.3 LTS");
    s->bandwidth_gb_s = cards[card].gb_s * count;
    s->memory_gb = cards[card].gb * count;
    s->watts = cards[card].watts * count;
}

static void name_model(struct result *r, struct rng *rng, struct setting *s)
{
    size_t model = rng_below(rng, ARRAY_LEN(models));
    size_t package = rng_below(rng, ARRAY_LEN(packages));
    size_t engine = rng_below(rng, ARRAY_LEN(engines));
    const char *organization = packages[package].organization;

    format_into(&r->subject.model, "%s/%s%s",
                organization ? organization : models[model].organization, models[model].name,
                packages[package].suffix);
    mem_set_string(&r->subject.served_model, models[model].name);
    mem_set_string(&r->subject.quantization, packages[package].label);
    mem_set_string(&r->engine.name, engines[engine].name);
    mem_set_string(&r->engine.version, engines[engine].version);
    mem_set_string(&r->engine.backend, "cuda");
    format_into(&r->engine.launch_command, engines[engine].command, r->subject.model, "", "");
    s->weights_gb = models[model].active_b * packages[package].bits / 8;
}

static void add_prefill(struct result *r, struct rng *rng, const struct setting *s)
{
    for (size_t i = 1; i < CONTEXTS; i++) {
        struct prefill_row p;
        prefill_row_init(&p, contexts[i]);
        double ttft_s = (double)contexts[i] * s->weights_gb / (s->bandwidth_gb_s * 60) *
                        noise(rng) * (1 + (double)contexts[i] / 200000);
        p.status = STATUS_VALID;
        p.prompt_tokens = (double)contexts[i] - 20;
        p.cached_tokens = 0;
        p.ttft_ms = (struct spread){3, ttft_s * 1000, (double)NAN, (double)NAN, ttft_s * 1010};
        p.total_tok_s = p.prompt_tokens / ttft_s;
        p.completed = 3;
        mem_set_string(&p.how, "warmup");
        result_add_prefill_take(r, &p);
    }
}

static void set_figures(struct cell *c, struct rng *rng, const struct setting *s, int active)
{
    double kv_gb = (double)(c->context_tokens + 500) * 1.2e-4;
    double step_s =
        (s->weights_gb + active * kv_gb * 0.3) / (s->bandwidth_gb_s * 0.75) * noise(rng) + 0.0005;

    c->measured_s = 30;
    c->output_tokens = (int64_t)(active / step_s * c->measured_s);
    c->total_tok_s = (double)c->output_tokens / c->measured_s;
    c->itl_ms.n = active;
    c->itl_ms.p50 = step_s * 1000;
    c->per_request_tok_s = 1000 / c->itl_ms.p50;
    c->ttft_ms.n = active;
    c->ttft_ms.p50 = 40 + 3 * active * noise(rng);
    c->avg_active = active;
    c->completed = 0;
    c->power_w = s->watts * (0.6 + 0.3 * active / LEVELS / 16);
    c->energy_j = c->power_w * c->measured_s;
    mem_set_string(&c->avg_active_source, "server");
    mem_set_string(&c->token_source, "usage_stream");
}

static void add_decode(struct result *r, struct rng *rng, const struct setting *s)
{
    double budget = (s->memory_gb - s->weights_gb) / 1.2e-4;
    size_t from = rng_below(rng, 2), to = CONTEXTS - rng_below(rng, 2);

    if (budget < 20000)
        budget = 20000;
    r->server.kv_budget = floor(budget);
    for (size_t i = from; i < to; i++) {
        for (size_t j = 0; j < LEVELS; j++) {
            struct cell c;
            int slots = 32;
            cell_init(&c, contexts[i], levels[j]);
            if (levels[j] * (double)(contexts[i] + 2048) > budget && levels[j] > 1) {
                c.status = STATUS_OVER_CAPACITY;
                mem_set_string(&c.reason, "needs more KV cache than there is");
            } else {
                bool queued = levels[j] > slots;
                c.status = queued ? STATUS_QUEUED : STATUS_VALID;
                if (queued)
                    mem_set_string(&c.reason, "requests waited");
                set_figures(&c, rng, s, queued ? slots : levels[j]);
            }
            result_add_cell_take(r, &c);
        }
    }
}

void synthetic_run(uint64_t number, struct result *ret)
{
    struct rng rng = {.state = rng_mix(number, 0x746f6b67726964)};
    struct setting s;
    struct result *r = ret;
    char text[64];

    result_init(r);
    snprintf(text, sizeof text, "019b0000-0000-7000-8000-%012llx", (unsigned long long)number);
    mem_set_string(&r->id, text);
    mem_set_string(&r->kind, "measured");
    mem_set_string(&r->tool.name, "tokgrid");
    mem_set_string(&r->tool.version, "0.1.0");
    plan_init(&r->plan);
    r->plan.max_output = 2048;
    name_machine(r, &rng, &s);
    name_model(r, &rng, &s);
    snprintf(r->run.started_at, sizeof r->run.started_at, "2026-%02u-%02uT%02u:30:00Z",
             1 + rng_below(&rng, 12), 1 + rng_below(&rng, 28), rng_below(&rng, 24));
    snprintf(r->run.ended_at, sizeof r->run.ended_at, "%s", r->run.started_at);
    r->run.duration_s = 1800;
    r->run.complete = true;
    add_prefill(r, &rng, &s);
    add_decode(r, &rng, &s);
}

void synthetic_document(const struct result *r, struct buf *out)
{
    bool written = result_write_json(r, out);

    assert(written);
    (void)written;
}
