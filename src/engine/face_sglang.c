/* face_sglang.c - SGLang 0.5: server info, aborts by request id, errors inside of streams.
 *
 * Shapes as its OpenAI front end and its public reports show them: `matched_stop` in each choice,
 * a finish event of its own in chats, errors flat with "object":"error", and a streaming request
 * that is too long is answered 200 with the error in the stream. */
#include <inttypes.h>
#include <string.h>

#include "engine/face.h"

#define VERSION "0.5.9"

/* --- events --- */

static void add_usage_object(const struct answer *a, struct buf *out)
{
    buf_addf(out,
             "{\"prompt_tokens\":%" PRId64 ",\"total_tokens\":%" PRId64
             ",\"completion_tokens\":%" PRId64 ",\"prompt_tokens_details\":",
             a->prompt_tokens, a->prompt_tokens + a->completion_tokens, a->completion_tokens);
    if (a->cached_in_usage)
        buf_addf(out, "{\"cached_tokens\":%" PRId64 "}", a->cached_tokens);
    else
        buf_adds(out, "null");
    buf_adds(out, ",\"reasoning_tokens\":0}");
}

static void usage_part(const struct answer *a, struct buf *out)
{
    buf_adds(out, ",\"usage\":");
    if (a->continuous_usage)
        add_usage_object(a, out);
    else
        buf_adds(out, "null");
}

/* What follows the delta or the text of a choice. */
static void add_rest(const char *finish, struct buf *out)
{
    buf_adds(out, ",\"logprobs\":null,\"finish_reason\":");
    buf_addf(out, finish ? "\"%s\"" : "%s", finish ? finish : "null");
    buf_adds(out, ",\"matched_stop\":null}]");
}

static void opener(const struct answer *a, struct buf *out)
{
    face_open_event(a, out);
    buf_adds(out, "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\","
                  "\"reasoning_content\":null,\"tool_calls\":null}");
    add_rest(NULL, out);
    usage_part(a, out);
    buf_adds(out, "}\n\n");
}

static void frame(const struct answer *a, struct buf *head, struct buf *tail)
{
    face_open_event(a, head);
    if (a->endpoint == ENDPOINT_CHAT) {
        buf_adds(head, "{\"index\":0,\"delta\":{\"role\":null,\"content\":\"");
        buf_adds(tail, "\",\"reasoning_content\":null,\"tool_calls\":null}");
    } else {
        buf_adds(head, "{\"index\":0,\"text\":\"");
        buf_adds(tail, "\"");
    }
    add_rest(NULL, tail);
}

static void last(const struct answer *a, const char *text, size_t n, struct buf *out)
{
    if (a->endpoint == ENDPOINT_CHAT && n > 0) {
        face_open_event(a, out);
        buf_addf(out,
                 "{\"index\":0,\"delta\":{\"role\":null,\"content\":\"%.*s\","
                 "\"reasoning_content\":null,\"tool_calls\":null}",
                 (int)n, text);
        add_rest(NULL, out);
        usage_part(a, out);
        buf_adds(out, "}\n\n");
    }
    face_open_event(a, out);
    if (a->endpoint == ENDPOINT_CHAT)
        buf_adds(out, "{\"index\":0,\"delta\":{\"role\":null,\"content\":null,"
                      "\"reasoning_content\":null,\"tool_calls\":null}");
    else
        buf_addf(out, "{\"index\":0,\"text\":\"%.*s\"", (int)n, text);
    add_rest(a->finish, out);
    usage_part(a, out);
    buf_adds(out, "}\n\n");
}

static void ending(const struct answer *a, struct buf *out)
{
    if (!a->include_usage)
        return;
    face_open_event(a, out);
    buf_adds(out, "],\"usage\":");
    add_usage_object(a, out);
    buf_adds(out, "}\n\n");
}

