/* db.c - the part of the thin layer that both databases share: which driver, kept statements,
 * nested transactions, pieces of queries. */
#include "store/db.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "store/db_driver.h"

enum { SQL_MAX_BYTES = 64 << 10 };

static const char *const postgres_prefixes[] = {"postgresql://", "postgres://"};

enum db_kind db_kind_of(const char *url)
{
    for (size_t i = 0; i < ARRAY_LEN(postgres_prefixes); i++)
        if (text_starts(url, postgres_prefixes[i]))
            return DB_POSTGRES;
    return DB_SQLITE;
}

const char *db_path_of(const char *url)
{
    return text_starts(url, "sqlite:") ? url + strlen("sqlite:") : url;
}

bool db_open(const char *url, bool create, struct db **ret, struct err *err)
{
    struct db *db = mem_alloc(sizeof *db);

    db->driver = db_kind_of(url) == DB_POSTGRES ? &db_postgres : &db_sqlite;
    if (!db->driver->open(db, url, create, err)) {
        db_close(db);
        return false;
    }
    *ret = db;
    return true;
}

static void forget_all(struct db *db)
{
    for (size_t i = 0; i < db->cached; i++) {
        db->driver->forget(db, &db->cache[i]);
        free(db->cache[i].sql);
    }
    db->cached = 0;
}

void db_close(struct db *db)
{
    if (!db)
        return;
    forget_all(db);
    db->driver->close(db);
    free(db);
}

enum db_kind db_kind(const struct db *db)
{
    return db->driver->kind;
}

/* ---- values ---- */

struct db_value db_int(int64_t v)
{
    return (struct db_value){.type = DB_INT, .i = v};
}

struct db_value db_id(int64_t v)
{
    return (struct db_value){.type = v ? DB_INT : DB_NULL, .i = v};
}

struct db_value db_real(double v)
{
    return (struct db_value){.type = isfinite(v) ? DB_REAL : DB_NULL, .r = v};
}

struct db_value db_text(const char *s)
{
    return (struct db_value){.type = s ? DB_TEXT : DB_NULL, .p = s, .n = s ? strlen(s) : 0};
}

struct db_value db_blob(const void *p, size_t n)
{
    return (struct db_value){.type = DB_BLOB, .p = p, .n = n};
}

/* ---- kept statements ---- */

static uint64_t hash_of(const char *s)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
    return h;
}

/* A free place, or that of the statement which was not run for the longest time. */
static struct db_stmt *make_room(struct db *db)
{
    struct db_stmt *oldest = NULL;

    if (db->cached < DB_CACHE)
        return &db->cache[db->cached++];
    for (size_t i = 0; i < db->cached; i++) {
        struct db_stmt *s = &db->cache[i];
        if (!s->reading && (!oldest || s->used < oldest->used))
            oldest = s;
    }
    assert(oldest); /* nobody reads so many at once */
    db->driver->forget(db, oldest);
    free(oldest->sql);
    return oldest;
}

static struct db_stmt *find_stmt(struct db *db, const char *sql, struct err *err)
{
    uint64_t hash = hash_of(sql);
    struct db_stmt *s = NULL;

    for (size_t i = 0; i < db->cached && !s; i++)
        if (db->cache[i].hash == hash && strcmp(db->cache[i].sql, sql) == 0)
            s = &db->cache[i];
    if (!s) {
        s = make_room(db);
        *s = (struct db_stmt){.sql = mem_strdup(sql), .hash = hash};
    }
    assert(!s->reading);
    s->used = ++db->statements;
    if (!s->handle && !db->driver->prepare(db, s, err))
        return NULL;
    return s;
}

static bool values_fit(const struct db_value *values, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (values[i].type == DB_TEXT && !text_utf8_valid(values[i].p, values[i].n))
            return err_set(err, ERR_FORMAT, "a text is not valid UTF-8");
    return true;
}

