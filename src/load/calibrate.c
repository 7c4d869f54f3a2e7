/* calibrate.c - a handful of tiny requests that find out how the server counts and how fast it is
 * when nothing else is going on.
 *
 * Each answers one question: is the request accepted as we would like to send it; does usage grow
 * while the text comes (then it is a stream source of token counts); how many tokens are our words;
 * is its tokenizer's count the same; do its metrics move with us; how fast is the first token. What
 * the server obeys beyond that is asked by features.c. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/text.h"
#include "load/session.h"

enum { SHORT_WORDS = 8, LONG_WORDS = 640, FIRST_TOKENS = 64, IDLE_TRIES = 2 };

/* A text that is easier to guess than what is measured would bring more tokens per event where a
 * server speculates: so the task is a usual one unless something else is to be found out. */
void session_short_text(struct session *s, size_t words, const char *task, struct buf *ret)
{
    buf_reset(ret);
    prompt_add_context(&s->prompts, prompt_next_nonce(&s->prompts), s->next_text++, words, ret);
    if (task)
        buf_addf(ret, "\n\n%s", task);
    else
        prompt_add_task(&s->prompts, s->next_task++, ret);
}

bool session_ask_text(struct session *s, const char *text, int64_t max_tokens)
{
    struct buf escaped;
    buf_init(&escaped, 4 << 20);
    request_escape(text, strlen(text), &escaped);
    bool asked = session_ask(s, escaped.p, "", max_tokens, "calibrate", 0);
    buf_release(&escaped);
    return asked;
}

static bool ask_words(struct session *s, size_t words, int64_t max_tokens)
{
    struct buf text;
    buf_init(&text, 1 << 20);
    session_short_text(s, words, NULL, &text);
    bool asked = session_ask_text(s, text.p, max_tokens);
    buf_release(&text);
    return asked;
}

static bool about_a_field(const char *message)
{
    static const char *const words[] = {"unknown",    "extra",         "unrecognized",
                                        "unexpected", "not permitted", "not supported",
                                        "unsupported"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (text_find_nocase(message, words[i]))
            return true;
    return false;
}

/* What to give up when a request is refused: what its message names, else the next in line, and
 * that only when a field is what it is about. */
static bool drop_feature(struct session *s, const struct record *r)
{
    struct request_shape *shape = &s->shape;
    const struct {
        const char *named;
        bool *flag, to;
        enum feature feature;
    } rows[] = {
        /* an object may be refused for what is in it: first that, then the object */
        {"stream_options", &shape->continuous_usage, false, FEATURE_CONTINUOUS_USAGE},
        {"continuous_usage_stats", &shape->continuous_usage, false, FEATURE_CONTINUOUS_USAGE},
        {"stream_options", &shape->stream_options, false, FEATURE_STREAM_OPTIONS},
        {"ignore_eos", &shape->ignore_eos, false, FEATURE_IGNORE_EOS},
        {"max_completion_tokens", &shape->max_completion_tokens, true, FEATURE_COUNT},
    };
    bool bad_request = r->error_status == 400 || r->error_status == 422;
    char source[SOURCE_MAX];

    snprintf(source, sizeof source, "HTTP %d to a short request", r->error_status);
    for (int by_name = 1; by_name >= 0; by_name--)
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            if (*rows[i].flag == rows[i].to || (by_name && !strstr(r->error.text, rows[i].named)))
                continue;
            if (!by_name && (rows[i].to || !bad_request || !about_a_field(r->error.text)))
                continue;
            *rows[i].flag = rows[i].to;
            if (rows[i].feature != FEATURE_COUNT)
                session_feature(s, rows[i].feature, "refused", source);
            const char *what =
                rows[i].flag == &shape->continuous_usage ? "continuous_usage_stats" : rows[i].named;
            session_event(s, "info", "the server refuses %s%s",
                          rows[i].to ? "max_tokens, taking " : "", what);
            return true;
        }
    return false;
}

bool session_interrupted(struct err *err)
{
    return err_set(err, ERR_INTERRUPT, "interrupted");
}

/* The first real answer, with as many of our wishes as the server grants. */
static bool first_answer(struct session *s, struct buf *text, struct err *err)
{
    const struct record *r = &s->single.record;
    int64_t give_up_at = clock_now() + s->options->load_timeout_ns;

    for (;;) {
        buf_reset(text);
        session_short_text(s, SHORT_WORDS, NULL, text);
        if (!session_ask_text(s, text->p, FIRST_TOKENS))
            return session_interrupted(err);
        if (!outcome_is_failure(r->outcome))
            return true;
        int status = r->error_status;
        /* proxies turn a refused field into a fault of their own */
        if (status >= 400 && status != 404 && drop_feature(s, r))
            continue;
        if (status == 503 && clock_now() < give_up_at) {
            loop_turn(s->loop, clock_now() + 500 * NS_PER_MS);
            continue;
        }
        *err = r->error;
        if (status == 401 || status == 403)
            return session_key_error(s, status, err);
        if (status == 404)
            return err_prefix(err,
                              "%s refuses " CHAT_PATH " for model '%s'; is the path or the "
                              "model's name wrong?",
                              s->result->server.url, s->model);
        return err_prefix(err, "%s cannot answer a first request", s->result->server.url);
    }
}

