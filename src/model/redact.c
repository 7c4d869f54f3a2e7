/* redact.c - walks the words of a text; a secret's name makes its value one.
 *
 * In a command a word is what the shell takes for one: quoted blanks belong to it, so that nothing
 * of `--api-key "a b"` or `-H 'Authorization: Bearer x'` is left behind. Inside a word, segments
 * between delimiters are looked at one by one: as names, as URLs, and by their prefix. */
#include "model/redact.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

static const char *const surely_secret[] = {"api-key",  "api_key", "apikey",     "secret",
                                            "password", "passwd",  "credential", "authorization"};
static const char *const perhaps_secret[] = {"token", "auth"};
/* names that hold one of those words and no secret: --max-num-batched-tokens 8192 */
static const char *const harmless[] = {"tokens",    "tokenizer", "token-",    "per_token",
                                       "per-token", "token_id",  "bos_token", "eos_token",
                                       "pad_token", "unk_token", "author",    "auto"};
static const char *const secret_prefixes[] = {
    "hf_",   "sk-",   "ghp_", "gho_", "ghs_",   "ghu_", "ghr_", "github_pat_", "tgk_", "glpat-",
    "xoxb-", "xoxp-", "AKIA", "ASIA", "nvapi-", "eyJ",  "gsk_", "xai-",        "AIza", "pplx-"};

static const char delimiters[] = "\"'=,;:(){}[]&?` \t\r\n";

static bool any_in(const char *p, size_t n, const char *const *list, size_t count)
{
    char word[256];
    if (n >= sizeof word)
        n = sizeof word - 1;
    memcpy(word, p, n);
    word[n] = '\0';
    for (size_t i = 0; i < count; i++)
        if (text_find_nocase(word, list[i]))
            return true;
    return false;
}

/* key, ssl-key, WANDB_KEY */
static bool is_key(const char *p, size_t n)
{
    return n >= 3 && strncasecmp(p + n - 3, "key", 3) == 0 &&
           (n == 3 || p[n - 4] == '-' || p[n - 4] == '_');
}

/* `p` is an option's, a variable's, a header's or a JSON member's name. */
static bool names_secret(const char *p, size_t n)
{
    if (any_in(p, n, surely_secret, ARRAY_LEN(surely_secret)))
        return true;
    if (any_in(p, n, harmless, ARRAY_LEN(harmless)))
        return false;
    return any_in(p, n, perhaps_secret, ARRAY_LEN(perhaps_secret)) || is_key(p, n);
}

static bool looks_secret(const char *p, size_t n)
{
    for (size_t i = 0; i < ARRAY_LEN(secret_prefixes); i++) {
        size_t len = strlen(secret_prefixes[i]);
        if (n > len + 8 && strncmp(p, secret_prefixes[i], len) == 0)
            return true;
    }
    return false;
}

static bool is_delimiter(char c)
{
    return c && strchr(delimiters, c);
}

/* Where the value of the name that ends at `at` begins, behind = or : and what may stand around a
 * name; `end` when that was no name. */
static const char *value_of(const char *at, const char *end)
{
    while (at < end && (*at == '"' || *at == '\'' || isblank((unsigned char)*at)))
        at++;
    if (at < end && (*at == '=' || (*at == ':' && strncmp(at, "://", 3) != 0)))
        return at + 1;
    return end;
}

/* scheme://user:password@host, from the colon on: returns where the host begins (its @), or NULL.
 */
static const char *url_host(const char *colon, const char *end)
{
    if (end - colon < 3 || strncmp(colon, "://", 3) != 0)
        return NULL;
    const char *at = NULL;
    for (const char *p = colon + 3; p < end && !strchr("/?#\"' \t\r\n", *p); p++)
        if (*p == '@')
            at = p;
    return at;
}

/* A text being looked through. */
struct search {
    const char *text;
    enum redact_form form;
    struct redact_spans *out;
};

static void take_out(const struct search *s, const char *p, size_t n, enum redact_kind kind)
{
    struct redact_spans *out = s->out;
    if (n == 3 && memcmp(p, "***", 3) == 0)
        return; /* by somebody before */
    MEM_GROW(out->v, out->n, out->cap);
    out->v[out->n++] = (struct redact_span){.at = (size_t)(p - s->text), .n = n, .kind = kind};
}

/* A word that is a secret as a whole; "***" in quotes is none any more. */
static void take_word_out(const struct search *s, const char *p, size_t n)
{
    bool quoted = n >= 2 && (*p == '"' || *p == '\'') && p[n - 1] == *p;
    if (quoted && n == 5 && memcmp(p + 1, "***", 3) == 0)
        return;
    take_out(s, p, n, REDACT_SECRET);
}

/* In prose a colon ends a clause: only name=value is an assignment. */
static bool assigns(const struct search *s, const char *name, const char *name_end,
                    const char *value, const char *end)
{
    return value < end && (s->form == REDACT_COMMAND || value[-1] == '=') &&
           names_secret(name, (size_t)(name_end - name));
}

