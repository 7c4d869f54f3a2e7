/* page_runs.c - runs in lists: cards with a small matrix, and the form that narrows them. */
#include <math.h>
#include <string.h>

#include "report/views.h"
#include "report/words.h"
#include "site/site_pages.h"

/* ---- the small matrix ------------------------------------------------------------------------ */

enum { SQUARE = 11, GAP = 2, HEAT_STEPS = 9 };

struct small_axes {
    int64_t contexts[PLAN_MAX_CONTEXTS];
    int levels[PLAN_MAX_LEVELS];
    size_t context_count, level_count;
    struct scale scale;
};

/* Cells come by context, then concurrency, so contexts ascend; levels are put in order. */
static void add_level(struct small_axes *a, int level)
{
    size_t at = 0;
    while (at < a->level_count && a->levels[at] < level)
        at++;
    if ((at < a->level_count && a->levels[at] == level) || a->level_count == PLAN_MAX_LEVELS)
        return;
    memmove(a->levels + at + 1, a->levels + at, (a->level_count - at) * sizeof *a->levels);
    a->levels[at] = level;
    a->level_count++;
}

static void find_axes(const struct store_cells *cells, struct small_axes *a)
{
    *a = (struct small_axes){0};
    scale_init(&a->scale);
    for (size_t i = 0; i < cells->n; i++) {
        const struct store_cell *c = &cells->v[i];
        if (c->concurrency <= 0)
            continue;
        if ((a->context_count == 0 || a->contexts[a->context_count - 1] != c->context_tokens) &&
            a->context_count < PLAN_MAX_CONTEXTS)
            a->contexts[a->context_count++] = c->context_tokens;
        add_level(a, c->concurrency);
        if (status_has_numbers(c->status))
            scale_add(&a->scale, c->total_tok_s);
    }
}

static size_t column_of(const struct small_axes *a, int level)
{
    size_t i = 0;
    while (i < a->level_count && a->levels[i] != level)
        i++;
    return i;
}

static void write_square(struct frame *f, const struct small_axes *a, const struct store_cell *c,
                         size_t row)
{
    int step =
        status_has_numbers(c->status) ? scale_step(&a->scale, c->total_tok_s, HEAT_STEPS) : -1;
    put(f, "<rect");
    html_attr_number(&f->html, "x", (double)column_of(a, c->concurrency) * (SQUARE + GAP));
    html_attr_number(&f->html, "y", (double)row * (SQUARE + GAP));
    if (step >= 0) {
        put(f, " class=\"s");
        html_int(&f->html, step);
        put(f, "\"/>");
    } else {
        html_attr(&f->html, "class", status_name(c->status));
        put(f, "/>");
    }
}

/* The matrix as a picture of small squares. */
static void put_small_matrix(struct frame *f, const struct store_cells *cells)
{
    struct small_axes a;
    char least[NUM_TEXT_MAX], most[NUM_TEXT_MAX];
    find_axes(cells, &a);
    if (a.context_count == 0 || a.level_count == 0)
        return;
    put(f, "<svg class=\"mini\" role=\"img\" viewBox=\"0 0 ");
    html_int(&f->html, (long long)a.level_count * (SQUARE + GAP) - GAP);
    put(f, " ");
    html_int(&f->html, (long long)a.context_count * (SQUARE + GAP) - GAP);
    put(f, "\"");
    html_attr_number(&f->html, "width", (double)a.level_count * (SQUARE + GAP) - GAP);
    html_attr_number(&f->html, "height", (double)a.context_count * (SQUARE + GAP) - GAP);
    site_say_run_matrix(f->l, html_scratch(&f->html),
                        .contexts = lang_number(f->rl, least, (double)a.context_count, 0),
                        .levels = lang_number(f->rl, most, (double)a.level_count, 0));
    html_attr_scratch(&f->html, "aria-label");
    put(f, ">");
    size_t row = 0;
    for (size_t i = 0; i < cells->n; i++) {
        const struct store_cell *c = &cells->v[i];
        if (c->concurrency <= 0)
            continue;
        while (row + 1 < a.context_count && a.contexts[row] != c->context_tokens)
            row++;
        write_square(f, &a, c, row);
    }
    put(f, "</svg>");
}

/* ---- a card ---------------------------------------------------------------------------------- */

