/* store_names.h - what the ids in a run's row are called, remembered by a handle.
 *
 * There are few models, cards and engines, and every run of every list names seven of them: looking
 * them up here takes seven searches in the database off each row. Private to this layer. */
#ifndef TOKGRID_STORE_STORE_NAMES_H
#define TOKGRID_STORE_STORE_NAMES_H

#include "store/db.h"

struct store;

enum name_kind {
    NAME_USER,
    NAME_MODEL,
    NAME_BASE,
    NAME_ORGANIZATION,
    NAME_HARDWARE, /* its slug; the title beside it */
    NAME_ENGINE,
    NAME_QUANTIZATION,
    NAME_KINDS,
};

struct names;

struct names *names_new(void);
void names_free(struct names *n); /* NULL is fine */

/* Before a run is read: what was remembered under another version of the store counts no more. */
bool names_begin(struct store *s, struct err *err) ATTR_CHECK;

/* Copies in the arena; NULL when the id is 0 or there is no such row. `ret_title` may be NULL. */
bool names_get(struct store *s, enum name_kind kind, int64_t id, struct arena *a,
               const char **ret_name, const char **ret_title, struct err *err) ATTR_CHECK;

#endif
