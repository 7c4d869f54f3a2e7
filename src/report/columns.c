/* columns.c - one row for each column; most are a place in a struct. */
#include "report/columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "report/plain.h"
#include "report/words.h"

static int compare_measurements(const void *a, const void *b)
{
    const struct measurement *x = a, *y = b;
    int64_t cx = x->cell ? x->cell->context_tokens : x->prefill->context_tokens;
    int64_t cy = y->cell ? y->cell->context_tokens : y->prefill->context_tokens;
    if (!x->cell != !y->cell)
        return x->cell ? 1 : -1;
    if (cx != cy)
        return cx < cy ? -1 : 1;
    if (!x->cell)
        return 0;
    return (x->cell->concurrency > y->cell->concurrency) -
           (x->cell->concurrency < y->cell->concurrency);
}

struct measurement *measurements_of(const struct result *r, size_t *ret_count)
{
    size_t n = 0;
    struct measurement *all = mem_array(r->prefill_count + r->decode_count, sizeof *all);
    for (size_t i = 0; i < r->prefill_count; i++)
        all[n++] = (struct measurement){.result = r, .prefill = &r->prefill[i]};
    for (size_t i = 0; i < r->decode_count; i++)
        all[n++] = (struct measurement){.result = r, .cell = &r->decode[i]};
    qsort(all, n, sizeof *all, compare_measurements);
    *ret_count = n;
    return all;
}

static enum cell_status status_of(const struct measurement *m)
{
    return m->cell ? m->cell->status : m->prefill->status;
}

static void show_phase(const struct measurement *m, enum column_style style, const struct lang *l,
                       struct buf *out)
{
    if (style == COLUMN_FULL)
        buf_adds(out, word(l, m->cell ? WORD_PHASE_DECODE : WORD_PHASE_PREFILL));
    else if (style == COLUMN_BRIEF)
        buf_adds(out, word(l, m->cell ? WORD_PHASE_DECODE_BRIEF : WORD_PHASE_PREFILL_BRIEF));
    else
        buf_adds(out, m->cell ? "decode" : "prefill");
}

static void show_context(const struct measurement *m, enum column_style style, const struct lang *l,
                         struct buf *out)
{
    int64_t tokens = m->cell ? m->cell->context_tokens : m->prefill->context_tokens;
    char text[NUM_TEXT_MAX];
    (void)l;
    if (style == COLUMN_DATA)
        buf_addf(out, "%lld", (long long)tokens);
    else
        buf_adds(out, num_size_text(text, tokens));
}

static void show_concurrency(const struct measurement *m, enum column_style style,
                             const struct lang *l, struct buf *out)
{
    (void)style;
    (void)l;
    buf_addf(out, "%d", m->cell ? m->cell->concurrency : 1);
}

static void show_status(const struct measurement *m, enum column_style style, const struct lang *l,
                        struct buf *out)
{
    enum cell_status s = status_of(m);
    buf_adds(out, style == COLUMN_FULL    ? words_status(l, s)
                  : style == COLUMN_BRIEF ? words_status_brief(l, s)
                                          : status_name(s));
}

static void show_marks(const struct measurement *m, enum column_style style, const struct lang *l,
                       struct buf *out)
{
    unsigned marks = m->cell ? m->cell->marks : m->prefill->marks;
    bool first = true;
    (void)style;
    (void)l;
    for (unsigned i = 0; i < MARK_COUNT; i++) {
        if (!(marks & 1u << i))
            continue;
        buf_addf(out, "%s%s", first ? "" : " ", mark_name(i));
        first = false;
    }
}

static void show_method(const struct measurement *m, enum column_style style, const struct lang *l,
                        struct buf *out)
{
    const struct interval *i = m->cell ? &m->cell->ci95 : &m->prefill->ci95;
    (void)style;
    (void)l;
    plain_add(out, i->method);
}

static void show_limited(const struct measurement *m, enum column_style style, const struct lang *l,
                         struct buf *out)
{
    (void)style;
    (void)l;
    if (m->cell)
        buf_adds(out, m->cell->client.limited ? "true" : "false");
}

