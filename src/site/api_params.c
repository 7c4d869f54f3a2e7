/* api_params.c - what is made of a row: a check, a schema. */
#include "site/api_params.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "base/text.h"

const struct api_param *param_of_path(const char *name, size_t n)
{
    for (const struct api_param *p = params_path; p->name; p++)
        if (strlen(p->name) == n && memcmp(p->name, name, n) == 0)
            return p;
    return NULL;
}

const struct api_param *param_find(const struct api_param *const *list, const char *name)
{
    for (; *list; list++)
        if (strcmp((*list)->name, name) == 0)
            return *list;
    return NULL;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool is_word(const struct api_param *p, const char *value, size_t n)
{
    const char *word;
    for (int i = 0; (word = api_word(&p->words, i)); i++)
        if (strlen(word) == n && memcmp(word, value, n) == 0)
            return true;
    return false;
}

static bool refuse_word(const struct api_param *p, struct err *err)
{
    char words[200] = "";
    const char *word;
    for (int i = 0; (word = api_word(&p->words, i)); i++) {
        size_t used = strlen(words);
        snprintf(words + used, sizeof words - used, "%s%s", i ? ", " : "", word);
    }
    return err_set(err, ERR_FORMAT, "%s: it is one of %s", p->name, words);
}

static bool check_number(const struct api_param *p, double v, struct err *err)
{
    bool whole = p->kind == PARAM_INTEGER;
    if (isfinite(v) && v >= p->min && v <= p->max && (!whole || v == floor(v)))
        return true;
    return err_set(err, ERR_FORMAT, "%s: a %snumber from %.10g to %.10g is expected", p->name,
                   whole ? "whole " : "", p->min, p->max);
}

static bool check_length(const struct api_param *p, size_t n, struct err *err)
{
    if ((double)n >= p->min && (double)n <= p->max)
        return true;
    return err_set(err, ERR_FORMAT, "%s: a text of %.0f to %.0f bytes is expected", p->name, p->min,
                   p->max);
}

static bool is_flag(const char *value)
{
    static const char *const words[] = {"1", "true", "0", "false"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(words[i], value) == 0)
            return true;
    return false;
}

static bool check_words(const struct api_param *p, const char *value, struct err *err)
{
    for (;;) {
        size_t n = strcspn(value, ",");
        if (!is_word(p, value, n))
            return refuse_word(p, err);
        if (!value[n])
            return true;
        value += n + 1;
    }
}

bool param_check_text(const struct api_param *p, const char *value, struct err *err)
{
    double number;
    int64_t tokens;
    switch (p->kind) {
    case PARAM_TEXT:
    case PARAM_CURSOR: return check_length(p, strlen(value), err);
    case PARAM_WORD: return is_word(p, value, strlen(value)) || refuse_word(p, err);
    case PARAM_WORDS: return check_words(p, value, err);
    case PARAM_INTEGER:
    case PARAM_NUMBER: return check_number(p, num_parse_double(value, &number) ? number : NAN, err);
    case PARAM_FLAG:
        return is_flag(value) || err_set(err, ERR_FORMAT, "%s: it is 1, true, 0 or false", p->name);
    case PARAM_TOKENS:
        return (num_parse_size(value, &tokens) && tokens >= 0) ||
               err_set(err, ERR_FORMAT, "%s: a number of tokens is expected, as 16384 or 16k",
                       p->name);
    case PARAM_OBJECT: break; /* there is no such thing in a query */
    }
    return err_set(err, ERR_FORMAT, "%s: it is no parameter", p->name);
}

static bool check_list(const struct api_param *p, const json_t *list, struct err *err)
{
    size_t words = 0;
    while (api_word(&p->words, (int)words))
        words++;
    if (json_array_size(list) > words)
        return err_set(err, ERR_FORMAT, "%s: there are only %zu words that may be in it", p->name,
                       words);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (!text || !is_word(p, text, strlen(text)))
            return refuse_word(p, err);
    }
    return true;
}

