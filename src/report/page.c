/* page.c - the document around the parts. */
#include "report/page.h"

#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "report/charts.h"
#include "report/page_parts.h"
#include "report/words.h"

void page_by(const struct page *p, enum word w)
{
    html_raw(p->h, "<p class=\"by\">");
    html_text(p->h, word(p->l, w));
    html_raw(p->h, "</p>");
}

void page_items(const struct page *p, const char *lines)
{
    while (*lines) {
        size_t n = strcspn(lines, "\n");
        char *line = mem_strndup(lines, n);
        html_raw(p->h, "<li>");
        html_text(p->h, line);
        html_raw(p->h, "</li>");
        free(line);
        lines += n + (lines[n] == '\n');
    }
}

void page_cell_id(const struct page *p, int64_t context, int concurrency)
{
    char text[NUM_TEXT_MAX];
    num_size_text(text, context);
    for (char *c = text; *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 'a' - 'A') : *c;
    html_text(p->h, text);
    html_raw(p->h, "-");
    html_int(p->h, concurrency);
}

/* ---- head ------------------------------------------------------------------------------------ */

static void write_policy(const struct page *p)
{
    html_raw(p->h, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                   "style-src '");
    html_text(p->h, page_style.csp);
    html_raw(p->h, "'; script-src '");
    html_text(p->h, page_script.csp);
    html_raw(p->h, "'; img-src data:; base-uri 'none'; form-action 'none'\">\n");
}

static void write_head(const struct page *p)
{
    html_raw(p->h, "<head>\n<meta charset=\"utf-8\">\n");
    write_policy(p);
    html_raw(p->h, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                   "<meta name=\"color-scheme\" content=\"light dark\">\n"
                   "<meta name=\"generator\" content=\"tokgrid " TOKGRID_VERSION "\">\n"
                   "<meta name=\"description\"");
    headline_engine(p->r, p->l, html_scratch(p->h));
    buf_adds(&p->h->scratch, word(p->l, WORD_LIST_DOT));
    headline_grid(p->r, p->l, &p->h->scratch);
    html_attr_scratch(p->h, "content");
    html_raw(p->h, ">\n<title>");
    headline_title(p->r, p->l, html_scratch(p->h));
    html_text_scratch(p->h);
    html_raw(p->h, "</title>\n<style>");
    html_asset(p->h, &page_style);
    html_raw(p->h, "</style>\n</head>\n");
}

/* A paragraph of what `add` says; nothing when it says nothing. */
static void write_line(const struct page *p, report_part_fn *add)
{
    add(p->r, p->l, html_scratch(p->h));
    if (!p->h->scratch.len)
        return;
    html_raw(p->h, "<p>");
    html_text_scratch(p->h);
    html_raw(p->h, "</p>\n");
}

static void write_badge(const struct page *p)
{
    static const char *const kinds[] = {"measured", "simulated", "imported"};
    size_t i = 0;
    if (!p->r->kind)
        return;
    while (i < ARRAY_LEN(kinds) && strcmp(kinds[i], p->r->kind) != 0)
        i++;
    html_raw(p->h, "<span class=\"badge b");
    html_int(p->h, (long long)i);
    html_raw(p->h, "\">");
    headline_kind(p->r, p->l, html_scratch(p->h));
    html_text_scratch(p->h);
    html_raw(p->h, "</span>");
}

static void write_by(const struct page *p)
{
    static report_part_fn *const parts[] = {headline_author, headline_tool};
    html_raw(p->h, "<p class=\"who\">");
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        parts[i](p->r, p->l, html_scratch(p->h));
        if (!p->h->scratch.len)
            continue;
        html_raw(p->h, "<span>");
        html_text_scratch(p->h);
        html_raw(p->h, "</span> ");
    }
    write_badge(p);
    html_raw(p->h, "</p>\n");
}

static void write_skip(const struct page *p)
{
    html_raw(p->h, "<a class=\"skip\" href=\"#main\">");
    html_text(p->h, word(p->l, WORD_PAGE_SKIP));
    html_raw(p->h, "</a>\n");
}

static void write_header(const struct page *p)
{
    html_raw(p->h, "<header>\n<p class=\"what\">");
    html_text(p->h, word(p->l, WORD_PAGE_WHAT));
    html_raw(p->h, "</p>\n<h1>");
    headline_title(p->r, p->l, html_scratch(p->h));
    html_text_scratch(p->h);
    html_raw(p->h, "</h1>\n");
    write_line(p, headline_engine);
    write_line(p, headline_grid);
    write_by(p);
    write_line(p, headline_simulated);
    html_raw(p->h, "</header>\n");
}

/* ---- charts, remarks, the document itself ---------------------------------------------------- */

