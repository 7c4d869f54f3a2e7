/* event_scan.c - the fast reader: one walk over the bytes, strict JSON, no tree, no allocation.
 *
 * The walk keeps a small stack of open objects and arrays. Each level knows its context - which
 * known place of a payload it is, or PLACE_SKIP for all others - and a context is a table of the
 * keys that matter in it. Every byte is checked against JSON's grammar on the way, so that what is
 * accepted here is what a full parser accepts; at the first doubt the walk gives up, because
 * event_parse is slower but knows everything. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "load/event.h"
#include "load/event_fields.h"

enum {
    MAX_DEPTH = 32,
    MAX_INT_DIGITS = 18, /* longer numbers, and exponents of three digits, might not fit */
    MAX_EXP_DIGITS = 2,
};

enum place {
    PLACE_SKIP,
    PLACE_ROOT,
    PLACE_CHOICES,
    PLACE_CHOICE,
    PLACE_DELTA,
    PLACE_TOOLS,
    PLACE_TOOL,
    PLACE_FUNCTION,
    PLACE_USAGE,
    PLACE_DETAILS,
    PLACE_OUTPUT_DETAILS,
    PLACE_TIMINGS,
    PLACE_ERROR,
    PLACE_MESSAGE,
    PLACE_COUNT,
};

enum {
    TAKES_TEXT = 1 << 0,
    TAKES_WORD = 1 << 1, /* text that is compared with words: must not hold escapes */
    TAKES_COUNT = 1 << 2,
    TAKES_MS = 1 << 3,
    TAKES_DONE = 1 << 4,
    TAKES_ONLY = 1 << 5, /* any other type than these and null is left to event_parse */
    IS_ANSWER = 1 << 6,  /* its presence says that this is no bare error */
};

enum { KEY_NAME_MAX = 25 };

struct key {
    uint8_t len;
    char name[KEY_NAME_MAX]; /* in place: most rows are passed over by length and first letter */
    uint8_t flags;
    uint8_t text, count;   /* where the value goes: enum text_field, enum count_field */
    uint8_t object, array; /* enum place of a value that opens */
};

#define KEY(literal) .name = "" literal, .len = sizeof("" literal) - 1
#define TEXT(field)  .flags = TAKES_TEXT, .text = (field)
#define WORD(field)  .flags = TAKES_TEXT | TAKES_WORD, .text = (field)
#define COUNT(field) .flags = TAKES_COUNT, .count = (field)
#define CODE(words, number)                                                                        \
    .flags = TAKES_TEXT | TAKES_WORD | TAKES_COUNT, .text = (words), .count = (number)

