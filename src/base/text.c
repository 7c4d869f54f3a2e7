/* text.c - UTF-8 decoding by the table of RFC 3629, and the filter in front of every terminal. */
#include "base/text.h"

#include <string.h>
#include <strings.h>

size_t text_utf8_decode(const char *p, size_t n, uint32_t *ret_cp)
{
    const unsigned char *s = (const unsigned char *)p;
    uint32_t cp = s[0];
    size_t len;
    uint32_t least;

    *ret_cp = 0xFFFD;
    if (cp < 0x80) {
        *ret_cp = cp;
        return 1;
    }
    if (cp >= 0xC2 && cp <= 0xDF) {
        len = 2;
        cp &= 0x1F;
        least = 0x80;
    } else if ((cp & 0xF0) == 0xE0) {
        len = 3;
        cp &= 0x0F;
        least = 0x800;
    } else if (cp >= 0xF0 && cp <= 0xF4) {
        len = 4;
        cp &= 0x07;
        least = 0x10000;
    } else {
        return 1;
    }
    if (n < len)
        return 1;
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 1;
        cp = cp << 6 | (s[i] & 0x3F);
    }
    if (cp < least || cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF))
        return 1;
    *ret_cp = cp;
    return len;
}

size_t text_utf8_encode(uint32_t cp, char out[4])
{
    if (cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF))
        cp = 0xFFFD;
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xC0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3F));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xE0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3F));
        out[2] = (char)(0x80 | (cp & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 0x3F));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3F));
    out[3] = (char)(0x80 | (cp & 0x3F));
    return 4;
}

bool text_utf8_valid(const char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        size_t len = text_utf8_decode(p + i, n - i, &cp);
        if (cp == 0xFFFD && len == 1)
            return false;
        i += len;
    }
    return true;
}

bool text_is_unsafe(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7F && cp < 0xA0) || /* C0, DEL, C1 */
           (cp >= 0x200B && cp <= 0x200F) ||         /* zero width, direction marks */
           (cp >= 0x2028 && cp <= 0x202E) ||         /* line separators, embeddings */
           (cp >= 0x2060 && cp <= 0x206F) ||         /* isolates, invisible operators */
           cp == 0xFEFF || (cp >= 0xFFF9 && cp <= 0xFFFB) || cp == 0x061C || cp == 0x00AD ||
           cp == 0x180E || (cp >= 0xE0000 && cp <= 0xE007F); /* soft hyphen, separator, tags */
}

size_t text_printable(char *out, size_t size, const char *src, size_t n)
{
    size_t used = 0;

    if (size == 0)
        return 0;
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        char one[4];
        size_t len = text_utf8_decode(src + i, n - i, &cp);
        bool invalid = cp == 0xFFFD && len == 1;
        i += len;
        if (cp == '\n' || cp == '\r' || cp == '\t')
            cp = ' ';
        else if (invalid || text_is_unsafe(cp))
            cp = '?';
        len = text_utf8_encode(cp, one);
        if (used + len >= size)
            break;
        memcpy(out + used, one, len);
        used += len;
    }
    out[used] = '\0';
    return used;
}

struct range {
    uint32_t first, last;
};

/* Unicode East Asian Width W and F, the blocks that occur in practice. */
static const struct range wide[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
    {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
    {0xFE30, 0xFE4F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
    {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD},
};
static const struct range zero[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A}, {0x064B, 0x065F},
    {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},
};

static bool in_ranges(uint32_t cp, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (cp >= ranges[i].first && cp <= ranges[i].last)
            return true;
    return false;
}

size_t text_width(const char *p, size_t n)
{
    size_t columns = 0;
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        i += text_utf8_decode(p + i, n - i, &cp);
        if (in_ranges(cp, zero, sizeof zero / sizeof zero[0]))
            continue;
        columns += in_ranges(cp, wide, sizeof wide / sizeof wide[0]) ? 2 : 1;
    }
    return columns;
}

bool text_starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);
    return n >= m && strcmp(s + n - m, suffix) == 0;
}

const char *text_find_nocase(const char *haystack, const char *needle)
{
    size_t n = strlen(needle);
    for (; *haystack; haystack++)
        if (strncasecmp(haystack, needle, n) == 0)
            return haystack;
    return n == 0 ? haystack : NULL;
}
