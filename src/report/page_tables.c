/* page_tables.c - every measurement with its columns, then what only some runs have: percentiles,
 * gaps, intervals, the server's own gauges, power. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/columns.h"
#include "report/page_parts.h"

static void begin_table(const struct page *p, const char *label)
{
    html_raw(p->h, "<div class=\"scroll\" role=\"group\" tabindex=\"0\"");
    html_attr(p->h, "aria-label", label);
    html_raw(p->h, "><table class=\"rows\">");
}

static void end_table(const struct page *p)
{
    html_raw(p->h, "</tbody></table></div>\n");
}

/* ---- All measurements ------------------------------------------------------------------------ */

static void write_value(const struct page *p, const struct column *c, const struct measurement *m)
{
    bool any = column_add(c, m, COLUMN_FULL, p->l, html_scratch(p->h));
    if (column_is_text(c))
        html_raw(p->h, "<td class=\"text\">");
    else
        html_raw(p->h, "<td>");
    html_text(p->h, any ? p->h->scratch.p : word(p->l, WORD_FIGURE_NONE));
    html_raw(p->h, "</td>");
}

/* The row's way to its cell in the matrix. */
static void write_context(const struct page *p, const struct measurement *m)
{
    char text[NUM_TEXT_MAX];
    int64_t context = m->cell ? m->cell->context_tokens : m->prefill->context_tokens;
    if (m->cell)
        html_raw(p->h, "<td><a href=\"#c-");
    else
        html_raw(p->h, "<td><a href=\"#p-");
    page_cell_id(p, context, m->cell ? m->cell->concurrency : 1);
    html_raw(p->h, "\">");
    html_text(p->h, num_size_text(text, context));
    html_raw(p->h, "</a></td>");
}

static void write_row(const struct page *p, const struct measurement *m)
{
    enum { CONTEXT = 1, STATUS = 3 }; /* of the columns */
    const char *status = status_name(m->cell ? m->cell->status : m->prefill->status);
    html_raw(p->h, "<tr");
    html_attr(p->h, "class", status);
    html_raw(p->h, ">");
    for (size_t c = 0; c < COLUMNS_MAIN; c++) {
        if (c == CONTEXT)
            write_context(p, m);
        else
            write_value(p, &columns[c], m);
    }
    html_raw(p->h, "</tr>\n");
}

void page_measurements(const struct page *p)
{
    size_t count;
    struct measurement *all = measurements_of(p->r, &count);
    if (count) {
        html_raw(p->h, "<section aria-labelledby=\"measurements\">");
        page_heading(p, "measurements", WORD_MEASUREMENTS_TITLE);
        begin_table(p, word(p->l, WORD_MEASUREMENTS_TITLE));
        html_raw(p->h, "<caption>");
        html_text(p->h, word(p->l, WORD_MEASUREMENTS_BY));
        html_raw(p->h, "</caption><thead><tr>");
        for (size_t c = 0; c < COLUMNS_MAIN; c++) {
            if (column_is_text(&columns[c]))
                html_raw(p->h, "<th scope=\"col\" class=\"text\">");
            else
                html_raw(p->h, "<th scope=\"col\">");
            html_text(p->h, column_name(&columns[c], p->l));
            html_raw(p->h, "</th>");
        }
        html_raw(p->h, "</tr></thead>\n<tbody>");
        for (size_t i = 0; i < count; i++)
            write_row(p, &all[i]);
        end_table(p);
        html_raw(p->h, "</section>\n");
    }
    free(all);
}

/* ---- what some runs have --------------------------------------------------------------------- */

struct detail {
    enum word name;
    const char *key;     /* a column, or */
    const char *per_key; /* with key: key / per_key */
    int decimals;
    double factor; /* 0: 1 */
};

struct detail_group {
    enum word name;
    const struct detail *details;
    size_t count;
};

#define SPREAD(key, decimals)                                                                      \
    {WORD_DETAIL_N, key "_n", NULL, 0, 0}, {WORD_DETAIL_P90, key "_p90", NULL, decimals, 0},       \
        {WORD_DETAIL_P99, key "_p99", NULL, decimals, 0},                                          \
    {                                                                                              \
        WORD_DETAIL_MAX, key "_max", NULL, decimals, 0                                             \
    }

