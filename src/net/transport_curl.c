/* transport_curl.c - the same exchanges through libcurl, as a check of our own path.
 *
 * The multi interface runs on our loop by multi_socket_action (multi_poll stamps late with many
 * streams). A stamp can only be taken when libcurl calls back with body bytes, so it is a little
 * later than a read's own. libcurl keeps idle connections in the multi handle's pool; lane_open
 * fills the pool with one cheap GET per lane, and lane_send finds a connection there. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/text.h"
#include "net/curl_setup.h"
#include "net/libcurl.h"
#include "net/transport.h"

struct curl_transport {
    struct transport transport;
    CURLM *multi;
    struct loop_timer timer;
};

struct curl_lane {
    struct lane lane;
    CURL *easy;
    struct curl_lists lists;
    bool active; /* added to the multi handle */
    bool opening;
    struct http_request copy;
    size_t part, offset; /* what was read of the body so far */
    struct http_head head;
    bool head_told;
    uint64_t reads;
    struct loop_timer soon;
    CURLcode ended;
};

/* libcurl's sockets, watched on our loop; created and freed by socket_changed. */
struct curl_socket {
    struct loop_watch watch;
    struct curl_transport *t;
};

static void finish_done(struct curl_transport *t);

static void on_socket(void *ctx, uint32_t events)
{
    struct curl_socket *s = ctx;
    struct curl_transport *t = s->t;
    int running, flags = 0;
    if (events & (EPOLLIN | EPOLLHUP))
        flags |= CURL_CSELECT_IN;
    if (events & EPOLLOUT)
        flags |= CURL_CSELECT_OUT;
    if (events & EPOLLERR)
        flags |= CURL_CSELECT_ERR;
    curl_multi_socket_action(t->multi, s->watch.fd, flags, &running); /* may free s */
    finish_done(t);
}

static int socket_changed(CURL *easy, curl_socket_t fd, int what, void *ctx, void *assigned)
{
    struct curl_transport *t = ctx;
    struct curl_socket *s = assigned;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (s)
            loop_unwatch(t->transport.loop, &s->watch);
        free(s);
        curl_multi_assign(t->multi, fd, NULL);
        return 0;
    }
    uint32_t events = (what & CURL_POLL_IN ? (uint32_t)EPOLLIN : 0) |
                      (what & CURL_POLL_OUT ? (uint32_t)EPOLLOUT : 0);
    if (s) {
        loop_change(t->transport.loop, &s->watch, events);
        return 0;
    }
    s = mem_alloc(sizeof *s);
    s->t = t;
    s->watch = (struct loop_watch){.fd = fd, .fn = on_socket, .ctx = s};
    curl_multi_assign(t->multi, fd, s);
    return loop_watch(t->transport.loop, &s->watch, events, NULL) ? 0 : -1;
}

static void on_timer(void *ctx)
{
    struct curl_transport *t = ctx;
    int running;
    curl_multi_socket_action(t->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    finish_done(t);
}

/* One shot, as the interface demands: libcurl sets it again when it wants to. */
static int timer_changed(CURLM *multi, long timeout_ms, void *ctx)
{
    struct curl_transport *t = ctx;
    (void)multi;
    if (timeout_ms < 0)
        loop_timer_cancel(t->transport.loop, &t->timer);
    else
        loop_timer_set(t->transport.loop, &t->timer, clock_now() + timeout_ms * NS_PER_MS);
    return 0;
}

static size_t on_header(char *p, size_t size, size_t count, void *ctx)
{
    struct curl_lane *l = ctx;
    size_t n = size * count;
    if (n > 5 && strncasecmp(p, "HTTP/", 5) == 0)
        memset(&l->head, 0, sizeof l->head);
    return n;
}

/* A header as it was sent, made printable; "" when it is absent. */
static void copy_header(CURL *easy, const char *name, char *out, size_t size)
{
    struct curl_header *h;
    out[0] = '\0';
    if (curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &h) != CURLHE_OK)
        return;
    /* said again, the last one counts */
    if (h->amount > 1 &&
        curl_easy_header(easy, name, h->amount - 1, CURLH_HEADER, -1, &h) != CURLHE_OK)
        return;
    text_printable(out, size, h->value, strlen(h->value));
}

static void copy_token(CURL *easy, const char *name, char *out, size_t size)
{
    copy_header(easy, name, out, size);
    out[strcspn(out, "; ")] = '\0';
    for (; *out; out++)
        *out = (char)tolower((unsigned char)*out);
}

