/* page_board.c - the leaderboard: one class of metric at a time, never two in one column. */
#include <math.h>
#include <string.h>

#include "report/words.h"
#include "site/board_words.h"
#include "site/site_pages.h"

static const enum site_word names[STORE_METRICS] = {
    [STORE_SINGLE] = SITE_METRIC_SINGLE,       [STORE_TOTAL] = SITE_METRIC_TOTAL,
    [STORE_PREFILL] = SITE_METRIC_PREFILL,     [STORE_TTFT] = SITE_METRIC_TTFT,
    [STORE_PER_JOULE] = SITE_METRIC_PER_JOULE,
};
static const enum site_word meanings[STORE_METRICS] = {
    [STORE_SINGLE] = SITE_METRIC_SINGLE_MEANS,       [STORE_TOTAL] = SITE_METRIC_TOTAL_MEANS,
    [STORE_PREFILL] = SITE_METRIC_PREFILL_MEANS,     [STORE_TTFT] = SITE_METRIC_TTFT_MEANS,
    [STORE_PER_JOULE] = SITE_METRIC_PER_JOULE_MEANS,
};
static const enum site_word units[STORE_METRICS] = {
    [STORE_SINGLE] = SITE_UNIT_TOK_S,    [STORE_TOTAL] = SITE_UNIT_TOK_S,
    [STORE_PREFILL] = SITE_UNIT_TOK_S,   [STORE_TTFT] = SITE_UNIT_MS,
    [STORE_PER_JOULE] = SITE_UNIT_TOK_J,
};

enum site_word metric_word(enum store_metric m)
{
    return names[m];
}

enum site_word metric_unit(enum store_metric m)
{
    return units[m];
}

void put_metric(struct frame *f, enum store_metric m, double value)
{
    if (m == STORE_TTFT)
        put_number(f, value, value < 100 ? 1 : 0);
    else if (m == STORE_PER_JOULE)
        put_number(f, value, 2);
    else
        put_rate(f, value);
}

/* Each class is an address of its own; what narrows one at a point is not kept for another. */
static void write_metrics(struct frame *f, enum store_metric shown)
{
    put(f, "<ul class=\"tabs\">");
    for (int m = 0; m < STORE_METRICS; m++) {
        put(f, "<li>");
        if (m == (int)shown)
            put(f, "<a aria-current=\"page\" href=\"");
        else
            put(f, "<a href=\"");
        put_href(f, "/leaderboard", NULL);
        put(f, "?metric=");
        html_text(&f->html, store_metric_name((enum store_metric)m));
        put(f, "\">");
        put_word(f, names[m]);
        put(f, "</a></li>");
    }
    put(f, "</ul>\n");
}

static void write_export(struct frame *f)
{
    static const char *const formats[] = {"csv", "json"};
    put(f, "<p class=\"export\">");
    put_word(f, SITE_BOARD_EXPORT);
    for (size_t k = 0; k < ARRAY_LEN(formats); k++) {
        struct buf *b = html_scratch(&f->html);
        buf_addf(b, "/api/v1/leaderboard?format=%s&limit=200", formats[k]);
        for (size_t i = 0; i < f->query->count; i++) {
            const struct param *p = &f->query->v[i];
            if (!*p->value || strcmp(p->name, "after") == 0 || strcmp(p->name, "rank") == 0 ||
                strcmp(p->name, "limit") == 0 || strcmp(p->name, "format") == 0)
                continue;
            buf_addc(b, '&');
            url_add_encoded(b, p->name);
            buf_addc(b, '=');
            url_add_encoded(b, p->value);
        }
        put(f, " <a");
        html_attr_scratch(&f->html, "href");
        put(f, ">");
        html_text(&f->html, k == 0 ? "CSV" : "JSON");
        put(f, "</a>");
    }
    put(f, "</p>\n");
}

static void write_order(struct frame *f, bool sortable, const char *order, enum site_word label)
{
    if (sortable)
        put_query_link(f, "/leaderboard", "order", order);
    put_word(f, label);
    if (sortable)
        put(f, "</a>");
}

static void write_head(struct frame *f, const struct store_board *board, bool sortable)
{
    static const enum site_word columns[] = {SITE_COLUMN_MODEL, SITE_COLUMN_HARDWARE,
                                             SITE_COLUMN_ENGINE, SITE_COLUMN_QUANTIZATION};
    if (!board->newest && store_metric_less_is_better(board->metric))
        put(f, "<thead><tr><th scope=\"col\">#</th><th scope=\"col\" aria-sort=\"ascending\">");
    else if (!board->newest)
        put(f, "<thead><tr><th scope=\"col\">#</th><th scope=\"col\" aria-sort=\"descending\">");
    else
        put(f, "<thead><tr><th scope=\"col\">#</th><th scope=\"col\">");
    write_order(f, sortable, NULL, names[board->metric]);
    put(f, ", ");
    put_word(f, units[board->metric]);
    put(f, "</th>");
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        put(f, "<th scope=\"col\" class=\"text\">");
        put_word(f, columns[i]);
        put(f, "</th>");
    }
    put(f, "<th scope=\"col\">");
    html_text(&f->html, word(f->rl, WORD_COLUMN_CONTEXT));
    put(f, "</th>");
    if (store_metric_has_concurrency(board->metric)) {
        put(f, "<th scope=\"col\">");
        put_word(f, SITE_COLUMN_CONCURRENCY);
        put(f, "</th>");
    }
    put(f, "<th scope=\"col\" class=\"text\">");
    put_word(f, SITE_COLUMN_BY);
    put(f, "</th><th scope=\"col\">");
    write_order(f, sortable, "newest", SITE_COLUMN_DATE);
    put(f, "</th></tr></thead>\n<tbody>");
}

