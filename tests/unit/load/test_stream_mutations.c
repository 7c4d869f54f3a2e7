/* test_stream_mutations.c - recorded streams, broken at random and read in random pieces, as the
 * requests of a decode cell: whatever comes, the stream ends, its record is consistent, and the
 * cell that is made of it keeps the invariants of every result.
 *
 * Each run breaks others; TOKGRID_SEED=0x... repeats one. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rand.h"
#include "base/text.h"
#include "cell_rig.h"
#include "tape.h"

enum { MUTATIONS = 1000, CHANGES_MAX = 6, READ_MAX = 600, DURATION_MS = 400, ONE_IN = 4 };

/* What parsers trip over. */
static const char *const oddities[] = {
    "\n\n",
    "\r",
    "\r\n\r\n",
    "data:",
    "data: ",
    "event: error\n",
    ": ping\n",
    "[DONE]",
    "null",
    "\"",
    "\\",
    "\\ud83e",
    "\xff",
    "\xe2\x82",
    "{",
    "}",
    "[[[[[[[[",
    "]",
    ",",
    "-1",
    "1e999",
    "99999999999999999999",
    "0.5",
    "\"usage\":{\"completion_tokens\":900000000000}",
    "\"usage\":{\"completion_tokens\":0},",
    "\"error\":{\"message\":\"x\",\"code\":429},",
    "\"finish_reason\":\"stop\",",
    "\"finish_reason\":\"abort\",",
    "0\r\n\r\n",
    "fffffff\r\n",
    "data: [DONE]\n\n",
    "data: {\"error\":\"overloaded\"}\n\n",
    "\x1b[2J",
    "\"completion_tokens_details\":{\"reasoning_tokens\":7},",
};

static size_t below(struct rng *rng, size_t n)
{
    return n ? rng_below(rng, (uint32_t)n) : 0;
}

/* --- breaking --- */

static void replace(struct buf *b, size_t at, size_t n, const char *p, size_t with)
{
    struct buf rest;
    buf_init(&rest, 4 << 20);
    buf_add(&rest, b->p + at + n, b->len - at - n);
    b->len = at;
    buf_add(b, p, with);
    buf_add(b, rest.p, rest.len);
    buf_release(&rest);
}

static void repeat_range(struct buf *b, struct rng *rng, size_t at, size_t n)
{
    char *copy = mem_strndup(b->p + at, n);
    size_t to = below(rng, b->len + 1);
    for (size_t times = 1 + below(rng, 4); times > 0; times--)
        replace(b, to, 0, copy, n);
    free(copy);
}

static void change(struct buf *b, struct rng *rng, const struct buf *other)
{
    if (b->len == 0)
        return;
    size_t at = below(rng, b->len), n = below(rng, 200);
    const char *odd = oddities[below(rng, ARRAY_LEN(oddities))];
    n = n < b->len - at ? n : b->len - at;
    switch (below(rng, 8)) {
    case 0: b->p[at] ^= (char)(1 << below(rng, 8)); break;
    case 1: b->p[at] = (char)below(rng, 256); break;
    case 2: replace(b, at, n, "", 0); break;
    case 3: repeat_range(b, rng, at, n); break;
    case 4: replace(b, at, 0, odd, strlen(odd)); break;
    case 5: replace(b, at, 1 + below(rng, 3) <= b->len - at ? 1 : 0, odd, strlen(odd)); break;
    case 6: b->len = at; break;
    default: n = below(rng, other->len); replace(b, at, b->len - at, other->p + n, other->len - n);
    }
}

/* --- playing --- */

struct player {
    struct recording recordings[RECORDINGS_MAX];
    struct buf bodies[RECORDINGS_MAX]; /* without HTTP's chunks, which break too easily */
    size_t count;
    struct loop *loop;
    struct tape tape;
    int64_t now;
    int mutations;
    int statuses[STATUS_COUNT];
};

static void on_end(void *ctx, struct stream *s)
{
    cell_end_request(ctx, s->user);
}

static void on_text(void *ctx, struct stream *s, enum channel channel, struct slice text)
{
    struct buf plain;
    (void)ctx, (void)s;
    assert_true(channel != CHANNEL_NONE && text.n > 0);
    buf_init(&plain, 64 << 20);
    event_unescape(text, &plain);
    assert_true(text_utf8_valid(plain.p, plain.len));
    buf_release(&plain);
}

static const struct stream_owner owner = {
    .on_token = cell_on_token, .on_text = on_text, .on_read = cell_on_read, .on_end = on_end};

static void check_record(const struct stream *s)
{
    const struct record *r = &s->record;
    assert_true(r->outcome >= OUTCOME_COMPLETE && r->outcome < OUTCOME_COUNT);
    assert_int_equal(outcome_is_failure(r->outcome), r->error.code != ERR_NONE);
    assert_int_equal(s->stamp_count, r->token_events);
    assert_true(r->reasoning_events <= r->token_events && r->usage_growths <= r->token_events);
    assert_true((r->token_events > 0) == (r->first_token_at > 0));
    assert_true(r->first_token_at <= r->last_token_at && r->last_token_at <= r->close_at);
    assert_true(r->outcome != OUTCOME_REJECTED || r->token_events == 0);
    assert_true((r->outcome == OUTCOME_EMPTY) <= (r->token_events == 0));
    assert_true(text_utf8_valid(r->finish, strlen(r->finish)));
    int64_t last = 0;
    for (size_t i = 0; i < s->stamp_count; i++) {
        assert_true(s->stamps[i].at_ns >= last && s->stamps[i].tokens >= 0);
        last = s->stamps[i].at_ns;
    }
}

