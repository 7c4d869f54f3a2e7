/* search_words.c - one walk over the characters, for texts and for queries. */
#include "store/search_words.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

enum char_class { CHAR_BREAK, CHAR_LETTER, CHAR_DIGIT, CHAR_CJK };

/* Beyond ASCII: letters and digits, and what is written without spaces; all else is a break. Only
 * what SQLite's unicode61 takes for part of a word, too, in every version: it would make two words
 * of one that holds anything else, such as a combining mark, and could not search for it. */
static const struct {
    uint32_t first, last;
    enum char_class class;
} ranges[] = {
    {0xaa, 0xaa, CHAR_LETTER},     {0xb5, 0xb5, CHAR_LETTER},    {0xba, 0xba, CHAR_LETTER},
    {0xc0, 0xd6, CHAR_LETTER},     {0xd8, 0xf6, CHAR_LETTER},    {0xf8, 0x24f, CHAR_LETTER},
    {0x250, 0x2af, CHAR_LETTER},   {0x386, 0x386, CHAR_LETTER},  {0x388, 0x38a, CHAR_LETTER},
    {0x38c, 0x38c, CHAR_LETTER},   {0x38e, 0x3a1, CHAR_LETTER},  {0x3a3, 0x3ce, CHAR_LETTER},
    {0x400, 0x481, CHAR_LETTER},   {0x48a, 0x523, CHAR_LETTER},  {0x531, 0x556, CHAR_LETTER},
    {0x561, 0x587, CHAR_LETTER},   {0x5d0, 0x5ea, CHAR_LETTER},  {0x621, 0x63a, CHAR_LETTER},
    {0x641, 0x64a, CHAR_LETTER},   {0x660, 0x669, CHAR_DIGIT},   {0x671, 0x6d3, CHAR_LETTER},
    {0x6f0, 0x6f9, CHAR_DIGIT},    {0x904, 0x939, CHAR_LETTER},  {0x966, 0x96f, CHAR_DIGIT},
    {0xe01, 0xe30, CHAR_LETTER},   {0xe40, 0xe46, CHAR_LETTER},  {0xe50, 0xe59, CHAR_DIGIT},
    {0x10d0, 0x10f0, CHAR_LETTER}, {0x1100, 0x11ff, CHAR_CJK},   {0x1e00, 0x1e9b, CHAR_LETTER},
    {0x1ea0, 0x1ef9, CHAR_LETTER}, {0x2e80, 0x2fdf, CHAR_CJK},   {0x3005, 0x3007, CHAR_CJK},
    {0x3041, 0x30fa, CHAR_CJK},    {0x30fc, 0x318f, CHAR_CJK},   {0x31a0, 0x31ff, CHAR_CJK},
    {0x3400, 0x9fff, CHAR_CJK},    {0xac00, 0xd7af, CHAR_CJK},   {0xf900, 0xfaff, CHAR_CJK},
    {0xff65, 0xff9f, CHAR_CJK},    {0x20000, 0x3ffff, CHAR_CJK},
};

static enum char_class class_of(uint32_t cp)
{
    if (cp < 0x80)
        return isdigit((int)cp) ? CHAR_DIGIT : isalpha((int)cp) ? CHAR_LETTER : CHAR_BREAK;
    for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
        if (cp >= ranges[i].first && cp <= ranges[i].last)
            return ranges[i].class;
    return CHAR_BREAK;
}

/* Full-width to ASCII, then capitals to small in the alphabets that have them: by so much, or,
 * where capital and small take turns, to the odd one of the two. */
enum { TO_ODD = 0 };
static const struct {
    uint32_t first, last, by;
} capitals[] = {
    {'A', 'Z', 32},         {0xc0, 0xd6, 32},         {0xd8, 0xde, 32},   {0x100, 0x137, TO_ODD},
    {0x14a, 0x177, TO_ODD}, {0x391, 0x3a9, 32},       {0x400, 0x40f, 80}, {0x410, 0x42f, 32},
    {0x460, 0x481, TO_ODD}, {0x1e00, 0x1eff, TO_ODD},
};

static uint32_t fold(uint32_t cp)
{
    if (cp >= 0xff01 && cp <= 0xff5e)
        cp -= 0xff01 - '!';
    for (size_t i = 0; i < ARRAY_LEN(capitals); i++)
        if (cp >= capitals[i].first && cp <= capitals[i].last)
            return capitals[i].by == TO_ODD ? cp | 1 : cp + capitals[i].by;
    return cp;
}

struct scan {
    const char *p;
    size_t left;
};

