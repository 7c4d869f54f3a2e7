/* page_groups.c - what runs are grouped by: models, organizations, hardware; lists and pages. */
#include <math.h>
#include <string.h>

#include "report/plain.h"
#include "report/words.h"
#include "site/board_words.h"
#include "site/site_pages.h"

/* ---- shared ---------------------------------------------------------------------------------- */

static void write_orders(struct frame *f, const char *path)
{
    put(f, "<ul class=\"tabs\">");
    put_tab(f, path, "order", NULL, SITE_ORDER_RUNS);
    put_tab(f, path, "order", "speed", SITE_ORDER_FASTEST);
    put_tab(f, path, "order", "newest", SITE_ORDER_NEWEST);
    put_tab(f, path, "order", "name", SITE_ORDER_NAME);
    put(f, "</ul>\n");
}

static void write_empty(struct frame *f)
{
    put_empty(f, SITE_GROUPS_NONE);
}

/* The head of a table of `n` rows, whose first `text_columns` are words; false: there are none,
 * which the page says in its place. */
static bool begin_rows(struct frame *f, size_t n, enum site_word label,
                       const enum site_word columns[], size_t count, size_t text_columns)
{
    if (n == 0) {
        write_empty(f);
        return false;
    }
    put(f, "<div class=\"scroll\" role=\"group\" tabindex=\"0\"");
    html_attr(&f->html, "aria-label", site_word(f->l, label));
    put(f, "><table class=\"rows list\"><thead><tr>");
    for (size_t i = 0; i < count; i++) {
        if (i < text_columns)
            put(f, "<th scope=\"col\" class=\"text\">");
        else
            put(f, "<th scope=\"col\">");
        put_word(f, columns[i]);
        put(f, "</th>");
    }
    put(f, "</tr></thead>\n<tbody>");
    return true;
}

static void end_rows(struct frame *f)
{
    put(f, "</tbody></table></div>\n");
}

/* A page with one list: between these two stands its table. */
static void begin_list(struct frame *f, const char *path, enum site_word title, enum site_word lead)
{
    frame_begin(f, site_word(f->l, title));
    frame_heading(f, site_word(f->l, title), site_word(f->l, lead));
    write_orders(f, path);
}

static void end_list(struct frame *f, const char *path, const char *next)
{
    put_pager(f, path, next);
    frame_end(f);
}

static void write_speeds(struct frame *f, int64_t runs, double single, double total, int64_t last)
{
    put(f, "<td>");
    put_count(f, runs);
    put(f, "</td><td>");
    put_rate(f, single);
    put(f, "</td><td>");
    put_rate(f, total);
    put(f, "</td><td>");
    put_day(f, last);
    put(f, "</td></tr>\n");
}

static void write_heading(struct frame *f, enum site_word w)
{
    put(f, "<h2>");
    put_word(f, w);
    put(f, "</h2>\n");
}

static void write_runs(struct frame *f, const struct store_runs *runs)
{
    put(f, "<section>");
    write_heading(f, SITE_GROUP_RUNS);
    put(f, "<ul class=\"runs\">\n");
    for (size_t i = 0; i < runs->n; i++)
        put_run_card(f, &runs->v[i], runs->cells ? &runs->cells[i] : NULL);
    put(f, "</ul></section>\n");
}

/* A board within a page: best first, with the class's name above. */
static void write_best(struct frame *f, enum store_metric m, const struct store_board_rows *rows)
{
    const struct store_board board = {.metric = m};
    if (rows->n == 0)
        return;
    put(f, "<section>");
    write_heading(f, metric_word(m));
    put_board_rows(f, &board, rows, 1, false);
    put(f, "</section>\n");
}

/* ---- models ---------------------------------------------------------------------------------- */

static void write_bases(struct frame *f, const struct store_models *bases)
{
    static const enum site_word columns[] = {
        SITE_COLUMN_MODEL,        SITE_COLUMN_ORGANIZATION, SITE_COLUMN_VARIANTS, SITE_COLUMN_RUNS,
        SITE_METRIC_SINGLE_BRIEF, SITE_METRIC_TOTAL_BRIEF,  SITE_COLUMN_LAST,
    };
    if (!begin_rows(f, bases->n, SITE_MODELS_TITLE, columns, ARRAY_LEN(columns), 2))
        return;
    for (size_t i = 0; i < bases->n; i++) {
        const struct store_model *m = &bases->v[i];
        put(f, "<tr><td class=\"text\">");
        put_link(f, "/models", m->name);
        put_text(f, m->name);
        put(f, "</a></td><td class=\"text\">");
        if (m->organization)
            put_link(f, "/organizations", m->organization);
        put_text(f, m->organization);
        if (m->organization)
            put(f, "</a>");
        put(f, "</td><td>");
        put_count(f, m->variant_count);
        put(f, "</td>");
        write_speeds(f, m->run_count, m->single_tok_s, m->total_tok_s, m->last_run_ms);
    }
    end_rows(f);
}