static void show_hardware(const struct measurement *m, enum column_style style,
                          const struct lang *l, struct buf *out)
{
    struct buf title;
    (void)style;
    (void)l;
    buf_init(&title, 2 * (size_t)RESULT_MAX_BYTES);
    machine_title(&m->result->hardware, &title);
    plain_add(out, title.p);
    buf_release(&title);
}

/* the same in every row: whose measurement it is, for tables of several runs */
#define SAY_RESULT(name, member)                                                                   \
    static void show_##name(const struct measurement *m, enum column_style style,                  \
                            const struct lang *l, struct buf *out)                                 \
    {                                                                                              \
        (void)style;                                                                               \
        (void)l;                                                                                   \
        plain_add(out, m->result->member);                                                         \
    }
SAY_RESULT(run_id, id)
SAY_RESULT(kind, kind)
SAY_RESULT(model, subject.model)
SAY_RESULT(served_model, subject.served_model)
SAY_RESULT(quantization, subject.quantization)
SAY_RESULT(engine, engine.name)
SAY_RESULT(engine_version, engine.version)
SAY_RESULT(tool, tool.name)
SAY_RESULT(tool_version, tool.version)

#define BOTH(member)                                                                               \
    .cell = offsetof(struct cell, member), .prefill = offsetof(struct prefill_row, member)
#define CELL(member) .cell = offsetof(struct cell, member), .prefill = COLUMN_ABSENT
#define ROW(member)  .cell = COLUMN_ABSENT, .prefill = offsetof(struct prefill_row, member)

#define WORDS(key, name, brief, say, ...)                                                          \
    {                                                                                              \
        key, name, brief, NULL, COLUMN_WORDS, .words = say, __VA_ARGS__                            \
    }
/* a rate or a latency */
#define FIGURE(key, name, brief, unit, decimals, ...)                                              \
    {                                                                                              \
        key, name, brief, unit, COLUMN_NUMBER, decimals, .figure = true, __VA_ARGS__               \
    }
#define COUNT(key, name, brief, ...)                                                               \
    {                                                                                              \
        key, name, brief, NULL, COLUMN_COUNT, 0, __VA_ARGS__                                       \
    }
#define MORE(key, kind, ...)                                                                       \
    {                                                                                              \
        key, WORD_NO_WORD, WORD_NO_WORD, NULL, kind, 3, __VA_ARGS__                                \
    }
#define MORE_FIGURE(key, ...) FIGURE(key, WORD_NO_WORD, WORD_NO_WORD, NULL, 3, __VA_ARGS__)
#define MORE_WORDS(key, say)  WORDS(key, WORD_NO_WORD, WORD_NO_WORD, say, .figure = false)
/* keys are literals that are joined, which parentheses would not allow
   NOLINTBEGIN(bugprone-macro-parentheses) */
#define MORE_SPREAD(key, at, member)                                                               \
    MORE(key "_n", COLUMN_COUNT, at(member.n)), MORE_FIGURE(key "_p90", at(member.p90)),           \
        MORE_FIGURE(key "_p99", at(member.p99)), MORE_FIGURE(key "_max", at(member.max))
/* NOLINTEND(bugprone-macro-parentheses) */