/* A short answer on an idle server comes event by event, or something holds it back. */
static void note_delivery(struct session *s)
{
    const struct record *r = &s->single.record;
    char said[80];

    if (r->token_events < 16)
        return;
    bool bundled = r->reads * 8 <= r->token_events;
    snprintf(said, sizeof said, "%s: %" PRId64 " events in %" PRId64 " reads",
             bundled ? "in bundles" : "live", r->token_events, r->reads);
    result_add_fact(s->result, "delivery", said, "a short request");
    if (bundled)
        session_event(s, "warning",
                      "answers come in bundles (%" PRId64 " events in %" PRId64
                      " reads): a proxy holds them back, or the server does; only totals will be "
                      "valid",
                      r->token_events, r->reads);
}

static void warn_of_usage(struct session *s)
{
    session_event(s, "warning",
                  "the server counted %" PRId64 " tokens in %" PRId64
                  " pieces of text: its usage is not believed, events are counted "
                  "instead, and such figures compare with nothing",
                  s->single.record.completion_tokens, s->single.record.token_events);
}

/* Returns what speaks for the choice. */
static const char *choose_token_source(struct session *s)
{
    const struct record *r = &s->single.record;
    const char *why;

    s->hides_tokens = record_hidden_tokens(r) > 0;
    if (r->completion_tokens >= 0 && !session_usage_is_plausible(r)) {
        s->token_source = TOKENS_EVENTS;
        why = "usage of a short request is not to be believed";
        warn_of_usage(s);
    } else if (r->completion_tokens < 0) {
        s->token_source = TOKENS_EVENTS;
        why = "no usage in streams: events are counted";
        session_event(s, "warning",
                      "the server sends no usage: text events are counted instead of "
                      "tokens, and such figures compare with nothing");
    } else if (r->usage_growths >= 2 && !r->usage_fell && !s->hides_tokens) {
        s->token_source = TOKENS_USAGE_STREAM;
        why = "usage grew with the text of a short request";
    } else {
        s->token_source = TOKENS_USAGE_FINAL;
        why = "usage came at the end of a short request";
    }
    if (s->hides_tokens)
        session_event(s, "warning",
                      "the server thought %" PRId64 " of %" PRId64
                      " tokens and did not show them: rates are those of the text alone",
                      r->reasoning_tokens, r->completion_tokens);
    session_learn_ratio(s, r);
    note_delivery(s);
    if (r->token_events > 1 && r->last_token_at > r->first_token_at) {
        s->idle_itl_ns = (r->last_token_at - r->first_token_at) / (r->token_events - 1);
        s->fastest_stream_tok_s = session_tokens_per_event(s) / ns_to_s(s->idle_itl_ns);
    }
    return why;
}

/* A constant, or another request's count: more than this one may have had. */
static bool counts_too_much(const struct session *s)
{
    const struct record *r = &s->single.record;
    return s->token_source != TOKENS_EVENTS && r->token_events > 0 &&
           r->token_events <= r->asked_tokens && r->completion_tokens > 2 * r->asked_tokens + 1;
}

/* What usage says: obeyed is more than accepted. */
static void judge_usage(struct session *s)
{
    const struct record *r = &s->single.record;
    static const char source[] = "usage of a short request";
    bool said = r->completion_tokens >= 0;

    if (s->shape.stream_options)
        session_feature(s, FEATURE_STREAM_OPTIONS, said ? "obeyed" : "ignored", source);
    bool grew = said && r->usage_growths >= 2;
    if (s->shape.continuous_usage) /* a word or two are too short to tell */
        session_feature(s, FEATURE_CONTINUOUS_USAGE,
                        grew                   ? "obeyed"
                        : r->token_events >= 4 ? "ignored"
                                               : NULL,
                        source);
    s->ignores_max_tokens = r->token_events > FIRST_TOKENS + FIRST_TOKENS / 8;
    if (s->ignores_max_tokens)
        session_event(s, "warning",
                      "the server wrote %" PRId64 " pieces of text where %d tokens were asked for: "
                      "it ignores the limit",
                      r->token_events, FIRST_TOKENS);
}

/* The server's count of this text; -1: it cannot be asked. */
static int64_t counted(struct session *s, const char *text)
{
    int64_t n;
    bool ok = s->dialect->count_tokens && s->dialect->count_tokens(s->fetcher, s->model, text, &n);
    return ok ? n : -1;
}

