/* probe.c - from an address to an engine: connect, read the models list, find the dialect, learn
 * the limits. Everything learned becomes a fact with its source; what is unknown says so. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/num.h"
#include "base/text.h"
#include "load/session.h"

static const char models_path[] = "/v1/models";

/* The flags say what is wanted; reading is enough to end the turn. */
static void on_wake(void *ctx, uint32_t events)
{
    struct session *s = ctx;
    uint64_t count;
    (void)events;
    ssize_t ignored = read(s->control->wake_fd, &count, sizeof count);
    (void)ignored;
}

bool session_connect(struct session *s, struct err *err)
{
    const struct run_options *o = s->options;
    const struct endpoint_options options = {
        .ca_file = o->ca_file,
        .insecure = o->insecure,
        .api_key = o->api_key,
        .connect_timeout_ns = o->connect_timeout_ns,
        .stop = &s->control->stop,
        .use_proxy = strcmp(o->transport, "curl") == 0,
    };
    struct url url;
    char text[700];

    if (!url_parse(o->url, &url, err) || !endpoint_open(&s->endpoint, &url, &options, err))
        return false;
    s->loop = loop_new(err);
    if (!s->loop)
        return false;
    s->wake = (struct loop_watch){.fd = s->control->wake_fd, .fn = on_wake, .ctx = s};
    if (!loop_watch(s->loop, &s->wake, EPOLLIN, err))
        return false;
    s->transport = transport_new(o->transport, s->loop, &s->endpoint, err);
    if (!s->transport)
        return false;
    s->fetcher = fetcher_new(&s->endpoint, &s->control->stop);
    /* a page that takes longer than this is no help; a request's own limit may be shorter still */
    s->pages = pages_new(s->fetcher, o->request_timeout_ns < 10 * NS_PER_S ? o->request_timeout_ns
                                                                           : 10 * NS_PER_S);
    mem_set_string(&s->result->server.url, url_text(&url, text, sizeof text));
    text_printable(s->progress.url, sizeof s->progress.url, text, strlen(text));
    s->result->client.remote = !url_is_local(&url);
    return true;
}

/* What a page that is no models list means, in one line. */
static bool explain(const struct session *s, const struct page *page, struct err *err)
{
    const char *url = s->result->server.url;
    char said[300] = "";
    struct buf message;

    if (page->status == 0) {
        *err = page->err;
        if (strstr(page->err.text, "certificate"))
            return err_set(err, ERR_CONNECT,
                           "%s: %s (--cacert FILE trusts its issuer, --insecure "
                           "accepts any certificate)",
                           url, page->err.text);
        return err_prefix(err, "%s does not answer", url);
    }
    buf_init(&message, 4096);
    if (event_error_body(page->body, page->len, &message))
        snprintf(said, sizeof said, ": %s", message.p);
    buf_release(&message);
    switch (page->status) {
    case 200:
        return err_set(err, ERR_PROTOCOL,
                       "%s%s answers %s, not a JSON list of models: is this an OpenAI-compatible "
                       "server, and is the path right?",
                       url, models_path, page->content_type[0] ? page->content_type : "something");
    case 401:
    case 403: return session_key_error(s, page->status, err);
    case 404:
        return err_set(err, ERR_HTTP,
                       "%s has no %s (HTTP 404): is this an OpenAI-compatible server, and is the "
                       "path right? (--model NAME goes on without a list)",
                       url, models_path);
    default:
        if (page->status >= 300 && page->status < 400)
            return err_set(err, ERR_HTTP, "%s redirects to %s (HTTP %d): use that address", url,
                           page->location[0] ? page->location : "nowhere", page->status);
        return err_set(err, ERR_HTTP, "%s%s: HTTP %d%s", url, models_path, page->status, said);
    }
}

