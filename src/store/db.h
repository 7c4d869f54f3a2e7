/* db.h - a thin layer over SQLite and PostgreSQL: one way to run a statement on either.
 *
 * SQL is written once, with ? for values, and only as string literals: the macros below do not
 * compile otherwise, so no value can ever become part of a statement. Statements are prepared on
 * first use and kept by their text. Both databases take the subset that is used here: RETURNING,
 * ON CONFLICT, row values, partial indexes, window functions.
 *
 *     struct db_rows rows;
 *     if (!DB_QUERY(db, &rows, err, "SELECT name, age FROM person WHERE id = ?", db_int(7)))
 *         return false;
 *     while (db_next(&rows))
 *         add(db_get_text(&rows, arena), db_get_int(&rows));
 *     return db_end(&rows, err);
 *
 * Rows are read column by column, in order. Rows that were begun are always ended; a failure in
 * between comes out there. A statement that is being read cannot be run a second time meanwhile.
 *
 * NULL is 0 as an integer, NAN as a number, NULL as a text; NAN and NULL are written as NULL. Text
 * must be valid UTF-8 (ERR_FORMAT). One thread at a time. */
#ifndef TOKGRID_STORE_DB_H
#define TOKGRID_STORE_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum db_kind { DB_SQLITE, DB_POSTGRES };

struct db;

/* `url` decides on the kind (db_kind_of). `create` makes an SQLite file that is missing, readable
 * by its owner only. */
bool db_open(const char *url, bool create, struct db **ret, struct err *err) ATTR_CHECK;
void db_close(struct db *db);
enum db_kind db_kind(const struct db *db);
enum db_kind db_kind_of(const char *url);
const char *db_path_of(const char *url); /* of SQLite: without "sqlite:" */

/* ---- values ---------------------------------------------------------------------------------- */

enum db_type { DB_NULL, DB_INT, DB_REAL, DB_TEXT, DB_BLOB };

struct db_value {
    enum db_type type;
    int64_t i;
    double r;
    const void *p; /* of text and blobs: borrowed until the statement was run */
    size_t n;
};

struct db_value db_int(int64_t v);
struct db_value db_id(int64_t v); /* 0 is NULL */
struct db_value db_real(double v);
struct db_value db_text(const char *s);
struct db_value db_blob(const void *p, size_t n);

/* ---- statements ------------------------------------------------------------------------------ */

struct db_rows {
    struct db *db;
    struct db_stmt *stmt;
    void *result; /* of the driver */
    int row, column;
    bool ended, failed;
};

/* Values of a call as an array; the first is not one, so that there may be none. */
#define DB_VALUES(...)                                                                             \
    (const struct db_value[]){{.type = DB_NULL}, ##__VA_ARGS__} + 1,                               \
        sizeof((const struct db_value[]){{.type = DB_NULL}, ##__VA_ARGS__}) /                      \
                sizeof(struct db_value) -                                                          \
            1

/* A statement without rows; DB_CHANGE also says how many rows it changed. */
#define DB_RUN(db, err, sql, ...) db_run((db), "" sql, DB_VALUES(__VA_ARGS__), NULL, (err))
#define DB_CHANGE(db, ret_changed, err, sql, ...)                                                  \
    db_run((db), "" sql, DB_VALUES(__VA_ARGS__), (ret_changed), (err))
/* One with rows. */
#define DB_QUERY(db, rows, err, sql, ...)                                                          \
    db_query((db), "" sql, DB_VALUES(__VA_ARGS__), (rows), (err))

bool db_run(struct db *db, const char *sql, const struct db_value *values, size_t n,
            int64_t *ret_changed, struct err *err) ATTR_CHECK;
bool db_query(struct db *db, const char *sql, const struct db_value *values, size_t n,
              struct db_rows *rows, struct err *err) ATTR_CHECK;
bool db_next(struct db_rows *rows);
/* Something else went wrong while the rows were read: there are no more, and db_end says it. */
void db_spoil(struct db_rows *rows, const struct err *err);
bool db_end(struct db_rows *rows, struct err *err) ATTR_CHECK;

/* The next column of the row. */
int64_t db_get_int(struct db_rows *rows);
double db_get_real(struct db_rows *rows);
char *db_get_text(struct db_rows *rows, struct arena *a);
const void *db_get_blob(struct db_rows *rows, size_t *ret_n);        /* until the next db_next */
struct db_value db_get_value(struct db_rows *rows, struct arena *a); /* as it is */

/* A query of a variable number of literal pieces, each with its values. */
enum { DB_PIECE_VALUES = 400 };
struct db_pieces {
    struct buf sql;
    struct db_value values[DB_PIECE_VALUES];
    size_t n;
};
#define DB_ADD(pieces, sql, ...) db_pieces_add((pieces), "" sql, DB_VALUES(__VA_ARGS__))
void db_pieces_init(struct db_pieces *p);
void db_pieces_release(struct db_pieces *p);
void db_pieces_add(struct db_pieces *p, const char *sql, const struct db_value *values, size_t n);
bool db_pieces_query(struct db *db, const struct db_pieces *p, struct db_rows *rows,
                     struct err *err) ATTR_CHECK;
bool db_pieces_run(struct db *db, const struct db_pieces *p, struct err *err) ATTR_CHECK;

/* ---- transactions ---------------------------------------------------------------------------- */

/* They nest by counting; a failed statement or a rollback inside dooms the outermost one. SQLite's
 * take the write lock at once, so that two of them never find out late that they are in each
 * other's way. */
bool db_begin(struct db *db, struct err *err) ATTR_CHECK;
bool db_commit(struct db *db, struct err *err) ATTR_CHECK;
void db_rollback(struct db *db);
int db_depth(const struct db *db);

/* Commit when `fine`, else roll back: the end of a function that began with db_begin. */
bool db_finish(struct db *db, bool fine, struct err *err) ATTR_CHECK;

/* ---- for migrations, backup and tests -------------------------------------------------------- */

/* Several statements without values, of this program's own. */
bool db_script(struct db *db, const char *sql, struct err *err) ATTR_CHECK;
/* A lock that the other processes which migrate respect; inside a transaction. */
bool db_lock_schema(struct db *db, struct err *err) ATTR_CHECK;
bool db_backup(struct db *db, const char *path, struct err *err) ATTR_CHECK; /* SQLite's only */
/* How the database would run a statement: one line a step. */
bool db_explain(struct db *db, const char *sql, const struct db_value *values, size_t n,
                struct buf *out, struct err *err) ATTR_CHECK;
/* How much work all statements so far were, in SQLite's own steps; 0 for PostgreSQL. */
int64_t db_steps(const struct db *db);
/* Called with every statement that is run from now on; NULL: none. */
typedef void db_watch_fn(void *context, const char *sql, const struct db_value *values, size_t n);
void db_watch(struct db *db, db_watch_fn *fn, void *context);

#endif