static void whole(const struct answer *a, const char *text, size_t n, struct buf *out)
{
    face_open_whole(a, text, n, out);
    if (a->endpoint == ENDPOINT_CHAT)
        buf_adds(out, ",\"reasoning_content\":null,\"tool_calls\":null}");
    add_rest(a->finish, out);
    buf_adds(out, ",\"usage\":");
    add_usage_object(a, out);
    buf_adds(out, ",\"metadata\":{\"weight_version\":\"default\"}}");
}

/* --- errors --- */

static const struct {
    int status;
    const char *type;
} errors[] = {
    [COMPLAINT_JSON] = {400, "Bad Request"},         [COMPLAINT_MISSING] = {400, "Bad Request"},
    [COMPLAINT_TYPE] = {400, "Bad Request"},         [COMPLAINT_VALUE] = {400, "BadRequestError"},
    [COMPLAINT_MODEL] = {404, "NotFoundError"}, /* not raised: it answers to any name */
    [COMPLAINT_TOO_LONG] = {400, "BadRequestError"}, [COMPLAINT_BUSY] = {0, "InternalServerError"},
};

static void add_message(const struct complaint *c, struct buf *out)
{
    switch (c->kind) {
    case COMPLAINT_JSON: buf_addf(out, "JSON decode error: %s", c->text); break;
    case COMPLAINT_MISSING: buf_addf(out, "Field required: body.%s", c->param); break;
    case COMPLAINT_TYPE: buf_addf(out, "Input should be %s: body.%s", c->text, c->param); break;
    case COMPLAINT_VALUE: buf_addf(out, "%s %s", c->param, c->text); break;
    case COMPLAINT_TOO_LONG:
        if (c->max_output > 0)
            buf_addf(out,
                     "Requested token count exceeds the model's maximum context length of %" PRId64
                     " tokens: %" PRId64 " tokens of input and %" PRId64 " of completion.",
                     c->limit, c->prompt_tokens, c->max_output);
        else
            buf_addf(out,
                     "The input (%" PRId64 " tokens) is longer than the model's context length "
                     "(%" PRId64 " tokens).",
                     c->prompt_tokens, c->limit);
        break;
    default: buf_adds(out, c->text); break;
    }
}

static int complain_sglang(const struct complaint *c, struct buf *out)
{
    struct buf message;

    int status = face_refuse_early(c, out);
    if (status)
        return status;
    status = errors[c->kind].status ? errors[c->kind].status : c->status;
    buf_init(&message, 1024);
    add_message(c, &message);
    buf_adds(out, "{\"object\":\"error\",\"message\":");
    buf_add_json_string(out, message.p, message.len);
    buf_addf(out, ",\"type\":\"%s\",\"param\":null,\"code\":%d}", errors[c->kind].type, status);
    buf_release(&message);
    return status;
}

/* What the front end checks is an HTTP error; what the engine behind it refuses comes in the
 * stream. */
static bool in_stream(const struct complaint *c)
{
    return c->kind == COMPLAINT_TOO_LONG;
}

/* --- pages --- */

static void models(struct service *s, struct exchange *x)
{
    const char *id = s->rules.served_model;
    struct buf out;

    buf_init(&out, 8192);
    buf_adds(&out, "{\"object\":\"list\",\"data\":[{\"id\":");
    buf_add_json_string(&out, id, strlen(id));
    buf_addf(&out, ",\"object\":\"model\",\"created\":%.0f,\"owned_by\":\"sglang\",\"root\":",
             s->started_at);
    buf_add_json_string(&out, id, strlen(id));
    buf_addf(&out, ",\"parent\":null,\"max_model_len\":%" PRId64 "}],", s->rules.context_limit);
    face_add_emulator(s, &out);
    buf_addc(&out, '}');
    service_reply(s, x, 200, s->face->json_type, &out);
    buf_release(&out);
}

