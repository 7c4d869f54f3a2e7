/* selftest.c - streams as a cell has them, with other counters behind them. */
#include "load/selftest.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "load/stream.h"
#include "net/endpoint.h"
#include "net/transport.h"
#include "net/url.h"
#include "stats/hist.h"
#include "stats/summary.h"

enum { FIRST_MS = 50 };

static const int64_t warm_ns = NS_PER_S / 2, spread_most_ns = 2 * NS_PER_S,
                     give_up_ns = 30 * NS_PER_S;

struct tick_stream {
    struct stream stream;
    struct loop_timer start;
    int64_t last_at;                   /* the newest token's stamp; 0: none in this request */
    int64_t read_kernel_at, read_sent; /* the newest read: its stamp, its only event's send */
    int read_events;
};

struct selftest {
    const struct selftest_load *load;
    struct loop *loop;
    struct tick_stream *streams;
    struct buf body;
    int opened;
    bool closing;
    int64_t t0, t1; /* what is counted; 0: not begun */
    struct hist *gap_error, *lateness, *kernel_lateness, *server_late;
    double *ttft_error_ms;
    size_t ttft_count, ttft_cap;
    int64_t events, failed;
    struct err failure; /* the first one */
};

static bool counts(const struct selftest *t, int64_t at)
{
    return t->t0 && at >= t->t0 && at < t->t1;
}

static void send_request(void *ctx)
{
    struct tick_stream *ts = ctx;
    struct selftest *t = ts->stream.ctx;
    const struct part body[] = {{t->body.p, t->body.len}};

    ts->last_at = 0;
    ts->read_events = 0;
    stream_send(&ts->stream, "/v1/chat/completions", body, ARRAY_LEN(body));
}

/* A kernel stamp is that of a read's last segment, so it belongs to an event only where that is the
 * read's only one. */
static void settle_read(struct selftest *t, struct tick_stream *ts)
{
    if (ts->read_events == 1 && ts->read_kernel_at && counts(t, ts->last_at))
        hist_record(t->kernel_lateness, ts->read_kernel_at - ts->read_sent);
    ts->read_events = 0;
}

static void on_read(void *ctx, struct stream *s, const struct read_stamp *stamp)
{
    struct tick_stream *ts = s->user;
    settle_read(ctx, ts);
    ts->read_kernel_at = stamp->kernel_at;
}

static void on_token(void *ctx, struct stream *s, int64_t at, int64_t tokens)
{
    struct selftest *t = ctx;
    struct tick_stream *ts = s->user;
    const struct selftest_load *load = t->load;
    int64_t first = FIRST_MS * NS_PER_MS + (load->bundle - 1) * load->gap_ms * NS_PER_MS;

    (void)tokens;
    ts->read_events++;
    if (!counts(t, at)) {
        ts->last_at = at;
        return;
    }
    t->events++;
    if (ts->last_at == 0) {
        MEM_GROW(t->ttft_error_ms, t->ttft_count, t->ttft_cap);
        t->ttft_error_ms[t->ttft_count++] = ns_to_ms(at - s->record.send_at - first);
    } else if (at != ts->last_at && counts(t, ts->last_at)) {
        int64_t error = at - ts->last_at - load->bundle * load->gap_ms * NS_PER_MS;
        hist_record(t->gap_error, error < 0 ? -error : error);
    }
    ts->last_at = at;
}

/* " SENT DUE" */
static void on_text(void *ctx, struct stream *s, enum channel channel, struct slice text)
{
    struct selftest *t = ctx;
    struct tick_stream *ts = s->user;
    int64_t number[2] = {0, 0};
    int index = -1;

    (void)channel;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == ' ')
            index++;
        else if (index >= 0 && index < 2 && c >= '0' && c <= '9')
            number[index] = number[index] * 10 + (c - '0');
    }
    ts->read_sent = number[0];
    if (!counts(t, ts->last_at))
        return;
    hist_record(t->lateness, ts->last_at - number[0]);
    hist_record(t->server_late, number[0] - number[1]);
}

