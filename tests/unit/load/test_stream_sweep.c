/* test_stream_sweep.c - one recorded stream of each family of engines, cut at every byte and glued
 * in every grouping of one to seven bytes: the same record, text and token counts each time, and
 * each token stamped with the read in which its event became whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rand.h"
#include "tape.h"

enum { GROUP_MAX = 7, RANDOM_GROUPINGS = 60 };

/* What each recording says, whatever its framing. Every text is the same tale. */
#define TALE "The wolf said \\\"no\\\", 3 times\\n"
static const struct expected {
    const char *name;
    enum outcome outcome;
    int64_t prompt, completion, cached, events, growths;
    const char *finish;
    const char *text;
} expected[] = {
    {"koboldcpp-chat.http", OUTCOME_COMPLETE, -1, -1, -1, 12, 0, "length",
     TALE "\\u00e9\\u72d0\\ud83e\\udd8a."},
    {"llamacpp-chat.http", OUTCOME_COMPLETE, 31, 12, 11, 12, 0, "stop", TALE "é狐🦊."},
    {"lmstudio-chat.http", OUTCOME_COMPLETE, 31, 12, -1, 12, 0, "stop", TALE "é狐🦊."},
    {"ollama-chat.http", OUTCOME_COMPLETE, 31, 14, -1, 13, 0, "stop", "[Hmm]" TALE "é狐🦊."},
    {"sglang-chat.http", OUTCOME_COMPLETE, 31, 13, 4, 13, 12, "stop", "[So]" TALE "é狐🦊."},
    {"tabbyapi-chat.http", OUTCOME_COMPLETE, 31, 12, -1, 12, 0, "stop", TALE "é狐🦊."},
    {"tgi-chat.http", OUTCOME_COMPLETE, 31, 13, -1, 12, 0, "eos_token", TALE "é狐🦊."},
    {"trtllm-chat.http", OUTCOME_COMPLETE, 31, 12, 0, 4, 0, "length", TALE "é狐🦊."},
    {"vllm-chat.http", OUTCOME_COMPLETE, 31, 13, 16, 13, 13, "length", "[Hm]" TALE "é狐🦊."},
    {"vllm-completions.http", OUTCOME_COMPLETE, 9, 12, -1, 12, 0, "stop", TALE "é狐🦊."},
};

struct sweep {
    struct tape tape;
    struct loop *loop;
    struct stream stream;
    struct buf text;
    int ends;
};

static void on_token(void *ctx, struct stream *s, int64_t at, int64_t tokens)
{
    (void)ctx, (void)s, (void)at, (void)tokens;
}

static void on_text(void *ctx, struct stream *s, enum channel channel, struct slice text)
{
    struct sweep *w = ctx;
    bool thought = channel == CHANNEL_REASONING;
    (void)s;
    buf_addf(&w->text, thought ? "[%.*s]" : "%.*s", (int)text.n, text.p);
}

static void on_end(void *ctx, struct stream *s)
{
    struct sweep *w = ctx;
    (void)s;
    w->ends++;
}

static const struct stream_owner owner = {
    .on_token = on_token, .on_text = on_text, .on_end = on_end};

static void sweep_init(struct sweep *w)
{
    memset(w, 0, sizeof *w);
    tape_init(&w->tape);
    w->loop = loop_new(NULL);
    buf_init(&w->text, 1 << 20);
    stream_init(&w->stream, &w->tape.transport, w->loop, &owner, w, 0);
}

static void sweep_release(struct sweep *w)
{
    stream_release(&w->stream);
    loop_free(w->loop);
    buf_release(&w->text);
}

/* Reads end at `ends`, ascending, the last one at the recording's end. Each read is stamped with
 * the place where it ends. */
static void play(struct sweep *w, const struct buf *bytes, const size_t *ends, size_t reads)
{
    static const struct part body[] = {{"{}", 2}};
    size_t from = 0;
    buf_reset(&w->text);
    w->tape.stamp.at = 1;
    w->ends = 0;
    stream_send(&w->stream, "/v1/chat/completions", body, 1);
    for (size_t i = 0; i < reads; i++) {
        /* a copy of its own: reading beyond a read is a fault that the sanitizer sees */
        char *piece = mem_alloc(ends[i] - from);
        memcpy(piece, bytes->p + from, ends[i] - from);
        tape_read(&w->tape, piece, ends[i] - from, (int64_t)ends[i]);
        free(piece);
        from = ends[i];
    }
    tape_close(&w->tape);
    assert_int_equal(w->ends, 1);
}

static void check(const struct sweep *w, const struct expected *e)
{
    const struct record *r = &w->stream.record;
    if (r->outcome != e->outcome || strcmp(r->finish, e->finish) != 0 ||
        strcmp(w->text.p, e->text) != 0)
        fail_msg("%s: %s, '%s', '%s', %s", e->name, outcome_name(r->outcome), r->finish, w->text.p,
                 r->error.text);
    assert_int_equal(r->prompt_tokens, e->prompt);
    assert_int_equal(r->completion_tokens, e->completion);
    assert_int_equal(r->cached_tokens, e->cached);
    assert_int_equal(r->token_events, e->events);
    assert_int_equal(w->stream.stamp_count, e->events);
    assert_int_equal(r->usage_growths, e->growths);
    assert_false(r->usage_fell || r->cumulative);
}

