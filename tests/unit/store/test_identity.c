/* test_identity.c - names of models and cards as people and tools write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "store/identity.h"
#include "store/store.h"

static void test_stems(void **state)
{
    static const struct {
        const char *name, *stem_key;
        bool original;
    } cases[] = {
        {"Qwen/Qwen3.5-27B", "qwen3.5-27b", true},
        {"cyankiwi/Qwen3.5-27B-AWQ-4bit", "qwen3.5-27b", false},
        {"cyankiwi/Qwen3-Coder-30B-A3B-Instruct-AWQ-4bit", "qwen3-coder-30b-a3b-instruct", false},
        {"unsloth/Qwen3.5-27B-GGUF", "qwen3.5-27b", false},
        {"unsloth/Qwen3.5-27B", "qwen3.5-27b", false},
        {"unsloth/gemma-3-27b-it-qat-GGUF", "gemma-3-27b-it", false},
        {"unsloth/Llama-3.3-70B-Instruct-bnb-4bit", "llama-3.3-70b-instruct", false},
        {"RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "llama-3.3-70b-instruct", false},
        {"RedHatAI/Qwen3-8B-quantized.w4a16", "qwen3-8b", false},
        {"neuralmagic/Meta-Llama-3.1-8B-Instruct-FP8", "meta-llama-3.1-8b-instruct", false},
        {"nvidia/Qwen3-8B-NVFP4", "qwen3-8b", false},
        {"TheBloke/Mistral-7B-Instruct-v0.2-GPTQ", "mistral-7b-instruct-v0.2", false},
        {"mistralai/Mistral-7B-Instruct-v0.1", "mistral-7b-instruct-v0.1", true},
        {"turboderp/Qwen3-8B-exl3-4.5bpw", "qwen3-8b", false},
        {"bartowski/Qwen_Qwen3-8B-GGUF", "qwen-qwen3-8b", false},
        {"Qwen3-8B-Q4_K_M.gguf", "qwen3-8b", false},
        {"/models/Qwen3-8B-UD-Q4_K_XL.gguf", "qwen3-8b", false},
        {"C:\\models\\phi-4-IQ3_XXS.gguf", "phi-4", false},
        {"phi-4-Q8_0", "phi-4", false},
        {"org/Model-Int4-W4A16-g128", "model", false},
        {"org/Model-4-bit", "model", false},
        {"org/Model-K", "model-k", true}, /* a tail without its head */
        {"org/Model-v1.0", "model-v1.0", true},
        {"org/GGUF", "gguf", true}, /* something must be left */
        {"openai/gpt-oss-20b", "gpt-oss-20b", true},
        {"openai/gpt-oss-120b-MXFP4", "gpt-oss-120b", false},
        {"deepseek-ai/DeepSeek-V2-Lite-Chat", "deepseek-v2-lite-chat", true},
        {"  spaced   out ", "spaced-out", false},
        {"", "unknown-model", false},
        {"/", "unknown-model", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a = {0};
        struct model_identity m;
        identity_of_name(cases[i].name, &a, &m);
        if (strcmp(m.stem_key, cases[i].stem_key) != 0 || m.original != cases[i].original)
            fail_msg("%s: '%s'%s", cases[i].name, m.stem_key, m.original ? ", original" : "");
        arena_release(&a);
    }
}

