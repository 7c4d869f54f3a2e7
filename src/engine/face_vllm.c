/* face_vllm.c - vLLM, as version 0.32.0 was recorded: shapes of events, errors, and metrics.
 *
 * The finish reason stands on the last token's event; usage is only where it was asked for; cached
 * tokens are in it only with --enable-prompt-tokens-details. Unknown paths answer in FastAPI's
 * shape, everything else as {"error": {message, type, param, code}}. */
#include <inttypes.h>
#include <string.h>

#include "engine/face.h"

#define VERSION     "0.32.0"
#define FINGERPRINT ",\"system_fingerprint\":\"vllm-" VERSION "-tokgrid\""

/* --- events --- */

static void add_counts(const struct answer *a, struct buf *out)
{
    buf_addf(out,
             "{\"prompt_tokens\":%" PRId64 ",\"total_tokens\":%" PRId64
             ",\"completion_tokens\":%" PRId64,
             a->prompt_tokens, a->prompt_tokens + a->completion_tokens, a->completion_tokens);
}

/* The final figures; the others have no cached tokens. */
static void add_usage(const struct answer *a, struct buf *out)
{
    buf_adds(out, ",\"usage\":");
    add_counts(a, out);
    if (a->cached_in_usage)
        buf_addf(out, ",\"prompt_tokens_details\":{\"cached_tokens\":%" PRId64 "}",
                 a->cached_tokens);
    buf_addc(out, '}');
}

static void usage_part(const struct answer *a, struct buf *out)
{
    if (!a->continuous_usage)
        return;
    buf_adds(out, ",\"usage\":");
    add_counts(a, out);
    buf_adds(out, a->endpoint == ENDPOINT_CHAT ? ",\"completion_tokens_details\":null}" : "}");
}

static void opener(const struct answer *a, struct buf *out)
{
    face_open_event(a, out);
    buf_adds(out, "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
                  "\"logprobs\":null,\"finish_reason\":null}]");
    usage_part(a, out);
    buf_adds(out, ",\"prompt_token_ids\":null,\"prompt_text\":null}\n\n");
}

static void frame(const struct answer *a, struct buf *head, struct buf *tail)
{
    face_open_event(a, head);
    if (a->endpoint == ENDPOINT_CHAT) {
        buf_adds(head, "{\"index\":0,\"delta\":{\"content\":\"");
        buf_adds(tail, "\"},\"logprobs\":null,\"finish_reason\":null,\"token_ids\":null}]");
    } else {
        buf_adds(head, "{\"index\":0,\"text\":\"");
        buf_adds(tail, "\",\"logprobs\":null,\"finish_reason\":null,\"stop_reason\":null,"
                       "\"prompt_token_ids\":null,\"token_ids\":null}]");
    }
}

static void last(const struct answer *a, const char *text, size_t n, struct buf *out)
{
    bool chat = a->endpoint == ENDPOINT_CHAT;

    face_open_event(a, out);
    buf_addf(out,
             "{\"index\":0,%s\"%.*s\"%s,\"logprobs\":null,\"finish_reason\":\"%s\","
             "\"stop_reason\":null,%s\"token_ids\":null}]",
             chat ? "\"delta\":{\"content\":" : "\"text\":", (int)n, text, chat ? "}" : "",
             a->finish, chat ? "" : "\"prompt_token_ids\":null,");
    usage_part(a, out);
    buf_adds(out, a->include_usage ? "}\n\n" : FINGERPRINT "}\n\n");
}

static void ending(const struct answer *a, struct buf *out)
{
    if (!a->include_usage)
        return;
    face_open_event(a, out);
    buf_addc(out, ']');
    add_usage(a, out);
    buf_adds(out, FINGERPRINT "}\n\n");
}

static void whole(const struct answer *a, const char *text, size_t n, struct buf *out)
{
    face_open_whole(a, text, n, out);
    if (a->endpoint == ENDPOINT_CHAT)
        buf_adds(out, ",\"refusal\":null,\"annotations\":null,\"audio\":null,"
                      "\"function_call\":null,\"reasoning\":null}");
    buf_addf(out,
             ",\"logprobs\":null,\"finish_reason\":\"%s\",\"stop_reason\":null,"
             "\"token_ids\":null}],\"service_tier\":null" FINGERPRINT ",\"usage\":",
             a->finish);
    add_counts(a, out);
    if (a->cached_in_usage)
        buf_addf(out, ",\"prompt_tokens_details\":{\"cached_tokens\":%" PRId64 "}}",
                 a->cached_tokens);
    else
        buf_adds(out, ",\"prompt_tokens_details\":null}");
    buf_adds(out, "}");
}

/* --- errors --- */

