/* calculator_presets.c - the tables. */
#include "site/calculator_presets.h"

#include <string.h>

#include "base/mem.h"

#define CARD(title, memory, bandwidth, tflops, overhead)                                           \
    {                                                                                              \
        title,                                                                                     \
        {                                                                                          \
            {"memory-gb", memory}, {"bandwidth-gb-s", bandwidth}, {"peak-tflops", tflops},         \
                {"overhead-gb", overhead},                                                         \
            {                                                                                      \
                "devices", "1"                                                                     \
            }                                                                                      \
        }                                                                                          \
    }

const struct calculator_preset card_presets[] = {
    CARD("RTX 3060 12GB", "12.9", "360", "51", "1"),
    CARD("RTX 3090 24GB", "25.8", "936.2", "71", "1.5"),
    CARD("RTX 4060 Ti 16GB", "17.2", "288", "88", "1"),
    CARD("RTX 4090 24GB", "25.8", "1008", "165", "1.5"),
    CARD("RTX 5070 Ti 16GB", "17.2", "896", "88", "1"),
    CARD("RTX 5090 32GB", "34.4", "1792", "209", "1.5"),
    CARD("RTX A6000 48GB", "51.5", "768", "155", "2"),
    CARD("RTX PRO 6000 96GB", "103", "1792", "252", "3"),
    CARD("L40S 48GB", "51.5", "864", "362", "2"),
    CARD("A100 80GB", "85.9", "2039", "312", "3"),
    CARD("H100 80GB SXM", "85.9", "3350", "989", "3"),
    CARD("H200 141GB", "151", "4800", "989", "4"),
    CARD("B200 180GB", "193", "8000", "2250", "4"),
    CARD("RX 7900 XTX 24GB", "25.8", "960", "123", "1.5"),
    CARD("MI300X 192GB", "206", "5300", "1307", "4"),
    CARD("DGX Spark 128GB", "137", "273", "100", "8"),
    CARD("Ryzen AI Max+ 395 128GB", "137", "256", "59", "12"),
};
const size_t card_preset_count = ARRAY_LEN(card_presets);

#define DENSE(title, params, hidden, layers, kv, heads, dim)                                       \
    {                                                                                              \
        title,                                                                                     \
        {                                                                                          \
            {"kind", "dense"}, {"params-b", params}, {"active-b", params}, {"hidden", hidden},     \
                {"global-layers", layers}, {"local-layers", "0"}, {"kv-heads", kv},                \
                {"query-heads", heads},                                                            \
            {                                                                                      \
                "head-dim", dim                                                                    \
            }                                                                                      \
        }                                                                                          \
    }
#define MOE(title, params, active, experts, used, hidden, layers, kv, heads, dim)                  \
    {                                                                                              \
        title,                                                                                     \
        {                                                                                          \
            {"kind", "moe"}, {"params-b", params}, {"active-b", active}, {"experts", experts},     \
                {"experts-per-token", used}, {"hidden", hidden}, {"global-layers", layers},        \
                {"local-layers", "0"}, {"kv-heads", kv}, {"query-heads", heads},                   \
            {                                                                                      \
                "head-dim", dim                                                                    \
            }                                                                                      \
        }                                                                                          \
    }

const struct calculator_preset model_presets[] = {
    DENSE("Llama 3.1 8B", "8.03", "4096", "32", "8", "32", "128"),
    DENSE("Llama 3.3 70B", "70.6", "8192", "80", "8", "64", "128"),
    DENSE("Qwen3 8B", "8.19", "4096", "36", "8", "32", "128"),
    DENSE("Qwen3 14B", "14.8", "5120", "40", "8", "40", "128"),
    DENSE("Qwen3 32B", "32.8", "5120", "64", "8", "64", "128"),
    MOE("Qwen3 30B A3B", "30.5", "3.3", "128", "8", "2048", "48", "4", "32", "128"),
    MOE("Qwen3 235B A22B", "235", "22", "128", "8", "4096", "94", "4", "64", "128"),
    DENSE("Mistral Small 24B", "23.6", "5120", "40", "8", "32", "128"),
    DENSE("Phi-4 14B", "14.7", "5120", "40", "10", "40", "128"),
    {"Gemma 3 27B",
     {{"kind", "dense"},
      {"params-b", "27.4"},
      {"active-b", "27.4"},
      {"hidden", "5376"},
      {"global-layers", "10"},
      {"local-layers", "52"},
      {"window", "1024"},
      {"kv-heads", "16"},
      {"query-heads", "32"},
      {"head-dim", "128"}}},
    {"gpt-oss 20B",
     {{"kind", "moe"},
      {"params-b", "20.9"},
      {"active-b", "3.6"},
      {"experts", "32"},
      {"experts-per-token", "4"},
      {"hidden", "2880"},
      {"global-layers", "12"},
      {"local-layers", "12"},
      {"window", "128"},
      {"kv-heads", "8"},
      {"query-heads", "64"},
      {"head-dim", "64"}}},
    {"gpt-oss 120B",
     {{"kind", "moe"},
      {"params-b", "117"},
      {"active-b", "5.1"},
      {"experts", "128"},
      {"experts-per-token", "4"},
      {"hidden", "2880"},
      {"global-layers", "18"},
      {"local-layers", "18"},
      {"window", "128"},
      {"kv-heads", "8"},
      {"query-heads", "64"},
      {"head-dim", "64"}}},
};
const size_t model_preset_count = ARRAY_LEN(model_presets);

const char *calculator_preset_value(const struct calculator_preset *p, const char *field)
{
    for (size_t i = 0; i < PRESET_MAX_VALUES && p->values[i].field; i++)
        if (strcmp(p->values[i].field, field) == 0)
            return p->values[i].value;
    return NULL;
}