static void on_end(void *ctx, struct stream *s)
{
    struct selftest *t = ctx;
    struct tick_stream *ts = s->user;
    const struct record *r = &s->record;

    ts->read_events = 0; /* the last token may share its read's stamp with the end mark */
    if (r->outcome != OUTCOME_COMPLETE || r->token_events != t->load->tokens ||
        r->completion_tokens != t->load->tokens) {
        if (t->failed++ == 0)
            t->failure = r->error;
    }
    if (!t->closing && t->failed <= t->load->concurrency)
        send_request(ts);
}

static void on_open(void *ctx, struct stream *s, const struct err *err)
{
    struct selftest *t = ctx;
    (void)s;
    t->opened++;
    if (err && t->failed++ == 0)
        t->failure = *err;
}

static const struct stream_owner owner = {on_token, on_text, on_read, on_end, on_open};

static void turn_until(struct selftest *t, int64_t until)
{
    while (clock_now() < until && t->failed == 0)
        loop_turn(t->loop, until);
}

/* The second number of /proc/self/statm is the pages that are in memory. */
static double rss_mb(void)
{
    struct buf text;
    int64_t pages = -1;

    buf_init(&text, 4096);
    if (file_read("/proc/self/statm", &text, NULL)) {
        char *rest = text.p, *word = strsep(&rest, " ");
        word = word ? strsep(&rest, " ") : NULL;
        if (!word || !num_parse_i64(word, &pages))
            pages = -1;
    }
    buf_release(&text);
    return pages < 0 ? NAN : (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static double quantile_us(const struct hist *h, double q)
{
    return h->total ? (double)hist_quantile_ns(h, q) / 1e3 : NAN;
}

static void fill_row(struct selftest *t, int64_t cpu_ns, struct selftest_row *ret)
{
    double seconds = ns_to_s(t->t1 - t->t0);

    summary_sort(t->ttft_error_ms, t->ttft_count);
    *ret = (struct selftest_row){
        .load = *t->load,
        .requests = (int64_t)t->ttft_count,
        .events = t->events,
        .failed = t->failed,
        .ttft_error_ms_p50 = summary_quantile(t->ttft_error_ms, t->ttft_count, 0.5),
        .ttft_error_ms_p99 = summary_quantile(t->ttft_error_ms, t->ttft_count, 0.99),
        .itl_error_ms_p99 = quantile_us(t->gap_error, 0.99) / 1e3,
        .lateness_us_p50 = quantile_us(t->lateness, 0.5),
        .lateness_us_p99 = quantile_us(t->lateness, 0.99),
        .kernel_lateness_us_p99 = quantile_us(t->kernel_lateness, 0.99),
        .server_late_us_p99 = quantile_us(t->server_late, 0.99),
        .cpu_us_per_event = t->events ? (double)cpu_ns / 1e3 / (double)t->events : NAN,
        .events_per_s = (double)t->events / seconds,
        .rss_mb = rss_mb(),
    };
}

static int64_t request_ns(const struct selftest_load *load)
{
    return (FIRST_MS + (load->tokens - 1) * load->gap_ms) * NS_PER_MS;
}

/* When this stream begins, after the first: they are spread over the length of a request. */
static int64_t begins_after(const struct selftest_load *load, int stream)
{
    int64_t whole = request_ns(load);
    return (whole < spread_most_ns ? whole : spread_most_ns) * stream / load->concurrency;
}

static void start_streams(struct selftest *t, struct transport *transport)
{
    int count = t->load->concurrency;

    t->streams = mem_array((size_t)count, sizeof *t->streams);
    for (int i = 0; i < count; i++) {
        struct tick_stream *ts = &t->streams[i];
        stream_init(&ts->stream, transport, t->loop, &owner, t, i);
        ts->stream.user = ts;
        ts->stream.timeout_ns = give_up_ns;
        ts->start = (struct loop_timer){.fn = send_request, .ctx = ts};
        stream_open(&ts->stream);
        /* one connection after the other: a listening queue is only so long */
        for (int64_t until = clock_now() + give_up_ns;
             t->opened <= i - 64 && t->failed == 0 && clock_now() < until;)
            loop_turn(t->loop, until);
    }
    for (int64_t until = clock_now() + give_up_ns;
         t->opened < count && t->failed == 0 && clock_now() < until;)
        loop_turn(t->loop, until);
    int64_t now = clock_now();
    for (int i = 0; i < count; i++)
        loop_timer_set(t->loop, &t->streams[i].start, now + begins_after(t->load, i));
}

static void end_streams(struct selftest *t)
{
    t->closing = true;
    for (int i = 0; i < t->load->concurrency; i++) {
        struct tick_stream *ts = &t->streams[i];
        loop_timer_cancel(t->loop, &ts->start);
        if (stream_active(&ts->stream))
            stream_cancel(&ts->stream);
        stream_release(&ts->stream);
    }
    free(t->streams);
}

static void measure(struct selftest *t, struct transport *transport, struct selftest_row *ret)
{
    start_streams(t, transport);
    turn_until(t, clock_now() + begins_after(t->load, t->load->concurrency - 1) + warm_ns);
    t->t0 = clock_now();
    t->t1 = t->t0 + t->load->duration_ns;
    int64_t cpu_ns = clock_thread_cpu();
    turn_until(t, t->t1);
    cpu_ns = clock_thread_cpu() - cpu_ns;
    fill_row(t, cpu_ns, ret);
    end_streams(t);
}

static void begin(struct selftest *t, const struct selftest_load *load)
{
    *t = (struct selftest){.load = load};
    t->gap_error = mem_alloc(sizeof *t->gap_error);
    t->lateness = mem_alloc(sizeof *t->lateness);
    t->kernel_lateness = mem_alloc(sizeof *t->kernel_lateness);
    t->server_late = mem_alloc(sizeof *t->server_late);
    buf_init(&t->body, 4096);
    buf_addf(&t->body,
             "{\"model\":\"clockwork\",\"stream\":true,\"messages\":[{\"role\":\"user\","
             "\"content\":\"tick\"}],\"max_tokens\":%" PRId64 ",\"first_ms\":%d,\"gap_ms\":%" PRId64
             ",\"bundle\":%d,\"split\":%s}",
             load->tokens, FIRST_MS, load->gap_ms, load->bundle, load->split ? "true" : "false");
}

static void end(struct selftest *t)
{
    free(t->gap_error);
    free(t->lateness);
    free(t->kernel_lateness);
    free(t->server_late);
    free(t->ttft_error_ms);
    buf_release(&t->body);
    loop_free(t->loop);
}

bool selftest_measure(const char *url, const char *transport_kind, const struct selftest_load *load,
                      struct selftest_row *ret, struct err *err)
{
    const struct endpoint_options options = {.connect_timeout_ns = give_up_ns};
    struct endpoint endpoint = {0};
    struct transport *transport = NULL;
    struct selftest t;
    struct url parsed;

    begin(&t, load);
    bool ok = url_parse(url, &parsed, err) && endpoint_open(&endpoint, &parsed, &options, err) &&
              (t.loop = loop_new(err)) != NULL &&
              (transport = transport_new(transport_kind, t.loop, &endpoint, err)) != NULL;
    if (ok)
        measure(&t, transport, ret);
    if (ok && t.failed > 0) {
        *err = t.failure;
        err_prefix(err, "selftest");
        ok = false;
    }
    transport_free(transport);
    end(&t);
    endpoint_close(&endpoint);
    return ok;
}

bool selftest_held(const struct selftest_row *row)
{
    const struct selftest_load *load = &row->load;
    /* a stream pauses between its requests: 50 ms to the first token instead of one gap */
    double planned = (double)load->concurrency * (double)load->tokens / ns_to_s(request_ns(load));
    return row->failed == 0 && row->events_per_s >= 0.98 * planned &&
           row->server_late_us_p99 <= 100 * (double)load->gap_ms;
}