static const struct key root_keys[] = {
    {KEY("id"), TEXT(TEXT_ID)},
    {KEY("object"), WORD(TEXT_OBJECT)},
    {KEY("choices"), .flags = IS_ANSWER, .array = PLACE_CHOICES},
    {KEY("usage"), .flags = IS_ANSWER, .object = PLACE_USAGE},
    {KEY("timings"), .object = PLACE_TIMINGS},
    {KEY("error"), .flags = TAKES_TEXT | TAKES_ONLY, .text = TEXT_ERROR, .object = PLACE_ERROR},
    {KEY("message"), TEXT(TEXT_MESSAGE), .object = PLACE_MESSAGE},
    {KEY("response"), .flags = TAKES_TEXT | IS_ANSWER, .text = TEXT_RESPONSE},
    {KEY("thinking"), TEXT(TEXT_THINKING)},
    {KEY("done"), .flags = TAKES_DONE | IS_ANSWER},
    {KEY("done_reason"), WORD(TEXT_DONE_REASON)},
    {KEY("prompt_eval_count"), COUNT(COUNT_PROMPT_EVAL)},
    {KEY("eval_count"), COUNT(COUNT_EVAL)},
    {KEY("detail"), .flags = TAKES_TEXT | TAKES_ONLY, .text = TEXT_DETAIL},
    {KEY("msg"), TEXT(TEXT_MSG)},
    {KEY("code"), CODE(TEXT_CODE, COUNT_CODE)},
    {KEY("http_status_code"), COUNT(COUNT_STATUS)},
    {KEY("error_type"), TEXT(TEXT_TYPE_OF_ERROR)},
};
static const struct key choice_keys[] = {
    {KEY("delta"), .object = PLACE_DELTA},
    {KEY("finish_reason"), WORD(TEXT_FINISH_REASON)},
    {KEY("text"), TEXT(TEXT_TEXT)},
    {KEY("error"), .flags = TAKES_TEXT | TAKES_ONLY, .text = TEXT_ERROR, .object = PLACE_ERROR},
};
static const struct key delta_keys[] = {
    {KEY("content"), TEXT(TEXT_CONTENT)},
    {KEY("reasoning"), TEXT(TEXT_REASONING)},
    {KEY("reasoning_content"), TEXT(TEXT_REASONING_CONTENT)},
    {KEY("tool_calls"), .array = PLACE_TOOLS},
};
static const struct key tool_keys[] = {
    {KEY("function"), .object = PLACE_FUNCTION},
};
static const struct key function_keys[] = {
    {KEY("arguments"), TEXT(TEXT_ARGUMENTS)},
};
static const struct key usage_keys[] = {
    {KEY("prompt_tokens"), COUNT(COUNT_PROMPT)},
    {KEY("completion_tokens"), COUNT(COUNT_COMPLETION)},
    {KEY("prompt_tokens_details"), .object = PLACE_DETAILS},
    {KEY("completion_tokens_details"), .object = PLACE_OUTPUT_DETAILS},
    {KEY("reasoning_tokens"), COUNT(COUNT_REASONING_FLAT)},
};
static const struct key output_details_keys[] = {
    {KEY("reasoning_tokens"), COUNT(COUNT_REASONING)},
};
static const struct key details_keys[] = {
    {KEY("cached_tokens"), COUNT(COUNT_CACHED)},
};
static const struct key timings_keys[] = {
    {KEY("prompt_n"), COUNT(COUNT_TIMED_PROMPT)},
    {KEY("cache_n"), COUNT(COUNT_TIMED_CACHE)},
    {KEY("predicted_n"), COUNT(COUNT_TIMED_PREDICTED)},
    {KEY("prompt_ms"), .flags = TAKES_MS},
};
static const struct key error_keys[] = {
    {KEY("message"), TEXT(TEXT_ERROR_MESSAGE)},
    {KEY("type"), TEXT(TEXT_ERROR_TYPE)},
    {KEY("code"), CODE(TEXT_ERROR_CODE, COUNT_ERROR_CODE)},
    {KEY("http_status_code"), COUNT(COUNT_ERROR_STATUS)},
};
static const struct key message_keys[] = {
    {KEY("content"), TEXT(TEXT_MESSAGE_CONTENT)},
    {KEY("thinking"), TEXT(TEXT_MESSAGE_THINKING)},
};

/* What an element of a known array is. */
static const struct key choice_element = {.object = PLACE_CHOICE};
static const struct key tool_element = {.object = PLACE_TOOL};
static const struct key nothing = {0};

#define KEYS(array) .keys = (array), .count = ARRAY_LEN(array), .element = &nothing

static const struct {
    const struct key *keys;
    size_t count;
    const struct key *element;
} places[PLACE_COUNT] = {
    [PLACE_SKIP] = {.element = &nothing},
    [PLACE_ROOT] = {KEYS(root_keys)},
    [PLACE_CHOICES] = {.element = &choice_element},
    [PLACE_CHOICE] = {KEYS(choice_keys)},
    [PLACE_DELTA] = {KEYS(delta_keys)},
    [PLACE_TOOLS] = {.element = &tool_element},
    [PLACE_TOOL] = {KEYS(tool_keys)},
    [PLACE_FUNCTION] = {KEYS(function_keys)},
    [PLACE_USAGE] = {KEYS(usage_keys)},
    [PLACE_DETAILS] = {KEYS(details_keys)},
    [PLACE_OUTPUT_DETAILS] = {KEYS(output_details_keys)},
    [PLACE_TIMINGS] = {KEYS(timings_keys)},
    [PLACE_ERROR] = {KEYS(error_keys)},
    [PLACE_MESSAGE] = {KEYS(message_keys)},
};

struct level {
    uint8_t place;
    bool array;
    uint32_t seen; /* bit i: key i came; for an array, 1: an element came */
};

/* Where the text of an answer's event begins, all before it is mostly what the event before said: a
 * scan that stands there is kept, and the next one begins with it when its bytes are the same. */