static const struct detail interval_details[] = {
    {WORD_DETAIL_LOW, "ci95_low", NULL, 1, 0},
    {WORD_DETAIL_HIGH, "ci95_high", NULL, 1, 0},
    {WORD_DETAIL_N_EFFECTIVE, "ci95_n_effective", NULL, 1, 0},
};
static const struct detail ttft_details[] = {SPREAD("ttft_ms", 0)};
static const struct detail itl_details[] = {SPREAD("itl_ms", 1)};
static const struct detail gap_details[] = {
    {WORD_DETAIL_N, "gap_ms_n", NULL, 0, 0},     {WORD_DETAIL_P50, "gap_ms_p50", NULL, 1, 0},
    {WORD_DETAIL_P90, "gap_ms_p90", NULL, 1, 0}, {WORD_DETAIL_P99, "gap_ms_p99", NULL, 1, 0},
    {WORD_DETAIL_MAX, "gap_ms_max", NULL, 0, 0},
};
static const struct detail server_details[] = {
    {WORD_DETAIL_RUNNING, "server_running", NULL, 1, 0},
    {WORD_DETAIL_WAITING, "server_waiting", NULL, 1, 0},
    {WORD_DETAIL_WAITING_SHARE, "waiting_share", NULL, 0, 100},
    {WORD_DETAIL_KV_USED, "kv_used_max", NULL, 0, 100},
    {WORD_DETAIL_PREEMPTIONS, "preemptions", NULL, 0, 0},
};
static const struct detail power_details[] = {
    {WORD_DETAIL_POWER, "power_w", NULL, 0, 0},
    {WORD_DETAIL_ENERGY, "energy_j", NULL, 0, 0},
    {WORD_DETAIL_TOK_PER_J, "output_tokens", "energy_j", 2, 0},
};
static const struct detail client_details[] = {
    {WORD_DETAIL_CPU, "client_cpu_pct", NULL, 0, 0},
    {WORD_DETAIL_LAG, "client_lag_ms_p99", NULL, 2, 0},
    {WORD_DETAIL_EVENTS_PER_READ, "client_events_per_read", NULL, 2, 0},
};

#define GROUP(name, details)                                                                       \
    {                                                                                              \
        name, details, ARRAY_LEN(details)                                                          \
    }
static const struct detail_group spread_groups[] = {
    GROUP(WORD_DETAIL_INTERVAL, interval_details),
    GROUP(WORD_DETAIL_TTFT, ttft_details),
    GROUP(WORD_DETAIL_ITL, itl_details),
    GROUP(WORD_DETAIL_GAP, gap_details),
};
static const struct detail_group server_groups[] = {
    GROUP(WORD_DETAIL_POWER_GROUP, power_details),
    GROUP(WORD_DETAIL_SERVER, server_details),
    GROUP(WORD_DETAIL_CLIENT, client_details),
};

enum { DETAILS_MAX = 24 };

/* The columns of one table that have a value in some row. */
struct detail_table {
    const struct detail *details[DETAILS_MAX];
    const struct column *columns[DETAILS_MAX], *per[DETAILS_MAX];
    size_t count;
    const struct detail_group *groups;
    size_t group_count;
    size_t span[DETAILS_MAX]; /* by group: its columns in the table */
};

static double value_of(const struct detail_table *t, size_t i, const struct measurement *m)
{
    double v = column_value(t->columns[i], m);
    if (t->per[i])
        v /= column_value(t->per[i], m);
    return t->details[i]->factor > 0 ? v * t->details[i]->factor : v;
}

static bool has_row(const struct detail_table *t, const struct measurement *m)
{
    for (size_t i = 0; i < t->count; i++)
        if (isfinite(value_of(t, i, m)))
            return true;
    return false;
}

/* Counts alone are no reason for a group: "n" of an unknown spread says nothing. */
static bool group_says_something(const struct detail_table *t, size_t from,
                                 const struct measurement *all, size_t count)
{
    for (size_t i = from; i < t->count; i++)
        for (size_t m = 0; m < count && t->details[i]->name != WORD_DETAIL_N; m++)
            if (isfinite(value_of(t, i, &all[m])))
                return true;
    return false;
}

static void add_group(struct detail_table *t, size_t group, const struct measurement *all,
                      size_t count)
{
    const struct detail_group *g = &t->groups[group];
    size_t from = t->count;
    for (size_t i = 0; i < g->count; i++) {
        const struct detail *d = &g->details[i];
        bool any = false;
        t->details[t->count] = d;
        t->columns[t->count] = column_find(d->key);
        t->per[t->count] = d->per_key ? column_find(d->per_key) : NULL;
        for (size_t m = 0; m < count && !any; m++)
            any = isfinite(value_of(t, t->count, &all[m]));
        t->count += any;
    }
    if (!group_says_something(t, from, all, count))
        t->count = from;
    t->span[group] = t->count - from;
}

