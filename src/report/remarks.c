/* remarks.c - what stands below the figures: legends, sources, reasons, notes. */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "report/headline.h"
#include "report/plain.h"
#include "report/words.h"

static void add_cell_name(struct buf *out, const struct cell *c)
{
    char text[NUM_TEXT_MAX];
    buf_addf(out, "%s × %d", num_size_text(text, c->context_tokens), c->concurrency);
}

static void add_row_name(struct buf *out, const struct prefill_row *p)
{
    char text[NUM_TEXT_MAX];
    buf_addf(out, "prefill %s", num_size_text(text, p->context_tokens));
}

static void add_mark_line(const struct result *r, unsigned bit, struct buf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < r->prefill_count; i++) {
        if (!(r->prefill[i].marks & 1u << bit))
            continue;
        buf_addf(out, "%s", n++ ? ", " : "* ");
        add_row_name(out, &r->prefill[i]);
    }
    for (size_t i = 0; i < r->decode_count; i++) {
        if (!(r->decode[i].marks & 1u << bit))
            continue;
        buf_addf(out, "%s", n++ ? ", " : "* ");
        add_cell_name(out, &r->decode[i]);
    }
    if (n)
        buf_addf(out, ": %s (%s).\n", mark_words(bit), mark_name(bit));
}

void remarks_legends(const struct result *r, struct buf *out)
{
    for (int s = 0; s < STATUS_COUNT; s++) {
        const char *legend = words_status_legend((enum cell_status)s);
        if (legend && result_count_status(r, (enum cell_status)s))
            buf_addf(out, "%s: %s\n", status_label((enum cell_status)s), legend);
    }
    for (unsigned i = 0; i < MARK_COUNT; i++)
        add_mark_line(r, i, out);
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

static void add_token_sources(const struct result *r, struct buf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < r->decode_count; i++) {
        if (!r->decode[i].token_source || named_before(r, i))
            continue;
        buf_addf(out, "%s", n++ ? "; " : "Tokens: ");
        plain_add(out, words_token_source(r->decode[i].token_source));
    }
    if (n)
        buf_adds(out, ".\n");
}

static void add_client(const struct result *r, struct buf *out)
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
        buf_addf(out, "Client: close to its own limit in %zu of %zu cells", limited,
                 r->decode_count);
    else
        buf_adds(out, "Client: never the limit");
    if (!isnan(cpu))
        buf_addf(out, "; busiest thread at most %s %% of a CPU", num_grouped(text, cpu, 0));
    if (!isnan(lag))
        buf_addf(out, "; read lag p99 at most %s ms", num_grouped(text, lag, 2));
    buf_adds(out, ".\n");
}

void remarks_sources(const struct result *r, struct buf *out)
{
    if (r->decode_count)
        buf_addf(out, "%s\n", words_warm_ttft);
    add_token_sources(r, out);
    add_client(r, out);
}

static bool same_reason(const struct cell *a, const struct cell *b)
{
    return a->status == b->status && same(a->reason, b->reason);
}

/* Cells with one reason share a line; the first of them writes it. */
static void add_cell_reason(const struct result *r, size_t i, struct buf *out)
{
    const struct cell *c = &r->decode[i];
    size_t n = 0;
    for (size_t j = 0; j < i; j++)
        if (same_reason(&r->decode[j], c))
            return;
    for (size_t j = i; j < r->decode_count; j++) {
        if (!same_reason(&r->decode[j], c))
            continue;
        buf_adds(out, n++ ? ", " : "");
        add_cell_name(out, &r->decode[j]);
    }
    buf_addf(out, ": %s: ", status_label(c->status));
    plain_add(out, c->reason);
    buf_addc(out, '\n');
}

void remarks_reasons(const struct result *r, struct buf *out)
{
    for (size_t i = 0; i < r->prefill_count; i++) {
        const struct prefill_row *p = &r->prefill[i];
        if (!p->reason)
            continue;
        add_row_name(out, p);
        buf_addf(out, ": %s: ", status_label(p->status));
        plain_add(out, p->reason);
        buf_addc(out, '\n');
    }
    for (size_t i = 0; i < r->decode_count; i++)
        if (r->decode[i].reason)
            add_cell_reason(r, i, out);
}

void remarks_notes(const struct result *r, struct buf *out)
{
    if (!r->run.complete && r->run.ended_by)
        buf_adds(out, "This run is not complete.\n");
    for (size_t i = 0; i < r->note_count; i++) {
        plain_add(out, r->notes[i]);
        buf_addc(out, '\n');
    }
}
