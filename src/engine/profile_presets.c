/* profile_presets.c - hardware x model through the memory-traffic model.
 *
 * A decoding step of b sequences with a mean context of n tokens reads the weights once and each
 * sequence's keys and values, and is bounded below by arithmetic:
 *
 *   step(n, b) = max(  weights(b) / (B x 0.80)  +  b n k / (B x e_kv)  +  b s / (B x 0.80),
 *                      2 b A / (F x e_f)  )  +  layers x launch
 *   weights(b) = dense bytes + expert bytes x (1 - (1 - active/experts)^b)
 *
 * B memory bandwidth, F peak arithmetic, A active parameters, k = 2 x attention layers x KV heads x
 * head size x bytes of an element, s the state that linear-attention layers read and write. The
 * weights(b) term is the expected share of experts that b tokens touch when each picks its own.
 *
 *   P(L)    = max(2 L A / (F x e_f),  weights(L) / (B x 0.80))  +  2 L^2 h / (F16 x e_attention)
 *   W(n, b) = the same for b rests of 96 tokens, whose attention spans the cached context,
 *             + layers x launch
 *
 * h = attention layers x query heads x head size: scores and values are 2 x 2 h operations for each
 * pair of tokens, and causality halves the pairs. The KV cache holds
 *
 *   (memory x utilisation - weights - reserve - max_running x state) / k   tokens.
 *
 * Where the figures come from: memory, bandwidth and arithmetic are the vendors' data sheets (dense
 * tensor arithmetic at 16 bits; GeForce cards with 16-bit accumulation); layers, heads and
 * parameters are the models' own config.json; bytes are the sizes of the quantised weight files,
 * less the embedding table, which is not read. Efficiencies are fitted to the two published pages
 * of the RTX 3090 (tests/data/published) and round: e_f 0.68 dense and 0.41 for experts' grouped
 * multiplications; reading a KV cache of 4 bits, scaled for each token and head, runs at a tenth of
 * the bandwidth and its attention at 0.13 of the arithmetic on both pages, 30B-A3B and 27B alike,
 * because it is unpacked on the way; 16- and 8-bit caches go through kernels that come to about
 * half of either. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/profile.h"

enum { REST_TOKENS = 96 };

static const double memory_efficiency = 0.80;

struct hardware_row {
    const char *gpu;
    double vram_bytes, utilisation, reserve_bytes;
    double bandwidth;       /* bytes / s */
    double flops16, flops8; /* operations / s; flops8 0: no faster than 16 bits */
    double launch_s;        /* for each layer of a step */
};

enum hardware { RTX_3090, RTX_4090, H100, H200, M4_MAX, DDR5_CPU };

/* Reserve: activations, the runtime's own, graphs. Unified memory: what the system lets a GPU have
 * is three quarters. */
static const struct hardware_row hardware_rows[] = {
    [RTX_3090] = {"RTX 3090", 24 * 0x1p30, 0.94, 2.0e9, 936e9, 142e12, 0, 30e-6},
    [RTX_4090] = {"RTX 4090", 24 * 0x1p30, 0.94, 2.0e9, 1008e9, 330e12, 661e12, 20e-6},
    [H100] = {"H100 SXM", 80 * 0x1p30, 0.92, 3.0e9, 3350e9, 989e12, 1979e12, 10e-6},
    [H200] = {"H200 SXM", 141e9, 0.92, 3.0e9, 4800e9, 989e12, 1979e12, 10e-6},
    [M4_MAX] = {"M4 Max", 128 * 0x1p30, 0.75, 3.0e9, 546e9, 18.4e12, 0, 30e-6},
    [DDR5_CPU] = {"CPU, two channels of DDR5-5600", 32 * 0x1p30, 0.75, 2.0e9, 89.6e9, 1.5e12, 0,
                  15e-6},
};