void page_models_write(struct frame *f, const struct models_page *p)
{
    begin_list(f, "/models", SITE_MODELS_TITLE, SITE_MODELS_LEAD);
    write_bases(f, &p->bases);
    end_list(f, "/models", p->bases.next);
}

static void write_members(struct frame *f, const struct model_page *p)
{
    static const enum site_word columns[] = {
        SITE_COLUMN_REPACKAGING, SITE_COLUMN_RUNS, SITE_METRIC_SINGLE_BRIEF,
        SITE_METRIC_TOTAL_BRIEF, SITE_COLUMN_LAST,
    };
    if (!begin_rows(f, p->members.n, SITE_MODEL_MEMBERS, columns, ARRAY_LEN(columns), 1))
        return;
    for (size_t i = 0; i < p->members.n; i++) {
        const struct store_model *m = &p->members.v[i];
        put(f, "<tr><td class=\"text\"><a href=\"");
        put_href(f, "/runs", NULL);
        put(f, "?model=");
        url_add_encoded(html_scratch(&f->html), m->name);
        html_text_scratch(&f->html);
        put(f, "\">");
        put_text(f, m->name);
        put(f, "</a></td>");
        write_speeds(f, m->run_count, m->single_tok_s, m->total_tok_s, m->last_run_ms);
    }
    end_rows(f);
}

void page_model_write(struct frame *f, const struct model_page *p)
{
    frame_begin(f, p->base.name);
    frame_heading(f, p->base.name, NULL);
    put(f, "<p class=\"facts\">");
    if (p->base.organization) {
        put_link(f, "/organizations", p->base.organization);
        put_text(f, p->base.organization);
        put(f, "</a> · ");
    }
    site_say_model_counts(f->l, html_scratch(&f->html), .n = p->base.run_count);
    html_text_scratch(&f->html);
    put(f, " · <a href=\"");
    put_href(f, "/leaderboard", NULL);
    put(f, "?base=");
    url_add_encoded(html_scratch(&f->html), p->base.name);
    html_text_scratch(&f->html);
    put(f, "\">");
    put_word(f, SITE_GROUP_BOARD);
    put(f, "</a></p>\n");
    write_best(f, STORE_SINGLE, &p->best[0]);
    write_best(f, STORE_TOTAL, &p->best[1]);
    write_best(f, STORE_PREFILL, &p->best[2]);
    put(f, "<section>");
    write_heading(f, SITE_MODEL_MEMBERS);
    write_members(f, p);
    put(f, "</section>\n");
    write_runs(f, &p->runs);
    frame_end(f);
}

/* ---- organizations --------------------------------------------------------------------------- */

static void write_organizations(struct frame *f, const struct store_organizations *rows)
{
    static const enum site_word columns[] = {
        SITE_COLUMN_ORGANIZATION, SITE_COLUMN_MODELS,      SITE_COLUMN_RUNS,
        SITE_METRIC_SINGLE_BRIEF, SITE_METRIC_TOTAL_BRIEF, SITE_COLUMN_LAST,
    };
    if (!begin_rows(f, rows->n, SITE_ORGANIZATIONS_TITLE, columns, ARRAY_LEN(columns), 1))
        return;
    for (size_t i = 0; i < rows->n; i++) {
        const struct store_organization *o = &rows->v[i];
        put(f, "<tr><td class=\"text\">");
        put_link(f, "/organizations", o->name);
        put_text(f, o->name);
        put(f, "</a></td><td>");
        put_count(f, o->model_count);
        put(f, "</td>");
        write_speeds(f, o->run_count, o->single_tok_s, o->total_tok_s, o->last_run_ms);
    }
    end_rows(f);
}

void page_organizations_write(struct frame *f, const struct organizations_page *p)
{
    begin_list(f, "/organizations", SITE_ORGANIZATIONS_TITLE, SITE_ORGANIZATIONS_LEAD);
    write_organizations(f, &p->rows);
    end_list(f, "/organizations", p->rows.next);
}

void page_organization_write(struct frame *f, const struct organization_page *p)
{
    frame_begin(f, p->organization.name);
    frame_heading(f, p->organization.name, site_word(f->l, SITE_ORGANIZATION_LEAD));
    put(f, "<section>");
    write_heading(f, SITE_MODELS_TITLE);
    write_bases(f, &p->bases);
    put(f, "</section>\n");
    write_runs(f, &p->runs);
    frame_end(f);
}

/* ---- hardware -------------------------------------------------------------------------------- */

static void write_hardwares(struct frame *f, const struct store_hardwares *rows)
{
    static const enum site_word columns[] = {
        SITE_COLUMN_HARDWARE,     SITE_FILTER_CLASS,       SITE_COLUMN_RUNS,
        SITE_METRIC_SINGLE_BRIEF, SITE_METRIC_TOTAL_BRIEF, SITE_COLUMN_LAST,
    };
    if (!begin_rows(f, rows->n, SITE_HARDWARE_TITLE, columns, ARRAY_LEN(columns), 2))
        return;
    for (size_t i = 0; i < rows->n; i++) {
        const struct store_hardware *h = &rows->v[i];
        put(f, "<tr><td class=\"text\">");
        put_link(f, "/hardware", h->slug);
        put_text(f, h->title);
        put(f, "</a></td><td class=\"text\">");
        put_text(f, words_machine_type(f->rl, h->class));
        put(f, "</td>");
        write_speeds(f, h->run_count, h->single_tok_s, h->total_tok_s, h->last_run_ms);
    }
    end_rows(f);
}

