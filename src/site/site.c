/* site.c - store handles for the threads that answer, and one thread that tidies up. */
#include "site/site.h"

#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "site/http.h"
#include "site/page_cache.h"
#include "site/visit.h"

enum { HANDLES_MAX = 64, TIDY_S = 60, KEPT_PAGES = 4096, KEPT_BYTES = 128 << 20 };

struct site {
    struct site_options options;
    struct site_assets assets;
    struct http *http;
    struct page_cache *kept;
    pthread_mutex_t lock; /* of the handles and `stopping` */
    pthread_cond_t wake;
    struct store *handles[HANDLES_MAX]; /* those that nobody uses now */
    size_t handle_count;
    pthread_t tidier;
    bool tidying, stopping;
};

/* ---- handles --------------------------------------------------------------------------------- */

static struct store *take_handle(struct site *s, struct err *err)
{
    const struct store_options options = {.create = true, .migrate = true};
    struct store *store = NULL;
    pthread_mutex_lock(&s->lock);
    if (s->handle_count > 0)
        store = s->handles[--s->handle_count];
    pthread_mutex_unlock(&s->lock);
    if (store || store_open(s->options.db, &options, &store, err))
        return store;
    return NULL;
}

static void give_handle(struct site *s, struct store *store)
{
    store_rollback(store);
    pthread_mutex_lock(&s->lock);
    if (s->handle_count < HANDLES_MAX) {
        s->handles[s->handle_count++] = store;
        store = NULL;
    }
    pthread_mutex_unlock(&s->lock);
    store_close(store);
}

static void *tidy(void *arg)
{
    struct site *s = arg;
    pthread_mutex_lock(&s->lock);
    while (!s->stopping) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += TIDY_S;
        if (pthread_cond_timedwait(&s->wake, &s->lock, &until) == 0)
            continue;
        pthread_mutex_unlock(&s->lock);
        struct err err = {0};
        struct store *store = take_handle(s, &err);
        if ((!store || !store_expire(store, &err)) && s->options.log)
            s->options.log(err.text);
        if (store)
            give_handle(s, store);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- the handler ----------------------------------------------------------------------------- */

static size_t max_body(void *ctx, const struct request *request)
{
    struct route_match match;
    (void)ctx;
    routes_find(request, &match);
    if (!match.route || request->method == METHOD_GET)
        return 0;
    return match.route->flags & ROUTE_UPLOAD ? REQUEST_MAX_BODY + REQUEST_BODY_SLACK
                                             : REQUEST_MAX_FORM;
}

/* Whether everybody gets this page alike, and its address. Any cookie or key may make a difference,
 * so whoever sends one gets a page of his own. */
static bool is_kept(const struct request *r, struct buf *key)
{
    struct route_match match;
    if (r->method != METHOD_GET || r->cookies.count > 0 || r->header[HEADER_AUTHORIZATION])
        return false;
    routes_find(r, &match);
    if (!match.route || !(match.route->flags & ROUTE_ALIKE))
        return false;
    /* pages name the host they were asked at; one whose address has no language is in the visitor's
     */
    buf_adds(key, r->secure ? "https://" : "http://");
    buf_adds(key, r->header[HEADER_HOST] ? r->header[HEADER_HOST] : "");
    buf_addc(key, '\n');
    if (!match.lang && !(match.route->flags & ROUTE_API))
        buf_adds(key, site_lang_accepted(r->header[HEADER_ACCEPT_LANGUAGE])->code);
    for (size_t i = 0; i < r->path_count; i++) {
        buf_addc(key, '/');
        url_add_encoded(key, r->path[i]);
    }
    for (size_t i = 0; i < r->query.count; i++) {
        buf_addc(key, i ? '&' : '?');
        url_add_encoded(key, r->query.v[i].name);
        buf_addc(key, '=');
        url_add_encoded(key, r->query.v[i].value);
    }
    return !key->overflow;
}

static void answer(void *ctx, struct request *request, int status, const char *problem,
                   struct response *response)
{
    struct site *s = ctx;
    struct err err = {0};
    struct store *store = take_handle(s, &err);
    if (!store && s->options.log)
        s->options.log(err.text);
    const struct site_context context = {
        .assets = &s->assets, .store = store, .log = s->options.log};
    struct buf key;
    int64_t version;
    buf_init(&key, (size_t)4 * REQUEST_MAX_TARGET);
    bool keep = store && !problem && is_kept(request, &key) && store_version(store, &version, &err);
    if (keep)
        response->kept = page_cache_get(s->kept, key.p, version);
    if (!response->kept) {
        visit_answer(&context, request, status, problem, response);
        if (keep && response->status == 200 && response->header_count == 0) {
            http_keep(response);
            page_cache_put(s->kept, key.p, version, response->kept);
        }
    }
    buf_release(&key);
    if (store)
        give_handle(s, store);
}

/* ---- life cycle ------------------------------------------------------------------------------ */

static bool start_tidier(struct site *s, struct err *err)
{
    int code = pthread_create(&s->tidier, NULL, tidy, s);
    s->tidying = code == 0;
    return s->tidying || err_set(err, ERR_SYSTEM, "cannot start a thread: error %d", code);
}

struct site *site_new(const struct site_options *options, struct err *err)
{
    struct site *s = mem_alloc(sizeof *s);
    const struct http_options http = {.listen = options->listen,
                                      .threads = options->threads,
                                      .trust_proxy = options->trust_proxy};
    const struct http_handler handler = {.ctx = s, .max_body = max_body, .answer = answer};
    pthread_condattr_t attr;
    s->options = *options;
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->wake, &attr);
    pthread_condattr_destroy(&attr);
    if (sodium_init() < 0) {
        err_set(err, ERR_SYSTEM, "the cryptography library does not start");
        goto fail;
    }
    site_assets_init(&s->assets);
    s->kept = page_cache_new(KEPT_PAGES, KEPT_BYTES);
    struct store *store = take_handle(s, err);
    if (!store)
        goto fail;
    give_handle(s, store);
    s->http = http_new(&http, &handler, err);
    if (s->http && start_tidier(s, err))
        return s;
fail:
    site_free(s);
    return NULL;
}

void site_free(struct site *s)
{
    if (!s)
        return;
    http_free(s->http);
    if (s->tidying) {
        pthread_mutex_lock(&s->lock);
        s->stopping = true;
        pthread_cond_signal(&s->wake);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->tidier, NULL);
    }
    for (size_t i = 0; i < s->handle_count; i++)
        store_close(s->handles[i]);
    page_cache_free(s->kept);
    site_assets_release(&s->assets);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

const char *site_url(const struct site *s)
{
    return http_url(s->http);
}
