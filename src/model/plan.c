/* plan.c - presets, lists, and the three ways a plan gets shorter: the model's limit, a budget, and
 * the order that gives the most useful cells first. */
#include "model/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "model/result_fields.h"

enum {
    K = 1024,
    DEFAULT_MAX_OUTPUT = 8192,
    MAX_CONTEXT = 1 << 30, /* a typing error, not a context */
    DEFAULT_PREFILL_TOK_S = 1000,
    SHORT_CONTEXT = 16 * K, /* measured three times up to here, once beyond */
};

#define MIN_WINDOW_NS    (5 * NS_PER_S)
#define START_NS         (10 * NS_PER_S) /* probing, calibration, hidden warm-up */
#define BETWEEN_CELLS_NS (3 * NS_PER_S)  /* drain, idle check, connections, first tokens */

const char *const prompt_mode_names[] = {
    [PROMPTS_SHARED] = "shared", [PROMPTS_DISTINCT] = "distinct", NULL};
const char *const prefill_mode_names[] = {[PREFILL_WARMUP] = "warmup",
                                          [PREFILL_STANDALONE] = "standalone",
                                          [PREFILL_NONE] = "none",
                                          NULL};
const char *const capacity_rule_names[] = {
    [CAPACITY_FULL] = "full", [CAPACITY_WINDOW] = "window", NULL};
const char *const preset_names[] = {"quick", "standard", "full", NULL};

struct preset {
    const char *contexts, *levels, *prefill; /* as options write them */
    int64_t duration_ns;
    int repeats;
};

/* in the order of preset_names */
static const struct preset presets[] = {
    {"0,8k", "1,2,4,8", "8k", 10 * NS_PER_S, 1},
    {"0,16k,32k,64k,128k", "1,2,4,8,16,32,64,128", "8k,16k,32k,64k,128k", 30 * NS_PER_S, 1},
    {"0,4k,8k,16k,32k,48k,64k,96k,128k", "1,2,3,4,6,8,12,16,24,32,48,64,96,128",
     "2k,4k,8k,16k,32k,48k,64k,96k,128k", 60 * NS_PER_S, 3},
};
enum { PRESET_STANDARD = 1 };

static bool apply_preset(struct plan *p, const struct preset *from, struct err *err)
{
    p->duration_ns = from->duration_ns;
    p->settle_ns = 2 * NS_PER_S;
    p->repeats = from->repeats;
    return plan_parse_contexts(from->contexts, p->contexts, &p->context_count, true, "preset",
                               err) &&
           plan_parse_levels(from->levels, p, err) &&
           plan_parse_contexts(from->prefill, p->prefill, &p->prefill_count, false, "preset", err);
}

void plan_init(struct plan *p)
{
    *p = (struct plan){0};
    if (!apply_preset(p, &presets[PRESET_STANDARD], NULL))
        abort(); /* the table above does not parse: a test walks it */
}

bool plan_preset(struct plan *p, const char *name, struct err *err)
{
    for (size_t i = 0; preset_names[i]; i++) {
        if (strcmp(preset_names[i], name) == 0) {
            p->preset = preset_names[i];
            return apply_preset(p, &presets[i], err);
        }
    }
    return err_set(err, ERR_USAGE, "--preset: '%.40s' is not one of quick, standard, full", name);
}

/* Lists */

struct list_kind {
    const char *option;
    bool (*parse)(const char *s, int64_t *ret);
    int64_t min, max;
    size_t room;
    const char *expected;
};

bool plan_insert(int64_t *values, size_t *count, size_t room, int64_t v)
{
    size_t i = *count;
    while (i > 0 && values[i - 1] > v)
        i--;
    if (i > 0 && values[i - 1] == v)
        return true;
    if (*count == room)
        return false;
    memmove(values + i + 1, values + i, (*count - i) * sizeof *values);
    values[i] = v;
    ++*count;
    return true;
}