static void write_figure(struct frame *f, enum site_word label, double tok_s)
{
    put(f, "<div><dt>");
    put_word(f, label);
    put(f, "</dt><dd><b>");
    put_rate(f, tok_s);
    put(f, "</b> ");
    html_text(&f->html, word(f->rl, WORD_UNIT_TOK_S));
    put(f, "</dd></div>");
}

static enum site_word state_word(enum store_run_state s)
{
    static const enum site_word words[STORE_RUN_STATES] = {
        [STORE_RUN_DRAFT] = SITE_STATE_DRAFT,
        [STORE_RUN_PUBLIC] = SITE_STATE_PUBLIC,
        [STORE_RUN_FLAGGED] = SITE_STATE_FLAGGED,
        [STORE_RUN_WITHDRAWN] = SITE_STATE_WITHDRAWN,
    };
    return words[s];
}

void put_flag_mark(struct frame *f, const struct store_run *run)
{
    if (run->state != STORE_RUN_FLAGGED)
        return;
    put(f, " <span class=\"badge warn\">");
    put_word(f, SITE_STATE_FLAGGED);
    put(f, "</span>");
}

void put_run_badges(struct frame *f, const struct store_run *run)
{
    put(f, "<span class=\"badge\">");
    put_text(f, words_kind(f->rl, run->kind));
    put(f, "</span>");
    if (run->verified) {
        put(f, " <span class=\"badge good\">");
        put_word(f, SITE_RUN_VERIFIED);
        put(f, "</span>");
    }
    if (run->state != STORE_RUN_PUBLIC) {
        put(f, " <span class=\"badge warn\">");
        put_word(f, state_word(run->state));
        put(f, "</span>");
    }
}

void put_run_card(struct frame *f, const struct store_run *run, const struct store_cells *cells)
{
    put(f, "<li class=\"run\"><div class=\"about\"><h3>");
    put_link(f, "/runs", run->uid);
    put_text(f, run->title);
    put(f, "</a></h3><p>");
    put_text(f, run->engine);
    put(f, " ");
    if (run->engine_version)
        put_text(f, run->engine_version);
    if (run->quantization) {
        put(f, " · ");
        put_text(f, run->quantization);
    }
    put(f, "</p><p class=\"meta\">");
    put_link(f, "/users", run->owner_name);
    put_text(f, run->owner_name);
    put(f, "</a> · ");
    put_day(f, run->created_ms);
    put(f, " ");
    put_run_badges(f, run);
    put(f, "</p></div>");
    if (cells)
        put_small_matrix(f, cells);
    put(f, "<dl>");
    write_figure(f, SITE_METRIC_SINGLE_BRIEF, run->single_tok_s);
    write_figure(f, SITE_METRIC_TOTAL_BRIEF, run->total_tok_s);
    write_figure(f, SITE_METRIC_PREFILL_BRIEF, run->prefill_tok_s);
    put(f, "</dl></li>\n");
}

/* ---- filters --------------------------------------------------------------------------------- */

static bool is_chosen(const struct frame *f, const char *name, const char *value)
{
    return strcmp(params_get(f->query, name), value) == 0;
}

static void write_choices(struct frame *f, enum site_word label, const char *name,
                          const struct store_choices *choices)
{
    if (!choices || choices->n == 0)
        return;
    put_select(f, label, name);
    put_option(f, "", site_word(f->l, SITE_FILTER_ALL), false);
    for (size_t i = 0; i < choices->n; i++)
        put_option(f, choices->v[i].name, choices->v[i].name,
                   is_chosen(f, name, choices->v[i].name));
    put_select_end(f);
}

static void write_classes(struct frame *f)
{
    static const char *const classes[] = {"DISCRETE_GPU", "UNIFIED", "CPU_ONLY"};
    put_select(f, SITE_FILTER_CLASS, "class");
    put_option(f, "", site_word(f->l, SITE_FILTER_ALL), false);
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        put_option(f, classes[i], words_machine_type(f->rl, classes[i]),
                   is_chosen(f, "class", classes[i]));
    put_select_end(f);
}

static void write_kinds(struct frame *f, bool simulated_apart)
{
    static const char *const kinds[] = {"measured", "simulated", "imported"};
    put_select(f, SITE_FILTER_KIND, "kind");
    put_option(f, "", site_word(f->l, simulated_apart ? SITE_FILTER_REAL : SITE_FILTER_ALL), false);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        put_option(f, kinds[i], words_kind(f->rl, kinds[i]), is_chosen(f, "kind", kinds[i]));
    put_select_end(f);
}

