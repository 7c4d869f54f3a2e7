/* transport.c - picks the kind once; everything after that goes through its table. */
#include "net/transport.h"

#include <assert.h>
#include <string.h>

#include "base/version.h"

static const struct transport_ops *const kinds[] = {&transport_own, &transport_curl};

struct transport *transport_new(const char *kind, struct loop *loop,
                                const struct endpoint *endpoint, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i]->kind, kind) != 0)
            continue;
        struct transport *t = kinds[i]->create(loop, endpoint, err);
        if (t) {
            t->ops = kinds[i];
            t->loop = loop;
            t->endpoint = endpoint;
        }
        return t;
    }
    err_set(err, ERR_USAGE, "no transport is called '%s' (own, curl)", kind);
    return NULL;
}

void transport_free(struct transport *t)
{
    if (t)
        t->ops->destroy(t);
}

struct lane *lane_new(struct transport *t, const struct lane_events *events, void *ctx)
{
    struct lane *l = t->ops->lane_create(t);
    l->transport = t;
    l->events = events;
    l->ctx = ctx;
    return l;
}

void lane_free(struct lane *l)
{
    if (l)
        l->transport->ops->lane_destroy(l);
}

void lane_open(struct lane *l)
{
    assert(!l->busy);
    l->transport->ops->open(l);
}

void lane_send(struct lane *l, const struct http_request *request)
{
    assert(!l->busy);
    l->times = (struct lane_times){0};
    l->busy = true;
    l->transport->ops->send(l, request);
}

void lane_cancel(struct lane *l)
{
    l->busy = false;
    l->transport->ops->cancel(l);
}

const struct lane_times *lane_times(const struct lane *l)
{
    return &l->times;
}

int64_t lane_unread(const struct lane *l)
{
    return l->transport->ops->unread(l);
}

void http_write_head(const struct endpoint *e, const struct http_request *request,
                     size_t body_bytes, struct buf *out)
{
    char host[300];
    buf_addf(out, "%s %s%s HTTP/1.1\r\nHost: %s\r\n", request->method, e->url.prefix, request->path,
             url_host_header(&e->url, host, sizeof host));
    /* identity by name: leaving the header out lets middleware compress the stream */
    buf_adds(out, "User-Agent: tokgrid/" TOKGRID_VERSION
                  "\r\nAccept: text/event-stream, application/json\r\n"
                  "Accept-Encoding: identity\r\nCache-Control: no-cache\r\n");
    if (e->options.api_key)
        buf_addf(out, "Authorization: Bearer %s\r\n", e->options.api_key);
    if (request->body_parts)
        buf_addf(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n", body_bytes);
    buf_adds(out, "\r\n");
}