static bool parse_list(const char *text, const struct list_kind *kind, int64_t *out,
                       size_t *ret_count, struct err *err)
{
    int64_t values[PLAN_MAX_CONTEXTS > PLAN_MAX_LEVELS ? PLAN_MAX_CONTEXTS : PLAN_MAX_LEVELS];
    size_t count = 0;
    for (const char *p = text;; p++) {
        char element[32];
        int64_t v;
        size_t n = strcspn(p, ",");
        bool fits = n < sizeof element;
        if (fits) {
            memcpy(element, p, n);
            element[n] = '\0';
        }
        if (!fits || !kind->parse(element, &v) || v < kind->min || v > kind->max)
            return err_set(err, ERR_USAGE, "%s: '%.*s' is not %s", kind->option,
                           (int)(n < 40 ? n : 40), p, kind->expected);
        if (!plan_insert(values, &count, kind->room, v))
            return err_set(err, ERR_USAGE, "%s: more than %zu values", kind->option, kind->room);
        p += n;
        if (!*p)
            break;
    }
    memcpy(out, values, count * sizeof *values);
    *ret_count = count;
    return true;
}

bool plan_parse_contexts(const char *text, int64_t *out, size_t *ret_count, bool allow_zero,
                         const char *option, struct err *err)
{
    const struct list_kind kind = {
        .option = option,
        .parse = num_parse_size,
        .min = allow_zero ? 0 : 1,
        .max = MAX_CONTEXT,
        .room = PLAN_MAX_CONTEXTS,
        .expected = allow_zero ? "a length in tokens such as 0, 4096 or 16k"
                               : "a length in tokens such as 4096 or 16k, above 0",
    };
    return parse_list(text, &kind, out, ret_count, err);
}

bool plan_parse_levels(const char *text, struct plan *p, struct err *err)
{
    static const struct list_kind kind = {
        .option = "--concurrency",
        .parse = num_parse_i64,
        .min = 1,
        .max = PLAN_MAX_CONCURRENCY,
        .room = PLAN_MAX_LEVELS,
        .expected = "a number of requests from 1 to 16384",
    };
    int64_t levels[PLAN_MAX_LEVELS] = {0};
    if (!parse_list(text, &kind, levels, &p->level_count, err))
        return false;
    for (size_t i = 0; i < p->level_count; i++)
        p->levels[i] = (int)levels[i];
    return true;
}

/* The model's limit */

static void fix_max_output(struct plan *p, int64_t limit, struct buf *notes)
{
    int64_t quarter = limit / 4;
    int64_t room = quarter < K ? quarter : K; /* what a prompt needs at least: template, task */
    char a[NUM_TEXT_MAX], b[NUM_TEXT_MAX];

    if (p->max_output == 0)
        p->max_output = limit > 0 && quarter < DEFAULT_MAX_OUTPUT ? quarter : DEFAULT_MAX_OUTPUT;
    if (limit > 0 && p->max_output > limit - room) {
        buf_addf(notes, "max output lowered from %s to ", num_grouped(a, (double)p->max_output, 0));
        p->max_output = limit - room;
        buf_addf(notes, "%s: the model's limit is %s tokens\n",
                 num_grouped(a, (double)p->max_output, 0), num_grouped(b, (double)limit, 0));
    }
    if (p->max_output < 1)
        p->max_output = 1;
}

/* Drops what is above `largest`; true when something was. */
static bool drop_above(int64_t *values, size_t *count, int64_t largest, int64_t limit,
                       const char *what, struct buf *notes)
{
    size_t kept = *count;
    while (kept > 0 && values[kept - 1] > largest)
        kept--;
    for (size_t i = kept; i < *count; i++) {
        char a[NUM_TEXT_MAX], b[NUM_TEXT_MAX];
        buf_addf(notes, "%s %s dropped: the model's limit is %s tokens\n", what,
                 num_size_text(a, values[i]), num_grouped(b, (double)limit, 0));
    }
    bool dropped = kept < *count;
    *count = kept;
    return dropped;
}

