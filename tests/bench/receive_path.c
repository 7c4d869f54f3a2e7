/* receive_path.c N - feed N token events of one answer, one read each, through the receive path:
 * HTTP framing (net/http_reply), SSE, event scanner, stream. No socket, no clock but the stamps it
 * makes: the same instructions every time, for a counter such as callgrind to count. Prints the
 * tokens that arrived. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "load/stream.h"
#include "net/http_reply.h"
#include "net/loop.h"
#include "net/transport.h"

static int64_t arrived;

static void on_token(void *ctx, struct stream *s, int64_t at, int64_t tokens)
{
    (void)ctx;
    (void)s;
    (void)at;
    arrived += tokens;
}

static void on_end(void *ctx, struct stream *s)
{
    (void)ctx;
    (void)s;
}

static const struct stream_owner owner = {.on_token = on_token, .on_end = on_end};

/* A transport that is told what was read. */
struct fed_lane {
    struct lane lane;
    struct http_reply reply;
    struct read_stamp stamp;
};

static struct fed_lane only;

static void pass_head(void *ctx, const struct http_head *head)
{
    struct fed_lane *f = ctx;
    f->lane.events->on_head(f->lane.ctx, head, &f->stamp);
}

static void pass_body(void *ctx, const char *p, size_t n)
{
    struct fed_lane *f = ctx;
    f->lane.events->on_body(f->lane.ctx, p, n, &f->stamp);
}

static const struct http_reply_events reply_events = {pass_head, pass_body};

static struct lane *create_lane(struct transport *t)
{
    (void)t;
    return &only.lane;
}

static void ignore(struct lane *l)
{
    (void)l;
}

static void begin(struct lane *l, const struct http_request *request)
{
    (void)l;
    (void)request;
    http_reply_start(&only.reply, &reply_events, &only);
}

static const struct transport_ops fed = {
    .kind = "fed",
    .lane_create = create_lane,
    .lane_destroy = ignore,
    .open = ignore,
    .send = begin,
    .cancel = ignore,
};

/* The counter runs in here alone, so this must stay a function. */
__attribute__((noinline)) static void feed(const char *p, size_t n)
{
    struct err err;
    only.stamp.at += 10 * NS_PER_MS;
    only.stamp.bytes = n;
    if (!http_reply_feed(&only.reply, p, n, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
}

static void feed_event(struct buf *out, int64_t i)
{
    char event[400];
    int n = snprintf(event, sizeof event,
                     "data: {\"id\":\"chatcmpl-0123456789abcdef\",\"object\":"
                     "\"chat.completion.chunk\",\"created\":1790000000,\"model\":\"bench\","
                     "\"choices\":[{\"index\":0,\"delta\":{\"content\":\" token\"},\"logprobs\":"
                     "null,\"finish_reason\":null}],\"usage\":{\"prompt_tokens\":31,"
                     "\"total_tokens\":%" PRId64 ",\"completion_tokens\":%" PRId64 "}}\n\n",
                     i + 31, i);
    buf_reset(out);
    buf_addf(out, "%x\r\n%s\r\n", (unsigned)n, event);
    feed(out->p, out->len);
}

int main(int argc, char **argv)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: "
                               "text/event-stream; charset=utf-8\r\ntransfer-encoding: "
                               "chunked\r\n\r\n";
    static const struct part body[] = {{"{}", 2}};
    int64_t events = 1000;
    struct loop *loop = loop_new(NULL);
    struct transport transport = {.ops = &fed, .loop = loop};
    struct stream stream;
    struct buf out;

    if (argc > 1 && !num_parse_i64(argv[1], &events))
        return 2;
    buf_init(&out, 4096);
    stream_init(&stream, &transport, loop, &owner, NULL, 0);
    stream_send(&stream, "/v1/chat/completions", body, 1);
    only.stamp.at = NS_PER_S;
    feed(head, sizeof head - 1);
    for (int64_t i = 1; i <= events; i++)
        feed_event(&out, i);
    printf("%" PRId64 " tokens\n", arrived);
    stream_release(&stream);
    buf_release(&out);
    loop_free(loop);
    return arrived == events ? 0 : 1;
}
