/* dialect.c - the table of engines, most specific first, and the walking of a row's tables. */
#include "load/dialect.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "base/text.h"

/* Some imitate others: TabbyAPI and KoboldCpp have llama-server's /props, KoboldCpp has Ollama's
 * pages too, and proxies hand on what stands behind them. */
static const struct dialect *const dialects[] = {
    &dialect_tabby,    &dialect_koboldcpp, &dialect_textgen,  &dialect_litellm, &dialect_openrouter,
    &dialect_lmstudio, &dialect_trtllm,    &dialect_lmdeploy, &dialect_sglang,  &dialect_vllm,
    &dialect_llamacpp, &dialect_tgi,       &dialect_ollama,   &dialect_mlx,     &dialect_plain,
};

static bool sign_shows(struct pages *pages, const struct sign *sign)
{
    json_t *member = json_at(pages_json(pages, sign->page), sign->path);
    const char *text = json_string_value(member);
    if (sign->value)
        return text && strcmp(text, sign->value) == 0;
    return member && !json_is_null(member);
}

static bool owns(const struct dialect *d, struct pages *pages)
{
    json_t *list = json_at(pages_json(pages, "/v1/models"), "data"), *card;
    size_t i;
    json_array_foreach(list, i, card)
    {
        const char *owner = json_string_at(card, "owned_by");
        if (d->owner && owner && strcmp(owner, d->owner) == 0)
            return true;
    }
    return false;
}

static bool is_owner(const struct dialect *d, struct pages *pages, struct known_text *ret)
{
    if (!owns(d, pages))
        return false;
    snprintf(ret->source, sizeof ret->source, "GET /v1/models owned_by");
    return true;
}

static bool shows_signs(const struct dialect *d, struct pages *pages, struct known_text *ret)
{
    for (size_t i = 0; i < DIALECT_SIGNS && d->signs[i].page; i++)
        if (sign_shows(pages, &d->signs[i])) {
            snprintf(ret->source, sizeof ret->source, "GET %s %s", d->signs[i].page,
                     d->signs[i].path);
            return true;
        }
    const char *where = d->detect ? d->detect(pages) : NULL;
    if (where)
        snprintf(ret->source, sizeof ret->source, "%s", where);
    return where != NULL;
}

/* Owners first: they cost no request, and other engines' pages are then not asked for. */
const struct dialect *dialect_detect(struct pages *pages, struct known_text *ret_engine)
{
    static bool (*const ways[])(const struct dialect *, struct pages *,
                                struct known_text *) = {is_owner, shows_signs};
    const struct dialect *found = NULL;

    for (size_t w = 0; w < ARRAY_LEN(ways) && !found; w++)
        for (size_t i = 0; i + 1 < ARRAY_LEN(dialects) && !found; i++)
            if (ways[w](dialects[i], pages, ret_engine))
                found = dialects[i];
    if (!found) {
        found = dialects[ARRAY_LEN(dialects) - 1];
        snprintf(ret_engine->source, sizeof ret_engine->source, "nothing more is known of it");
    }
    snprintf(ret_engine->value, sizeof ret_engine->value, "%s", found->name);
    return found;
}

/* --- members of pages --- */

static bool names_model(json_t *card, const char *model)
{
    static const char *const keys[] = {"id", "name", "model", "key", "model_name"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const char *name = json_string_value(json_object_get(card, keys[i]));
        if (!name)
            continue;
        size_t n = strlen(model);
        if (strcmp(name, model) == 0 || /* Ollama takes "m" for "m:latest" */
            (strncmp(name, model, n) == 0 && strcmp(name + n, ":latest") == 0))
            return true;
    }
    return false;
}

json_t *dialect_card(struct pages *pages, const char *page, const char *model)
{
    json_t *root = pages_json(pages, page), *list = json_object_get(root, "data"), *card;
    size_t i;
    if (!json_is_array(list))
        list = json_object_get(root, "models");
    json_array_foreach(list, i, card)
    {
        if (names_model(card, model))
            return card;
    }
    return NULL;
}

static json_t *member_at(struct pages *pages, const char *model, struct place place)
{
    if (place.path[0] != '@')
        return json_at(pages_json(pages, place.page), place.path);
    return json_at(dialect_card(pages, place.page, model), place.path + 1);
}

static const char *shown_path(struct place place)
{
    return place.path[0] == '@' ? place.path + 1 : place.path;
}

bool known_number_set(struct known_number *k, int64_t value, const char *source, ...)
{
    va_list args;
    if (value <= 0)
        return false;
    k->value = value;
    va_start(args, source);
    vsnprintf(k->source, sizeof k->source, source, args);
    va_end(args);
    return true;
}