struct model_row {
    const char *id, *quantization;
    double file_bytes;                   /* all weights, as they lie in memory */
    double dense_bytes;                  /* read in every step */
    double expert_bytes;                 /* all experts; 0: a dense model */
    int experts, active_experts;         /* of a layer */
    double active_params;                /* for each token, without the embedding table */
    int layers, attention_layers;        /* the latter keep keys and values */
    int query_heads, kv_heads, head_dim; /* of an attention layer */
    double state_bytes;                  /* of the other layers, for each sequence */
    int64_t context_limit;
    bool eight_bit; /* multiplies at 8 bits where the hardware can */
};

enum model {
    QWEN3_32B,
    QWEN3_CODER_30B_A3B,
    QWEN35_27B,
    LLAMA33_70B_FP8,
    LLAMA33_70B_Q4,
    QWEN3_4B
};

static const struct model_row model_rows[] = {
    [QWEN3_32B] = {.id = "Qwen/Qwen3-32B-AWQ",
                   .quantization = "AWQ 4-bit",
                   .file_bytes = 19.3e9,
                   .dense_bytes = 17.8e9,
                   .active_params = 32.0e9,
                   .layers = 64,
                   .attention_layers = 64,
                   .query_heads = 64,
                   .kv_heads = 8,
                   .head_dim = 128,
                   .context_limit = 40960},
    [QWEN3_CODER_30B_A3B] = {.id = "cyankiwi/Qwen3-Coder-30B-A3B-Instruct-AWQ-4bit",
                             .quantization = "AWQ 4-bit",
                             .file_bytes = 17.0e9,
                             .dense_bytes = 1.13e9,
                             .expert_bytes = 15.3e9,
                             .experts = 128,
                             .active_experts = 8,
                             .active_params = 3.0e9,
                             .layers = 48,
                             .attention_layers = 48,
                             .query_heads = 32,
                             .kv_heads = 4,
                             .head_dim = 128,
                             .context_limit = 262144},
    /* 48 of 64 layers keep a state of 48 heads x 128 x 128 at 16 bits instead of keys and values */
    [QWEN35_27B] = {.id = "cyankiwi/Qwen3.5-27B-AWQ-4bit",
                    .quantization = "AWQ 4-bit",
                    .file_bytes = 18.6e9,
                    .dense_bytes = 16.1e9,
                    .active_params = 25.0e9,
                    .layers = 64,
                    .attention_layers = 16,
                    .query_heads = 24,
                    .kv_heads = 4,
                    .head_dim = 256,
                    .state_bytes = 48.0 * 48 * 128 * 128 * 2,
                    .context_limit = 262144},
    [LLAMA33_70B_FP8] = {.id = "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic",
                         .quantization = "FP8",
                         .file_bytes = 72.7e9,
                         .dense_bytes = 70.6e9,
                         .active_params = 69.5e9,
                         .layers = 80,
                         .attention_layers = 80,
                         .query_heads = 64,
                         .kv_heads = 8,
                         .head_dim = 128,
                         .context_limit = 131072,
                         .eight_bit = true},
    [LLAMA33_70B_Q4] = {.id = "meta-llama/Llama-3.3-70B-Instruct",
                        .quantization = "Q4_K_M",
                        .file_bytes = 42.5e9,
                        .dense_bytes = 41.9e9,
                        .active_params = 69.5e9,
                        .layers = 80,
                        .attention_layers = 80,
                        .query_heads = 64,
                        .kv_heads = 8,
                        .head_dim = 128,
                        .context_limit = 131072},
    [QWEN3_4B] = {.id = "Qwen/Qwen3-4B",
                  .quantization = "Q4_K_M",
                  .file_bytes = 2.5e9,
                  .dense_bytes = 2.5e9, /* its output layer is the embedding table: read */
                  .active_params = 4.0e9,
                  .layers = 36,
                  .attention_layers = 36,
                  .query_heads = 32,
                  .kv_heads = 8,
                  .head_dim = 128,
                  .context_limit = 40960},
};

