/* cases_migrate.c - schemas: from nothing, from every older step, and refused. */
#include "fixture.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/migrate.h"
#include "store/store_parts.h"
#include "synthetic.h"

/* All of the schema as text. */
static const char *schema_of(struct fixture *f, struct db *db)
{
    struct db_rows rows;
    struct buf text;

    buf_init(&text, 256 << 10);
    assert_fine(f,
                db_kind(db) == DB_SQLITE
                    ? DB_QUERY(db, &rows, &f->err,
                               "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
                    : DB_QUERY(db, &rows, &f->err,
                               "SELECT table_name || ' ' || column_name || ' ' || data_type || ' ' "
                               "|| COALESCE(column_default, '') || is_nullable FROM "
                               "information_schema.columns WHERE table_schema = "
                               "current_schema() UNION ALL SELECT replace(indexdef, "
                               "current_schema() || '.', '') FROM pg_indexes WHERE schemaname = "
                               "current_schema() ORDER BY 1"));
    while (db_next(&rows))
        buf_addf(&text, "%s\n", db_get_text(&rows, &f->a));
    assert_fine(f, db_end(&rows, &f->err));
    const char *all = arena_strdup(&f->a, text.p);
    buf_release(&text);
    return all;
}

/* Through every stop on the way, the schema comes out the same. */
static void test_steps(void **state)
{
    struct fixture *f = *state;
    const char *whole = schema_of(f, f->s->db);

    for (int stop = 1; stop <= (int)migration_count; stop++) {
        char where[512];
        struct db *db;
        fixture_elsewhere(f, fixture_is_postgres(), where, sizeof where);
        assert_fine(f, db_open(where, true, &db, &f->err));
        assert_fails(f, ERR_SYSTEM, migrate_check(db, &f->err));
        assert_fine(f, migrate_to(db, stop, true, 1, &f->err));
        assert_fine(f, migrate_to(db, 0, true, 2, &f->err));
        assert_fine(f, migrate_check(db, &f->err));
        assert_string_equal(schema_of(f, db), whole);
        db_close(db);
        if (!fixture_is_postgres())
            unlink(where);
    }
}

static void test_refused(void **state)
{
    struct fixture *f = *state;
    struct store_options options = fixture_options();
    struct store *s;

    assert_fine(f, DB_RUN(f->s->db, &f->err,
                          "INSERT INTO schema_migration (version, name, digest, applied_ms) VALUES "
                          "(999, 'future', 'x', 1)"));
    assert_fails(f, ERR_SYSTEM, store_open(f->where, &options, &s, &f->err));
    assert_non_null(strstr(f->err.text, "newer"));
    assert_fine(f, DB_RUN(f->s->db, &f->err, "DELETE FROM schema_migration WHERE version = 999"));
    assert_fine(f, DB_RUN(f->s->db, &f->err,
                          "UPDATE schema_migration SET digest = 'other' WHERE version = 2"));
    assert_fails(f, ERR_SYSTEM, store_open(f->where, &options, &s, &f->err));
    assert_non_null(strstr(f->err.text, "not the one"));
    assert_fine(f, DB_RUN(f->s->db, &f->err, "DELETE FROM schema_migration WHERE version = 1"));
    assert_fails(f, ERR_SYSTEM, store_open(f->where, &options, &s, &f->err));
    assert_non_null(strstr(f->err.text, "lacks step 1"));
}

static void test_not_allowed(void **state)
{
    struct fixture *f = *state;
    struct store_options options = fixture_options();
    char where[512];
    struct store *s;

    options.migrate = false;
    assert_fine(f, store_open(f->where, &options, &s, &f->err)); /* nothing is missing */
    store_close(s);
    fixture_elsewhere(f, fixture_is_postgres(), where, sizeof where);
    assert_fails(f, ERR_SYSTEM, store_open(where, &options, &s, &f->err));
    if (!fixture_is_postgres())
        unlink(where);
}

/* What nobody may lose, whatever else a later schema makes of its tables: a text for each row. */
static const char *const kept[] = {
    "SELECT name || '|' || COALESCE(password, '') || '|' || admin || '|' || created_ms FROM users "
    "ORDER BY id",
    "SELECT hex(token_hash) || '|' || user_id || '|' || expires_ms FROM session ORDER BY id",
    "SELECT label || '|' || hex(key_hash) || '|' || user_id FROM api_key ORDER BY id",
    "SELECT uid || '|' || state || '|' || revision || '|' || verified || '|' || owner_id || '|' || "
    "created_ms || '|' || title || '|' || document_digest || '|' || cell_count FROM run "
    "ORDER BY id",
    "SELECT run_id || '|' || revision || '|' || digest || '|' || hex(body) FROM document "
    "ORDER BY run_id, revision",
    "SELECT run_id || '|' || code || '|' || text FROM flag ORDER BY id",
    "SELECT run_id || '|' || reason || '|' || text || '|' || resolved_ms FROM report ORDER BY id",
    "SELECT at_ms || '|' || action || '|' || target FROM audit ORDER BY id",
    "SELECT user_id || '|' || name || '|' || body FROM setup ORDER BY id",
};

static const char *content_of(struct fixture *f, struct db *db)
{
    struct db_rows rows;
    struct buf text;

    buf_init(&text, 4 << 20);
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        assert_fine(f, db_query(db, kept[i], NULL, 0, &rows, &f->err));
        while (db_next(&rows))
            buf_addf(&text, "%s\n", db_get_text(&rows, &f->a));
        assert_fine(f, db_end(&rows, &f->err));
    }
    const char *all = arena_strdup(&f->a, text.p);
    buf_release(&text);
    return all;
}

