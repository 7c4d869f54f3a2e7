/* err.c - formats the text of an error and keeps it printable. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* vsnprintf that never leaves half a character where it cut. */
ATTR_PRINTF(3, 0)
static void format_whole(char *out, size_t size, const char *format, va_list args)
{
    if (vsnprintf(out, size, format, args) < (int)size)
        return;
    size_t n = strlen(out), start = n;
    while (start > 0 && ((unsigned char)out[start - 1] & 0xC0) == 0x80)
        start--;
    if (start > 0)
        start--; /* the last character's first byte */
    if (!text_utf8_valid(out + start, n - start))
        out[start] = '\0';
}

bool err_set(struct err *err, enum err_code code, const char *format, ...)
{
    if (!err)
        return false;
    char raw[ERR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    format_whole(raw, sizeof raw, format, args);
    va_end(args);
    err->code = code;
    text_printable(err->text, sizeof err->text, raw, strlen(raw));
    return false;
}

bool err_prefix(struct err *err, const char *format, ...)
{
    if (!err)
        return false;
    char prefix[ERR_TEXT_MAX / 2];
    va_list args;
    va_start(args, format);
    format_whole(prefix, sizeof prefix, format, args);
    va_end(args);
    struct err old = *err;
    return err_set(err, old.code, "%s: %s", prefix, old.text);
}
