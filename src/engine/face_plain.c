/* face_plain.c - a server of which nothing is known but OpenAI's protocol: models, chat, text.
 *
 * No metrics, no tokenizer, no limits told; usage only where it was asked for. Shapes as OpenAI's
 * API reference gives them. */
#include <inttypes.h>
#include <string.h>

#include "engine/face.h"

static void add_usage(const struct answer *a, struct buf *out)
{
    buf_addf(out,
             "\"usage\":{\"prompt_tokens\":%" PRId64 ",\"completion_tokens\":%" PRId64
             ",\"total_tokens\":%" PRId64,
             a->prompt_tokens, a->completion_tokens, a->prompt_tokens + a->completion_tokens);
    if (a->cached_in_usage)
        buf_addf(out, ",\"prompt_tokens_details\":{\"cached_tokens\":%" PRId64 "}",
                 a->cached_tokens);
    buf_addc(out, '}');
}

static void usage_part(const struct answer *a, struct buf *out)
{
    if (a->include_usage)
        buf_adds(out, ",\"usage\":null");
}

static void opener(const struct answer *a, struct buf *out)
{
    face_open_event(a, out);
    buf_adds(out, "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
                  "\"logprobs\":null,\"finish_reason\":null}]");
    usage_part(a, out);
    buf_adds(out, "}\n\n");
}

/* What stands before and behind the text of a choice. */
static const char *choice_head(const struct answer *a)
{
    return a->endpoint == ENDPOINT_CHAT ? "{\"index\":0,\"delta\":{\"content\":\""
                                        : "{\"index\":0,\"text\":\"";
}

static const char *choice_tail(const struct answer *a)
{
    return a->endpoint == ENDPOINT_CHAT ? "\"},\"logprobs\":null,\"finish_reason\":null}]"
                                        : "\",\"logprobs\":null,\"finish_reason\":null}]";
}

static void frame(const struct answer *a, struct buf *head, struct buf *tail)
{
    face_open_event(a, head);
    buf_adds(head, choice_head(a));
    buf_adds(tail, choice_tail(a));
}

static void last(const struct answer *a, const char *text, size_t n, struct buf *out)
{
    if (n > 0) {
        face_open_event(a, out);
        buf_addf(out, "%s%.*s%s", choice_head(a), (int)n, text, choice_tail(a));
        usage_part(a, out);
        buf_adds(out, "}\n\n");
    }
    face_open_event(a, out);
    buf_addf(out, "{\"index\":0,%s,\"logprobs\":null,\"finish_reason\":\"%s\"}]",
             a->endpoint == ENDPOINT_CHAT ? "\"delta\":{}" : "\"text\":\"\"", a->finish);
    usage_part(a, out);
    buf_adds(out, "}\n\n");
}

static void ending(const struct answer *a, struct buf *out)
{
    if (!a->include_usage)
        return;
    face_open_event(a, out);
    buf_adds(out, "],");
    add_usage(a, out);
    buf_adds(out, "}\n\n");
}

static void whole(const struct answer *a, const char *text, size_t n, struct buf *out)
{
    face_open_whole(a, text, n, out);
    buf_addf(out, "%s,\"logprobs\":null,\"finish_reason\":\"%s\"}],",
             a->endpoint == ENDPOINT_CHAT ? ",\"refusal\":null}" : "", a->finish);
    add_usage(a, out);
    buf_addc(out, '}');
}

/* --- errors --- */

static const struct {
    int status;
    const char *type, *code; /* code NULL: null */
} errors[] = {
    [COMPLAINT_JSON] = {400, "invalid_request_error", NULL},
    [COMPLAINT_MISSING] = {400, "invalid_request_error", "missing_required_parameter"},
    [COMPLAINT_TYPE] = {400, "invalid_request_error", "invalid_type"},
    [COMPLAINT_VALUE] = {400, "invalid_request_error", "invalid_value"},
    [COMPLAINT_MODEL] = {404, "invalid_request_error", "model_not_found"},
    [COMPLAINT_TOO_LONG] = {400, "invalid_request_error", "context_length_exceeded"},
    [COMPLAINT_ROUTE] = {404, "invalid_request_error", "unknown_url"},
    [COMPLAINT_METHOD] = {405, "invalid_request_error", "method_not_supported"},
    [COMPLAINT_KEY] = {401, "invalid_request_error", "invalid_api_key"},
    [COMPLAINT_NOT_ON] = {404, "invalid_request_error", "unknown_url"},
    [COMPLAINT_BUSY] = {0, "server_error", NULL},
};