/* A new file with the snapshot in it; what is in there. */
static const char *load_snapshot(struct fixture *f, const char *path, const char *where)
{
    static char sql[1 << 20];
    struct db_rows rows;
    struct db *db;
    int64_t version;

    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(sql, 1, sizeof sql - 1, file);
    assert_true(feof(file));
    fclose(file);
    sql[n] = '\0';
    assert_fine(f, db_open(where, true, &db, &f->err));
    assert_fine(f, db_script(db, sql, &f->err));
    assert_fine(f, DB_QUERY(db, &rows, &f->err, "SELECT MAX(version) FROM schema_migration"));
    assert_true(db_next(&rows));
    version = db_get_int(&rows);
    assert_fine(f, db_end(&rows, &f->err));
    assert_string_equal(strrchr(path, '/') + 1, arena_printf(&f->a, "schema-%d.sql", (int)version));
    const char *content = content_of(f, db);
    db_close(db);
    return content;
}

/* Everybody and everything is there and works as before. */
static void check_upgraded(struct fixture *f, const char *content)
{
    const struct store_page page = {0};
    struct store_founds found;
    struct store_runs runs;
    struct store_user user;

    assert_string_equal(content_of(f, f->s->db), content);
    assert_consistent(f);
    assert_fine(f, store_user_check(f->s, "ada", "correct horse", &f->a, &user, &f->err));
    assert_true(user.admin);
    assert_fine(f, store_runs_of(f->s, user.id, &page, &f->a, &runs, &f->err));
    assert_true(runs.n > (size_t)user.run_count); /* there are some that only she sees */
    assert_true(user.run_count > 0);
    assert_fine(f, store_search(f->s, "qwen", 10, &f->a, &found, &f->err));
    assert_true(found.n > 0);
    fixture_run(f, user.id, 500);
    assert_consistent(f);
}

/* Files as each released version made them, kept as SQL so that they stay readable. */
static void test_snapshots(void **state)
{
    struct fixture *f = *state;
    const struct store_options options = fixture_options();
    struct store *own = f->s;
    glob_t files;

    assert_int_equal(glob("tests/data/store/schema-*.sql", 0, NULL, &files), 0);
    assert_true(files.gl_pathc >= 2);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        char where[512];
        fixture_elsewhere(f, false, where, sizeof where);
        const char *content = load_snapshot(f, files.gl_pathv[i], where);
        assert_fine(f, store_open(where, &options, &f->s, &f->err));
        check_upgraded(f, content);
        store_close(f->s);
        unlink(where);
    }
    f->s = own;
    globfree(&files);
}

static void test_foreign_files(void **state)
{
    struct fixture *f = *state;
    const struct store_options options = fixture_options();
    struct store_options no_create = options;
    struct store *s;
    char where[512];

    if (fixture_is_postgres()) {
        assert_fails(f, ERR_CONNECT,
                     store_open("postgresql:///none?host=/nowhere", &options, &s, &f->err));
        return;
    }
    fixture_elsewhere(f, false, where, sizeof where);
    no_create.create = false;
    assert_fails(f, ERR_NOT_FOUND, store_open(where, &no_create, &s, &f->err));
    assert_int_not_equal(access(where, F_OK), 0);
    assert_fails(f, ERR_SYSTEM, store_open("/nowhere/x.db", &options, &s, &f->err));
    assert_fails(f, ERR_USAGE, store_open("sqlite:", &options, &s, &f->err));
    FILE *file = fopen(where, "w");
    for (int i = 0; i < 1000; i++)
        fputs("this is no database\n", file);
    fclose(file);
    assert_fails(f, ERR_SYSTEM, store_open(where, &options, &s, &f->err));
    unlink(where);

    /* made for its owner only */
    fixture_elsewhere(f, false, where, sizeof where);
    assert_fine(f, store_open(where, &options, &s, &f->err));
    assert_int_equal(access(where, W_OK), 0);
    store_close(s);
    unlink(where);
}

static void test_where(void **state)
{
    static const char *const cases[][2] = {
        {"a.db", "a.db"},
        {"sqlite:/x/a.db", "/x/a.db"},
        {"postgresql://u:p%40ss@h:5432/d", "postgresql://u:***@h:5432/d"},
        {"postgres://u@h/d?password=secret", "postgres://u@h/d"},
        {"postgresql:///d?host=/tmp", "postgresql:///d"},
        {"postgresql://u:a@b@h/d", "postgresql://u:***@h/d"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf out;
        buf_init(&out, 1000);
        store_where(cases[i][0], &out);
        assert_string_equal(out.p, cases[i][1]);
        buf_release(&out);
    }
}

const struct CMUnitTest migrate_tests[] = {
    TEST(test_steps),         TEST(test_refused),           TEST(test_not_allowed),
    TEST(test_foreign_files), cmocka_unit_test(test_where), {0},
};

/* A snapshot is a file's; test_steps goes through the server's. */
const struct CMUnitTest snapshot_tests[] = {TEST(test_snapshots), {0}};
