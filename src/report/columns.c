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

static void say_phase(const struct measurement *m, enum column_style style, struct buf *out)
{
    if (style == COLUMN_FULL)
        buf_adds(out, m->cell ? words_decode : words_prefill);
    else
        buf_adds(out, m->cell ? "decode" : "prefill");
}

static void say_context(const struct measurement *m, enum column_style style, struct buf *out)
{
    int64_t tokens = m->cell ? m->cell->context_tokens : m->prefill->context_tokens;
    char text[NUM_TEXT_MAX];
    if (style == COLUMN_DATA)
        buf_addf(out, "%lld", (long long)tokens);
    else
        buf_adds(out, num_size_text(text, tokens));
}

static void say_concurrency(const struct measurement *m, enum column_style style, struct buf *out)
{
    (void)style;
    buf_addf(out, "%d", m->cell ? m->cell->concurrency : 1);
}

static void say_status(const struct measurement *m, enum column_style style, struct buf *out)
{
    enum cell_status s = status_of(m);
    buf_adds(out, style == COLUMN_FULL    ? status_label(s)
                  : style == COLUMN_BRIEF ? words_status_brief(s)
                                          : status_name(s));
}

static void say_marks(const struct measurement *m, enum column_style style, struct buf *out)
{
    unsigned marks = m->cell ? m->cell->marks : m->prefill->marks;
    bool first = true;
    (void)style;
    for (unsigned i = 0; i < MARK_COUNT; i++) {
        if (!(marks & 1u << i))
            continue;
        buf_addf(out, "%s%s", first ? "" : " ", mark_name(i));
        first = false;
    }
}

static void say_method(const struct measurement *m, enum column_style style, struct buf *out)
{
    const struct interval *i = m->cell ? &m->cell->ci95 : &m->prefill->ci95;
    (void)style;
    plain_add(out, i->method);
}

static void say_limited(const struct measurement *m, enum column_style style, struct buf *out)
{
    (void)style;
    if (m->cell)
        buf_adds(out, m->cell->client.limited ? "true" : "false");
}

static void say_hardware(const struct measurement *m, enum column_style style, struct buf *out)
{
    struct buf title;
    (void)style;
    buf_init(&title, 2 * (size_t)RESULT_MAX_BYTES);
    machine_title(&m->result->hardware, &title);
    plain_add(out, title.p);
    buf_release(&title);
}

/* the same in every row: whose measurement it is, for tables of several runs */
#define SAY_RESULT(name, member)                                                                   \
    static void say_##name(const struct measurement *m, enum column_style style, struct buf *out)  \
    {                                                                                              \
        (void)style;                                                                               \
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
        key, key, key, NULL, kind, 3, __VA_ARGS__                                                  \
    }
#define MORE_FIGURE(key, ...) FIGURE(key, key, key, NULL, 3, __VA_ARGS__)
#define MORE_WORDS(key, say)  WORDS(key, key, key, say, .figure = false)
#define MORE_SPREAD(key, at, member)                                                               \
    MORE(key "_n", COLUMN_COUNT, at(member.n)), MORE_FIGURE(key "_p90", at(member.p90)),           \
        MORE_FIGURE(key "_p99", at(member.p99)), MORE_FIGURE(key "_max", at(member.max))

