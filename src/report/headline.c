/* headline.c - what stands above the figures. */
#include "report/headline.h"

#include <string.h>

#include "report/plain.h"
#include "report/words.h"

void axes_of(const struct result *r, struct axes *ret)
{
    memset(ret, 0, sizeof *ret);
    for (size_t i = 0; i < r->plan.context_count; i++)
        plan_insert(ret->contexts, &ret->context_count, PLAN_MAX_CONTEXTS, r->plan.contexts[i]);
    for (size_t i = 0; i < r->plan.level_count; i++)
        plan_insert(ret->levels, &ret->level_count, PLAN_MAX_LEVELS, r->plan.levels[i]);
    for (size_t i = 0; i < r->decode_count; i++) {
        const struct cell *c = &r->decode[i];
        plan_insert(ret->contexts, &ret->context_count, PLAN_MAX_CONTEXTS, c->context_tokens);
        plan_insert(ret->levels, &ret->level_count, PLAN_MAX_LEVELS, c->concurrency);
    }
    for (size_t i = 0; i < r->prefill_count; i++)
        plan_insert(ret->prefill, &ret->prefill_count, PLAN_MAX_CONTEXTS,
                    r->prefill[i].context_tokens);
}

/* The part of a Hugging Face id after the owner. */
static const char *model_name(const struct result *r)
{
    const char *model = r->subject.model ? r->subject.model : r->subject.served_model;
    const char *slash = model ? strrchr(model, '/') : NULL;
    return slash && slash[1] ? slash + 1 : model;
}

void headline_title(const struct result *r, const struct lang *l, struct buf *out)
{
    const char *name = model_name(r);
    struct buf model, machine, raw;
    buf_init(&raw, 2 * (size_t)RESULT_MAX_BYTES);
    buf_init(&machine, 2 * (size_t)PLAIN_MAX);
    buf_init(&model, 2 * (size_t)PLAIN_MAX);
    if (r->hardware.gpu_count || r->hardware.cpu)
        machine_title(&r->hardware, &raw);
    else
        buf_adds(&raw, word(l, WORD_TITLE_UNKNOWN_MACHINE));
    plain_add(&machine, raw.p);
    plain_add(&model, name ? name : word(l, WORD_TITLE_UNKNOWN_MODEL));
    say_title_page(l, out, .model = model.p, .machine = machine.p);
    buf_release(&model);
    buf_release(&machine);
    buf_release(&raw);
}

void headline_engine(const struct result *r, const struct lang *l, struct buf *out)
{
    const char *const parts[] = {r->engine.name, r->engine.version, r->subject.quantization};
    bool first = true;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (!parts[i])
            continue;
        buf_adds(out, first ? "" : word(l, WORD_LIST_DOT));
        plain_add(out, parts[i]);
        first = false;
    }
}

/* "0–136K" */
static void add_range(const struct lang *l, const int64_t *values, size_t count, struct buf *out)
{
    char a[NUM_TEXT_MAX], b[NUM_TEXT_MAX];
    if (count == 1)
        buf_adds(out, num_size_text(a, values[0]));
    else
        say_grid_range(l, out, .first = num_size_text(a, values[0]),
                       .last = num_size_text(b, values[count - 1]));
}

void headline_grid(const struct result *r, const struct lang *l, struct buf *out)
{
    struct axes axes;
    struct buf range;
    axes_of(r, &axes);
    buf_init(&range, 256);
    if (axes.context_count) {
        add_range(l, axes.contexts, axes.context_count, &range);
        say_grid_contexts(l, out, .n = (int64_t)axes.context_count, .range = range.p);
    } else {
        buf_adds(out, word(l, WORD_GRID_NO_CONTEXTS));
    }
    buf_adds(out, word(l, WORD_GRID_TIMES));
    buf_reset(&range);
    if (axes.level_count) {
        add_range(l, axes.levels, axes.level_count, &range);
        say_grid_levels(l, out, .n = (int64_t)axes.level_count, .range = range.p);
    } else {
        buf_adds(out, word(l, WORD_GRID_NO_LEVELS));
    }
    buf_reset(&range);
    for (size_t i = 0; i < axes.prefill_count; i++) {
        char text[NUM_TEXT_MAX];
        buf_addf(&range, "%s%s", i ? word(l, WORD_LIST_COMMA) : "",
                 num_size_text(text, axes.prefill[i]));
    }
    if (axes.prefill_count) {
        buf_adds(out, word(l, WORD_LIST_DOT));
        say_grid_prefill(l, out, .contexts = range.p);
    }
    buf_release(&range);
}

void headline_author(const struct result *r, const struct lang *l, struct buf *out)
{
    struct buf by;
    if (!r->by)
        return;
    buf_init(&by, 2 * (size_t)PLAIN_MAX);
    plain_add(&by, r->by);
    say_title_by(l, out, .name = by.p);
    buf_release(&by);
}

void headline_tool(const struct result *r, const struct lang *l, struct buf *out)
{
    (void)l;
    plain_add(out, r->tool.name);
    if (r->tool.name && r->tool.version)
        buf_adds(out, " v");
    plain_add(out, r->tool.version);
}

static bool is_simulated(const struct result *r)
{
    return r->kind && strcmp(r->kind, "simulated") == 0;
}

/* A fact's value as plain text; "" when there is none. */
static void add_fact(const struct result *r, const char *name, struct buf *out)
{
    const struct fact *f = result_fact(r, name);
    buf_init(out, 2 * (size_t)PLAIN_MAX);
    plain_add(out, f ? f->value : NULL);
}

/* The figures are so many times the profile's; "" when they are the profile's own. */
static void add_speed(const struct result *r, struct buf *out)
{
    add_fact(r, "emulator_speed", out);
    if (strcmp(out->p, "1") == 0)
        buf_reset(out);
}

void headline_kind(const struct result *r, const struct lang *l, struct buf *out)
{
    struct buf speed;

    add_speed(r, &speed);
    if (is_simulated(r) && speed.len)
        say_kind_simulated_speed(l, out, .speed = speed.p);
    else
        plain_add(out, words_kind(l, r->kind));
    buf_release(&speed);
}

void headline_simulated(const struct result *r, const struct lang *l, struct buf *out)
{
    struct buf emulator, profile, speed;

    if (!is_simulated(r))
        return;
    add_fact(r, "emulator", &emulator);
    add_fact(r, "emulator_profile", &profile);
    add_speed(r, &speed);
    if (!emulator.len || !profile.len)
        buf_adds(out, word(l, WORD_TITLE_SIMULATED));
    else if (!speed.len)
        say_title_simulated_profile(l, out, .emulator = emulator.p, .profile = profile.p);
    else
        say_title_simulated_speed(l, out, .emulator = emulator.p, .profile = profile.p,
                                  .speed = speed.p);
    buf_release(&emulator);
    buf_release(&profile);
    buf_release(&speed);
}

void headline_by(const struct result *r, const struct lang *l, struct buf *out)
{
    size_t before = out->len;
    headline_author(r, l, out);
    if (r->tool.name) {
        buf_adds(out, out->len > before ? word(l, WORD_LIST_DOT) : "");
        headline_tool(r, l, out);
    }
    if (r->kind) {
        buf_adds(out, out->len > before ? word(l, WORD_LIST_DOT) : "");
        headline_kind(r, l, out);
    }
}
