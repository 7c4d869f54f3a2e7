/* service.c - from a request to its handler: route, method, key; and the service's life. */
#include "engine/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/version.h"
#include "engine/face.h"

enum {
    BODY_MAX = 64 << 20,
    SPARE_TOKENS = 4096, /* values of a body, tokens of a prompt: besides the context's */
    SCRATCH_MAX = 64 << 10,
};

#define SERVER_HEADER "Server: tokgrid-engine/" TOKGRID_VERSION "\r\n"

/* Upper bounds, as vLLM has them for time to the first token, between tokens and to the end; and
 * for numbers of tokens. */
static const double ttft_bounds[] = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,
                                     0.25,  0.5,   0.75, 1,    2.5,  5,    7.5,  10,
                                     20,    40,    80,   160,  640,  2560};
static const double gap_bounds[] = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5,
                                    0.75, 1,     2.5,  5,     7.5, 10,   20,  40,  80};
static const double latency_bounds[] = {0.3, 0.5, 0.8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                                        30,  40,  50,  60, 120, 240, 480, 960, 1920, 7680};
static const double token_bounds[] = {1,   2,    5,    10,   20,    50,    100,   200,
                                      500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};

static void counters_init(struct counters *c)
{
    const struct {
        struct prom_histogram *h;
        const double *bounds;
        size_t n;
    } rows[] = {
        {&c->ttft, ttft_bounds, ARRAY_LEN(ttft_bounds)},
        {&c->token_gap, gap_bounds, ARRAY_LEN(gap_bounds)},
        {&c->token_mean, gap_bounds, ARRAY_LEN(gap_bounds)},
        {&c->latency, latency_bounds, ARRAY_LEN(latency_bounds)},
        {&c->prompt, token_bounds, ARRAY_LEN(token_bounds)},
        {&c->output, token_bounds, ARRAY_LEN(token_bounds)},
        {&c->asked, token_bounds, ARRAY_LEN(token_bounds)},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        rows[i].h->bounds = rows[i].bounds;
        rows[i].h->bound_count = rows[i].n;
    }
}

/* --- answers --- */

/* The headers of every response; `more` are further lines. */
static const char *headers(struct service *s, const char *more)
{
    snprintf(s->headers, sizeof s->headers, SERVER_HEADER "%s%s", s->face->headers, more);
    return s->headers;
}

void service_reply(struct service *s, struct exchange *x, int status, const char *type,
                   const struct buf *body)
{
    static const char too_large[] = "{\"error\":{\"message\":\"the answer is too large\"}}";
    if (body->overflow)
        exchange_reply(x, 500, s->face->json_type, headers(s, ""), too_large, sizeof too_large - 1);
    else
        exchange_reply(x, status, type, headers(s, ""), body->p, body->len);
}

void service_reply_text(struct service *s, struct exchange *x, int status, const char *type,
                        const char *body)
{
    exchange_reply(x, status, type, headers(s, ""), body, strlen(body));
}

void service_complain(struct service *s, struct exchange *x, const struct complaint *c)
{
    char retry[64] = "";
    struct buf out;

    if (c->retry_after_s > 0)
        snprintf(retry, sizeof retry, "Retry-After: %lld\r\n", (long long)c->retry_after_s);
    buf_init(&out, 8192);
    int status = s->face->complain(c, &out);
    exchange_reply(x, status, s->face->json_type, headers(s, retry), out.p, out.len);
    buf_release(&out);
}

void service_start_stream(struct service *s, struct exchange *x)
{
    exchange_start(x, 200, s->face->stream_type, headers(s, ""));
}

bool service_read_body(struct service *s, struct exchange *x, struct body *ret)
{
    size_t n, most = (size_t)s->rules.context_limit + SPARE_TOKENS;
    const char *p = exchange_body(x, &n);
    struct complaint c;
    struct err err;

    if (body_read(p, n, most, ret, &err))
        return true;
    complain(&c, COMPLAINT_JSON, "body", "%s", err.text);
    service_complain(s, x, &c);
    return false;
}