/* Loading servers answer 503; wait for them, with a limit. */
static bool wait_until_loaded(struct session *s, struct err *err)
{
    int64_t give_up_at = clock_now() + s->options->load_timeout_ns;
    static const char *const paths[] = {models_path, "/health"};
    bool told = false;

    for (;;) {
        const struct page *busy = NULL;
        for (size_t i = 0; i < ARRAY_LEN(paths) && !busy; i++) {
            const struct page *page = pages_get(s->pages, paths[i]);
            if (page->status == 503)
                busy = page;
        }
        if (!busy)
            return true;
        if (session_stopping(s))
            return err_set(err, ERR_INTERRUPT, "interrupted");
        if (clock_now() >= give_up_at) {
            char text[NUM_TEXT_MAX];
            explain(s, busy, err);
            return err_prefix(err, "still not ready after %s (--load-timeout)",
                              num_duration_text(text, s->options->load_timeout_ns));
        }
        if (!told)
            session_event(s, "info", "the server is loading (HTTP 503); waiting for it");
        told = true;
        pages_forget(s->pages, models_path);
        pages_forget(s->pages, "/health");
        loop_turn(s->loop, clock_now() + 500 * NS_PER_MS);
    }
}

static bool no_such_model(const struct session *s, json_t *list, struct err *err)
{
    struct buf names;
    json_t *card;
    size_t i;

    buf_init(&names, 300);
    json_array_foreach(list, i, card)
    {
        const char *id = json_string_at(card, "id");
        if (id && !buf_addf(&names, "%s%s", names.len ? ", " : "", id))
            break;
    }
    err_set(err, ERR_USAGE,
            s->options->model ? "the server has no model '%s'; it lists: %s%s"
                              : "the server lists several models%s; choose one by "
                                "--model: %s%s",
            s->options->model ? s->options->model : "", names.p, names.overflow ? ", ..." : "");
    buf_release(&names);
    return false;
}

/* The name to ask by: never one the server did not list, never a guess among several. */
static bool choose_model(struct session *s, struct err *err)
{
    const char *wanted = s->options->model, *only = NULL;
    const struct page *page = pages_get(s->pages, models_path);
    json_t *list = page->status == 200 ? json_at(page->json, "data") : NULL, *card;
    size_t i, candidates = 0;

    if (!json_is_array(list)) {
        if (page->status == 404 && wanted) {
            s->model = mem_strdup(wanted);
            return true;
        }
        return explain(s, page, err);
    }
    json_array_foreach(list, i, card)
    {
        const char *id = json_string_at(card, "id");
        if (!id)
            continue;
        if (wanted && strcmp(id, wanted) == 0) {
            s->model = mem_strdup(id);
            return true;
        }
        if (json_string_at(card, "parent")) /* an adapter of another card */
            continue;
        only = id;
        candidates++;
    }
    if (wanted || candidates > 1)
        return no_such_model(s, list, err);
    if (!only)
        return err_set(err, ERR_PROTOCOL, "%s lists no model; load one first",
                       s->result->server.url);
    s->model = mem_strdup(only);
    return true;
}

static void fact_number(struct session *s, const char *name, int64_t value, const char *source)
{
    char text[NUM_TEXT_MAX];
    snprintf(text, sizeof text, "%" PRId64, value);
    result_add_fact(s->result, name, value > 0 ? text : NULL, value > 0 ? source : NULL);
}

static void fact_text(struct session *s, const char *name, const char *value, const char *source)
{
    result_add_fact(s->result, name, value && *value ? value : NULL,
                    value && *value ? source : NULL);
}

static double known(int64_t v)
{
    return v > 0 ? (double)v : NAN;
}

