/* session.c - the small things every part of a run does. */
#include "load/session.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"

const char *token_source_name(enum token_source source)
{
    static const char *const names[] = {
        [TOKENS_USAGE_STREAM] = "usage_stream",
        [TOKENS_USAGE_FINAL] = "usage_final",
        [TOKENS_EVENTS] = "events",
    };
    return names[source];
}

bool session_stopping(const struct session *s)
{
    return atomic_load(&s->control->stop);
}

bool session_skipping(const struct session *s)
{
    return session_stopping(s) || atomic_load(&s->control->skip);
}

void session_show(struct session *s)
{
    if (s->options->progress)
        progress_put(s->options->progress, &s->progress);
}

enum { KEY_PART = 8 };

/* The longest piece of the key that begins at p; 0 when it is too short to tell anything. */
static size_t key_piece(const char *key, const char *p)
{
    size_t best = 0, whole = strlen(key), least = whole < KEY_PART ? whole : KEY_PART;
    for (const char *k = key; *k; k++) {
        size_t n = 0;
        while (k[n] && k[n] == p[n])
            n++;
        best = n > best ? n : best;
    }
    return best >= least ? best : 0;
}

void session_hide_key(const struct session *s, char *text)
{
    const char *key = s->options->api_key;
    char *to = text;
    if (!key || !text)
        return;
    for (const char *p = text; *p;) {
        size_t n = key_piece(key, p);
        if (n == 0) {
            *to++ = *p++;
            continue;
        }
        for (size_t i = 0; i < 3 && i < n; i++)
            *to++ = '*';
        p += n;
    }
    *to = '\0';
}

bool session_key_error(const struct session *s, int status, struct err *err)
{
    return err_set(err, ERR_HTTP, "%s %s (HTTP %d)", s->result->server.url,
                   s->options->api_key
                       ? "refuses this API key"
                       : "wants an API key; give it by TOKGRID_API_KEY or --api-key",
                   status);
}

void session_request_id(struct session *s, char *out, size_t size)
{
    snprintf(out, size, "tokgrid-%08" PRIx32 "-%" PRIu64, (uint32_t)s->prompts.nonce,
             s->next_request++);
}

struct spread spread_of_summary(const struct summary *m)
{
    return (struct spread){(int64_t)m->n, m->p50, m->p90, m->p99, m->max};
}

void session_event(struct session *s, const char *level, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    session_hide_key(s, text);
    result_add_event(s->result, level, "%s", text);
    progress_add_event(&s->progress, text);
    session_show(s);
    if (s->listener->on_event)
        s->listener->on_event(s->listener->ctx, level, text);
}

void session_phase(struct session *s, enum run_phase phase, int64_t length_ns)
{
    s->progress.phase = phase;
    s->progress.phase_started_at = clock_now();
    s->progress.phase_length_ns = length_ns;
    session_show(s);
}

void session_sample(struct session *s, const struct stream *stream, const char *phase,
                    int64_t context_tokens, int concurrency, int repeat)
{
    struct sample sample;
    if (!s->samples)
        return;
    pthread_mutex_lock(&s->lock);
    stream_sample(stream, s->run_at, &sample);
    session_hide_key(s, sample.error);
    for (size_t i = 0; i < sample.stamp_count; i++) /* this request's last use of them */
        sample.stamps[i].at_ns -= s->run_at;
    sample.phase = phase;
    sample.context_tokens = context_tokens;
    sample.concurrency = concurrency;
    sample.repeat = repeat;
    samples_add(s->samples, &sample);
    pthread_mutex_unlock(&s->lock);
}

double session_tokens_per_event(struct session *s)
{
    pthread_mutex_lock(&s->lock);
    double tokens = (double)s->ratio_tokens, events = (double)s->ratio_events;
    pthread_mutex_unlock(&s->lock);
    if (events == 0 || s->token_source == TOKENS_EVENTS)
        return 1;
    return tokens / events;
}

int64_t record_hidden_tokens(const struct record *r)
{
    bool hidden = r->reasoning_tokens > 0 && r->reasoning_events == 0;
    return hidden && r->reasoning_tokens <= r->completion_tokens ? r->reasoning_tokens : 0;
}

/* Usage that was invented: more tokens than were asked for, fewer than there were pieces of text
 * (a few may be missing where the text was tokenized again), or more than any decoder puts into one
 * event. */