bool param_check_json(const struct api_param *p, const json_t *value, struct err *err)
{
    static const char *const types[] = {
        [PARAM_TEXT] = "text",     [PARAM_WORD] = "text",     [PARAM_INTEGER] = "number",
        [PARAM_NUMBER] = "number", [PARAM_FLAG] = "boolean",  [PARAM_TOKENS] = "text",
        [PARAM_WORDS] = "array",   [PARAM_OBJECT] = "object", [PARAM_CURSOR] = "text",
    };
    const char *text = json_string_value(value);
    if (text && (p->kind == PARAM_TEXT || p->kind == PARAM_WORD))
        return param_check_text(p, text, err);
    if (json_is_number(value) && (p->kind == PARAM_INTEGER || p->kind == PARAM_NUMBER))
        return check_number(p, json_number_value(value), err);
    if (json_is_array(value) && p->kind == PARAM_WORDS)
        return check_list(p, value, err);
    if ((json_is_boolean(value) && p->kind == PARAM_FLAG) ||
        (json_is_object(value) && p->kind == PARAM_OBJECT))
        return true;
    return err_set(err, ERR_FORMAT, "%s: JSON of another type is expected: %s", p->name,
                   types[p->kind]);
}

const char *param_text(const json_t *value, struct arena *a)
{
    if (json_is_string(value))
        return arena_strdup(a, json_string_value(value));
    if (json_is_boolean(value))
        return json_is_true(value) ? "true" : "false";
    if (json_is_number(value))
        return arena_printf(a, "%.17g", json_number_value(value));
    if (!json_is_array(value))
        return NULL;
    const char *joined = "";
    for (size_t i = 0; i < json_array_size(value); i++)
        joined = arena_printf(a, "%s%s%s", joined, i ? "," : "",
                              json_string_value(json_array_get(value, i)));
    return joined;
}

/* ---- schema ---------------------------------------------------------------------------------- */

static void add_bounds(json_t *schema, const struct api_param *p, bool whole)
{
    json_object_set_new(schema, "minimum",
                        whole ? json_integer((json_int_t)p->min) : json_real(p->min));
    json_object_set_new(schema, "maximum",
                        whole ? json_integer((json_int_t)p->max) : json_real(p->max));
}

static json_t *text_schema(const struct api_param *p)
{
    json_t *schema = json_pack("{s:s}", "type", "string");
    if (p->min > 0)
        json_object_set_new(schema, "minLength", json_integer((json_int_t)p->min));
    json_object_set_new(schema, "maxLength", json_integer((json_int_t)p->max));
    return schema;
}

static json_t *bare_schema(const struct api_param *p, bool in_body)
{
    json_t *schema;
    switch (p->kind) {
    case PARAM_TEXT:
    case PARAM_CURSOR: return text_schema(p);
    case PARAM_WORD:
        return json_pack("{s:s, s:o}", "type", "string", "enum", api_words_json(&p->words));
    case PARAM_WORDS:
        return json_pack("{s:s, s:{s:s, s:o}}", "type", "array", "items", "type", "string", "enum",
                         api_words_json(&p->words));
    case PARAM_INTEGER:
    case PARAM_NUMBER:
        schema = json_pack("{s:s}", "type", p->kind == PARAM_INTEGER ? "integer" : "number");
        add_bounds(schema, p, p->kind == PARAM_INTEGER);
        return schema;
    case PARAM_FLAG:
        return in_body ? json_pack("{s:s}", "type", "boolean")
                       : json_pack("{s:[s, s, s, s]}", "enum", "1", "true", "0", "false");
    case PARAM_TOKENS:
        return json_pack("{s:s, s:s}", "type", "string", "pattern", "^[0-9.]+[kKmM]?$");
    case PARAM_OBJECT: return json_pack("{s:s}", "type", "object");
    }
    return json_object();
}

json_t *param_schema(const struct api_param *p, bool in_body)
{
    json_t *schema = bare_schema(p, in_body);
    json_t *initial = p->initial ? json_loads(p->initial, JSON_DECODE_ANY, NULL) : NULL;
    if (initial && p->kind == PARAM_FLAG && !in_body) {
        json_decref(initial);
        initial = json_string(p->initial);
    }
    if (initial)
        json_object_set_new(schema, "default", initial);
    if (in_body)
        json_object_set_new(schema, "description", json_string(p->help));
    return schema;
}
