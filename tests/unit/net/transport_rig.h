/* transport_rig.h - one lane of either kind of transport, and in words what it told. */
#ifndef TOKGRID_TESTS_TRANSPORT_RIG_H
#define TOKGRID_TESTS_TRANSPORT_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/num.h"
#include "net/transport.h"
#include "peer.h"

static const char *const kinds[] = {"own", "curl"};

#define OK_HI "HTTP/1.1 200 OK\r\nContent-Type: Text/Plain; x=y\r\nContent-Length: 2\r\n\r\nhi"
#define OK_YO "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nyo"

/* What was told, as text: "open;", "200 text/plain;", the body's bytes, then "end;" or the error's
 * code and text. Bodies longer than 64 bytes are counted instead. */
struct rig {
    const char *kind;
    struct peer *peer;
    struct loop *loop;
    struct endpoint endpoint;
    struct transport *transport;
    struct lane *lane;
    struct buf told;
    int opens, heads, bodies, ends;
    size_t body_bytes;
    enum err_code code;
    int64_t head_at, end_at;
    const struct http_request *next; /* sent from on_end */
};

static inline void on_open(void *ctx)
{
    struct rig *r = ctx;
    r->opens++;
    buf_adds(&r->told, "open;");
}

static inline void on_head(void *ctx, const struct http_head *head, const struct read_stamp *stamp)
{
    struct rig *r = ctx;
    r->heads++;
    r->head_at = stamp->at;
    assert_true(stamp->at > 0);
    buf_addf(&r->told, "%d %s%s%s;", head->status, head->content_type, head->location[0] ? " " : "",
             head->location);
}

static inline void on_body(void *ctx, const char *p, size_t n, const struct read_stamp *stamp)
{
    struct rig *r = ctx;
    r->bodies++;
    r->body_bytes += n;
    assert_true(stamp->at >= r->head_at);
    if (r->told.len + n < r->told.max)
        buf_add(&r->told, p, n);
}

static inline void on_end(void *ctx, const struct err *err, int64_t at)
{
    struct rig *r = ctx;
    r->ends++;
    r->end_at = at;
    r->code = err ? err->code : ERR_NONE;
    assert_false(r->lane->busy);
    if (err)
        buf_addf(&r->told, ";error %d %s;", (int)err->code, err->text);
    else
        buf_adds(&r->told, ";end;");
    if (r->next) {
        const struct http_request *next = r->next;
        r->next = NULL;
        lane_send(r->lane, next);
    }
}

static const struct lane_events events = {on_open, on_head, on_body, on_end};

static inline void rig_init(struct rig *r, const char *kind, const struct peer_step *const *scripts,
                            size_t count, const struct peer_options *options)
{
    *r = (struct rig){.kind = kind, .peer = peer_start(scripts, count, options)};
    r->loop = loop_new(NULL);
    assert_non_null(r->loop);
    buf_init(&r->told, 4096);
    peer_endpoint(r->peer, &r->endpoint, true);
    r->transport = transport_new(kind, r->loop, &r->endpoint, NULL);
    assert_non_null(r->transport);
    assert_string_equal(r->transport->ops->kind, kind);
    r->lane = lane_new(r->transport, &events, r);
}

static inline void rig_release(struct rig *r)
{
    lane_free(r->lane);
    transport_free(r->transport);
    endpoint_close(&r->endpoint);
    loop_free(r->loop);
    peer_stop(r->peer);
    buf_release(&r->told);
}

static inline void turn_until(struct rig *r, const int *counter, int n)
{
    int64_t give_up_at = clock_now() + 10 * NS_PER_S;
    while (*counter < n) {
        if (clock_now() > give_up_at)
            fail_msg("%s: nothing happened after '%s'", r->kind, r->told.p);
        loop_turn(r->loop, give_up_at);
    }
}

static const struct http_request post = {.method = "POST",
                                         .path = "/v1/x",
                                         .body = {{"{\"a\":", 5}, {"1", 1}, {"}", 1}},
                                         .body_parts = 3};
static const struct http_request get = {.method = "GET", .path = "/v1/y"};

/* Send, wait for the end; forget what was told before. */
static inline void exchange(struct rig *r, const struct http_request *request)
{
    buf_reset(&r->told);
    r->ends = r->opens = 0;
    lane_send(r->lane, request);
    assert_true(r->lane->busy);
    assert_int_equal(r->told.len, 0); /* callbacks come from the loop only */
    turn_until(r, &r->ends, 1);
}

static inline void expect(const struct rig *r, const char *told)
{
    if (strcmp(r->told.p, told) != 0)
        fail_msg("%s: told '%s', not '%s'", r->kind, r->told.p, told);
}

#define SCRIPTS(...)                                                                               \
    (const struct peer_step *const[]){__VA_ARGS__},                                                \
        sizeof((const struct peer_step *const[]){__VA_ARGS__}) / sizeof(struct peer_step *)

/* Answers whatever comes. */
static const struct peer_step answer_all[] = {
    {.what = PEER_REQUEST}, {.what = PEER_SEND, .text = OK_HI}, {.what = PEER_AGAIN}};

#endif
