/* remarks.c - what stands below the figures: legends, sources, reasons, notes. */
#include <math.h>
#include <string.h>

#include "report/headline.h"
#include "report/plain.h"
#include "report/words.h"

static void add_cell_name(const struct lang *l, const struct cell *c, struct buf *out)
{
    char context[NUM_TEXT_MAX], level[NUM_TEXT_MAX];
    say_cell_name(l, out, .context = num_size_text(context, c->context_tokens),
                  .level = lang_number(l, level, c->concurrency, 0));
}

static void add_row_name(const struct lang *l, const struct prefill_row *p, struct buf *out)
{
    char text[NUM_TEXT_MAX];
    say_cell_prefill(l, out, .context = num_size_text(text, p->context_tokens));
}

static void add_mark_line(const struct result *r, const struct lang *l, unsigned bit,
                          struct buf *out)
{
    struct buf where;
    buf_init(&where, RESULT_MAX_BYTES);
    for (size_t i = 0; i < r->prefill_count; i++) {
        if (!(r->prefill[i].marks & 1u << bit))
            continue;
        buf_adds(&where, where.len ? word(l, WORD_LIST_COMMA) : "");
        add_row_name(l, &r->prefill[i], &where);
    }
    for (size_t i = 0; i < r->decode_count; i++) {
        if (!(r->decode[i].marks & 1u << bit))
            continue;
        buf_adds(&where, where.len ? word(l, WORD_LIST_COMMA) : "");
        add_cell_name(l, &r->decode[i], &where);
    }
    if (where.len) {
        say_mark_line(l, out, .cells = where.p, .text = words_mark(l, bit), .name = mark_name(bit));
        buf_addc(out, '\n');
    }
    buf_release(&where);
}

void remarks_marks(const struct result *r, const struct lang *l, struct buf *out)
{
    for (unsigned i = 0; i < MARK_COUNT; i++)
        add_mark_line(r, l, i, out);
}

void remarks_legends(const struct result *r, const struct lang *l, struct buf *out)
{
    for (int s = 0; s < STATUS_COUNT; s++) {
        const char *legend = words_status_legend(l, (enum cell_status)s);
        if (!legend || !result_count_status(r, (enum cell_status)s))
            continue;
        say_line_labelled(l, out, .label = words_status(l, (enum cell_status)s), .text = legend);
        buf_addc(out, '\n');
    }
    remarks_marks(r, l, out);
}

static bool same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

static bool named_before(const struct result *r, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (same(r->decode[j].token_source, r->decode[i].token_source))
            return true;
    return false;
}

void remarks_tokens(const struct result *r, const struct lang *l, struct buf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < r->decode_count; i++) {
        if (!r->decode[i].token_source || named_before(r, i))
            continue;
        buf_adds(out, n++ ? word(l, WORD_LIST_SEMICOLON) : "");
        plain_add(out, words_token_source(l, r->decode[i].token_source));
    }
}

void remarks_client(const struct result *r, const struct lang *l, struct buf *out)
{
    double cpu = NAN, lag = NAN;
    size_t judged = 0, limited = 0;
    char text[NUM_TEXT_MAX];
    for (size_t i = 0; i < r->decode_count; i++) {
        const struct cell *c = &r->decode[i];
        judged += !isnan(c->client.cpu_pct) || !isnan(c->client.lag_ms.p99);
        limited += c->client.limited || c->marks & MARK_CLIENT_LIMITED;
        cpu = fmax(cpu, c->client.cpu_pct); /* fmax ignores NAN */
        lag = fmax(lag, c->client.lag_ms.p99);
    }
    if (judged == 0 && limited == 0)
        return;
    if (limited)
        say_client_limited(l, out, .n = (int64_t)limited,
                           .cells = lang_number(l, text, (double)r->decode_count, 0));
    else
        buf_adds(out, word(l, WORD_CLIENT_NEVER));
    if (!isnan(cpu)) {
        buf_adds(out, word(l, WORD_LIST_SEMICOLON));
        say_client_cpu(l, out, .percent = lang_number(l, text, cpu, 0));
    }
    if (!isnan(lag)) {
        buf_adds(out, word(l, WORD_LIST_SEMICOLON));
        say_client_lag(l, out, .ms = lang_number(l, text, lag, 2));
    }
}

