/* markup.h - for tests: reads HTML or SVG as strictly as XML, and gives its visible text.
 *
 * Fails the test on a tag that is not closed, an attribute without quotes or given twice, an id
 * given twice, a bare & or <, an event handler, a style attribute. */
#ifndef TOKGRID_TESTS_MARKUP_H
#define TOKGRID_TESTS_MARKUP_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

enum { MARKUP_DEPTH = 32, MARKUP_NAME = 32, MARKUP_IDS = 4096 };

struct markup {
    const char *p;
    char open[MARKUP_DEPTH][MARKUP_NAME];
    size_t depth;
    char *ids[MARKUP_IDS];
    size_t id_count;
    struct buf text; /* a cell ends in " | ", a block in a line break */
};

static inline void markup_entity(struct markup *m)
{
    static const struct {
        const char *name;
        char c;
    } entities[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}};
    for (size_t i = 0; i < ARRAY_LEN(entities); i++) {
        if (!text_starts(m->p, entities[i].name))
            continue;
        buf_addc(&m->text, entities[i].c);
        m->p += strlen(entities[i].name);
        return;
    }
    fail_msg("a bare & at: %.60s", m->p);
}

static inline void markup_id(struct markup *m, const char *value, size_t n)
{
    char *id = mem_strndup(value, n);
    for (size_t i = 0; i < m->id_count; i++)
        assert_string_not_equal(m->ids[i], id);
    assert_true(m->id_count < MARKUP_IDS);
    m->ids[m->id_count++] = id;
}

static inline void markup_attributes(struct markup *m)
{
    while (*m->p == ' ') {
        const char *name = ++m->p;
        size_t n = strcspn(name, "= >/");
        assert_true(n > 0);
        if (text_starts(name, "on") || text_starts(name, "style"))
            fail_msg("attribute: %.40s", name);
        m->p += n;
        if (*m->p != '=')
            continue; /* hidden */
        if (m->p[1] != '"')
            fail_msg("no quotes: %.40s", name);
        const char *value = m->p + 2;
        size_t len = strcspn(value, "\"<");
        if (value[len] != '"')
            fail_msg("a bare < in: %.40s", name);
        if (n == 2 && memcmp(name, "id", 2) == 0)
            markup_id(m, value, len);
        m->p = value + len + 1;
    }
}

static inline bool markup_is(const char *name, const char *list)
{
    char spaced[MARKUP_NAME + 2];
    snprintf(spaced, sizeof spaced, " %s ", name);
    return strstr(list, spaced) != NULL;
}

static inline void markup_tag(struct markup *m)
{
    char name[MARKUP_NAME];
    bool closing = m->p[1] == '/';
    const char *begin = m->p + 1 + closing;
    size_t n = strcspn(begin, " >/");
    if (n == 0 || n >= sizeof name || *begin == '!')
        fail_msg("not a tag: %.60s", m->p);
    snprintf(name, sizeof name, "%.*s", (int)n, begin);
    m->p = begin + n;
    if (closing) {
        if (m->depth == 0 || strcmp(m->open[m->depth - 1], name) != 0)
            fail_msg("</%s> closes <%s>", name, m->depth ? m->open[m->depth - 1] : "nothing");
        m->depth--;
    } else {
        markup_attributes(m);
    }
    bool empty = *m->p == '/';
    m->p += empty;
    if (*m->p != '>')
        fail_msg("a tag that does not end: %.60s", begin);
    m->p++;
    if (!closing && !empty && !markup_is(name, " meta ")) {
        assert_true(m->depth < MARKUP_DEPTH);
        snprintf(m->open[m->depth++], MARKUP_NAME, "%s", name);
    }
    if (!closing && markup_is(name, " style script ")) /* ours, as it stands */
        m->p = strstr(m->p, "</");
    if (closing && markup_is(name, " td th "))
        buf_adds(&m->text, " | ");
    else if (markup_is(name, " tr p li dt h1 h2 h3 caption section title desc text pre div "))
        buf_addc(&m->text, '\n');
    else if (closing)
        buf_addc(&m->text, ' ');
}

/* The caller releases m->text with markup_release. */
static inline void markup_read(struct markup *m, const char *document)
{
    memset(m, 0, sizeof *m);
    buf_init(&m->text, 16 << 20);
    m->p = document;
    if (text_starts(m->p, "<!DOCTYPE html>\n"))
        m->p = strchr(m->p, '\n') + 1;
    while (*m->p) {
        if (*m->p == '<')
            markup_tag(m);
        else if (*m->p == '&')
            markup_entity(m);
        else
            buf_addc(&m->text, *m->p++);
    }
    if (m->depth)
        fail_msg("<%s> is not closed", m->open[m->depth - 1]);
}

static inline bool markup_has_id(const struct markup *m, const char *id)
{
    for (size_t i = 0; i < m->id_count; i++)
        if (strcmp(m->ids[i], id) == 0)
            return true;
    return false;
}

static inline void markup_release(struct markup *m)
{
    for (size_t i = 0; i < m->id_count; i++)
        free(m->ids[i]);
    buf_release(&m->text);
}

/* Blanks and line breaks are one blank. */
static inline char *markup_squeezed(const char *s)
{
    struct buf b;
    buf_init(&b, 16 << 20);
    for (; *s; s++) {
        if (*s != ' ' && *s != '\n')
            buf_addc(&b, *s);
        else if (b.len && b.p[b.len - 1] != ' ')
            buf_addc(&b, ' ');
    }
    return buf_detach(&b);
}

#endif
