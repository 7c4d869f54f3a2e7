/* migrate.h - brings a database's schema up to date, one numbered step after the other.
 *
 * A step is a file in src/store/migrations, compiled in. Table schema_migration says which were
 * taken and what each one's text was: a step that was released is never edited, and a database
 * whose history is another is refused. All missing steps are one transaction, behind a lock. */
#ifndef TOKGRID_STORE_MIGRATE_H
#define TOKGRID_STORE_MIGRATE_H

#include "store/db.h"

struct migration {
    int version; /* 1, 2, ... */
    const char *name;
    const char *sqlite, *postgres; /* SQL with @words */
};

extern const struct migration migrations[]; /* made by tools/make-migrations */
extern const size_t migration_count;

/* Take the missing steps up to `version` (0: all), or, without `allowed`, fail when there are any.
 * `now_ms` is the time that is noted. */
bool migrate_to(struct db *db, int version, bool allowed, int64_t now_ms,
                struct err *err) ATTR_CHECK;

/* Fails unless the database's history is this program's, whole. */
bool migrate_check(struct db *db, struct err *err) ATTR_CHECK;

#endif