/* The next character, folded; false at the end. */
static bool next_char(struct scan *s, uint32_t *ret_cp, enum char_class *ret_class)
{
    uint32_t cp;

    if (s->left == 0)
        return false;
    size_t n = text_utf8_decode(s->p, s->left, &cp);
    s->p += n;
    s->left -= n;
    *ret_cp = fold(cp);
    *ret_class = class_of(*ret_cp);
    return true;
}

static void put(struct search_word *w, uint32_t a, uint32_t b)
{
    size_t n = text_utf8_encode(a, w->text);

    if (b)
        n += text_utf8_encode(b, w->text + n);
    w->text[n] = '\0';
    w->pair = true;
}

typedef bool word_fn(void *context, const struct search_word *w, bool lone, bool follows);

struct walk {
    word_fn *fn;
    void *context;
    struct search_word word; /* being read */
    size_t n;
    uint32_t before; /* the CJK character before; 0: none */
    bool paired;     /* it was part of a pair */
    bool near;       /* only one break since the last word */
};

static bool flush(struct walk *w)
{
    bool more = true;

    if (w->n > 0) {
        w->word.text[w->n] = '\0';
        w->word.pair = false;
        more = w->fn(w->context, &w->word, false, w->near);
        w->near = true;
    } else if (w->before && !w->paired) {
        put(&w->word, w->before, 0);
        more = w->fn(w->context, &w->word, true, false);
    }
    w->n = 0;
    w->before = 0;
    w->paired = false;
    return more;
}

static bool take_cjk(struct walk *w, uint32_t cp)
{
    struct search_word pair;
    bool more = true;

    if (w->n > 0)
        more = flush(w);
    w->near = false;
    if (w->before) {
        put(&pair, w->before, cp);
        more = w->fn(w->context, &pair, false, false);
        w->paired = true;
    }
    w->before = cp;
    return more;
}

static bool take_letter(struct walk *w, uint32_t cp)
{
    char bytes[4];
    bool more = true;

    if (w->before)
        more = flush(w);
    size_t size = text_utf8_encode(cp, bytes);
    if (w->n + size <= SEARCH_WORD_MAX) {
        memcpy(w->word.text + w->n, bytes, size);
        w->n += size;
    }
    return more;
}

static void walk(const char *text, word_fn *fn, void *context)
{
    struct scan s = {text, strlen(text)};
    struct walk w = {.fn = fn, .context = context};
    uint32_t cp;
    enum char_class class;
    bool more = true;

    while (more && next_char(&s, &cp, &class)) {
        if (class == CHAR_CJK) {
            more = take_cjk(&w, cp);
        } else if (class != CHAR_BREAK) {
            more = take_letter(&w, cp);
        } else {
            bool between = w.n > 0;
            more = flush(&w);
            w.near = between;
        }
    }
    if (more)
        flush(&w);
}

/* ---- queries ---- */

struct query {
    struct search_word *out;
    size_t n;
};

static bool add_query_word(void *context, const struct search_word *w, bool lone, bool follows)
{
    struct query *q = context;

    (void)lone;
    (void)follows;
    for (size_t i = 0; i < q->n; i++)
        if (strcmp(q->out[i].text, w->text) == 0)
            return true;
    q->out[q->n++] = *w;
    return q->n < SEARCH_QUERY_WORDS;
}

size_t search_query_words(const char *query, struct search_word out[SEARCH_QUERY_WORDS])
{
    struct query q = {.out = out};

    walk(query, add_query_word, &q);
    return q.n;
}

/* ---- texts ---- */

struct text {
    struct buf *out;
    size_t n;
    struct search_word last; /* of letters and digits */
};

static void add_text(struct text *t, const char *word)
{
    if (t->out->len > 0)
        buf_addc(t->out, ' ');
    buf_adds(t->out, word);
    t->n++;
}

static bool add_text_word(void *context, const struct search_word *w, bool lone, bool follows)
{
    struct text *t = context;
    char joined[2 * SEARCH_WORD_MAX + 1];
    char single[5];
    uint32_t first;

    add_text(t, w->text);
    if (w->pair && !lone) { /* each character alone, too */
        size_t n = text_utf8_decode(w->text, strlen(w->text), &first);
        memcpy(single, w->text, n);
        single[n] = '\0';
        add_text(t, single);
        add_text(t, w->text + n);
    }
    if (!w->pair) {
        size_t n = strlen(t->last.text);
        if (follows && n > 0 && !isdigit((unsigned char)t->last.text[n - 1]) &&
            isdigit((unsigned char)w->text[0])) {
            memcpy(joined, t->last.text, n);
            memcpy(joined + n, w->text, strlen(w->text) + 1);
            add_text(t, joined);
        }
        t->last = *w;
    }
    return t->n < SEARCH_WORDS_MAX;
}

void search_text_words(const char *text, struct buf *out)
{
    struct text t = {.out = out};

    walk(text, add_text_word, &t);
}