bool session_usage_is_plausible(const struct record *r)
{
    int64_t tokens = r->completion_tokens, events = r->token_events;
    if (r->asked_tokens > 0 && events <= r->asked_tokens && tokens > r->asked_tokens + 1)
        return false;
    tokens -= record_hidden_tokens(r);
    return tokens > 0 && tokens <= 16 * events && tokens + events / 16 + 3 >= events;
}

void session_learn_ratio(struct session *s, const struct record *r)
{
    int64_t tokens = r->completion_tokens - record_hidden_tokens(r);
    if (r->token_events <= 0 || !session_usage_is_plausible(r))
        return;
    /* an end-of-text token has no event: a difference of one is the end's, not the events' */
    if (llabs(tokens - r->token_events) <= 1)
        tokens = r->token_events;
    pthread_mutex_lock(&s->lock);
    s->ratio_tokens += tokens;
    s->ratio_events += r->token_events;
    pthread_mutex_unlock(&s->lock);
}

static void single_token(void *ctx, struct stream *stream, int64_t at, int64_t tokens)
{
    (void)ctx, (void)stream, (void)at, (void)tokens;
}

static void single_end(void *ctx, struct stream *stream)
{
    struct session *s = ctx;
    (void)stream;
    s->single_over = true;
}

static void single_open(void *ctx, struct stream *stream, const struct err *err)
{
    (void)ctx, (void)stream, (void)err; /* never opened ahead: stream_send connects */
}

static const struct stream_owner single_owner = {
    .on_token = single_token,
    .on_end = single_end,
    .on_open = single_open,
};

/* A server that ignores max_tokens would answer for ever; it is closed well after it should have
 * stopped, so that one that overshoots a little (whole blocks of tokens) is not. */
static bool too_long(const struct session *s, int64_t max_tokens)
{
    return s->single.record.token_events > 2 * max_tokens + 32;
}

bool session_ask(struct session *s, const char *context, const char *task, int64_t max_tokens,
                 const char *phase, int64_t context_tokens)
{
    return session_ask_until(s, context, task, max_tokens, phase, context_tokens, INT64_MAX);
}

bool session_ask_until(struct session *s, const char *context, const char *task, int64_t max_tokens,
                       const char *phase, int64_t context_tokens, int64_t give_up_at)
{
    struct buf opening, ending;

    if (!s->single.lane)
        stream_init(&s->single, s->transport, s->loop, &single_owner, s, 0);
    s->single.timeout_ns = s->options->request_timeout_ns;
    buf_init(&opening, 1 << 20);
    buf_init(&ending, 1 << 20);
    request_opening(s->model, &opening);
    request_ending(&s->shape, task, max_tokens, NULL, &ending);
    const struct part body[] = {
        {opening.p, opening.len}, {context, strlen(context)}, {ending.p, ending.len}};
    s->single_over = false;
    stream_send(&s->single, CHAT_PATH, body, ARRAY_LEN(body));
    s->single.record.asked_tokens = max_tokens;
    bool in_time = true;
    while (!s->single_over && !session_skipping(s) && !too_long(s, max_tokens) && in_time) {
        int64_t wake_at = clock_now() + 250 * NS_PER_MS;
        loop_turn(s->loop, wake_at < give_up_at ? wake_at : give_up_at);
        in_time = clock_now() < give_up_at;
    }
    bool over = s->single_over;
    if (!over)
        stream_cancel(&s->single);
    if (!over && !session_skipping(s) && in_time) {
        s->single.record.outcome = OUTCOME_NO_FINISH; /* an answer, ended by us */
        over = true;
    }
    s->last_activity_at = clock_now();
    session_sample(s, &s->single, phase, context_tokens, 1, 0);
    buf_release(&opening);
    buf_release(&ending);
    return over;
}

bool session_server_alive(struct session *s)
{
    int64_t give_up_at = clock_now() + 5 * NS_PER_S;
    struct fetch_reply reply = {0};
    struct err err;
    bool alive = false;

    buf_init(&reply.body, 8 << 20);
    while (!s->gone && !alive && !session_stopping(s) && clock_now() < give_up_at) {
        alive = fetch(s->fetcher, "/v1/models", NULL, 5 * NS_PER_S, &reply, &err) ||
                err.code == ERR_TIMEOUT;
        if (!alive)
            loop_turn(s->loop, clock_now() + 250 * NS_PER_MS);
    }
    buf_release(&reply.body);
    s->gone = !alive && !session_stopping(s);
    return alive;
}