struct kv_row {
    double element_bytes;
    double read_efficiency;      /* of the bandwidth */
    double attention_efficiency; /* of the arithmetic, in prefill */
};

enum kv { KV_16, KV_8, KV_4 };

/* KV_4: a 4-byte scale and offset for each token and head of 128. */
static const struct kv_row kv_rows[] = {
    [KV_16] = {2, 0.6, 0.5},
    [KV_8] = {1, 0.5, 0.4},
    [KV_4] = {0.53, 0.10, 0.13},
};

static const struct preset_row {
    const char *name;
    enum hardware hardware;
    enum model model;
    enum kv kv;
    int max_running;
    int64_t step_tokens;
} presets[] = {
    {"rtx3090-24gb", RTX_3090, QWEN3_32B, KV_4, 128, 2048},
    {"rtx3090-24gb-30b-a3b", RTX_3090, QWEN3_CODER_30B_A3B, KV_4, 128, 2048},
    {"rtx3090-24gb-27b", RTX_3090, QWEN35_27B, KV_4, 29, 2048},
    {"rtx4090-24gb", RTX_4090, QWEN3_32B, KV_8, 128, 2048},
    {"h100-80gb-70b-fp8", H100, LLAMA33_70B_FP8, KV_8, 256, 8192},
    {"h200-141gb-70b-fp8", H200, LLAMA33_70B_FP8, KV_8, 256, 8192},
    {"m4-max-128gb-70b-q4", M4_MAX, LLAMA33_70B_Q4, KV_16, 8, 512},
    {"cpu-ddr5-4b-q4", DDR5_CPU, QWEN3_4B, KV_16, 4, 512},
};

/* One preset's rows together. */
struct parts {
    const struct hardware_row *hw;
    const struct model_row *model;
    const struct kv_row *kv;
};

static double kv_bytes(const struct parts *p)
{
    const struct model_row *m = p->model;
    return 2.0 * m->attention_layers * m->kv_heads * m->head_dim * p->kv->element_bytes;
}

/* Weight bytes that `tokens` tokens of one step read. */
static double read_bytes(const struct model_row *m, double tokens)
{
    if (m->experts == 0)
        return m->dense_bytes;
    double untouched = pow(1 - (double)m->active_experts / m->experts, tokens);
    return m->dense_bytes + m->expert_bytes * (1 - untouched);
}

static double read_s(const struct parts *p, double tokens)
{
    return read_bytes(p->model, tokens) / (p->hw->bandwidth * memory_efficiency);
}

static double multiply_s(const struct parts *p, double tokens)
{
    double efficiency = p->model->experts ? 0.41 : 0.68, flops = p->hw->flops16;
    if (p->model->eight_bit && p->hw->flops8 > 0)
        flops = p->hw->flops8;
    return 2 * tokens * p->model->active_params / (flops * efficiency);
}

/* Attention over so many pairs of a token and one before it. */
static double attend_s(const struct parts *p, double pairs)
{
    const struct model_row *m = p->model;
    double width = (double)m->attention_layers * m->query_heads * m->head_dim;
    return 4 * pairs * width / (p->hw->flops16 * p->kv->attention_efficiency);
}

/* Routing and two grouped multiplications are several launches where a dense layer has one. */
static double launch_s(const struct parts *p)
{
    return p->model->layers * p->hw->launch_s * (p->model->experts ? 3.5 : 1);
}

static double decode_s(const struct parts *p, double context, double batch)
{
    double bandwidth = p->hw->bandwidth;
    double traffic = read_s(p, batch) +
                     batch * context * kv_bytes(p) / (bandwidth * p->kv->read_efficiency) +
                     batch * 2 * p->model->state_bytes / (bandwidth * memory_efficiency);
    return fmax(traffic, multiply_s(p, batch)) + launch_s(p);
}

static double prefill_s(const struct parts *p, double tokens)
{
    return fmax(multiply_s(p, tokens), read_s(p, tokens)) + attend_s(p, tokens * tokens / 2);
}

