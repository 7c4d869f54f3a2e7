/* fetch.h - ordinary HTTP: one request, one answer, wait for it. For probing, metrics, aborts, and
 * for sending results to a site.
 *
 * Built on libcurl. A fetcher belongs to one thread and keeps its connection open between calls.
 * Redirects are not followed: the address of what is measured must be the one the user gave. */
#ifndef TOKGRID_NET_FETCH_H
#define TOKGRID_NET_FETCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "net/endpoint.h"

struct fetcher;

/* `stop` (may be NULL) is looked at while waiting: non-zero ends the call with ERR_INTERRUPT. */
struct fetcher *fetcher_new(const struct endpoint *e, const atomic_int *stop);
void fetcher_free(struct fetcher *f);

struct fetch_reply {
    int status;
    char content_type[96]; /* lower case, without parameters */
    char server[64], via[64], location[256];
    char retry_after[64];         /* as it was sent: seconds or a date */
    char litellm[64], cf_ray[64]; /* proxies that name themselves in a header of their own */
    struct buf body; /* its maximum bounds the answer; the caller inits and releases it */
};

struct fetch_request {
    const char *method; /* "GET", "POST", "DELETE" */
    const char *path;
    const void *body; /* sent as JSON unless a header says otherwise; NULL: none */
    size_t body_bytes;
    const char *const *headers; /* more of them, "Name: value"; NULL-ended, NULL: none */
};

/* False when there was no whole answer (connect, time-out, larger than the body's maximum); an HTTP
 * error status is an answer. The first call opens libcurl (net/libcurl.h), and fails where there is
 * none. */
bool fetch_send(struct fetcher *f, const struct fetch_request *request, int64_t timeout_ns,
                struct fetch_reply *reply, struct err *err) ATTR_CHECK;

/* The two usual ones. body NULL: GET, else POST of JSON. */
bool fetch(struct fetcher *f, const char *path, const char *body, int64_t timeout_ns,
           struct fetch_reply *reply, struct err *err) ATTR_CHECK;

#endif
