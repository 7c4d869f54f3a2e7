/* tokenizer.c - eight bytes at a time: which of them are letters is one expression, and the token
 * is those bytes, masked. */
#include "engine/tokenizer.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

enum {
    LETTERS_MAX = 6,
    DIGITS_MAX = 3,
    LOOKAHEAD = 4,       /* bytes behind a token that can decide where it ends */
    MEMO_MIN = 16 << 10, /* shorter texts are read as fast as they are remembered */
    MEMO_MAX = 64 << 20, /* ends are 32 bits; bodies are far smaller */
    LENGTH_SHIFT = 56,
    MARK_LENGTH = 0x7f, /* in the place of the length: a mark of the template; numbers stay in 63
                         * bits, which is as far as JSON readers go */
};

#define EACH(byte) ((uint64_t)(byte)*0x0101010101010101u)

static const char *const marks[] = {"<|im_start|>", "<|im_end|>"};
enum mark { MARK_START, MARK_END };

static uint64_t mark_token(enum mark mark)
{
    return (uint64_t)MARK_LENGTH << LENGTH_SHIFT | (uint64_t)mark;
}

void tokens_release(struct tokens *t)
{
    free(t->v);
    *t = (struct tokens){0};
}

bool tokens_overflow(const struct tokens *t)
{
    return t->max > 0 && t->n > t->max;
}

/* Room for `more` tokens, as far as they are kept. */
static void make_room(struct tokens *t, size_t more)
{
    size_t need = t->n + more;

    if (t->max > 0 && need > t->max)
        need = t->max;
    if (need <= t->cap)
        return;
    t->cap = need > 2 * t->cap ? need : 2 * t->cap;
    t->v = mem_resize(t->v, t->cap, sizeof *t->v);
}

void tokens_add(struct tokens *t, uint64_t token)
{
    if (t->n == t->cap)
        make_room(t, 8);
    if (t->n < t->cap)
        t->v[t->n] = token;
    t->n++;
}

/* Eight bytes, the first one lowest; zeros behind the end. */
static uint64_t load(const char *p, const char *end)
{
    uint64_t w = 0;
    memcpy(&w, p, end - p >= 8 ? 8 : (size_t)(end - p));
    return le64toh(w);
}

/* The high bit of each byte that lies in low..high (ASCII). */
static uint64_t bytes_in(uint64_t w, unsigned char low, unsigned char high)
{
    uint64_t seven = w & EACH(0x7f);
    uint64_t at_least = seven + EACH(0x80 - low), above = seven + EACH(0x7f - high);
    return at_least & ~above & ~w & EACH(0x80);
}

/* How many bytes from the first on have their high bit set in `mask`. */
static unsigned run_length(uint64_t mask)
{
    uint64_t others = ~mask & EACH(0x80);
    return others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
}

static uint64_t token_of(uint64_t w, unsigned length)
{
    return (w & ((UINT64_C(1) << 8 * length) - 1)) | (uint64_t)length << LENGTH_SHIFT;
}

/* The token at p < end; returns its length. */
static inline unsigned next_token(const char *p, const char *end, uint64_t *ret)
{
    uint64_t w = load(p, end), letters = bytes_in(w | EACH(0x20), 'a', 'z');
    unsigned char first = (unsigned char)*p;
    unsigned space = first == ' ', length = run_length(letters >> 8 * space);

    if (length > 0) {
        length = space + (length < LETTERS_MAX ? length : LETTERS_MAX);
    } else if (first >= '0' && first <= '9') {
        length = run_length(bytes_in(w, '0', '9'));
        length = length < DIGITS_MAX ? length : DIGITS_MAX;
    } else if (first < 0x80) {
        length = 1;
    } else {
        uint32_t cp;
        length = (unsigned)text_utf8_decode(p, (size_t)(end - p), &cp);
    }
    *ret = token_of(w, length);
    return length;
}

void tokenizer_add(struct tokens *t, const char *text, size_t n)
{
    const char *p = text, *end = text + n;
    uint64_t token;

    make_room(t, n / 4 + 8); /* enough for English */
    while (p < end) {
        p += next_token(p, end, &token);
        tokens_add(t, token);
    }
}