static double warm_s(const struct parts *p, double context, double batch)
{
    double rest = batch * REST_TOKENS;
    return fmax(multiply_s(p, rest), read_s(p, rest)) +
           attend_s(p, rest * (context + REST_TOKENS / 2.0)) + launch_s(p);
}

static void fill_grid(const struct parts *p,
                      double (*seconds)(const struct parts *, double, double), struct grid *g)
{
    static const double contexts[] = {0, 1024, 4096, 16384, 65536, 262144};
    g->contexts = ARRAY_LEN(contexts);
    memcpy(g->context, contexts, sizeof contexts);
    for (int batch = 1; batch <= 512; batch *= 2)
        g->batch[g->batches++] = batch;
    for (size_t c = 0; c < g->contexts; c++)
        for (size_t b = 0; b < g->batches; b++)
            g->ns[c][b] = 1e9 * seconds(p, g->context[c], g->batch[b]);
}

/* Points half an octave apart, from 128 tokens to 256K: between them the parabola's chord is within
 * 3 % of it. */
static void fill_curve(const struct parts *p, struct curve *c)
{
    enum { POINTS = 23 };
    for (int i = 0; i < POINTS; i++) {
        c->tokens[i] = round(128 * pow(2, i / 2.0));
        c->ns[i] = 1e9 * prefill_s(p, c->tokens[i]);
    }
    c->count = POINTS;
}

static void set_limits(const struct preset_row *row, const struct parts *p, struct profile *ret)
{
    const struct model_row *m = p->model;
    double room = p->hw->vram_bytes * p->hw->utilisation - m->file_bytes - p->hw->reserve_bytes -
                  row->max_running * m->state_bytes;
    int64_t tokens = (int64_t)(room / kv_bytes(p));

    ret->block_size = 16;
    ret->kv_tokens = tokens - tokens % ret->block_size;
    ret->context_limit = m->context_limit;
    if (ret->kv_tokens < ret->context_limit) /* whole K, as a person would set it */
        ret->context_limit = ret->kv_tokens - ret->kv_tokens % 1024;
    ret->max_running = row->max_running;
    ret->step_tokens = row->step_tokens;
    ret->warm_tokens = 512;
    ret->prefix_cache = true;
}

size_t profile_preset_count(void)
{
    return ARRAY_LEN(presets);
}

bool profile_preset(size_t index, struct profile *ret)
{
    if (index >= ARRAY_LEN(presets))
        return false;
    const struct preset_row *row = &presets[index];
    const struct parts p = {&hardware_rows[row->hardware], &model_rows[row->model],
                            &kv_rows[row->kv]};
    const char *base = strrchr(p.model->id, '/') + 1;

    *ret = (struct profile){.vram_bytes = p.hw->vram_bytes};
    snprintf(ret->name, sizeof ret->name, "%s", row->name);
    snprintf(ret->title, sizeof ret->title, "%s, %s, on %s", base, p.model->quantization,
             p.hw->gpu);
    snprintf(ret->model, sizeof ret->model, "%s", p.model->id);
    snprintf(ret->served_model, sizeof ret->served_model, "%s", p.model->id);
    snprintf(ret->quantization, sizeof ret->quantization, "%s", p.model->quantization);
    snprintf(ret->gpu, sizeof ret->gpu, "%s", p.hw->gpu);
    set_limits(row, &p, ret);
    fill_grid(&p, decode_s, &ret->decode);
    fill_grid(&p, warm_s, &ret->warm);
    fill_curve(&p, &ret->prefill);
    return true;
}

bool profile_by_name(const char *name, struct profile *ret, struct err *err)
{
    char known[512] = "";
    size_t used = 0;

    for (size_t i = 0; i < ARRAY_LEN(presets); i++) {
        if (strcmp(presets[i].name, name) == 0)
            return profile_preset(i, ret);
        if (used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                                     presets[i].name);
    }
    return err_set(err, ERR_USAGE, "there is no profile %s: it is one of %s", name, known);
}
