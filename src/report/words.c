/* words.c - keys to words, as tables. */
#include "report/words.h"

#include <string.h>

static const struct {
    enum word label, brief, legend;
} statuses[STATUS_COUNT] = {
    [STATUS_VALID] = {WORD_STATUS_VALID, WORD_STATUS_VALID_BRIEF, WORD_NO_WORD},
    [STATUS_QUEUED] = {WORD_STATUS_QUEUED, WORD_STATUS_QUEUED_BRIEF, WORD_STATUS_QUEUED_LEGEND},
    [STATUS_OVER_CAPACITY] = {WORD_STATUS_OVER_CAPACITY, WORD_STATUS_OVER_CAPACITY_BRIEF,
                              WORD_STATUS_OVER_CAPACITY_LEGEND},
    [STATUS_LOOPED] = {WORD_STATUS_LOOPED, WORD_STATUS_LOOPED_BRIEF, WORD_STATUS_LOOPED_LEGEND},
    [STATUS_ERROR] = {WORD_STATUS_ERROR, WORD_STATUS_ERROR_BRIEF, WORD_STATUS_ERROR_LEGEND},
    [STATUS_SKIPPED] = {WORD_STATUS_SKIPPED, WORD_STATUS_SKIPPED_BRIEF, WORD_STATUS_SKIPPED_LEGEND},
};

const char *words_status(const struct lang *l, enum cell_status s)
{
    return word(l, statuses[s].label);
}

const char *words_status_brief(const struct lang *l, enum cell_status s)
{
    return word(l, statuses[s].brief);
}

const char *words_status_legend(const struct lang *l, enum cell_status s)
{
    return statuses[s].legend ? word(l, statuses[s].legend) : NULL;
}

const char *words_mark(const struct lang *l, unsigned bit_index)
{
    static const enum word marks[MARK_COUNT] = {
        WORD_MARK_CLIENT_LIMITED, WORD_MARK_UNSTEADY,      WORD_MARK_CACHE_HIT,
        WORD_MARK_PROMPT_OFF,     WORD_MARK_FOREIGN_LOAD,  WORD_MARK_PREEMPTED,
        WORD_MARK_THROTTLED,      WORD_MARK_RETRIED,       WORD_MARK_INFERRED,
        WORD_MARK_OVER_CAPACITY,  WORD_MARK_HIDDEN_TOKENS, WORD_MARK_BUFFERED,
    };
    return word(l, marks[bit_index]);
}

const char *words_outcome(const struct lang *l, enum outcome o)
{
    static const enum word clauses[OUTCOME_COUNT] = {
        [OUTCOME_NO_DONE] = WORD_OUTCOME_NO_DONE,     [OUTCOME_NO_FINISH] = WORD_OUTCOME_NO_FINISH,
        [OUTCOME_TRUNCATED] = WORD_OUTCOME_TRUNCATED, [OUTCOME_FAILED] = WORD_OUTCOME_FAILED,
        [OUTCOME_REJECTED] = WORD_OUTCOME_REJECTED,   [OUTCOME_TIMED_OUT] = WORD_OUTCOME_TIMED_OUT,
        [OUTCOME_EMPTY] = WORD_OUTCOME_EMPTY,
    };
    bool odd = o != OUTCOME_COMPLETE && o != OUTCOME_CANCELLED;
    return odd ? word(l, clauses[o]) : NULL;
}

const char *words_prefill_mode(const struct lang *l, enum prefill_mode m)
{
    static const enum word modes[] = {
        [PREFILL_WARMUP] = WORD_PREFILL_WARMUP,
        [PREFILL_STANDALONE] = WORD_PREFILL_STANDALONE,
        [PREFILL_NONE] = WORD_PREFILL_NOT_MEASURED,
    };
    return word(l, modes[m]);
}

const char *words_prompts(const struct lang *l, enum prompt_mode m)
{
    return word(l, m == PROMPTS_SHARED ? WORD_PROMPTS_SHARED : WORD_PROMPTS_DISTINCT);
}

struct pair {
    const char *key;
    enum word word;
};

static const char *look_up(const struct lang *l, const struct pair *pairs, size_t count,
                           const char *key)
{
    for (size_t i = 0; key && i < count; i++)
        if (strcmp(pairs[i].key, key) == 0)
            return word(l, pairs[i].word);
    return key;
}

const char *words_kind(const struct lang *l, const char *kind)
{
    static const struct pair pairs[] = {{"measured", WORD_KIND_MEASURED},
                                        {"simulated", WORD_KIND_SIMULATED},
                                        {"imported", WORD_KIND_IMPORTED}};
    return look_up(l, pairs, ARRAY_LEN(pairs), kind);
}

const char *words_machine_type(const struct lang *l, const char *type)
{
    static const struct pair pairs[] = {{"DISCRETE_GPU", WORD_MACHINE_DISCRETE_GPU},
                                        {"UNIFIED", WORD_MACHINE_UNIFIED},
                                        {"CPU_ONLY", WORD_MACHINE_CPU_ONLY}};
    return look_up(l, pairs, ARRAY_LEN(pairs), type);
}

const char *words_token_source(const struct lang *l, const char *source)
{
    static const struct pair pairs[] = {{"usage_stream", WORD_TOKENS_USAGE_STREAM},
                                        {"usage_final", WORD_TOKENS_USAGE_FINAL},
                                        {"events", WORD_TOKENS_EVENTS}};
    return look_up(l, pairs, ARRAY_LEN(pairs), source);
}

const char *words_ended_by(const struct lang *l, const char *ended_by)
{
    static const struct pair pairs[] = {{"done", WORD_ENDED_DONE},
                                        {"interrupted", WORD_ENDED_INTERRUPTED},
                                        {"server_gone", WORD_ENDED_SERVER_GONE}};
    return look_up(l, pairs, ARRAY_LEN(pairs), ended_by);
}

const char *words_transport(const struct lang *l, const char *transport)
{
    static const struct pair pairs[] = {{"own", WORD_TRANSPORT_OWN}, {"curl", WORD_TRANSPORT_CURL}};
    return look_up(l, pairs, ARRAY_LEN(pairs), transport);
}
