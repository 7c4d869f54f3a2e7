/* outcome.c - the table of outcomes. */
#include "model/outcome.h"

static const struct {
    const char *name;
    bool failure;
} rows[OUTCOME_COUNT] = {
    [OUTCOME_COMPLETE] = {"complete", false},   [OUTCOME_NO_DONE] = {"no_done", false},
    [OUTCOME_NO_FINISH] = {"no_finish", false}, [OUTCOME_TRUNCATED] = {"truncated", true},
    [OUTCOME_FAILED] = {"failed", true},        [OUTCOME_REJECTED] = {"rejected", true},
    [OUTCOME_TIMED_OUT] = {"timed_out", true},  [OUTCOME_EMPTY] = {"empty", true},
    [OUTCOME_CANCELLED] = {"cancelled", false},
};

const char *outcome_name(enum outcome o)
{
    return rows[o].name;
}

bool outcome_is_failure(enum outcome o)
{
    return rows[o].failure;
}

int64_t outcomes_odd(const struct outcomes *o)
{
    int64_t sum = 0;
    for (int i = 0; i < OUTCOME_COUNT; i++)
        if (i != OUTCOME_COMPLETE && i != OUTCOME_CANCELLED)
            sum += o->count[i];
    return sum;
}
