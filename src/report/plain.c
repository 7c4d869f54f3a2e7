/* plain.c - the filter of base/text.h with a length limit, and where to break a line. */
#include "report/plain.h"

#include <string.h>

#include "base/text.h"

static void add_printable(struct buf *out, const char *s, size_t n, size_t max)
{
    char text[PLAIN_COMMAND_MAX + 1];
    size_t used = text_printable(text, max + 1, s, n);
    while (used > 0 && text[used - 1] == ' ')
        used--;
    buf_add(out, text, used);
    if (n > max)
        buf_adds(out, "…");
}

void plain_add(struct buf *out, const char *s)
{
    if (s)
        add_printable(out, s, strlen(s), PLAIN_MAX);
}

void plain_add_command(struct buf *out, const char *s)
{
    if (!s)
        return;
    size_t n = strlen(s);
    bool cut = n > PLAIN_COMMAND_MAX;
    n = cut ? PLAIN_COMMAND_MAX : n;
    while (n > 0 && strchr(" \t\r\n", s[n - 1]))
        n--;
    while (n > 0 && strchr("\r\n", *s)) {
        s++;
        n--;
    }
    for (size_t at = 0; at < n;) {
        size_t line = 0;
        while (at + line < n && s[at + line] != '\n')
            line++;
        size_t shown = line > 0 && s[at + line - 1] == '\r' ? line - 1 : line;
        add_printable(out, s + at, shown, PLAIN_COMMAND_MAX);
        at += line;
        if (at < n) {
            buf_addc(out, '\n');
            at++;
        }
    }
    if (cut)
        buf_adds(out, "…");
}

void plain_add_ascii(struct buf *out, const char *s)
{
    static const struct {
        uint32_t cp;
        const char *ascii;
    } alike[] = {
        {0x00B7, "-"}, {0x00D7, "x"},   {0x2013, "-"},  {0x2014, "-"},  {0x2018, "'"},
        {0x2019, "'"}, {0x2026, "..."}, {0x201C, "\""}, {0x201D, "\""},
    };
    size_t n = strlen(s);
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        const char *ascii = "?";
        i += text_utf8_decode(s + i, n - i, &cp);
        if (cp < 0x80) {
            buf_addc(out, (char)cp);
            continue;
        }
        for (size_t k = 0; k < ARRAY_LEN(alike); k++)
            if (alike[k].cp == cp)
                ascii = alike[k].ascii;
        buf_adds(out, ascii);
    }
}

size_t plain_fit(const char *s, size_t width)
{
    size_t n = strlen(s), columns = 0, space = 0;
    if (width == 0)
        return n;
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        size_t len = text_utf8_decode(s + i, n - i, &cp);
        columns += text_width(s + i, len);
        if (columns > width && cp != ' ')
            return space ? space : i ? i : len;
        if (cp == ' ' && i > 0 && s[i - 1] != ' ')
            space = i;
        i += len;
    }
    return n;
}
