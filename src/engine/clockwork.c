/* clockwork.c - one timer per stream, each set to the instant its next write is due. */
#include "engine/clockwork.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/num.h"
#include "net/http_server.h"

enum { MAX_BUNDLE = 64, EVENT_BYTES = 400, FLOOD_WRITES = 16 };

static const int64_t max_tokens = 1 << 20;

struct clockwork {
    struct loop *loop;
    struct http_server *server;
    struct ticker *tickers; /* all the streams that run */
    struct buf events;      /* of one write */
    uint64_t served;
};

/* One stream. */
struct ticker {
    struct clockwork *clockwork;
    struct exchange *exchange;
    struct ticker *next, *previous;
    struct loop_timer timer;
    uint64_t id;
    int64_t first_at, gap_ns; /* token i is due at first_at + i * gap_ns */
    int64_t tokens, sent, bundle;
    int64_t prompt_bytes;
    bool split;
};

static int64_t due_at(const struct ticker *t, int64_t token)
{
    return t->first_at + token * t->gap_ns;
}

/* The token whose instant the next write waits for: the last one of its bundle. */
static int64_t next_due(const struct ticker *t)
{
    int64_t last = t->sent + t->bundle < t->tokens ? t->sent + t->bundle : t->tokens;
    return due_at(t, last - 1);
}

static void end_ticker(struct ticker *t)
{
    loop_timer_cancel(t->clockwork->loop, &t->timer);
    if (t->previous)
        t->previous->next = t->next;
    else
        t->clockwork->tickers = t->next;
    if (t->next)
        t->next->previous = t->previous;
    free(t);
}

static void add_opening(const struct ticker *t, struct buf *out)
{
    buf_addf(out,
             "data: {\"id\":\"clockwork-%" PRIu64
             "\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":\"clockwork\",",
             t->id);
}

static void add_token(const struct ticker *t, int64_t due, struct buf *out)
{
    add_opening(t, out);
    buf_addf(out,
             "\"choices\":[{\"index\":0,\"delta\":{\"content\":\" %" PRId64 " %" PRId64
             "\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n",
             clock_now(), due);
}

static void add_end(const struct ticker *t, struct buf *out)
{
    add_opening(t, out);
    buf_adds(out, "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n");
    add_opening(t, out);
    buf_addf(out,
             "\"choices\":[],\"usage\":{\"prompt_tokens\":%" PRId64
             ",\"completion_tokens\":%" PRId64 ",\"total_tokens\":%" PRId64
             "}}\n\ndata: [DONE]\n\n",
             t->prompt_bytes, t->sent, t->prompt_bytes + t->sent);
}

/* A cut moves from write to write, so that it meets every place of an event in time. */
static void write_split(struct ticker *t, const struct buf *b)
{
    size_t cut = 1 + (size_t)t->sent % (b->len - 1);
    exchange_write(t->exchange, b->p, cut);
    exchange_write(t->exchange, b->p + cut, b->len - cut);
}

static void write_bundle(struct ticker *t)
{
    struct buf *b = &t->clockwork->events;
    int64_t due = next_due(t);

    buf_reset(b);
    for (int64_t i = 0; i < t->bundle && t->sent < t->tokens; i++, t->sent++)
        add_token(t, due, b);
    if (t->split)
        write_split(t, b);
    else
        exchange_write(t->exchange, b->p, b->len);
}

static void on_due(void *ctx)
{
    struct ticker *t = ctx;
    struct buf *b = &t->clockwork->events;
    int64_t now = clock_now();

    /* without a gap everything is due: so many writes, then the other streams' turn */
    for (int i = 0; i < FLOOD_WRITES && t->sent < t->tokens && next_due(t) <= now; i++)
        write_bundle(t);
    if (t->sent < t->tokens) {
        loop_timer_set(t->clockwork->loop, &t->timer, next_due(t));
        return;
    }
    buf_reset(b);
    add_end(t, b);
    exchange_write(t->exchange, b->p, b->len);
    exchange_end(t->exchange);
    end_ticker(t);
}

/* A field of the request; its bounds are those of a sensible answer. */
static int64_t field(json_t *body, const char *name, int64_t otherwise, int64_t most)
{
    int64_t v = otherwise;
    if (!json_int_at(body, name, &v) || v < 0)
        v = otherwise;
    return v < most ? v : most;
}

static struct ticker *start_ticker(struct clockwork *c, struct exchange *x, json_t *body)
{
    struct ticker *t = mem_alloc(sizeof *t);

    t->clockwork = c;
    t->exchange = x;
    t->id = ++c->served;
    t->timer = (struct loop_timer){.fn = on_due, .ctx = t};
    t->tokens = field(body, "max_tokens", 64, max_tokens);
    t->tokens = t->tokens > 0 ? t->tokens : 1;
    t->bundle = field(body, "bundle", 1, MAX_BUNDLE);
    t->bundle = t->bundle > 0 ? t->bundle : 1;
    t->gap_ns = field(body, "gap_ms", 10, 60000) * NS_PER_MS;
    t->first_at = exchange_arrived(x) + field(body, "first_ms", 50, 60000) * NS_PER_MS;
    t->split = json_is_true(json_object_get(body, "split"));
    t->next = c->tickers;
    if (t->next)
        t->next->previous = t;
    c->tickers = t;
    return t;
}

static void on_request(void *ctx, struct exchange *x)
{
    struct clockwork *c = ctx;
    struct err err;
    size_t n;
    const char *text = exchange_body(x, &n);
    json_t *body = json_parse(text, n, "the request", &err);

    if (!json_is_object(body)) {
        static const char refusal[] = "{\"error\":{\"message\":\"POST a JSON object\","
                                      "\"type\":\"invalid_request_error\",\"code\":400}}";
        exchange_reply(x, 400, "application/json", NULL, refusal, sizeof refusal - 1);
        json_decref(body);
        return;
    }
    struct ticker *t = start_ticker(c, x, body);
    json_decref(body);
    t->prompt_bytes = (int64_t)n;
    exchange_set_owner(x, t);
    exchange_start(x, 200, "text/event-stream", NULL);
    buf_reset(&c->events);
    add_opening(t, &c->events);
    buf_adds(&c->events, "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
                         "\"content\":\"\"},\"finish_reason\":null}]}\n\n");
    exchange_write(x, c->events.p, c->events.len);
    loop_timer_set(c->loop, &t->timer, next_due(t));
}

static void on_gone(void *ctx, struct exchange *x)
{
    (void)ctx;
    end_ticker(exchange_owner(x));
}

static const struct http_server_events events = {on_request, on_gone};

struct clockwork *clockwork_new(struct loop *loop, struct err *err)
{
    struct clockwork *c = mem_alloc(sizeof *c);

    c->loop = loop;
    buf_init(&c->events, (MAX_BUNDLE + 2) * EVENT_BYTES);
    c->server = http_server_new(loop, &http_server_defaults, &events, c, err);
    if (!c->server) {
        clockwork_free(c);
        return NULL;
    }
    return c;
}

void clockwork_free(struct clockwork *c)
{
    if (!c)
        return;
    for (struct ticker *t = c->tickers, *next; t; t = next) {
        next = t->next;
        loop_timer_cancel(c->loop, &t->timer);
        free(t);
    }
    http_server_free(c->server);
    buf_release(&c->events);
    free(c);
}

const char *clockwork_url(const struct clockwork *c)
{
    return http_server_url(c->server);
}