/* --- routes --- */

/* "Authorization: Bearer KEY". The time it takes says nothing of how much of a key was right. */
static bool key_fits(const struct service *s, const struct exchange *x)
{
    const char *given = exchange_header(x, "Authorization");
    size_t n = strlen(s->api_key);
    unsigned differs = 0;

    if (!given || strncasecmp(given, "Bearer ", 7) != 0)
        return false;
    given += 7;
    if (strlen(given) != n)
        return false;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned char)given[i] ^ (unsigned char)s->api_key[i];
    return differs == 0;
}

static void on_request(void *ctx, struct exchange *x)
{
    struct service *s = ctx;
    const char *path = exchange_path(x), *method = exchange_method(x);
    struct complaint c;
    bool path_known = false;

    if (strcmp(method, "HEAD") == 0)
        method = "GET"; /* the server leaves the body out */
    for (const struct route *r = s->face->routes; r->path; r++) {
        if (strcmp(r->path, path) != 0)
            continue;
        path_known = true;
        if (strcmp(r->method, method) != 0)
            continue;
        if (s->api_key && !r->keyless && !key_fits(s, x)) {
            complain(&c, COMPLAINT_KEY, "", "%s", "");
            service_complain(s, x, &c);
            return;
        }
        r->handle(s, x);
        return;
    }
    complain(&c, path_known ? COMPLAINT_METHOD : COMPLAINT_ROUTE, "", "%s", path);
    service_complain(s, x, &c);
}

static void on_gone(void *ctx, struct exchange *x)
{
    (void)ctx;
    struct completion *c = exchange_owner(x);
    if (c)
        completion_gone(c);
}

static const struct http_server_events http_events = {.on_request = on_request, .on_gone = on_gone};

/* --- life cycle --- */

struct service *service_new(struct loop *loop, const struct service_options *options,
                            struct err *err)
{
    struct http_server_options http = http_server_defaults;
    struct service *s = mem_alloc(sizeof *s);

    s->face = face_find(options->face);
    s->profile = options->profile;
    s->loop = loop;
    s->faults = options->faults;
    s->api_key = options->api_key;
    s->speed = options->speed;
    s->no_metrics = options->no_metrics;
    s->cached_in_usage = options->cached_in_usage;
    s->rules = s->face->rules;
    s->rules.served_model = options->profile->served_model;
    s->rules.context_limit = options->profile->context_limit;
    s->prompt.max = (size_t)s->rules.context_limit + SPARE_TOKENS;
    s->started_at = (double)clock_realtime() / 1e9;
    counters_init(&s->counters);
    buf_init(&s->scratch, SCRATCH_MAX);
    http.host = options->host;
    http.port = options->port;
    http.max_body = BODY_MAX;
    s->http = http_server_new(loop, &http, &http_events, s, err);
    s->engine = engine_new(loop, options->profile, options->speed, &completion_events);
    if (s->http)
        return s;
    service_free(s);
    return NULL;
}

void service_free(struct service *s)
{
    if (!s)
        return;
    completion_free_all(s);
    http_server_free(s->http);
    engine_free(s->engine);
    tokens_release(&s->prompt);
    token_memo_release(&s->memo);
    buf_release(&s->scratch);
    free(s);
}

const char *service_url(const struct service *s)
{
    return http_server_url(s->http);
}

void service_read_counts(const struct service *s, struct service_counts *ret)
{
    const struct counters *c = &s->counters;
    struct engine_stats stats;

    engine_read_stats(s->engine, &stats);
    *ret = (struct service_counts){
        .requests = c->requests,
        .completed = c->stopped + c->full_length,
        .aborted = c->aborted,
        .refused = c->refused,
        .broken = c->broken,
        .prompt_tokens = stats.prompt_tokens,
        .generated_tokens = stats.generated_tokens,
        .late_ns = stats.late_ns,
    };
}