const struct column columns[] = {
    WORDS("phase", "Phase", "Phase", say_phase, .figure = false),
    WORDS("context_tokens", "Context", "Ctx", say_context, .numeric = true),
    WORDS("concurrency", "Requests at once", "C", say_concurrency, .numeric = true),
    WORDS("status", "Status", "Status", say_status, .figure = false),
    FIGURE("total_tok_s", "Total tok/s", "Total", NULL, 1, BOTH(total_tok_s)),
    FIGURE("per_request_tok_s", "Per request tok/s", "Each", NULL, 1, CELL(per_request_tok_s)),
    FIGURE("ttft_ms_p50", "TTFT", "TTFT", "ms", 0, BOTH(ttft_ms.p50)),
    FIGURE("itl_ms_p50", "Time between tokens", "ITL", "ms", 1, CELL(itl_ms.p50)),
    FIGURE("avg_active", "Average active requests", "Active", NULL, 1, CELL(avg_active)),
    COUNT("completed", "Completed requests", "Done", BOTH(completed)),
    COUNT("output_tokens", "Output tokens", "Tokens", CELL(output_tokens)),
    FIGURE("measured_s", "Measured for", "For", "s", 1, CELL(measured_s)),

    MORE_WORDS("marks", say_marks),
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
    MORE_WORDS("ci95_method", say_method),
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
    MORE("requests_complete", COLUMN_COUNT, CELL(outcomes.complete)),
    MORE("requests_truncated", COLUMN_COUNT, CELL(outcomes.truncated)),
    MORE("requests_failed", COLUMN_COUNT, CELL(outcomes.failed)),
    MORE("requests_cancelled", COLUMN_COUNT, CELL(outcomes.cancelled)),
    MORE("requests_rejected", COLUMN_COUNT, CELL(outcomes.rejected)),
    MORE("requests_timed_out", COLUMN_COUNT, CELL(outcomes.timed_out)),
    MORE("requests_empty", COLUMN_COUNT, CELL(outcomes.empty)),
    MORE("client_cpu_pct", COLUMN_NUMBER, CELL(client.cpu_pct)),
    MORE("client_lag_ms_p50", COLUMN_NUMBER, CELL(client.lag_ms.p50)),
    MORE("client_lag_ms_p99", COLUMN_NUMBER, CELL(client.lag_ms.p99)),
    MORE("client_send_lag_ms_p99", COLUMN_NUMBER, CELL(client.send_lag_ms.p99)),
    MORE("client_events_per_read", COLUMN_NUMBER, CELL(client.events_per_read)),
    MORE("client_unread_bytes", COLUMN_COUNT, CELL(client.unread_bytes)),
    MORE_WORDS("client_limited", say_limited),
    MORE("loop_period", COLUMN_COUNT, CELL(loop.period)),
    MORE("loop_cycles", COLUMN_COUNT, CELL(loop.cycles)),
    MORE("started_at", COLUMN_STAMP, BOTH(started_at)),
    MORE_WORDS("run_id", say_run_id),
    MORE_WORDS("kind", say_kind),
    MORE_WORDS("model", say_model),
    MORE_WORDS("served_model", say_served_model),
    MORE_WORDS("quantization", say_quantization),
    MORE_WORDS("hardware", say_hardware),
    MORE_WORDS("engine", say_engine),
    MORE_WORDS("engine_version", say_engine_version),
    MORE_WORDS("tool", say_tool),
    MORE_WORDS("tool_version", say_tool_version),
};
const size_t column_count = ARRAY_LEN(columns);

bool column_is_text(const struct column *c)
{
    return !c->numeric &&
           (c->kind == COLUMN_STRING || c->kind == COLUMN_STAMP || c->kind == COLUMN_WORDS);
}

static void add_number(const struct column *c, double v, enum column_style style, struct buf *out)
{
    char text[NUM_TEXT_MAX];
    if (style == COLUMN_DATA)
        buf_addf(out, "%.15g", v);
    else
        buf_adds(out, num_grouped(text, v, c->decimals));
    if (style == COLUMN_FULL && c->unit)
        buf_addf(out, " %s", c->unit);
}

bool column_add(const struct column *c, const struct measurement *m, enum column_style style,
                struct buf *out)
{
    const char *base = m->cell ? (const char *)m->cell : (const char *)m->prefill;
    size_t offset = m->cell ? c->cell : c->prefill;
    size_t before = out->len;
    double v = NAN;

    if ((c->kind != COLUMN_WORDS && offset == COLUMN_ABSENT) ||
        (c->figure && status_of(m) == STATUS_ERROR))
        return false;
    switch (c->kind) {
    case COLUMN_NUMBER: v = *(const double *)(const void *)(base + offset); break;
    case COLUMN_COUNT:
        v = (double)*(const int64_t *)(const void *)(base + offset);
        v = v < 0 ? NAN : v;
        break;
    case COLUMN_INT: v = *(const int *)(const void *)(base + offset); break;
    case COLUMN_STRING: plain_add(out, *(const char *const *)(const void *)(base + offset)); break;
    case COLUMN_STAMP: plain_add(out, base + offset); break;
    case COLUMN_WORDS: c->words(m, style, out); break;
    }
    if (isfinite(v))
        add_number(c, v, style, out);
    return out->len > before;
}

void rate_add(struct buf *out, double tok_s)
{
    char text[NUM_TEXT_MAX];
    buf_adds(out, num_grouped(text, tok_s, tok_s >= 999.95 ? 0 : 1));
}
