/* db_postgres.c - PostgreSQL behind db.h, by libpq: statements prepared on the server, values and
 * results as text (bytea as hex).
 *
 * A connection that was lost is made anew before the next statement outside a transaction; what
 * was under way fails with ERR_CONNECT. */
#include <ctype.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "store/db_driver.h"
#include "store/libpq.h"

enum {
    STMT_NAME_MAX = 16,
    VALUES_MAX = DB_PIECE_VALUES,
    /* what pg_type calls them */
    OID_BYTEA = 17,
    OID_INT8 = 20,
    OID_INT2 = 21,
    OID_INT4 = 23,
    OID_FLOAT4 = 700,
    OID_FLOAT8 = 701,
    OID_NUMERIC = 1700,
};

/* Of every session of ours. */
static const char session_settings[] = "SET lock_timeout = '5s';"
                                       "SET idle_in_transaction_session_timeout = '60s';"
                                       "SET client_min_messages = error;"
                                       "SET bytea_output = 'hex';"
                                       "SET extra_float_digits = 1";

/* SQLSTATE by its beginning; the first that fits. */
static const struct {
    const char *state;
    enum err_code code;
} classes[] = {
    {"23505", ERR_EXISTS},                          /* unique_violation */
    {"23503", ERR_NOT_FOUND},                       /* foreign_key_violation */
    {"40", ERR_BUSY},                               /* serialization_failure, deadlock_detected */
    {"55P03", ERR_BUSY},                            /* lock_not_available */
    {"53300", ERR_BUSY},                            /* too_many_connections */
    {"08", ERR_CONNECT},      {"57P", ERR_CONNECT}, /* shutting down */
    {"22021", ERR_FORMAT},                          /* character_not_in_repertoire */
};

/* The values of the statement that is being run, as libpq wants them. */
struct bound {
    const char *values[VALUES_MAX];
    int lengths[VALUES_MAX], formats[VALUES_MAX];
    char texts[VALUES_MAX][NUM_TEXT_MAX];
};

static enum err_code class_of(PGconn *conn, const char *state)
{
    if (!state)
        return PQstatus(conn) == CONNECTION_BAD ? ERR_CONNECT : ERR_SYSTEM;
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        if (strncmp(state, classes[i].state, strlen(classes[i].state)) == 0)
            return classes[i].code;
    return ERR_SYSTEM;
}

/* libpq's messages have several lines, the first of which says it all. */
static bool failed(PGconn *conn, const PGresult *result, struct err *err)
{
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *text = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;

    if (!text || !*text)
        text = PQerrorMessage(conn);
    int n = (int)strcspn(text, "\n");
    return err_set(err, class_of(conn, state), "database: %.*s", n, text);
}

static void be_silent(void *context, const PGresult *result)
{
    (void)context;
    (void)result;
}

static bool run_script(struct db *db, const char *sql, struct err *err)
{
    PGresult *r = PQexec(db->handle, sql);
    ExecStatusType status = PQresultStatus(r);
    bool fine =
        status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || failed(db->handle, r, err);

    PQclear(r);
    return fine;
}

static bool set_up(struct db *db, struct err *err)
{
    PQsetNoticeReceiver(db->handle, be_silent, NULL);
    return run_script(db, session_settings, err);
}

static bool open_server(struct db *db, const char *url, bool create, struct err *err)
{
    const char *names[] = {"fallback_application_name", "connect_timeout", "client_encoding",
                           "dbname", NULL};
    const char *values[] = {"tokgrid", "10", "UTF8", url, NULL};

    (void)create;
    if (!libpq_open(err))
        return false;
    db->scratch = mem_alloc(sizeof(struct bound));
    db->handle = PQconnectdbParams(names, values, 1);
    if (PQstatus(db->handle) != CONNECTION_OK) {
        const char *text = PQerrorMessage(db->handle);
        return err_set(err, ERR_CONNECT, "database: %.*s", (int)strcspn(text, "\n"), text);
    }
    if (PQserverVersion(db->handle) < 130000)
        return err_set(err, ERR_SYSTEM, "database: PostgreSQL %d is too old; 13 or later is needed",
                       PQserverVersion(db->handle) / 10000);
    return set_up(db, err);
}

static void close_server(struct db *db)
{
    if (db->handle)
        PQfinish(db->handle);
    db->handle = NULL;
    free(db->scratch);
}

/* An idle connection has nothing to say but that it ends; then it ends. */
static bool is_alive(PGconn *conn)
{
    for (int i = 0; i < 8; i++) {
        struct pollfd p = {.fd = PQsocket(conn), .events = POLLIN};
        if (PQstatus(conn) != CONNECTION_OK)
            return false;
        if (poll(&p, 1, 0) <= 0)
            return true;
        if (!PQconsumeInput(conn))
            return false;
    }
    return true;
}

static bool revive(struct db *db)
{
    struct err ignored; /* the statement that follows finds out */

    if (is_alive(db->handle))
        return false;
    PQreset(db->handle);
    if (PQstatus(db->handle) == CONNECTION_OK)
        (void)!set_up(db, &ignored);
    return true;
}

/* ? outside of quotes becomes $1, $2, ... */
static void number_values(const char *sql, struct buf *out)
{
    bool quoted = false;
    int n = 0;

    for (; *sql; sql++) {
        if (*sql == '\'')
            quoted = !quoted;
        if (*sql == '?' && !quoted)
            buf_addf(out, "$%d", ++n);
        else
            buf_addc(out, *sql);
    }
}

