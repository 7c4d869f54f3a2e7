/* ask.c - the table of fields, then prompt and limits. */
#include "engine/ask.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

bool complain(struct complaint *c, enum complaint_kind kind, const char *param, const char *format,
              ...)
{
    char text[sizeof c->text];
    va_list args;

    *c = (struct complaint){.kind = kind, .max_output = -1};
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    text_printable(c->text, sizeof c->text, text, strlen(text));
    snprintf(c->param, sizeof c->param, "%s", param);
    return false;
}

/* --- fields --- */

enum field_type { TYPE_BOOL, TYPE_INT, TYPE_NUMBER, TYPE_STRING, TYPE_ARRAY, TYPE_OBJECT };

static const char *const type_words[] = {
    [TYPE_BOOL] = "a boolean",  [TYPE_INT] = "an integer", [TYPE_NUMBER] = "a number",
    [TYPE_STRING] = "a string", [TYPE_ARRAY] = "an array", [TYPE_OBJECT] = "an object",
};

enum { NOWHERE = -1 };
#define NOT_GIVEN  INT64_MIN /* of max_output */
#define AT(member) ((int)offsetof(struct ask, member))

/* `at`: where a boolean or an integer is kept; NOWHERE: its type is checked and that is all. */
static const struct field {
    const char *name; /* "a.b" is member b of object a */
    enum field_type type;
    int at;
    int64_t min, max; /* integers; both 0: any */
} fields[] = {
    {"stream", TYPE_BOOL, AT(stream), 0, 0},
    {"stream_options", TYPE_OBJECT, NOWHERE, 0, 0},
    {"stream_options.include_usage", TYPE_BOOL, AT(include_usage), 0, 0},
    {"stream_options.continuous_usage_stats", TYPE_BOOL, AT(continuous_usage), 0, 0},
    {"max_tokens", TYPE_INT, AT(max_output), -1, INT32_MAX},
    {"max_completion_tokens", TYPE_INT, AT(max_output), -1, INT32_MAX},
    {"min_tokens", TYPE_INT, AT(min_output), 0, INT32_MAX},
    {"ignore_eos", TYPE_BOOL, AT(ignore_eos), 0, 0},
    {"seed", TYPE_INT, AT(seed), 0, 0},
    {"n", TYPE_INT, NOWHERE, 1, 1},
    {"best_of", TYPE_INT, NOWHERE, 1, 1},
    {"temperature", TYPE_NUMBER, NOWHERE, 0, 0},
    {"top_p", TYPE_NUMBER, NOWHERE, 0, 0},
    {"top_k", TYPE_INT, NOWHERE, 0, 0},
    {"presence_penalty", TYPE_NUMBER, NOWHERE, 0, 0},
    {"frequency_penalty", TYPE_NUMBER, NOWHERE, 0, 0},
    {"model", TYPE_STRING, NOWHERE, 0, 0},
    {"rid", TYPE_STRING, NOWHERE, 0, 0},
    {"user", TYPE_STRING, NOWHERE, 0, 0},
};

/* Integers may be written 16.0. */
static bool as_int(const json_t *value, int64_t *ret)
{
    double v = json_number_value(value);
    if (json_is_integer(value)) {
        *ret = json_integer_value(value);
        return true;
    }
    if (!json_is_real(value) || v != floor(v) || fabs(v) > 1e15)
        return false;
    *ret = (int64_t)v;
    return true;
}

static bool has_type(const json_t *value, enum field_type type)
{
    int64_t ignored;
    switch (type) {
    case TYPE_BOOL: return json_is_boolean(value);
    case TYPE_INT: return as_int(value, &ignored);
    case TYPE_NUMBER: return json_is_number(value);
    case TYPE_STRING: return json_is_string(value);
    case TYPE_ARRAY: return json_is_array(value);
    case TYPE_OBJECT: return json_is_object(value);
    }
    return false;
}

static bool wrong_type(struct complaint *c, const char *name, enum field_type type)
{
    return complain(c, COMPLAINT_TYPE, name, "%s", type_words[type]);
}

/* The value of a field; NULL when it is absent or null. */
static json_t *field_value(json_t *root, const char *name)
{
    const char *dot = strchr(name, '.');
    char first[32];

    if (dot) {
        snprintf(first, sizeof first, "%.*s", (int)(dot - name), name);
        root = json_object_get(root, first);
        name = dot + 1;
    }
    json_t *value = json_object_get(root, name);
    return json_is_null(value) ? NULL : value;
}

