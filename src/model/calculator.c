/* calculator.c - the formulas of the header, in its order. */
#include "model/calculator.h"

#include <math.h>
#include <stdio.h>

#include "base/json.h"

/* Sessions beyond this are a division by nearly nothing, not a machine. */
static const double batch_max = 1e9;

static bool corrects(const struct calculator *c, int which)
{
    return (c->corrections & which) != 0;
}

bool calculator_check(const struct calculator *c, struct err *err)
{
    if (c->global_layers + c->local_layers < 1)
        return err_set(err, ERR_USAGE,
                       "global-layers, local-layers: a model has one layer or more");
    if (c->read_context > c->allocated_context)
        return err_set(err, ERR_USAGE,
                       "read-context: %g tokens are more than allocated-context keeps (%g)",
                       c->read_context, c->allocated_context);
    if (c->kind == CALCULATOR_DENSE)
        return true;
    if (c->active_b > c->params_b)
        return err_set(err, ERR_USAGE, "active-b: %g are more than all %g parameters", c->active_b,
                       c->params_b);
    if (c->experts_per_token >= c->experts)
        return err_set(err, ERR_USAGE, "experts-per-token: must be fewer than the %g experts",
                       c->experts);
    double expert = (c->params_b - c->active_b) / (c->experts - c->experts_per_token);
    if (c->active_b < c->experts_per_token * expert)
        return err_set(err, ERR_USAGE, "active-b: %g experts of %g each are already more than %g",
                       c->experts_per_token, expert, c->active_b);
    return true;
}

/* --- the parts of a step --- */

static double tokens_per_pass(const struct calculator *c)
{
    double a = c->acceptance_pct / 100, n = c->draft_tokens;
    if (c->decoding == DECODING_STANDARD)
        return 1;
    return a == 1 ? n + 1 : (1 - pow(a, n + 1)) / (1 - a);
}

static double weight_bytes(const struct calculator *c)
{
    return c->weight_bits / 8;
}

static double draft_traffic(const struct calculator *c)
{
    return c->decoding == DECODING_SPECULATIVE ? c->draft_traffic_gb : 0;
}

static double resident_gb(const struct calculator *c)
{
    double draft = c->decoding == DECODING_SPECULATIVE ? c->draft_resident_gb : 0;
    return c->params_b * weight_bytes(c) + draft;
}

/* W_t: what a step of one session reads at least. */
static double active_gb(const struct calculator *c)
{
    double params = c->kind == CALCULATOR_MOE ? c->active_b : c->params_b;
    return params * weight_bytes(c) + draft_traffic(c);
}

/* T(b) */
static double weight_traffic_gb(const struct calculator *c, double batch)
{
    if (c->kind == CALCULATOR_DENSE || c->routing == ROUTING_MINIMUM)
        return active_gb(c);
    double expert = (c->params_b - c->active_b) / (c->experts - c->experts_per_token);
    double trunk = c->active_b - c->experts_per_token * expert;
    double untouched = pow(1 - c->experts_per_token / c->experts, batch * tokens_per_pass(c));
    return (trunk + expert * c->experts * (1 - untouched)) * weight_bytes(c) + draft_traffic(c);
}

static double kv_gb(const struct calculator *c, double context, double bits, double fixed)
{
    double tokens = c->global_layers * context + c->local_layers * fmin(context, c->window);
    return 2 * c->kv_heads * c->head_dim * (bits / 8) * tokens / 1e9 + fixed;
}

static double store_gb(const struct calculator *c)
{
    return kv_gb(c, c->allocated_context, c->store_bits, c->fixed_store_gb);
}

static double read_gb(const struct calculator *c)
{
    return kv_gb(c, c->read_context, c->read_bits, c->fixed_read_gb);
}

/* A session's KV cache as one step reads it. */
static double pass_gb(const struct calculator *c)
{
    return read_gb(c) * (corrects(c, CORRECT_KV_PASS) ? 1 : tokens_per_pass(c));
}

/* Groups that a pipeline runs at once; 1 where there is none. */
static double groups(const struct calculator *c, double batch)
{
    bool pipeline = corrects(c, CORRECT_SPLIT) && c->split == SPLIT_PIPELINE;
    return pipeline ? fmin(batch, c->devices) : 1;
}

/* Devices that work on one group together. */
static double joined(const struct calculator *c)
{
    return corrects(c, CORRECT_SPLIT) && c->split == SPLIT_PIPELINE ? 1 : c->devices;
}

static double memory_s(const struct calculator *c, double batch)
{
    double size = batch / groups(c, batch);
    return (weight_traffic_gb(c, size) + size * pass_gb(c)) / (c->bandwidth_gb_s * joined(c));
}

static double compute_s(const struct calculator *c, double batch)
{
    double active = c->kind == CALCULATOR_MOE ? c->active_b : c->params_b;
    double looked_at = c->decoding == DECODING_SPECULATIVE ? c->draft_tokens + 1 : 1;
    if (!corrects(c, CORRECT_COMPUTE) || c->peak_tflops == 0)
        return 0;
    double size = batch / groups(c, batch);
    return 2 * active * 1e9 * size * looked_at / (c->peak_tflops * 1e12 * joined(c));
}

