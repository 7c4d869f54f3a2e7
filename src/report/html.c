/* html.c - the three ways into the output. */
#include "report/html.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "model/result.h"

void html_init(struct html *h, struct buf *out)
{
    h->out = out;
    buf_init(&h->scratch, 8 * (size_t)RESULT_MAX_BYTES);
}

void html_release(struct html *h)
{
    buf_release(&h->scratch);
}

void html_markup_(struct html *h, const char *markup, size_t n)
{
    buf_add(h->out, markup, n);
}

static const char *entity(char c)
{
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

/* Printable ASCII that stands for itself, by far the most of any text, is copied in runs. */
static size_t plain_run(const char *s)
{
    size_t n = 0;
    while (s[n] >= 0x20 && s[n] < 0x7F && !entity(s[n]))
        n++;
    return n;
}

void html_text(struct html *h, const char *s)
{
    size_t left = strlen(s);
    while (left > 0) {
        size_t n = plain_run(s);
        if (n > 0) {
            buf_add(h->out, s, n);
        } else if (entity(*s)) {
            buf_adds(h->out, entity(*s));
            n = 1;
        } else {
            uint32_t cp;
            n = text_utf8_decode(s, left, &cp);
            if (cp == '\n' || !(text_is_unsafe(cp) || (cp == 0xFFFD && n == 1)))
                buf_add(h->out, s, n);
            else
                buf_adds(h->out, "\xEF\xBF\xBD"); /* U+FFFD */
        }
        s += n;
        left -= n;
    }
}

void html_int(struct html *h, long long n)
{
    buf_addf(h->out, "%lld", n);
}

void html_attr_(struct html *h, const char *begin, const char *value)
{
    buf_adds(h->out, begin);
    html_text(h, value);
    buf_addc(h->out, '"');
}

void html_number(struct html *h, double v)
{
    char text[24];
    size_t at = sizeof text;
    if (!(fabs(v) < 1e9)) {
        buf_addf(h->out, "%.0f", v);
        return;
    }
    long long tenths = llround(fabs(v) * 10), left = tenths / 10;
    if (tenths % 10) {
        text[--at] = (char)('0' + tenths % 10);
        text[--at] = '.';
    }
    do {
        text[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (v < 0 && tenths > 0)
        text[--at] = '-';
    buf_add(h->out, text + at, sizeof text - at);
}

void html_attr_number_(struct html *h, const char *begin, double value)
{
    buf_adds(h->out, begin);
    html_number(h, value);
    buf_addc(h->out, '"');
}

struct buf *html_scratch(struct html *h)
{
    buf_reset(&h->scratch);
    return &h->scratch;
}

void html_text_scratch(struct html *h)
{
    html_text(h, h->scratch.p);
}

void html_asset(struct html *h, const struct asset *a)
{
    buf_adds(h->out, a->text);
}

/* One character of a JSON string; a code point past U+FFFF takes two escapes. */
static void add_json_char(struct html *h, uint32_t cp, const char *bytes, size_t n)
{
    if (cp < 0x10000)
        buf_addf(h->out, "\\u%04x", (unsigned)cp);
    else if (text_is_unsafe(cp))
        buf_addf(h->out, "\\u%04x\\u%04x", (unsigned)(0xD800 + ((cp - 0x10000) >> 10)),
                 (unsigned)(0xDC00 + (cp & 0x3FF)));
    else
        buf_add(h->out, bytes, n);
}

/* What can be copied at once: inside of a string up to what ends it or needs a look, outside up to
 * the next blank or string. */
static size_t json_run(const char *p, size_t n, bool inside)
{
    size_t i = 0;
    if (inside)
        while (i < n && p[i] >= 0x20 && p[i] < 0x7F && p[i] != '"' && p[i] != '\\' && !entity(p[i]))
            i++;
    else
        while (i < n && p[i] > ' ' && p[i] != '"')
            i++;
    return i;
}

/* Inside of a string: an escape as it is, anything else as it is or as an escape. */
static size_t add_json_special(struct html *h, const char *p, size_t n)
{
    uint32_t cp;
    size_t len = text_utf8_decode(p, n, &cp);
    if (cp == '\\' && n > 1)
        len = 2;
    if (cp == '<' || cp == '>' || cp == '&' || text_is_unsafe(cp))
        add_json_char(h, cp, p, len);
    else
        buf_add(h->out, p, len);
    return len;
}

void html_json(struct html *h, const char *json, size_t n)
{
    bool inside = false;
    for (size_t i = 0; i < n;) {
        size_t run = json_run(json + i, n - i, inside);
        buf_add(h->out, json + i, run);
        i += run;
        if (i == n)
            break;
        if (json[i] == '"') {
            buf_addc(h->out, '"');
            inside = !inside;
            i++;
        } else if (inside) {
            i += add_json_special(h, json + i, n - i);
        } else {
            i++; /* a blank */
        }
    }
}