void tokenizer_add_marked(struct tokens *t, const char *text, size_t n)
{
    const char *p = text, *end = text + n, *plain = text;

    while ((p = memchr(p, '<', (size_t)(end - p)))) {
        size_t mark = 0, left = (size_t)(end - p);
        while (mark < ARRAY_LEN(marks) &&
               (left < strlen(marks[mark]) || memcmp(p, marks[mark], strlen(marks[mark])) != 0))
            mark++;
        if (mark == ARRAY_LEN(marks)) {
            p++;
            continue;
        }
        tokenizer_add(t, plain, (size_t)(p - plain));
        tokens_add(t, mark_token((enum mark)mark));
        plain = p += strlen(marks[mark]);
    }
    tokenizer_add(t, plain, (size_t)(end - plain));
}

bool token_text(uint64_t token, struct buf *out)
{
    uint64_t length = token >> LENGTH_SHIFT, low = token & ((UINT64_C(1) << LENGTH_SHIFT) - 1);

    if (length == MARK_LENGTH && low < ARRAY_LEN(marks)) {
        buf_adds(out, marks[low]);
        return true;
    }
    if (length == 0 || length > 7 || low >> 8 * length)
        return false;
    low = htole64(low);
    buf_add(out, &low, length);
    return true;
}

/* --- the chat template --- */

void template_open(struct tokens *t, const char *role, size_t n)
{
    tokens_add(t, mark_token(MARK_START));
    tokenizer_add(t, role, n);
    tokenizer_add(t, "\n", 1);
}

void template_close(struct tokens *t)
{
    tokens_add(t, mark_token(MARK_END));
    tokenizer_add(t, "\n", 1);
}

void template_text(struct buf *out, const char *role, const char *text, size_t n)
{
    buf_addf(out, "%s%s\n", marks[MARK_START], role);
    buf_add(out, text, n);
    buf_addf(out, "%s\n", marks[MARK_END]);
}

void template_text_end(struct buf *out)
{
    buf_addf(out, "%sassistant\n", marks[MARK_START]);
}

/* --- the memo --- */

void token_memo_release(struct token_memo *m)
{
    free(m->text);
    free(m->tokens);
    free(m->ends);
    *m = (struct token_memo){0};
}

static size_t common_length(const char *a, const char *b, size_t n)
{
    size_t i = 0;
    for (size_t step = 4096; i + step <= n && memcmp(a + i, b + i, step) == 0;)
        i += step;
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

/* How many of the memo's tokens the text begins with. */
static size_t shared_tokens(const struct token_memo *m, const char *text, size_t n)
{
    size_t common = common_length(m->text, text, n < m->text_len ? n : m->text_len);
    size_t low = 0, high = m->n;

    if (common < LOOKAHEAD)
        return 0;
    while (low < high) { /* the first token that ends behind common - LOOKAHEAD */
        size_t middle = low + (high - low) / 2;
        if (m->ends[middle] <= common - LOOKAHEAD)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void memo_make_room(struct token_memo *m, size_t n)
{
    if (m->cap >= n)
        return;
    m->cap = n;
    m->tokens = mem_resize(m->tokens, n, sizeof *m->tokens);
    m->ends = mem_resize(m->ends, n, sizeof *m->ends);
}

static void memo_keep_text(struct token_memo *m, const char *text, size_t n)
{
    if (m->text_cap < n) {
        m->text_cap = n;
        m->text = mem_resize(m->text, n, 1);
    }
    memcpy(m->text, text, n);
    m->text_len = n;
}

void tokenizer_add_memo(struct tokens *t, const char *text, size_t n, struct token_memo *m)
{
    if (n < MEMO_MIN || n > MEMO_MAX) {
        tokenizer_add(t, text, n);
        return;
    }
    size_t shared = shared_tokens(m, text, n), begin = t->n;
    make_room(t, shared);
    if (t->n + shared > t->cap)
        shared = 0;
    size_t at = shared ? m->ends[shared - 1] : 0;
    if (shared)
        memcpy(t->v + t->n, m->tokens, shared * sizeof *t->v);
    t->n += shared;
    tokenizer_add(t, text + at, n - at);
    if (tokens_overflow(t))
        return; /* only what is whole is remembered */

    size_t count = t->n - begin;
    memo_make_room(m, count);
    memcpy(m->tokens + shared, t->v + begin + shared, (count - shared) * sizeof *m->tokens);
    for (size_t i = shared; i < count; i++) {
        at += m->tokens[i] >> LENGTH_SHIFT;
        m->ends[i] = (uint32_t)at;
    }
    m->n = count;
    memo_keep_text(m, text, n);
}
