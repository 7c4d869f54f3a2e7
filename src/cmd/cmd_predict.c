/* cmd_predict.c - tokgrid predict: the decode calculator on the command line. */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "cmd/commands.h"
#include "model/calculator.h"
#include "model/calculator_inputs.h"

struct predict_settings {
    struct calculator c;
    const char *corrections;
    bool json;
};

/* A figure as it is printed; what is not bounded says so. */
static const char *figure(char text[NUM_TEXT_MAX], double v, int decimals)
{
    return isinf(v) ? "no limit" : num_grouped(text, v, decimals);
}

/* "name  value unit", and what the formulas without corrections say where that is another figure.
 */
static void add_both(struct buf *out, const char *name, double v, double plain, int decimals,
                     const char *unit)
{
    char text[NUM_TEXT_MAX], other[NUM_TEXT_MAX];
    bool bare = isinf(v) || !unit[0];

    figure(other, plain, decimals);
    buf_addf(out, "%-34s %12s%s%s", name, figure(text, v, decimals), bare ? "" : " ",
             bare ? "" : unit);
    if (!isnan(plain) && strcmp(figure(text, v, decimals), figure(other, plain, decimals)) != 0)
        buf_addf(out, "   (plain formulas: %s)", figure(other, plain, decimals));
    buf_adds(out, "\n");
}

static void add_line(struct buf *out, const char *name, double v, int decimals, const char *unit)
{
    add_both(out, name, v, NAN, decimals, unit);
}

static void add_point(struct buf *out, const char *title, const struct calculator_point *p,
                      const struct calculator_point *plain)
{
    char batch[NUM_TEXT_MAX], total[NUM_TEXT_MAX], each[NUM_TEXT_MAX], other[NUM_TEXT_MAX];
    num_grouped(total, p->aggregate_tok_s, 1);
    buf_addf(out, "%-34s %12s tok/s in all, %s each, %s session%s%s", title, total,
             num_grouped(each, p->session_tok_s, 1), num_grouped(batch, p->batch, 0),
             p->batch == 1 ? "" : "s", p->compute_bound ? " (bounded by compute)" : "");
    if (plain->batch > 0 && strcmp(num_grouped(other, plain->aggregate_tok_s, 1), total) != 0)
        buf_addf(out, "   (plain formulas: %s, %s session%s)", other,
                 num_grouped(batch, plain->batch, 0), plain->batch == 1 ? "" : "s");
    buf_adds(out, "\n");
}

static void write_lines(const struct calculator *c, const struct calculator_answer *a,
                        struct buf *out)
{
    char advice[400];
    const char *words = calculator_advice(c, a, advice, sizeof advice);
    struct calculator_answer plain;

    calculator_solve_plain(c, &plain);
    buf_addf(out, "%s%s%s\n\n", calculator_state_name(a->state), words ? ": " : "",
             words ? words : "");
    add_line(out, "Weights in memory", a->resident_gb, 2, "GB");
    add_line(out, "Weights read by a step", a->active_gb, 2, "GB");
    add_line(out, "Memory left for sessions", a->free_gb, 2, "GB");
    add_line(out, "KV cache of a session", a->session_store_gb, 3, "GB");
    add_line(out, "... read by a step", a->session_read_gb, 3, "GB");
    add_line(out, "Sessions that fit the memory", a->memory_batch, 0, "");
    add_both(out, "Sessions that keep the floor", a->rate_batch, plain.rate_batch, 0, "");
    if (c->decoding == DECODING_SPECULATIVE)
        add_line(out, "Tokens a verification pass", a->tau, 2, "");
    buf_adds(out, "\nAt most, by memory traffic:\n");
    add_point(out, "One session", &a->single, &plain.single);
    if (a->state == STATE_USABLE)
        add_point(out, "As many as fit and keep the floor", &a->best, &plain.best);
    if (!isnan(a->prefill_tok_s)) {
        add_line(out, "Prefill", a->prefill_tok_s, 0, "tok/s");
        add_line(out, "Prefill of the read context", a->prefill_s, 2, "s");
    }
    add_line(out, "Memory-power bound", a->memory_power_tok_s, 1, "tok/s");
    add_line(out, "Large-memory bound", a->large_memory_tok_s, 1, "tok/s");
}

