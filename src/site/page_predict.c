/* page_predict.c - the decode calculator: a form by GET, its answer, and the bound as a chart. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/chart.h"
#include "report/headline.h"
#include "site/calculator_presets.h"
#include "site/calculator_words.h"
#include "site/site_pages.h"

/* ---- the form -------------------------------------------------------------------------------- */

static const char *value_text(const struct calculator *c, const struct calculator_field *field,
                              char *out, size_t size)
{
    const char *at = (const char *)c + field->offset;
    if (field->choices)
        return field->choices[*(const int *)(const void *)at];
    snprintf(out, size, "%.10g", *(const double *)(const void *)at);
    return out;
}

static void write_choice(struct frame *f, const struct calculator *c,
                         const struct calculator_field *field)
{
    char text[40];
    const char *value = value_text(c, field, text, sizeof text);
    put(f, "<select");
    html_attr(&f->html, "id", field->name);
    html_attr(&f->html, "name", field->name);
    put(f, ">");
    for (size_t i = 0; field->choices[i]; i++)
        put_option(f, field->choices[i], site_word(f->l, calculator_choice_word(field->choices[i])),
                   strcmp(field->choices[i], value) == 0);
    put(f, "</select>");
}

static void write_field(struct frame *f, const struct calculator *c,
                        const struct calculator_field *field)
{
    char text[40];
    put(f, "<p class=\"field\"><label");
    html_attr(&f->html, "for", field->name);
    put(f, ">");
    put_word(f, calculator_field_word(field->name));
    if (field->unit) {
        put(f, " <small>");
        html_text(&f->html, strcmp(field->unit, "10^9") == 0 ? "× 10⁹" : field->unit);
        put(f, "</small>");
    }
    put(f, "</label>");
    if (field->choices) {
        write_choice(f, c, field);
    } else {
        put(f, "<input type=\"text\" inputmode=\"decimal\" maxlength=\"24\"");
        html_attr(&f->html, "id", field->name);
        html_attr(&f->html, "name", field->name);
        html_attr(&f->html, "value", value_text(c, field, text, sizeof text));
        put(f, ">");
    }
    put(f, "</p>");
}

/* A switch each, with what it does. */
static void write_corrections(struct frame *f, const struct calculator *c)
{
    put(f, "<fieldset class=\"corrections\"><legend>");
    put_word(f, SITE_CORRECTIONS_TITLE);
    put(f, "</legend><p class=\"by\">");
    put_word(f, SITE_CORRECTIONS_WORDS);
    put(f, "</p>");
    put_hidden(f, "corrections", "none");
    for (size_t i = 0; i < ARRAY_LEN(calculator_corrections); i++) {
        const char *name = calculator_corrections[i].name;
        char id[40]; /* an input has the same name as one of them */
        snprintf(id, sizeof id, "correct-%s", name);
        put(f, "<p class=\"field check\"><input type=\"checkbox\" name=\"corrections\"");
        html_attr(&f->html, "id", id);
        html_attr(&f->html, "value", name);
        if (c->corrections & calculator_corrections[i].bit)
            put(f, " checked");
        put(f, "><label");
        html_attr(&f->html, "for", id);
        put(f, ">");
        put_word(f, calculator_correction_word(name));
        put(f, " <small>");
        put_word(f, calculator_correction_means(name));
        put(f, "</small></label></p>");
    }
    put(f, "</fieldset>\n");
}

static void write_measured_choice(struct frame *f, const struct predict_page *p)
{
    put(f, "<fieldset><legend>");
    put_word(f, SITE_CALC_MEASURED);
    put(f, "</legend>");
    put_select(f, SITE_CALC_RUN, "run");
    put_option(f, "", site_word(f->l, SITE_CALC_NO_RUN), false);
    bool there = !p->measured_uid;
    for (size_t i = 0; i < p->choices.n; i++) {
        bool chosen = p->measured_uid && strcmp(p->measured_uid, p->choices.v[i].uid) == 0;
        there |= chosen;
        put_option(f, p->choices.v[i].uid, p->choices.v[i].title, chosen);
    }
    if (!there && p->measured) {
        struct buf title;
        buf_init(&title, 1024);
        headline_title(p->measured, f->rl, &title);
        put_option(f, p->measured_uid, title.p, true);
        buf_release(&title);
    }
    put_select_end(f);
    put(f, "</fieldset>");
}

