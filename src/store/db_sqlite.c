/* db_sqlite.c - SQLite behind db.h: one file, many readers, one writer at a time (WAL). */
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "store/db_driver.h"

enum {
    BUSY_MS = 5000, /* how long a statement waits for another process's write */
    RETRY_MS = 20,
    BACKUP_PAGES = 256,          /* copied in one go; others may write in between */
    APPLICATION_ID = 0x746b6764, /* "tkgd": says whose file it is */
};

static enum err_code class_of(int rc)
{
    switch (rc) {
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_ROWID: return ERR_EXISTS;
    case SQLITE_CONSTRAINT_FOREIGNKEY: return ERR_NOT_FOUND;
    default: break;
    }
    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return ERR_BUSY;
    case SQLITE_TOOBIG: return ERR_LIMIT;
    default: return ERR_SYSTEM;
    }
}

static bool failed(sqlite3 *handle, int rc, struct err *err)
{
    enum err_code code = class_of(rc);

    if (code == ERR_BUSY)
        return err_set(err, code, "the database is busy: another process has been writing for %d s",
                       BUSY_MS / 1000);
    return err_set(err, code, "database: %s", handle ? sqlite3_errmsg(handle) : sqlite3_errstr(rc));
}

static bool run_script(struct db *db, const char *sql, struct err *err)
{
    int rc = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK || failed(db->handle, rc, err);
}

/* An empty file, unless there is one. SQLite gives the files beside it the same permissions.
 * Nothing but SQLite may ever open and close a database: closing it drops all locks that this
 * process has on it, whereupon another one that opens it takes itself for the only one. */
static bool make_private(const char *path, bool *ret_new, struct err *err)
{
    *ret_new = mknod(path, S_IFREG | 0600, 0) == 0;
    if (*ret_new || errno == EEXIST)
        return true;
    return err_set(err, ERR_SYSTEM, "%s: cannot be made: %s", path, strerror(errno));
}