static void write_row(struct frame *f, const struct store_board *board,
                      const struct store_board_row *row, int64_t rank)
{
    const struct store_run *run = &row->run;
    put(f, "<tr><td>");
    if (rank > 0)
        put_count(f, rank);
    put(f, "</td><td class=\"best\">");
    put_link(f, "/runs", run->uid);
    put_metric(f, board->metric, row->value);
    put(f, "</a>");
    put_flag_mark(f, run);
    put(f, "</td><td class=\"text\">");
    put_link(f, "/models", run->model);
    put_text(f, run->model);
    put(f, "</a></td><td class=\"text\">");
    put_link(f, "/hardware", run->hardware);
    put_text(f, run->hardware_title);
    put(f, "</a></td><td class=\"text\">");
    put_text(f, run->engine);
    if (run->engine_version) {
        put(f, " <small>");
        put_text(f, run->engine_version);
        put(f, "</small>");
    }
    put(f, "</td><td class=\"text\">");
    put_text(f, run->quantization);
    put(f, "</td><td>");
    put_size(f, row->cell.context_tokens);
    put(f, "</td>");
    if (store_metric_has_concurrency(board->metric)) {
        put(f, "<td>");
        html_int(&f->html, row->cell.concurrency);
        put(f, "</td>");
    }
    put(f, "<td class=\"text\">");
    put_link(f, "/users", run->owner_name);
    put_text(f, run->owner_name);
    put(f, "</a></td><td>");
    put_day(f, run->created_ms);
    put(f, "</td></tr>\n");
}

void put_board_rows(struct frame *f, const struct store_board *board,
                    const struct store_board_rows *rows, int64_t first_rank, bool sortable)
{
    put(f, "<div class=\"scroll\" role=\"group\" tabindex=\"0\"");
    html_attr(&f->html, "aria-label", site_word(f->l, names[board->metric]));
    put(f, "><table class=\"rows list board\">");
    write_head(f, board, sortable);
    for (size_t i = 0; i < rows->n; i++)
        write_row(f, board, &rows->v[i], first_rank > 0 ? first_rank + (int64_t)i : 0);
    put(f, "</tbody></table></div>\n");
}

/* The pager carries the rank along: a cursor says after which row to go on, not how many came
 * before it. */
static void write_pager(struct frame *f, const struct board_page *p)
{
    char rank[24];
    if (!*p->rows.next && p->first_rank <= 1)
        return;
    struct params with_rank = {0};
    for (size_t i = 0; i < f->query->count; i++)
        if (strcmp(f->query->v[i].name, "rank") != 0)
            params_add(&with_rank, f->query->v[i].name, f->query->v[i].value);
    snprintf(rank, sizeof rank, "%lld", (long long)(p->first_rank + (int64_t)p->rows.n));
    const struct params *own = f->query;
    put(f, "<nav class=\"pager\">");
    if (p->first_rank > 1) {
        f->query = &with_rank;
        put_query_link(f, "/leaderboard", "after", NULL);
        put_word(f, SITE_PAGER_FIRST);
        put(f, "</a> ");
    }
    if (*p->rows.next) {
        params_add(&with_rank, "rank", rank);
        f->query = &with_rank;
        put_query_link(f, "/leaderboard", "after", p->rows.next);
        put_word(f, SITE_PAGER_NEXT);
        put(f, "</a>");
    }
    put(f, "</nav>\n");
    f->query = own;
    params_release(&with_rank);
}

void page_board_write(struct frame *f, const struct board_page *p)
{
    const struct filter_form form = {
        .path = "/leaderboard",
        .engines = &p->engines,
        .quants = &p->quants,
        .points = &p->points,
        .with_kind = true,
        .simulated_apart = true,
        .with_verified = true,
        .with_class = true,
        .with_concurrency = store_metric_has_concurrency(p->board.metric),
    };
    frame_begin(f, site_word(f->l, SITE_BOARD_TITLE));
    frame_heading(f, site_word(f->l, SITE_BOARD_TITLE), site_word(f->l, SITE_BOARD_LEAD));
    write_metrics(f, p->board.metric);
    put(f, "<p class=\"by\">");
    put_word(f, meanings[p->board.metric]);
    put(f, "</p>\n");
    put_filter_form(f, &form);
    if (p->rows.n == 0) {
        put_empty(f, SITE_BOARD_NONE);
    } else {
        put_board_rows(f, &p->board, &p->rows, p->board.newest ? 0 : p->first_rank, true);
        write_export(f);
    }
    write_pager(f, p);
    frame_end(f);
}