/* From a model's name, what its weights are packed as; names are the only place many say it. */
static const char *quantization_of(const char *name)
{
    static const struct {
        const char *in_name, *words;
    } rows[] = {
        {"AWQ-4bit", "AWQ 4-bit"},
        {"AWQ-8bit", "AWQ 8-bit"},
        {"AWQ", "AWQ"},
        {"GPTQ-Int4", "GPTQ 4-bit"},
        {"GPTQ-Int8", "GPTQ 8-bit"},
        {"GPTQ", "GPTQ"},
        {"NVFP4", "NVFP4"},
        {"MXFP4", "MXFP4"},
        {"FP8", "FP8"},
        {"W4A16", "INT4 (W4A16)"},
        {"W8A8", "INT8 (W8A8)"},
        {"Q8_0", "Q8_0"},
        {"Q6_K", "Q6_K"},
        {"Q5_K_M", "Q5_K_M"},
        {"Q5_K_S", "Q5_K_S"},
        {"Q4_K_M", "Q4_K_M"},
        {"Q4_K_S", "Q4_K_S"},
        {"Q4_0", "Q4_0"},
        {"Q3_K_M", "Q3_K_M"},
        {"Q2_K", "Q2_K"},
        {"IQ4_XS", "IQ4_XS"},
        {"BF16", "BF16"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (text_find_nocase(name, rows[i].in_name))
            return rows[i].words;
    return "";
}

static void keep_facts(struct session *s)
{
    struct server_facts *f = &s->facts;
    struct result *r = s->result;
    char served[256];
    const char *where = "by its own pages", *packed = f->quantization[0] ? where : "model name";

    if (!f->quantization[0])
        snprintf(f->quantization, sizeof f->quantization, "%s",
                 quantization_of(f->model[0] ? f->model : s->model));
    mem_set_string(&r->engine.name, s->dialect->name);
    mem_set_string(&r->engine.version, f->version[0] ? f->version : NULL);
    mem_set_string(&r->engine.build, f->build[0] ? f->build : NULL);
    mem_set_string(&r->engine.backend, f->backend[0] ? f->backend : NULL);
    mem_set_string(&r->engine.repository, s->dialect->repository);
    mem_set_string(&r->engine.launch_command, s->options->launch_command);
    text_printable(served, sizeof served, s->model, strlen(s->model));
    session_hide_key(s, served);
    session_hide_key(s, f->model);
    mem_set_string(&r->subject.model, f->model[0] ? f->model : served);
    mem_set_string(&r->subject.served_model, served);
    mem_set_string(&r->subject.quantization, f->quantization[0] ? f->quantization : NULL);
    mem_set_string(&r->subject.revision, f->revision[0] ? f->revision : NULL);
    if (s->options->kv_budget > 0) {
        f->kv_budget = s->options->kv_budget;
        snprintf(f->kv_source, sizeof f->kv_source, "option --kv-budget");
    }
    r->server.context_limit = known(f->context_limit);
    r->server.kv_budget = known(f->kv_budget);
    r->server.max_running = known(f->max_running);
    mem_set_string(&r->server.kv_budget_source, f->kv_budget > 0 ? f->kv_source : NULL);
    fact_text(s, "engine", s->dialect->name, where);
    fact_text(s, "version", f->version, where);
    fact_text(s, "build", f->build, where);
    fact_text(s, "model", f->model, where);
    fact_text(s, "served_model", served, s->options->model ? "option --model" : "GET /v1/models");
    fact_text(s, "quantization", f->quantization, packed);
    fact_number(s, "context_limit", f->context_limit, f->context_source);
    fact_number(s, "kv_budget", f->kv_budget, f->kv_source);
    fact_number(s, "max_running", f->max_running, f->max_running_source);
    text_printable(s->progress.model, sizeof s->progress.model, r->subject.model,
                   strlen(r->subject.model));
    snprintf(s->progress.engine, sizeof s->progress.engine, "%s %s", s->dialect->name, f->version);
}

bool session_probe(struct session *s, struct err *err)
{
    struct reading reading;

    session_phase(s, PHASE_PROBE, 0);
    if (!wait_until_loaded(s, err) || !choose_model(s, err))
        return false;
    session_note_emulator(s);
    s->dialect = dialect_detect(s->pages);
    s->dialect->learn(s->pages, s->model, &s->facts);
    keep_facts(s);
    bool metrics = monitor_read_metrics(s->fetcher, s->dialect, &reading);
    fact_text(s, "metrics", metrics ? "yes" : "no", metrics ? "GET /metrics" : "not offered");
    int64_t tokens;
    bool counts = s->dialect->count_tokens &&
                  s->dialect->count_tokens(s->fetcher, s->model, "one two three", &tokens);
    fact_text(s, "tokenize", counts ? "yes" : "no", counts ? "asked" : "not offered");
    if (!metrics && s->dialect->metrics.running[0])
        session_event(s, "warning",
                      "%s gives no usable /metrics: queueing will be inferred from the streams",
                      s->dialect->name);
    s->gpus = s->result->client.remote || s->emulated ? NULL : hardware_probe_new(NULL);
    if (metrics || s->gpus)
        s->monitor = monitor_start(&s->endpoint, s->dialect, metrics, s->gpus, 200 * NS_PER_MS);
    session_show(s);
    return true;
}
