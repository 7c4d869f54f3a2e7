/* redact.c - walks the words of a shell command; a secret's name makes its value one.
 *
 * A word is what the shell takes for one: quoted blanks belong to it, so that nothing of
 * `--api-key "a b"` or `-H 'Authorization: Bearer x'` is left behind. Inside a word, segments
 * between delimiters are looked at one by one: as names, as URLs, and by their prefix. */
#include "model/redact.h"

#include <ctype.h>
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
static const char *const secret_prefixes[] = {"hf_",         "sk-",    "ghp_",   "gho_",
                                              "github_pat_", "tgk_",   "glpat-", "xoxb-",
                                              "AKIA",        "nvapi-", "eyJ"};

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

/* One word without its secrets; true when it is a name whose value is the next word. */
static bool add_word(const char *p, size_t n, bool value_of_secret, struct buf *out, int *count)
{
    const char *end = p + n, *start = p;
    const bool closes = strchr("\"';", end[-1]) != NULL; /* shown behind the *** */

    if (value_of_secret && *p != '-') {
        buf_adds(out, "***");
        ++*count;
        return false;
    }
    while (p < end) {
        const char *next = p;
        while (next < end && !is_delimiter(*next))
            next++;
        const char *value = value_of(next, end), *host = url_host(next, end);
        if (next == p) {
            buf_addc(out, *p++);
        } else if (looks_secret(p, (size_t)(next - p))) {
            buf_adds(out, "***");
            ++*count;
            p = next;
        } else if (host) {
            buf_add(out, p, (size_t)(next - p));
            buf_adds(out, "://***");
            ++*count;
            p = host;
        } else if (value < end && names_secret(p, (size_t)(next - p))) {
            buf_add(out, p, (size_t)(value - p));
            buf_addf(out, "***%.1s", closes ? end - 1 : "");
            ++*count;
            return false;
        } else {
            buf_add(out, p, (size_t)(next - p));
            p = next;
        }
    }
    return *start == '-' && names_secret(start, n);
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

/* Blanks, and the backslash of a line that goes on: the value may follow behind it. */
static size_t blanks(const char *p)
{
    size_t n = 0;
    while (isspace((unsigned char)p[n]) || (p[n] == '\\' && isspace((unsigned char)p[n + 1])))
        n++;
    return n;
}

int redact_command(const char *command, struct buf *out)
{
    bool value_of_secret = false, comment = false;
    int count = 0;

    for (const char *p = command; *p;) {
        size_t space = blanks(p);
        buf_add(out, p, space);
        if (memchr(p, '\n', space))
            comment = false;
        p += space;
        comment |= *p == '#';
        size_t word = word_length(p, comment);
        if (word == 0)
            break;
        value_of_secret = add_word(p, word, value_of_secret, out, &count);
        p += word;
    }
    return count;
}
