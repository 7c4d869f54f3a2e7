/* credentials.h - the keys of sites that this user is logged in at: one entry for each site.
 *
 * They are in $XDG_CONFIG_HOME/tokgrid/credentials.json, or under ~/.config: mode 0600 in a folder
 * of mode 0700, replaced as a whole. A file that others can read, that belongs to
 * another user, or that is none, is refused. Strings are in the arena that was given. */
#ifndef TOKGRID_CMD_CREDENTIALS_H
#define TOKGRID_CMD_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

enum { CREDENTIALS_MAX = 100 };

struct credential {
    const char *site; /* "https://host", as struct site has it */
    const char *user; /* whose key it is */
    const char *key;
};

struct credentials {
    const char *path;
    struct credential v[CREDENTIALS_MAX];
    size_t n;
};

/* tgk_ and letters, digits or underscores: nothing else may go into a header. */
bool credential_key_valid(const char *key);

/* A file that is not there holds none. */
bool credentials_read(struct arena *a, struct credentials *ret, struct err *err) ATTR_CHECK;
bool credentials_write(const struct credentials *c, struct err *err) ATTR_CHECK;

const struct credential *credentials_find(const struct credentials *c, const char *site);

/* Add the entry, in place of the site's former one; strings are borrowed. */
bool credentials_put(struct credentials *c, const struct credential *entry,
                     struct err *err) ATTR_CHECK;
void credentials_remove(struct credentials *c, const char *site);

#endif