/* Two all-reduces a layer; a ring moves 2 (N-1)/N of the data through each device's link. */
static double link_s(const struct calculator *c, double batch)
{
    double looked_at = c->decoding == DECODING_SPECULATIVE ? c->draft_tokens + 1 : 1;
    if (!corrects(c, CORRECT_SPLIT) || c->split != SPLIT_TENSOR || c->link_gb_s == 0)
        return 0;
    double share = 2 * (c->devices - 1) / c->devices;
    double bytes = 2 * (c->global_layers + c->local_layers) * share * 2 * c->hidden;
    return bytes * batch * looked_at / (c->link_gb_s * 1e9);
}

static double step_s(const struct calculator *c, double batch)
{
    return fmax(memory_s(c, batch), compute_s(c, batch)) + link_s(c, batch);
}

static double session_rate(const struct calculator *c, double batch)
{
    return tokens_per_pass(c) / step_s(c, batch);
}

struct calculator_point calculator_at(const struct calculator *c, double batch)
{
    double tau = tokens_per_pass(c), parts = groups(c, batch);
    struct calculator_point p = {
        .batch = batch,
        .weight_gb = weight_traffic_gb(c, batch / parts) * parts,
        .kv_gb = batch * pass_gb(c),
        .session_tok_s = session_rate(c, batch),
        .compute_bound = compute_s(c, batch) > memory_s(c, batch),
    };
    p.bytes_per_token_gb = (p.weight_gb + p.kv_gb) / (batch * tau);
    p.aggregate_tok_s = batch * p.session_tok_s;
    return p;
}

/* --- how many sessions --- */

/* The largest batch up to `most` whose sessions keep the floor; 0: none does. Sessions only get
 * slower as there are more of them. */