/* Two texts were counted and sent. The counts may lack the chat template, the same in both: more
 * than that, and the tokenizer is another one than the model's. */
static void judge_tokenize(struct session *s, const int64_t count[2], const int64_t usage[2])
{
    char source[SOURCE_MAX];
    int64_t lacks[2] = {usage[0] - count[0], usage[1] - count[1]};
    double tolerance = fmax(0.01 * (double)usage[1], 4);

    if (count[0] < 0 || count[1] < 0) {
        session_feature(s, FEATURE_TOKENIZE, "absent",
                        s->dialect->count_path ? s->dialect->count_path : "not offered");
        return;
    }
    if (usage[0] <= 0 || usage[1] <= 0) {
        session_feature(s, FEATURE_TOKENIZE, NULL, NULL);
        s->counts_before = true; /* the only count there is */
        return;
    }
    bool same = fabs((double)(lacks[1] - lacks[0])) <= tolerance;
    snprintf(source, sizeof source,
             "%s: %" PRId64 " and %" PRId64 ", usage: %" PRId64 " and %" PRId64,
             s->dialect->count_path, count[0], count[1], usage[0], usage[1]);
    session_feature(s, FEATURE_TOKENIZE, same ? "obeyed" : "ignored", source);
    s->counts_before = same;
    s->count_offset = same ? (lacks[0] + lacks[1]) / 2 : 0;
    if (!same)
        session_event(s, "warning",
                      "the server's tokenizer and its usage disagree (%s): it is not used", source);
}

/* Counters that stand still while we are served belong to somebody else: another replica, one
 * process of several. They would call a busy server idle. */
static void judge_metrics(struct session *s)
{
    int64_t give_up_at = clock_now() + 3 * NS_PER_S; /* some are written every second or so */
    const struct reading *first = &s->metrics_at_first;
    struct reading now;
    bool moves = false;

    if (!s->has_metrics) {
        bool could = s->dialect->metrics.running[0];
        session_feature(s, FEATURE_METRICS, "absent",
                        could ? s->facts.metrics_path : "not offered");
        return;
    }
    if (isnan(first->generated) && isnan(first->prompt)) {
        session_feature(s, FEATURE_METRICS, NULL, NULL);
        return;
    }
    for (;;) {
        bool read = monitor_read_metrics(s->fetcher, &s->metrics, &now);
        moves = read && (now.generated > first->generated || now.prompt > first->prompt);
        if (moves || session_stopping(s) || clock_now() >= give_up_at)
            break;
        loop_turn(s->loop, clock_now() + 100 * NS_PER_MS);
    }
    session_feature(s, FEATURE_METRICS, moves ? "obeyed" : "ignored", s->facts.metrics_path);
    if (moves)
        return;
    s->has_metrics = false;
    session_event(
        s, "warning",
        "the counters in %s did not move with our requests: they are another server's, or "
        "one process's of several, and are not used",
        s->facts.metrics_path);
}

static void learn_fit(struct session *s, size_t words, int64_t short_tokens)
{
    const struct record *r = &s->single.record;

    s->counts_prompt = short_tokens > 0 && r->prompt_tokens > 0;
    if (!s->counts_prompt)
        session_event(s, "warning",
                      "the server does not count prompts: context lengths are an "
                      "estimate of 1.35 tokens a word");
    else if (!prompt_fit_from(SHORT_WORDS, short_tokens, words, r->prompt_tokens, &s->fit)) {
        s->counts_prompt = false;
        session_event(s, "warning",
                      "the server counts %" PRId64 " and %" PRId64
                      " tokens for %d and %zu words: its prompt counts are not to be "
                      "trusted",
                      short_tokens, r->prompt_tokens, SHORT_WORDS, words);
    }
}

/* A text that was sent a moment ago, again: is it answered from a cache? */
static bool judge_cache(struct session *s, const char *text, struct err *err)
{
    const struct record *r = &s->single.record;
    int64_t cold = r->first_token_at - r->send_at, prompt = r->prompt_tokens;
    bool cold_failed = outcome_is_failure(r->outcome);
    char source[SOURCE_MAX];

    if (!session_ask_text(s, text, s->first_tokens))
        return session_interrupted(err);
    if (cold_failed || outcome_is_failure(r->outcome) || !r->first_token_at)
        return true;
    int64_t warm = r->first_token_at - r->send_at;
    bool said = r->cached_tokens >= 0;
    if (said)
        snprintf(source, sizeof source,
                 "a prompt sent twice: %" PRId64 " of %" PRId64 " tokens came from the cache",
                 r->cached_tokens, prompt);
    else
        snprintf(source, sizeof source, "a prompt sent twice: %.1f ms, then %.1f ms to first token",
                 ns_to_ms(cold), ns_to_ms(warm));
    bool hit = said && 2 * r->cached_tokens > prompt;
    bool faster = 2 * warm < cold && cold - warm > 20 * NS_PER_MS;
    if (hit || (!said && faster))
        result_add_fact(s->result, "prefix_cache", "on", source);
    else if (said && r->cached_tokens == 0)
        result_add_fact(s->result, "prefix_cache", "not seen", source);
    else
        result_add_fact(s->result, "prefix_cache", NULL, NULL);
    s->prefix_cache_seen |= hit || (!said && faster);
    return true;
}

