/* frame.c - head, navigation, footer, and the small pieces. */
#include "site/frame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/version.h"
#include "report/plain.h"
#include "site/stamp_text.h"

void frame_init(struct frame *f, const struct site_lang *l, struct buf *out)
{
    *f = (struct frame){.l = l, .rl = site_report_lang(l), .path = "/"};
    html_init(&f->html, out);
}

void frame_release(struct frame *f)
{
    html_release(&f->html);
}

/* ---- small pieces ---------------------------------------------------------------------------- */

void put_text(struct frame *f, const char *s)
{
    if (!s || !*s) {
        html_text(&f->html, word(f->rl, WORD_FIGURE_NONE));
        return;
    }
    plain_add(html_scratch(&f->html), s);
    html_text_scratch(&f->html);
}

void put_word(struct frame *f, enum site_word w)
{
    html_text(&f->html, site_word(f->l, w));
}

void put_number(struct frame *f, double v, int decimals)
{
    char text[NUM_TEXT_MAX];
    if (isnan(v))
        html_text(&f->html, word(f->rl, WORD_FIGURE_NONE));
    else
        html_text(&f->html, lang_number(f->rl, text, v, decimals));
}

void put_rate(struct frame *f, double tok_s)
{
    put_number(f, tok_s, tok_s >= 999.95 ? 0 : 1);
}

void put_count(struct frame *f, int64_t n)
{
    put_number(f, (double)n, 0);
}

void put_size(struct frame *f, int64_t tokens)
{
    char text[NUM_TEXT_MAX];
    html_text(&f->html, num_size_text(text, tokens));
}

/* The first `n` characters of a stamp. */
static void put_time(struct frame *f, int64_t unix_ms, size_t n)
{
    char stamp[CLOCK_TEXT_MAX];
    if (unix_ms <= 0) {
        html_text(&f->html, word(f->rl, WORD_FIGURE_NONE));
        return;
    }
    put(f, "<time");
    html_attr(&f->html, "datetime", stamp_text(unix_ms, stamp));
    put(f, ">");
    stamp[10] = ' ';
    stamp[n] = '\0';
    html_text(&f->html, stamp);
    put(f, "</time>");
}

void put_day(struct frame *f, int64_t unix_ms)
{
    put_time(f, unix_ms, 10);
}