static void add_largest(const struct plan *p, int64_t *values, size_t *count, int64_t largest,
                        const char *what, struct buf *notes)
{
    size_t before = *count;
    char a[NUM_TEXT_MAX], b[NUM_TEXT_MAX];
    if (plan_insert(values, count, PLAN_MAX_CONTEXTS, largest) && *count > before)
        buf_addf(notes, "%s %s added: the largest that leaves room for %s tokens of output\n", what,
                 num_size_text(a, largest), num_grouped(b, (double)p->max_output, 0));
}

void plan_trim(struct plan *p, int64_t limit, struct buf *notes)
{
    fix_max_output(p, limit, notes);
    if (limit <= 0)
        return;
    int64_t largest = (limit - p->max_output) / K * K;
    int64_t asked = p->context_count ? p->contexts[p->context_count - 1] : 0;

    bool dropped = drop_above(p->contexts, &p->context_count, largest, limit, "context", notes);
    if (dropped || (largest > asked && largest - asked <= asked / 8))
        add_largest(p, p->contexts, &p->context_count, largest, "context", notes);
    if (drop_above(p->prefill, &p->prefill_count, largest, limit, "prefill", notes) && largest > 0)
        add_largest(p, p->prefill, &p->prefill_count, largest, "prefill", notes);
}

/* Time */

double plan_kv_need(int64_t context, int concurrency, double written, bool shared)
{
    double contexts = shared ? 1 : concurrency;
    return contexts * (double)context + concurrency * written;
}

bool plan_runs(const struct plan *p, int64_t context, int concurrency)
{
    if (p->kv_budget <= 0 || p->run_over_capacity || p->capacity_rule != CAPACITY_FULL)
        return true;
    double need = plan_kv_need(context, concurrency, (double)p->max_output, false);
    return need <= (double)p->kv_budget;
}

int plan_prefill_samples(const struct plan *p, int64_t context)
{
    if (p->prefill_samples > 0)
        return p->prefill_samples;
    return context <= SHORT_CONTEXT ? 3 : 1;
}

static bool contains(const int64_t *values, size_t count, int64_t v)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] == v)
            return true;
    return false;
}

/* Tokens that are prefilled cold: samples, and the warm-up of each decode context. A warm-up counts
 * as a sample where the plan says so; distinct prompts warm one context for every stream. */
static double prefilled_tokens(const struct plan *p)
{
    double tokens = 0;
    int streams = 1;
    if (p->prompts == PROMPTS_DISTINCT) {
        streams = 0; /* every cell warms its own */
        for (size_t l = 0; l < p->level_count; l++)
            streams += p->levels[l];
    }
    if (p->prefill_mode != PREFILL_NONE)
        for (size_t i = 0; i < p->prefill_count; i++)
            tokens += (double)p->prefill[i] * plan_prefill_samples(p, p->prefill[i]);
    for (size_t i = 0; i < p->context_count; i++) {
        bool is_sample = p->prefill_mode == PREFILL_WARMUP &&
                         contains(p->prefill, p->prefill_count, p->contexts[i]);
        tokens += (double)p->contexts[i] * (streams - is_sample);
    }
    return tokens;
}

static int64_t windows(const struct plan *p)
{
    int64_t cells = 0;
    for (size_t c = 0; c < p->context_count; c++)
        for (size_t l = 0; l < p->level_count; l++)
            cells += plan_runs(p, p->contexts[c], p->levels[l]);
    return cells * (p->repeats > 0 ? p->repeats : 1);
}

void plan_estimate(struct plan *p, double prefill_tok_s)
{
    double speed = prefill_tok_s > 0 ? prefill_tok_s : DEFAULT_PREFILL_TOK_S;
    int64_t cold_ns = llround(prefilled_tokens(p) / speed * (double)NS_PER_S);
    int64_t settle_ns = p->settle_ns > 0 ? p->settle_ns : 0;
    p->estimate_ns =
        START_NS + cold_ns + windows(p) * (p->duration_ns + settle_ns + BETWEEN_CELLS_NS);
}