static void write_form(struct frame *f, const struct predict_page *p)
{
    bool open = false;
    put(f, "<form class=\"calculator\" method=\"get\" action=\"");
    put_href(f, "/calculator", NULL);
    put(f, "\"><div class=\"groups\">");
    for (size_t i = 0; i < calculator_field_count; i++) {
        const struct calculator_field *field = &calculator_fields[i];
        if (field->group) {
            if (open)
                put(f, "</fieldset>\n");
            put(f, "<fieldset><legend>");
            put_word(f, calculator_group_word(field->group));
            put(f, "</legend>");
            open = true;
        }
        write_field(f, &p->calculator, field);
    }
    if (open)
        put(f, "</fieldset>\n");
    write_corrections(f, &p->calculator);
    write_measured_choice(f, p);
    put(f, "</div><p class=\"actions\">");
    put_button(f, SITE_CALC_GO);
    put(f, " ");
    put_link(f, "/calculator", NULL);
    put_word(f, SITE_CALC_RESET);
    put(f, "</a></p></form>\n");
}

/* A link that fills in what a preset knows and keeps the rest. */
static void write_preset(struct frame *f, const struct predict_page *p,
                         const struct calculator_preset *preset)
{
    char text[40];
    struct buf *b = html_scratch(&f->html);
    buf_addf(b, "/%s/calculator", f->l->code);
    char mark = '?';
    for (size_t i = 0; i < calculator_field_count; i++) {
        const struct calculator_field *field = &calculator_fields[i];
        const char *value = calculator_preset_value(preset, field->name);
        buf_addf(b, "%c%s=", mark, field->name);
        url_add_encoded(b, value ? value : value_text(&p->calculator, field, text, sizeof text));
        mark = '&';
    }
    if (p->calculator.corrections != CORRECT_ALL) {
        buf_adds(b, "&corrections=none");
        for (size_t i = 0; i < ARRAY_LEN(calculator_corrections); i++)
            if (p->calculator.corrections & calculator_corrections[i].bit)
                buf_addf(b, ",%s", calculator_corrections[i].name);
    }
    put(f, "<li><a");
    html_attr_scratch(&f->html, "href");
    put(f, ">");
    html_text(&f->html, preset->name);
    put(f, "</a></li>");
}

static void write_presets(struct frame *f, const struct predict_page *p)
{
    put(f, "<details class=\"presets\"><summary>");
    put_word(f, SITE_CALC_CARDS);
    put(f, "</summary><ul class=\"chips\">");
    for (size_t i = 0; i < card_preset_count; i++)
        write_preset(f, p, &card_presets[i]);
    put(f, "</ul></details>\n<details class=\"presets\"><summary>");
    put_word(f, SITE_CALC_MODELS);
    put(f, "</summary><ul class=\"chips\">");
    for (size_t i = 0; i < model_preset_count; i++)
        write_preset(f, p, &model_presets[i]);
    put(f, "</ul></details>\n");
}

/* ---- the answer ------------------------------------------------------------------------------ */

static const char *figure(struct frame *f, char text[NUM_TEXT_MAX], double v, int decimals)
{
    return isinf(v) ? site_word(f->l, SITE_CALC_NO_LIMIT) : lang_number(f->rl, text, v, decimals);
}

/* `plain`: the same without corrections, told where it is another figure; NAN: there is none. */
static void write_both(struct frame *f, enum site_word label, double v, double plain, int decimals,
                       const char *unit, const char *more)
{
    char text[NUM_TEXT_MAX], other[NUM_TEXT_MAX];
    bool differs = !isnan(plain) &&
                   strcmp(figure(f, text, v, decimals), figure(f, other, plain, decimals)) != 0;
    put(f, "<div><dt>");
    put_word(f, label);
    put(f, "</dt><dd><b>");
    html_text(&f->html, figure(f, text, v, decimals));
    put(f, "</b> ");
    html_text(&f->html, unit);
    put(f, " <small>");
    html_text(&f->html, more);
    put(f, "</small>");
    if (differs) {
        put(f, " <small class=\"plain\">");
        site_say_corrections_plain(f->l, html_scratch(&f->html),
                                   .figure = figure(f, other, plain, decimals));
        html_text_scratch(&f->html);
        put(f, "</small>");
    }
    put(f, "</dd></div>\n");
}