static void tell_head(struct curl_lane *l, const struct read_stamp *stamp)
{
    long status = 0;
    curl_off_t connect_us = 0, app_us = 0;
    if (l->head_told || l->opening)
        return;
    l->head_told = true;
    curl_easy_getinfo(l->easy, CURLINFO_RESPONSE_CODE, &status);
    l->head.status = (int)status;
    copy_token(l->easy, "content-type", l->head.content_type, sizeof l->head.content_type);
    copy_token(l->easy, "content-encoding", l->head.content_encoding,
               sizeof l->head.content_encoding);
    if (strcmp(l->head.content_encoding, "identity") == 0)
        l->head.content_encoding[0] = '\0';
    copy_header(l->easy, "location", l->head.location, sizeof l->head.location);
    copy_header(l->easy, "server", l->head.server, sizeof l->head.server);
    copy_header(l->easy, "via", l->head.via, sizeof l->head.via);
    curl_easy_getinfo(l->easy, CURLINFO_CONNECT_TIME_T, &connect_us);
    curl_easy_getinfo(l->easy, CURLINFO_APPCONNECT_TIME_T, &app_us);
    l->lane.times.connect_ns = (app_us > connect_us ? app_us : connect_us) * NS_PER_US;
    l->lane.events->on_head(l->lane.ctx, &l->head, stamp);
}

static size_t on_body(char *p, size_t size, size_t count, void *ctx)
{
    struct read_stamp stamp = {.at = clock_now()};
    struct curl_lane *l = ctx;
    stamp.bytes = size * count;
    stamp.serial = ++l->reads;
    tell_head(l, &stamp);
    if (l->lane.busy && l->active)
        l->lane.events->on_body(l->lane.ctx, p, stamp.bytes, &stamp);
    return l->opening || (l->lane.busy && l->active) ? stamp.bytes : 0;
}

static size_t read_body(char *out, size_t size, size_t count, void *ctx)
{
    struct curl_lane *l = ctx;
    size_t room = size * count, used = 0;
    if (!l->lane.times.send_at)
        l->lane.times.send_at = clock_now();
    while (used < room && l->part < l->copy.body_parts) {
        const struct part *part = &l->copy.body[l->part];
        size_t n = part->n - l->offset;
        if (n > room - used)
            n = room - used;
        memcpy(out + used, part->p + l->offset, n);
        used += n;
        l->offset += n;
        if (l->offset == part->n) {
            l->part++;
            l->offset = 0;
        }
    }
    if (l->part == l->copy.body_parts)
        l->lane.times.sent_at = clock_now();
    return used;
}

/* The pool's connection died and libcurl starts over: the body must be read again from its start.
 */
static int rewind_body(void *ctx, curl_off_t offset, int origin)
{
    struct curl_lane *l = ctx;
    if (offset != 0 || origin != SEEK_SET)
        return CURL_SEEKFUNC_FAIL;
    l->part = l->offset = 0;
    l->lane.times.send_at = 0;
    l->lane.times.retried = true;
    return CURL_SEEKFUNC_OK;
}

static void detach(struct curl_lane *l)
{
    struct curl_transport *t = (struct curl_transport *)l->lane.transport;
    if (l->active)
        curl_multi_remove_handle(t->multi, l->easy);
    l->active = false;
}

static void on_soon(void *ctx)
{
    struct curl_lane *l = ctx;
    int64_t at = clock_now();
    detach(l);
    if (l->opening && l->ended == CURLE_OK) {
        l->opening = false;
        l->lane.events->on_open(l->lane.ctx);
        return;
    }
    bool opening = l->opening;
    l->opening = l->lane.busy = false;
    if (l->ended == CURLE_OK) {
        struct read_stamp stamp = {.at = at, .serial = ++l->reads};
        tell_head(l, &stamp); /* an answer without a body */
        l->lane.events->on_end(l->lane.ctx, NULL, at);
        return;
    }
    struct err err;
    curl_error(&err, l->ended, opening);
    l->lane.events->on_end(l->lane.ctx, &err, at);
}

/* Transfers that ended: told from a timer, since libcurl may not be re-entered from its own loop.
 */
static void finish_done(struct curl_transport *t)
{
    int left;
    CURLMsg *msg;
    while ((msg = curl_multi_info_read(t->multi, &left))) {
        struct curl_lane *l = NULL;
        if (msg->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&l);
        l->ended = msg->data.result;
        loop_timer_set(t->transport.loop, &l->soon, clock_now());
    }
}