static void test_names(void **state)
{
    static const struct {
        const char *given, *name, *organization;
    } cases[] = {
        {"Qwen/Qwen3-8B", "Qwen/Qwen3-8B", "Qwen"},
        {"/data/models/Qwen3-8B/", "Qwen3-8B", NULL},
        {"./Qwen3-8B.gguf", "Qwen3-8B", NULL},
        {"models/Qwen3-8B.gguf", "Qwen3-8B", NULL},
        {"~/x/y", "y", NULL},
        {"a/b/c", "c", NULL},
        {"qwen3:8b", "qwen3:8b", NULL},
        {"a\x1b[31mb\n\tc", "a [31mb c", NULL},
        {"\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd", NULL},
        {"\xe6\xa8\xa1\xe3\x80\x80\xe5\x9e\x8b", "\xe6\xa8\xa1 \xe5\x9e\x8b", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a = {0};
        struct model_identity m;
        identity_of_name(cases[i].given, &a, &m);
        assert_string_equal(m.name, cases[i].name);
        if (cases[i].organization)
            assert_string_equal(m.organization, cases[i].organization);
        else
            assert_null(m.organization);
        arena_release(&a);
    }
}

static void test_long_names(void **state)
{
    struct arena a = {0};
    struct model_identity m;
    char *name = arena_alloc(&a, 5000);

    (void)state;
    for (size_t i = 0; i + 3 < 5000; i += 3)
        memcpy(name + i, "\xe6\xa8\xa1", 3);
    identity_of_name(name, &a, &m);
    assert_int_equal(strlen(m.name), IDENTITY_NAME_MAX / 3 * 3);
    arena_release(&a);
}

static void add_gpu(struct machine *m, const char *name, int gb)
{
    struct gpu *g = &m->gpus[m->gpu_count++];

    g->name = mem_strdup(name);
    g->vram_bytes = (int64_t)gb << 30;
}

static void test_cards(void **state)
{
    static const struct {
        const char *name;
        int gb;
        const char *title, *slug;
    } cases[] = {
        {"NVIDIA GeForce RTX 3090", 24, "RTX 3090 24GB", "rtx-3090-24gb"},
        {"RTX 3090", 24, "RTX 3090 24GB", "rtx-3090-24gb"},
        {"GeForce RTX3090", 24, "RTX 3090 24GB", "rtx-3090-24gb"},
        {"nvidia geforce rtx 3090", 24, "RTX 3090 24GB", "rtx-3090-24gb"},
        {"RTX 3090 24GB", 24, "RTX 3090 24GB", "rtx-3090-24gb"},
        {"NVIDIA GeForce RTX 4060 Ti", 16, "RTX 4060 Ti 16GB", "rtx-4060-ti-16gb"},
        {"NVIDIA A100-SXM4-80GB", 80, "A100-SXM4 80GB", "a100-sxm4-80gb"},
        {"NVIDIA H100 80GB HBM3", 80, "H100 HBM3 80GB", "h100-hbm3-80gb"},
        {"AMD Radeon RX 7900 XTX", 24, "RX 7900 XTX 24GB", "rx-7900-xtx-24gb"},
        {"Radeon RX7900 XTX", 24, "RX 7900 XTX 24GB", "rx-7900-xtx-24gb"},
        {"AMD Radeon 8060S Graphics", 96, "Radeon 8060S 96GB", "radeon-8060s-96gb"},
        {"AMD Instinct MI300X", 192, "Instinct MI300X 192GB", "instinct-mi300x-192gb"},
        {"Intel(R) Arc(TM) B580 Graphics", 12, "Arc B580 12GB", "arc-b580-12gb"},
        {"GPU", 0, "GPU", "gpu"},
        {"", 8, "unknown 8GB", "unknown-8gb"},
        {"../../etc/passwd <b>", 8, "../../etc/passwd <b> 8GB", "..-..-etc-passwd-b-8gb"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct machine m = {.type = mem_strdup("DISCRETE_GPU")};
        struct arena a = {0};
        struct store_hardware h;
        add_gpu(&m, cases[i].name, cases[i].gb);
        store_hardware_of(&m, &a, &h);
        assert_string_equal(h.title, cases[i].title);
        assert_string_equal(h.slug, cases[i].slug);
        assert_string_equal(h.card, cases[i].slug);
        assert_int_equal(h.memory_gb, cases[i].gb);
        arena_release(&a);
        machine_release(&m);
    }
}

static void test_machines(void **state)
{
    struct machine two = {.type = mem_strdup("DISCRETE_GPU")}, mixed = {0}, shared = {0}, cpu = {0};
    struct arena a = {0};
    struct store_hardware h;

    (void)state;
    add_gpu(&two, "NVIDIA GeForce RTX 3090", 24);
    add_gpu(&two, "NVIDIA GeForce RTX 3090", 24);
    store_hardware_of(&two, &a, &h);
    assert_string_equal(h.slug, "2x-rtx-3090-24gb");
    assert_string_equal(h.card, "rtx-3090-24gb");
    assert_int_equal(h.count, 2);

    add_gpu(&mixed, "NVIDIA GeForce RTX 3090", 24);
    add_gpu(&mixed, "NVIDIA RTX A4000", 16);
    add_gpu(&mixed, "NVIDIA GeForce RTX 3090", 24);
    store_hardware_of(&mixed, &a, &h);
    assert_string_equal(h.class, "DISCRETE_GPU");
    assert_string_equal(h.title, "2x RTX 3090 24GB + RTX A4000 16GB");
    assert_string_equal(h.name, "RTX 3090 + RTX A4000");
    assert_string_equal(h.slug, "2x-rtx-3090-24gb-rtx-a4000-16gb");
    assert_string_equal(h.card, h.slug);
    assert_int_equal(h.count, 3);
    assert_int_equal(h.memory_gb, 0);

    shared.type = mem_strdup("UNIFIED");
    shared.ram_bytes = INT64_C(128) << 30;
    add_gpu(&shared, "NVIDIA GB10", 0);
    store_hardware_of(&shared, &a, &h);
    assert_string_equal(h.title, "GB10 128GB");
    assert_string_equal(h.slug, "unified-gb10-128gb");

    cpu.cpu = mem_strdup("AMD Ryzen 9 7950X 16-Core Processor");
    cpu.ram_bytes = INT64_C(64) << 30;
    store_hardware_of(&cpu, &a, &h);
    assert_string_equal(h.class, "CPU_ONLY");
    assert_string_equal(h.slug, "cpu-ryzen-9-7950x-16-core-64gb");
    assert_int_equal(h.count, 0);

    arena_release(&a);
    machine_release(&two);
    machine_release(&mixed);
    machine_release(&shared);
    machine_release(&cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stems),      cmocka_unit_test(test_names),
        cmocka_unit_test(test_long_names), cmocka_unit_test(test_cards),
        cmocka_unit_test(test_machines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