/* A quote that was opened in front of the value, or the end of a command, stays behind the ***. */
static size_t value_length(const char *value, const char *end)
{
    size_t n = (size_t)(end - value);
    bool whole = n >= 2 && *value == end[-1];
    return strchr("\"';", end[-1]) && !whole ? n - 1 : n;
}

/* The secrets of one word; true when it is a name whose value is the next word. */
static bool search_word(const struct search *s, const char *p, size_t n, bool value_of_secret)
{
    const char *end = p + n, *start = p;

    if (value_of_secret && *p != '-') {
        take_word_out(s, p, n);
        return false;
    }
    while (p < end) {
        const char *next = p;
        while (next < end && !is_delimiter(*next))
            next++;
        if (next == p) {
            p++;
            continue;
        }
        const char *value = value_of(next, end), *host = url_host(next, end);
        if (looks_secret(p, (size_t)(next - p))) {
            take_out(s, p, (size_t)(next - p), REDACT_SECRET);
            p = next;
        } else if (host) {
            take_out(s, next + 3, (size_t)(host - next - 3), REDACT_SECRET);
            p = host;
        } else if (assigns(s, p, next, value, end)) {
            take_out(s, value, value_length(value, end), REDACT_SECRET);
            return false;
        } else {
            p = next;
        }
    }
    return s->form == REDACT_COMMAND && *start == '-' && names_secret(start, n);
}

/* The length of the quoted text that begins at p; 1 (the quote alone) when it does not end. */
static size_t quoted(const char *p)
{
    for (size_t n = 1; p[n]; n++) {
        if (p[n] == *p)
            return n + 1;
        if (*p == '"' && p[n] == '\\' && p[n + 1])
            n++;
    }
    return 1;
}

/* In a comment a quote is an apostrophe. */
static size_t word_length(const char *p, bool comment)
{
    size_t n = 0;
    while (p[n] && !isspace((unsigned char)p[n])) {
        if (!comment && (p[n] == '"' || p[n] == '\''))
            n += quoted(p + n);
        else
            n += !comment && p[n] == '\\' && p[n + 1] ? 2 : 1;
    }
    return n;
}

/* "Authorization: Bearer", the last word of it. */
static bool ends_in_bearer(const char *p, size_t n)
{
    static const size_t len = sizeof "bearer" - 1;
    return n >= len && strncasecmp(p + n - len, "bearer", len) == 0 &&
           (n == len || is_delimiter(p[n - len - 1]));
}

/* How much of the word behind it is a token: letters with a digit among them, or very many. Words
 * of a sentence about tokens are none. */
static size_t bearer_token(const char *p, size_t n)
{
    enum { TOKEN_MIN = 8, SURELY_TOKEN = 24 };
    size_t len = 0, digits = 0;
    for (; len < n && !is_delimiter(p[len]); len++)
        digits += isdigit((unsigned char)p[len]) != 0;
    return len >= SURELY_TOKEN || (len >= TOKEN_MIN && digits > 0) ? len : 0;
}

/* Blanks, and the backslash of a line that goes on: the value may follow behind it. */
static size_t blanks(const char *p)
{
    size_t n = 0;
    while (isspace((unsigned char)p[n]) || (p[n] == '\\' && isspace((unsigned char)p[n + 1])))
        n++;
    return n;
}

static void search_words(const struct search *s, const char *p, const char *end)
{
    bool value_of_secret = false, bearer = false, comment = s->form != REDACT_COMMAND;

    while (p < end) {
        size_t space = blanks(p);
        if (s->form == REDACT_COMMAND && memchr(p, '\n', space))
            comment = false;
        p += space;
        comment |= *p == '#';
        size_t word = p < end ? word_length(p, comment) : 0;
        if (word == 0)
            break;
        if (word > (size_t)(end - p))
            word = (size_t)(end - p);
        size_t token = bearer && !value_of_secret ? bearer_token(p, word) : 0;
        if (token > 0)
            take_out(s, p, token, REDACT_SECRET);
        if (token < word)
            value_of_secret = search_word(s, p + token, word - token, value_of_secret);
        bearer = ends_in_bearer(p, word);
        p += word;
    }
}

/* Inside of a JSON string: an escape stands between words. */
static void search_string(const struct search *s, const char *p, const char *end)
{
    while (p < end) {
        const char *escape = memchr(p, '\\', (size_t)(end - p));
        search_words(s, p, escape ? escape : end);
        if (!escape || end - escape < 6)
            p = escape ? escape + 2 : end;
        else
            p = escape + (escape[1] == 'u' ? 6 : 2);
    }
}

/* String by string: those under a secret's name are secrets, in the others may be some. */
static void search_json(const struct search *s)
{
    bool secret = false;

    for (const char *p = strchr(s->text, '"'); p; p = strchr(p, '"')) {
        size_t n = quoted(p);
        if (n < 2)
            break;
        const char *after = p + n + strspn(p + n, " \t\r\n");
        if (*after == ':')
            secret = names_secret(p + 1, n - 2);
        else if (secret && n > 2)
            take_out(s, p + 1, n - 2, REDACT_SECRET);
        else
            search_string(s, p + 1, p + n - 1);
        p += n;
    }
}