/* One request whose answer is a recording, every so often a broken one. */
static void play(struct player *p, struct stream *s, struct rng *rng)
{
    static const struct part body[] = {{"{}", 2}};
    bool framed = below(rng, 2);
    const struct buf *from =
        framed ? &p->recordings[below(rng, p->count)].bytes : &p->bodies[below(rng, p->count)];
    struct buf wire;

    buf_init(&wire, 4 << 20);
    buf_add(&wire, from->p, from->len);
    bool broken = below(rng, ONE_IN) == 0;
    for (size_t i = broken ? 1 + below(rng, CHANGES_MAX) : 0; i > 0; i--)
        change(&wire, rng, &p->bodies[below(rng, p->count)]);
    p->mutations += broken;
    p->tape.stamp.at = p->now;
    stream_send(s, "/v1/chat/completions", body, 1);
    s->record.planned_at = p->now; /* the tape's time, not the clock's */
    s->record.asked_tokens = 256;
    if (!framed) {
        static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        tape_read(&p->tape, head, sizeof head - 1, p->now);
    }
    for (size_t at = 0, n; at < wire.len; at += n) {
        n = 1 + below(rng, READ_MAX);
        n = n < wire.len - at ? n : wire.len - at;
        p->now += (int64_t)below(rng, 5 * NS_PER_MS);
        char *piece = mem_alloc(n);
        memcpy(piece, wire.p + at, n);
        tape_read(&p->tape, piece, n, p->now);
        free(piece);
    }
    p->tape.stamp.at = p->now;
    tape_close(&p->tape);
    assert_false(stream_active(s));
    check_record(s);
    assert_true(broken || !outcome_is_failure(s->record.outcome));
    buf_release(&wire);
}

static void check_cell(struct player *p, struct cell_rig *r)
{
    struct err err;
    struct buf json;
    struct result again;

    cell_judge(&r->run, &r->view);
    r->result.kind = mem_strdup("measured");
    r->result.tool.name = mem_strdup("tokgrid");
    int status = r->cell.status;
    p->statuses[status]++;
    result_add_cell_take(&r->result, &r->cell);
    memset(&r->cell, 0, sizeof r->cell);
    if (!result_check(&r->result, &err))
        fail_msg("a cell that is %s: %s", status_name((enum cell_status)status), err.text);
    buf_init(&json, RESULT_MAX_BYTES);
    assert_true(result_write_json(&r->result, &json));
    if (!result_read_json(json.p, json.len, "r", &again, &err))
        fail_msg("%s", err.text);
    result_release(&again);
    buf_release(&json);
}

static void run_cell(struct player *p, struct rng *rng)
{
    struct cell_rig r;
    cell_rig_init(&r, 1, DURATION_MS);
    r.options.max_errors = 1000; /* so that failures show whether they leave a trace */
    r.s.idle_ttft_ns = 100 * NS_PER_MS;
    r.s.token_source = (enum token_source)below(rng, TOKENS_EVENTS + 1);
    struct stream *s = &r.run.streams[0].stream;
    tape_init(&p->tape);
    stream_init(s, &p->tape.transport, p->loop, &owner, &r.run, 0);
    s->user = &r.run.streams[0];
    p->now = NS_PER_S;
    play(p, s, rng); /* before the window */
    cell_open_window(&r.run, p->now, r.result.plan.duration_ns);
    while (p->now < r.run.t1)
        play(p, s, rng);
    cell_close_window(&r.run);
    memset(r.run.tally.cpu_ns, 0, sizeof r.run.tally.cpu_ns);
    check_cell(p, &r);
    stream_release(s); /* and with it the stamps */
    cell_rig_release(&r);
}

/* --- the test --- */

static void add_body(void *ctx, const char *p, size_t n)
{
    buf_add(ctx, p, n);
}

static void ignore_head(void *ctx, const struct http_head *head)
{
    (void)ctx, (void)head;
}

static void test_mutations(void **state)
{
    static const struct http_reply_events events = {ignore_head, add_body};
    static struct player p;
    struct err err;
    const char *given = getenv("TOKGRID_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : rng_entropy();

    (void)state;
    printf("# TOKGRID_SEED=0x%016" PRIx64 "\n", seed);
    fflush(stdout); /* what hangs or crashes has been named before */
    p.count = recordings_load(p.recordings);
    assert_true(p.count >= 10);
    p.loop = loop_new(NULL);
    for (size_t i = 0; i < p.count; i++) {
        struct http_reply reply;
        buf_init(&p.bodies[i], 1 << 20);
        http_reply_start(&reply, &events, &p.bodies[i]);
        assert_true(
            http_reply_feed(&reply, p.recordings[i].bytes.p, p.recordings[i].bytes.len, &err));
    }
    struct rng rng = {seed};
    while (p.mutations < MUTATIONS)
        run_cell(&p, &rng);
    assert_true(p.statuses[STATUS_VALID] > 20); /* failures alone would prove little */
    for (size_t i = 0; i < p.count; i++)
        buf_release(&p.bodies[i]);
    recordings_release(p.recordings, p.count);
    loop_free(p.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