static bool read_field(json_t *root, const struct field *f, struct ask *ask, struct complaint *c)
{
    const json_t *value = field_value(root, f->name);
    char *to = (char *)ask + f->at;
    int64_t v;

    if (!value)
        return true;
    if (!has_type(value, f->type))
        return wrong_type(c, f->name, f->type);
    if (f->type == TYPE_BOOL && f->at != NOWHERE)
        *(bool *)to = json_is_true(value);
    if (f->type != TYPE_INT || !as_int(value, &v))
        return true;
    if ((f->min != 0 || f->max != 0) && (v < f->min || v > f->max))
        return complain(c, COMPLAINT_VALUE, f->name, "must be from %lld to %lld, not %lld",
                        (long long)f->min, (long long)f->max, (long long)v);
    if (f->at != NOWHERE)
        *(int64_t *)(void *)to = v;
    return true;
}

/* --- prompts --- */

static void add_text(struct tokens *tokens, struct token_memo *memo, struct buf *text,
                     const char *p, size_t n)
{
    if (tokens)
        tokenizer_add_memo(tokens, p, n, memo);
    if (text)
        buf_add(text, p, n);
}

/* A message's content: a string, or parts of which each is text; null is empty. */
static bool add_content(const struct body *body, const json_t *content, struct tokens *tokens,
                        struct token_memo *memo, struct buf *text, struct complaint *c)
{
    const char *p;
    size_t n, i;
    json_t *part;

    if (!content || json_is_null(content))
        return true;
    if (body_string(body, content, &p, &n)) {
        add_text(tokens, memo, text, p, n);
        return true;
    }
    if (!json_is_array(content))
        return complain(c, COMPLAINT_TYPE, "messages.content", "a string or an array of parts");
    json_array_foreach(content, i, part)
    {
        if (!body_string(body, json_object_get(part, "text"), &p, &n))
            return complain(c, COMPLAINT_VALUE, "messages.content",
                            "this model takes text only: part %zu has no \"text\"", i);
        add_text(tokens, memo, text, p, n);
    }
    return true;
}

bool ask_messages(const struct body *body, struct tokens *tokens, struct token_memo *memo,
                  struct buf *text, struct complaint *c)
{
    json_t *messages = field_value(body->root, "messages"), *message;
    size_t i;

    if (!messages)
        return complain(c, COMPLAINT_MISSING, "messages", "%s", "");
    if (!json_is_array(messages))
        return wrong_type(c, "messages", TYPE_ARRAY);
    if (json_array_size(messages) == 0)
        return complain(c, COMPLAINT_VALUE, "messages", "must have at least one message");
    json_array_foreach(messages, i, message)
    {
        const char *role;
        size_t role_n;
        struct buf said;
        if (!body_string(body, json_object_get(message, "role"), &role, &role_n) || role_n > 32)
            return complain(c, COMPLAINT_TYPE, "messages.role", "a short string");
        buf_init(&said, SIZE_MAX / 2);
        if (tokens)
            template_open(tokens, role, role_n);
        bool ok = add_content(body, json_object_get(message, "content"), tokens, memo,
                              text ? &said : NULL, c);
        if (tokens)
            template_close(tokens);
        if (text)
            template_text(text, role, said.p, said.len);
        buf_release(&said);
        if (!ok)
            return false;
    }
    if (tokens)
        template_open(tokens, "assistant", strlen("assistant"));
    if (text)
        template_text_end(text);
    return true;
}

static bool add_ids(json_t *list, struct tokens *tokens, struct complaint *c)
{
    json_t *id;
    size_t i;
    json_array_foreach(list, i, id)
    {
        if (!json_is_integer(id) || json_integer_value(id) < 0)
            return complain(c, COMPLAINT_TYPE, "prompt", "a string or an array of token ids");
        tokens_add(tokens, (uint64_t)json_integer_value(id));
    }
    return true;
}

/* A text, token ids, or a list of one such. */
static bool read_prompt(const struct body *body, struct tokens *tokens, struct token_memo *memo,
                        struct complaint *c)
{
    json_t *prompt = field_value(body->root, "prompt");
    const char *p;
    size_t n;

