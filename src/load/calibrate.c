/* calibrate.c - a handful of tiny requests that find out what the server obeys and how it counts.
 *
 * Each answers one question: is the request accepted as we would like to send it; does usage grow
 * while the text comes (then it is a stream source of token counts); how many tokens are our words;
 * is ignore_eos obeyed; how fast is the first token when nothing else is going on. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/text.h"
#include "load/session.h"

enum { SHORT_WORDS = 8, LONG_WORDS = 640, FIRST_TOKENS = 64, IDLE_TRIES = 3 };

/* One request with `words` words in front of a task; NULL: one like those that are measured, since
 * a text that is easier to guess would bring more tokens per event where a server speculates. */
static bool ask_words(struct session *s, size_t words, const char *task, int64_t max_tokens)
{
    struct buf text, escaped, usual;
    buf_init(&text, 1 << 20);
    buf_init(&usual, 4096);
    prompt_add_task(&s->prompts, s->next_task++, &usual);
    buf_init(&escaped, 2 << 20);
    prompt_add_context(&s->prompts, prompt_next_nonce(&s->prompts), s->next_text++, words, &text);
    buf_adds(&text, "\n\n");
    request_escape(text.p, text.len, &escaped);
    bool asked = session_ask(s, escaped.p, task ? task : usual.p, max_tokens, "calibrate", 0);
    buf_release(&usual);
    buf_release(&text);
    buf_release(&escaped);
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

/* What to give up when a request is refused: what its message names, else the next in line. */
static bool drop_feature(struct session *s, const char *message)
{
    struct request_shape *shape = &s->shape;
    const struct {
        const char *named;
        bool *flag, to;
    } rows[] = {
        /* an object may be refused for what is in it: first that, then the object */
        {"stream_options", &shape->continuous_usage, false},
        {"continuous_usage_stats", &shape->continuous_usage, false},
        {"stream_options", &shape->stream_options, false},
        {"ignore_eos", &shape->ignore_eos, false},
        {"max_completion_tokens", &shape->max_completion_tokens, true},
    };
    for (int by_name = 1; by_name >= 0; by_name--)
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            if (*rows[i].flag == rows[i].to || (by_name && !strstr(message, rows[i].named)))
                continue;
            /* without a name something is given up only when a field is what it is about */
            if (!by_name && (rows[i].to || !about_a_field(message)))
                continue;
            *rows[i].flag = rows[i].to;
            const char *what =
                rows[i].flag == &shape->continuous_usage ? "continuous_usage_stats" : rows[i].named;
            session_event(s, "info", "the server refuses %s%s",
                          rows[i].to ? "max_tokens, taking " : "", what);
            return true;
        }
    return false;
}

static bool interrupted(struct err *err)
{
    return err_set(err, ERR_INTERRUPT, "interrupted");
}

