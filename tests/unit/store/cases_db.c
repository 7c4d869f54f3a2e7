/* cases_db.c - the thin layer itself: values both ways, errors' classes, transactions. */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_parts.h"
#include "synthetic.h"

static void make_table(struct fixture *f)
{
    assert_fine(f, DB_RUN(f->s->db, &f->err,
                          "CREATE TABLE thing (id BIGINT PRIMARY KEY, name TEXT UNIQUE, "
                          "r DOUBLE PRECISION)"));
}

static int64_t count(struct fixture *f)
{
    struct db_rows rows;

    assert_fine(f, DB_QUERY(f->s->db, &rows, &f->err, "SELECT COUNT(*) FROM thing"));
    assert_true(db_next(&rows));
    int64_t n = db_get_int(&rows);
    assert_fine(f, db_end(&rows, &f->err));
    return n;
}

static void test_values(void **state)
{
    static const double numbers[] = {
        0, -1.5, 1e-300, 1.7976931348623157e308, 0.1, 123456789.123456};
    struct fixture *f = *state;
    struct db_rows rows;

    make_table(f);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        assert_fine(f, DB_RUN(f->s->db, &f->err, "INSERT INTO thing (id, r) VALUES (?, ?)",
                              db_int((int64_t)i), db_real(numbers[i])));
    assert_fine(f, DB_RUN(f->s->db, &f->err, "INSERT INTO thing (id, name, r) VALUES (?, ?, ?)",
                          db_int(INT64_MIN), db_text("\xe6\xa8\xa1 ' ? \\ \" $1"), db_real(NAN)));
    assert_fine(f, DB_RUN(f->s->db, &f->err, "INSERT INTO thing (id, name) VALUES (?, ?)",
                          db_int(INT64_MAX), db_text(NULL)));
    assert_fine(f, DB_QUERY(f->s->db, &rows, &f->err, "SELECT id, name, r FROM thing ORDER BY id"));
    assert_true(db_next(&rows));
    assert_true(db_get_int(&rows) == INT64_MIN);
    assert_string_equal(db_get_text(&rows, &f->a), "\xe6\xa8\xa1 ' ? \\ \" $1");
    assert_true(isnan(db_get_real(&rows)));
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        assert_true(db_next(&rows));
        assert_int_equal(db_get_int(&rows), i);
        assert_null(db_get_text(&rows, &f->a));
        assert_true(db_get_real(&rows) == numbers[i]);
    }
    assert_true(db_next(&rows));
    assert_true(db_get_int(&rows) == INT64_MAX);
    assert_false(db_next(&rows));
    assert_false(db_next(&rows));
    assert_fine(f, db_end(&rows, &f->err));
}

/* A question mark inside quotes is none of ours. */
static void test_question_marks(void **state)
{
    struct fixture *f = *state;
    struct db_rows rows;

    assert_fine(f, DB_QUERY(f->s->db, &rows, &f->err, "SELECT '?', CAST(? AS TEXT), 'it''s ?'",
                            db_text("a?b")));
    assert_true(db_next(&rows));
    assert_string_equal(db_get_text(&rows, &f->a), "?");
    assert_string_equal(db_get_text(&rows, &f->a), "a?b");
    assert_string_equal(db_get_text(&rows, &f->a), "it's ?");
    assert_fine(f, db_end(&rows, &f->err));
}

static void test_errors(void **state)
{
    struct fixture *f = *state;
    struct db_rows rows;

    make_table(f);
    assert_fine(f, DB_RUN(f->s->db, &f->err, "INSERT INTO thing (id, name) VALUES (1, 'a')"));
    assert_fails(f, ERR_EXISTS,
                 DB_RUN(f->s->db, &f->err, "INSERT INTO thing (id, name) VALUES (2, 'a')"));
    assert_fails(f, ERR_EXISTS,
                 DB_RUN(f->s->db, &f->err, "INSERT INTO thing (id, name) VALUES (1, 'b')"));
    assert_fails(f, ERR_NOT_FOUND,
                 DB_RUN(f->s->db, &f->err,
                        "INSERT INTO flag (run_id, code, text, context_tokens, concurrency) "
                        "VALUES (77, 'a', 'b', 1, 1)"));
    assert_fails(
        f, ERR_FORMAT,
        DB_RUN(f->s->db, &f->err, "INSERT INTO thing (id, name) VALUES (3, ?)", db_text("\xff")));
    assert_fails(f, ERR_SYSTEM, DB_RUN(f->s->db, &f->err, "SELECT * FROM nowhere"));
    assert_fails(f, ERR_SYSTEM, DB_QUERY(f->s->db, &rows, &f->err, "no SQL"));
    assert_int_equal(count(f), 1); /* and it still works */
}