bool known_number_from(struct known_number *k, struct pages *pages, const char *model,
                       struct place place)
{
    int64_t value;
    json_t *member = member_at(pages, model, place);
    return json_int_at(member, "", &value) &&
           known_number_set(k, value, "GET %s %s", place.page, shown_path(place));
}

bool known_text_set(struct known_text *k, const char *text, const char *source)
{
    if (!*text)
        return false;
    text_printable(k->value, sizeof k->value, text, strlen(text));
    snprintf(k->source, sizeof k->source, "%s", source);
    return true;
}

static bool known_text_from(struct known_text *k, struct pages *pages, const char *model,
                            struct place place)
{
    char source[SOURCE_MAX];
    const char *text = json_string_value(member_at(pages, model, place));
    snprintf(source, sizeof source, "GET %s %s", place.page, shown_path(place));
    return text && known_text_set(k, text, source);
}

/* --- a row's places --- */

#define AT(of, member) offsetof(struct of, member)

static void learn_texts(const struct dialect *d, struct pages *pages, const char *model,
                        struct server_facts *facts)
{
    static const struct {
        size_t places, fact;
    } rows[] = {
        {AT(places, version), AT(server_facts, version)},
        {AT(places, build), AT(server_facts, build)},
        {AT(places, backend), AT(server_facts, backend)},
        {AT(places, quantization), AT(server_facts, quantization)},
        {AT(places, revision), AT(server_facts, revision)},
        {AT(places, model), AT(server_facts, model)},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct place *p = (const void *)((const char *)&d->places + rows[i].places);
        struct known_text *k = (void *)((char *)facts + rows[i].fact);
        for (size_t n = 0; n < DIALECT_PLACES && p[n].page; n++)
            if (known_text_from(k, pages, model, p[n]))
                break;
    }
}

static void learn_numbers(const struct dialect *d, struct pages *pages, const char *model,
                          struct server_facts *facts)
{
    static const struct {
        size_t places, fact;
    } rows[] = {
        {AT(places, context_limit), AT(server_facts, context_limit)},
        {AT(places, model_context), AT(server_facts, model_context)},
        {AT(places, kv_budget), AT(server_facts, kv_budget)},
        {AT(places, max_running), AT(server_facts, max_running)},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct place *p = (const void *)((const char *)&d->places + rows[i].places);
        struct known_number *k = (void *)((char *)facts + rows[i].fact);
        for (size_t n = 0; n < DIALECT_PLACES && p[n].page; n++)
            if (known_number_from(k, pages, model, p[n]))
                break;
    }
}

void dialect_learn(const struct dialect *d, struct pages *pages, const char *model,
                   struct server_facts *facts)
{
    snprintf(facts->metrics_path, sizeof facts->metrics_path, "%s",
             d->metrics_paths[0] ? d->metrics_paths[0] : "/metrics");
    snprintf(facts->load_path, sizeof facts->load_path, "%s", d->load_path ? d->load_path : "");
    learn_texts(d, pages, model, facts);
    learn_numbers(d, pages, model, facts);
    if (d->learn)
        d->learn(pages, model, facts);
}

/* --- asking --- */

json_t *dialect_post(struct fetcher *f, const char *path, json_t *body_take)
{
    struct fetch_reply reply = {0};
    struct err err;
    json_t *answer = NULL;
    char *text = json_dumps(body_take, JSON_COMPACT);

    json_decref(body_take);
    buf_init(&reply.body, 64 << 20); /* a token array of a long prompt is several bytes a token */
    if (text && fetch(f, path, text, 60 * NS_PER_S, &reply, &err) && reply.status == 200)
        answer = json_loadb(reply.body.p, reply.body.len, 0, NULL);
    buf_release(&reply.body);
    free(text);
    return answer;
}

void dialect_path_of_model(const char *path, const char *model, char *out, size_t size)
{
    static const char unreserved[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                     "0123456789-._~";
    int used = snprintf(out, size, "%s?model=", path);
    for (const char *p = model; *p && used > 0 && (size_t)used + 4 < size; p++)
        used += snprintf(out + used, size - (size_t)used, strchr(unreserved, *p) ? "%c" : "%%%02X",
                         (unsigned char)*p);
}

/* Any OpenAI-compatible server of which nothing more is known. */
const struct dialect dialect_plain = {
    .name = "openai",
    .places = {.context_limit = {{"/v1/models", "@max_model_len"}}},
};
