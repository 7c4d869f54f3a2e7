/* http.h - the site's HTTP server: libmicrohttpd with bounds on everything a client can do.
 *
 * It accepts, reads a whole request, hands it to `answer`, and sends what comes back: compressed
 * where the client takes that, with an ETag, by 304 where the client has it already, and with the
 * headers that keep a browser from doing what a page does not ask for. A pool of threads runs it;
 * `answer` is called by several of them at once and must not keep the request.
 *
 * Bounds, for any client: the head 24 KiB, the body what `max_body` allows for its path, all bodies
 * together 256 MiB (503 above), connections 1,000; a request must be there within 30 s and an
 * answer be taken within 120 s, however steadily bytes trickle; an idle connection is closed after
 * 20 s. */
#ifndef TOKGRID_SITE_HTTP_H
#define TOKGRID_SITE_HTTP_H

#include <stdbool.h>

#include "base/err.h"
#include "site/web_request.h"
#include "site/web_response.h"

struct http_options {
    const char *listen; /* "127.0.0.1:8080", "[::1]:0", "localhost:80": port 0 picks one */
    int threads;        /* 0: as many as there are CPUs, 2 at least */
    bool trust_proxy;   /* X-Forwarded-For and -Proto come from a proxy in front, not a visitor */
};

struct http_handler {
    void *ctx;
    /* How large a body this request may have; called when only method, path and headers are there.
     */
    size_t (*max_body)(void *ctx, const struct request *request);
    /* The request is whole; its body is unpacked already. `problem` is set when it could not be
     * read (then status says why: 400, 413, 415): the answer is a page about that. */
    void (*answer)(void *ctx, struct request *request, int status, const char *problem,
                   struct response *response);
};

struct http;

struct http *http_new(const struct http_options *options, const struct http_handler *handler,
                      struct err *err) ATTR_CHECK;
void http_free(struct http *h); /* ends every connection; NULL is fine */

/* Makes the response one that can be kept (kept_page.h): compressed and tagged once for all. */
void http_keep(struct response *r);

const char *http_url(const struct http *h); /* "http://127.0.0.1:40123" */

#endif
