/* buf.c - growth by doubling; one shared empty string stands for "no storage yet". */
#include "base/buf.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static char empty[1];

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.p = empty, .max = max};
}

void buf_release(struct buf *b)
{
    if (b->cap)
        free(b->p);
    *b = (struct buf){.p = empty, .max = b->max};
}

void buf_reset(struct buf *b)
{
    b->len = 0;
    b->overflow = false;
    if (b->cap)
        b->p[0] = '\0';
}

char *buf_detach(struct buf *b)
{
    char *s = b->cap ? b->p : mem_strdup("");
    *b = (struct buf){.p = empty, .max = b->max};
    return s;
}

char *buf_reserve(struct buf *b, size_t n)
{
    if (b->overflow || n > b->max || b->len > b->max - n) {
        b->overflow = true;
        return NULL;
    }
    size_t need = b->len + n + 1;
    if (need > b->cap) {
        size_t cap = b->cap ? b->cap : 64;
        while (cap < need)
            cap *= 2;
        b->p = mem_resize(b->cap ? b->p : NULL, cap, 1);
        b->cap = cap;
        b->p[b->len] = '\0';
    }
    return b->p + b->len;
}

void buf_advance(struct buf *b, size_t n)
{
    assert(b->len + n < b->cap || n == 0);
    b->len += n;
    if (b->cap)
        b->p[b->len] = '\0';
}

bool buf_add(struct buf *b, const void *p, size_t n)
{
    char *to = buf_reserve(b, n);
    if (!to)
        return false;
    if (n)
        memcpy(to, p, n);
    buf_advance(b, n);
    return true;
}

bool buf_adds(struct buf *b, const char *s)
{
    return buf_add(b, s, strlen(s));
}

bool buf_addc(struct buf *b, char c)
{
    return buf_add(b, &c, 1);
}

bool buf_addv(struct buf *b, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    assert(n >= 0);
    char *to = buf_reserve(b, (size_t)n);
    if (!to)
        return false;
    vsnprintf(to, (size_t)n + 1, format, args);
    buf_advance(b, (size_t)n);
    return true;
}

bool buf_addf(struct buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bool ok = buf_addv(b, format, args);
    va_end(args);
    return ok;
}

bool buf_add_repeat(struct buf *b, char c, size_t times)
{
    char *to = buf_reserve(b, times);
    if (!to)
        return false;
    memset(to, c, times);
    buf_advance(b, times);
    return true;
}

bool buf_add_json_string(struct buf *b, const char *s, size_t n)
{
    buf_addc(b, '"');
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\') {
            buf_addc(b, '\\');
            buf_addc(b, (char)c);
            i++;
        } else if (c < 0x20 || c == 0x7F) {
            buf_addf(b, "\\u%04x", c);
            i++;
        } else if (c < 0x80) {
            size_t j = i + 1; /* the common case: copy a run of plain characters at once */
            while (j < n && (unsigned char)s[j] >= 0x20 && (unsigned char)s[j] < 0x7F &&
                   s[j] != '"' && s[j] != '\\')
                j++;
            buf_add(b, s + i, j - i);
            i = j;
        } else {
            uint32_t cp;
            char one[4];
            i += text_utf8_decode(s + i, n - i, &cp);
            buf_add(b, one, text_utf8_encode(cp, one));
        }
    }
    return buf_addc(b, '"');
}

void buf_consume(struct buf *b, size_t n)
{
    assert(n <= b->len);
    if (n == 0)
        return;
    memmove(b->p, b->p + n, b->len - n);
    b->len -= n;
    b->p[b->len] = '\0';
}
