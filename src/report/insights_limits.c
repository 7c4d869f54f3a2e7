/* insights_limits.c - what ends the rows: queues, slots, the KV cache, and what would move it. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "report/insight_rules.h"
#include "report/plain.h"

/* ---- queues ---------------------------------------------------------------------------------- */

static void add_ran(const struct cell *c, const struct lang *l, struct buf *out)
{
    char active[NUM_TEXT_MAX], level[NUM_TEXT_MAX];
    struct buf name;
    buf_init(&name, 256);
    insight_cell_name(l, c, &name);
    buf_adds(out, out->len ? word(l, WORD_LIST_COMMA) : "");
    say_insight_queue_ran(l, out, .active = lang_number(l, active, c->avg_active, 1),
                          .level = lang_number(l, level, c->concurrency, 0), .cell = name.p);
    buf_release(&name);
}

void insight_queue(const struct result *r, const struct lang *l, struct buf *out)
{
    static const double all_ran = 0.95; /* of C: below it the status says queued */
    enum { SHOWN = 4 };
    struct buf short_of, names;
    size_t queued = 0, shown = 0;
    buf_init(&short_of, RESULT_MAX_BYTES);
    buf_init(&names, RESULT_MAX_BYTES);
    for (size_t i = 0; i < r->decode_count; i++) {
        const struct cell *c = &r->decode[i];
        if (c->status != STATUS_QUEUED)
            continue;
        queued++;
        if (c->avg_active < all_ran * c->concurrency) {
            if (shown++ < SHOWN)
                add_ran(c, l, &short_of);
        } else if (queued <= SHOWN) {
            buf_adds(&names, names.len ? word(l, WORD_LIST_COMMA) : "");
            insight_cell_name(l, c, &names);
        }
    }
    if (short_of.len)
        say_insight_queue(l, out, .n = (int64_t)queued, .list = short_of.p);
    else if (names.len)
        say_insight_queue_brief(l, out, .cells = names.p);
    buf_release(&short_of);
    buf_release(&names);
}

void insight_slots(const struct result *r, const struct lang *l, struct buf *out)
{
    struct axes axes;
    char most[NUM_TEXT_MAX];
    axes_of(r, &axes);
    if (!(r->server.max_running > 0) || axes.level_count == 0 ||
        (double)axes.levels[axes.level_count - 1] <= r->server.max_running)
        return;
    say_insight_slots(l, out, .most = lang_number(l, most, r->server.max_running, 0));
}

/* ---- the KV cache ---------------------------------------------------------------------------- */

/* What the full rule reserves: every request may grow to max_output. */
static double need(const struct cell *c, int64_t max_output)
{
    return (double)c->concurrency * (double)(c->context_tokens + max_output);
}

static bool ran(const struct cell *c)
{
    return c->status != STATUS_OVER_CAPACITY && c->status != STATUS_SKIPPED &&
           !(c->marks & MARK_OVER_CAPACITY);
}

struct capacity {
    size_t over;
    double least, most; /* the budget lies in [least, most): equal when it is known */
    int64_t max_output;
};

/* False when nothing was left out for want of room, or by a rule that is not the full one. */
static bool capacity_of(const struct result *r, struct capacity *ret)
{
    *ret = (struct capacity){.most = INFINITY, .max_output = r->plan.max_output};
    if (r->plan.capacity_rule != CAPACITY_FULL || r->plan.max_output <= 0)
        return false;
    for (size_t i = 0; i < r->decode_count; i++) {
        const struct cell *c = &r->decode[i];
        if (c->status == STATUS_OVER_CAPACITY) {
            ret->over++;
            ret->most = fmin(ret->most, need(c, ret->max_output));
        } else if (ran(c)) {
            ret->least = fmax(ret->least, need(c, ret->max_output));
        }
    }
    if (r->server.kv_budget > 0)
        ret->least = ret->most = r->server.kv_budget;
    return ret->over > 0;
}

void insight_capacity(const struct result *r, const struct lang *l, struct buf *out)
{
    struct capacity c;
    char cells[NUM_TEXT_MAX], output[NUM_TEXT_MAX], least[NUM_TEXT_MAX], most[NUM_TEXT_MAX];
    if (!capacity_of(r, &c))
        return;
    say_insight_capacity(l, out, .n = (int64_t)c.over,
                         .cells = lang_number(l, cells, (double)r->decode_count, 0),
                         .output = lang_number(l, output, (double)c.max_output, 0));
    if (r->server.kv_budget > 0)
        say_insight_capacity_known(l, out, .budget = lang_number(l, least, c.least, 0));
    else if (c.least > 0 && c.least < c.most)
        say_insight_capacity_between(l, out, .least = lang_number(l, least, c.least, 0),
                                     .most = lang_number(l, most, c.most, 0));
}

