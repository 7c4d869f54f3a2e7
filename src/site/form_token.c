/* form_token.c - libsodium's random bytes and keyed hash. */
#include "site/form_token.h"

#include <sodium.h>
#include <string.h>

enum { TOKEN_BYTES = 20 };

void form_token_secret(char out[FORM_TOKEN_MAX])
{
    unsigned char bytes[TOKEN_BYTES];
    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(out, FORM_TOKEN_MAX, bytes, sizeof bytes);
}

void form_token_of(const char *cookie, char out[FORM_TOKEN_MAX])
{
    static const char purpose[] = "tokgrid form token";
    unsigned char bytes[TOKEN_BYTES];
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, sizeof bytes);
    crypto_generichash_update(&state, (const unsigned char *)purpose, sizeof purpose);
    crypto_generichash_update(&state, (const unsigned char *)cookie, strlen(cookie));
    crypto_generichash_final(&state, bytes, sizeof bytes);
    sodium_bin2hex(out, FORM_TOKEN_MAX, bytes, sizeof bytes);
}

bool form_token_equal(const char *a, const char *b)
{
    size_t n = strlen(a);
    return n > 0 && n == strlen(b) && sodium_memcmp(a, b, n) == 0;
}