static void test_nesting(void **state)
{
    struct fixture *f = *state;
    struct db *db = f->s->db;

    make_table(f);
    assert_fine(f, db_begin(db, &f->err));
    assert_fine(f, db_begin(db, &f->err));
    assert_fine(f, DB_RUN(db, &f->err, "INSERT INTO thing (id) VALUES (1)"));
    assert_fine(f, db_commit(db, &f->err));
    assert_int_equal(db_depth(db), 1);
    db_rollback(db);
    assert_int_equal(count(f), 0);

    assert_fine(f, db_begin(db, &f->err));
    assert_fine(f, DB_RUN(db, &f->err, "INSERT INTO thing (id) VALUES (2)"));
    assert_fine(f, db_begin(db, &f->err));
    db_rollback(db); /* of the inner one: the outer one cannot come true any more */
    assert_fails(f, ERR_SYSTEM, db_commit(db, &f->err));
    assert_int_equal(db_depth(db), 0);
    assert_int_equal(count(f), 0);

    assert_fine(f, db_begin(db, &f->err));
    assert_fine(f, DB_RUN(db, &f->err, "INSERT INTO thing (id) VALUES (3)"));
    assert_fails(f, ERR_EXISTS, DB_RUN(db, &f->err, "INSERT INTO thing (id) VALUES (3)"));
    assert_fails(f, ERR_SYSTEM, db_commit(db, &f->err));
    assert_int_equal(count(f), 0);

    assert_fine(f, db_begin(db, &f->err));
    assert_fine(f, DB_RUN(db, &f->err, "INSERT INTO thing (id) VALUES (4)"));
    assert_fine(f, db_commit(db, &f->err));
    assert_int_equal(count(f), 1);
}

/* More statements than are kept. */
static void test_many_statements(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 3; i++) {
        for (int n = 0; n < 300; n++) {
            struct db_rows rows;
            char sql[64];
            snprintf(sql, sizeof sql, "SELECT %d + CAST(? AS BIGINT)", n);
            const struct db_value one = db_int(1);
            assert_fine(f, db_query(f->s->db, sql, &one, 1, &rows, &f->err));
            assert_true(db_next(&rows));
            assert_int_equal(db_get_int(&rows), n + 1);
            assert_fine(f, db_end(&rows, &f->err));
        }
    }
}

static void test_lost_connection(void **state)
{
    struct fixture *f = *state;
    struct store *other;
    int64_t version;

    other = fixture_another(f);
    assert_fine(f, store_version(other, &version, &f->err));
    assert_fine(f, DB_RUN(f->s->db, &f->err,
                          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
                          "pg_backend_pid() AND application_name = 'tokgrid'"));
    usleep(100000);
    assert_fine(f, store_version(other, &version, &f->err));
    assert_fine(f, store_begin(other, &f->err));
    assert_fine(f, DB_RUN(f->s->db, &f->err,
                          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
                          "pg_backend_pid() AND application_name = 'tokgrid'"));
    assert_fails(f, ERR_CONNECT, store_version(other, &version, &f->err));
    store_rollback(other);
    assert_fine(f, store_version(other, &version, &f->err));
    store_close(other);
}

const struct CMUnitTest db_tests[] = {
    TEST(test_values),  TEST(test_question_marks),  TEST(test_errors),
    TEST(test_nesting), TEST(test_many_statements), {0},
};

const struct CMUnitTest server_tests[] = {TEST(test_lost_connection), {0}};