static void name_of(const struct db_stmt *stmt, char out[STMT_NAME_MAX])
{
    snprintf(out, STMT_NAME_MAX, "s%u", stmt->name);
}

static bool prepare(struct db *db, struct db_stmt *stmt, struct err *err)
{
    char name[STMT_NAME_MAX];
    struct buf sql;

    buf_init(&sql, 128 << 10);
    number_values(stmt->sql, &sql);
    stmt->name = ++db->names;
    name_of(stmt, name);
    PGresult *r = PQprepare(db->handle, name, sql.p, 0, NULL);
    bool fine = PQresultStatus(r) == PGRES_COMMAND_OK || failed(db->handle, r, err);
    PQclear(r);
    buf_release(&sql);
    if (fine)
        stmt->handle = stmt;
    return fine;
}

static void forget(struct db *db, struct db_stmt *stmt)
{
    char sql[STMT_NAME_MAX + 16];

    if (!stmt->handle)
        return;
    snprintf(sql, sizeof sql, "DEALLOCATE s%u", stmt->name);
    PQclear(PQexec(db->handle, sql));
    stmt->handle = NULL;
}

static void bind(struct bound *b, size_t i, const struct db_value *v)
{
    b->values[i] = b->texts[i];
    b->lengths[i] = 0;
    b->formats[i] = 0;
    switch (v->type) {
    case DB_NULL: b->values[i] = NULL; break;
    case DB_INT: snprintf(b->texts[i], NUM_TEXT_MAX, "%lld", (long long)v->i); break;
    case DB_REAL: snprintf(b->texts[i], NUM_TEXT_MAX, "%.17g", v->r); break;
    case DB_TEXT: b->values[i] = v->p; break;
    case DB_BLOB:
        b->values[i] = v->p;
        b->lengths[i] = (int)v->n;
        b->formats[i] = 1;
        break;
    }
}

static bool start(struct db *db, struct db_rows *rows, const struct db_value *values, size_t n,
                  struct err *err)
{
    char name[STMT_NAME_MAX];

    if (n > VALUES_MAX)
        return err_set(err, ERR_SYSTEM, "database: %zu values for one statement", n);
    struct bound *b = db->scratch;
    for (size_t i = 0; i < n; i++)
        bind(b, i, &values[i]);
    name_of(rows->stmt, name);
    PGresult *r = PQexecPrepared(db->handle, name, (int)n, b->values, b->lengths, b->formats, 0);
    rows->result = r;
    ExecStatusType status = PQresultStatus(r);
    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || failed(db->handle, r, err);
}

static bool next(struct db_rows *rows, struct err *err)
{
    (void)err; /* all rows are there */
    return rows->row < PQntuples(rows->result);
}

static void finish(struct db_rows *rows)
{
    PQclear(rows->result);
    rows->result = NULL;
}

static int64_t changed(const struct db_rows *rows)
{
    /* libpq declares its argument without const */
    PGresult *r = rows->result;
    int64_t n = 0;

    return num_parse_i64(PQcmdTuples(r), &n) ? n : 0;
}

static bool is_null(const struct db_rows *rows, int column)
{
    return PQgetisnull(rows->result, rows->row, column);
}

static enum db_type type(const struct db_rows *rows, int column)
{
    switch (PQftype(rows->result, column)) {
    case OID_BYTEA: return DB_BLOB;
    case OID_INT2:
    case OID_INT4:
    case OID_INT8: return DB_INT;
    case OID_FLOAT4:
    case OID_FLOAT8:
    case OID_NUMERIC: return DB_REAL;
    default: return DB_TEXT;
    }
}

static int64_t get_int(const struct db_rows *rows, int column)
{
    int64_t v = 0;

    return num_parse_i64(PQgetvalue(rows->result, rows->row, column), &v) ? v : 0;
}

static double get_real(const struct db_rows *rows, int column)
{
    double v = 0;

    if (is_null(rows, column))
        return NAN;
    return num_parse_double(PQgetvalue(rows->result, rows->row, column), &v) ? v : 0;
}

static const char *get_text(const struct db_rows *rows, int column, size_t *ret_n)
{
    *ret_n = (size_t)PQgetlength(rows->result, rows->row, column);
    return is_null(rows, column) ? NULL : PQgetvalue(rows->result, rows->row, column);
}

static int hex_digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* "\x0aff..." is decoded where it stands: what is read grows shorter. Once: then it lacks the
 * backslash. */
static const void *get_blob(struct db_rows *rows, int column, size_t *ret_n)
{
    char *p = PQgetvalue(rows->result, rows->row, column);
    size_t n = (size_t)PQgetlength(rows->result, rows->row, column);

    *ret_n = n < 2 ? 0 : (n - 2) / 2;
    for (size_t i = 0; i < *ret_n; i++)
        p[i] = (char)(hex_digit(p[2 + 2 * i]) << 4 | hex_digit(p[3 + 2 * i]));
    return p;
}

/* Any number, as long as it is always the same. */
static bool lock_schema(struct db *db, struct err *err)
{
    return run_script(db, "SELECT pg_advisory_xact_lock(1953195876)", err);
}

const struct db_driver db_postgres = {
    .kind = DB_POSTGRES,
    .begin = "BEGIN",
    .open = open_server,
    .close = close_server,
    .revive = revive,
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
    .explain = "EXPLAIN",
};