enum { MEMO_BYTES = 512, MEMO_DEPTH = 8 };

struct event_memo {
    size_t n; /* bytes up to the text's opening quote; 0: nothing is kept */
    unsigned depth;
    bool error_seen;
    const struct key *key; /* of the text */
    struct level levels[MEMO_DEPTH];
    struct event_fields fields; /* slices point into bytes */
    char bytes[MEMO_BYTES];
};

struct scan {
    const char *p, *end;
    const char *start;
    struct event_memo *memo; /* where to keep it; NULL: nowhere, or it is kept */
    struct event_fields *fields;
    unsigned depth;
    struct level levels[MAX_DEPTH];
    bool error_seen;
};

static void skip_blanks(struct scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\r' || *s->p == '\t'))
        s->p++;
}

/* Servers send compact JSON: mostly one comparison says that there is nothing to skip. */
static inline void skip_space(struct scan *s)
{
    if (s->p < s->end && (unsigned char)*s->p <= ' ')
        skip_blanks(s);
}

/* --- strings --------------------------------------------------------------------------------- */

/* Does this byte end a run of plain ASCII: a quote, a backslash, a control byte, or the first byte
 * of a longer character? */
static bool ends_run(char c)
{
    return c == '"' || c == '\\' || (unsigned char)c < 0x20 || (unsigned char)c >= 0x80;
}

/* The same for eight bytes at once: the top bit of each byte that ends a run. Subtracting borrows
 * from the byte above only where a byte does end one, so the lowest bit set is always right. */
static uint64_t run_ends(uint64_t eight)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    uint64_t quote = eight ^ ones * '"', backslash = eight ^ ones * '\\';
    return ((quote - ones) | (backslash - ones) | (eight - ones * 0x20) | eight) & tops;
}

static const char *end_of_run(const char *p, const char *end)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (uint64_t eight; (size_t)(end - p) >= sizeof eight; p += sizeof eight) {
        memcpy(&eight, p, sizeof eight);
        uint64_t ends = run_ends(eight);
        if (ends)
            return p + __builtin_ctzll(ends) / 8;
    }
#endif
    while (p < end && !ends_run(*p))
        p++;
    return p;
}

/* s->p is at a backslash. Half of a surrogate pair alone is a doubt. */
static bool scan_escape(struct scan *s)
{
    size_t left = (size_t)(s->end - s->p);
    if (left < 2)
        return false;
    if (s->p[1] != 'u') {
        bool known = s->p[1] != '\0' && strchr("\"\\/bfnrt", s->p[1]);
        s->p += 2;
        return known;
    }
    int unit = event_unicode_escape(s->p, left);
    if (unit < 0)
        return false;
    s->p += 6;
    if (unit < 0xD800 || unit > 0xDFFF)
        return true;
    int low = event_unicode_escape(s->p, left - 6);
    if (unit > 0xDBFF || low < 0xDC00 || low > 0xDFFF)
        return false;
    s->p += 6;
    return true;
}

/* s->p is at the opening quote. */
static bool scan_string(struct scan *s, struct slice *ret, bool *ret_escaped)
{
    const char *start = ++s->p;
    *ret_escaped = false;
    for (;;) {
        s->p = end_of_run(s->p, s->end);
        if (s->p == s->end || (unsigned char)*s->p < 0x20)
            return false;
        if (*s->p == '"')
            break;
        if (*s->p == '\\') {
            *ret_escaped = true;
            if (!scan_escape(s))
                return false;
        } else {
            uint32_t cp;
            size_t len = text_utf8_decode(s->p, (size_t)(s->end - s->p), &cp);
            if (len == 1)
                return false;
            s->p += len;
        }
    }
    *ret = (struct slice){start, (size_t)(s->p - start)};
    s->p++;
    return true;
}

/* --- numbers and words ------------------------------------------------------------------------ */

struct number {
    uint64_t digits; /* all digits as one integer, while they are at most COUNT_MAX_DIGITS */
    size_t count;    /* how many digits there are */
    size_t after_point;
    bool negative, exponent;
};

static size_t scan_digits(struct scan *s, struct number *n)
{
    const char *start = s->p;
    for (; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++)
        if (n->count++ < COUNT_MAX_DIGITS)
            n->digits = n->digits * 10 + (uint64_t)(*s->p - '0');
    return (size_t)(s->p - start);
}

