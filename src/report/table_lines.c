/* table_lines.c - wrapping. */
#include "report/table_lines.h"

#include <stdlib.h>
#include <string.h>

#include "report/grid.h"
#include "report/plain.h"

size_t lines_width(const struct table_options *o)
{
    return o->width && o->width < TABLE_MIN_WIDTH ? TABLE_MIN_WIDTH : o->width;
}

/* What is measured must be what will be shown: in ASCII "…" takes three columns. */
static char *as_shown(const struct table_options *o, const char *text)
{
    struct buf b;
    buf_init(&b, SIZE_MAX / 2);
    if (o->ascii)
        plain_add_ascii(&b, text);
    else
        buf_adds(&b, text);
    return buf_detach(&b);
}

static size_t room(const struct table_options *o, size_t indent)
{
    size_t width = lines_width(o);
    return width ? width - indent : 0; /* an indent is at most 4, a width at least 20 */
}

/* `continued` begins every line after the first; `look` is an ANSI sequence or "". */
static void add_wrapped(struct buf *out, const char *s, size_t indent, const char *continued,
                        size_t width, const char *look)
{
    bool first = true;
    do {
        size_t left = first || !width ? width : width - strlen(continued);
        size_t n = plain_fit(s, left);
        buf_add_repeat(out, ' ', indent);
        buf_addf(out, "%s%s", look, first ? "" : continued);
        buf_add(out, s, n);
        buf_addf(out, "%s\n", *look ? GRID_LOOK_END : "");
        s += n;
        s += strspn(s, " ");
        first = false;
    } while (*s);
}

void lines_add(const struct table_options *o, size_t indent, const char *text, struct buf *out)
{
    char *s = as_shown(o, text);
    add_wrapped(out, s, indent, "", room(o, indent), "");
    free(s);
}

void lines_heading(const struct table_options *o, const char *text, struct buf *out)
{
    char *s = as_shown(o, text);
    add_wrapped(out, s, 0, "", room(o, 0), o->colour ? grid_look_code(GRID_HEAD) : "");
    free(s);
}

void lines_add_all(const struct table_options *o, size_t indent, const char *text, struct buf *out)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        char *line = mem_strndup(text, n);
        lines_add(o, indent, line, out);
        free(line);
        text += n + (text[n] == '\n');
    }
}

/* Where a shell line of at most n bytes may end: before an option, else at a space, outside of
 * quotes; 0 when there is no such place. */
static size_t shell_break(const char *s, size_t n)
{
    size_t option = 0, space = 0;
    char quote = '\0';
    for (size_t i = 0; i <= n && s[i]; i++) {
        if (quote)
            quote = s[i] == quote ? '\0' : quote;
        else if (s[i] == '\'' || s[i] == '"')
            quote = s[i];
        else if (s[i] == ' ' && i > 0) {
            space = i;
            option = s[i + 1] == '-' ? i : option;
        }
    }
    return option ? option : space;
}

static void add_shell_line(struct buf *out, const char *s, size_t indent, size_t width)
{
    size_t deeper = 0;
    for (;;) {
        size_t left = width ? width - deeper : 0;
        size_t n = plain_fit(s, left);
        bool last = s[n] == '\0';
        size_t stop = last ? n : shell_break(s, plain_fit(s, left - 2));
        buf_add_repeat(out, ' ', indent + deeper);
        buf_add(out, s, stop ? stop : n);
        buf_adds(out, last || !stop ? "\n" : " \\\n");
        if (last)
            return;
        s += stop ? stop : n;
        s += strspn(s, " ");
        deeper = 2;
    }
}

void lines_add_command(const struct table_options *o, size_t indent, const char *command,
                       struct buf *out)
{
    char *s = as_shown(o, command);
    for (char *line = s, *end; line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (end)
            *end = '\0';
        if (line[strspn(line, " ")] == '#')
            add_wrapped(out, line, indent, "# ", room(o, indent), "");
        else
            add_shell_line(out, line, indent, room(o, indent));
    }
    free(s);
}
