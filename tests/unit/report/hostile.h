/* hostile.h - for tests: a result that holds something nasty in every string. */
#ifndef TOKGRID_TESTS_HOSTILE_H
#define TOKGRID_TESTS_HOSTILE_H

#include "../model/fill.h"
#include "base/buf.h"
#include "base/text.h"

/* control bytes, an escape sequence, 8-bit controls, direction marks, zero width, an emoji, broken
 * UTF-8, and what is special in CSV, Markdown and HTML; with CELL and LONG around it 10,000
 * characters */
static const char hostile_core[] =
    "=cmd|'/c calc'!A1,\"x\"\n\r\t\x01\x1B[31m\x1B]0;title\x07\x7F\xC2\x9B"
    "2J\xE2\x80\xAE"
    "evil"
    "\xE2\x81\xA6\xE2\x80\x8B\xF0\x9F\x98\x80\xFF\xFE\xC3|`**_[a](javascript:x)<script>alert(1)</"
    "script><!-- @team "
    "#1"
    " www.example.com https://example.com $x$ ~~s~~ \\| &amp; ```";

static inline char *hostile_long(void)
{
    struct buf b;
    buf_init(&b, 1 << 16);
    while (b.len < 10000)
        buf_adds(&b, hostile_core);
    return buf_detach(&b);
}

/* The caller releases. Two contexts and two levels, every figure, every mark. */
static inline void hostile_result(struct result *r, const char *text)
{
    fill_result(r, text);
    for (size_t i = 0; i < r->decode_count; i++) {
        r->decode[i].marks = (1u << MARK_COUNT) - 1;
        r->decode[i].status = i ? STATUS_ERROR : STATUS_QUEUED;
    }
    r->run.complete = false;
}

/* No byte that a terminal obeys except line ends, nothing that reorders or hides. */
static inline void assert_harmless(const struct buf *b, bool cr_is_fine)
{
    for (size_t i = 0; i < b->len;) {
        uint32_t cp;
        size_t n = text_utf8_decode(b->p + i, b->len - i, &cp);
        if (cp == 0xFFFD && n == 1)
            fail_msg("broken UTF-8 at %zu", i);
        if (text_is_unsafe(cp) && cp != '\n' && !(cr_is_fine && cp == '\r'))
            fail_msg("unsafe character %x at %zu", (unsigned)cp, i);
        i += n;
    }
}

#endif