void page_hardwares_write(struct frame *f, const struct hardwares_page *p)
{
    begin_list(f, "/hardware", SITE_HARDWARE_TITLE, SITE_HARDWARE_LEAD);
    write_hardwares(f, &p->rows);
    end_list(f, "/hardware", p->rows.next);
}

/* The command that gave the fastest runs, to copy. */
static void write_commands(struct frame *f, const struct store_runs *runs)
{
    bool any = false;
    for (size_t i = 0; i < runs->n; i++) {
        const struct store_run *run = &runs->v[i];
        if (!run->launch_command || !*run->launch_command)
            continue;
        if (!any) {
            put(f, "<section>");
            write_heading(f, SITE_HARDWARE_COMMANDS);
        }
        any = true;
        put(f, "<details><summary>");
        put_text(f, run->title);
        put(f, " · ");
        put_text(f, run->engine);
        put(f, " · ");
        put_rate(f, run->total_tok_s);
        put(f, " ");
        html_text(&f->html, word(f->rl, WORD_UNIT_TOK_S));
        put(f, "</summary><pre tabindex=\"0\"><code>");
        plain_add_command(html_scratch(&f->html), run->launch_command);
        html_text_scratch(&f->html);
        put(f, "</code></pre><p>");
        put_link(f, "/runs", run->uid);
        put_word(f, SITE_GROUP_OPEN_RUN);
        put(f, "</a></p></details>\n");
    }
    if (any)
        put(f, "</section>\n");
}

void page_hardware_write(struct frame *f, const struct hardware_page *p)
{
    frame_begin(f, p->hardware.title);
    frame_heading(f, p->hardware.title, NULL);
    put(f, "<p class=\"facts\">");
    put_text(f, words_machine_type(f->rl, p->hardware.class));
    put(f, " · ");
    site_say_model_counts(f->l, html_scratch(&f->html), .n = p->hardware.run_count);
    html_text_scratch(&f->html);
    put(f, " · <a href=\"");
    put_href(f, "/leaderboard", NULL);
    put(f, "?hardware=");
    url_add_encoded(html_scratch(&f->html), p->hardware.slug);
    html_text_scratch(&f->html);
    put(f, "\">");
    put_word(f, SITE_GROUP_BOARD);
    put(f, "</a></p>\n");
    write_best(f, STORE_SINGLE, &p->best[0]);
    write_best(f, STORE_TOTAL, &p->best[1]);
    write_commands(f, &p->runs);
    if (p->others.n > 1) {
        put(f, "<section>");
        write_heading(f, SITE_HARDWARE_OTHERS);
        write_hardwares(f, &p->others);
        put(f, "</section>\n");
    }
    write_runs(f, &p->runs);
    frame_end(f);
}

/* ---- search ---------------------------------------------------------------------------------- */

static const struct {
    const char *path;
    enum site_word name;
} kinds[STORE_FOUND_KINDS] = {
    [STORE_FOUND_MODEL] = {"/models", SITE_MODELS_TITLE},
    [STORE_FOUND_ORGANIZATION] = {"/organizations", SITE_ORGANIZATIONS_TITLE},
    [STORE_FOUND_HARDWARE] = {"/hardware", SITE_HARDWARE_TITLE},
    [STORE_FOUND_USER] = {"/users", SITE_USERS_TITLE},
    [STORE_FOUND_RUN] = {"/runs", SITE_RUNS_TITLE},
};

void page_search_write(struct frame *f, const struct search_page *p)
{
    int last = -1;
    frame_begin(f, site_word(f->l, SITE_SEARCH_TITLE));
    frame_heading(f, site_word(f->l, SITE_SEARCH_TITLE), site_word(f->l, SITE_SEARCH_LEAD));
    put(f, "<form class=\"filters\" action=\"");
    put_href(f, "/search", NULL);
    put(f, "\">");
    put_field(f, SITE_NAV_SEARCH, "q", "search", p->query, NULL);
    put_button(f, SITE_NAV_SEARCH);
    put(f, "</form>\n");
    for (size_t i = 0; i < p->found.n; i++) {
        const struct store_found *found = &p->found.v[i];
        if ((int)found->kind != last) {
            if (last >= 0)
                put(f, "</ul>\n");
            write_heading(f, kinds[found->kind].name);
            put(f, "<ul class=\"found\">");
            last = (int)found->kind;
        }
        put(f, "<li>");
        put_link(f, kinds[found->kind].path, found->key);
        put_text(f, found->title);
        put(f, "</a></li>");
    }
    if (last >= 0)
        put(f, "</ul>\n");
    else if (*p->query)
        write_empty(f);
    frame_end(f);
}
