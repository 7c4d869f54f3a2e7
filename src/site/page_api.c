/* page_api.c - the API's calls for people, from the same rows that requests are held against. */
#include <string.h>

#include "base/text.h"
#include "site/api_operations.h"
#include "site/site_pages.h"

static void put_paragraph(struct frame *f, enum site_word w)
{
    put(f, "<p>");
    put_word(f, w);
    put(f, "</p>\n");
}

static void put_code_paragraph(struct frame *f, enum site_word w, const char *code)
{
    put(f, "<p>");
    put_word(f, w);
    put(f, " <code>");
    html_text(&f->html, code);
    put(f, "</code></p>\n");
}

static void put_begin(struct frame *f, const char *origin)
{
    struct buf *root = html_scratch(&f->html);
    put(f, "<section><h2>");
    put_word(f, SITE_API_BEGIN);
    put(f, "</h2>\n<p>");
    put_word(f, SITE_API_BEGIN_ROOT);
    put(f, " <code>");
    buf_addf(root, "%s%s", origin, API_ROOT);
    html_text_scratch(&f->html);
    put(f, "</code></p>\n");
    put_code_paragraph(f, SITE_API_BEGIN_KEY, "Authorization: Bearer tgk_...");
    put_code_paragraph(f, SITE_API_BEGIN_ERRORS,
                       "{\"error\": {\"code\": ..., \"message\": ..., \"field\": ...}}");
    put_paragraph(f, SITE_API_LENGTHS);
    put_paragraph(f, SITE_API_BEGIN_LISTS);
    put_paragraph(f, SITE_API_BEGIN_LIMITS);
    put(f, "<p class=\"actions\"><a class=\"button\" href=\"" API_ROOT "/openapi.json\">");
    put_word(f, SITE_API_DOCUMENT);
    put(f, "</a><a class=\"button\" href=\"" API_ROOT "/agent\">");
    put_word(f, SITE_API_AGENT_DOCUMENT);
    put(f, "</a></p></section>\n");
}

static void put_contents(struct frame *f)
{
    put(f, "<section><h2>");
    put_word(f, SITE_API_CONTENTS);
    put(f, "</h2>\n<ul class=\"lines\">");
    for (size_t i = 0; i < route_count; i++) {
        if (!routes[i].api)
            continue;
        put(f, "<li><a href=\"#");
        html_text(&f->html, routes[i].api->id);
        put(f, "\"><code>");
        html_text(&f->html, api_method_name(routes[i].method));
        put(f, " ");
        html_text(&f->html, routes[i].path + strlen(API_ROOT));
        put(f, "</code></a> ");
        put_word(f, routes[i].api->summary);
        put(f, "</li>\n");
    }
    put(f, "</ul></section>\n");
}

/* ---- a call ---------------------------------------------------------------------------------- */

static void put_param(struct frame *f, const struct api_param *p)
{
    const char *word;
    put(f, "<tr><th scope=\"row\"><code>");
    html_text(&f->html, p->name);
    put(f, "</code></th><td class=\"text\">");
    html_text(&f->html, p->help);
    if (p->required) {
        put(f, " (");
        put_word(f, SITE_API_REQUIRED);
        put(f, ")");
    }
    for (int i = 0; (word = api_word(&p->words, i)); i++) {
        put(f, " <code>");
        html_text(&f->html, word);
        put(f, "</code>");
    }
    if (p->kind == PARAM_INTEGER || p->kind == PARAM_NUMBER) {
        struct buf *b = html_scratch(&f->html);
        put(f, " <code>");
        buf_addf(b, "%.10g..%.10g", p->min, p->max);
        html_text_scratch(&f->html);
        put(f, "</code>");
    }
    put(f, "</td></tr>\n");
}