static bool pragma_int(sqlite3 *handle, const char *sql, int64_t *ret)
{
    sqlite3_stmt *s = NULL;
    bool fine =
        sqlite3_prepare_v2(handle, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW;

    if (fine)
        *ret = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return fine;
}

/* A database that is not empty and not this program's is left alone. */
static bool is_ours(sqlite3 *handle, const char *path, struct err *err)
{
    int64_t id = 0, tables = 0;

    if (!pragma_int(handle, "PRAGMA application_id", &id) ||
        !pragma_int(handle, "SELECT COUNT(*) FROM sqlite_schema", &tables)) {
        int rc = sqlite3_errcode(handle);
        failed(handle, rc, err);
        return err_prefix(err, "%s", path);
    }
    if (id == APPLICATION_ID || (id == 0 && tables == 0))
        return true;
    return err_set(err, ERR_FORMAT, "%s: is an SQLite database of another program", path);
}

static bool set_up(struct db *db, struct err *err)
{
    int64_t id = 0;

    if (!run_script(db,
                    "PRAGMA journal_mode = WAL;"
                    "PRAGMA synchronous = NORMAL;" /* a crash of the machine may lose the last
                                                      commits; nothing can damage the file */
                    "PRAGMA foreign_keys = ON;"
                    "PRAGMA temp_store = MEMORY;"
                    "PRAGMA cache_size = -16000;"
                    "PRAGMA mmap_size = 2147418112;", /* address space; what is read from beyond it
                                                         is copied, page by page */
                    err))
        return false;
    if (pragma_int(db->handle, "PRAGMA application_id", &id) && id == APPLICATION_ID)
        return true;
    return run_script(db, "PRAGMA application_id = 0x746b6764;", err);
}

/* Where several processes open a new file at once, SQLite gives up on some of these without asking
 * its busy handler. */
static bool set_up_patiently(struct db *db, const char *path, struct err *err)
{
    for (int waited_ms = 0;; waited_ms += RETRY_MS) {
        if (is_ours(db->handle, path, err) && (set_up(db, err) || err_prefix(err, "%s", path)))
            return true;
        if (err->code != ERR_BUSY || waited_ms >= BUSY_MS)
            return false;
        clock_sleep(RETRY_MS * NS_PER_MS);
    }
}

static bool open_file(struct db *db, const char *url, bool create, struct err *err)
{
    const char *path = db_path_of(url);
    sqlite3 *handle = NULL;
    bool made;

    if (!*path)
        return err_set(err, ERR_USAGE, "the name of the database file is empty");
    if (create && !make_private(path, &made, err))
        return false;
    int rc = sqlite3_open_v2(
        path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    db->handle = handle;
    if (rc != SQLITE_OK) {
        if (access(path, F_OK) != 0)
            return err_set(err, ERR_NOT_FOUND, "%s: there is no such database", path);
        failed(handle, rc, err);
        return err_prefix(err, "%s", path);
    }
    sqlite3_busy_timeout(handle, BUSY_MS);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    return set_up_patiently(db, path, err);
}

static void close_file(struct db *db)
{
    sqlite3_close_v2(db->handle);
    db->handle = NULL;
}

static bool never_lost(struct db *db)
{
    (void)db;
    return false;
}

static bool prepare(struct db *db, struct db_stmt *stmt, struct err *err)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v3(db->handle, stmt->sql, -1, SQLITE_PREPARE_PERSISTENT, &s, NULL);

    if (rc != SQLITE_OK)
        return failed(db->handle, rc, err);
    stmt->handle = s;
    return true;
}

static void forget(struct db *db, struct db_stmt *stmt)
{
    (void)db;
    sqlite3_finalize(stmt->handle);
    stmt->handle = NULL;
}

static int bind(sqlite3_stmt *s, int at, const struct db_value *v)
{
    switch (v->type) {
    case DB_INT: return sqlite3_bind_int64(s, at, v->i);
    case DB_REAL: return sqlite3_bind_double(s, at, v->r);
    case DB_TEXT: return sqlite3_bind_text64(s, at, v->p, v->n, SQLITE_STATIC, SQLITE_UTF8);
    case DB_BLOB: return sqlite3_bind_blob64(s, at, v->p, v->n, SQLITE_STATIC);
    case DB_NULL: break;
    }
    return sqlite3_bind_null(s, at);
}

static bool start(struct db *db, struct db_rows *rows, const struct db_value *values, size_t n,
                  struct err *err)
{
    sqlite3_stmt *s = rows->stmt->handle;

    rows->result = s;
    if (sqlite3_bind_parameter_count(s) != (int)n)
        return err_set(err, ERR_SYSTEM, "database: %zu values for '%s'", n, rows->stmt->sql);
    for (size_t i = 0; i < n; i++) {
        int rc = bind(s, (int)i + 1, &values[i]);
        if (rc != SQLITE_OK)
            return failed(db->handle, rc, err);
    }
    return true;
}

static bool next(struct db_rows *rows, struct err *err)
{
    int rc = sqlite3_step(rows->result);

    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        failed(rows->db->handle, rc, err);
    return rc == SQLITE_ROW;
}

static void finish(struct db_rows *rows)
{
    sqlite3_stmt *s = rows->result;

    if (!s)
        return;
    sqlite3_reset(s);
    rows->db->steps += sqlite3_stmt_status(s, SQLITE_STMTSTATUS_VM_STEP, 1);
    sqlite3_clear_bindings(s);
    rows->result = NULL;
}

static int64_t changed(const struct db_rows *rows)
{
    return sqlite3_changes64(rows->db->handle);
}

static bool is_null(const struct db_rows *rows, int column)
{
    return sqlite3_column_type(rows->result, column) == SQLITE_NULL;
}

static enum db_type type(const struct db_rows *rows, int column)
{
    switch (sqlite3_column_type(rows->result, column)) {
    case SQLITE_INTEGER: return DB_INT;
    case SQLITE_FLOAT: return DB_REAL;
    case SQLITE_BLOB: return DB_BLOB;
    case SQLITE_NULL: return DB_NULL;
    default: return DB_TEXT;
    }
}

static int64_t get_int(const struct db_rows *rows, int column)
{
    return sqlite3_column_int64(rows->result, column);
}

static double get_real(const struct db_rows *rows, int column)
{
    double v = sqlite3_column_double(rows->result, column);

    return v == 0 && is_null(rows, column) ? NAN : v;
}

static const char *get_text(const struct db_rows *rows, int column, size_t *ret_n)
{
    const char *s = (const char *)sqlite3_column_text(rows->result, column);

    *ret_n = (size_t)sqlite3_column_bytes(rows->result, column);
    return s;
}

static const void *get_blob(struct db_rows *rows, int column, size_t *ret_n)
{
    const void *p = sqlite3_column_blob(rows->result, column);

    *ret_n = (size_t)sqlite3_column_bytes(rows->result, column);
    return p ? p : "";
}

/* BEGIN IMMEDIATE holds the only lock there is. */
static bool lock_schema(struct db *db, struct err *err)
{
    (void)db;
    (void)err;
    return true;
}

static bool copy_pages(sqlite3_backup *copy, struct err *err)
{
    int rc;

    while ((rc = sqlite3_backup_step(copy, BACKUP_PAGES)) != SQLITE_DONE) {
        if (rc != SQLITE_OK && rc != SQLITE_BUSY && rc != SQLITE_LOCKED)
            return failed(NULL, rc, err);
        if (rc != SQLITE_OK)
            clock_sleep(5 * NS_PER_MS);
    }
    return true;
}

static bool backup(struct db *db, const char *path, struct err *err)
{
    sqlite3 *to = NULL;
    bool made;

    if (!make_private(path, &made, err))
        return false;
    if (!made)
        return err_set(err, ERR_SYSTEM, "%s: cannot be made: %s", path, strerror(EEXIST));
    int rc = sqlite3_open_v2(path, &to, SQLITE_OPEN_READWRITE, NULL);
    sqlite3_backup *copy =
        rc == SQLITE_OK ? sqlite3_backup_init(to, "main", db->handle, "main") : NULL;
    bool fine = copy ? copy_pages(copy, err) : failed(to, sqlite3_errcode(to), err);
    if (copy && sqlite3_backup_finish(copy) != SQLITE_OK && fine)
        fine = failed(to, sqlite3_errcode(to), err);
    if (sqlite3_close(to) != SQLITE_OK && fine)
        fine = err_set(err, ERR_SYSTEM, "the copy could not be closed");
    if (fine)
        return true;
    unlink(path);
    return err_prefix(err, "%s", path);
}

const struct db_driver db_sqlite = {
    .kind = DB_SQLITE,
    .begin = "BEGIN IMMEDIATE",
    .open = open_file,
    .close = close_file,
    .revive = never_lost,
    .prepare = prepare,
    .forget = forget,
    .start = start,
    .next = next,
    .finish = finish,
    .changed = changed,
    .is_null = is_null,
    .type = type,
    .get_int = get_int,
    .get_real = get_real,
    .get_text = get_text,
    .get_blob = get_blob,
    .script = run_script,
    .lock_schema = lock_schema,
    .backup = backup,
    .explain = "EXPLAIN QUERY PLAN",
};