static void write_detail_head(const struct page *p, const struct detail_table *t)
{
    html_raw(p->h, "<colgroup span=\"3\"></colgroup>");
    for (size_t g = 0; g < t->group_count; g++) {
        if (!t->span[g])
            continue;
        html_raw(p->h, "<colgroup span=\"");
        html_int(p->h, (long long)t->span[g]);
        html_raw(p->h, "\"></colgroup>");
    }
    html_raw(p->h, "<thead><tr>");
    for (size_t c = 0; c < 3; c++) { /* phase, context, concurrency */
        if (column_is_text(&columns[c]))
            html_raw(p->h, "<th scope=\"col\" rowspan=\"2\" class=\"text\">");
        else
            html_raw(p->h, "<th scope=\"col\" rowspan=\"2\">");
        html_text(p->h, column_name(&columns[c], p->l));
        html_raw(p->h, "</th>");
    }
    for (size_t g = 0; g < t->group_count; g++) {
        if (!t->span[g])
            continue;
        html_raw(p->h, "<th scope=\"colgroup\" class=\"group\" colspan=\"");
        html_int(p->h, (long long)t->span[g]);
        html_raw(p->h, "\">");
        html_text(p->h, word(p->l, t->groups[g].name));
        html_raw(p->h, "</th>");
    }
    html_raw(p->h, "</tr><tr>");
    for (size_t i = 0; i < t->count; i++) {
        html_raw(p->h, "<th scope=\"col\">");
        html_text(p->h, word(p->l, t->details[i]->name));
        html_raw(p->h, "</th>");
    }
    html_raw(p->h, "</tr></thead>\n<tbody>");
}

static void write_detail_row(const struct page *p, const struct detail_table *t,
                             const struct measurement *m)
{
    char text[NUM_TEXT_MAX];
    html_raw(p->h, "<tr>");
    for (size_t c = 0; c < 3; c++)
        write_value(p, &columns[c], m);
    for (size_t i = 0; i < t->count; i++) {
        double v = value_of(t, i, m);
        html_raw(p->h, "<td>");
        if (isfinite(v))
            html_text(p->h, lang_number(p->l, text, v, t->details[i]->decimals));
        else
            html_text(p->h, word(p->l, WORD_FIGURE_NONE));
        html_raw(p->h, "</td>");
    }
    html_raw(p->h, "</tr>\n");
}

static bool fill_table(struct detail_table *t, const struct measurement *all, size_t count)
{
    for (size_t g = 0; g < t->group_count; g++)
        add_group(t, g, all, count);
    return t->count > 0;
}

static void write_detail_table(const struct page *p, const struct detail_table *t, enum word title,
                               enum word by, const struct measurement *all, size_t count)
{
    begin_table(p, word(p->l, title));
    html_raw(p->h, "<caption>");
    html_text(p->h, word(p->l, by));
    html_raw(p->h, "</caption>");
    write_detail_head(p, t);
    for (size_t m = 0; m < count; m++)
        if (has_row(t, &all[m]))
            write_detail_row(p, t, &all[m]);
    end_table(p);
}

void page_details(const struct page *p)
{
    size_t count;
    struct measurement *all = measurements_of(p->r, &count);
    struct detail_table spreads = {.groups = spread_groups,
                                   .group_count = ARRAY_LEN(spread_groups)};
    struct detail_table server = {.groups = server_groups, .group_count = ARRAY_LEN(server_groups)};
    if (fill_table(&spreads, all, count)) {
        html_raw(p->h, "<section aria-labelledby=\"percentiles\">");
        page_heading(p, "percentiles", WORD_DETAIL_SPREADS_TITLE);
        write_detail_table(p, &spreads, WORD_DETAIL_SPREADS_TITLE, WORD_DETAIL_SPREADS_BY, all,
                           count);
        html_raw(p->h, "</section>\n");
    }
    if (fill_table(&server, all, count)) {
        html_raw(p->h, "<section aria-labelledby=\"telemetry\">");
        page_heading(p, "telemetry", WORD_DETAIL_SERVER_TITLE);
        write_detail_table(p, &server, WORD_DETAIL_SERVER_TITLE, WORD_DETAIL_SERVER_BY, all, count);
        html_raw(p->h, "</section>\n");
    }
    free(all);
}