/* Two lengths give the line from words to tokens. */
static bool fit_words(struct session *s, const struct buf *short_text, int64_t short_tokens,
                      struct err *err)
{
    const struct record *r = &s->single.record;
    size_t words = LONG_WORDS;
    int64_t limit = s->facts.context_limit.value;
    int64_t count[2] = {counted(s, short_text->p), -1}, usage[2] = {short_tokens, -1};
    struct buf text;

    s->fit = (struct prompt_fit){.overhead = 32, .per_word = 1.35};
    if (limit > 0 && limit < 4 * LONG_WORDS)
        words = (size_t)limit / 4;
    if (words < 2 * SHORT_WORDS)
        words = 2 * SHORT_WORDS;
    buf_init(&text, 1 << 20);
    session_short_text(s, words, NULL, &text);
    bool ok = session_ask_text(s, text.p, s->first_tokens) || session_interrupted(err);
    if (ok) {
        if (r->first_token_at)
            s->prefill_tok_s = (double)r->prompt_tokens / ns_to_s(r->first_token_at - r->send_at);
        usage[1] = r->prompt_tokens;
        if (count[0] >= 0)
            count[1] = counted(s, text.p);
        learn_fit(s, words, short_tokens);
        judge_tokenize(s, count, usage);
        ok = judge_cache(s, text.p, err);
    }
    buf_release(&text);
    return ok;
}

static void note_idle_ttft(struct session *s)
{
    const struct record *r = &s->single.record;
    int64_t ttft = r->first_token_at ? r->first_token_at - r->send_at : 0;
    if (ttft > 0 && (s->idle_ttft_ns == 0 || ttft < s->idle_ttft_ns))
        s->idle_ttft_ns = ttft;
}

/* Some servers keep their first tokens to themselves (an opening tag of a reasoning parser): then
 * one token shows no text, and requests for "the first token" must ask for more. */
static bool find_first_tokens(struct session *s, const char **why, struct err *err)
{
    const struct record *r = &s->single.record;

    for (s->first_tokens = 1; s->first_tokens <= 256; s->first_tokens *= 4) {
        if (!ask_words(s, SHORT_WORDS, s->first_tokens))
            return session_interrupted(err);
        if (r->first_token_at || r->outcome != OUTCOME_EMPTY)
            break;
    }
    note_idle_ttft(s);
    if (counts_too_much(s)) {
        s->token_source = TOKENS_EVENTS;
        *why = "usage of a request for one token is not to be believed";
        warn_of_usage(s);
    }
    if (s->first_tokens > 1)
        session_event(s, "info",
                      "the first text comes after some hidden tokens; first-token "
                      "requests ask for %" PRId64,
                      s->first_tokens);
    return true;
}

static bool measure_idle_ttft(struct session *s, struct err *err)
{
    for (int i = 0; i < IDLE_TRIES; i++) {
        if (!ask_words(s, SHORT_WORDS, s->first_tokens))
            return session_interrupted(err);
        note_idle_ttft(s);
    }
    s->result->run.idle_ttft_ms = s->idle_ttft_ns ? ns_to_ms(s->idle_ttft_ns) : NAN;
    return true;
}

bool session_calibrate(struct session *s, struct err *err)
{
    struct buf text;

    session_phase(s, PHASE_CALIBRATE, 0);
    s->shape = (struct request_shape){.stream_options = true,
                                      .continuous_usage = true,
                                      .ignore_eos = true,
                                      .temperature = s->options->temperature};
    buf_init(&text, 1 << 20);
    bool ok = first_answer(s, &text, err);
    if (ok) {
        int64_t short_tokens = s->single.record.prompt_tokens;
        const char *why = choose_token_source(s);
        judge_usage(s);
        session_learn_loaded(s);
        ok = find_first_tokens(s, &why, err);
        result_add_fact(s->result, "token_source", token_source_name(s->token_source), why);
        ok = ok && fit_words(s, &text, short_tokens, err) && measure_idle_ttft(s, err);
    }
    buf_release(&text);
    if (!ok)
        return false;
    judge_metrics(s);
    return session_probe_features(s, err);
}
