/* calculator_fields.c - the table of the calculator's inputs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "model/calculator.h"
#include "model/calculator_inputs.h"

const char *const calculator_kinds[] = {"dense", "moe", NULL};
const char *const calculator_routings[] = {"expected", "minimum", NULL};
const char *const calculator_decodings[] = {"standard", "speculative", NULL};
const char *const calculator_splits[] = {"tensor", "pipeline", NULL};

#define NUMBER(member, text, otherwise, least, most, is_whole, of, heading, sentence)              \
    {.name = (text),                                                                               \
     .offset = offsetof(struct calculator, member),                                                \
     .initial = (otherwise),                                                                       \
     .min = (least),                                                                               \
     .max = (most),                                                                                \
     .whole = (is_whole),                                                                          \
     .unit = (of),                                                                                 \
     .group = (heading),                                                                           \
     .help = (sentence)},
#define CHOICE(member, text, words, otherwise, heading, sentence)                                  \
    {.name = (text),                                                                               \
     .offset = offsetof(struct calculator, member),                                                \
     .choices = (words),                                                                           \
     .group = (heading),                                                                           \
     .help = (sentence)},
const struct calculator_field calculator_fields[] = {CALCULATOR_INPUTS(NUMBER, CHOICE)};
#undef NUMBER
#undef CHOICE
const size_t calculator_field_count = ARRAY_LEN(calculator_fields);

void calculator_init(struct calculator *c)
{
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < calculator_field_count; i++) {
        const struct calculator_field *f = &calculator_fields[i];
        char *at = (char *)c + f->offset;
        if (f->choices)
            *(int *)(void *)at = (int)f->initial;
        else
            *(double *)(void *)at = f->initial;
    }
    c->corrections = CORRECT_ALL;
}

static bool same_name(const char *a, const char *b)
{
    while (*a && *b && (*a == *b || (*a == '-' && *b == '_')))
        a++, b++;
    return !*a && !*b;
}

static bool set_choice(const struct calculator_field *f, int *at, const char *text, struct err *err)
{
    char words[200] = "";
    for (int i = 0; f->choices[i]; i++) {
        size_t n = strlen(words);
        if (strcmp(f->choices[i], text) == 0) {
            *at = i;
            return true;
        }
        snprintf(words + n, sizeof words - n, "%s%s", i ? ", " : "", f->choices[i]);
    }
    return err_set(err, ERR_USAGE, "%s: '%.40s' is not one of %s", f->name, text, words);
}

static bool set_number(const struct calculator_field *f, double *at, const char *text,
                       struct err *err)
{
    double v;
    if (!num_parse_double(text, &v) || !isfinite(v) || v < f->min || v > f->max ||
        (f->whole && v != floor(v)))
        return err_set(err, ERR_USAGE, "%s: '%.40s' is not a %snumber from %g to %g", f->name, text,
                       f->whole ? "whole " : "", f->min, f->max);
    *at = v;
    return true;
}

bool calculator_parse(const char *name, const char *text, void *at, struct err *err)
{
    for (size_t i = 0; i < calculator_field_count; i++) {
        const struct calculator_field *f = &calculator_fields[i];
        if (same_name(f->name, name))
            return f->choices ? set_choice(f, at, text, err) : set_number(f, at, text, err);
    }
    return err_set(err, ERR_USAGE, "'%.60s' is no input of the calculator", name);
}

const struct calculator_correction calculator_corrections[CALCULATOR_CORRECTIONS] = {
    {"kv-per-pass", CORRECT_KV_PASS},
    {"exact-rate", CORRECT_RATE},
    {"compute", CORRECT_COMPUTE},
    {"split", CORRECT_SPLIT},
};

const char *calculator_correction_name(int i)
{
    static const char *const sets[] = {"all", "none", NULL};
    return i < CALCULATOR_CORRECTIONS ? calculator_corrections[i].name
                                      : sets[i - CALCULATOR_CORRECTIONS];
}

static bool find_correction(const char *name, int *ret_bits)
{
    *ret_bits = strcmp(name, "all") == 0 ? CORRECT_ALL : 0;
    for (size_t i = 0; i < ARRAY_LEN(calculator_corrections); i++)
        if (same_name(calculator_corrections[i].name, name))
            *ret_bits = calculator_corrections[i].bit;
    return *ret_bits || strcmp(name, "none") == 0;
}

bool calculator_parse_corrections(const char *list, int *ret_bits, struct err *err)
{
    char words[200], *rest = words, *name;
    int bits;

    if (strlen(list) >= sizeof words)
        return err_set(err, ERR_USAGE, "corrections: too long");
    memcpy(words, list, strlen(list) + 1);
    *ret_bits = 0;
    while (*list && (name = strsep(&rest, ","))) {
        if (!find_correction(name, &bits))
            return err_set(err, ERR_USAGE,
                           "corrections: '%.40s' is not one of kv-per-pass, exact-rate, compute, "
                           "split, all, none",
                           name);
        *ret_bits |= bits;
    }
    return true;
}

bool calculator_set(struct calculator *c, const char *name, const char *text, struct err *err)
{
    for (size_t i = 0; i < calculator_field_count; i++)
        if (same_name(calculator_fields[i].name, name))
            return calculator_parse(name, text, (char *)c + calculator_fields[i].offset, err);
    return calculator_parse(name, text, NULL, err); /* which says that there is no such */
}