    if (!prompt)
        return complain(c, COMPLAINT_MISSING, "prompt", "%s", "");
    if (json_is_array(prompt) && !json_is_integer(json_array_get(prompt, 0))) {
        if (json_array_size(prompt) != 1)
            return complain(c, COMPLAINT_VALUE, "prompt", "takes one prompt in a request, not %zu",
                            json_array_size(prompt));
        prompt = json_array_get(prompt, 0);
    }
    if (body_string(body, prompt, &p, &n))
        tokenizer_add_memo(tokens, p, n, memo);
    else if (!json_is_array(prompt))
        return complain(c, COMPLAINT_TYPE, "prompt", "a string or an array of token ids");
    else if (!add_ids(prompt, tokens, c))
        return false;
    return tokens->n > 0 || complain(c, COMPLAINT_VALUE, "prompt", "must not be empty");
}

/* --- limits --- */

static bool refuse_length(const struct ask *ask, const struct ask_rules *rules, int64_t output,
                          struct complaint *c)
{
    complain(c, COMPLAINT_TOO_LONG, ask->endpoint == ENDPOINT_CHAT ? "messages" : "prompt", "%s",
             "");
    c->prompt_tokens = (int64_t)ask->prompt.n;
    c->limit = rules->context_limit;
    c->max_output = output;
    return false;
}

static bool fit_output(struct ask *ask, const struct ask_rules *rules, struct complaint *c)
{
    int64_t left = rules->context_limit - (int64_t)ask->prompt.n, asked = ask->max_output;
    bool given = asked != NOT_GIVEN;

    if (given && (asked == 0 || (asked < 0 && !rules->negative_is_all)))
        return complain(c, COMPLAINT_VALUE, "max_tokens", "must be at least 1, not %lld",
                        (long long)asked);
    if (given && rules->bounds_output && asked > rules->context_limit)
        return complain(c, COMPLAINT_VALUE, "max_tokens",
                        "%lld is more than the whole context of %lld", (long long)asked,
                        (long long)rules->context_limit);
    if (!given && ask->endpoint == ENDPOINT_TEXT && rules->text_max_output > 0)
        asked = rules->text_max_output;
    if (left < 1)
        return refuse_length(ask, rules, -1, c);
    if (asked > left && !rules->trims_output)
        return refuse_length(ask, rules, asked, c);
    ask->max_output = asked < 0 || asked > left ? left : asked;
    if (ask->min_output > ask->max_output)
        ask->min_output = ask->max_output;
    return true;
}

bool ask_check_model(const struct body *body, const struct ask_rules *rules, struct complaint *c)
{
    const char *model;
    size_t n;
    if (!rules->checks_model ||
        !body_string(body, json_object_get(body->root, "model"), &model, &n))
        return true;
    if (n == strlen(rules->served_model) && memcmp(model, rules->served_model, n) == 0)
        return true;
    return complain(c, COMPLAINT_MODEL, "model", "%.*s", n < 128 ? (int)n : 128, model);
}

static void read_id(json_t *root, struct ask *ask)
{
    const char *id = json_string_value(json_object_get(root, "rid"));
    if (id && strlen(id) < sizeof ask->id &&
        strspn(id, "0123456789abcdefghijklmnopqrstuvwxyz"
                   "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == strlen(id))
        snprintf(ask->id, sizeof ask->id, "%s", id);
}

bool ask_read(const struct body *body, enum endpoint endpoint, const struct ask_rules *rules,
              struct tokens *prompt, struct token_memo *memo, struct ask *ret,
              struct complaint *complaint)
{
    struct ask ask = {.endpoint = endpoint, .max_output = NOT_GIVEN};

    if (!json_is_object(body->root))
        return complain(complaint, COMPLAINT_TYPE, "body", "%s", type_words[TYPE_OBJECT]);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (!read_field(body->root, &fields[i], &ask, complaint))
            return false;
    if (rules->stream_options_want_stream && !ask.stream &&
        field_value(body->root, "stream_options"))
        return complain(complaint, COMPLAINT_VALUE, "stream_options", "want \"stream\": true");
    ask.has_seed = field_value(body->root, "seed") != NULL;
    read_id(body->root, &ask);
    prompt->n = 0;
    if (!ask_check_model(body, rules, complaint) ||
        !(endpoint == ENDPOINT_CHAT ? ask_messages(body, prompt, memo, NULL, complaint)
                                    : read_prompt(body, prompt, memo, complaint)))
        return false;
    ask.prompt = *prompt;
    if (!fit_output(&ask, rules, complaint))
        return false;
    *ret = ask;
    return true;
}
