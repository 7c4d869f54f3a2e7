/* insights.c - the table of rules. */
#include "report/insights.h"

#include "report/insight_rules.h"

const struct insight_rule insight_rules[] = {
    {"prefill", insight_prefill},     {"context_cost", insight_context_cost},
    {"alone", insight_alone},         {"knee", insight_knee},
    {"ttft", insight_ttft},           {"stutter", insight_stutter},
    {"energy", insight_energy},       {"queue", insight_queue},
    {"slots", insight_slots},         {"capacity", insight_capacity},
    {"kv_dtype", insight_kv_dtype},   {"max_output", insight_max_output},
    {"model_len", insight_model_len},
};
const size_t insight_rule_count = ARRAY_LEN(insight_rules);

void insights_add(const struct result *r, const struct lang *l, struct buf *out)
{
    for (size_t i = 0; i < insight_rule_count; i++) {
        size_t before = out->len;
        insight_rules[i].add(r, l, out);
        if (out->len > before)
            buf_addc(out, '\n');
    }
}

void insight_cell_name(const struct lang *l, const struct cell *c, struct buf *out)
{
    char context[NUM_TEXT_MAX], level[NUM_TEXT_MAX];
    say_cell_name(l, out, .context = num_size_text(context, c->context_tokens),
                  .level = lang_number(l, level, c->concurrency, 0));
}