static void write_highlight(struct frame *f, enum site_word label, double v, int decimals,
                            const char *unit, const char *more)
{
    write_both(f, label, v, NAN, decimals, unit, more);
}

static void write_state(struct frame *f, const struct predict_page *p)
{
    static const enum site_word words[] = {
        [STATE_RESIDENT_FAIL] = SITE_CALC_RESIDENT_FAIL,
        [STATE_SESSION_FAIL] = SITE_CALC_SESSION_FAIL,
        [STATE_FLOOR_FAIL] = SITE_CALC_FLOOR_FAIL,
        [STATE_USABLE] = SITE_CALC_USABLE,
    };
    if (p->answer.state == STATE_USABLE)
        put(f, "<p class=\"notice\" role=\"status\">");
    else
        put(f, "<p class=\"notice problem\" role=\"status\">");
    put_word(f, words[p->answer.state]);
    put(f, "</p>\n");
}

static void write_answer(struct frame *f, const struct predict_page *p)
{
    const struct calculator_answer *a = &p->answer, *plain = &p->plain;
    const char *rate = word(f->rl, WORD_UNIT_TOK_S);
    char text[NUM_TEXT_MAX];
    struct buf more;
    buf_init(&more, 1000);
    write_state(f, p);
    put(f, "<dl class=\"highlights many\">");
    write_both(f, SITE_CALC_SINGLE, a->single.session_tok_s, plain->single.session_tok_s, 1, rate,
               "");
    if (a->state == STATE_USABLE) {
        site_say_calc_sessions(f->l, &more, .n = (int64_t)a->usable_batch);
        write_both(f, SITE_CALC_BEST, a->best.aggregate_tok_s,
                   plain->state == STATE_USABLE ? plain->best.aggregate_tok_s : NAN, 1, rate,
                   more.p);
    }
    write_highlight(f, SITE_CALC_WEIGHTS, a->resident_gb, 2, "GB", "");
    buf_reset(&more);
    site_say_calc_kv(f->l, &more, .gb = lang_number(f->rl, text, a->session_store_gb, 2));
    write_highlight(f, SITE_CALC_FREE, a->free_gb, 2, "GB", more.p);
    write_highlight(f, SITE_CALC_MEMORY_BATCH, a->memory_batch, 0, "", "");
    write_both(f, SITE_CALC_RATE_BATCH, a->rate_batch, plain->rate_batch, 0, "", "");
    if (!isnan(a->prefill_tok_s))
        write_highlight(f, SITE_CALC_PREFILL, a->prefill_tok_s, 0, rate, "");
    put(f, "</dl>\n");
    buf_release(&more);
}

/* ---- charts ---------------------------------------------------------------------------------- */

static void add_point(struct chart_series *s, double x, double y)
{
    if (isfinite(y) && y > 0 && s->count < CHART_MAX)
        s->points[s->count++] = (struct chart_point){.x = x, .y = y, .low = NAN, .high = NAN};
}

static void name_series(struct frame *f, struct chart_series *s, bool measured, double context)
{
    char size[NUM_TEXT_MAX];
    struct buf name;
    buf_init(&name, CHART_NAME_MAX - 1);
    *s = (struct chart_series){0};
    num_size_text(size, llround(context));
    if (measured)
        site_say_calc_line_measured(f->l, &name, .context = size);
    else
        site_say_calc_line_bound(f->l, &name, .context = size);
    snprintf(s->name, sizeof s->name, "%s", name.p);
    buf_release(&name);
}

/* The bound over the number of sessions, at the read context and at a quarter and four times it. */
static void add_bounds(struct frame *f, const struct predict_page *p, struct chart *c)
{
    static const double factors[] = {0.25, 1, 4};
    for (size_t i = 0; i < ARRAY_LEN(factors); i++) {
        struct calculator at = p->calculator;
        struct chart_series *s = &c->series[c->count];
        at.read_context = floor(at.read_context * factors[i]);
        name_series(f, s, false, at.read_context);
        for (size_t k = 0; k < c->x_tick_count; k++)
            add_point(s, c->x_ticks[k], calculator_at(&at, c->x_ticks[k]).aggregate_tok_s);
        c->count += s->count > 0;
    }
}

