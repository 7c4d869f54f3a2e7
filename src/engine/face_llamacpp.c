/* face_llamacpp.c - llama-server, as build b11669 was recorded: slots, props, timings.
 *
 * The choices stand first in every event; the last JSON event has `timings`, and usage where it was
 * asked for (in /v1/completions always); there is no usage on the way. The output counter moves
 * when a request ends, /slots tells of those in progress. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/face.h"

#define BUILD "b11669-tokgrid"

/* --- events --- */

/* ,"created":...,"object":"..." without the end of the object */
static void add_closing(const struct answer *a, const char *object, struct buf *out)
{
    buf_addf(out, ",\"created\":%" PRId64 ",\"id\":\"%s\",\"model\":", a->created, a->id);
    buf_add_json_string(out, a->model, strlen(a->model));
    buf_addf(out, ",\"system_fingerprint\":\"" BUILD "\",\"object\":\"%s\"", object);
}

static const char *chunk_object(const struct answer *a)
{
    return a->endpoint == ENDPOINT_CHAT ? "chat.completion.chunk" : "text_completion";
}

static void add_usage(const struct answer *a, struct buf *out)
{
    buf_addf(out,
             ",\"usage\":{\"completion_tokens\":%" PRId64 ",\"prompt_tokens\":%" PRId64
             ",\"total_tokens\":%" PRId64 ",\"prompt_tokens_details\":{\"cached_tokens\":%" PRId64
             "}}",
             a->completion_tokens, a->prompt_tokens, a->prompt_tokens + a->completion_tokens,
             a->cached_tokens);
}

/* The server's own stopwatch: of `n` tokens in `ms` milliseconds. */
static void add_timing(const char *name, int64_t n, int64_t intervals, double ms, struct buf *out)
{
    double each = intervals > 0 ? ms / (double)intervals : 0;
    buf_addf(out,
             "\"%s_n\":%" PRId64 ",\"%s_ms\":%.3f,\"%s_per_token_ms\":%.6g,\"%s_per_second\":%.6g",
             name, n, name, ms, name, each, name, each > 0 ? 1000 / each : 0);
}

static void add_timings(const struct answer *a, struct buf *out)
{
    int64_t n = a->prompt_tokens - a->cached_tokens;
    buf_addf(out, ",\"timings\":{\"cache_n\":%" PRId64 ",", a->cached_tokens);
    add_timing("prompt", n, n, a->prompt_ms, out);
    buf_addc(out, ',');
    add_timing("predicted", a->completion_tokens, a->completion_tokens - 1, a->predicted_ms, out);
    buf_addc(out, '}');
}

