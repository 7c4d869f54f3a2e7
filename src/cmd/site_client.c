/* site_client.c - net/fetch with what a key needs: one origin, few retries, errors in words. */
#include "cmd/site_client.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/num.h"
#include "base/text.h"

enum {
    ANSWER_MAX_BYTES = 1 << 20,
    WAIT_MAX_S = 120, /* the longest Retry-After that is waited for */
};

static const int64_t CONNECT_NS = 15 * NS_PER_S;
static const int64_t REQUEST_NS = 120 * NS_PER_S;

struct site_client {
    struct site site;
    struct endpoint endpoint;
    struct fetcher *fetcher;
    struct fetch_reply reply;
    int tries;
};

static atomic_int interrupted;

/* ---- addresses ------------------------------------------------------------------------------- */

bool site_parse(const char *text, struct site *ret, struct err *err)
{
    struct site site;
    char with_scheme[600];

    if (!url_parse(text, &site.url, err))
        return false;
    if (!strstr(text, "://") && !url_is_local(&site.url)) {
        snprintf(with_scheme, sizeof with_scheme, "https://%s", text);
        if (!url_parse(with_scheme, &site.url, err))
            return false;
    }
    if (site.url.unix_path[0] || site.url.prefix[0])
        return err_set(err, ERR_USAGE,
                       "'%.200s' is not a site's address: give it without a path, as in "
                       "https://tokgrid.example",
                       text);
    for (char *c = site.url.host; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    url_text(&site.url, site.text, sizeof site.text);
    *ret = site;
    return true;
}

bool site_choose(const char *given, const struct credentials *c, struct site *ret, struct err *err)
{
    if (given && *given)
        return site_parse(given, ret, err);
    if (c->n == 1)
        return site_parse(c->v[0].site, ret, err);
    if (c->n == 0)
        return err_set(err, ERR_USAGE,
                       "no site is known yet: 'tokgrid login https://SITE' logs in at one");
    return err_set(err, ERR_USAGE,
                   "there are logins at %zu sites, %s and %s among them: say which one is meant",
                   c->n, c->v[0].site, c->v[1].site);
}

bool site_may_have_key(const struct site *site, bool insecure, struct err *err)
{
    return site->url.tls || url_is_local(&site->url) || insecure ||
           err_set(err, ERR_USAGE,
                   "over %s everybody on the way could read the key: use https, or "
                   "--insecure-http in a network that you trust",
                   site->text);
}

/* ---- interruption ---------------------------------------------------------------------------- */

static void on_signal(int number)
{
    (void)number;
    atomic_store(&interrupted, 1);
}

void site_catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

bool site_interrupted(void)
{
    return atomic_load(&interrupted) != 0;
}

bool site_wait(int64_t ns, struct err *err)
{
    int64_t until = clock_now() + ns;
    while (!site_interrupted() && clock_now() < until)
        clock_sleep(until - clock_now() < NS_PER_S ? until - clock_now() : NS_PER_S);
    return !site_interrupted() || err_set(err, ERR_INTERRUPT, "interrupted");
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct site_client *site_client_new(const struct site *site, const struct site_options *options,
                                    struct err *err)
{
    bool local = url_is_local(&site->url);
    const struct endpoint_options how = {
        .ca_file = options->ca_file,
        .api_key = options->key,
        .connect_timeout_ns = CONNECT_NS,
        .stop = &interrupted,
        .use_proxy = !local,
        .by_name = !local,
    };
    struct site_client *c = mem_alloc(sizeof *c);

    c->site = *site;
    c->tries = options->tries;
    buf_init(&c->reply.body, ANSWER_MAX_BYTES);
    for (int left = c->tries; !endpoint_open(&c->endpoint, &site->url, &how, err);)
        if (err->code != ERR_CONNECT || --left == 0 || !site_wait(NS_PER_S, err)) {
            site_client_free(c);
            return NULL;
        }
    c->fetcher = fetcher_new(&c->endpoint, &interrupted);
    return c;
}

void site_client_free(struct site_client *c)
{
    if (!c)
        return;
    fetcher_free(c->fetcher);
    endpoint_close(&c->endpoint);
    buf_release(&c->reply.body);
    free(c);
}

static void take_text(char *out, size_t size, json_t *root, const char *path)
{
    const char *s = json_string_at(root, path);
    text_printable(out, size, s ? s : "", s ? strlen(s) : 0);
}

static void read_answer(const struct fetch_reply *reply, struct site_answer *ret)
{
    struct err ignored;

    *ret = (struct site_answer){.status = reply->status};
    if (strcmp(reply->content_type, "application/json") == 0)
        ret->json = json_parse(reply->body.p, reply->body.len, "answer", &ignored);
    if (!json_is_object(ret->json)) {
        json_decref(ret->json);
        ret->json = NULL;
        return;
    }
    take_text(ret->code, sizeof ret->code, ret->json, "error.code");
    take_text(ret->message, sizeof ret->message, ret->json, "error.message");
    take_text(ret->field, sizeof ret->field, ret->json, "error.field");
    take_text(ret->id, sizeof ret->id, ret->json, "error.id");
}

void site_answer_release(struct site_answer *answer)
{
    json_decref(answer->json);
    *answer = (struct site_answer){0};
}

/* How long to wait before the next try; -1: there is no use in one. */
static int64_t wait_before_next(const struct site_client *c, bool answered, int try_number,
                                const struct err *err)
{
    static const int statuses[] = {429, 500, 502, 503, 504};
    int64_t wait_s = INT64_C(1) << try_number, asked_s;
    bool again = false;

    if (!answered)
        return err->code == ERR_CONNECT || err->code == ERR_TIMEOUT || err->code == ERR_CLOSED
                   ? wait_s * NS_PER_S
                   : -1;
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
        again |= c->reply.status == statuses[i];
    if (num_parse_i64(c->reply.retry_after, &asked_s) && asked_s >= 0)
        wait_s = asked_s;
    return again && wait_s <= WAIT_MAX_S ? wait_s * NS_PER_S : -1;
}

static bool ask_with_retries(struct site_client *c, const struct fetch_request *request,
                             struct err *err)
{
    for (int i = 0;; i++) {
        bool answered = fetch_send(c->fetcher, request, REQUEST_NS, &c->reply, err);
        int64_t wait_ns = i + 1 < c->tries ? wait_before_next(c, answered, i, err) : -1;
        if (wait_ns < 0)
            return answered || err_prefix(err, "%s", c->site.text);
        if (answered)
            fprintf(stderr, "tokgrid: %s is busy (HTTP %d); trying again in %lld s\n", c->site.text,
                    c->reply.status, (long long)(wait_ns / NS_PER_S));
        else
            fprintf(stderr, "tokgrid: %s: %s; trying again in %lld s\n", c->site.text, err->text,
                    (long long)(wait_ns / NS_PER_S));
        if (!site_wait(wait_ns, err))
            return false;
    }
}

bool site_ask(struct site_client *c, const struct fetch_request *request, struct site_answer *ret,
              struct err *err)
{
    const struct fetch_reply *reply = &c->reply;

    *ret = (struct site_answer){0};
    if (!ask_with_retries(c, request, err))
        return false;
    read_answer(reply, ret);
    if (reply->status >= 300 && reply->status < 400)
        return err_set(err, ERR_PROTOCOL,
                       "%s leads elsewhere, to '%s'; a key does not follow, so give the site's "
                       "own address",
                       c->site.text, reply->location);
    if (reply->status < 300 && reply->status != 204 && !ret->json)
        return err_set(err, ERR_PROTOCOL,
                       "%s%s answers, but not as a tokgrid site (HTTP %d, %s); is the address "
                       "right?",
                       c->site.text, request->path, reply->status,
                       *reply->content_type ? reply->content_type : "no content type");
    return true;
}

/* ---- answers in words ------------------------------------------------------------------------ */

bool site_refused(const struct site_client *c, const struct site_answer *answer, struct err *err)
{
    static const struct {
        int status;
        enum err_code code;
        const char *words; /* before what the site says */
    } rows[] = {
        {401, ERR_DENIED, "does not accept the key; 'tokgrid login' gets a new one"},
        {403, ERR_DENIED, "does not allow it"},
        {404, ERR_NOT_FOUND, "has no such address: it is too old, or no tokgrid site"},
        {405, ERR_NOT_FOUND, "has no such address: it is too old, or no tokgrid site"},
        {413, ERR_LIMIT, "takes no document that large"},
        {422, ERR_FORMAT, "refuses it"},
        {429, ERR_BUSY, "has had too many requests; try again later"},
    };
    const char *site = c->site.text, *words = "answers with an error";
    const char *message = answer->message;
    enum err_code code = ERR_HTTP;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].status != answer->status)
            continue;
        words = rows[i].words;
        code = rows[i].code;
    }
    bool named = !*answer->field || text_starts(message, answer->field);
    return err_set(err, code, "%s %s (HTTP %d)%s%s%s%s", site, words, answer->status,
                   *message ? ": " : "", named ? "" : answer->field, named ? "" : ": ", message);
}

bool site_user(struct site_client *c, struct arena *a, const char **ret, struct err *err)
{
    const struct fetch_request request = {.method = "GET", .path = "/api/v1/user"};
    struct site_answer answer;
    char name[100];

    bool ok = site_ask(c, &request, &answer, err);
    if (ok && answer.status != 200)
        ok = site_refused(c, &answer, err);
    if (ok) {
        take_text(name, sizeof name, answer.json, "name");
        ok = *name ||
             err_set(err, ERR_PROTOCOL, "%s does not say whose key it is: it is no tokgrid site",
                     c->site.text);
    }
    if (ok)
        *ret = arena_strdup(a, name);
    site_answer_release(&answer);
    return ok;
}