static bool fits(struct plan *p, double prefill_tok_s)
{
    plan_estimate(p, prefill_tok_s);
    return p->estimate_ns <= p->budget_ns;
}

/* The longest whole number of seconds that fits, not below the shortest window. */
static void shorten_window(struct plan *p, double prefill_tok_s, struct buf *notes)
{
    int64_t least = p->duration_ns < MIN_WINDOW_NS ? p->duration_ns : MIN_WINDOW_NS;
    char a[NUM_TEXT_MAX], b[NUM_TEXT_MAX];
    int64_t old = p->duration_ns;
    if (fits(p, prefill_tok_s) || windows(p) == 0)
        return;
    int64_t excess = p->estimate_ns - p->budget_ns;
    int64_t shorter = (old - (excess + windows(p) - 1) / windows(p)) / NS_PER_S * NS_PER_S;
    p->duration_ns = shorter > least ? shorter : least;
    if (p->duration_ns < old)
        buf_addf(notes, "window shortened from %s to %s to fit the budget\n",
                 num_duration_text(a, old), num_duration_text(b, p->duration_ns));
}

static void drop_levels(struct plan *p, double prefill_tok_s, struct buf *notes)
{
    size_t old = p->level_count;
    while (p->level_count > 1 && !fits(p, prefill_tok_s))
        p->level_count--;
    if (p->level_count < old)
        buf_addf(notes, "concurrency above %d left out to fit the budget\n",
                 p->levels[p->level_count - 1]);
}

static void drop_contexts(struct plan *p, double prefill_tok_s, struct buf *notes)
{
    size_t old = p->context_count, old_prefill = p->prefill_count;
    char a[NUM_TEXT_MAX];
    while (!fits(p, prefill_tok_s) && (p->context_count > 1 || p->prefill_count > 0)) {
        int64_t context = p->context_count > 1 ? p->contexts[p->context_count - 1] : -1;
        int64_t prefill = p->prefill_count ? p->prefill[p->prefill_count - 1] : -1;
        p->context_count -= context >= prefill;
        p->prefill_count -= prefill >= context;
    }
    if (p->context_count < old)
        buf_addf(notes, "contexts above %s left out to fit the budget\n",
                 num_size_text(a, p->contexts[p->context_count - 1]));
    if (p->prefill_count < old_prefill)
        buf_addf(notes, "prefill from %s on left out to fit the budget\n",
                 num_size_text(a, p->prefill[p->prefill_count]));
}

bool plan_fit_budget(struct plan *p, double prefill_tok_s, struct buf *notes, struct err *err)
{
    char a[NUM_TEXT_MAX], b[NUM_TEXT_MAX];
    plan_estimate(p, prefill_tok_s);
    if (p->budget_ns == 0)
        return true;
    size_t noted = notes->len;
    shorten_window(p, prefill_tok_s, notes);
    drop_levels(p, prefill_tok_s, notes);
    drop_contexts(p, prefill_tok_s, notes);
    if (notes->len > noted)
        p->preset = NULL; /* a shortened preset is none */
    if (fits(p, prefill_tok_s))
        return true;
    return err_set(err, ERR_USAGE, "a budget of %s is too short: one cell needs about %s",
                   num_duration_text(a, p->budget_ns), num_duration_text(b, p->estimate_ns));
}

/* Order */

size_t plan_order(const struct plan *p, struct plan_step *out, size_t max)
{
    size_t n = 0;
    if (p->context_count == 0 || p->level_count == 0)
        return 0;
    for (size_t c = 0; c < p->context_count && n < max; c++)
        out[n++] = (struct plan_step){c, 0};
    for (size_t c = 0; c < p->context_count; c++)
        for (size_t l = 1; l < p->level_count && n < max; l++)
            out[n++] = (struct plan_step){c, l};
    return n;
}
