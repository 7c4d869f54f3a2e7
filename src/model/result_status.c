/* result_status.c - statuses and marks: their names in the document and their words for readers. */
#include <string.h>

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

static const char *const mark_sentences[MARK_COUNT] = {
    "the measuring client was close to its own limit, so the server may be faster than this",
    "the first and the second half of the window differ by more than 5 %",
    "part of a prompt that should have been new came from the server's cache",
    "the prompt's length missed its target by more than 2 %",
    "the server was working for somebody else as well",
    "the server preempted requests during the window",
    "the hardware lowered its clocks to stay within its power or temperature limit",
    "measured again after a first attempt was discarded",
    "the queue was inferred from streams that had to wait, as the server has no metrics",
    "measured although the capacity rule would have left it out",
    "the server thinks without showing it: only the tokens of the text are counted",
    "the answers came in bundles, as through a buffering proxy: only the total is valid",
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

bool status_from_name(const char *name, enum cell_status *ret)
{
    for (int i = 0; i < STATUS_COUNT; i++) {
        if (strcmp(status_names[i], name) == 0) {
            *ret = (enum cell_status)i;
            return true;
        }
    }
    return false;
}

bool status_has_numbers(enum cell_status s)
{
    return s == STATUS_VALID || s == STATUS_QUEUED;
}

const char *mark_name(unsigned bit_index)
{
    return mark_names[bit_index];
}

const char *mark_words(unsigned bit_index)
{
    return mark_sentences[bit_index];
}

const char *feature_name(enum feature f)
{
    return feature_names[f];
}
