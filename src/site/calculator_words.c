/* calculator_words.c - the tables from names to words. */
#include "site/calculator_words.h"

#include <string.h>

#include "base/mem.h"

struct row {
    const char *name;
    enum site_word word;
};

static const struct row fields[] = {
    {"memory-gb", SITE_INPUT_MEMORY_GB},
    {"bandwidth-gb-s", SITE_INPUT_BANDWIDTH_GB_S},
    {"overhead-gb", SITE_INPUT_OVERHEAD_GB},
    {"peak-tflops", SITE_INPUT_PEAK_TFLOPS},
    {"devices", SITE_INPUT_DEVICES},
    {"split", SITE_INPUT_SPLIT},
    {"link-gb-s", SITE_INPUT_LINK_GB_S},
    {"kind", SITE_INPUT_KIND},
    {"params-b", SITE_INPUT_PARAMS_B},
    {"active-b", SITE_INPUT_ACTIVE_B},
    {"weight-bits", SITE_INPUT_WEIGHT_BITS},
    {"experts", SITE_INPUT_EXPERTS},
    {"experts-per-token", SITE_INPUT_EXPERTS_PER_TOKEN},
    {"routing", SITE_INPUT_ROUTING},
    {"hidden", SITE_INPUT_HIDDEN},
    {"global-layers", SITE_INPUT_GLOBAL_LAYERS},
    {"local-layers", SITE_INPUT_LOCAL_LAYERS},
    {"window", SITE_INPUT_WINDOW},
    {"kv-heads", SITE_INPUT_KV_HEADS},
    {"query-heads", SITE_INPUT_QUERY_HEADS},
    {"head-dim", SITE_INPUT_HEAD_DIM},
    {"store-bits", SITE_INPUT_STORE_BITS},
    {"read-bits", SITE_INPUT_READ_BITS},
    {"fixed-store-gb", SITE_INPUT_FIXED_STORE_GB},
    {"fixed-read-gb", SITE_INPUT_FIXED_READ_GB},
    {"allocated-context", SITE_INPUT_ALLOCATED_CONTEXT},
    {"read-context", SITE_INPUT_READ_CONTEXT},
    {"decoding", SITE_INPUT_DECODING},
    {"draft-tokens", SITE_INPUT_DRAFT_TOKENS},
    {"acceptance-pct", SITE_INPUT_ACCEPTANCE_PCT},
    {"draft-resident-gb", SITE_INPUT_DRAFT_RESIDENT_GB},
    {"draft-traffic-gb", SITE_INPUT_DRAFT_TRAFFIC_GB},
    {"floor-tok-s", SITE_INPUT_FLOOR_TOK_S},
};

static const struct row groups[] = {
    {"The machine", SITE_GROUP_MACHINE},
    {"The model", SITE_GROUP_MODEL},
    {"The KV cache", SITE_GROUP_KV},
    {"Decoding", SITE_GROUP_DECODING},
};

static const struct row choices[] = {
    {"dense", SITE_CHOICE_DENSE},       {"moe", SITE_CHOICE_MOE},
    {"expected", SITE_CHOICE_EXPECTED}, {"minimum", SITE_CHOICE_MINIMUM},
    {"standard", SITE_CHOICE_STANDARD}, {"speculative", SITE_CHOICE_SPECULATIVE},
    {"tensor", SITE_CHOICE_TENSOR},     {"pipeline", SITE_CHOICE_PIPELINE},
};

static const struct row corrections[] = {
    {"kv-per-pass", SITE_CORRECTION_KV_PER_PASS},
    {"exact-rate", SITE_CORRECTION_EXACT_RATE},
    {"compute", SITE_CORRECTION_COMPUTE},
    {"split", SITE_CORRECTION_SPLIT},
};

static const struct row correction_meanings[] = {
    {"kv-per-pass", SITE_CORRECTION_KV_PER_PASS_MEANS},
    {"exact-rate", SITE_CORRECTION_EXACT_RATE_MEANS},
    {"compute", SITE_CORRECTION_COMPUTE_MEANS},
    {"split", SITE_CORRECTION_SPLIT_MEANS},
};

static enum site_word find(const struct row *rows, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].word;
    return SITE_NO_WORD;
}

enum site_word calculator_field_word(const char *name)
{
    return find(fields, ARRAY_LEN(fields), name);
}

enum site_word calculator_group_word(const char *heading)
{
    return find(groups, ARRAY_LEN(groups), heading);
}

enum site_word calculator_choice_word(const char *choice)
{
    return find(choices, ARRAY_LEN(choices), choice);
}

enum site_word calculator_correction_word(const char *name)
{
    return find(corrections, ARRAY_LEN(corrections), name);
}

enum site_word calculator_correction_means(const char *name)
{
    return find(correction_meanings, ARRAY_LEN(correction_meanings), name);
}
