/* body.c - one walk over the text: outside of strings values are counted and bytes copied, strings
 * are measured by memchr and, when long, replaced by a word. */
#include "engine/body.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/rand.h"
#include "base/text.h"

enum { LONG_STRING = 4096 };

static const char word_prefix[] = "@aside:";

static bool refuse(struct err *err, const char *why)
{
    return err_set(err, ERR_FORMAT, "%s", why);
}

/* The quote that ends the string whose first character is p; NULL when none does. */
static const char *string_end(const char *p, const char *end)
{
    for (const char *from = p; (p = memchr(p, '"', (size_t)(end - p))); p++) {
        const char *back = p;
        while (back > from && back[-1] == '\\')
            back--;
        if ((p - back) % 2 == 0)
            return p;
    }
    return NULL;
}

/* --- unescaping --- */

static bool hex4(const char *p, const char *end, uint32_t *ret)
{
    uint32_t v = 0;
    if (end - p < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        char c = p[i], low = (char)(c | 0x20);
        if (c >= '0' && c <= '9')
            v = v << 4 | (uint32_t)(c - '0');
        else if (low >= 'a' && low <= 'f')
            v = v << 4 | (uint32_t)(low - 'a' + 10);
        else
            return false;
    }
    *ret = v;
    return true;
}

/* \uXXXX, or two of them that make one character. Returns the bytes read, 0 when it is wrong: a
 * lone surrogate or a NUL, as for jansson. */
static size_t unicode_escape(const char *p, const char *end, uint32_t *ret)
{
    uint32_t high, low;
    if (!hex4(p, end, &high) || high == 0 || (high >= 0xdc00 && high < 0xe000))
        return 0;
    *ret = high;
    if (high < 0xd800 || high >= 0xe000)
        return 4;
    if (end - p < 10 || p[4] != '\\' || p[5] != 'u' || !hex4(p + 6, end, &low) || low < 0xdc00 ||
        low >= 0xe000)
        return 0;
    *ret = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    return 10;
}

/* The escape behind a backslash; returns the bytes read, 0 when it is wrong. */
static size_t escape(const char *p, const char *end, char *to, size_t *ret_written)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *found = p < end && *p ? strchr(letters, *p) : NULL;
    uint32_t cp;

    if (found) {
        *to = meanings[found - letters];
        *ret_written = 1;
        return 1;
    }
    if (p == end || *p != 'u')
        return 0;
    size_t used = unicode_escape(p + 1, end, &cp);
    *ret_written = used ? text_utf8_encode(cp, to) : 0;
    return used ? used + 1 : 0;
}

/* How many bytes from p on stand for themselves: no escape, no control byte, ASCII. */
static size_t plain_run(const char *p, const char *end)
{
    const char *from = p;
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;

    while (end - p >= 8) {
        uint64_t w, slash;
        memcpy(&w, p, sizeof w);
        slash = w ^ (ones * '\\');
        /* a byte below 0x20, a zero byte of `slash`, a byte above 0x7f; false alarms are only slow
         */
        if ((((w - ones * 0x20) | (slash - ones)) | w) & highs)
            break;
        p += 8;
    }
    while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && *p != '\\')
        p++;
    return (size_t)(p - from);
}

/* Check the text of a string and unescape it to `to` (as long as the text); NULL: only check. */
static bool unescape(const char *p, const char *end, char *to, size_t *ret_n)
{
    char scratch[4];
    size_t n = 0;

    while (p < end) {
        size_t run = plain_run(p, end), written;
        uint32_t cp;
        if (to)
            memcpy(to + n, p, run);
        n += run;
        p += run;
        if (p == end)
            break;
        if (*p == '\\') {
            size_t used = escape(p + 1, end, to ? to + n : scratch, &written);
            if (used == 0)
                return false;
            p += 1 + used;
            n += written;
            continue;
        }
        size_t length = text_utf8_decode(p, (size_t)(end - p), &cp);
        if ((unsigned char)*p < 0x20 || (length == 1 && (unsigned char)*p >= 0x80))
            return false;
        if (to)
            memcpy(to + n, p, length);
        n += length;
        p += length;
    }
    *ret_n = n;
    return true;
}

/* Take the string p..end aside. */
static bool add_piece(struct body *b, const char *p, const char *end)
{
    struct body_piece piece = {.p = p, .n = (size_t)(end - p)};

    if (memchr(p, '\\', piece.n))
        piece.p = piece.own = mem_resize(NULL, piece.n, 1);
    if (!unescape(p, end, piece.own, &piece.n)) {
        free(piece.own);
        return false;
    }
    MEM_GROW(b->pieces, b->piece_count, b->piece_cap);
    b->pieces[b->piece_count++] = piece;
    return true;
}

/* Copy the document to `rest`, long strings replaced. */
static bool cut(struct body *b, const char *p, const char *end, size_t max_values, struct buf *rest,
                struct err *err)
{
    size_t values = 1;

    while (p < end) {
        const char *from = p;
        for (; p < end && *p != '"'; p++)
            values += *p == ',' || *p == '[' || *p == '{';
        if (values > max_values)
            return refuse(err, "the document has too many values");
        buf_add(rest, from, (size_t)(p - from));
        if (p == end)
            break;
        const char *close = string_end(p + 1, end);
        if (!close)
            return refuse(err, "a string is not closed");
        if (close - p > LONG_STRING) {
            if (!add_piece(b, p + 1, close))
                return refuse(err, "a long string has a control character, a wrong escape or "
                                   "invalid UTF-8 in it");
            buf_addf(rest, "\"%s%016" PRIx64 ":%zu\"", word_prefix, b->nonce, b->piece_count - 1);
        } else {
            buf_add(rest, p, (size_t)(close + 1 - p));
        }
        p = close + 1;
    }
    return true;
}

bool body_read(const char *p, size_t n, size_t max_values, struct body *ret, struct err *err)
{
    struct body b = {.nonce = rng_entropy()};
    struct buf rest;
    json_error_t at;

    buf_init(&rest, n + 64 * (n / LONG_STRING + 1));
    if (cut(&b, p, p + n, max_values, &rest, err)) {
        b.root = json_loadb(rest.p, rest.len, JSON_DECODE_ANY, &at);
        if (!b.root)
            err_set(err, ERR_FORMAT, "line %d, column %d: %s", at.line, at.column, at.text);
    }
    buf_release(&rest);
    if (!b.root)
        body_release(&b);
    else
        *ret = b;
    return b.root != NULL;
}

void body_release(struct body *b)
{
    json_decref(b->root);
    for (size_t i = 0; i < b->piece_count; i++)
        free(b->pieces[i].own);
    free(b->pieces);
    *b = (struct body){0};
}

bool body_string(const struct body *b, const json_t *value, const char **ret_p, size_t *ret_n)
{
    char word[64];
    int64_t index;

    if (!json_is_string(value))
        return false;
    *ret_p = json_string_value(value);
    *ret_n = json_string_length(value);
    int length = snprintf(word, sizeof word, "%s%016" PRIx64 ":", word_prefix, b->nonce);
    if (b->piece_count > 0 && strncmp(*ret_p, word, (size_t)length) == 0 &&
        num_parse_i64(*ret_p + length, &index) && index >= 0 && (size_t)index < b->piece_count) {
        *ret_p = b->pieces[index].p;
        *ret_n = b->pieces[index].n;
    }
    return true;
}
