/* fetch.c - a multi handle with one transfer, so that waiting can look at the stop flag. */
#include "net/fetch.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/text.h"
#include "net/curl_setup.h"
#include "net/libcurl.h"

struct fetcher {
    const struct endpoint *endpoint;
    const atomic_int *stop;
    CURLM *multi;
    CURL *easy;
    struct curl_lists lists;
};

struct fetcher *fetcher_new(const struct endpoint *e, const atomic_int *stop)
{
    struct fetcher *f = mem_alloc(sizeof *f);
    f->endpoint = e;
    f->stop = stop;
    return f;
}

static bool have_handles(struct fetcher *f, struct err *err)
{
    if (!libcurl_open(err))
        return false;
    if (!f->multi)
        f->multi = curl_multi_init();
    if (!f->easy)
        f->easy = curl_easy_init();
    return (f->multi && f->easy) || err_set(err, ERR_SYSTEM, "libcurl has no memory left");
}

void fetcher_free(struct fetcher *f)
{
    if (!f)
        return;
    if (f->easy)
        curl_easy_cleanup(f->easy);
    if (f->multi)
        curl_multi_cleanup(f->multi);
    curl_lists_release(&f->lists);
    free(f);
}

static size_t on_body(char *p, size_t size, size_t count, void *ctx)
{
    struct fetch_reply *reply = ctx;
    return buf_add(&reply->body, p, size * count) ? size * count : 0;
}

static void header(CURL *easy, const char *name, char *out, size_t size)
{
    struct curl_header *h;
    out[0] = '\0';
    if (curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &h) == CURLHE_OK)
        text_printable(out, size, h->value, strlen(h->value));
}

static bool stopped(const struct fetcher *f)
{
    return f->stop && atomic_load(f->stop);
}

/* Run the transfer; CURLE_ABORTED_BY_CALLBACK when stopped. */
static CURLcode perform(struct fetcher *f)
{
    int running = 1, left;
    CURLMsg *msg;
    while (running) {
        if (stopped(f))
            return CURLE_ABORTED_BY_CALLBACK;
        if (curl_multi_perform(f->multi, &running) != CURLM_OK)
            return CURLE_OUT_OF_MEMORY;
        if (running)
            curl_multi_poll(f->multi, NULL, 0, 100, NULL);
    }
    while ((msg = curl_multi_info_read(f->multi, &left)))
        if (msg->msg == CURLMSG_DONE)
            return msg->data.result;
    return CURLE_RECV_ERROR;
}

static void set_request(struct fetcher *f, const struct fetch_request *r)
{
    curl_set_common(f->easy, f->endpoint, r->path, r->body != NULL, &f->lists);
    for (const char *const *h = r->headers; h && *h; h++)
        f->lists.headers = curl_slist_append(f->lists.headers, *h);
    curl_easy_setopt(f->easy, CURLOPT_HTTPHEADER, f->lists.headers);
    if (r->body) {
        curl_easy_setopt(f->easy, CURLOPT_POSTFIELDS, r->body);
        curl_easy_setopt(f->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_bytes);
    }
    if (strcmp(r->method, r->body ? "POST" : "GET") != 0)
        curl_easy_setopt(f->easy, CURLOPT_CUSTOMREQUEST, r->method);
}

bool fetch_send(struct fetcher *f, const struct fetch_request *request, int64_t timeout_ns,
                struct fetch_reply *reply, struct err *err)
{
    long status = 0;

    buf_reset(&reply->body);
    reply->status = 0;
    if (!have_handles(f, err))
        return err_prefix(err, "%s", request->path);
    curl_easy_reset(f->easy);
    set_request(f, request);
    /* at least a millisecond: 0 would be for ever */
    curl_easy_setopt(f->easy, CURLOPT_TIMEOUT_MS,
                     timeout_ns > NS_PER_MS ? (long)(timeout_ns / NS_PER_MS) : 1L);
    curl_easy_setopt(f->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(f->easy, CURLOPT_WRITEDATA, reply);
    /* some compress although nobody asked: a document may be unpacked, its time means nothing */
    curl_easy_setopt(f->easy, CURLOPT_ACCEPT_ENCODING, "identity");
    curl_multi_add_handle(f->multi, f->easy);
    CURLcode code = perform(f);
    curl_easy_getinfo(f->easy, CURLINFO_RESPONSE_CODE, &status);
    reply->status = (int)status;
    header(f->easy, "content-type", reply->content_type, sizeof reply->content_type);
    header(f->easy, "server", reply->server, sizeof reply->server);
    header(f->easy, "via", reply->via, sizeof reply->via);
    header(f->easy, "location", reply->location, sizeof reply->location);
    header(f->easy, "retry-after", reply->retry_after, sizeof reply->retry_after);
    header(f->easy, "x-litellm-version", reply->litellm, sizeof reply->litellm);
    header(f->easy, "cf-ray", reply->cf_ray, sizeof reply->cf_ray);
    curl_multi_remove_handle(f->multi, f->easy);
    reply->content_type[strcspn(reply->content_type, "; ")] = '\0';
    for (char *c = reply->content_type; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (code == CURLE_OK)
        return true;
    if (reply->body.overflow)
        return err_set(err, ERR_LIMIT, "%s: the answer is larger than %zu bytes", request->path,
                       reply->body.max);
    curl_error(err, code, false);
    return err_prefix(err, "%s", request->path);
}

bool fetch(struct fetcher *f, const char *path, const char *body, int64_t timeout_ns,
           struct fetch_reply *reply, struct err *err)
{
    const struct fetch_request request = {
        .method = body ? "POST" : "GET",
        .path = path,
        .body = body,
        .body_bytes = body ? strlen(body) : 0,
    };
    return fetch_send(f, &request, timeout_ns, reply, err);
}