static void server_info(struct service *s, struct exchange *x)
{
    const struct profile *p = s->profile;
    struct engine_stats e;
    struct buf out;

    engine_read_stats(s->engine, &e);
    buf_init(&out, 8192);
    buf_adds(&out, "{\"model_path\":");
    buf_add_json_string(&out, p->model, strlen(p->model));
    buf_adds(&out, ",\"served_model_name\":");
    buf_add_json_string(&out, p->served_model, strlen(p->served_model));
    buf_adds(&out, ",\"quantization\":");
    if (p->quantization[0])
        buf_add_json_string(&out, p->quantization, strlen(p->quantization));
    else
        buf_adds(&out, "null");
    buf_addf(&out,
             ",\"context_length\":%" PRId64 ",\"tp_size\":1,\"dp_size\":1,\"page_size\":%d,"
             "\"max_running_requests\":%d,\"chunked_prefill_size\":%" PRId64
             ",\"disable_radix_cache\":%s,\"enable_metrics\":%s,\"max_total_num_tokens\":%" PRId64
             ",\"max_req_input_len\":%" PRId64
             ",\"internal_states\":[{\"max_running_requests\":%d}],"
             "\"version\":\"" VERSION "\"}",
             s->rules.context_limit, p->block_size, p->max_running, p->step_tokens,
             p->prefix_cache ? "false" : "true", s->no_metrics ? "false" : "true", e.kv_tokens,
             s->rules.context_limit - 6, p->max_running);
    service_reply(s, x, 200, s->face->json_type, &out);
    buf_release(&out);
}

static void model_info(struct service *s, struct exchange *x)
{
    struct buf out;
    buf_init(&out, 2048);
    buf_adds(&out, "{\"model_path\":");
    buf_add_json_string(&out, s->profile->model, strlen(s->profile->model));
    buf_adds(&out, ",\"is_generation\":true,\"weight_version\":\"default\"}");
    service_reply(s, x, 200, s->face->json_type, &out);
    buf_release(&out);
}

static void flush_cache(struct service *s, struct exchange *x)
{
    struct engine_stats e;

    engine_read_stats(s->engine, &e);
    if (e.running + e.waiting > 0) {
        service_reply_text(s, x, 400, "text/plain; charset=utf-8",
                           "The cache is flushed only while no request runs or waits.\n");
        return;
    }
    engine_flush_cache(s->engine);
    service_reply_text(s, x, 200, "text/plain; charset=utf-8", "Cache flushed.\n");
}

/* {"rid": "..."}: requests are known by the ids of their events, or by the prefix they share;
 * {"abort_all": true}: everybody's. Unknown ids are fine. */
static void abort_request(struct service *s, struct exchange *x)
{
    struct body body;

    if (!service_read_body(s, x, &body))
        return;
    const char *rid = json_string_value(json_object_get(body.root, "rid"));
    if (json_is_true(json_object_get(body.root, "abort_all")))
        engine_abort_all(s->engine);
    else if (rid)
        completion_abort(s, rid);
    body_release(&body);
    face_empty_ok(s, x);
}

/* What moves with every step; the totals of tokens only count requests that are over. An answer's
 * first token is its prefill's. */
static void realtime_tokens(const struct service *s, const struct engine_stats *e, struct prom *p)
{
    const struct prom_part parts[] = {
        {"decode", (double)e->generated_tokens - (double)s->counters.ttft.n},
        {"prefill_cache", (double)e->prefix_hits},
        {"prefill_compute", (double)(e->prompt_tokens - e->prefix_hits)},
    };
    prom_parts(p, "sglang:realtime_tokens_total", "counter", "Tokens so far.", "mode", parts,
               ARRAY_LEN(parts));
}