static void page_charts(const struct page *p)
{
    struct chart *c = mem_alloc(sizeof *c);
    bool any = false, intervals = false;
    for (int kind = 0; kind < CHART_KINDS; kind++) {
        if (!chart_of((enum chart_kind)kind, p->r, p->l, c))
            continue;
        if (!any) {
            html_raw(p->h, "<section aria-labelledby=\"charts\">");
            page_heading(p, "charts", WORD_CHART_TITLE);
            html_raw(p->h, "<div class=\"charts\">\n");
        }
        any = true;
        intervals |= chart_has_intervals(c);
        html_raw(p->h, "<figure><figcaption>");
        html_text(p->h, word(p->l, c->title));
        html_raw(p->h, "</figcaption>");
        chart_write(c, p->l, false, p->h);
        html_raw(p->h, "</figure>\n");
    }
    if (any) {
        html_raw(p->h, "</div>");
        if (intervals)
            page_by(p, WORD_CHART_READING);
        html_raw(p->h, "</section>\n");
    }
    free(c);
}

static void write_remarks(const struct page *p)
{
    struct buf *b = html_scratch(p->h);
    remarks_reasons(p->r, p->l, b);
    remarks_outcomes(p->r, p->l, b);
    remarks_notes(p->r, p->l, b);
    if (!b->len)
        return;
    char *lines = buf_detach(b);
    html_raw(p->h, "<section aria-labelledby=\"remarks\">");
    page_heading(p, "remarks", WORD_PAGE_REMARKS);
    html_raw(p->h, "<ul class=\"lines\">");
    page_items(p, lines);
    html_raw(p->h, "</ul></section>\n");
    free(lines);
}

/* The document stands on the page once, as text that can be read and copied without script; the
 * script offers the same text as a file. */
static void write_document(const struct page *p)
{
    struct buf json;
    buf_init(&json, p->h->out->max);
    if (!result_write_json(p->r, &json))
        p->h->out->overflow = true;
    html_raw(p->h, "<section aria-labelledby=\"raw\">");
    page_heading(p, "raw", WORD_PAGE_RAW);
    page_by(p, WORD_PAGE_RAW_BY);
    html_raw(p->h, "<button type=\"button\" class=\"download\" hidden data-file=\"");
    html_text(p->h, p->r->id ? p->r->id : "run");
    html_raw(p->h, ".json\">");
    html_text(p->h, word(p->l, WORD_PAGE_DOWNLOAD));
    html_raw(p->h, "</button>\n<details><summary>");
    html_text(p->h, word(p->l, WORD_PAGE_RAW_SHOW));
    html_raw(p->h, "</summary><pre tabindex=\"0\" id=\"document\">");
    html_json(p->h, json.p, json.len);
    html_raw(p->h, "</pre></details></section>\n");
    buf_release(&json);
}

/* Where the document is kept beside the page. */
static void write_link(const struct page *p, const char *url)
{
    html_raw(p->h, "<section aria-labelledby=\"raw\">");
    page_heading(p, "raw", WORD_PAGE_RAW);
    page_by(p, WORD_PAGE_RAW_BY);
    html_raw(p->h, "<p><a class=\"button\" download");
    html_attr(p->h, "href", url);
    html_raw(p->h, ">");
    html_text(p->h, word(p->l, WORD_PAGE_DOWNLOAD));
    html_raw(p->h, "</a></p></section>\n");
}

static void write_footer(const struct page *p)
{
    html_raw(p->h, "<footer><p>");
    say_page_made_by(p->l, html_scratch(p->h), .program = "tokgrid " TOKGRID_VERSION);
    html_text_scratch(p->h);
    html_raw(p->h, "</p></footer>\n");
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void (*const parts[])(const struct page *p) = {
    page_highlights,   page_setup,   page_prefill,    page_matrix,   page_charts,
    page_measurements, page_details, page_conditions, write_remarks,
};

static void write_sections(const struct page *p)
{
    write_header(p);
    html_raw(p->h, "<main id=\"main\">\n");
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        parts[i](p);
}

bool page_write(const struct result *r, const struct page_options *o, struct buf *out)
{
    struct html h;
    struct page p = {.r = r, .l = o->lang ? o->lang : langs[0], .h = &h};
    html_init(&h, out);
    axes_of(r, &p.axes);
    html_raw(&h, "<!DOCTYPE html>\n<html");
    html_attr(&h, "lang", p.l->code);
    html_raw(&h, ">\n");
    write_head(&p);
    html_raw(&h, "<body>\n");
    write_skip(&p);
    write_sections(&p);
    write_document(&p);
    html_raw(&h, "</main>\n");
    write_footer(&p);
    html_raw(&h, "<script>");
    html_asset(&h, &page_script);
    html_raw(&h, "</script>\n</body>\n</html>\n");
    html_release(&h);
    return !out->overflow;
}

bool page_write_within(const struct result *r, const struct page_options *o, struct buf *out)
{
    struct html h;
    struct page p = {.r = r, .l = o->lang ? o->lang : langs[0], .h = &h};
    html_init(&h, out);
    axes_of(r, &p.axes);
    write_sections(&p);
    if (o->document_url)
        write_link(&p, o->document_url);
    else
        write_document(&p);
    html_raw(&h, "</main>\n");
    html_release(&h);
    return !out->overflow;
}