void remarks_sources(const struct result *r, const struct lang *l, struct buf *out)
{
    if (r->decode_count)
        buf_addf(out, "%s\n", word(l, WORD_DECODE_WARM_TTFT));
}

static bool same_reason(const struct cell *a, const struct cell *b)
{
    return a->status == b->status && same(a->reason, b->reason);
}

static void add_reason(const struct lang *l, const char *where, enum cell_status s,
                       const char *reason, struct buf *out)
{
    struct buf why;
    buf_init(&why, 2 * (size_t)PLAIN_MAX);
    plain_add(&why, reason);
    say_line_reason(l, out, .cells = where, .status = words_status(l, s), .reason = why.p);
    buf_addc(out, '\n');
    buf_release(&why);
}

/* Cells with one reason share a line; the first of them writes it. */
static void add_cell_reason(const struct result *r, const struct lang *l, size_t i, struct buf *out)
{
    const struct cell *c = &r->decode[i];
    struct buf where;
    for (size_t j = 0; j < i; j++)
        if (same_reason(&r->decode[j], c))
            return;
    buf_init(&where, RESULT_MAX_BYTES);
    for (size_t j = i; j < r->decode_count; j++) {
        if (!same_reason(&r->decode[j], c))
            continue;
        buf_adds(&where, where.len ? word(l, WORD_LIST_COMMA) : "");
        add_cell_name(l, &r->decode[j], &where);
    }
    add_reason(l, where.p, c->status, c->reason, out);
    buf_release(&where);
}

void remarks_reasons(const struct result *r, const struct lang *l, struct buf *out)
{
    for (size_t i = 0; i < r->prefill_count; i++) {
        const struct prefill_row *p = &r->prefill[i];
        struct buf where;
        if (!p->reason)
            continue;
        buf_init(&where, 256);
        add_row_name(l, p, &where);
        add_reason(l, where.p, p->status, p->reason, out);
        buf_release(&where);
    }
    for (size_t i = 0; i < r->decode_count; i++)
        if (r->decode[i].reason)
            add_cell_reason(r, l, i, out);
}

/* "2 in 16K × 4, 1 in 64K × 8": the cells of one outcome and how often it was theirs. */
static void add_outcome_line(const struct result *r, const struct lang *l, enum outcome o,
                             struct buf *out)
{
    struct buf where, name;
    char text[NUM_TEXT_MAX];
    buf_init(&where, RESULT_MAX_BYTES);
    buf_init(&name, 256);
    for (size_t i = 0; i < r->decode_count; i++) {
        int64_t n = r->decode[i].outcomes.count[o];
        if (n == 0)
            continue;
        buf_reset(&name);
        add_cell_name(l, &r->decode[i], &name);
        buf_adds(&where, where.len ? word(l, WORD_LIST_COMMA) : "");
        say_outcome_cell(l, &where, .cell = name.p, .n = lang_number(l, text, (double)n, 0));
    }
    if (where.len) {
        say_outcome_line(l, out, .cells = where.p, .text = words_outcome(l, o),
                         .name = outcome_name(o));
        buf_addc(out, '\n');
    }
    buf_release(&name);
    buf_release(&where);
}

void remarks_outcomes(const struct result *r, const struct lang *l, struct buf *out)
{
    for (int o = 0; o < OUTCOME_COUNT; o++)
        if (words_outcome(l, (enum outcome)o))
            add_outcome_line(r, l, (enum outcome)o, out);
}

void remarks_notes(const struct result *r, const struct lang *l, struct buf *out)
{
    if (!r->run.complete && r->run.ended_by)
        buf_addf(out, "%s\n", word(l, WORD_LINE_NOT_COMPLETE));
    for (size_t i = 0; i < r->note_count; i++) {
        plain_add(out, r->notes[i]);
        buf_addc(out, '\n');
    }
}
