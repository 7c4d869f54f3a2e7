/* dialect_llamacpp.c - llama-server: /props, /slots, few metrics, exact tokenizing.
 *
 * Its token counter moves only when a request ends; what the requests in progress have decoded
 * stands in /slots, so both together are the live figure. A server of several models (router) wants
 * the model's name in every such address, and loads the one that is named: it is always ours. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "load/dialect.h"

static bool is_router(struct pages *pages)
{
    const char *role = json_string_at(pages_json(pages, "/props"), "role");
    return role && strcmp(role, "router") == 0;
}

static const char *detect(struct pages *pages)
{
    json_t *props = pages_json(pages, "/props");
    if (is_router(pages))
        return "GET /props role";
    return json_at(props, "default_generation_settings") && json_at(props, "total_slots")
               ? "GET /props total_slots"
               : NULL;
}

/* n_ctx x slots would be the pool, but with a unified cache (the default when the number of slots
 * is not given) it is n_ctx alone, and nothing served says which: the budget stays unknown. */
static void learn(struct pages *pages, const char *model, struct server_facts *facts)
{
    char own[320] = "/props";
    if (is_router(pages)) {
        dialect_path_of_model("/props", model, own, sizeof own);
        dialect_path_of_model("/metrics", model, facts->metrics_path, sizeof facts->metrics_path);
        dialect_path_of_model("/slots", model, facts->load_path, sizeof facts->load_path);
    }
    json_t *props = pages_json(pages, own);
    const char *packed = json_string_at(props, "model_ftype");
    const char *build = json_string_at(props, "build_info");
    const char *path = json_string_at(props, "model_path");

    known_number_from(&facts->model_bytes, pages, model,
                      (struct place){"/v1/models", "@meta.size"});
    if (path) { /* the file's name stands at the end, however deep it lies */
        const char *slash = strrchr(path, '/');
        known_text_set(&facts->model, slash ? slash + 1 : path, "GET /props model_path");
    }
    if (build) { /* "b11669-Debian": the build's number is the version people quote */
        known_text_set(&facts->build, build, "GET /props build_info");
        known_text_set(&facts->version, build, "GET /props build_info");
        facts->version.value[strcspn(facts->version.value, "-")] = '\0';
    }
    if (packed)
        known_text_set(&facts->quantization, packed, "GET /props model_ftype");
    known_number_from(&facts->context_limit, pages, model,
                      (struct place){own, "default_generation_settings.n_ctx"});
    known_number_from(&facts->max_running, pages, model, (struct place){own, "total_slots"});
}

static bool count_tokens(struct fetcher *f, const char *model, const char *text, int64_t *ret)
{
    json_t *templated = dialect_post(f, "/apply-template",
                                     json_pack("{s:s, s:[{s:s, s:s}]}", "model", model, "messages",
                                               "role", "user", "content", text));
    const char *prompt = json_string_at(templated, "prompt");
    bool ok = false;
    if (prompt) {
        json_t *answer = dialect_post(f, "/tokenize",
                                      json_pack("{s:s, s:s, s:b, s:b}", "model", model, "content",
                                                prompt, "add_special", 1, "parse_special", 1));
        json_t *tokens = json_at(answer, "tokens");
        ok = json_is_array(tokens);
        if (ok)
            *ret = (int64_t)json_array_size(tokens);
        json_decref(answer);
    }
    json_decref(templated);
    return ok;
}

static bool read_load(json_t *slots, struct server_load *ret)
{
    json_t *slot;
    size_t i;

    *ret = (struct server_load){.waiting = NAN};
    json_array_foreach(slots, i, slot)
    {
        int64_t decoded;
        if (!json_is_true(json_at(slot, "is_processing")))
            continue;
        ret->running += 1;
        if (json_int_at(slot, "next_token.0.n_decoded", &decoded) ||
            json_int_at(slot, "next_token.n_decoded", &decoded))
            ret->generated += (double)decoded;
    }
    return json_is_array(slots);
}

const struct dialect dialect_llamacpp = {
    .name = "llama.cpp",
    .repository = "github.com/ggml-org/llama.cpp",
    .owner = "llamacpp",
    .detect = detect,
    .places = {.model_context = {{"/v1/models", "@meta.n_ctx_train"}}},
    .learn = learn,
    .metrics =
        {
            .running = {"llamacpp:requests_processing"},
            .waiting = {"llamacpp:requests_deferred"},
            .generated = {"llamacpp:tokens_predicted_total"},
            .prompt = {"llamacpp:prompt_tokens_total"},
            .kv_used = {"llamacpp:kv_cache_usage_ratio"},
        },
    .metrics_option = "--metrics",
    .count_tokens = count_tokens,
    .count_path = "/apply-template, /tokenize",
    .load_path = "/slots",
    .read_load = read_load,
    .counts_when_done = true,
    .obeys_ignore_eos = true,
};
