/* cases_migrate.c - schemas: from nothing, from every older step, and refused. */
#include "fixture.h"

#include <math.h>
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

/* A file as the first version made it, with runs in it: kept as SQL, so that it stays readable. */
static void test_old_snapshot(void **state)
{
    struct fixture *f = *state;
    const struct store_options options = fixture_options();
    char where[512], *sql = mem_alloc(1 << 20);
    struct store *s;
    struct db *db;

    FILE *file = fopen("tests/data/store/schema-1.sql", "r");
    assert_non_null(file);
    size_t n = fread(sql, 1, (1 << 20) - 1, file);
    fclose(file);
    sql[n] = '\0';
    fixture_elsewhere(f, false, where, sizeof where);
    assert_fine(f, db_open(where, true, &db, &f->err));
    assert_fine(f, db_script(db, sql, &f->err));
    db_close(db);
    assert_fine(f, store_open(where, &options, &s, &f->err));
    struct store *own = f->s;
    struct store_founds found;
    f->s = s;
    assert_consistent(f);
    assert_fine(f, store_search(s, "qwen", 10, &f->a, &found, &f->err));
    assert_true(found.n > 0);
    fixture_run(f, 1, 500);
    assert_consistent(f);
    f->s = own;
    store_close(s);
    unlink(where);
    free(sql);
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
const struct CMUnitTest snapshot_tests[] = {TEST(test_old_snapshot), {0}};
