/* store_copy.c - whole stores: a backup, and a copy into another database.
 *
 * A copy goes table by table, in the order in which they refer to each other, several rows a
 * statement, in one transaction. */
#include <stdio.h>
#include <string.h>

#include "store/store_copy.h"
#include "store/store_parts.h"

/* Every table but schema_migration; columns in the order of the schema. */
const struct copied_table copied_tables[] = {
    {"tally", "name, n", false},
    {"users", "id, name, name_key, password, admin, disabled, created_ms, run_count, key_count",
     true},
    {"session", "id, token_hash, user_id, created_ms, expires_ms", true},
    {"api_key", "id, user_id, label, prefix, key_hash, created_ms, used_ms", true},
    {"device_login",
     "id, device_hash, user_code, label, created_ms, expires_ms, polled_ms, decision, user_id",
     true},
    {"organization", "id, name, key, run_count, single, total, last_run_ms", true},
    {"base", "id, name, key, run_count, single, total, last_run_ms", true},
    {"model", "id, name, key, base_id, organization_id, run_count, single, total, last_run_ms",
     true},
    {"hardware",
     "id, slug, title, class, name, card, gpus, memory_gb, run_count, single, total, last_run_ms",
     true},
    {"engine", "id, name, key, run_count", true},
    {"quantization", "id, name, key, run_count", true},
    {"run",
     "id, uid, state, listed, waiting, verified, revision, created_ms, updated_ms, owner_id, "
     "document_id, document_digest, document_bytes, model_id, base_id, organization_id, "
     "hardware_id, card, class, engine_id, quantization_id, engine_version, backend, kind, tool, "
     "title, measured_at, launch_command, single, total, prefill, ttft, cell_count, valid_count, "
     "flag_count, report_count",
     true},
    {"document", "run_id, revision, author_id, created_ms, note, digest, bytes, body", false},
    {"flag", "id, run_id, code, text, context_tokens, concurrency", true},
    {"cell",
     "run_id, context_tokens, concurrency, status, marks, flagged, ranked, total, per_request, "
     "ttft, itl, active, per_joule",
     false},
    {"point", "id, simulated, metric, context_tokens, concurrency", true},
    {"board",
     "point_id, run_id, score, context_tokens, concurrency, base_id, model_id, organization_id, "
     "hardware_id, card, class, engine_id, quantization_id, kind, verified",
     false},
    {"best", "base_id, hardware_id, point_id, score, run_id", false},
    {"search_entry", "id, kind, key, title, words, weight", true},
    {"setup", "id, user_id, name, body, is_default, updated_ms", true},
    {"replay", "user_id, key, request_hash, status, body, created_ms", false},
    {"rate", "key, full_us", false},
    {"report",
     "id, run_id, reporter_id, reason, text, created_ms, resolved_ms, resolver_id, resolution",
     true},
    {"audit", "id, at_ms, user_id, address, action, target, detail", true},
};
const size_t copied_table_count = ARRAY_LEN(copied_tables);

bool store_backup(struct store *s, const char *path, struct err *err)
{
    return db_backup(s->db, path, err);
}

enum {
    SQL_MAX_BYTES = 16 << 10,
    FETCH_ROWS = 100, /* of a PostgreSQL cursor */
    BATCH_BYTES = 4 << 20,
};

static size_t count_columns(const char *columns)
{
    size_t n = 1;

    for (; *columns; columns++)
        n += *columns == ',';
    return n;
}

/* Rows that wait to be inserted together. */
struct batch {
    const struct copied_table *table;
    struct db *to;
    struct arena arena;
    struct db_pieces pieces;
    size_t columns;
    int64_t rows; /* inserted so far */
};

static bool flush_batch(struct batch *b, struct err *err)
{
    bool fine = b->pieces.n == 0 || db_pieces_run(b->to, &b->pieces, err);

    b->rows += (int64_t)(b->pieces.n / b->columns);
    b->pieces.n = 0;
    buf_reset(&b->pieces.sql);
    arena_reset(&b->arena);
    return fine;
}

/* The only SQL that is not a literal: table and columns come from the table above. */
static void begin_batch(struct batch *b)
{
    buf_addf(&b->pieces.sql, "INSERT INTO %s (%s) VALUES ", b->table->name, b->table->columns);
}

