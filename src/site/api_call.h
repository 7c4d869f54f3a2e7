/* api_call.h - a call of the API on its way to its handler: held against its row first.
 *
 * What the row does not know is refused by name: parameters, fields of the body, their types and
 * bounds. Then comes the limit, then the handler, once for each Idempotency-Key. So handlers read
 * values without checking them again. */
#ifndef TOKGRID_SITE_API_CALL_H
#define TOKGRID_SITE_API_CALL_H

#include "site/api_schema.h"
#include "site/visit.h"

/* Answers it, whatever it is. */
void api_call(struct visit *v);

/* ---- for handlers ---------------------------------------------------------------------------- */

/* A parameter of the query or a field of the body, as text; NULL: not given. */
const char *api_value(struct visit *v, const char *name);
bool api_flag(struct visit *v, const char *name); /* given, and true */

void api_answer(struct visit *v, int status, const struct api_object *o, const void *at);

/* 409, with the run that is in the way. */
void api_fail_exists(struct visit *v, const char *text, const char *uid);

#endif