static void metrics(struct service *s, struct exchange *x)
{
    const struct counters *n = &s->counters;
    struct engine_stats e;
    struct complaint c;
    struct buf out, model;

    if (s->no_metrics) {
        complain(&c, COMPLAINT_NOT_ON, "", "metrics");
        service_complain(s, x, &c);
        return;
    }
    buf_init(&out, 1 << 20);
    buf_init(&model, 2048);
    prom_label(&model, "model_name", s->rules.served_model);
    buf_adds(&model, ",pp_rank=\"0\",tp_rank=\"0\"");
    struct prom p = {
        .out = &out, .before = "engine_type=\"unified\"", .after = model.p, .python = true};
    engine_read_stats(s->engine, &e);
    const struct {
        const char *name, *type, *help;
        double value;
    } rows[] = {
        {"sglang:num_running_reqs", "gauge", "Running requests.", e.running},
        {"sglang:num_queue_reqs", "gauge", "Requests in the queue.", e.waiting},
        {"sglang:num_used_tokens", "gauge", "Tokens in use.", e.kv_used * (double)e.kv_tokens},
        {"sglang:token_usage", "gauge", "Share of the tokens in use.", e.kv_used},
        {"sglang:full_token_usage", "gauge", "Share of the tokens in use.", e.kv_used},
        {"sglang:max_total_num_tokens", "gauge", "Size of the pool.", (double)e.kv_tokens},
        {"sglang:prompt_tokens_total", "counter", "Prompt tokens.", (double)n->finished_prompt},
        {"sglang:generation_tokens_total", "counter", "Output tokens.", (double)n->finished_tokens},
        {"sglang:cached_tokens_total", "counter", "Cached prompt tokens.",
         (double)n->finished_cached},
        {"sglang:num_retractions_total", "counter", "Sequences retracted.", (double)e.preemptions},
        {"sglang:num_requests_total", "counter", "Requests that ended.",
         (double)(n->stopped + n->full_length)},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        prom_value(&p, rows[i].name, rows[i].type, rows[i].help, rows[i].value);
    realtime_tokens(s, &e, &p);
    prom_histogram_write(&p, "sglang:time_to_first_token_seconds", "Time to the first token.",
                         &n->ttft);
    prom_histogram_write(&p, "sglang:inter_token_latency_seconds", "Time between tokens.",
                         &n->token_gap);
    prom_histogram_write(&p, "sglang:e2e_request_latency_seconds", "Time to the last token.",
                         &n->latency);
    service_reply(s, x, 200, "text/plain; version=0.0.4; charset=utf-8", &out);
    buf_release(&out);
    buf_release(&model);
}

static const struct route routes[] = {
    {"GET", "/health", face_empty_ok, true},
    {"GET", "/health_generate", face_empty_ok, true},
    {"GET", "/metrics", metrics, true},
    {"GET", "/server_info", server_info, false},
    {"GET", "/get_server_info", server_info, false},
    {"GET", "/model_info", model_info, false},
    {"GET", "/get_model_info", model_info, false},
    {"GET", "/v1/models", models, false},
    {"POST", "/v1/chat/completions", face_chat, false},
    {"POST", "/v1/completions", face_text, false},
    {"POST", "/tokenize", face_tokenize, false},
    {"POST", "/v1/tokenize", face_tokenize, false},
    {"POST", "/detokenize", face_detokenize, false},
    {"POST", "/v1/detokenize", face_detokenize, false},
    {"POST", "/abort_request", abort_request, false},
    {"GET", "/flush_cache", flush_cache, false},
    {"POST", "/flush_cache", flush_cache, false},
    {0},
};

const struct face face_sglang = {
    .name = "sglang",
    .routes = routes,
    .json_type = "application/json",
    .stream_type = "text/event-stream; charset=utf-8",
    .headers = "",
    .id_prefix = {"", ""},
    .id_digits = 32,
    .detokenized = "text",
    .rules = {.text_max_output = 16},
    .opener = opener,
    .frame = frame,
    .usage_part = usage_part,
    .last = last,
    .ending = ending,
    .whole = whole,
    .complain = complain_sglang,
    .in_stream = in_stream,
};
