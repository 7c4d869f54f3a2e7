/* form_token.h - tokens for forms of visitors who are not signed in, and comparing without a hint.
 *
 * A visitor gets a random cookie; the token in his forms is a keyed hash of it, so another site can
 * neither know nor guess it. Signed-in visitors have one of their session's (store.h). */
#ifndef TOKGRID_SITE_FORM_TOKEN_H
#define TOKGRID_SITE_FORM_TOKEN_H

#include <stdbool.h>

enum { FORM_TOKEN_MAX = 48 };

void form_token_secret(char out[FORM_TOKEN_MAX]);                 /* 40 hex digits */
void form_token_of(const char *cookie, char out[FORM_TOKEN_MAX]); /* 40 hex digits */
bool form_token_equal(const char *a, const char *b); /* in a time that depends on lengths alone */

#endif
