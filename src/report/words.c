/* words.c - words as tables. */
#include "report/words.h"

#include <string.h>

const char words_none[] = "—";
const char words_prefill[] = "Prefill";
const char words_decode[] = "Sustained decode";
const char words_prefill_by[] = "prompt tok/s by context length";
const char words_decode_by[] =
    "total tok/s · rows are context length, columns are simultaneous requests";
const char words_medians[] =
    "Latencies are medians. Total tok/s counts the output of all requests together.";
const char words_warm_ttft[] =
    "TTFT of decode cells is taken on a context that the server has already seen, so it mostly "
    "leaves prefill out.";
const char words_starred[] = "* carries a mark, explained below.";

static const struct {
    const char *brief, *legend;
} statuses[STATUS_COUNT] = {
    [STATUS_VALID] = {"valid", NULL},
    [STATUS_QUEUED] = {"queued", "the server could not run all requests together, so some waited "
                                 "for their turn."},
    [STATUS_OVER_CAPACITY] = {"over cap", "left out, because this many requests at this context "
                                          "need more room than the server's KV cache has."},
    [STATUS_LOOPED] = {"looped", "the model fell into repeating itself, so this measurement was "
                                 "thrown away."},
    [STATUS_ERROR] = {"error", "streams failed, so the figures do not count."},
    [STATUS_SKIPPED] = {"skipped", "left out by choice, for the time budget, or because cells to "
                                   "the left were queued already."},
};

const char *words_status_legend(enum cell_status s)
{
    return statuses[s].legend;
}

const char *words_status_brief(enum cell_status s)
{
    return statuses[s].brief;
}

struct pair {
    const char *key, *words;
};

/* The words for a key of the document; the key itself where there are none. */
static const char *look_up(const struct pair *pairs, size_t count, const char *key)
{
    for (size_t i = 0; key && i < count; i++)
        if (strcmp(pairs[i].key, key) == 0)
            return pairs[i].words;
    return key;
}

const char *words_kind(const char *kind)
{
    static const struct pair pairs[] = {
        {"measured", "Measured"}, {"simulated", "Simulated"}, {"imported", "Imported"}};
    return look_up(pairs, ARRAY_LEN(pairs), kind);
}

const char *words_machine_type(const char *type)
{
    static const struct pair pairs[] = {
        {"DISCRETE_GPU", "Discrete GPU"}, {"UNIFIED", "Unified memory"}, {"CPU_ONLY", "CPU only"}};
    return look_up(pairs, ARRAY_LEN(pairs), type);
}

const char *words_token_source(const char *source)
{
    static const struct pair pairs[] = {
        {"usage_stream", "counted by the server in the stream (usage_stream)"},
        {"usage_final", "events weighted by the server's final count (usage_final)"},
        {"events",
         "events only, as the server gives no count (events); not comparable with others"},
    };
    return look_up(pairs, ARRAY_LEN(pairs), source);
}

const char *words_prefill_mode(enum prefill_mode m)
{
    static const char *const words[] = {
        [PREFILL_WARMUP] = "Measured during decode warm-up",
        [PREFILL_STANDALONE] = "Measured apart",
        [PREFILL_NONE] = "Not measured",
    };
    return words[m];
}
