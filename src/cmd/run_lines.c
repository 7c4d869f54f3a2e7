/* run_lines.c - one line for each thing that happened. */
#include "cmd/run_lines.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"

/* Everything foreign goes through here on its way to the terminal. */
static const char *printable(char *out, size_t size, const char *s)
{
    text_printable(out, size, s ? s : "", strlen(s ? s : ""));
    return out;
}

void lines_probed(FILE *out, const struct result *r)
{
    char model[200], engine[100], version[100];
    char limit[NUM_TEXT_MAX], budget[NUM_TEXT_MAX];

    fprintf(out, "%s · %s %s · %s\n", printable(model, sizeof model, r->subject.served_model),
            printable(engine, sizeof engine, r->engine.name),
            printable(version, sizeof version, r->engine.version), r->server.url);
    fprintf(out, "context limit %s · KV cache %s",
            isnan(r->server.context_limit) ? "unknown"
                                           : num_grouped(limit, r->server.context_limit, 0),
            isnan(r->server.kv_budget) ? "unknown" : num_grouped(budget, r->server.kv_budget, 0));
    if (!isnan(r->server.max_running))
        fprintf(out, " · at most %.0f requests at once", r->server.max_running);
    fputc('\n', out);
}

static void print_sizes(FILE *out, const int64_t *v, size_t n)
{
    char text[NUM_TEXT_MAX];
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s%s", i ? ", " : "", num_size_text(text, v[i]));
}

void lines_plan(FILE *out, const struct result *r, const char *notes)
{
    const struct plan *p = &r->plan;
    char window[NUM_TEXT_MAX], total[NUM_TEXT_MAX];

    fprintf(out, "Plan%s%s: contexts ", p->preset ? " " : "", p->preset ? p->preset : "");
    print_sizes(out, p->contexts, p->context_count);
    fputs(" × concurrency ", out);
    for (size_t i = 0; i < p->level_count; i++)
        fprintf(out, "%s%d", i ? ", " : "", p->levels[i]);
    if (p->prefill_count && p->prefill_mode != PREFILL_NONE) {
        fputs("; prefill at ", out);
        print_sizes(out, p->prefill, p->prefill_count);
    }
    size_t cells = p->context_count * p->level_count;
    fprintf(out, "\n%zu cell%s of %s, about %s in all\n", cells, cells == 1 ? "" : "s",
            num_duration_text(window, p->duration_ns), num_duration_text(total, p->estimate_ns));
    for (const char *line = notes; *line;) {
        int n = (int)strcspn(line, "\n");
        fprintf(out, "  %.*s\n", n, line);
        line += n + (line[n] == '\n');
    }
    fputc('\n', out);
}

static void print_marks(FILE *out, unsigned marks)
{
    for (unsigned i = 0; i < MARK_COUNT; i++)
        if (marks & 1u << i)
            fprintf(out, "  [%s]", mark_name(i));
}

static void print_reason(FILE *out, const char *reason)
{
    char text[300];
    if (reason)
        fprintf(out, "  %s", printable(text, sizeof text, reason));
}

/* How requests ended, where not all of them as they should. */
static void print_outcomes(FILE *out, const struct outcomes *o)
{
    if (outcomes_odd(o) == 0)
        return;
    const char *before = "  requests: ";
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        if (o->count[i] == 0 || i == OUTCOME_CANCELLED)
            continue;
        fprintf(out, "%s%" PRId64 " %s", before, o->count[i], outcome_name((enum outcome)i));
        before = ", ";
    }
}

void lines_prefill(FILE *out, const struct prefill_row *row)
{
    char context[NUM_TEXT_MAX], rate[NUM_TEXT_MAX], ttft[NUM_TEXT_MAX];

    fprintf(out, "prefill  %5s        ", num_size_text(context, row->context_tokens));
    if (row->status == STATUS_VALID)
        fprintf(out, "%10s tok/s  TTFT %8s ms", num_grouped(rate, row->total_tok_s, 1),
                num_grouped(ttft, row->ttft_ms.p50, row->ttft_ms.p50 < 100 ? 1 : 0));
    else
        fputs(status_label(row->status), out);
    print_marks(out, row->marks);
    print_reason(out, row->reason);
    fputc('\n', out);
}

void lines_cell(FILE *out, const struct cell *cell, size_t done, size_t total)
{
    char context[NUM_TEXT_MAX], rate[NUM_TEXT_MAX], ttft[NUM_TEXT_MAX];

    fprintf(out, "[%2zu/%zu] %6s × %-4d ", done, total,
            num_size_text(context, cell->context_tokens), cell->concurrency);
    if (status_has_numbers(cell->status) && !isnan(cell->total_tok_s)) {
        fprintf(out, "%10s tok/s  TTFT %8s ms", num_grouped(rate, cell->total_tok_s, 1),
                num_grouped(ttft, cell->ttft_ms.p50, cell->ttft_ms.p50 < 100 ? 1 : 0));
        if (!isnan(cell->itl_ms.p50))
            fprintf(out, "  %6.2f ms/token", cell->itl_ms.p50);
        fprintf(out, "  active %.1f", cell->avg_active);
    }
    if (cell->status != STATUS_VALID)
        fprintf(out, "  %s", status_label(cell->status));
    print_marks(out, cell->marks);
    print_outcomes(out, &cell->outcomes);
    print_reason(out, cell->reason);
    fputc('\n', out);
}