static void opener(const struct answer *a, struct buf *out)
{
    buf_adds(out, "data: {\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":{"
                  "\"role\":\"assistant\",\"content\":null}}]");
    add_closing(a, chunk_object(a), out);
    buf_adds(out, "}\n\n");
}

static void frame(const struct answer *a, struct buf *head, struct buf *tail)
{
    if (a->endpoint == ENDPOINT_CHAT) {
        buf_adds(head, "data: {\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":{"
                       "\"content\":\"");
        buf_adds(tail, "\"}}]");
    } else {
        buf_adds(head, "data: {\"choices\":[{\"text\":\"");
        buf_adds(tail, "\",\"index\":0,\"logprobs\":null,\"finish_reason\":null}]");
    }
    add_closing(a, chunk_object(a), tail);
}

static void usage_part(const struct answer *a, struct buf *out)
{
    (void)a, (void)out;
}

static void last(const struct answer *a, const char *text, size_t n, struct buf *out)
{
    bool chat = a->endpoint == ENDPOINT_CHAT;

    if (n > 0) {
        struct buf tail;
        buf_init(&tail, 4096);
        frame(a, out, &tail);
        buf_addf(out, "%.*s%s}\n\n", (int)n, text, tail.p);
        buf_release(&tail);
    }
    buf_adds(out, "data: {\"choices\":[{");
    buf_addf(out,
             chat ? "\"finish_reason\":\"%s\",\"index\":0,\"delta\":{}}]"
                  : "\"text\":\"\",\"index\":0,\"logprobs\":null,\"finish_reason\":\"%s\"}]",
             a->finish);
    add_closing(a, chunk_object(a), out);
    if (!chat)
        add_usage(a, out);
    if (!chat || !a->include_usage)
        add_timings(a, out);
    buf_adds(out, "}\n\n");
}

static void ending(const struct answer *a, struct buf *out)
{
    if (a->endpoint != ENDPOINT_CHAT || !a->include_usage)
        return;
    buf_adds(out, "data: {\"choices\":[]");
    add_closing(a, chunk_object(a), out);
    add_usage(a, out);
    add_timings(a, out);
    buf_adds(out, "}\n\n");
}

static void whole(const struct answer *a, const char *text, size_t n, struct buf *out)
{
    bool chat = a->endpoint == ENDPOINT_CHAT;

    if (chat)
        buf_addf(out,
                 "{\"choices\":[{\"finish_reason\":\"%s\",\"index\":0,\"message\":{"
                 "\"role\":\"assistant\",\"content\":",
                 a->finish);
    else
        buf_adds(out, "{\"choices\":[{\"text\":");
    buf_add_json_string(out, text, n);
    if (chat)
        buf_adds(out, "}}]");
    else
        buf_addf(out, ",\"index\":0,\"logprobs\":null,\"finish_reason\":\"%s\"}]", a->finish);
    add_closing(a, chat ? "chat.completion" : "text_completion", out);
    add_usage(a, out);
    add_timings(a, out);
    buf_addc(out, '}');
}

/* --- errors --- */

static const struct {
    int status;
    const char *type;
} errors[] = {
    [COMPLAINT_JSON] = {400, "invalid_request_error"},
    [COMPLAINT_MISSING] = {400, "invalid_request_error"},
    [COMPLAINT_TYPE] = {400, "invalid_request_error"},
    [COMPLAINT_VALUE] = {400, "invalid_request_error"},
    [COMPLAINT_MODEL] = {400, "invalid_request_error"}, /* not raised: one model, any name */
    [COMPLAINT_TOO_LONG] = {400, "exceed_context_size_error"},
    [COMPLAINT_ROUTE] = {404, "not_found_error"},
    [COMPLAINT_METHOD] = {404, "not_found_error"}, /* a method it has not is a path it has not */
    [COMPLAINT_KEY] = {401, "authentication_error"},
    [COMPLAINT_NOT_ON] = {501, "not_supported_error"},
    [COMPLAINT_BUSY] = {0, "unavailable_error"},
};

static void add_message(const struct complaint *c, struct buf *out)
{
    switch (c->kind) {
    case COMPLAINT_JSON: buf_addf(out, "parse error: %s", c->text); break;
    case COMPLAINT_MISSING: buf_addf(out, "'%s' is required", c->param); break;
    case COMPLAINT_TYPE: buf_addf(out, "Field '%s': type must be %s", c->param, c->text); break;
    case COMPLAINT_VALUE: buf_addf(out, "Field '%s': %s", c->param, c->text); break;
    case COMPLAINT_TOO_LONG:
        buf_addf(out,
                 "request (%" PRId64 " tokens) exceeds the available context size (%" PRId64
                 " tokens)",
                 c->prompt_tokens, c->limit);
        break;
    case COMPLAINT_ROUTE:
    case COMPLAINT_METHOD: buf_adds(out, "File Not Found"); break;
    case COMPLAINT_KEY: buf_adds(out, "Invalid API Key"); break;
    case COMPLAINT_NOT_ON: buf_addf(out, "This server was started without --%s", c->text); break;
    default: buf_adds(out, c->text); break;
    }
}

static int complain_llamacpp(const struct complaint *c, struct buf *out)
{
    int status = errors[c->kind].status ? errors[c->kind].status : c->status;
    struct buf message;

    buf_init(&message, 1024);
    add_message(c, &message);
    buf_addf(out, "{\"error\":{\"code\":%d,\"message\":", status);
    buf_add_json_string(out, message.p, message.len);
    buf_addf(out, ",\"type\":\"%s\"", errors[c->kind].type);
    if (c->kind == COMPLAINT_TOO_LONG)
        buf_addf(out, ",\"n_prompt_tokens\":%" PRId64 ",\"n_ctx\":%" PRId64, c->prompt_tokens,
                 c->limit);
    buf_adds(out, "}}");
    buf_release(&message);
    return status;
}

/* --- pages --- */

static void health(struct service *s, struct exchange *x)
{
    service_reply_text(s, x, 200, s->face->json_type, "{\"status\":\"ok\"}");
}

static void models(struct service *s, struct exchange *x)
{
    const char *id = s->rules.served_model;
    struct buf out;

    buf_init(&out, 8192);
    buf_adds(&out, "{\"object\":\"list\",\"data\":[{\"id\":");
    buf_add_json_string(&out, id, strlen(id));
    buf_addf(&out,
             ",\"object\":\"model\",\"created\":%.0f,\"owned_by\":\"llamacpp\",\"meta\":{"
             "\"n_ctx\":%" PRId64 ",\"n_ctx_train\":%" PRId64 "}}],",
             s->started_at, s->rules.context_limit, s->rules.context_limit);
    face_add_emulator(s, &out);
    buf_addc(&out, '}');
    service_reply(s, x, 200, s->face->json_type, &out);
    buf_release(&out);
}

static void add_text_member(struct buf *out, const char *name, const char *value)
{
    buf_addf(out, ",\"%s\":", name);
    buf_add_json_string(out, value, strlen(value));
}

static void props(struct service *s, struct exchange *x)
{
    const struct profile *p = s->profile;
    struct buf out;

    buf_init(&out, 8192);
    buf_addf(&out, "{\"default_generation_settings\":{\"n_ctx\":%" PRId64 "},\"total_slots\":%d",
             s->rules.context_limit, p->max_running);
    add_text_member(&out, "model_alias", p->served_model);
    add_text_member(&out, "model_ftype", p->quantization);
    add_text_member(&out, "model_path", p->model);
    buf_addf(&out,
             ",\"endpoint_slots\":true,\"endpoint_props\":false,\"endpoint_metrics\":%s,"
             "\"build_info\":\"" BUILD "\"}",
             s->no_metrics ? "false" : "true");
    service_reply(s, x, 200, s->face->json_type, &out);
    buf_release(&out);
}

static void slots(struct service *s, struct exchange *x)
{
    int count = s->profile->max_running;
    int64_t *decoded = mem_array((size_t)count, sizeof *decoded);
    size_t busy = completion_progress(s, decoded, (size_t)count);
    struct buf out;

    buf_init(&out, (size_t)count * 256 + 64);
    for (int i = 0; i < count; i++) {
        bool at_work = (size_t)i < busy;
        buf_addf(&out,
                 "%c{\"id\":%d,\"n_ctx\":%" PRId64 ",\"speculative\":false,\"is_processing\":%s",
                 i ? ',' : '[', i, s->rules.context_limit, at_work ? "true" : "false");
        if (at_work)
            buf_addf(&out, ",\"next_token\":[{\"has_next_token\":true,\"n_decoded\":%" PRId64 "}]",
                     decoded[i]);
        buf_addc(&out, '}');
    }
    buf_addc(&out, ']');
    service_reply(s, x, 200, s->face->json_type, &out);
    buf_release(&out);
    free(decoded);
}

static double rate(double n, double s)
{
    return s > 0 ? n / s : 0;
}

static void metrics(struct service *s, struct exchange *x)
{
    const struct counters *n = &s->counters;
    struct engine_stats e;
    struct complaint c;
    struct buf out;

    if (s->no_metrics) {
        complain(&c, COMPLAINT_NOT_ON, "", "metrics");
        service_complain(s, x, &c);
        return;
    }
    engine_read_stats(s->engine, &e);
    double fresh = (double)(e.prompt_tokens - e.prefix_hits), made = (double)n->finished_tokens;
    const struct {
        const char *name, *type, *help;
        double value;
    } rows[] = {
        {"llamacpp:prompt_tokens_total", "counter", "Prompt tokens, without cached ones", fresh},
        {"llamacpp:prompt_tokens_cached_total", "counter", "Prompt tokens from the cache",
         (double)e.prefix_hits},
        {"llamacpp:prompt_seconds_total", "counter", "Time of prompts", n->prompt_s},
        {"llamacpp:tokens_predicted_total", "counter", "Output tokens", made},
        {"llamacpp:tokens_predicted_seconds_total", "counter", "Time of output", n->predicted_s},
        {"llamacpp:n_decode_total", "counter", "Steps", (double)e.steps},
        {"llamacpp:n_tokens_max", "counter", "Longest sequence", (double)n->longest},
        {"llamacpp:prompt_tokens_seconds", "gauge", "Prompt tokens a second",
         rate(fresh, n->prompt_s)},
        {"llamacpp:predicted_tokens_seconds", "gauge", "Output tokens a second",
         rate(made, n->predicted_s)},
        {"llamacpp:requests_processing", "gauge", "Requests in slots", e.running},
        {"llamacpp:requests_deferred", "gauge", "Requests that wait for a slot", e.waiting},
        {"llamacpp:n_busy_slots_per_decode", "gauge", "Busy slots in a step, on average",
         rate((double)e.generated_tokens, (double)e.steps)},
    };
    buf_init(&out, 1 << 16);
    struct prom p = {.out = &out};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        prom_value(&p, rows[i].name, rows[i].type, rows[i].help, rows[i].value);
    service_reply(s, x, 200, "text/plain; version=0.0.4", &out);
    buf_release(&out);
}

/* {"content": text}, with "parse_special" the marks of the template in it are tokens. */
static void tokenize(struct service *s, struct exchange *x)
{
    struct body body;
    struct complaint c;
    struct buf out;
    const char *p;
    size_t n;

    if (!service_read_body(s, x, &body))
        return;
    s->prompt.n = 0;
    if (body_string(&body, json_object_get(body.root, "content"), &p, &n)) {
        const json_t *special = json_object_get(body.root, "parse_special");
        if (!special || json_is_true(special))
            tokenizer_add_marked(&s->prompt, p, n);
        else
            tokenizer_add(&s->prompt, p, n);
    }
    body_release(&body);
    if (!face_prompt_fits(s, &c)) {
        service_complain(s, x, &c);
        return;
    }
    buf_init(&out, 64 + s->prompt.n * 24);
    buf_adds(&out, "{\"tokens\":");
    face_add_ids(&s->prompt, &out);
    buf_addc(&out, '}');
    service_reply(s, x, 200, s->face->json_type, &out);
    buf_release(&out);
}

static void apply_template(struct service *s, struct exchange *x)
{
    struct body body;
    struct complaint c;
    struct buf text, out;

    if (!service_read_body(s, x, &body))
        return;
    buf_init(&text, 64 << 20);
    bool ok = json_is_object(body.root) ? ask_messages(&body, NULL, NULL, &text, &c)
                                        : complain(&c, COMPLAINT_MISSING, "messages", "%s", "");
    body_release(&body);
    if (ok) {
        buf_init(&out, 6 * text.len + 64);
        buf_adds(&out, "{\"prompt\":");
        buf_add_json_string(&out, text.p, text.len);
        buf_addc(&out, '}');
        service_reply(s, x, 200, s->face->json_type, &out);
        buf_release(&out);
    } else {
        service_complain(s, x, &c);
    }
    buf_release(&text);
}

static const struct route routes[] = {
    {"GET", "/health", health, true},
    {"GET", "/v1/health", health, true},
    {"GET", "/v1/models", models, true},
    {"GET", "/models", models, true},
    {"GET", "/props", props, false},
    {"GET", "/slots", slots, false},
    {"GET", "/metrics", metrics, false},
    {"POST", "/v1/chat/completions", face_chat, false},
    {"POST", "/chat/completions", face_chat, false},
    {"POST", "/v1/completions", face_text, false},
    {"POST", "/tokenize", tokenize, false},
    {"POST", "/detokenize", face_detokenize, false},
    {"POST", "/apply-template", apply_template, false},
    {0},
};

const struct face face_llamacpp = {
    .name = "llama.cpp",
    .routes = routes,
    .json_type = "application/json; charset=utf-8",
    .stream_type = "text/event-stream",
    .headers = "X-Accel-Buffering: no\r\n",
    .id_prefix = {"chatcmpl-", "chatcmpl-"},
    .id_digits = 32,
    .detokenized = "content",
    .head_with_first_token = true,
    .rules = {.trims_output = true, .negative_is_all = true},
    .opener = opener,
    .frame = frame,
    .usage_part = usage_part,
    .last = last,
    .ending = ending,
    .whole = whole,
    .complain = complain_llamacpp,
};