/* What each complaint is called here. */
static const struct {
    int status;
    const char *type;
} errors[] = {
    [COMPLAINT_JSON] = {400, "Bad Request"},       [COMPLAINT_MISSING] = {400, "Bad Request"},
    [COMPLAINT_TYPE] = {400, "Bad Request"},       [COMPLAINT_VALUE] = {400, "BadRequestError"},
    [COMPLAINT_MODEL] = {404, "NotFoundError"},    [COMPLAINT_TOO_LONG] = {400, "BadRequestError"},
    [COMPLAINT_BUSY] = {0, "InternalServerError"},
};

/* The prompt's real length is not told: one token more than the limit is enough to know. */
static void add_message(const struct complaint *c, struct buf *out)
{
    switch (c->kind) {
    case COMPLAINT_JSON: buf_addf(out, "JSON decode error: %s", c->text); break;
    case COMPLAINT_MISSING: buf_addf(out, "Field required: body.%s", c->param); break;
    case COMPLAINT_TYPE: buf_addf(out, "Input should be %s: body.%s", c->text, c->param); break;
    case COMPLAINT_VALUE: buf_addf(out, "%s %s (parameter=%s)", c->param, c->text, c->param); break;
    case COMPLAINT_MODEL: buf_addf(out, "The model `%s` does not exist.", c->text); break;
    case COMPLAINT_TOO_LONG:
        buf_addf(out,
                 "This model's maximum context length is %" PRId64 " tokens, but the prompt has at "
                 "least %" PRId64 " input tokens. (parameter=input_tokens, value=%" PRId64 ")",
                 c->limit, c->limit + 1, c->limit + 1);
        break;
    default: buf_adds(out, c->text); break;
    }
}

static int complain_vllm(const struct complaint *c, struct buf *out)
{
    struct buf message;

    int status = face_refuse_early(c, out);
    if (status)
        return status;
    status = errors[c->kind].status ? errors[c->kind].status : c->status;
    buf_init(&message, 1024);
    add_message(c, &message);
    buf_adds(out, "{\"error\":{\"message\":");
    buf_add_json_string(out, message.p, message.len);
    buf_addf(out, ",\"type\":\"%s\",\"param\":", errors[c->kind].type);
    if (c->kind == COMPLAINT_TOO_LONG)
        buf_adds(out, "\"input_tokens\"");
    else if (c->param[0])
        buf_add_json_string(out, c->param, strlen(c->param));
    else
        buf_adds(out, "null");
    buf_addf(out, ",\"code\":%d}}", status);
    buf_release(&message);
    return status;
}

/* --- pages --- */

static void models(struct service *s, struct exchange *x)
{
    const char *id = s->rules.served_model, *root = s->profile->model;
    struct buf out;

    buf_init(&out, 8192);
    buf_adds(&out, "{\"object\":\"list\",\"data\":[{\"id\":");
    buf_add_json_string(&out, id, strlen(id));
    buf_addf(&out, ",\"object\":\"model\",\"created\":%.0f,\"owned_by\":\"vllm\",\"root\":",
             s->started_at);
    buf_add_json_string(&out, root, strlen(root));
    buf_addf(&out, ",\"parent\":null,\"max_model_len\":%" PRId64 "}],", s->rules.context_limit);
    face_add_emulator(s, &out);
    buf_addc(&out, '}');
    service_reply(s, x, 200, s->face->json_type, &out);
    buf_release(&out);
}

static void version(struct service *s, struct exchange *x)
{
    service_reply_text(s, x, 200, s->face->json_type, "{\"version\":\"" VERSION "\"}");
}

static void load(struct service *s, struct exchange *x)
{
    struct buf out;
    buf_init(&out, 64);
    buf_addf(&out, "{\"server_load\":%" PRId64 "}", s->open_count);
    service_reply(s, x, 200, s->face->json_type, &out);
    buf_release(&out);
}

static void reset_prefix_cache(struct service *s, struct exchange *x)
{
    engine_flush_cache(s->engine);
    face_empty_ok(s, x);
}

/* --- metrics --- */

static void add_engine_metrics(struct prom *p, const struct service *s,
                               const struct engine_stats *e)
{
    const struct prom_part reasons[] = {{"capacity", e->waiting}, {"deferred", 0}};
    const struct prom_part sources[] = {
        {"local_compute", (double)(e->prompt_tokens - e->prefix_hits)},
        {"local_cache_hit", (double)e->prefix_hits},
        {"external_kv_transfer", 0},
    };
    const struct prom_part ends[] = {{"stop", (double)s->counters.stopped},
                                     {"length", (double)s->counters.full_length},
                                     {"abort", (double)s->counters.aborted},
                                     {"error", (double)s->counters.broken}};

    prom_value(p, "vllm:num_requests_running", "gauge", "Requests in the running batch.",
               e->running);
    prom_value(p, "vllm:num_requests_waiting", "gauge", "Requests that wait to be run.",
               e->waiting);
    prom_parts(p, "vllm:num_requests_waiting_by_reason", "gauge", "Waiting requests by reason.",
               "reason", reasons, ARRAY_LEN(reasons));
    prom_value(p, "vllm:kv_cache_usage_perc", "gauge", "Share of the KV cache in use, 0 to 1.",
               e->kv_used);
    prom_value(p, "vllm:prefix_cache_queries_total", "counter",
               "Prompt tokens looked up in the prefix cache.", (double)e->prefix_queries);
    prom_value(p, "vllm:prefix_cache_hits_total", "counter",
               "Prompt tokens found in the prefix cache.", (double)e->prefix_hits);
    prom_value(p, "vllm:num_preemptions_total", "counter", "Sequences pre-empted.",
               (double)e->preemptions);
    prom_value(p, "vllm:prompt_tokens_total", "counter", "Prompt tokens, cached ones included.",
               (double)e->prompt_tokens);
    prom_parts(p, "vllm:prompt_tokens_by_source_total", "counter", "Prompt tokens by source.",
               "source", sources, ARRAY_LEN(sources));
    prom_value(p, "vllm:prompt_tokens_cached_total", "counter", "Cached prompt tokens.",
               (double)e->prefix_hits);
    prom_value(p, "vllm:generation_tokens_total", "counter", "Output tokens.",
               (double)e->generated_tokens);
    prom_parts(p, "vllm:request_success_total", "counter", "Requests that ended, by reason.",
               "finished_reason", ends, ARRAY_LEN(ends));
}

