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
#include "load/proxy.h"
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

/* A server that is starting refuses connections, but so does a port that was mistyped: a few
 * seconds' patience is enough for the first and not too much for the second. */
static bool open_endpoint(struct session *s, const struct url *url,
                          const struct endpoint_options *options, struct err *err)
{
    int64_t patience = s->options->load_timeout_ns;
    int64_t give_up_at = clock_now() + (patience < 3 * NS_PER_S ? patience : 3 * NS_PER_S);

    while (!endpoint_open(&s->endpoint, url, options, err)) {
        if (err->code != ERR_CONNECT || !strstr(err->text, "refused") || session_stopping(s) ||
            clock_now() >= give_up_at)
            return false;
        clock_sleep(100 * NS_PER_MS);
    }
    return true;
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

    if (!url_parse(o->url, &url, err) || !open_endpoint(s, &url, &options, err))
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
            if (page->litellm[0]) /* its /health asks every model behind it */
                break;
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

static void fact_number(struct session *s, const char *name, const struct known_number *k)
{
    char text[NUM_TEXT_MAX];
    snprintf(text, sizeof text, "%" PRId64, k->value);
    result_add_fact(s->result, name, k->value > 0 ? text : NULL, k->value > 0 ? k->source : NULL);
}

static void fact_text(struct session *s, const char *name, const char *value, const char *source)
{
    bool is_known = value && *value;
    result_add_fact(s->result, name, is_known ? value : NULL, is_known ? source : NULL);
}

static void fact_known(struct session *s, const char *name, const struct known_text *k)
{
    fact_text(s, name, k->value, k->source);
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

static const char *or_null(const struct known_text *k)
{
    return k->value[0] ? k->value : NULL;
}

static void keep_subject(struct session *s)
{
    struct server_facts *f = &s->facts;
    struct result *r = s->result;
    char served[256];

    text_printable(served, sizeof served, s->model, strlen(s->model));
    session_hide_key(s, served);
    session_hide_key(s, f->model.value);
    if (!f->quantization.value[0])
        known_text_set(&f->quantization,
                       quantization_of(f->model.value[0] ? f->model.value : s->model),
                       "the model's name");
    mem_set_string(&r->subject.model, f->model.value[0] ? f->model.value : served);
    mem_set_string(&r->subject.served_model, served);
    mem_set_string(&r->subject.quantization, or_null(&f->quantization));
    mem_set_string(&r->subject.revision, or_null(&f->revision));
    fact_known(s, "model", &f->model);
    fact_text(s, "served_model", served, s->options->model ? "option --model" : "GET /v1/models");
    if (f->revision.value[0])
        fact_known(s, "revision", &f->revision);
    fact_known(s, "quantization", &f->quantization);
    if (f->model_bytes.value > 0)
        fact_number(s, "model_bytes", &f->model_bytes);
    text_printable(s->progress.model, sizeof s->progress.model, r->subject.model,
                   strlen(r->subject.model));
}

static void keep_engine(struct session *s)
{
    struct server_facts *f = &s->facts;
    struct result *r = s->result;

    mem_set_string(&r->engine.name, s->dialect->name);
    mem_set_string(&r->engine.version, or_null(&f->version));
    mem_set_string(&r->engine.build, or_null(&f->build));
    mem_set_string(&r->engine.backend, or_null(&f->backend));
    mem_set_string(&r->engine.repository, s->dialect->repository);
    mem_set_string(&r->engine.launch_command, s->options->launch_command);
    fact_known(s, "engine", &f->engine);
    fact_known(s, "version", &f->version);
    fact_known(s, "build", &f->build);
    if (f->backend.value[0])
        fact_known(s, "backend", &f->backend);
    snprintf(s->progress.engine, sizeof s->progress.engine, "%s %.80s", s->dialect->name,
             f->version.value);
}

static void keep_limits(struct session *s)
{
    struct server_facts *f = &s->facts;
    struct result *r = s->result;

    if (s->options->kv_budget > 0)
        known_number_set(&f->kv_budget, s->options->kv_budget, "option --kv-budget");
    r->server.context_limit = known(f->context_limit.value);
    r->server.kv_budget = known(f->kv_budget.value);
    r->server.max_running = known(f->max_running.value);
    mem_set_string(&r->server.kv_budget_source,
                   f->kv_budget.value > 0 ? f->kv_budget.source : NULL);
    fact_number(s, "context_limit", &f->context_limit);
    if (f->model_context.value > 0 && f->model_context.value != f->context_limit.value)
        fact_number(s, "model_context", &f->model_context);
    fact_number(s, "kv_budget", &f->kv_budget);
    fact_number(s, "max_running", &f->max_running);
}

static void learn(struct session *s)
{
    dialect_learn(s->dialect, s->pages, s->model, &s->facts);
    keep_engine(s);
    keep_subject(s);
    keep_limits(s);
}

void session_learn_loaded(struct session *s)
{
    if (!s->dialect->tells_more_loaded)
        return;
    pages_forget_all(s->pages);
    learn(s);
}

/* What stands in between changes what is measured: it is named, and said once. */
static void note_proxy(struct session *s)
{
    const struct page *page = pages_get(s->pages, models_path);
    struct known_text proxy = {0};

    fact_text(s, "server_header", page->server, "GET /v1/models, header server");
    if (!proxy_recognise(page, &proxy))
        return;
    fact_known(s, "proxy", &proxy);
    session_event(s, "warning",
                  "a proxy answers (%s, by its %s): times include it; the engine's own port tells "
                  "more",
                  proxy.value, strstr(proxy.source, "header"));
}

/* Whether they can be read at all; that they move is seen later. */
static void find_metrics(struct session *s)
{
    const char *const *paths = s->dialect->metrics_paths;

    s->metrics = (struct metrics_source){s->dialect, &s->facts, s->model};
    s->has_metrics = monitor_read_metrics(s->fetcher, &s->metrics, &s->metrics_at_first);
    for (size_t i = 1; paths[0] && paths[i] && !s->has_metrics; i++) {
        snprintf(s->facts.metrics_path, sizeof s->facts.metrics_path, "%s", paths[i]);
        s->has_metrics = monitor_read_metrics(s->fetcher, &s->metrics, &s->metrics_at_first);
    }
    if (s->has_metrics || !s->dialect->metrics.running[0])
        return;
    const char *option = s->dialect->metrics_option;
    session_event(s, "warning",
                  "%s gives no usable %s: queueing will be inferred from the streams%s%s",
                  s->dialect->name, s->facts.metrics_path,
                  option ? "; it has metrics when started with " : "", option ? option : "");
}

bool session_probe(struct session *s, struct err *err)
{
    session_phase(s, PHASE_PROBE, 0);
    if (!wait_until_loaded(s, err) || !choose_model(s, err))
        return false;
    session_note_emulator(s);
    s->dialect = dialect_detect(s->pages, &s->facts.engine);
    learn(s);
    note_proxy(s);
    find_metrics(s);
    session_show(s);
    return true;
}

void session_start_monitor(struct session *s)
{
    s->gpus = s->result->client.remote || s->emulated ? NULL : hardware_probe_new(NULL);
    if (s->has_metrics || s->gpus)
        s->monitor =
            monitor_start(&s->endpoint, &s->metrics, s->has_metrics, s->gpus, 200 * NS_PER_MS);
}
