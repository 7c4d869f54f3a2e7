/* dialect.c - the table of engines, most specific first. */
#include "load/dialect.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "base/text.h"

static const struct dialect *const dialects[] = {
    &dialect_llamacpp,
    &dialect_sglang,
    &dialect_vllm,
    &dialect_plain,
};

const struct dialect *dialect_detect(struct pages *pages)
{
    for (size_t i = 0; i + 1 < ARRAY_LEN(dialects); i++)
        if (dialects[i]->detect(pages))
            return dialects[i];
    return dialects[ARRAY_LEN(dialects) - 1];
}

bool dialect_copy(char *out, size_t size, json_t *root, const char *path)
{
    const char *s = json_string_at(root, path);
    if (!s || !*s)
        return false;
    text_printable(out, size, s, strlen(s));
    return true;
}

json_t *dialect_model_card(struct pages *pages, const char *model)
{
    json_t *data = json_at(pages_json(pages, "/v1/models"), "data");
    json_t *card;
    size_t i;
    json_array_foreach(data, i, card)
    {
        const char *id = json_string_at(card, "id");
        if (id && strcmp(id, model) == 0)
            return card;
    }
    return NULL;
}

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

static bool plain_detect(struct pages *pages)
{
    (void)pages;
    return true;
}

static void plain_learn(struct pages *pages, const char *model, struct server_facts *facts)
{
    int64_t limit;
    json_t *card = dialect_model_card(pages, model);
    if (card && json_int_at(card, "max_model_len", &limit) && limit > 0) {
        facts->context_limit = limit;
        memcpy(facts->context_source, "GET /v1/models max_model_len",
               sizeof "GET /v1/models max_model_len");
    }
}

/* Any OpenAI-compatible server of which nothing more is known. */
const struct dialect dialect_plain = {
    .name = "openai",
    .detect = plain_detect,
    .learn = plain_learn,
};
