/* identity.h - what is the same model, the same hardware: names in results as this store has them.
 *
 * Pure. Results name a thing in many ways, since their makers do; here each gets one name, and a
 * key that is equal for what is the same. Names are at most IDENTITY_NAME_MAX bytes: the rest is
 * cut off. */
#ifndef TOKGRID_STORE_IDENTITY_H
#define TOKGRID_STORE_IDENTITY_H

#include <stdbool.h>

#include "base/arena.h"
#include "model/result.h"

enum { IDENTITY_NAME_MAX = 200 };

struct model_identity {
    const char *name;         /* "cyankiwi/Qwen3.5-27B-AWQ-4bit" */
    const char *key;          /* lower case */
    const char *organization; /* "cyankiwi"; NULL: none */
    const char *stem;         /* "Qwen3.5-27B": without organization and packaging */
    const char *stem_key;     /* "qwen3.5-27b": equal for all repackagings */
    bool original;            /* the name says of no repackaging, nor does the organization */
};

/* From a result, or from a name alone. */
void identity_of_model(const struct result *r, struct arena *a, struct model_identity *ret);
void identity_of_name(const char *name, struct arena *a, struct model_identity *ret);

/* Valid UTF-8 of at most IDENTITY_NAME_MAX bytes, white space trimmed and single. */
char *identity_tidy(struct arena *a, const char *text);

#endif