void redact_find(const char *text, enum redact_form form, struct redact_spans *out)
{
    const struct search s = {.text = text, .form = form, .out = out};

    out->n = 0;
    if (form == REDACT_JSON)
        search_json(&s);
    else
        search_words(&s, text, text + strlen(text));
}

void redact_spans_release(struct redact_spans *spans)
{
    free(spans->v);
    *spans = (struct redact_spans){0};
}

/* ---- names -----------------------------------------------------------------------------------
 */

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || (c & 0x80);
}

/* The name of the folder behind "home" or its like at p, a slash; 0: no such folder. */
static size_t home_folder(const char *p, const char **ret_name)
{
    static const char *const homes[] = {"home/", "Users/", "Users\\"};
    for (size_t i = 0; (*p == '/' || *p == '\\') && i < ARRAY_LEN(homes); i++) {
        if (!text_starts(p + 1, homes[i]))
            continue;
        *ret_name = p + 1 + strlen(homes[i]);
        *ret_name += strspn(*ret_name, "\\"); /* a backslash is two in JSON */
        return strcspn(*ret_name, "/\\\"':;,= \t\r\n()<>|&");
    }
    return 0;
}

/* Words like "vllm" are names of machines as well as of programs: one without a dot counts only
 * where a host stands. */
static bool is_host_place(const char *text, const char *p, size_t n)
{
    static const char *const before[] = {"://", "@", "host ", "host=", "hostname ", "hostname="};
    for (size_t i = 0; i < ARRAY_LEN(before); i++) {
        size_t len = strlen(before[i]);
        if ((size_t)(p - text) >= len && memcmp(p - len, before[i], len) == 0)
            return true;
    }
    return p[n] == ':' && isdigit((unsigned char)p[n + 1]);
}

static bool is_host(const char *text, const char *p, const char *host)
{
    size_t n = strlen(host);
    if (n == 0 || strncasecmp(p, host, n) != 0 || is_name_char(p[n]))
        return false;
    if (p > text && (is_name_char(p[-1]) || p[-1] == '.'))
        return false;
    return strpbrk(host, ".:") || is_host_place(text, p, n);
}

static bool is_user(const char *text, const char *p, const char *user)
{
    size_t n = user ? strlen(user) : 0;
    return n > 0 && strncmp(p, user, n) == 0 && p[n] == '@' && (p == text || !is_name_char(p[-1]));
}

/* The name that begins at p, or that the folder at p is called by: its length, 0 for none. */
static size_t name_at(const char *text, const char *p, const struct redact_names *names,
                      const char **ret)
{
    size_t n = home_folder(p, ret);
    if (n > 0)
        return n;
    *ret = p;
    if (is_user(text, p, names->user))
        return strlen(names->user);
    for (size_t i = 0; i < ARRAY_LEN(names->hosts); i++)
        if (names->hosts[i] && is_host(text, p, names->hosts[i]))
            return strlen(names->hosts[i]);
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct redact_span *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

void redact_find_names(const char *text, const struct redact_names *names,
                       struct redact_spans *spans)
{
    const struct search s = {.text = text, .out = spans};
    size_t secrets = spans->n, k = 0;

    for (const char *p = text; *p; p++) {
        const char *name;
        while (k < secrets && (size_t)(p - text) >= spans->v[k].at + spans->v[k].n)
            k++;
        if (k < secrets && (size_t)(p - text) >= spans->v[k].at)
            continue; /* inside of a secret */
        size_t n = name_at(text, p, names, &name);
        if (n == 0 || (k < secrets && (size_t)(name - text) + n > spans->v[k].at))
            continue;
        take_out(&s, name, n, REDACT_NAME);
        p = name + n - 1;
    }
    if (spans->n > secrets)
        qsort(spans->v, spans->n, sizeof *spans->v, by_place);
}

/* ---- writing ---------------------------------------------------------------------------------
 */

void redact_write(const char *text, const struct redact_spans *spans, struct buf *out)
{
    size_t at = 0;
    for (size_t i = 0; i < spans->n; i++) {
        buf_add(out, text + at, spans->v[i].at - at);
        buf_adds(out, "***");
        at = spans->v[i].at + spans->v[i].n;
    }
    buf_adds(out, text + at);
}

void redact_write_masked(const char *text, const struct redact_spans *spans, struct buf *out)
{
    size_t at = 0;
    for (size_t i = 0; i < spans->n; i++) {
        const struct redact_span *span = &spans->v[i];
        buf_add(out, text + at, span->at - at);
        if (span->kind == REDACT_SECRET)
            buf_addf(out, "<%zu bytes>", span->n);
        else
            buf_add(out, text + span->at, span->n);
        at = span->at + span->n;
    }
    buf_adds(out, text + at);
}

int redact_command(const char *command, struct buf *out)
{
    struct redact_spans spans = {0};

    redact_find(command, REDACT_COMMAND, &spans);
    redact_write(command, &spans, out);
    int count = (int)spans.n;
    redact_spans_release(&spans);
    return count;
}