static struct transport *curl_create(struct loop *loop, const struct endpoint *e, struct err *err)
{
    (void)loop, (void)e;
    if (!libcurl_open(err))
        return NULL;
    struct curl_transport *t = mem_alloc(sizeof *t);
    t->timer = (struct loop_timer){.fn = on_timer, .ctx = t};
    t->multi = curl_multi_init();
    if (!t->multi) {
        free(t);
        err_set(err, ERR_SYSTEM, "cannot start libcurl");
        return NULL;
    }
    curl_multi_setopt(t->multi, CURLMOPT_SOCKETFUNCTION, socket_changed);
    curl_multi_setopt(t->multi, CURLMOPT_SOCKETDATA, t);
    curl_multi_setopt(t->multi, CURLMOPT_TIMERFUNCTION, timer_changed);
    curl_multi_setopt(t->multi, CURLMOPT_TIMERDATA, t);
    curl_multi_setopt(t->multi, CURLMOPT_MAXCONNECTS, 16384L);
    curl_multi_setopt(t->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
    return &t->transport;
}

static void curl_destroy(struct transport *transport)
{
    struct curl_transport *t = (struct curl_transport *)transport;
    curl_multi_cleanup(t->multi);
    loop_timer_cancel(transport->loop, &t->timer);
    free(t);
}

static struct curl_lane *curl_lane(struct lane *lane)
{
    return (struct curl_lane *)lane;
}

static struct lane *curl_lane_create(struct transport *t)
{
    struct curl_lane *l = mem_alloc(sizeof *l);
    (void)t;
    l->easy = curl_easy_init();
    l->soon = (struct loop_timer){.fn = on_soon, .ctx = l};
    return &l->lane;
}

static void curl_cancel(struct lane *lane)
{
    struct curl_lane *l = curl_lane(lane);
    loop_timer_cancel(lane->transport->loop, &l->soon);
    l->opening = false;
    if (!l->active)
        return;
    /* removing a transfer in the middle closes its connection */
    detach(l);
}

static void curl_lane_destroy(struct lane *lane)
{
    struct curl_lane *l = curl_lane(lane);
    curl_cancel(lane);
    curl_easy_cleanup(l->easy);
    curl_lists_release(&l->lists);
    free(l);
}

static void start(struct curl_lane *l, const struct http_request *request)
{
    struct curl_transport *t = (struct curl_transport *)l->lane.transport;
    curl_off_t bytes = 0;

    l->copy = *request;
    l->part = l->offset = 0;
    l->head_told = false;
    for (size_t i = 0; i < request->body_parts; i++)
        bytes += (curl_off_t)request->body[i].n;
    curl_easy_reset(l->easy);
    curl_set_common(l->easy, t->transport.endpoint, request->path, request->body_parts > 0,
                    &l->lists);
    curl_easy_setopt(l->easy, CURLOPT_PRIVATE, l);
    curl_easy_setopt(l->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(l->easy, CURLOPT_WRITEDATA, l);
    curl_easy_setopt(l->easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(l->easy, CURLOPT_HEADERDATA, l);
    if (request->body_parts) {
        curl_easy_setopt(l->easy, CURLOPT_POST, 1L);
        curl_easy_setopt(l->easy, CURLOPT_POSTFIELDSIZE_LARGE, bytes);
        curl_easy_setopt(l->easy, CURLOPT_READFUNCTION, read_body);
        curl_easy_setopt(l->easy, CURLOPT_READDATA, l);
        curl_easy_setopt(l->easy, CURLOPT_SEEKFUNCTION, rewind_body);
        curl_easy_setopt(l->easy, CURLOPT_SEEKDATA, l);
    }
    l->active = true;
    curl_multi_add_handle(t->multi, l->easy);
}

static void curl_open(struct lane *lane)
{
    struct curl_lane *l = curl_lane(lane);
    const struct http_request request = {.method = "GET", .path = "/v1/models"};
    l->opening = true;
    start(l, &request);
    /* only this cheap GET is bounded as a whole; a stream may take as long as it goes on */
    curl_easy_setopt(l->easy, CURLOPT_TIMEOUT_MS,
                     (long)(lane->transport->endpoint->options.connect_timeout_ns / NS_PER_MS));
}

static void curl_send(struct lane *lane, const struct http_request *request)
{
    curl_cancel(lane); /* a lane_open that was not waited for */
    start(curl_lane(lane), request);
}

static int64_t curl_unread(const struct lane *lane)
{
    (void)lane; /* libcurl owns the socket */
    return 0;
}

const struct transport_ops transport_curl = {
    .kind = "curl",
    .create = curl_create,
    .destroy = curl_destroy,
    .lane_create = curl_lane_create,
    .lane_destroy = curl_lane_destroy,
    .open = curl_open,
    .send = curl_send,
    .cancel = curl_cancel,
    .unread = curl_unread,
};