static bool start(struct db *db, const char *sql, const struct db_value *values, size_t n,
                  struct db_rows *rows, struct err *err)
{
    *rows = (struct db_rows){.db = db, .row = -1};
    if (!values_fit(values, n, err))
        return false;
    if (db->depth == 0 && db->driver->revive(db))
        for (size_t i = 0; i < db->cached; i++)
            db->cache[i].handle = NULL;
    rows->stmt = find_stmt(db, sql, err);
    if (!rows->stmt)
        return false;
    if (db->watch)
        db->watch(db->watch_context, sql, values, n);
    if (!db->driver->start(db, rows, values, n, err)) {
        db->driver->finish(rows);
        return false;
    }
    rows->stmt->reading = true;
    return true;
}

bool db_query(struct db *db, const char *sql, const struct db_value *values, size_t n,
              struct db_rows *rows, struct err *err)
{
    bool fine = start(db, sql, values, n, rows, err);

    if (!fine && db->depth > 0)
        db->doomed = true;
    return fine;
}

bool db_next(struct db_rows *rows)
{
    struct db *db = rows->db;

    if (rows->ended)
        return false;
    rows->column = 0;
    rows->row++;
    db->failed.code = ERR_NONE;
    if (db->driver->next(rows, &db->failed))
        return true;
    rows->ended = true;
    rows->failed = db->failed.code != ERR_NONE;
    return false;
}

void db_spoil(struct db_rows *rows, const struct err *err)
{
    rows->ended = rows->failed = true;
    rows->db->failed = *err;
}

bool db_end(struct db_rows *rows, struct err *err)
{
    struct db *db = rows->db;

    db->driver->finish(rows);
    rows->stmt->reading = false;
    rows->ended = true;
    if (!rows->failed)
        return true;
    if (db->depth > 0)
        db->doomed = true;
    return err_set(err, db->failed.code, "%s", db->failed.text);
}

bool db_run(struct db *db, const char *sql, const struct db_value *values, size_t n,
            int64_t *ret_changed, struct err *err)
{
    struct db_rows rows;

    if (!db_query(db, sql, values, n, &rows, err))
        return false;
    while (db_next(&rows)) {
    }
    int64_t changed = db->driver->changed(&rows);
    if (!db_end(&rows, err))
        return false;
    if (ret_changed)
        *ret_changed = changed;
    return true;
}

/* ---- columns ---- */

int64_t db_get_int(struct db_rows *rows)
{
    return rows->db->driver->get_int(rows, rows->column++);
}

double db_get_real(struct db_rows *rows)
{
    return rows->db->driver->get_real(rows, rows->column++);
}

char *db_get_text(struct db_rows *rows, struct arena *a)
{
    size_t n;
    const char *s = rows->db->driver->get_text(rows, rows->column++, &n);

    return s ? arena_strndup(a, s, n) : NULL;
}

const void *db_get_blob(struct db_rows *rows, size_t *ret_n)
{
    return rows->db->driver->get_blob(rows, rows->column++, ret_n);
}

struct db_value db_get_value(struct db_rows *rows, struct arena *a)
{
    const struct db_driver *d = rows->db->driver;
    struct db_value v = {.type = DB_NULL};

    if (!d->is_null(rows, rows->column))
        v.type = d->type(rows, rows->column);
    switch (v.type) {
    case DB_NULL: rows->column++; break;
    case DB_INT: v.i = db_get_int(rows); break;
    case DB_REAL: v.r = db_get_real(rows); break;
    case DB_TEXT: v = db_text(db_get_text(rows, a)); break;
    case DB_BLOB:
        v.p = db_get_blob(rows, &v.n);
        v.p = arena_strndup(a, v.p, v.n);
        break;
    }
    return v;
}

/* ---- pieces ---- */

void db_pieces_init(struct db_pieces *p)
{
    buf_init(&p->sql, SQL_MAX_BYTES);
    p->n = 0;
}

