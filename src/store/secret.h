/* secret.h - what is secret about users: how it is made, and how it is kept.
 *
 * Random bits come from the operating system. Tokens have 160 bits or more, so a plain BLAKE2b
 * hash of one cannot be turned back; passwords have few, hence Argon2id. */
#ifndef TOKGRID_STORE_SECRET_H
#define TOKGRID_STORE_SECRET_H

#include <stdbool.h>

#include "base/err.h"
#include "store/store.h"

enum { SECRET_HASH_BYTES = 32, SECRET_PASSWORD_MAX = 128, SECRET_PREFIX_MAX = 13 };

void secret_token(char out[STORE_TOKEN_MAX]);         /* 256 bits, base64url */
void secret_api_key(char out[STORE_KEY_TEXT_MAX]);    /* "tgk_" and 160 bits in hex */
void secret_user_code(char out[STORE_USER_CODE_MAX]); /* "BCDF-GHJK" */

/* What a user typed as a user code, in its proper form; false when it cannot be one. */
bool secret_read_user_code(const char *typed, char out[STORE_USER_CODE_MAX]);

void secret_hash(const char *text, unsigned char out[SECRET_HASH_BYTES]);
void secret_csrf(const char *token, char out[STORE_TOKEN_MAX]); /* follows from the token */

/* An Argon2id string. `cheap`: at its least cost. */
bool secret_password_hash(const char *password, bool cheap, char out[SECRET_PASSWORD_MAX],
                          struct err *err) ATTR_CHECK;
bool secret_password_fits(const char *hash, const char *password);

#endif