static void write_points(struct frame *f, const struct filter_form *form)
{
    char value[NUM_TEXT_MAX], text[NUM_TEXT_MAX];
    put_select(f, SITE_FILTER_CONTEXT, "context");
    put_option(f, "", site_word(f->l, SITE_FILTER_ANY), false);
    for (size_t i = 0; i < form->points->context_count; i++) {
        if (form->points->contexts[i] < 0)
            continue;
        snprintf(value, sizeof value, "%lld", (long long)form->points->contexts[i]);
        put_option(f, value, num_size_text(text, form->points->contexts[i]),
                   is_chosen(f, "context", value));
    }
    put_select_end(f);
    if (!form->with_concurrency)
        return;
    put_select(f, SITE_FILTER_CONCURRENCY, "concurrency");
    put_option(f, "", site_word(f->l, SITE_FILTER_ANY), false);
    for (size_t i = 0; i < form->points->level_count; i++) {
        if (form->points->levels[i] <= 0)
            continue;
        snprintf(value, sizeof value, "%d", form->points->levels[i]);
        put_option(f, value, value, is_chosen(f, "concurrency", value));
    }
    put_select_end(f);
}

/* What narrows by a link stays, as hidden fields with a link that takes it away. */
static const char *const linked[] = {"model", "base", "organization", "hardware", "card", "user"};

static void write_linked(struct frame *f, const char *path)
{
    for (size_t i = 0; i < ARRAY_LEN(linked); i++) {
        const char *value = params_get(f->query, linked[i]);
        if (!*value)
            continue;
        put(f, "<p class=\"chip\">");
        put_hidden(f, linked[i], value);
        put_text(f, value);
        put(f, " ");
        put_query_link(f, path, linked[i], NULL);
        put(f, "<span aria-hidden=\"true\">×</span><span class=\"hide\">");
        put_word(f, SITE_FILTER_REMOVE);
        put(f, "</span></a></p>");
    }
}

void put_filter_form(struct frame *f, const struct filter_form *form)
{
    put(f, "<form class=\"filters\" method=\"get\" action=\"");
    put_href(f, form->path, NULL);
    put(f, "\">");
    write_linked(f, form->path);
    if (*params_get(f->query, "metric"))
        put_hidden(f, "metric", params_get(f->query, "metric"));
    if (form->points)
        write_points(f, form);
    if (form->with_class)
        write_classes(f);
    write_choices(f, SITE_FILTER_ENGINE, "engine", form->engines);
    write_choices(f, SITE_FILTER_QUANTIZATION, "quantization", form->quants);
    if (form->with_kind)
        write_kinds(f, form->simulated_apart);
    if (form->with_verified) {
        put(f,
            "<p class=\"field check\"><input type=\"checkbox\" id=\"verified\" name=\"verified\" "
            "value=\"1\"");
        if (is_chosen(f, "verified", "1"))
            put(f, " checked");
        put(f, "><label for=\"verified\">");
        put_word(f, SITE_FILTER_VERIFIED);
        put(f, "</label></p>");
    }
    put_button(f, SITE_FILTER_APPLY);
    put(f, "</form>\n");
}

/* ---- the list -------------------------------------------------------------------------------- */

void page_runs_write(struct frame *f, const struct runs_page *p)
{
    const struct filter_form form = {
        .path = "/runs",
        .engines = &p->engines,
        .quants = &p->quants,
        .with_kind = true,
        .with_verified = true,
        .with_class = true,
    };
    frame_begin(f, site_word(f->l, SITE_RUNS_TITLE));
    frame_heading(f, site_word(f->l, SITE_RUNS_TITLE), site_word(f->l, SITE_RUNS_LEAD));
    put_filter_form(f, &form);
    put(f, "<ul class=\"tabs\">");
    put_tab(f, "/runs", "order", NULL, SITE_ORDER_NEWEST);
    put_tab(f, "/runs", "order", "fastest", SITE_ORDER_FASTEST);
    put(f, "</ul>\n");
    if (p->runs.n == 0) {
        put_empty(f, SITE_RUNS_NONE);
    } else {
        put_hidden_heading(f, SITE_RUNS_TITLE);
        put(f, "<ul class=\"runs\">\n");
        for (size_t i = 0; i < p->runs.n; i++)
            put_run_card(f, &p->runs.v[i], p->runs.cells ? &p->runs.cells[i] : NULL);
        put(f, "</ul>\n");
    }
    put_pager(f, "/runs", p->runs.next);
    frame_end(f);
}
