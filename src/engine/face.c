/* face.c - the table of faces and what several of them share. */
#include "engine/face.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/version.h"

static const struct face *const faces[] = {&face_vllm, &face_sglang, &face_llamacpp, &face_plain};
const char *const service_faces[] = {"vllm", "sglang", "llama.cpp", "plain", NULL};

const struct face *face_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(faces); i++)
        if (strcmp(faces[i]->name, name) == 0)
            return faces[i];
    return NULL;
}

void face_chat(struct service *s, struct exchange *x)
{
    completion_start(s, x, ENDPOINT_CHAT);
}

void face_text(struct service *s, struct exchange *x)
{
    completion_start(s, x, ENDPOINT_TEXT);
}

void face_empty_ok(struct service *s, struct exchange *x)
{
    service_reply_text(s, x, 200, s->face->json_type, "");
}

static void add_member(struct buf *out, const char *name, const char *value)
{
    buf_addf(out, ",\"%s\":", name);
    buf_add_json_string(out, value, strlen(value));
}

void face_add_emulator(const struct service *s, struct buf *out)
{
    const struct profile *p = s->profile;
    buf_adds(out, "\"emulator\":{\"name\":\"tokgrid-engine\",\"version\":\"" TOKGRID_VERSION "\"");
    add_member(out, "profile", p->name);
    add_member(out, "model", p->model);
    add_member(out, "quantization", p->quantization);
    add_member(out, "gpu", p->gpu);
    buf_addf(out, ",\"vram_bytes\":%.0f,\"speed\":%.15g}", p->vram_bytes, s->speed);
}

static void add_opening(const struct answer *a, const char *chat_object, struct buf *out)
{
    buf_addf(out, "{\"id\":\"%s\",\"object\":\"%s\",\"created\":%" PRId64 ",\"model\":", a->id,
             a->endpoint == ENDPOINT_CHAT ? chat_object : "text_completion", a->created);
    buf_add_json_string(out, a->model, strlen(a->model));
    buf_adds(out, ",\"choices\":[");
}

void face_open_event(const struct answer *a, struct buf *out)
{
    buf_adds(out, "data: ");
    add_opening(a, "chat.completion.chunk", out);
}

void face_open_whole(const struct answer *a, const char *text, size_t n, struct buf *out)
{
    add_opening(a, "chat.completion", out);
    buf_adds(out, a->endpoint == ENDPOINT_CHAT
                      ? "{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":"
                      : "{\"index\":0,\"text\":");
    buf_add_json_string(out, text, n);
}

int face_refuse_early(const struct complaint *c, struct buf *out)
{
    switch (c->kind) {
    case COMPLAINT_ROUTE:
    case COMPLAINT_NOT_ON: buf_adds(out, "{\"detail\":\"Not Found\"}"); return 404;
    case COMPLAINT_METHOD: buf_adds(out, "{\"detail\":\"Method Not Allowed\"}"); return 405;
    case COMPLAINT_KEY: buf_adds(out, "{\"error\":\"Unauthorized\"}"); return 401;
    default: return 0;
    }
}

void face_add_ids(const struct tokens *t, struct buf *out)
{
    buf_addc(out, '[');
    for (size_t i = 0; i < t->n; i++)
        buf_addf(out, "%s%" PRIu64, i ? "," : "", t->v[i]);
    buf_addc(out, ']');
}

/* The tokens of {"prompt": text} or {"messages": [...]}. */
static bool read_for_tokenize(struct service *s, const struct body *body, struct complaint *c)
{
    const char *p;
    size_t n;

    s->prompt.n = 0;
    if (!json_is_object(body->root))
        return complain(c, COMPLAINT_TYPE, "body", "an object");
    if (!ask_check_model(body, &s->rules, c))
        return false;
    if (json_object_get(body->root, "messages"))
        return ask_messages(body, &s->prompt, &s->memo, NULL, c);
    if (!body_string(body, json_object_get(body->root, "prompt"), &p, &n))
        return complain(c, COMPLAINT_MISSING, "prompt", "%s", "");
    tokenizer_add(&s->prompt, p, n);
    return true;
}

bool face_prompt_fits(const struct service *s, struct complaint *c)
{
    if (!tokens_overflow(&s->prompt))
        return true;
    complain(c, COMPLAINT_TOO_LONG, "prompt", "%s", "");
    c->prompt_tokens = (int64_t)s->prompt.n;
    c->limit = s->rules.context_limit;
    return false;
}

void face_tokenize(struct service *s, struct exchange *x)
{
    struct body body;
    struct complaint c;
    struct buf out;

    if (!service_read_body(s, x, &body))
        return;
    bool ok = read_for_tokenize(s, &body, &c) && face_prompt_fits(s, &c);
    body_release(&body);
    if (!ok) {
        service_complain(s, x, &c);
        return;
    }
    buf_init(&out, 64 + s->prompt.n * 24);
    buf_addf(&out, "{\"count\":%zu,\"max_model_len\":%" PRId64 ",\"tokens\":", s->prompt.n,
             s->rules.context_limit);
    face_add_ids(&s->prompt, &out);
    buf_adds(&out, s->face->token_strings ? ",\"token_strs\":null}" : "}");
    service_reply(s, x, 200, s->face->json_type, &out);
    buf_release(&out);
}

/* The text of a list of ids; false with a complaint. */
static bool add_texts(const struct body *body, struct buf *text, struct complaint *c)
{
    json_t *list = json_object_get(body->root, "tokens"), *id;
    size_t i;

    if (!json_is_array(list))
        return complain(c, list ? COMPLAINT_TYPE : COMPLAINT_MISSING, "tokens", "an array");
    json_array_foreach(list, i, id)
    {
        if (!json_is_integer(id) || !token_text((uint64_t)json_integer_value(id), text))
            return complain(c, COMPLAINT_VALUE, "tokens", "number %zu is no token of this model",
                            i);
    }
    return true;
}

void face_detokenize(struct service *s, struct exchange *x)
{
    struct body body;
    struct complaint c;
    struct buf text, out;

    if (!service_read_body(s, x, &body))
        return;
    buf_init(&text, 16 << 20);
    bool ok = add_texts(&body, &text, &c);
    body_release(&body);
    if (ok) {
        buf_init(&out, 6 * text.len + 64);
        buf_addf(&out, "{\"%s\":", s->face->detokenized);
        buf_add_json_string(&out, text.p, text.len);
        buf_addc(&out, '}');
        service_reply(s, x, 200, s->face->json_type, &out);
        buf_release(&out);
    } else {
        service_complain(s, x, &c);
    }
    buf_release(&text);
}