void db_pieces_release(struct db_pieces *p)
{
    buf_release(&p->sql);
}

void db_pieces_add(struct db_pieces *p, const char *sql, const struct db_value *values, size_t n)
{
    assert(p->n + n <= DB_PIECE_VALUES);
    buf_adds(&p->sql, sql);
    if (n > 0)
        memcpy(p->values + p->n, values, n * sizeof *values);
    p->n += n;
}

bool db_pieces_query(struct db *db, const struct db_pieces *p, struct db_rows *rows,
                     struct err *err)
{
    assert(!p->sql.overflow);
    return db_query(db, p->sql.p, p->values, p->n, rows, err);
}

bool db_pieces_run(struct db *db, const struct db_pieces *p, struct err *err)
{
    assert(!p->sql.overflow);
    return db_run(db, p->sql.p, p->values, p->n, NULL, err);
}

/* ---- transactions ---- */

bool db_begin(struct db *db, struct err *err)
{
    if (db->depth == 0) {
        db->doomed = false;
        if (!db_run(db, db->driver->begin, NULL, 0, NULL, err))
            return false;
    }
    db->depth++;
    return true;
}

static void end_outermost(struct db *db)
{
    struct err ignored; /* the connection is gone, and the transaction with it */

    (void)!DB_RUN(db, &ignored, "ROLLBACK");
    db->depth = 0;
    db->doomed = false;
}

bool db_commit(struct db *db, struct err *err)
{
    assert(db->depth > 0);
    if (db->doomed) {
        db_rollback(db);
        return err_set(err, ERR_SYSTEM, "a part of the transaction failed before");
    }
    if (db->depth > 1) {
        db->depth--;
        return true;
    }
    if (!DB_RUN(db, err, "COMMIT")) {
        end_outermost(db);
        return false;
    }
    db->depth = 0;
    return true;
}

void db_rollback(struct db *db)
{
    if (db->depth == 0)
        return;
    if (db->depth > 1) {
        db->doomed = true;
        db->depth--;
        return;
    }
    end_outermost(db);
}

int db_depth(const struct db *db)
{
    return db->depth;
}

bool db_finish(struct db *db, bool fine, struct err *err)
{
    if (fine)
        return db_commit(db, err);
    db_rollback(db);
    return false;
}

/* ---- the rest ---- */

bool db_script(struct db *db, const char *sql, struct err *err)
{
    bool fine = db->driver->script(db, sql, err);

    if (!fine && db->depth > 0)
        db->doomed = true;
    return fine;
}

bool db_lock_schema(struct db *db, struct err *err)
{
    return db->driver->lock_schema(db, err);
}

bool db_backup(struct db *db, const char *path, struct err *err)
{
    if (!db->driver->backup)
        return err_set(err, ERR_USAGE,
                       "a backup of PostgreSQL is made by its own pg_dump, not by this program");
    return db->driver->backup(db, path, err);
}

bool db_explain(struct db *db, const char *sql, const struct db_value *values, size_t n,
                struct buf *out, struct err *err)
{
    struct db_rows rows;
    struct buf whole;
    struct arena a = {0};
    bool sqlite = db_kind(db) == DB_SQLITE;

    buf_init(&whole, SQL_MAX_BYTES);
    buf_addf(&whole, "%s %s", db->driver->explain, sql);
    bool fine = db_query(db, whole.p, values, n, &rows, err);
    buf_release(&whole);
    if (!fine)
        return false;
    while (db_next(&rows)) {
        rows.column = sqlite ? 3 : 0; /* id, parent, notused, detail */
        buf_addf(out, "%s\n", db_get_text(&rows, &a));
    }
    arena_release(&a);
    return db_end(&rows, err);
}

int64_t db_steps(const struct db *db)
{
    return db->steps;
}

void db_watch(struct db *db, db_watch_fn *fn, void *context)
{
    db->watch = fn;
    db->watch_context = context;
}
