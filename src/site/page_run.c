/* page_run.c - a run: the report's page within the site, with what the site knows about it. */
#include <math.h>
#include <string.h>

#include "report/headline.h"
#include "report/page.h"
#include "report/plain.h"
#include "site/report_reasons.h"
#include "site/site_pages.h"
#include "site/stamp_text.h"

static void write_state(struct frame *f, const struct run_page *p)
{
    static const enum site_word words[STORE_RUN_STATES] = {
        [STORE_RUN_DRAFT] = SITE_RUN_IS_DRAFT,
        [STORE_RUN_FLAGGED] = SITE_RUN_IS_FLAGGED,
        [STORE_RUN_WITHDRAWN] = SITE_RUN_IS_WITHDRAWN,
    };
    if (p->run.state == STORE_RUN_PUBLIC)
        return;
    put(f, "<div class=\"notice problem\"><p>");
    put_word(f, words[p->run.state]);
    put(f, "</p>");
    put_flags(f, &p->flags, p->run.uid, p->result);
    put(f, "</div>\n");
}

static void write_where(struct frame *f, const struct run_page *p)
{
    put(f, "<p class=\"facts\">");
    put_link(f, "/models", p->run.model);
    put_text(f, p->run.model);
    put(f, "</a> · ");
    put_link(f, "/hardware", p->run.hardware);
    put_text(f, p->run.hardware_title);
    put(f, "</a> · ");
    put_link(f, "/users", p->run.owner_name);
    put_text(f, p->run.owner_name);
    put(f, "</a> · ");
    put_day(f, p->run.created_ms);
    if (p->run.revision > 1) {
        char text[NUM_TEXT_MAX];
        put(f, " · ");
        site_say_run_revision(f->l, html_scratch(&f->html),
                              .number = lang_number(f->rl, text, p->run.revision, 0));
        html_text_scratch(&f->html);
    }
    put(f, "</p>\n");
}

static void write_actions(struct frame *f, const struct run_page *p)
{
    put(f, "<p class=\"actions\"><a class=\"button\" href=\"");
    put_href(f, "/compare", NULL);
    put(f, "?run=");
    html_text(&f->html, p->run.uid);
    put(f, "\">");
    put_word(f, SITE_RUN_COMPARE);
    put(f, "</a>");
    if (p->bound_query) {
        put(f, " <a class=\"button\" href=\"");
        put_href(f, "/calculator", NULL);
        put(f, "?");
        html_text(&f->html, p->bound_query);
        put(f, "\">");
        put_word(f, SITE_RUN_BOUND);
        put(f, "</a>");
    }
    put(f, "</p>\n");
}

/* A run whose flags a moderator has not taken away is not published anew: no button that fails. */
static bool may_move(const struct run_page *p)
{
    return p->run.state != STORE_RUN_WITHDRAWN || p->flags.n == 0;
}

/* What its owner can do with it. */
static void write_own(struct frame *f, const struct run_page *p)
{
    static const struct {
        enum store_run_state from;
        const char *to;
        enum site_word word;
    } moves[] = {
        {STORE_RUN_DRAFT, "public", SITE_RUN_PUBLISH},
        {STORE_RUN_PUBLIC, "withdrawn", SITE_RUN_WITHDRAW},
        {STORE_RUN_FLAGGED, "withdrawn", SITE_RUN_WITHDRAW},
        {STORE_RUN_WITHDRAWN, "public", SITE_RUN_PUBLISH},
    };
    for (size_t i = 0; p->own && may_move(p) && i < ARRAY_LEN(moves); i++) {
        if (moves[i].from != p->run.state)
            continue;
        put_form(f, "/runs", p->run.uid, false);
        put(f, "<p class=\"actions\">");
        put_hidden(f, "state", moves[i].to);
        put_button(f, moves[i].word);
        put(f, "</p></form>\n");
    }
}

static void write_history(struct frame *f, const struct run_page *p)
{
    if (p->history.n < 2)
        return;
    put(f, "<section><h2>");
    put_word(f, SITE_RUN_HISTORY);
    put(f, "</h2><ul class=\"lines\">");
    for (size_t i = 0; i < p->history.n; i++) {
        const struct store_revision *r = &p->history.v[i];
        put(f, "<li>");
        html_int(&f->html, r->revision);
        put(f, " · ");
        put_day(f, r->created_ms);
        put(f, " · ");
        put_text(f, r->note);
        put(f, "</li>");
    }
    put(f, "</ul></section>\n");
}

/* Kept by its owner, for the next run on the same machine. */
static void write_setup(struct frame *f, const struct run_page *p)
{
    if (!p->own)
        return;
    put(f, "<form method=\"post\" action=\"");
    put_href(f, "/runs", p->run.uid);
    put(f, "/setup\">");
    put_hidden(f, "csrf", f->csrf ? f->csrf : "");
    put(f, "<p class=\"actions\"><button type=\"submit\" class=\"plain\">");
    put_word(f, SITE_SETUP_FROM_RUN);
    put(f, "</button></p></form>\n");
}

/* ---- for moderators, and for those who see something wrong ----------------------------------- */

static void write_report_form(struct frame *f, const struct run_page *p)
{
    put(f, "<details class=\"more\"><summary>");
    put_word(f, SITE_REPORT_TITLE);
    put(f, "</summary><p class=\"by\">");
    put_word(f, SITE_REPORT_WORDS);
    put(f, "</p>\n<form method=\"post\" action=\"");
    put_href(f, "/runs", p->run.uid);
    put(f, "/report\">");
    put_hidden(f, "csrf", f->csrf ? f->csrf : "");
    put_select(f, SITE_REPORT_REASON, "reason");
    for (size_t i = 0; i < report_reason_count; i++)
        put_option(f, report_reasons[i].name, site_word(f->l, report_reasons[i].word), false);
    put_select_end(f);
    put_area(f, SITE_REPORT_TEXT, "text", site_word(f->l, SITE_REPORT_TEXT_HINT));
    put_button(f, SITE_REPORT_SEND);
    put(f, "</form></details>\n");
}