static void add_message(const struct complaint *c, struct buf *out)
{
    switch (c->kind) {
    case COMPLAINT_JSON: buf_addf(out, "The body is not valid JSON: %s", c->text); break;
    case COMPLAINT_MISSING: buf_addf(out, "Missing required parameter: '%s'.", c->param); break;
    case COMPLAINT_TYPE: buf_addf(out, "Invalid type for '%s': not %s.", c->param, c->text); break;
    case COMPLAINT_VALUE: buf_addf(out, "Invalid value for '%s': %s.", c->param, c->text); break;
    case COMPLAINT_MODEL: buf_addf(out, "The model `%s` does not exist.", c->text); break;
    case COMPLAINT_TOO_LONG:
        buf_addf(out,
                 "This model's maximum context length is %" PRId64 " tokens, but %" PRId64
                 " tokens were requested (%" PRId64 " in the %s, %" PRId64 " in the completion).",
                 c->limit, c->prompt_tokens + (c->max_output > 0 ? c->max_output : 0),
                 c->prompt_tokens, c->param, c->max_output > 0 ? c->max_output : 0);
        break;
    case COMPLAINT_ROUTE: buf_addf(out, "Unknown request URL: %s.", c->text); break;
    case COMPLAINT_METHOD: buf_addf(out, "This method is not allowed for %s.", c->text); break;
    case COMPLAINT_KEY: buf_adds(out, "Incorrect API key provided."); break;
    default: buf_adds(out, c->text); break;
    }
}

static int complain_plain(const struct complaint *c, struct buf *out)
{
    int status = errors[c->kind].status ? errors[c->kind].status : c->status;
    const char *code = errors[c->kind].code;
    struct buf message;

    buf_init(&message, 1024);
    add_message(c, &message);
    buf_adds(out, "{\"error\":{\"message\":");
    buf_add_json_string(out, message.p, message.len);
    buf_addf(out, ",\"type\":\"%s\",\"param\":", errors[c->kind].type);
    if (c->param[0])
        buf_add_json_string(out, c->param, strlen(c->param));
    else
        buf_adds(out, "null");
    if (code)
        buf_addf(out, ",\"code\":\"%s\"}}", code);
    else
        buf_adds(out, ",\"code\":null}}");
    buf_release(&message);
    return status;
}

static void models(struct service *s, struct exchange *x)
{
    const char *id = s->rules.served_model;
    struct buf out;

    buf_init(&out, 8192);
    buf_adds(&out, "{\"object\":\"list\",\"data\":[{\"id\":");
    buf_add_json_string(&out, id, strlen(id));
    buf_addf(&out, ",\"object\":\"model\",\"created\":%.0f,\"owned_by\":\"organization\"}],",
             s->started_at);
    face_add_emulator(s, &out);
    buf_addc(&out, '}');
    service_reply(s, x, 200, s->face->json_type, &out);
    buf_release(&out);
}

static const struct route routes[] = {
    {"GET", "/v1/models", models, false},
    {"POST", "/v1/chat/completions", face_chat, false},
    {"POST", "/v1/completions", face_text, false},
    {0},
};

const struct face face_plain = {
    .name = "plain",
    .routes = routes,
    .json_type = "application/json",
    .stream_type = "text/event-stream; charset=utf-8",
    .headers = "",
    .id_prefix = {[ENDPOINT_CHAT] = "chatcmpl-", [ENDPOINT_TEXT] = "cmpl-"},
    .id_digits = 28,
    .rules = {.text_max_output = 16, .checks_model = true},
    .opener = opener,
    .frame = frame,
    .usage_part = usage_part,
    .last = last,
    .ending = ending,
    .whole = whole,
    .complain = complain_plain,
};