static void add_histograms(struct prom *p, const struct counters *n)
{
    const struct {
        const char *name, *help;
        const struct prom_histogram *h;
    } rows[] = {
        {"vllm:request_prompt_tokens", "Prompt tokens of a request.", &n->prompt},
        {"vllm:request_generation_tokens", "Output tokens of a request.", &n->output},
        {"vllm:request_params_max_tokens", "The max_tokens of a request.", &n->asked},
        {"vllm:time_to_first_token_seconds", "Time to the first token.", &n->ttft},
        {"vllm:inter_token_latency_seconds", "Time between tokens.", &n->token_gap},
        {"vllm:request_time_per_output_token_seconds", "Mean time between the tokens of a request.",
         &n->token_mean},
        {"vllm:e2e_request_latency_seconds", "Time to the last token.", &n->latency},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        prom_histogram_write(p, rows[i].name, rows[i].help, rows[i].h);
}

/* What is configured, as labels. */
static void add_cache_config(struct buf *out, const struct service *s, const struct engine_stats *e)
{
    buf_addf(out,
             "# HELP vllm:cache_config_info The engine's cache configuration.\n"
             "# TYPE vllm:cache_config_info gauge\n"
             "vllm:cache_config_info{block_size=\"%d\",cache_dtype=\"auto\","
             "enable_prefix_caching=\"%s\",engine=\"0\",kv_cache_max_concurrency=\"%.6g\","
             "kv_cache_size_tokens=\"%" PRId64
             "\",num_cpu_blocks=\"None\",num_gpu_blocks=\"%" PRId64 "\"} 1.0\n",
             s->profile->block_size, s->profile->prefix_cache ? "True" : "False",
             (double)e->kv_tokens / (double)s->rules.context_limit, e->kv_tokens, e->kv_blocks);
}

static void metrics(struct service *s, struct exchange *x)
{
    struct engine_stats stats;
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
    struct prom p = {.out = &out,
                     .before = "engine=\"0\"",
                     .after = model.p,
                     .python = true,
                     .created_at = s->started_at};
    engine_read_stats(s->engine, &stats);
    add_engine_metrics(&p, s, &stats);
    add_histograms(&p, &s->counters);
    add_cache_config(&out, s, &stats);
    service_reply(s, x, 200, "text/plain; version=0.0.4; charset=utf-8", &out);
    buf_release(&out);
    buf_release(&model);
}

static const struct route routes[] = {
    {"GET", "/health", face_empty_ok, true},
    {"GET", "/ping", face_empty_ok, true},
    {"GET", "/version", version, true},
    {"GET", "/load", load, true},
    {"GET", "/metrics", metrics, true},
    {"GET", "/v1/models", models, false},
    {"POST", "/v1/chat/completions", face_chat, false},
    {"POST", "/v1/completions", face_text, false},
    {"POST", "/tokenize", face_tokenize, true},
    {"POST", "/detokenize", face_detokenize, true},
    {"POST", "/reset_prefix_cache", reset_prefix_cache, true},
    {0},
};

const struct face face_vllm = {
    .name = "vllm",
    .routes = routes,
    .json_type = "application/json",
    .stream_type = "text/event-stream; charset=utf-8",
    .headers = "",
    .id_prefix = {[ENDPOINT_CHAT] = "chatcmpl-", [ENDPOINT_TEXT] = "cmpl-"},
    .id_digits = 16,
    .detokenized = "prompt",
    .token_strings = true,
    .rules = {.text_max_output = 16,
              .checks_model = true,
              .trims_output = true,
              .bounds_output = true,
              .stream_options_want_stream = true},
    .opener = opener,
    .frame = frame,
    .usage_part = usage_part,
    .last = last,
    .ending = ending,
    .whole = whole,
    .complain = complain_vllm,
};