const struct column columns[] = {
    WORDS("phase", WORD_COLUMN_PHASE, WORD_BRIEF_PHASE, show_phase, .figure = false),
    WORDS("context_tokens", WORD_COLUMN_CONTEXT, WORD_BRIEF_CONTEXT, show_context, .numeric = true),
    WORDS("concurrency", WORD_COLUMN_CONCURRENCY, WORD_BRIEF_CONCURRENCY, show_concurrency,
          .numeric = true),
    WORDS("status", WORD_COLUMN_STATUS, WORD_BRIEF_STATUS, show_status, .figure = false),
    FIGURE("total_tok_s", WORD_COLUMN_TOTAL, WORD_BRIEF_TOTAL, NULL, 1, BOTH(total_tok_s)),
    FIGURE("per_request_tok_s", WORD_COLUMN_EACH, WORD_BRIEF_EACH, NULL, 1,
           CELL(per_request_tok_s)),
    FIGURE("ttft_ms_p50", WORD_COLUMN_TTFT, WORD_BRIEF_TTFT, "ms", 0, BOTH(ttft_ms.p50)),
    FIGURE("itl_ms_p50", WORD_COLUMN_ITL, WORD_BRIEF_ITL, "ms", 1, CELL(itl_ms.p50)),
    FIGURE("avg_active", WORD_COLUMN_ACTIVE, WORD_BRIEF_ACTIVE, NULL, 1, CELL(avg_active)),
    COUNT("completed", WORD_COLUMN_COMPLETED, WORD_BRIEF_COMPLETED, BOTH(completed)),
    COUNT("output_tokens", WORD_COLUMN_OUTPUT, WORD_BRIEF_OUTPUT, CELL(output_tokens)),
    FIGURE("measured_s", WORD_COLUMN_MEASURED, WORD_BRIEF_MEASURED, "s", 1, CELL(measured_s)),

    MORE_WORDS("marks", show_marks),
    MORE("reason", COLUMN_STRING, BOTH(reason)),
    MORE_SPREAD("ttft_ms", BOTH, ttft_ms),
    MORE_SPREAD("itl_ms", CELL, itl_ms),
    MORE("gap_ms_n", COLUMN_COUNT, CELL(gap_ms.n)),
    MORE_FIGURE("gap_ms_p50", CELL(gap_ms.p50)),
    MORE_FIGURE("gap_ms_p90", CELL(gap_ms.p90)),
    MORE_FIGURE("gap_ms_p99", CELL(gap_ms.p99)),
    MORE_FIGURE("gap_ms_max", CELL(gap_ms.max)),
    MORE_FIGURE("ci95_low", BOTH(ci95.low)),
    MORE_FIGURE("ci95_high", BOTH(ci95.high)),
    MORE_FIGURE("ci95_n_effective", BOTH(ci95.n_effective)),
    MORE_WORDS("ci95_method", show_method),
    MORE("repeats", COLUMN_INT, CELL(repeats)),
    MORE("avg_active_source", COLUMN_STRING, CELL(avg_active_source)),
    MORE("token_source", COLUMN_STRING, CELL(token_source)),
    MORE("tokens_per_event", COLUMN_NUMBER, CELL(tokens_per_event)),
    MORE("prompt_tokens", COLUMN_NUMBER, BOTH(prompt_tokens)),
    MORE("cached_tokens", COLUMN_NUMBER, ROW(cached_tokens)),
    MORE("server_prompt_ms", COLUMN_NUMBER, ROW(server_prompt_ms)),
    MORE("prefill_how", COLUMN_STRING, ROW(how)),
    MORE("ready_s", COLUMN_NUMBER, CELL(ready_s)),
    MORE("drain_s", COLUMN_NUMBER, CELL(drain_s)),
    MORE("server_output_tokens", COLUMN_NUMBER, CELL(server_output_tokens)),
    MORE("server_running", COLUMN_NUMBER, CELL(server_running)),
    MORE("server_waiting", COLUMN_NUMBER, CELL(server_waiting)),
    MORE("waiting_share", COLUMN_NUMBER, CELL(waiting_share)),
    MORE("kv_used_max", COLUMN_NUMBER, CELL(kv_used_max)),
    MORE("preemptions", COLUMN_NUMBER, CELL(preemptions)),
    MORE("power_w", COLUMN_NUMBER, CELL(power_w)),
    MORE("energy_j", COLUMN_NUMBER, CELL(energy_j)),
    MORE("requests_complete", COLUMN_COUNT, CELL(outcomes.count[OUTCOME_COMPLETE])),
    MORE("requests_no_done", COLUMN_COUNT, CELL(outcomes.count[OUTCOME_NO_DONE])),
    MORE("requests_no_finish", COLUMN_COUNT, CELL(outcomes.count[OUTCOME_NO_FINISH])),
    MORE("requests_truncated", COLUMN_COUNT, CELL(outcomes.count[OUTCOME_TRUNCATED])),
    MORE("requests_failed", COLUMN_COUNT, CELL(outcomes.count[OUTCOME_FAILED])),
    MORE("requests_rejected", COLUMN_COUNT, CELL(outcomes.count[OUTCOME_REJECTED])),
    MORE("requests_timed_out", COLUMN_COUNT, CELL(outcomes.count[OUTCOME_TIMED_OUT])),
    MORE("requests_empty", COLUMN_COUNT, CELL(outcomes.count[OUTCOME_EMPTY])),
    MORE("requests_cancelled", COLUMN_COUNT, CELL(outcomes.count[OUTCOME_CANCELLED])),
    MORE("client_cpu_pct", COLUMN_NUMBER, CELL(client.cpu_pct)),
    MORE("client_lag_ms_p50", COLUMN_NUMBER, CELL(client.lag_ms.p50)),
    MORE("client_lag_ms_p99", COLUMN_NUMBER, CELL(client.lag_ms.p99)),
    MORE("client_send_lag_ms_p99", COLUMN_NUMBER, CELL(client.send_lag_ms.p99)),
    MORE("client_events_per_read", COLUMN_NUMBER, CELL(client.events_per_read)),
    MORE("client_unread_bytes", COLUMN_COUNT, CELL(client.unread_bytes)),
    MORE_WORDS("client_limited", show_limited),
    MORE("loop_period", COLUMN_COUNT, CELL(loop.period)),
    MORE("loop_cycles", COLUMN_COUNT, CELL(loop.cycles)),
    MORE("started_at", COLUMN_STAMP, BOTH(started_at)),
    MORE_WORDS("run_id", show_run_id),
    MORE_WORDS("kind", show_kind),
    MORE_WORDS("model", show_model),
    MORE_WORDS("served_model", show_served_model),
    MORE_WORDS("quantization", show_quantization),
    MORE_WORDS("hardware", show_hardware),
    MORE_WORDS("engine", show_engine),
    MORE_WORDS("engine_version", show_engine_version),
    MORE_WORDS("tool", show_tool),
    MORE_WORDS("tool_version", show_tool_version),
};
const size_t column_count = ARRAY_LEN(columns);