static void write_report(struct frame *f, const struct run_page *p)
{
    if (p->own || !store_run_is_listed(p->run.state))
        return;
    if (f->viewer) {
        write_report_form(f, p);
        return;
    }
    struct buf *b = html_scratch(&f->html);
    buf_addf(b, "/%s/sign-in?next=/%s/runs/%s", f->l->code, f->l->code, p->run.uid);
    put(f, "<p class=\"facts\"><a");
    html_attr_scratch(&f->html, "href");
    put(f, ">");
    put_word(f, SITE_REPORT_SIGN_IN);
    put(f, "</a></p>\n");
}

static void write_moderation(struct frame *f, const struct run_page *p)
{
    if (!f->viewer_is_admin || p->run.state == STORE_RUN_DRAFT)
        return;
    put(f, "<details class=\"more\"><summary>");
    put_word(f, SITE_ADMIN_DECIDE);
    put(f, "</summary>\n");
    put_decision_form(f, &p->run, true);
    put(f, "</details>\n");
}

/* ---- for other sites ------------------------------------------------------------------------- */

/* Brackets and backslashes would end the text of a Markdown link. */
static void add_markdown_text(struct buf *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (strchr("[]\\`*_<>!", *c))
            buf_addc(out, '\\');
        buf_addc(out, *c);
    }
}

static void write_embed(struct frame *f, const struct run_page *p)
{
    if (!store_run_is_listed(p->run.state))
        return;
    put(f, "<details class=\"more\"><summary>");
    put_word(f, SITE_SHARE_TITLE);
    put(f, "</summary><p class=\"by\">");
    put_word(f, SITE_SHARE_WORDS);
    put(f, "</p>\n<div class=\"command\"><button type=\"button\" class=\"copy\" hidden");
    html_attr(&f->html, "data-done", word(f->rl, WORD_PAGE_COPIED));
    put(f, ">");
    html_text(&f->html, word(f->rl, WORD_PAGE_COPY));
    put(f, "</button><pre tabindex=\"0\"><code>");
    struct buf *b = html_scratch(&f->html);
    buf_adds(b, "[![");
    add_markdown_text(b, p->run.title);
    buf_addf(b, "](%s/%s/runs/%s.svg)](%s/%s/runs/%s)", p->origin, f->l->code, p->run.uid,
             p->origin, f->l->code, p->run.uid);
    html_text_scratch(&f->html);
    put(f, "</code></pre></div></details>\n");
}

/* What the page's card says, in buffers of the caller's. */
struct card_texts {
    struct buf description, url, image;
};

static void make_card(struct frame *f, const struct run_page *p, struct card_texts *t)
{
    char single[NUM_TEXT_MAX], total[NUM_TEXT_MAX];
    const struct store_run *run = &p->run;
    const char *none = word(f->rl, WORD_FIGURE_NONE);
    buf_init(&t->description, 4000);
    buf_init(&t->url, 1000);
    buf_init(&t->image, 1000);
    if (run->state == STORE_RUN_FLAGGED)
        buf_addf(&t->description, "%s. ", site_word(f->l, SITE_SHARE_FLAGGED));
    site_say_share_description(
        f->l, &t->description, .engine = run->engine ? run->engine : none,
        .hardware = run->hardware_title,
        .single = isnan(run->single_tok_s) ? none : lang_rate(f->rl, single, run->single_tok_s),
        .total = isnan(run->total_tok_s) ? none : lang_rate(f->rl, total, run->total_tok_s));
    buf_addf(&t->url, "%s/%s/runs/%s", p->origin, f->l->code, run->uid);
    buf_addf(&t->image, "%s.svg", t->url.p);
}

static void release_card(struct card_texts *t)
{
    buf_release(&t->description);
    buf_release(&t->url);
    buf_release(&t->image);
}

bool page_run_write(struct frame *f, const struct run_page *p)
{
    struct buf url;
    struct card_texts texts;
    f->has_script = true;
    make_card(f, p, &texts);
    const struct frame_card card = {
        .title = p->run.title,
        .description = texts.description.p,
        .url = texts.url.p,
        .image = texts.image.p,
    };
    f->card = store_run_is_listed(p->run.state) ? &card : NULL;
    frame_begin(f, p->run.title);
    release_card(&texts);
    put(f, "<aside class=\"above\"");
    html_attr(&f->html, "aria-label", site_word(f->l, SITE_RUN_ABOUT));
    put(f, ">");
    write_where(f, p);
    if (p->reported) {
        put(f, "<p class=\"notice\" role=\"status\">");
        put_word(f, SITE_REPORT_SENT);
        put(f, "</p>\n");
    }
    write_state(f, p);
    write_actions(f, p);
    write_own(f, p);
    write_setup(f, p);
    write_moderation(f, p);
    write_embed(f, p);
    write_report(f, p);
    write_history(f, p);
    put(f, "</aside>\n");
    buf_init(&url, 200);
    buf_addf(&url, "/api/v1/runs/%s/raw", p->run.uid);
    /* The API gives what is not listed to keys only, and a browser sends none. */
    const struct page_options options = {
        .lang = f->rl, .document_url = store_run_is_listed(p->run.state) ? url.p : NULL};
    bool ok = page_write_within(p->result, &options, f->html.out);
    buf_release(&url);
    put(f, "<footer><p>");
    put_word(f, SITE_FOOTER_WORDS);
    put(f, "</p></footer>\n</body>\n</html>\n");
    return ok;
}