static bool add_row(struct batch *b, struct db_rows *rows, struct err *err)
{
    if ((b->pieces.n + b->columns > DB_PIECE_VALUES || b->arena.used > BATCH_BYTES) &&
        !flush_batch(b, err))
        return false;
    if (b->pieces.n == 0)
        begin_batch(b);
    else
        DB_ADD(&b->pieces, ", ");
    for (size_t i = 0; i < b->columns; i++) {
        const struct db_value value = db_get_value(rows, &b->arena);
        db_pieces_add(&b->pieces, i == 0 ? "(?" : ", ?", &value, 1);
    }
    DB_ADD(&b->pieces, ")");
    return true;
}

/* Rows of one answer of the source; *ret_n of them. */
static bool copy_rows(struct batch *b, struct db *from, const char *sql, int64_t *ret_n,
                      struct err *err)
{
    struct db_rows rows;
    struct err ignored;
    bool fine = true;

    *ret_n = 0;
    if (!db_query(from, sql, NULL, 0, &rows, err))
        return false;
    for (; fine && db_next(&rows); ++*ret_n)
        fine = add_row(b, &rows, err);
    return db_end(&rows, fine ? err : &ignored) && fine;
}

/* SQLite gives row after row; PostgreSQL would give all at once but for a cursor. */
static bool copy_all(struct batch *b, struct db *from, struct err *err)
{
    char sql[2048];
    int64_t n;

    if (db_kind(from) == DB_SQLITE) {
        snprintf(sql, sizeof sql, "SELECT %s FROM %s", b->table->columns, b->table->name);
        return copy_rows(b, from, sql, &n, err);
    }
    snprintf(sql, sizeof sql, "DECLARE copied NO SCROLL CURSOR FOR SELECT %s FROM %s",
             b->table->columns, b->table->name);
    if (!db_script(from, sql, err))
        return false;
    do {
        _Static_assert(FETCH_ROWS == 100, "as in the statement below");
        if (!copy_rows(b, from, "FETCH 100 FROM copied", &n, err))
            return false;
    } while (n == FETCH_ROWS);
    return db_script(from, "CLOSE copied", err);
}

/* PostgreSQL gives the next id by a counter that inserted ids do not move. */
static bool move_counter(struct db *to, const struct copied_table *t, struct err *err)
{
    char sql[256];

    if (db_kind(to) != DB_POSTGRES || !t->has_id)
        return true;
    snprintf(sql, sizeof sql,
             "SELECT setval(pg_get_serial_sequence('%s', 'id'), "
             "(SELECT COALESCE(MAX(id), 0) + 1 FROM %s), false)",
             t->name, t->name);
    return db_script(to, sql, err);
}

static bool copy_table(struct store *from, struct store *to, const struct copied_table *t,
                       int64_t *rows, struct err *err)
{
    struct batch b = {.table = t, .to = to->db, .columns = count_columns(t->columns)};

    db_pieces_init(&b.pieces);
    bool fine = copy_all(&b, from->db, err) && flush_batch(&b, err) && move_counter(to->db, t, err);
    db_pieces_release(&b.pieces);
    arena_release(&b.arena);
    *rows += b.rows;
    return fine || err_prefix(err, "table %s", t->name);
}

static bool is_empty(struct store *s, struct err *err)
{
    struct db_rows rows;

    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT (SELECT COUNT(*) FROM users) + (SELECT COUNT(*) FROM run) + "
                  "(SELECT COUNT(*) FROM audit)"))
        return false;
    int64_t n = db_next(&rows) ? db_get_int(&rows) : 0;
    if (!db_end(&rows, err))
        return false;
    return n == 0 || err_set(err, ERR_EXISTS, "the store to copy into is not empty");
}

static bool copy_tables(struct store *from, struct store *to, int64_t *rows, struct err *err)
{
    if (!is_empty(to, err) || !DB_RUN(to->db, err, "DELETE FROM tally"))
        return false;
    for (size_t i = 0; i < copied_table_count; i++)
        if (!copy_table(from, to, &copied_tables[i], rows, err))
            return false;
    return true;
}

/* One transaction on either side: the source stands still while it is read. */
bool store_copy(struct store *from, struct store *to, int64_t *ret_rows, struct err *err)
{
    int64_t rows = 0;

    if (!db_begin(from->db, err))
        return false;
    bool fine = (db_kind(from->db) == DB_SQLITE ||
                 DB_RUN(from->db, err, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")) &&
                db_begin(to->db, err);
    if (fine)
        fine = db_finish(to->db, copy_tables(from, to, &rows, err), err);
    db_rollback(from->db);
    if (fine)
        *ret_rows = rows;
    return fine;
}