bool column_is_text(const struct column *c)
{
    return !c->numeric &&
           (c->kind == COLUMN_STRING || c->kind == COLUMN_STAMP || c->kind == COLUMN_WORDS);
}

const char *column_name(const struct column *c, const struct lang *l)
{
    return c->name ? word(l, c->name) : c->key;
}

const char *column_brief(const struct column *c, const struct lang *l)
{
    return c->brief ? word(l, c->brief) : c->key;
}

const struct column *column_find(const char *key)
{
    const struct column *c = columns;
    while (strcmp(c->key, key) != 0)
        c++;
    return c;
}

static void add_number(const struct column *c, double v, enum column_style style,
                       const struct lang *l, struct buf *out)
{
    char text[NUM_TEXT_MAX];
    if (style == COLUMN_DATA)
        buf_addf(out, "%.15g", v);
    else
        buf_adds(out, lang_number(l, text, v, c->decimals));
    if (style == COLUMN_FULL && c->unit)
        buf_addf(out, " %s", c->unit);
}

/* Where the column's value lies; NULL when it does not exist for this measurement. */
static const void *place_of(const struct column *c, const struct measurement *m)
{
    const char *base = m->cell ? (const char *)m->cell : (const char *)m->prefill;
    size_t offset = m->cell ? c->cell : c->prefill;
    bool hidden = c->figure && status_of(m) == STATUS_ERROR;
    return offset == COLUMN_ABSENT || hidden ? NULL : base + offset;
}

double column_value(const struct column *c, const struct measurement *m)
{
    const void *p = place_of(c, m);
    int64_t count;
    if (!p)
        return NAN;
    switch (c->kind) {
    case COLUMN_NUMBER: return *(const double *)p;
    case COLUMN_COUNT: count = *(const int64_t *)p; return count < 0 ? NAN : (double)count;
    case COLUMN_INT: return *(const int *)p;
    default: return NAN;
    }
}

bool column_add(const struct column *c, const struct measurement *m, enum column_style style,
                const struct lang *l, struct buf *out)
{
    size_t before = out->len;
    const void *p = place_of(c, m);
    double v = column_value(c, m);

    if (c->kind == COLUMN_WORDS)
        c->words(m, style, l, out);
    else if (p && c->kind == COLUMN_STRING)
        plain_add(out, *(const char *const *)p);
    else if (p && c->kind == COLUMN_STAMP)
        plain_add(out, p);
    else if (isfinite(v))
        add_number(c, v, style, l, out);
    return out->len > before;
}