void put_moment(struct frame *f, int64_t unix_ms)
{
    put_time(f, unix_ms, 19);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static bool is_two_segments(const char *name)
{
    const char *slash = strchr(name, '/');
    if (!slash || slash == name || !slash[1] || strchr(slash + 1, '/'))
        return false;
    size_t first = (size_t)(slash - name);
    bool dots = (first <= 2 && strspn(name, ".") == first) ||
                (strlen(slash + 1) <= 2 && strspn(slash + 1, ".") == strlen(slash + 1));
    return !dots;
}

void path_add_name(struct buf *out, const char *name)
{
    const char *slash = is_two_segments(name) ? strchr(name, '/') : NULL;
    if (slash) {
        char *first = mem_strndup(name, (size_t)(slash - name));
        url_add_encoded(out, first);
        free(first);
        buf_addc(out, '/');
        name = slash + 1;
    }
    url_add_encoded(out, name);
}

void put_href(struct frame *f, const char *path, const char *segment)
{
    struct buf *b = html_scratch(&f->html);
    buf_addf(b, "/%s%s", f->l->code, path);
    if (segment) {
        buf_addc(b, '/');
        path_add_name(b, segment);
    }
    html_text_scratch(&f->html);
}

void put_link(struct frame *f, const char *path, const char *segment)
{
    put(f, "<a href=\"");
    put_href(f, path, segment);
    put(f, "\">");
}

/* The address of this page with one parameter changed, in the scratch buffer. */
static void make_query(struct frame *f, const char *path, const char *name, const char *value)
{
    struct buf *b = html_scratch(&f->html);
    char mark = '?';
    buf_addf(b, "/%s", f->l->code);
    if (path)
        buf_adds(b, path);
    else
        buf_add(b, f->path, strcspn(f->path, "?"));
    for (size_t i = 0; f->query && i < f->query->count; i++) {
        const struct param *p = &f->query->v[i];
        if (strcmp(p->name, name) == 0 || strcmp(p->name, "after") == 0 || !*p->value)
            continue;
        buf_addc(b, mark);
        url_add_encoded(b, p->name);
        buf_addc(b, '=');
        url_add_encoded(b, p->value);
        mark = '&';
    }
    if (value) {
        buf_addc(b, mark);
        url_add_encoded(b, name);
        buf_addc(b, '=');
        url_add_encoded(b, value);
    }
}

void put_query_link(struct frame *f, const char *path, const char *name, const char *value)
{
    make_query(f, path, name, value);
    put(f, "<a");
    html_attr_scratch(&f->html, "href");
    put(f, ">");
}

void put_tab(struct frame *f, const char *path, const char *name, const char *value,
             enum site_word label)
{
    bool here = strcmp(params_get(f->query, name), value ? value : "") == 0;
    make_query(f, path, name, value);
    put(f, "<li><a");
    html_attr_scratch(&f->html, "href");
    if (here)
        put(f, " aria-current=\"page\"");
    put(f, ">");
    put_word(f, label);
    put(f, "</a></li>");
}

void put_hidden_heading(struct frame *f, enum site_word w)
{
    put(f, "<h2 class=\"hide\">");
    put_word(f, w);
    put(f, "</h2>\n");
}

void put_pager(struct frame *f, const char *path, const char *next)
{
    bool first = !f->query || !*params_get(f->query, "after");
    if (first && !*next)
        return;
    put(f, "<nav class=\"pager\">");
    if (!first) {
        put_query_link(f, path, "after", NULL);
        put_word(f, SITE_PAGER_FIRST);
        put(f, "</a> ");
    }
    if (*next) {
        put_query_link(f, path, "after", next);
        put_word(f, SITE_PAGER_NEXT);
        put(f, "</a>");
    }
    put(f, "</nav>\n");
}

/* ---- forms ----------------------------------------------------------------------------------- */

void put_form(struct frame *f, const char *path, const char *segment, bool has_file)
{
    put(f, "<form method=\"post\" action=\"");
    put_href(f, path, segment);
    if (has_file)
        put(f, "\" enctype=\"multipart/form-data\">");
    else
        put(f, "\">");
    put_hidden(f, "csrf", f->csrf ? f->csrf : "");
    put(f, "\n");
}

void put_field(struct frame *f, enum site_word label, const char *name, const char *type,
               const char *value, const char *hint)
{
    put(f, "<p class=\"field\"><label");
    html_attr(&f->html, "for", name);
    put(f, ">");
    put_word(f, label);
    put(f, "</label><input");
    html_attr(&f->html, "id", name);
    html_attr(&f->html, "name", name);
    html_attr(&f->html, "type", type);
    if (value)
        html_attr(&f->html, "value", value);
    if (strcmp(name, "user") == 0)
        put(f, " required autocomplete=\"username\" autocapitalize=\"none\" spellcheck=\"false\"");
    else if (strcmp(type, "password") == 0 && hint)
        put(f, " required autocomplete=\"new-password\"");
    else if (strcmp(type, "password") == 0)
        put(f, " required autocomplete=\"current-password\"");
    if (hint) {
        put(f, " aria-describedby=\"");
        html_text(&f->html, name);
        put(f, "-hint\"");
    }
    put(f, ">");
    if (hint) {
        put(f, "<small id=\"");
        html_text(&f->html, name);
        put(f, "-hint\">");
        html_text(&f->html, hint);
        put(f, "</small>");
    }
    put(f, "</p>\n");
}

void put_area(struct frame *f, enum site_word label, const char *name, const char *hint)
{
    put(f, "<p class=\"field wide\"><label");
    html_attr(&f->html, "for", name);
    put(f, ">");
    put_word(f, label);
    put(f, "</label><textarea rows=\"3\"");
    html_attr(&f->html, "id", name);
    html_attr(&f->html, "name", name);
    put(f, "></textarea>");
    if (hint) {
        put(f, "<small>");
        html_text(&f->html, hint);
        put(f, "</small>");
    }
    put(f, "</p>\n");
}

void put_button_value(struct frame *f, enum site_word label, const char *name, const char *value)
{
    put(f, "<button type=\"submit\"");
    html_attr(&f->html, "name", name);
    html_attr(&f->html, "value", value);
    put(f, ">");
    put_word(f, label);
    put(f, "</button>");
}

void put_hidden(struct frame *f, const char *name, const char *value)
{
    put(f, "<input type=\"hidden\"");
    html_attr(&f->html, "name", name);
    html_attr(&f->html, "value", value);
    put(f, ">");
}

void put_empty(struct frame *f, enum site_word words)
{
    put(f, "<p class=\"empty\">");
    put_word(f, words);
    put(f, "</p>\n");
}

void put_button(struct frame *f, enum site_word label)
{
    put(f, "<button type=\"submit\">");
    put_word(f, label);
    put(f, "</button>");
}

void put_select(struct frame *f, enum site_word label, const char *name)
{
    put(f, "<p class=\"field\"><label");
    html_attr(&f->html, "for", name);
    put(f, ">");
    put_word(f, label);
    put(f, "</label><select");
    html_attr(&f->html, "id", name);
    html_attr(&f->html, "name", name);
    put(f, ">");
}

void put_option(struct frame *f, const char *value, const char *text, bool chosen)
{
    put(f, "<option");
    html_attr(&f->html, "value", value);
    if (chosen)
        put(f, " selected");
    put(f, ">");
    put_text(f, text);
    put(f, "</option>");
}

void put_select_end(struct frame *f)
{
    put(f, "</select></p>\n");
}

/* ---- the document ---------------------------------------------------------------------------- */

static const struct {
    const char *path;
    enum site_word name;
} places[] = {
    {"/get-started", SITE_NAV_START},
    {"/leaderboard", SITE_NAV_LEADERBOARD},
    {"/runs", SITE_NAV_RUNS},
    {"/models", SITE_NAV_MODELS},
    {"/organizations", SITE_NAV_ORGANIZATIONS},
    {"/hardware", SITE_NAV_HARDWARE},
    {"/calculator", SITE_NAV_CALCULATOR},
};

void put_place(struct frame *f, const char *path, enum site_word name, bool here)
{
    put(f, "<li><a href=\"");
    put_href(f, path, NULL);
    if (here)
        put(f, "\" aria-current=\"page\">");
    else
        put(f, "\">");
    put_word(f, name);
    put(f, "</a></li>");
}

static void write_place(struct frame *f, const char *path, enum site_word name)
{
    size_t n = strlen(path);
    put_place(f, path, name, strncmp(f->path, path, n) == 0 && strchr("/?", f->path[n]));
}

/* The same page in the other languages. */
static void write_languages(struct frame *f)
{
    for (size_t i = 0; site_langs[i]; i++) {
        if (site_langs[i] == f->l)
            continue;
        put(f, "<li><a");
        html_attr(&f->html, "lang", site_langs[i]->code);
        html_attr(&f->html, "hreflang", site_langs[i]->code);
        put(f, " href=\"/");
        html_text(&f->html, site_langs[i]->code);
        html_text(&f->html, f->path);
        put(f, "\">");
        html_text(&f->html, site_word(site_langs[i], SITE_LANGUAGE_NAME));
        put(f, "</a></li>");
    }
}

static void write_account(struct frame *f)
{
    if (!f->viewer) {
        write_place(f, "/sign-in", SITE_NAV_SIGN_IN);
        return;
    }
    if (f->viewer_is_admin) {
        write_place(f, "/admin", SITE_NAV_ADMIN);
        if (f->waiting > 0) {
            put(f, "<li class=\"count\"><b>");
            put_count(f, f->waiting);
            put(f, "</b></li>");
        }
    }
    put(f, "<li><a href=\"");
    put_href(f, "/dashboard", NULL);
    put(f, "\">");
    put_text(f, f->viewer);
    put(f, "</a></li>");
}

static void write_nav(struct frame *f)
{
    put(f, "<div class=\"top\"><nav");
    html_attr(&f->html, "aria-label", site_word(f->l, SITE_NAV_LABEL));
    put(f, "><a class=\"brand\" href=\"");
    put_href(f, "/", NULL);
    put(f, "\">tokgrid</a><ul class=\"places\">");
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        write_place(f, places[i].path, places[i].name);
    put(f, "</ul><form class=\"find\" role=\"search\" action=\"");
    put_href(f, "/search", NULL);
    put(f, "\"><input type=\"search\" name=\"q\" maxlength=\"100\"");
    html_attr(&f->html, "aria-label", site_word(f->l, SITE_NAV_SEARCH));
    html_attr(&f->html, "placeholder", site_word(f->l, SITE_NAV_SEARCH));
    put(f, "><button type=\"submit\"");
    html_attr(&f->html, "aria-label", site_word(f->l, SITE_NAV_SEARCH));
    put(f, ">→</button></form><ul class=\"me\">");
    write_account(f);
    write_languages(f);
    put(f, "</ul></nav></div>\n");
}

/* Open Graph, which most sites read, and the one line that the rest wants. */
static void write_card(struct frame *f)
{
    const struct frame_card *c = f->card;
    if (!c)
        return;
    const char *const values[] = {c->title, c->description, c->url, c->image};
    static const char *const names[] = {"og:title", "og:description", "og:url", "og:image"};
    put(f, "<meta property=\"og:type\" content=\"article\">\n"
           "<meta property=\"og:site_name\" content=\"tokgrid\">\n"
           "<meta property=\"og:image:type\" content=\"image/svg+xml\">\n"
           "<meta property=\"og:image:width\" content=\"1200\">\n"
           "<meta property=\"og:image:height\" content=\"630\">\n"
           "<meta name=\"twitter:card\" content=\"summary_large_image\">\n");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        put(f, "<meta");
        html_attr(&f->html, "property", names[i]);
        html_attr(&f->html, "content", values[i]);
        put(f, ">\n");
    }
}