static bool scan_number(struct scan *s, struct number *ret)
{
    *ret = (struct number){.negative = *s->p == '-'};
    s->p += ret->negative;
    const char *first = s->p;
    size_t whole = scan_digits(s, ret);
    if (whole == 0 || whole > MAX_INT_DIGITS || (whole > 1 && *first == '0'))
        return false;
    if (s->p < s->end && *s->p == '.') {
        s->p++;
        ret->after_point = scan_digits(s, ret);
        if (ret->after_point == 0)
            return false;
    }
    if (s->p < s->end && (*s->p == 'e' || *s->p == 'E')) {
        struct number exponent = {0};
        s->p++;
        if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
            s->p++;
        size_t digits = scan_digits(s, &exponent);
        ret->exponent = true;
        return digits > 0 && digits <= MAX_EXP_DIGITS;
    }
    return true;
}

static bool store_number(struct event_fields *f, const struct key *key, const struct number *n)
{
    /* powers of ten that a double holds exactly: one division rounds once, like strtod */
    static const double ten_to[COUNT_MAX_DIGITS + 1] = {
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    if (key->flags & TAKES_ONLY)
        return false;
    if (!(key->flags & (TAKES_COUNT | TAKES_MS)))
        return true;
    if (n->negative || n->exponent || n->count > COUNT_MAX_DIGITS)
        return false;
    if (key->flags & TAKES_MS)
        f->prompt_ms = (double)n->digits / ten_to[n->after_point];
    else if (n->after_point > 0)
        return false;
    else
        f->count[key->count] = (int64_t)n->digits;
    return true;
}

/* null, true or false; the caller saw the first letter. */
static bool scan_word(struct scan *s, const struct key *key)
{
    char first = *s->p;
    const char *word = first == 'n' ? "null" : first == 't' ? "true" : "false";
    size_t len = first == 'f' ? 5 : 4;
    if ((size_t)(s->end - s->p) < len || memcmp(s->p, word, len) != 0)
        return false;
    s->p += len;
    if (key->flags & TAKES_DONE)
        s->fields->done = first == 't';
    return first == 'n' || !(key->flags & TAKES_ONLY);
}

/* --- the walk --------------------------------------------------------------------------------- */

static bool read_text(struct scan *s, const struct key *key)
{
    struct slice text;
    bool escaped;
    if (!scan_string(s, &text, &escaped))
        return false;
    if (!(key->flags & TAKES_TEXT))
        return true;
    if (escaped && key->flags & TAKES_WORD)
        return false;
    if (s->fields->text[key->text].n == 0) /* of several tool calls the first that says something */
        s->fields->text[key->text] = text;
    return true;
}

/* The key of the next member, past its colon. Known keys may come once. */
static bool read_key(struct scan *s, struct level *level, const struct key **ret)
{
    struct slice name;
    bool escaped;
    if (s->p == s->end || *s->p != '"' || !scan_string(s, &name, &escaped) || escaped)
        return false;
    skip_space(s);
    if (s->p == s->end || *s->p != ':')
        return false;
    s->p++;
    *ret = &nothing;
    const struct key *keys = places[level->place].keys;
    for (size_t i = 0; i < places[level->place].count; i++) {
        if (keys[i].len != name.n || keys[i].name[0] != *name.p ||
            memcmp(keys[i].name, name.p, name.n) != 0)
            continue;
        if (level->seen & 1u << i)
            return false;
        level->seen |= 1u << i;
        if (keys[i].object == PLACE_ERROR) { /* two errors: which of them speaks? */
            if (s->error_seen)
                return false;
            s->error_seen = true;
        }
        if (keys[i].flags & IS_ANSWER)
            s->fields->answers = true;
        *ret = &keys[i];
        break;
    }
    return true;
}

/* What may follow a value: a comma, or the ends of what is open, up to the next comma. */
static bool after_value(struct scan *s)
{
    while (s->depth > 0) {
        skip_space(s);
        if (s->p == s->end)
            return false;
        char c = *s->p++;
        if (c == ',')
            return true;
        if (c != (s->levels[s->depth - 1].array ? ']' : '}'))
            return false;
        s->depth--;
    }
    return true;
}

static bool open_level(struct scan *s, const struct key *key)
{
    bool array = *s->p++ == '[';
    uint8_t place = array ? key->array : key->object;
    if (s->depth == MAX_DEPTH || (place == PLACE_SKIP && key->flags & TAKES_ONLY))
        return false;
    if (place == PLACE_ERROR)
        s->fields->error = true;
    s->levels[s->depth++] = (struct level){.place = place, .array = array};
    skip_space(s);
    if (s->p < s->end && *s->p == (array ? ']' : '}'))
        return after_value(s);
    return true;
}

static bool read_value(struct scan *s, const struct key *key)
{
    struct number number;
    if (s->p == s->end)
        return false;
    switch (*s->p) {
    case '{':
    case '[': return open_level(s, key);
    case '"': return read_text(s, key) && after_value(s);
    case 'n':
    case 't':
    case 'f': return scan_word(s, key) && after_value(s);
    default:
        return scan_number(s, &number) && store_number(s->fields, key, &number) && after_value(s);
    }
}

/* Make the slices of f, which point into the bytes at `from`, point to the same places of `to`. */
static void move_slices(struct event_fields *f, const char *from, const char *to)
{
    for (size_t i = 0; i < TEXT_COUNT; i++)
        if (f->text[i].n > 0)
            f->text[i].p = to + (f->text[i].p - from);
}

static void keep_scan(struct scan *s, const struct key *key)
{
    struct event_memo *m = s->memo;
    size_t n = (size_t)(s->p - s->start);

    s->memo = NULL;
    m->n = 0;
    if (n > MEMO_BYTES || s->depth > MEMO_DEPTH)
        return;
    m->n = n;
    m->depth = s->depth;
    m->error_seen = s->error_seen;
    m->key = key;
    memcpy(m->levels, s->levels, s->depth * sizeof *s->levels);
    memcpy(m->bytes, s->start, n);
    m->fields = *s->fields;
    move_slices(&m->fields, s->start, m->bytes);
}

/* False: the payload begins in another way. */
static bool take_up_scan(struct scan *s, const struct event_memo *m)
{
    if (m->n == 0 || (size_t)(s->end - s->start) <= m->n || memcmp(s->start, m->bytes, m->n) != 0)
        return false;
    s->p = s->start + m->n;
    s->depth = m->depth;
    s->error_seen = m->error_seen;
    memcpy(s->levels, m->levels, m->depth * sizeof *s->levels);
    *s->fields = m->fields;
    move_slices(s->fields, m->bytes, s->start);
    return true;
}

/* One member of an object or one element of an array. Several choices are a doubt: which of them
 * speaks is not for the fast path to say. */
static bool read_item(struct scan *s)
{
    struct level *level = &s->levels[s->depth - 1];
    const struct key *key = places[level->place].element;
    skip_space(s);
    if (!level->array) {
        if (!read_key(s, level, &key))
            return false;
        skip_space(s);
    } else if (level->place == PLACE_CHOICES) {
        if (level->seen)
            return false;
        level->seen = 1;
    }
    bool is_text = (key->flags & (TAKES_TEXT | TAKES_WORD)) == TAKES_TEXT &&
                   (level->place == PLACE_DELTA || level->place == PLACE_CHOICE);
    if (is_text && s->memo && s->p < s->end && *s->p == '"')
        keep_scan(s, key);
    return read_value(s, key);
}

struct event_memo *event_memo_new(void)
{
    return mem_alloc(sizeof(struct event_memo));
}

bool event_scan(struct event_memo *memo, const char *p, size_t n, struct event *ret)
{
    static const struct key root = {.object = PLACE_ROOT};
    struct event_fields fields;
    struct scan s;

    s.p = s.start = p;
    s.end = p + n;
    s.depth = 0;
    s.error_seen = false;
    s.fields = &fields;
    s.memo = NULL;
    if (memo && take_up_scan(&s, memo)) {
        if (!read_value(&s, memo->key))
            return false;
    } else {
        s.memo = memo;
        skip_space(&s);
        if (s.p == s.end || *s.p != '{')
            return event_is_plain(p, n, ret);
        event_fields_init(&fields);
        if (!open_level(&s, &root))
            return false;
    }
    while (s.depth > 0)
        if (!read_item(&s))
            return false;
    skip_space(&s);
    if (s.p != s.end)
        return false;
    event_settle(&fields, ret);
    return true;
}