/* The first real answer, with as many of our wishes as the server grants. */
static bool first_answer(struct session *s, struct err *err)
{
    const struct record *r = &s->single.record;
    int64_t give_up_at = clock_now() + s->options->load_timeout_ns;

    for (;;) {
        if (!ask_words(s, SHORT_WORDS, NULL, FIRST_TOKENS))
            return interrupted(err);
        if (!outcome_is_failure(r->outcome))
            return true;
        int status = r->error_status;
        if ((status == 400 || status == 422) && drop_feature(s, r->error.text))
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
    if (r->token_events > 1 && r->last_token_at > r->first_token_at)
        s->fastest_stream_tok_s = (double)(r->token_events - 1) * session_tokens_per_event(s) /
                                  ns_to_s(r->last_token_at - r->first_token_at);
    return why;
}

/* A constant, or another request's count: more than this one may have had. */
static bool counts_too_much(const struct session *s)
{
    const struct record *r = &s->single.record;
    return s->token_source != TOKENS_EVENTS && r->token_events > 0 &&
           r->token_events <= r->asked_tokens && r->completion_tokens > 2 * r->asked_tokens + 1;
}

/* Two lengths give the line from words to tokens. */
static bool fit_words(struct session *s, int64_t short_tokens, struct err *err)
{
    const struct record *r = &s->single.record;
    size_t words = LONG_WORDS;
    int64_t limit = s->facts.context_limit;

    s->fit = (struct prompt_fit){.overhead = 32, .per_word = 1.35};
    if (limit > 0 && limit < 4 * LONG_WORDS)
        words = (size_t)limit / 4;
    if (words < 2 * SHORT_WORDS)
        words = 2 * SHORT_WORDS;
    if (!ask_words(s, words, NULL, s->first_tokens))
        return interrupted(err);
    if (r->first_token_at)
        s->prefill_tok_s = (double)r->prompt_tokens / ns_to_s(r->first_token_at - r->send_at);
    s->counts_prompt = short_tokens > 0 && r->prompt_tokens > 0;
    if (!s->counts_prompt) {
        session_event(s, "warning",
                      "the server does not count prompts: context lengths are an "
                      "estimate of 1.35 tokens a word");
        return true;
    }
    if (!prompt_fit_from(SHORT_WORDS, short_tokens, words, r->prompt_tokens, &s->fit))
        session_event(s, "warning",
                      "the server counts %" PRId64 " and %" PRId64
                      " tokens for %d and %zu words: its prompt counts are not to be "
                      "trusted",
                      short_tokens, r->prompt_tokens, SHORT_WORDS, words);
    return true;
}

/* Some servers keep their first tokens to themselves (an opening tag of a reasoning parser): then
 * one token shows no text, and requests for "the first token" must ask for more. */
static bool find_first_tokens(struct session *s, const char **why, struct err *err)
{
    const struct record *r = &s->single.record;

    for (s->first_tokens = 1; s->first_tokens <= 256; s->first_tokens *= 4) {
        if (!ask_words(s, SHORT_WORDS, NULL, s->first_tokens))
            return interrupted(err);
        if (r->first_token_at || r->outcome != OUTCOME_EMPTY)
            break;
    }
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
    const struct record *r = &s->single.record;
    for (int i = 0; i < IDLE_TRIES; i++) {
        if (!ask_words(s, SHORT_WORDS, NULL, s->first_tokens))
            return interrupted(err);
        int64_t ttft = r->first_token_at ? r->first_token_at - r->send_at : 0;
        if (ttft > 0 && (s->idle_ttft_ns == 0 || ttft < s->idle_ttft_ns))
            s->idle_ttft_ns = ttft;
    }
    s->result->run.idle_ttft_ms = s->idle_ttft_ns ? ns_to_ms(s->idle_ttft_ns) : NAN;
    return true;
}

/* Something that ends by itself after a word or two, asked without and with ignore_eos. */
static bool probe_ignore_eos(struct session *s, struct err *err)
{
    static const char task[] = "Answer with the single word OK and nothing else.";
    enum { LONG_ENOUGH = 24 };
    const struct record *r = &s->single.record;
    const char *verdict;

    if (!s->shape.ignore_eos) {
        result_add_fact(s->result, "ignore_eos", "refused", "HTTP 400 to a short request");
        return true;
    }
    s->shape.ignore_eos = false;
    bool asked = ask_words(s, 0, task, LONG_ENOUGH);
    bool ends_itself = strcmp(r->finish, "length") != 0 && r->token_events < LONG_ENOUGH;
    s->shape.ignore_eos = true;
    if (!asked)
        return interrupted(err);
    if (!ends_itself) {
        /* it cannot be told here; the engine's own word decides */
        s->shape.ignore_eos = s->dialect->obeys_ignore_eos;
        result_add_fact(s->result, "ignore_eos",
                        s->shape.ignore_eos ? "obeyed (by the engine's documentation)" : NULL,
                        s->shape.ignore_eos ? "engine" : NULL);
        return true;
    }
    if (!ask_words(s, 0, task, LONG_ENOUGH))
        return interrupted(err);
    bool obeyed = strcmp(r->finish, "length") == 0 || r->token_events >= LONG_ENOUGH - 1;
    s->shape.ignore_eos = obeyed;
    verdict = obeyed ? "obeyed" : "ignored";
    result_add_fact(s->result, "ignore_eos", verdict, "two short requests, without and with it");
    return true;
}

bool session_calibrate(struct session *s, struct err *err)
{
    session_phase(s, PHASE_CALIBRATE, 0);
    s->shape = (struct request_shape){.stream_options = true,
                                      .continuous_usage = true,
                                      .ignore_eos = true,
                                      .temperature = s->options->temperature};
    if (!first_answer(s, err))
        return false;
    int64_t short_tokens = s->single.record.prompt_tokens;
    const char *why = choose_token_source(s);
    if (!find_first_tokens(s, &why, err))
        return false;
    result_add_fact(s->result, "token_source", token_source_name(s->token_source), why);
    result_add_fact(s->result, "stream_options",
                    s->shape.stream_options ? s->shape.continuous_usage
                                                  ? "include_usage, continuous_usage_stats accepted"
                                                  : "include_usage accepted"
                                            : "refused",
                    "a short request");
    return fit_words(s, short_tokens, err) && measure_idle_ttft(s, err) && probe_ignore_eos(s, err);
}