static void begin_params(struct frame *f, enum site_word caption)
{
    put(f, "<div class=\"scroll\" role=\"group\" tabindex=\"0\"");
    html_attr(&f->html, "aria-label", site_word(f->l, caption));
    put(f, "><table class=\"rows list\"><caption>");
    put_word(f, caption);
    put(f, "</caption><thead><tr><th scope=\"col\" class=\"text\">");
    put_word(f, SITE_API_NAME);
    put(f, "</th><th scope=\"col\" class=\"text\">");
    put_word(f, SITE_API_MEANING);
    put(f, "</th></tr></thead><tbody>\n");
}

static void put_params(struct frame *f, const struct route *route)
{
    const struct operation *op = route->api;
    const struct api_param *path[ROUTE_MAX_ARGS];
    size_t n = operation_path_params(route, path);
    if (n > 0 || op->query) {
        begin_params(f, SITE_API_PARAMETERS);
        for (size_t i = 0; i < n; i++)
            put_param(f, path[i]);
        for (size_t i = 0; op->query && op->query[i]; i++)
            put_param(f, op->query[i]);
        put(f, "</tbody></table></div>\n");
    }
    if (op->body) {
        begin_params(f, SITE_API_FIELDS);
        for (size_t i = 0; op->body[i]; i++)
            put_param(f, op->body[i]);
        put(f, "</tbody></table></div>\n");
    }
    if (op->flags & TAKES_RUN)
        put_paragraph(f, SITE_API_RUN_BODY);
}

static void put_object_link(struct frame *f, const struct api_object *o)
{
    put(f, "<a href=\"#");
    html_text(&f->html, o->name);
    put(f, "\"><code>");
    html_text(&f->html, o->name);
    put(f, "</code></a>");
}

static void put_answers(struct frame *f, const struct route *route)
{
    struct api_refusal refusals[OPERATION_REFUSALS];
    size_t n = operation_refusals(route, refusals);
    put(f, "<p class=\"facts\">");
    put_word(f, SITE_API_ANSWERS);
    for (size_t i = 0; i < OPERATION_ANSWERS && route->api->answers[i].status; i++) {
        put(f, " <b>");
        html_int(&f->html, route->api->answers[i].status);
        put(f, "</b> ");
        if (route->api->answers[i].object)
            put_object_link(f, route->api->answers[i].object);
    }
    for (size_t i = 0; i < n; i++) {
        put(f, " ");
        html_int(&f->html, refusals[i].status);
    }
    put(f, "</p>\n");
}

static void put_call(struct frame *f, const struct route *route, const char *origin)
{
    put(f, "<article");
    html_attr(&f->html, "id", route->api->id);
    put(f, "><h3><code>");
    html_text(&f->html, api_method_name(route->method));
    put(f, " ");
    html_text(&f->html, route->path + strlen(API_ROOT));
    put(f, "</code></h3>\n<p>");
    put_word(f, route->api->summary);
    if (route->need != NEED_NOTHING) {
        put(f, " <span class=\"badge\">");
        put_word(f, SITE_API_KEY_NEEDED);
        put(f, "</span>");
    }
    put(f, "</p>\n<pre tabindex=\"0\"><code>");
    operation_curl(route, origin, html_scratch(&f->html));
    html_text_scratch(&f->html);
    put(f, "</code></pre>\n");
    put_params(f, route);
    put_answers(f, route);
    put(f, "</article>\n");
}

/* ---- answers --------------------------------------------------------------------------------- */

enum { OBJECTS_MAX = 64 };

struct objects {
    const struct api_object *v[OBJECTS_MAX];
    size_t n;
};

static void collect(void *ctx, const struct api_object *o)
{
    struct objects *all = ctx;
    for (size_t i = 0; i < all->n; i++)
        if (all->v[i] == o)
            return;
    if (all->n == OBJECTS_MAX)
        return;
    all->v[all->n++] = o;
    api_schema_walk(o, collect, all);
}

