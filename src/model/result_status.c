/* result_status.c - statuses and marks: their names in the document and their words for readers. */
#include "model/result.h"
#include "model/result_fields.h"

const char *const status_names[STATUS_COUNT + 1] = {
    [STATUS_VALID] = "valid",
    [STATUS_QUEUED] = "queued",
    [STATUS_OVER_CAPACITY] = "over_capacity",
    [STATUS_LOOPED] = "looped",
    [STATUS_ERROR] = "error",
    [STATUS_SKIPPED] = "skipped",
};

static const char *const status_labels[STATUS_COUNT] = {
    [STATUS_VALID] = "Valid",
    [STATUS_QUEUED] = "Requests queued",
    [STATUS_OVER_CAPACITY] = "Over capacity",
    [STATUS_LOOPED] = "Looped",
    [STATUS_ERROR] = "Error",
    [STATUS_SKIPPED] = "Skipped",
};

/* by bit, in the order of enum cell_mark */
const char *const mark_names[MARK_COUNT + 1] = {
    "client_limited", "unsteady", "cache_hit", "prompt_off",    "foreign_load",  "preempted",
    "throttled",      "retried",  "inferred",  "over_capacity", "hidden_tokens", "buffered",
};

static const char *const feature_names[FEATURE_COUNT] = {
    [FEATURE_IGNORE_EOS] = "ignore_eos",
    [FEATURE_MIN_TOKENS] = "min_tokens",
    [FEATURE_STREAM_OPTIONS] = "stream_options",
    [FEATURE_CONTINUOUS_USAGE] = "continuous_usage_stats",
    [FEATURE_MAX_COMPLETION_TOKENS] = "max_completion_tokens",
    [FEATURE_TOKENIZE] = "tokenize",
    [FEATURE_METRICS] = "metrics",
    [FEATURE_ABORT] = "abort",
};

const char *status_name(enum cell_status s)
{
    return status_names[s];
}

const char *status_label(enum cell_status s)
{
    return status_labels[s];
}

bool status_has_numbers(enum cell_status s)
{
    return s == STATUS_VALID || s == STATUS_QUEUED;
}

const char *mark_name(unsigned bit_index)
{
    return mark_names[bit_index];
}

const char *feature_name(enum feature f)
{
    return feature_names[f];
}