/* Cells left out that a budget of `budget` tokens would hold. */
static int64_t freed(const struct result *r, double budget, int64_t max_output)
{
    int64_t n = 0;
    for (size_t i = 0; i < r->decode_count; i++)
        n += r->decode[i].status == STATUS_OVER_CAPACITY &&
             need(&r->decode[i], max_output) <= budget;
    return n;
}

/* The word after an option in a command, "--name value" or "--name=value"; false: not there. */
static bool option_value(const char *command, const char *option, char *out, size_t size)
{
    size_t n = strlen(option);
    for (const char *p = command; (p = strstr(p, option)); p += n) {
        bool begins = p == command || p[-1] == ' ' || p[-1] == '\n';
        if (!begins || (p[n] != ' ' && p[n] != '='))
            continue;
        const char *value = p + n + strspn(p + n, " =");
        snprintf(out, size, "%.*s", (int)strcspn(value, " \n\\"), value);
        return true;
    }
    return false;
}

/* Bits of a number in the KV cache by the launch command; 0: a type that is not known here. */
static int kv_bits(const char *command)
{
    static const char *const options[] = {"--kv-cache-dtype", "--cache-type-k", "-ctk"};
    static const struct {
        const char *begins;
        int bits;
    } types[] = {
        {"auto", 16}, {"fp16", 16}, {"f16", 16}, {"bf16", 16}, {"bfloat16", 16}, {"float16", 16},
        {"fp8", 8},   {"int8", 8},  {"q8", 8},   {"int4", 4},  {"fp4", 4},       {"q4", 4},
    };
    char value[64];
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        if (!option_value(command, options[i], value, sizeof value))
            continue;
        for (size_t k = 0; k < ARRAY_LEN(types); k++)
            if (text_starts(value, types[k].begins))
                return types[k].bits;
        return 0;
    }
    return 16; /* what engines take when they are not told */
}

static const struct dialect_hint {
    const char *engine;
    const char *kv_8bit;   /* halves a 16-bit cache */
    const char *model_len; /* limits the context without taking memory; NULL: it takes memory */
} hints[] = {
    {"vllm", "--kv-cache-dtype fp8", "--max-model-len"},
    {"sglang", "--kv-cache-dtype fp8_e5m2", "--context-length"},
    {"llama.cpp", "--cache-type-k q8_0 --cache-type-v q8_0", NULL},
};

static const struct dialect_hint *hint_of(const struct result *r)
{
    for (size_t i = 0; r->engine.name && i < ARRAY_LEN(hints); i++)
        if (text_find_nocase(r->engine.name, hints[i].engine) == r->engine.name)
            return &hints[i];
    return NULL;
}

void insight_kv_dtype(const struct result *r, const struct lang *l, struct buf *out)
{
    const struct dialect_hint *hint = hint_of(r);
    struct capacity c;
    if (!hint || !r->engine.launch_command || !capacity_of(r, &c) || c.least <= 0 ||
        kv_bits(r->engine.launch_command) != 16)
        return;
    int64_t n = freed(r, 2 * c.least, c.max_output);
    if (n > 0)
        say_insight_kv_dtype(l, out, .n = n, .option = hint->kv_8bit);
}

void insight_max_output(const struct result *r, const struct lang *l, struct buf *out)
{
    enum { LEAST_OUTPUT = 1024, SHORTER = 4 };
    struct capacity c;
    char less[NUM_TEXT_MAX], now[NUM_TEXT_MAX];
    if (!capacity_of(r, &c) || c.least <= 0)
        return;
    int64_t shorter = c.max_output / SHORTER;
    if (shorter < LEAST_OUTPUT)
        return;
    int64_t n = freed(r, c.least, shorter);
    if (n > 0)
        say_insight_max_output(l, out, .n = n, .less = lang_number(l, less, (double)shorter, 0),
                               .now = lang_number(l, now, (double)c.max_output, 0));
}

void insight_model_len(const struct result *r, const struct lang *l, struct buf *out)
{
    static const double clear_ratio = 1.1;
    const struct dialect_hint *hint = hint_of(r);
    double limit = r->server.context_limit, budget = r->server.kv_budget;
    struct axes axes;
    char last[NUM_TEXT_MAX], limit_text[NUM_TEXT_MAX], budget_text[NUM_TEXT_MAX];
    axes_of(r, &axes);
    if (!hint || !hint->model_len || !(budget > clear_ratio * limit) || axes.context_count == 0)
        return;
    int64_t longest = axes.contexts[axes.context_count - 1];
    bool limit_ends_the_rows = (double)(longest + r->plan.max_output) > limit - 1024;
    if (limit_ends_the_rows)
        say_insight_model_len(
            l, out, .option = hint->model_len, .limit = lang_number(l, limit_text, limit, 0),
            .last = num_size_text(last, longest), .budget = lang_number(l, budget_text, budget, 0));
}
