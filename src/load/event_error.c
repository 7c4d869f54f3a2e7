/* event_error.c - finds the sentence for a reader in whatever came instead of a stream.
 *
 * JSON in any of the shapes that engines and gateways use, an HTML page of a proxy, or plain text.
 * The sentence is cut at MESSAGE_MAX and holds nothing unprintable. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/text.h"
#include "load/event.h"

enum {
    MESSAGE_MAX = 500,
    HTML_MAX = 64 << 10, /* a page's words are looked for in its beginning */
};

/* Append text as one printable line: blanks and line breaks in a row become one space. */
static void add_line(struct buf *out, const char *p, size_t n)
{
    char line[MESSAGE_MAX + 1];
    size_t kept = 0, used = text_printable(line, sizeof line, p, n);
    for (size_t i = 0; i < used; i++)
        if (line[i] != ' ' || (kept > 0 && line[kept - 1] != ' '))
            line[kept++] = line[i];
    while (kept > 0 && line[kept - 1] == ' ')
        kept--;
    buf_add(out, line, kept);
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* FastAPI: [{"loc": ["body", "max_tokens"], "msg": "..."}, ...] -> "body.max_tokens: ...; ..." */
static void add_detail_list(struct buf *out, json_t *list)
{
    size_t i, k;
    json_t *item, *step;
    json_array_foreach(list, i, item)
    {
        const char *text =
            json_is_string(item) ? json_string_value(item) : json_string_at(item, "msg");
        const char *before = out->len > 0 ? "; " : "";
        if (!text)
            continue;
        json_array_foreach(json_object_get(item, "loc"), k, step)
        {
            if (json_is_string(step))
                buf_addf(out, "%s%s", before, json_string_value(step));
            else
                buf_addf(out, "%s%.0f", before, json_number_value(step));
            before = ".";
        }
        buf_addf(out, "%s%s", *before == '.' ? ": " : before, text);
    }
}

static void add_message(struct buf *out, json_t *root)
{
    static const char *const paths[] = {"error.message", "error",      "message",       "detail",
                                        "msg",           "detail.msg", "detail.message"};
    if (json_is_string(root))
        buf_adds(out, json_string_value(root));
    for (size_t i = 0; i < ARRAY_LEN(paths) && out->len == 0; i++) {
        const char *text = json_string_at(root, paths[i]);
        if (text)
            buf_adds(out, text);
    }
    if (out->len == 0)
        add_detail_list(out, json_object_get(root, "detail"));
}

/* llama.cpp tells the two numbers that matter as fields. */
static void add_numbers(struct buf *out, json_t *root)
{
    static const char *const names[] = {"n_prompt_tokens", "n_ctx"};
    json_t *error = json_object_get(root, "error");
    const char *before = " (";
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        int64_t n;
        if (!json_int_at(json_is_object(error) ? error : root, names[i], &n))
            continue;
        buf_addf(out, "%s%s %lld", before, names[i], (long long)n);
        before = ", ";
    }
    if (*before == ',')
        buf_addc(out, ')');
}

/* --- HTML ------------------------------------------------------------------------------------- */

static bool at_word(const char *p, const char *word)
{
    return strncasecmp(p, word, strlen(word)) == 0;
}

/* The text behind the tag or comment that begins at p. What is between the tags of a script or a
 * style sheet is nothing to read and is skipped with them. */
static const char *skip_tag(const char *p)
{
    static const struct {
        const char *open, *close;
    } spans[] = {{"<!--", "-->"}, {"<script", "</script"}, {"<style", "</style"}};
    for (size_t i = 0; i < ARRAY_LEN(spans); i++) {
        if (!at_word(p, spans[i].open))
            continue;
        const char *close = text_find_nocase(p + strlen(spans[i].open), spans[i].close);
        p = close ? close : p + strlen(p);
        break;
    }
    const char *end = strchr(p, '>');
    return end ? end + 1 : p + strlen(p);
}

/* A page is mostly indentation: only the first blank of a row is kept. */
static void add_html_byte(struct buf *out, char c)
{
    bool blank = strchr(" \t\r\n", c);
    if (!blank || (out->len > 0 && out->p[out->len - 1] != ' '))
        buf_addc(out, blank ? ' ' : c);
}

