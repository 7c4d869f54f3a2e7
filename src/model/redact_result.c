/* redact_result.c - one visitor of a result's texts: finds, and replaces where that is asked for.
 */
#include "model/redact_result.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "model/result_fields.h"

struct visitor {
    const struct redact_names *names; /* NULL: secrets only */
    struct arena *arena;
    struct redactions *found; /* NULL: stop at the first, change nothing */
    size_t cap;
    const char *first;
    struct redact_spans spans;
};

static enum redact_form form_of(const char *path, const struct field *f)
{
    if (f->kind == FIELD_JSON)
        return REDACT_JSON;
    return strcmp(path, "engine.launch_command") == 0 ? REDACT_COMMAND : REDACT_PROSE;
}

static const char *written(struct visitor *v, const char *text,
                           void (*write)(const char *text, const struct redact_spans *spans,
                                         struct buf *out))
{
    struct buf b;
    buf_init(&b, SIZE_MAX / 2); /* a secret of few bytes may grow by the words that stand for it */
    write(text, &v->spans, &b);
    const char *copy = arena_strndup(v->arena, b.p, b.len);
    buf_release(&b);
    return copy;
}

/* Rows move as they grow, in an arena: what is left behind dies with it. */
static struct redaction *next_row(struct visitor *v)
{
    struct redactions *found = v->found;
    if (found->n == v->cap) {
        v->cap = v->cap ? 2 * v->cap : 16;
        struct redaction *rows = arena_array(v->arena, v->cap, sizeof *rows);
        if (found->n > 0)
            memcpy(rows, found->v, found->n * sizeof *rows);
        found->v = rows;
    }
    return &found->v[found->n++];
}

/* What is left may read otherwise without its quotes: text that still holds a secret then goes as a
 * whole. The spans are those that lead to the text that is returned. */
static const char *clean_text(struct visitor *v, const char *text, enum redact_form form)
{
    struct redact_spans left = {0};
    const char *after = written(v, text, redact_write);

    redact_find(after, form, &left);
    if (left.n > 0) {
        v->spans.v[0] = (struct redact_span){.n = strlen(text), .kind = REDACT_SECRET};
        v->spans.n = 1;
        after = written(v, text, redact_write);
    }
    redact_spans_release(&left);
    return after;
}

static bool visit(void *ctx, const char *path, const struct field *f, char **text)
{
    struct visitor *v = ctx;

    redact_find(*text, form_of(path, f), &v->spans);
    if (!v->found && v->spans.n > 0)
        v->first = arena_strdup(v->arena, path);
    if (!v->found)
        return v->spans.n == 0;
    if (v->names)
        redact_find_names(*text, v->names, &v->spans);
    if (v->spans.n == 0)
        return true;
    struct redaction *row = next_row(v);
    row->field = arena_strdup(v->arena, path);
    row->after = clean_text(v, *text, form_of(path, f));
    row->before = written(v, *text, redact_write_masked);
    for (size_t i = 0; i < v->spans.n; i++)
        ++*(v->spans.v[i].kind == REDACT_SECRET ? &row->secrets : &row->names);
    mem_set_string(text, row->after);
    return true;
}

/* The host of a URL, without brackets, unless it certainly is this machine or a socket. */
static const char *other_host(const char *url, struct arena *a)
{
    static const char *const own[] = {"localhost", "::1", "0.0.0.0", "::", "***"};
    const char *p = url ? strstr(url, "://") : NULL;
    if (!p)
        return NULL;
    p += 3;
    size_t n = *p == '[' ? strcspn(++p, "]") : strcspn(p, ":/?#");
    char *host = arena_strndup(a, p, n);
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (strcasecmp(host, own[i]) == 0)
            return NULL;
    return n == 0 || text_starts(host, "127.") ? NULL : host;
}

void redact_result(struct result *r, const struct redact_names *names, struct arena *a,
                   struct redactions *ret)
{
    struct redact_names all = {0};
    struct visitor v = {.arena = a, .found = ret};

    *ret = (struct redactions){0};
    if (names) {
        all = *names;
        v.names = &all;
        for (size_t i = 0; i < ARRAY_LEN(all.hosts); i++) {
            if (all.hosts[i])
                continue;
            all.hosts[i] = other_host(r->server.url, a);
            break;
        }
    }
    (void)fields_each_text(&result_fields, r, visit, &v);
    redact_spans_release(&v.spans);
}

const char *redact_find_secret(const struct result *r, struct arena *a)
{
    struct visitor v = {.arena = a};
    /* nothing is changed where nothing is collected */
    (void)fields_each_text(&result_fields, (struct result *)(uintptr_t)r, visit, &v);
    redact_spans_release(&v.spans);
    return v.first;
}