static double batch_above_floor(const struct calculator *c, double most)
{
    double low = 0, high = most;
    if (session_rate(c, 1) < c->floor_tok_s)
        return 0;
    while (low < high) {
        double middle = ceil((low + high) / 2);
        if (session_rate(c, middle) >= c->floor_tok_s)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static double rate_batch(const struct calculator *c)
{
    double tau = tokens_per_pass(c), kv = pass_gb(c);
    if (corrects(c, CORRECT_RATE)) {
        double b = batch_above_floor(c, batch_max);
        return b < batch_max ? b : INFINITY;
    }
    if (kv == 0)
        return INFINITY;
    double bandwidth = c->bandwidth_gb_s * c->devices;
    return fmax(0, floor((tau * bandwidth / c->floor_tok_s - active_gb(c)) / kv));
}

static void solve_prefill(const struct calculator *c, struct calculator_answer *ret)
{
    double tokens = c->read_context;
    double active = c->kind == CALCULATOR_MOE ? c->active_b : c->params_b;
    double seen = c->global_layers * tokens + c->local_layers * fmin(tokens, c->window);

    ret->prefill_tok_s = ret->prefill_s = NAN;
    if (!corrects(c, CORRECT_COMPUTE) || c->peak_tflops == 0 || tokens == 0)
        return;
    double flops = 2 * active * 1e9 * tokens + 2 * c->head_dim * c->query_heads * seen * tokens;
    double compute = flops / (c->peak_tflops * 1e12 * c->devices);
    double memory = active_gb(c) / (c->bandwidth_gb_s * joined(c));
    ret->prefill_s = fmax(compute, memory);
    ret->prefill_tok_s = tokens / ret->prefill_s;
}

void calculator_solve(const struct calculator *c, struct calculator_answer *ret)
{
    double tau = tokens_per_pass(c), memory = c->memory_gb * c->devices;
    double bandwidth = c->bandwidth_gb_s * c->devices;

    *ret = (struct calculator_answer){
        .tau = tau,
        .resident_gb = resident_gb(c),
        .active_gb = active_gb(c),
        .free_gb = memory - resident_gb(c) - c->overhead_gb,
        .session_store_gb = store_gb(c),
        .session_read_gb = read_gb(c),
        .rate_batch = rate_batch(c),
        .single = calculator_at(c, 1),
        .expected_routing = c->kind == CALCULATOR_MOE && c->routing == ROUTING_EXPECTED,
    };
    double store = ret->session_store_gb;
    ret->memory_batch = store > 0 ? floor(fmax(ret->free_gb, 0) / store) : INFINITY;
    ret->memory_power_tok_s = tau * bandwidth * ret->free_gb / (store * ret->active_gb);
    ret->large_memory_tok_s = tau * memory * bandwidth / (store * ret->active_gb);
    solve_prefill(c, ret);
    if (ret->free_gb < 0)
        ret->state = STATE_RESIDENT_FAIL;
    else if (ret->memory_batch < 1)
        ret->state = STATE_SESSION_FAIL;
    else if (ret->single.session_tok_s < c->floor_tok_s)
        ret->state = STATE_FLOOR_FAIL;
    else
        ret->state = STATE_USABLE;
    if (ret->state != STATE_USABLE)
        return;
    ret->usable_batch = batch_above_floor(c, fmin(ret->memory_batch, batch_max));
    ret->best = calculator_at(c, ret->usable_batch);
}

void calculator_solve_plain(const struct calculator *c, struct calculator_answer *ret)
{
    struct calculator plain = *c;
    plain.corrections = 0;
    calculator_solve(&plain, ret);
}

const char *calculator_state_name(enum calculator_state s)
{
    static const char *const names[] = {"resident-fail", "session-fail", "floor-fail", "usable"};
    return names[s];
}

const char *calculator_advice(const struct calculator *c, const struct calculator_answer *a,
                              char *out, size_t size)
{
    switch (a->state) {
    case STATE_RESIDENT_FAIL:
        snprintf(
            out, size,
            "the weights (%.1f GB) and the overhead (%.1f GB) are %.1f GB more than the memory "
            "holds: fewer weight-bits, a smaller model, or more devices",
            a->resident_gb, c->overhead_gb, -a->free_gb);
        return out;
    case STATE_SESSION_FAIL:
        snprintf(out, size,
                 "beside the weights %.1f GB are left, and one session of %.0f tokens needs %.1f "
                 "GB: a shorter allocated-context, fewer store-bits, or fewer weight-bits",
                 a->free_gb, c->allocated_context, a->session_store_gb);
        return out;
    case STATE_FLOOR_FAIL:
        snprintf(out, size,
                 "one session alone gets at most %.1f tok/s, the floor is %.1f: more bandwidth, "
                 "fewer weight-bits, a shorter read-context, or speculative decoding",
                 a->single.session_tok_s, c->floor_tok_s);
        return out;
    case STATE_USABLE: break;
    }
    return NULL;
}

/* --- JSON --- */

static json_t *figure(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *point(const struct calculator_point *p)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "batch", figure(p->batch), "weight_gb",
                     figure(p->weight_gb), "kv_gb", figure(p->kv_gb), "gb_per_token",
                     figure(p->bytes_per_token_gb), "aggregate_tok_s", figure(p->aggregate_tok_s),
                     "session_tok_s", figure(p->session_tok_s), "compute_bound", p->compute_bound);
}

/* Names have dashes on the command line and in forms, underscores in JSON. */
static const char *underscored(const char *name, char *out, size_t size)
{
    size_t n = 0;
    for (; name[n] && n < size - 1; n++)
        out[n] = name[n] == '-' ? '_' : name[n];
    out[n] = '\0';
    return out;
}

static json_t *inputs(const struct calculator *c)
{
    json_t *in = json_object(), *list = json_array();
    char name[64];

    for (size_t i = 0; i < calculator_field_count; i++) {
        const struct calculator_field *f = &calculator_fields[i];
        const char *at = (const char *)c + f->offset;
        json_object_set_new(in, underscored(f->name, name, sizeof name),
                            f->choices ? json_string(f->choices[*(const int *)(const void *)at])
                                       : figure(*(const double *)(const void *)at));
    }
    for (size_t i = 0; i < ARRAY_LEN(calculator_corrections); i++)
        if (corrects(c, calculator_corrections[i].bit))
            json_array_append_new(
                list, json_string(underscored(calculator_corrections[i].name, name, sizeof name)));
    json_object_set_new(in, "corrections", list);
    return in;
}

static void add_answer(json_t *root, const struct calculator_answer *a)
{
    const struct {
        const char *name;
        double v;
    } figures[] = {
        {"tokens_per_pass", a->tau},
        {"resident_gb", a->resident_gb},
        {"active_gb", a->active_gb},
        {"free_gb", a->free_gb},
        {"session_store_gb", a->session_store_gb},
        {"session_read_gb", a->session_read_gb},
        {"memory_batch", a->memory_batch},
        {"rate_batch", a->rate_batch},
        {"usable_batch", a->usable_batch},
        {"memory_power_tok_s", a->memory_power_tok_s},
        {"large_memory_tok_s", a->large_memory_tok_s},
        {"prefill_tok_s", a->prefill_tok_s},
        {"prefill_s", a->prefill_s},
    };
    json_object_set_new(root, "state", json_string(calculator_state_name(a->state)));
    for (size_t i = 0; i < ARRAY_LEN(figures); i++)
        json_object_set_new(root, figures[i].name, figure(figures[i].v));
    json_object_set_new(root, "single", point(&a->single));
    json_object_set_new(root, "best", a->state == STATE_USABLE ? point(&a->best) : json_null());
}

void calculator_write_json(const struct calculator *c, const struct calculator_answer *a,
                           struct buf *out)
{
    char advice[400];
    struct calculator_answer uncorrected;
    json_t *root = json_pack("{s:o}", "inputs", inputs(c)), *plain = json_null();

    add_answer(root, a);
    json_object_set_new(root, "expected_routing", json_boolean(a->expected_routing));
    if (c->corrections) {
        calculator_solve_plain(c, &uncorrected);
        plain = json_object();
        add_answer(plain, &uncorrected);
    }
    json_object_set_new(root, "plain", plain);
    const char *words = calculator_advice(c, a, advice, sizeof advice);
    json_object_set_new(root, "advice", words ? json_string(words) : json_null());
    json_write(root, out);
    json_decref(root);
}
