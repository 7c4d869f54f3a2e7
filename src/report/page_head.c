/* page_head.c - the figures a reader came for, above everything else. */
#include <math.h>

#include "report/page_parts.h"

/* The smallest context with a valid cell for one request; NULL: none. */
static const struct cell *single_request(const struct page *p)
{
    for (size_t i = 0; i < p->axes.context_count; i++) {
        const struct cell *c = result_cell(p->r, p->axes.contexts[i], 1);
        if (c && c->status == STATUS_VALID && c->per_request_tok_s > 0)
            return c;
    }
    return NULL;
}

static const struct cell *fastest_cell(const struct page *p)
{
    const struct cell *best = NULL;
    for (size_t i = 0; i < p->r->decode_count; i++) {
        const struct cell *c = &p->r->decode[i];
        if (c->status == STATUS_VALID && c->total_tok_s > (best ? best->total_tok_s : 0))
            best = c;
    }
    return best;
}

static const struct prefill_row *fastest_prefill(const struct page *p)
{
    const struct prefill_row *best = NULL;
    for (size_t i = 0; i < p->r->prefill_count; i++) {
        const struct prefill_row *row = &p->r->prefill[i];
        if (row->status == STATUS_VALID && row->total_tok_s > (best ? best->total_tok_s : 0))
            best = row;
    }
    return best;
}

/* Label, figure with unit, and where it was measured: what the scratch buffer holds. */
static void write_highlight(const struct page *p, enum word label, const char *figure,
                            const char *unit)
{
    html_raw(p->h, "<div><dt>");
    html_text(p->h, word(p->l, label));
    html_raw(p->h, "</dt><dd><b>");
    html_text(p->h, figure);
    html_raw(p->h, "</b> ");
    html_text(p->h, unit);
    html_raw(p->h, " <small>");
    html_text_scratch(p->h);
    html_raw(p->h, "</small></dd></div>\n");
}

static void name_cell(const struct page *p, const struct cell *c)
{
    char context[NUM_TEXT_MAX], level[NUM_TEXT_MAX];
    say_highlight_cell(p->l, html_scratch(p->h),
                       .context = num_size_text(context, c->context_tokens),
                       .level = lang_number(p->l, level, c->concurrency, 0));
}

void page_highlights(const struct page *p)
{
    const struct cell *single = single_request(p), *fastest = fastest_cell(p);
    const struct prefill_row *prefill = fastest_prefill(p);
    const char *rate = word(p->l, WORD_UNIT_TOK_S);
    char text[NUM_TEXT_MAX];
    if (!single && !fastest && !prefill)
        return;
    html_raw(p->h, "<dl class=\"highlights\">\n");
    if (single) {
        name_cell(p, single);
        write_highlight(p, WORD_HIGHLIGHT_SINGLE, lang_rate(p->l, text, single->per_request_tok_s),
                        rate);
    }
    if (fastest) {
        name_cell(p, fastest);
        write_highlight(p, WORD_HIGHLIGHT_TOTAL, lang_rate(p->l, text, fastest->total_tok_s), rate);
    }
    if (single && single->ttft_ms.p50 > 0) {
        name_cell(p, single);
        write_highlight(p, WORD_HIGHLIGHT_TTFT, lang_number(p->l, text, single->ttft_ms.p50, 0),
                        word(p->l, WORD_UNIT_MS));
    }
    if (prefill) {
        say_prefill_context(p->l, html_scratch(p->h),
                            .context = num_size_text(text, prefill->context_tokens));
        char figure[NUM_TEXT_MAX];
        write_highlight(p, WORD_HIGHLIGHT_PREFILL, lang_rate(p->l, figure, prefill->total_tok_s),
                        rate);
    }
    html_raw(p->h, "</dl>\n");
}
