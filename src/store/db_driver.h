/* db_driver.h - what a driver does for db.c. Private to the two of them.
 *
 * A driver knows no transactions, no cache and no counting of arguments: db.c does that once. On
 * failure it fills `err` with one of the classes of store.h. */
#ifndef TOKGRID_STORE_DB_DRIVER_H
#define TOKGRID_STORE_DB_DRIVER_H

#include "store/db.h"

struct db_stmt {
    char *sql;
    uint64_t hash;
    int64_t used;  /* by db.c: when it was run last, in statements */
    bool reading;  /* its rows are being read */
    void *handle;  /* of the driver; NULL: not prepared */
    unsigned name; /* PostgreSQL: it is s<name> on the server */
};

struct db_driver {
    enum db_kind kind;
    const char *begin; /* the statement */
    bool (*open)(struct db *db, const char *url, bool create, struct err *err);
    void (*close)(struct db *db);
    /* Before a statement outside a transaction: true when the connection was made anew, so that
     * nothing is prepared any more. */
    bool (*revive)(struct db *db);
    bool (*prepare)(struct db *db, struct db_stmt *stmt, struct err *err);
    void (*forget)(struct db *db, struct db_stmt *stmt);
    /* Run it with these values. Statements without rows are done then. */
    bool (*start)(struct db *db, struct db_rows *rows, const struct db_value *values, size_t n,
                  struct err *err);
    bool (*next)(struct db_rows *rows, struct err *err); /* false: no more rows, or failed */
    void (*finish)(struct db_rows *rows);
    int64_t (*changed)(const struct db_rows *rows);
    bool (*is_null)(const struct db_rows *rows, int column);
    enum db_type (*type)(const struct db_rows *rows, int column); /* of what is not NULL */
    /* What is NULL is 0, NAN, NULL and no bytes; asking is_null first would double the calls. */
    int64_t (*get_int)(const struct db_rows *rows, int column);
    double (*get_real)(const struct db_rows *rows, int column);
    const char *(*get_text)(const struct db_rows *rows, int column, size_t *ret_n);
    const void *(*get_blob)(struct db_rows *rows, int column, size_t *ret_n);
    bool (*script)(struct db *db, const char *sql, struct err *err);
    bool (*lock_schema)(struct db *db, struct err *err);
    bool (*backup)(struct db *db, const char *path, struct err *err);
    const char *explain; /* put before a statement */
};

extern const struct db_driver db_sqlite, db_postgres;

enum { DB_CACHE = 192 };

struct db {
    const struct db_driver *driver;
    void *handle;  /* sqlite3 or PGconn */
    void *scratch; /* of the driver, for one statement */
    struct db_stmt cache[DB_CACHE];
    size_t cached;
    int64_t statements; /* run so far */
    int64_t steps;      /* of SQLite's machine, in all of them */
    unsigned names;     /* given so far */
    int depth;
    bool doomed;
    struct err failed; /* while rows are read */
    db_watch_fn *watch;
    void *watch_context;
};

#endif
