/* redact.c - walks the words of a shell command; a secret's name makes its value one. */
#include "model/redact.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

static const char *const secret_names[] = {"api-key",  "api_key", "apikey",     "token", "secret",
                                           "password", "passwd",  "credential", "auth"};
static const char *const secret_prefixes[] = {"hf_",         "sk-",    "ghp_",   "gho_",
                                              "github_pat_", "tgk_",   "glpat-", "xoxb-",
                                              "AKIA",        "nvapi-", "Bearer"};
/* names that hold one of those words and no secret: --max-num-batched-tokens 8192 */
static const char *const harmless[] = {"tokens",     "tokenizer", "token-",
                                       "per_token",  "per-token", "author",
                                       "stop-token", "token_ids", "token-ids"};

static bool contains(const char *p, size_t n, const char *what)
{
    char word[256];
    if (n >= sizeof word)
        n = sizeof word - 1;
    memcpy(word, p, n);
    word[n] = '\0';
    return text_find_nocase(word, what) != NULL;
}

/* `p` is an option's or a variable's name. */
static bool names_secret(const char *p, size_t n)
{
    for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
        if (contains(p, n, harmless[i]))
            return false;
    for (size_t i = 0; i < ARRAY_LEN(secret_names); i++)
        if (contains(p, n, secret_names[i]))
            return true;
    return false;
}

static bool looks_secret(const char *p, size_t n)
{
    while (n > 0 && (*p == '"' || *p == '\'')) {
        p++;
        n--;
    }
    for (size_t i = 0; i < ARRAY_LEN(secret_prefixes); i++) {
        size_t len = strlen(secret_prefixes[i]);
        if (n > len + 8 && strncmp(p, secret_prefixes[i], len) == 0)
            return true;
    }
    return false;
}

/* One word without its secret; true when it is a name whose value is the next word. */
static bool add_word(const char *p, size_t n, bool value_of_secret, struct buf *out, int *count)
{
    const char *equals = memchr(p, '=', n), *at = memchr(p, '@', n);
    const char *scheme = n > 6 ? strstr(p, "://") : NULL;

    if (value_of_secret && p[0] != '-') {
        buf_adds(out, "***");
        ++*count;
        return false;
    }
    if (equals && (names_secret(p, (size_t)(equals - p)) ||
                   looks_secret(equals + 1, (size_t)(p + n - equals) - 1))) {
        buf_add(out, p, (size_t)(equals - p) + 1);
        buf_adds(out, "***");
        ++*count;
        return false;
    }
    if (scheme && at && scheme < at && at < p + n) {
        buf_add(out, p, (size_t)(scheme - p) + 3);
        buf_adds(out, "***");
        buf_add(out, at, (size_t)(p + n - at));
        ++*count;
        return false;
    }
    if (looks_secret(p, n)) {
        buf_adds(out, "***");
        ++*count;
        return false;
    }
    buf_add(out, p, n);
    return p[0] == '-' && names_secret(p, n);
}

int redact_command(const char *command, struct buf *out)
{
    bool value_of_secret = false;
    int count = 0;

    for (const char *p = command; *p;) {
        size_t space = 0, word;
        while (p[space] && isspace((unsigned char)p[space]))
            space++;
        buf_add(out, p, space);
        p += space;
        for (word = 0; p[word] && !isspace((unsigned char)p[word]);)
            word++;
        if (word == 0)
            break;
        if (word == 1 && *p == '\\') { /* a line goes on: the value may follow */
            buf_addc(out, '\\');
        } else {
            value_of_secret = add_word(p, word, value_of_secret, out, &count);
        }
        p += word;
    }
    return count;
}