static int predict(int argc, char **argv)
{
    struct predict_settings set = {0};
    struct calculator_answer answer;
    struct err err = {0}, inner = {0};
    struct buf out;
    int code;

    calculator_init(&set.c);
    if (!command_parse(&cmd_predict, argc, argv, &set, &code))
        return code;
    if (!calculator_parse_corrections(set.corrections, &set.c.corrections, &inner)) {
        err_set(&err, inner.code, "--%s", inner.text);
        return command_fail(&err);
    }
    if (!calculator_check(&set.c, &err))
        return command_fail(&err);
    calculator_solve(&set.c, &answer);
    buf_init(&out, 1 << 20);
    if (set.json)
        calculator_write_json(&set.c, &answer, &out);
    else
        write_lines(&set.c, &answer, &out);
    code = command_print(&out);
    buf_release(&out);
    return code;
}

static bool parse_input(const char *name, const char *text, void *field, struct err *err)
{
    struct err inner;
    return calculator_parse(name + strspn(name, "-"), text, field, &inner) ||
           err_set(err, inner.code, "--%s", inner.text);
}

#define NUMBER(member, text, initial_, least, most, is_whole, of, heading, sentence)               \
    {.name = (text),                                                                               \
     OPTION_CUSTOM(struct predict_settings, c.member, parse_input),                                \
     .value = "N",                                                                                 \
     .otherwise = #initial_,                                                                       \
     .group = (heading),                                                                           \
     .help = (sentence)},
#define CHOICE(member, text, words, initial_, heading, sentence)                                   \
    {.name = (text),                                                                               \
     OPTION_CUSTOM(struct predict_settings, c.member, parse_input),                                \
     .value = "NAME",                                                                              \
     .otherwise = (initial_),                                                                      \
     .group = (heading),                                                                           \
     .help = (sentence)},
static const struct option_row rows[] = {
    CALCULATOR_INPUTS(NUMBER, CHOICE){
        .name = "corrections",
        OPTION_STRING(struct predict_settings, corrections),
        .value = "LIST",
        .initial = "all",
        .group = "The formulas",
        .help = "Which corrections to the plain memory-traffic formulas to use: kv-per-pass (a "
                "verification pass reads the KV cache once), exact-rate (the floor is held against "
                "what a step of so many sessions reads), compute (the peak bounds as well), split "
                "(several devices work as a tensor or pipeline split does), all, none. What the "
                "plain formulas say stands beside every figure that a correction changes."},
    {.name = "json", OPTION_FLAG(struct predict_settings, json), .help = "Print JSON."},
    {0},
};
#undef NUMBER
#undef CHOICE

static const char *const examples[] = {
    "tokgrid predict --memory-gb 24 --bandwidth-gb-s 936 --params-b 27 --weight-bits 4.3",
    "A 27B model in 4 bits on one RTX 3090, with the default 16-bit KV cache.",
    "tokgrid predict --json",
    "The defaults, for a program.",
    NULL,
};

const struct command cmd_predict = {
    .name = "predict",
    .summary = "Calculate the most a machine can decode, from memory traffic",
    .about =
        "A decoding step reads the weights it uses once for all sessions, and each session's KV "
        "cache. Bandwidth over these bytes is a bound that no engine passes; a measured run lies "
        "below it. The answer is one of four states: resident-fail (the weights do not fit), "
        "session-fail (no session fits beside them), floor-fail (one session alone is below the "
        "floor), usable. GB are 10^9 bytes.",
    .options = rows,
    .examples = examples,
    .run = predict,
};