/* Where each token's event is whole: the stamps when every byte is a read of its own. */
static size_t *places(const struct sweep *w)
{
    size_t *at = mem_array(w->stream.stamp_count + 1, sizeof *at);
    for (size_t i = 0; i < w->stream.stamp_count; i++)
        at[i] = (size_t)w->stream.stamps[i].at_ns;
    return at;
}

static void check_stamps(const struct sweep *w, const struct expected *e, const size_t *whole,
                         const size_t *ends)
{
    size_t read = 0;
    for (size_t i = 0; i < w->stream.stamp_count; i++) {
        while (ends[read] < whole[i])
            read++;
        if (w->stream.stamps[i].at_ns != (int64_t)ends[read])
            fail_msg("%s: token %zu is stamped %d, not %zu", e->name, i,
                     (int)w->stream.stamps[i].at_ns, ends[read]);
    }
}

/* Groups of `sizes[i % count]` bytes behind a first one of `first`. */
static size_t group(size_t *ends, size_t total, size_t first, const size_t *sizes, size_t count)
{
    size_t reads = 0;
    for (size_t at = first; at < total; at += sizes[reads % count])
        ends[reads++] = at;
    ends[reads++] = total;
    return reads;
}

static void sweep_cuts(struct sweep *w, const struct buf *bytes, const struct expected *e,
                       const size_t *whole)
{
    for (size_t cut = 1; cut < bytes->len; cut++) {
        const size_t ends[] = {cut, bytes->len};
        play(w, bytes, ends, 2);
        check(w, e);
        check_stamps(w, e, whole, ends);
    }
}

static void sweep_groups(struct sweep *w, const struct buf *bytes, const struct expected *e,
                         const size_t *whole, size_t *ends)
{
    for (size_t size = 1; size <= GROUP_MAX; size++)
        for (size_t first = 1; first <= size; first++) {
            size_t reads = group(ends, bytes->len, first, &size, 1);
            play(w, bytes, ends, reads);
            check(w, e);
            check_stamps(w, e, whole, ends);
        }
    struct rng rng = {7};
    for (int i = 0; i < RANDOM_GROUPINGS; i++) {
        size_t sizes[97];
        for (size_t k = 0; k < ARRAY_LEN(sizes); k++)
            sizes[k] = 1 + rng_below(&rng, GROUP_MAX);
        size_t reads = group(ends, bytes->len, sizes[96], sizes, ARRAY_LEN(sizes));
        play(w, bytes, ends, reads);
        check(w, e);
        check_stamps(w, e, whole, ends);
    }
}

static void test_every_recording(void **state)
{
    struct recording recordings[RECORDINGS_MAX];
    size_t count = recordings_load(recordings);
    struct sweep w;
    (void)state;
    sweep_init(&w);
    assert_int_equal(count, ARRAY_LEN(expected)); /* each has its row, and the other way round */
    for (size_t i = 0; i < count; i++) {
        const struct buf *bytes = &recordings[i].bytes;
        const struct expected *e = &expected[i];
        size_t *ends = mem_array(bytes->len + 1, sizeof *ends), one = 1;
        assert_string_equal(recordings[i].name, e->name);
        play(&w, bytes, ends, group(ends, bytes->len, 1, &one, 1));
        check(&w, e);
        size_t *whole = places(&w);
        play(&w, bytes, &bytes->len, 1);
        check(&w, e);
        check_stamps(&w, e, whole, &bytes->len);
        sweep_cuts(&w, bytes, e, whole);
        sweep_groups(&w, bytes, e, whole, ends);
        free(whole);
        free(ends);
    }
    sweep_release(&w);
    recordings_release(recordings, count);
}

/* Cut off after every byte: never complete before its end mark, never more tokens than came whole,
 * and an answer that is whole but for its framing says so. */
static void test_every_end(void **state)
{
    struct recording recordings[RECORDINGS_MAX];
    size_t count = recordings_load(recordings);
    struct sweep w;
    (void)state;
    sweep_init(&w);
    for (size_t i = 0; i < count; i++) {
        const struct buf *bytes = &recordings[i].bytes;
        size_t *ends = mem_array(bytes->len + 1, sizeof *ends), one = 1;
        play(&w, bytes, ends, group(ends, bytes->len, 1, &one, 1));
        size_t *whole = places(&w), tokens = w.stream.stamp_count;
        bool framed = strncmp(bytes->p, "HTTP/1.1", 8) == 0;
        for (size_t end = 1; end < bytes->len; end++) {
            size_t came = 0;
            play(&w, bytes, &end, 1);
            while (came < tokens && whole[came] <= end)
                came++;
            const struct record *r = &w.stream.record;
            /* the last event may lack no more than its line ends when the connection ends */
            bool flushed = (size_t)r->token_events == came + 1 && whole[came] <= end + 3;
            if ((size_t)r->token_events != came && !flushed)
                fail_msg("%s, %zu bytes: %d tokens, not %zu", recordings[i].name, end,
                         (int)r->token_events, came);
            if (framed && !outcome_is_failure(r->outcome))
                fail_msg("%s, %zu bytes: %s", recordings[i].name, end, outcome_name(r->outcome));
            assert_int_equal(outcome_is_failure(r->outcome), r->error.code != ERR_NONE);
        }
        free(whole);
        free(ends);
    }
    sweep_release(&w);
    recordings_release(recordings, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_recording),
        cmocka_unit_test(test_every_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