/* The measured cells of the context that is nearest to the read context. */
static void add_measured(struct frame *f, const struct predict_page *p, struct chart *c)
{
    int64_t nearest = -1;
    if (!p->measured)
        return;
    for (size_t i = 0; i < p->measured->decode_count; i++) {
        int64_t context = p->measured->decode[i].context_tokens;
        if (nearest < 0 || fabs((double)context - p->calculator.read_context) <
                               fabs((double)nearest - p->calculator.read_context))
            nearest = context;
    }
    struct chart_series *s = &c->series[c->count];
    name_series(f, s, true, (double)nearest);
    for (size_t k = 0; k < c->x_tick_count; k++) {
        const struct cell *cell = result_cell(p->measured, nearest, (int)c->x_ticks[k]);
        if (cell && status_has_numbers(cell->status))
            add_point(s, c->x_ticks[k], cell->total_tok_s);
    }
    c->count += s->count > 0;
}

static void write_chart(struct frame *f, const struct chart *c)
{
    put(f, "<figure><figcaption>");
    html_text(&f->html, word(f->rl, c->title));
    put(f, "</figcaption>");
    chart_write(c, f->rl, false, &f->html);
    put(f, "</figure>\n");
}

static void write_over_batch(struct frame *f, const struct predict_page *p, struct chart *c)
{
    *c = (struct chart){.id = "batch",
                        .title = WORD_CHART_BOUND_BATCH,
                        .x_name = WORD_CHART_LEVEL_AXIS,
                        .y_name = WORD_CHART_TOTAL_AXIS,
                        .x_log = true,
                        .y_log = true,
                        .decimals = -1};
    for (int b = 1; b <= 128; b *= 2)
        c->x_ticks[c->x_tick_count++] = b;
    add_bounds(f, p, c);
    add_measured(f, p, c);
    write_chart(f, c);
}

/* What one session, and as many as fit, get at each context. */
static void write_over_context(struct frame *f, const struct predict_page *p, struct chart *c)
{
    const double batches[] = {1, fmax(p->answer.usable_batch, 1)};
    *c = (struct chart){.id = "context",
                        .title = WORD_CHART_BOUND_CONTEXT,
                        .x_name = WORD_CHART_CONTEXT_AXIS,
                        .y_name = WORD_CHART_EACH_AXIS,
                        .x_size = true,
                        .decimals = -1};
    for (int context = 0; context <= 128 << 10; context = context ? context * 2 : 8 << 10)
        c->x_ticks[c->x_tick_count++] = context;
    for (size_t i = 0; i < ARRAY_LEN(batches) && (i == 0 || batches[i] > 1); i++) {
        struct chart_series *s = &c->series[c->count];
        *s = (struct chart_series){0};
        snprintf(s->name, sizeof s->name, "%.0f", batches[i]);
        for (size_t k = 0; k < c->x_tick_count; k++) {
            struct calculator at = p->calculator;
            at.read_context = c->x_ticks[k];
            add_point(s, c->x_ticks[k], calculator_at(&at, batches[i]).session_tok_s);
        }
        c->count += s->count > 0;
    }
    write_chart(f, c);
}

void page_predict_write(struct frame *f, const struct predict_page *p)
{
    struct chart *c = mem_alloc(sizeof *c);
    frame_begin(f, site_word(f->l, SITE_CALC_TITLE));
    frame_heading(f, site_word(f->l, SITE_CALC_TITLE), site_word(f->l, SITE_CALC_LEAD));
    if (p->problem) {
        put(f, "<p class=\"notice problem\" role=\"alert\">");
        put_text(f, p->problem);
        put(f, "</p>\n");
    } else {
        write_answer(f, p);
        put(f, "<div class=\"charts\">");
        write_over_batch(f, p, c);
        write_over_context(f, p, c);
        put(f, "</div>\n");
    }
    write_presets(f, p);
    write_form(f, p);
    put(f, "<p class=\"by\">");
    put_word(f, SITE_CALC_READING);
    put(f, "</p>\n");
    frame_end(f);
    free(c);
}
