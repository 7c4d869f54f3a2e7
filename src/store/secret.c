/* secret.c - tokens, codes and passwords, by libsodium. */
#include "store/secret.h"

#include <ctype.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { TOKEN_BYTES = 32, API_KEY_BYTES = 20, CSRF_BYTES = 24, USER_CODE_LETTERS = 8 };

_Static_assert(SECRET_PASSWORD_MAX >= crypto_pwhash_STRBYTES, "an Argon2id string fits");
_Static_assert(SECRET_HASH_BYTES == crypto_generichash_BYTES, "the usual length");

static void base64(const unsigned char *p, size_t n, char out[STORE_TOKEN_MAX])
{
    sodium_bin2base64(out, STORE_TOKEN_MAX, p, n, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

void secret_token(char out[STORE_TOKEN_MAX])
{
    unsigned char bytes[TOKEN_BYTES];

    randombytes_buf(bytes, sizeof bytes);
    base64(bytes, sizeof bytes, out);
}

void secret_api_key(char out[STORE_KEY_TEXT_MAX])
{
    unsigned char bytes[API_KEY_BYTES];

    randombytes_buf(bytes, sizeof bytes);
    int n = snprintf(out, STORE_KEY_TEXT_MAX, "tgk_");
    sodium_bin2hex(out + n, STORE_KEY_TEXT_MAX - (size_t)n, bytes, sizeof bytes);
}

/* Without vowels no word comes of it; without digits nobody wonders about 0 and O. */
static const char code_letters[] = "BCDFGHJKLMNPQRSTVWXZ";

void secret_user_code(char out[STORE_USER_CODE_MAX])
{
    char *p = out;

    for (int i = 0; i < USER_CODE_LETTERS; i++) {
        if (i == USER_CODE_LETTERS / 2)
            *p++ = '-';
        *p++ = code_letters[randombytes_uniform(sizeof code_letters - 1)];
    }
    *p = '\0';
}

bool secret_read_user_code(const char *typed, char out[STORE_USER_CODE_MAX])
{
    int n = 0;
    char *p = out;

    for (; *typed; typed++) {
        char c = (char)toupper((unsigned char)*typed);
        if (c == ' ' || c == '-')
            continue;
        if (n == USER_CODE_LETTERS || !strchr(code_letters, c))
            return false;
        if (n == USER_CODE_LETTERS / 2)
            *p++ = '-';
        *p++ = c;
        n++;
    }
    *p = '\0';
    return n == USER_CODE_LETTERS;
}

void secret_hash(const char *text, unsigned char out[SECRET_HASH_BYTES])
{
    crypto_generichash(out, SECRET_HASH_BYTES, (const unsigned char *)text, strlen(text), NULL, 0);
}

void secret_csrf(const char *token, char out[STORE_TOKEN_MAX])
{
    static const char key[] =
        "tokgrid: token of a session's forms"; /* tells the two hashes apart */
    unsigned char bytes[CSRF_BYTES];

    crypto_generichash(bytes, sizeof bytes, (const unsigned char *)token, strlen(token),
                       (const unsigned char *)key, sizeof key - 1);
    base64(bytes, sizeof bytes, out);
}

bool secret_password_hash(const char *password, bool cheap, char out[SECRET_PASSWORD_MAX],
                          struct err *err)
{
    size_t n = strlen(password);

    if (n < STORE_PASSWORD_MIN || n > STORE_PASSWORD_MAX)
        return err_set(err, ERR_FORMAT, "a password has %d to %d bytes", STORE_PASSWORD_MIN,
                       STORE_PASSWORD_MAX);
    if (crypto_pwhash_str(out, password, n,
                          cheap ? crypto_pwhash_OPSLIMIT_MIN : crypto_pwhash_OPSLIMIT_INTERACTIVE,
                          cheap ? crypto_pwhash_MEMLIMIT_MIN
                                : crypto_pwhash_MEMLIMIT_INTERACTIVE) != 0)
        return err_set(err, ERR_BUSY, "there is no memory to hash a password with");
    return true;
}

bool secret_password_fits(const char *hash, const char *password)
{
    return crypto_pwhash_str_verify(hash, password, strlen(password)) == 0;
}