static void put_type(struct frame *f, const struct api_field *field)
{
    static const enum site_word words[] = {
        [API_TEXT] = SITE_API_TYPE_TEXT,     [API_CHARS] = SITE_API_TYPE_TEXT,
        [API_INT] = SITE_API_TYPE_WHOLE,     [API_I64] = SITE_API_TYPE_WHOLE,
        [API_NUMBER] = SITE_API_TYPE_NUMBER, [API_BOOL] = SITE_API_TYPE_BOOLEAN,
        [API_TIME] = SITE_API_TYPE_TIME,     [API_WORD] = SITE_API_TYPE_WORD,
        [API_TEXTS] = SITE_API_TYPE_TEXTS,   [API_JSON] = SITE_API_TYPE_OBJECT,
        [API_OBJECT] = SITE_API_TYPE_OBJECT, [API_LIST] = SITE_API_TYPE_LIST,
    };
    const char *word;
    put_word(f, words[field->kind]);
    if (field->object) {
        put(f, " ");
        put_object_link(f, field->object);
    }
    for (int i = 0; (word = api_word(&field->words, i)); i++) {
        put(f, " <code>");
        html_text(&f->html, word);
        put(f, "</code>");
    }
    if (field->flags & (API_NULL | API_ZERO_NULL | API_MINUS_NULL))
        put(f, " / <code>null</code>");
}

static void put_fields(struct frame *f, const struct api_object *o)
{
    for (size_t i = 0; i < o->count; i++) {
        put(f, "<tr><th scope=\"row\"><code>");
        html_text(&f->html, o->fields[i].name);
        put(f, "</code></th><td class=\"text\">");
        put_type(f, &o->fields[i]);
        if (o->fields[i].help) {
            put(f, " · ");
            html_text(&f->html, o->fields[i].help);
        }
        put(f, "</td></tr>\n");
    }
}

static void put_object(struct frame *f, const struct api_object *o)
{
    put(f, "<article");
    html_attr(&f->html, "id", o->name);
    put(f, "><h3><code>");
    html_text(&f->html, o->name);
    put(f, "</code></h3>\n");
    if (o->begins_with) {
        put(f, "<p>");
        put_word(f, SITE_API_BEGINS_WITH);
        put(f, " ");
        put_object_link(f, o->begins_with);
        put(f, "</p>\n");
    }
    if (o->is == API_FIELDS) {
        begin_params(f, SITE_API_OBJECT_FIELDS);
        put_fields(f, o);
        put(f, "</tbody></table></div>\n");
    } else {
        put_paragraph(f, SITE_API_IN_DOCUMENT);
    }
    put(f, "</article>\n");
}

static void put_objects(struct frame *f)
{
    struct objects all = {0};
    collect(&all, &api_error);
    for (size_t i = 0; i < route_count; i++)
        for (size_t k = 0; routes[i].api && k < OPERATION_ANSWERS; k++)
            if (routes[i].api->answers[k].object)
                collect(&all, routes[i].api->answers[k].object);
    put(f, "<section class=\"calls\"><h2>");
    put_word(f, SITE_API_OBJECTS);
    put(f, "</h2>\n");
    for (size_t i = 0; i < all.n; i++)
        put_object(f, all.v[i]);
    put(f, "</section>\n");
}

void page_api_write(struct frame *f, const char *origin)
{
    frame_begin(f, site_word(f->l, SITE_API_TITLE));
    frame_heading(f, site_word(f->l, SITE_API_TITLE), site_word(f->l, SITE_API_LEAD));
    put_begin(f, origin);
    put_contents(f);
    for (int tag = 0; tag < TAG_COUNT; tag++) {
        put(f, "<section class=\"calls\"><h2>");
        put_word(f, api_tags[tag].title);
        put(f, "</h2>\n");
        for (size_t i = 0; i < route_count; i++)
            if (routes[i].api && (int)routes[i].api->tag == tag)
                put_call(f, &routes[i], origin);
        put(f, "</section>\n");
    }
    put_objects(f);
    frame_end(f);
}
