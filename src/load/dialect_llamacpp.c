/* dialect_llamacpp.c - llama-server: /props, /slots, few metrics, exact tokenizing.
 *
 * Its token counter moves only when a request ends; what the requests in progress have decoded
 * stands in /slots, so both together are the live figure. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "base/text.h"
#include "load/dialect.h"

static bool detect(struct pages *pages)
{
    json_t *props = pages_json(pages, "/props");
    return json_at(props, "default_generation_settings") && json_at(props, "total_slots");
}

/* "b11669-Debian": the build's number is the version people quote. */
static void learn(struct pages *pages, const char *model, struct server_facts *facts)
{
    json_t *props = pages_json(pages, "/props");
    const char *path = json_string_at(props, "model_path");
    int64_t slot_context, slots;

    if (json_int_at(dialect_model_card(pages, model), "meta.size", &facts->model_bytes) &&
        facts->model_bytes > 0)
        snprintf(facts->model_bytes_source, sizeof facts->model_bytes_source,
                 "GET /v1/models meta.size");
    if (dialect_copy(facts->build, sizeof facts->build, props, "build_info"))
        snprintf(facts->version, sizeof facts->version, "%.*s", (int)strcspn(facts->build, "-"),
                 facts->build);
    if (path) { /* the file's name stands at the end, however deep it lies */
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
        text_printable(facts->model, sizeof facts->model, name, strlen(name));
    }
    dialect_copy(facts->quantization, sizeof facts->quantization, props, "model_ftype");
    if (json_int_at(props, "default_generation_settings.n_ctx", &slot_context) &&
        slot_context > 0) {
        facts->context_limit = slot_context;
        snprintf(facts->context_source, sizeof facts->context_source,
                 "GET /props default_generation_settings.n_ctx");
    }
    if (!json_int_at(props, "total_slots", &slots) || slots <= 0)
        return;
    facts->max_running = slots;
    snprintf(facts->max_running_source, sizeof facts->max_running_source, "GET /props total_slots");
    /* n_ctx x slots would be the pool, but with a unified cache (the default when the number of
     * slots is not given) it is n_ctx alone, and nothing served says which: the budget stays
     * unknown */
}

static bool count_tokens(struct fetcher *f, const char *model, const char *text, int64_t *ret)
{
    (void)model;
    json_t *templated =
        dialect_post(f, "/apply-template",
                     json_pack("{s:[{s:s, s:s}]}", "messages", "role", "user", "content", text));
    const char *prompt = json_string_at(templated, "prompt");
    bool ok = false;
    if (prompt) {
        json_t *answer = dialect_post(
            f, "/tokenize",
            json_pack("{s:s, s:b, s:b}", "content", prompt, "add_special", 1, "parse_special", 1));
        json_t *tokens = json_at(answer, "tokens");
        ok = json_is_array(tokens);
        if (ok)
            *ret = (int64_t)json_array_size(tokens);
        json_decref(answer);
    }
    json_decref(templated);
    return ok;
}

static bool generated_in_progress(struct fetcher *f, double *ret)
{
    struct fetch_reply reply = {0};
    struct err err;
    json_t *slots = NULL, *slot;
    size_t i;

    buf_init(&reply.body, 4 << 20);
    if (fetch(f, "/slots", NULL, 5 * NS_PER_S, &reply, &err) && reply.status == 200)
        slots = json_loadb(reply.body.p, reply.body.len, 0, NULL);
    buf_release(&reply.body);
    bool ok = json_is_array(slots);
    *ret = 0;
    json_array_foreach(slots, i, slot)
    {
        int64_t decoded;
        if (json_is_true(json_at(slot, "is_processing")) &&
            (json_int_at(slot, "next_token.0.n_decoded", &decoded) ||
             json_int_at(slot, "next_token.n_decoded", &decoded)))
            *ret += (double)decoded;
    }
    json_decref(slots);
    return ok;
}

const struct dialect dialect_llamacpp = {
    .name = "llama.cpp",
    .repository = "github.com/ggml-org/llama.cpp",
    .detect = detect,
    .learn = learn,
    .metrics =
        {
            .running = {"llamacpp:requests_processing"},
            .waiting = {"llamacpp:requests_deferred"},
            .generated = {"llamacpp:tokens_predicted_total"},
            .prompt = {"llamacpp:prompt_tokens_total"},
            .kv_used = {"llamacpp:kv_cache_usage_ratio"},
        },
    .count_tokens = count_tokens,
    .generated_in_progress = generated_in_progress,
    .obeys_ignore_eos = true,
};