/* One byte of text, or the entity that stands for one. */
static const char *add_html_text(struct buf *out, const char *p)
{
    static const struct {
        const char *entity;
        char c;
    } entities[] = {{"&amp;", '&'},  {"&lt;", '<'},   {"&gt;", '>'},
                    {"&quot;", '"'}, {"&#39;", '\''}, {"&nbsp;", ' '}};
    for (size_t i = 0; *p == '&' && i < ARRAY_LEN(entities); i++) {
        if (!at_word(p, entities[i].entity))
            continue;
        add_html_byte(out, entities[i].c);
        return p + strlen(entities[i].entity);
    }
    add_html_byte(out, *p);
    return p + 1;
}

/* The visible words from p up to the text `stop` (NULL: the end). */
static void add_visible(struct buf *out, const char *p, const char *stop)
{
    while (*p && !(stop && at_word(p, stop))) {
        if (*p == '<') {
            add_html_byte(out, ' ');
            p = skip_tag(p);
        } else {
            p = add_html_text(out, p);
        }
    }
}

static void add_html(struct buf *out, const char *page)
{
    struct buf words;
    buf_init(&words, HTML_MAX);
    const char *title = text_find_nocase(page, "<title");
    if (title)
        add_visible(&words, skip_tag(title), "</title");
    add_line(out, words.p, words.len);
    if (out->len == 0) {
        buf_reset(&words);
        add_visible(&words, page, NULL);
        add_line(out, words.p, words.len);
    }
    buf_release(&words);
}

/* --- any body --------------------------------------------------------------------------------- */

/* The first document of the body; more may follow, servers repeat themselves in NDJSON. */
static json_t *load_first(const char *p, size_t n)
{
    const size_t flags = JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY | JSON_ALLOW_NUL;
    return strchr("{[\"", *p) ? json_loadb(p, n, flags, NULL) : NULL;
}

static void add_json(struct buf *out, json_t *root, size_t n)
{
    struct buf message;
    buf_init(&message, n * 2 + 64); /* texts are shorter than their JSON, "; " may join them */
    if (json_is_array(root))        /* Gemini wraps its error in a list */
        root = json_array_get(root, 0);
    add_message(&message, root);
    add_line(out, message.p, message.len);
    if (out->len > 0)
        add_numbers(out, root);
    buf_release(&message);
}

bool event_error_body(const char *p, size_t n, struct buf *ret_message)
{
    struct buf found;
    while (n > 0 && strchr(" \t\r\n", *p)) {
        p++;
        n--;
    }
    if (n == 0)
        return false;
    buf_init(&found, MESSAGE_MAX * 2);
    json_t *root = load_first(p, n);
    if (root) {
        add_json(&found, root, n);
    } else if (*p == '<') {
        char *page = mem_strndup(p, n < HTML_MAX ? n : HTML_MAX);
        add_html(&found, page);
        free(page);
    } else {
        add_line(&found, p, n);
    }
    json_decref(root);
    bool any = found.len > 0 && buf_add(ret_message, found.p, found.len);
    buf_release(&found);
    return any;
}

/* --- what it is about ------------------------------------------------------------------------- */

enum error_kind event_error_kind(const char *words, int code)
{
    static const char *const overload[] = {
        "overloaded",    "too many requests", "rate limit", "rate_limit",          "at capacity",
        "queue is full", "queue full",        "is busy",    "service_unavailable",
    };
    for (size_t i = 0; i < ARRAY_LEN(overload); i++)
        if (text_find_nocase(words, overload[i]))
            return ERROR_OVERLOAD;
    switch (code) {
    case 429:
    case 503:
    case 529: return ERROR_OVERLOAD;
    case 408:
    case 504:
    case 522: /* Cloudflare: connecting, and answering, took too long */
    case 524: return ERROR_TIMEOUT;
    default: return code >= 400 && code < 500 ? ERROR_REQUEST : ERROR_OTHER;
    }
}