void frame_begin(struct frame *f, const char *title)
{
    put(f, "<!DOCTYPE html>\n<html");
    html_attr(&f->html, "lang", f->l->code);
    put(f, ">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
           "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    put_text(f, title);
    put(f, " · tokgrid</title>\n");
    write_card(f);
    put(f, "<link rel=\"stylesheet\" href=\"/assets/");
    html_text(&f->html, f->assets->v[ASSET_STYLE].name);
    put(f, "\">\n<link rel=\"icon\" href=\"/assets/");
    html_text(&f->html, f->assets->v[ASSET_ICON].name);
    if (f->has_script) {
        put(f, "\">\n<script defer src=\"/assets/");
        html_text(&f->html, f->assets->v[ASSET_SCRIPT].name);
        put(f, "\"></script>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">");
    } else {
        put(f, "\">\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">");
    }
    html_text(&f->html, word(f->rl, WORD_PAGE_SKIP));
    put(f, "</a>\n");
    write_nav(f);
}

static void write_line(struct frame *f, const char *text, bool problem)
{
    if (!text)
        return;
    if (problem)
        put(f, "<p class=\"notice problem\" role=\"alert\">");
    else
        put(f, "<p class=\"notice\" role=\"status\">");
    put_text(f, text);
    put(f, "</p>\n");
}

void frame_heading(struct frame *f, const char *title, const char *lead)
{
    put(f, "<header>\n<h1>");
    put_text(f, title);
    put(f, "</h1>\n");
    if (lead) {
        put(f, "<p class=\"lead\">");
        html_text(&f->html, lead);
        put(f, "</p>\n");
    }
    put(f, "</header>\n<main id=\"main\">\n");
    write_line(f, f->notice, false);
    write_line(f, f->problem, true);
}

void frame_end(struct frame *f)
{
    put(f, "</main>\n<footer><p>tokgrid " TOKGRID_VERSION " · ");
    put_link(f, "/api", NULL);
    put_word(f, SITE_NAV_API);
    put(f, "</a> · ");
    put_word(f, SITE_FOOTER_WORDS);
    put(f, "</p></footer>\n</body>\n</html>\n");
}
