/* cases_upkeep.c - expiry, checks, backup, copies between the two kinds. */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_copy.h"
#include "store/store_parts.h"
#include "synthetic.h"

static void test_expire(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    char token[STORE_TOKEN_MAX], code[STORE_USER_CODE_MAX];
    struct store_rate rate;
    struct store_replay replay;
    static const char *const counts[] = {
        "SELECT COUNT(*) FROM session", "SELECT COUNT(*) FROM device_login",
        "SELECT COUNT(*) FROM rate", "SELECT COUNT(*) FROM replay"};

    for (int i = 0; i < 3; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        assert_fine(f, store_session_create(f->s, ada, 1000, token, &f->err));
        assert_fine(f, store_device_start(f->s, "box", token, code, &f->err));
        assert_fine(f, store_rate_take(f->s, key, 1, 1000, &rate, &f->err));
        assert_fine(f, store_replay_claim(f->s, ada, key, "", 0, &f->a, &replay, &f->err));
    }
    assert_fine(f, store_expire(f->s, &f->err));
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
            struct db_rows rows;
            assert_fine(f, db_query(f->s->db, counts[i], NULL, 0, &rows, &f->err));
            assert_true(db_next(&rows));
            assert_int_equal(db_get_int(&rows), round ? 0 : 3);
            assert_fine(f, db_end(&rows, &f->err));
        }
        fixture_now_ms += STORE_REPLAY_LIFE_MS;
        assert_fine(f, store_expire(f->s, &f->err));
    }
}

/* Each damage is noticed. */
static void test_check(void **state)
{
    static const char *const damages[] = {
        "UPDATE tally SET n = n + 1 WHERE name = 'public'",
        "UPDATE tally SET n = n + 1 WHERE name = 'cells'",
        "UPDATE model SET run_count = run_count + 1 WHERE id = 1",
        "UPDATE base SET run_count = 0 WHERE id = 1",
        "UPDATE hardware SET run_count = 9 WHERE id = 1",
        "UPDATE users SET key_count = 1",
        "UPDATE model SET single = single * 2 WHERE id = 1",
        "UPDATE board SET model_id = 99",
        "UPDATE best SET score = -1",
        "DELETE FROM best",
        "UPDATE board SET score = score / 2",
        "UPDATE engine SET run_count = run_count + 1 WHERE id = 1",
        "UPDATE quantization SET run_count = run_count - 1 WHERE id = 1",
        "UPDATE base SET total = total * 2 WHERE id = 1",
        "UPDATE organization SET single = single + 1 WHERE id = 1",
        "UPDATE hardware SET total = 1 WHERE id = 1",
        "UPDATE run SET flag_count = 1 WHERE id = 1",
        "UPDATE run SET report_count = 1 WHERE id = 1",
        "UPDATE search_entry SET weight = weight + 1 WHERE kind = 0",
        "DELETE FROM search_entry WHERE kind = 2",
        "DELETE FROM search_entry WHERE kind = 4",
        "DELETE FROM board",
        "DELETE FROM board WHERE run_id = 1 AND point_id = (SELECT MAX(b.point_id) FROM "
        "board b WHERE b.run_id = 1)",
        "DELETE FROM document",
        "UPDATE document SET digest = 'x'",
        "UPDATE document SET bytes = bytes - 1",
        "UPDATE schema_migration SET digest = 'x' WHERE version = 1",
    };
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada"), findings;
    struct buf out;

    fixture_run(f, ada, 1);
    fixture_run(f, ada, 2);
    assert_consistent(f);
    buf_init(&out, 64 << 10);
    for (size_t i = 0; i < ARRAY_LEN(damages); i++) {
        assert_fine(f, store_begin(f->s, &f->err));
        assert_fine(f, db_run(f->s->db, damages[i], NULL, 0, NULL, &f->err));
        assert_fine(f, store_check(f->s, &out, &findings, &f->err));
        if (findings < 1)
            fail_msg("unnoticed: %s", damages[i]);
        store_rollback(f->s);
    }
    buf_release(&out);
    assert_consistent(f);
}

static void test_backup(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    const char *uid = fixture_run(f, ada, 1);
    const struct store_options options = fixture_options();
    char path[600];
    struct store *copy;
    struct store_run run;

    snprintf(path, sizeof path, "%s.copy", f->where);
    if (fixture_is_postgres()) {
        assert_fails(f, ERR_USAGE, store_backup(f->s, "/nowhere", &f->err));
        return;
    }
    assert_fine(f, store_backup(f->s, path, &f->err));
    assert_fails(f, ERR_SYSTEM, store_backup(f->s, path, &f->err)); /* never over another */
    assert_fine(f, store_open(path, &options, &copy, &f->err));
    assert_fine(f, store_run_get(copy, uid, &f->a, &run, &f->err));
    store_close(copy);
    unlink(path);
    snprintf(path, sizeof path, "%s.copy-wal", f->where);
    unlink(path);
    snprintf(path, sizeof path, "%s.copy-shm", f->where);
    unlink(path);
}

static void fill(struct fixture *f)
{
    int64_t ada = fixture_user(f, "ada"), id;
    char key[STORE_KEY_TEXT_MAX], token[STORE_TOKEN_MAX], code[STORE_USER_CODE_MAX];

    store_act_as(f->s, ada, "192.0.2.1");
    for (uint64_t i = 0; i < 12; i++)
        fixture_run(f, ada, i);
    assert_fine(f, store_key_create(f->s, ada, "box", key, &f->err));
    assert_fine(f, store_session_create(f->s, ada, 1000, token, &f->err));
    assert_fine(f, store_device_start(f->s, "box", token, code, &f->err));
    assert_fine(f, store_setup_put(f->s, ada, "one", "{}", true, &id, &f->err));
    struct store_filter none = {0};
    struct store_runs list;
    assert_fine(f, store_runs(f->s, &none, STORE_RUNS_NEWEST, NULL, false, &f->a, &list, &f->err));
    assert_fine(f, store_report_add(f->s, list.v[0].uid, "spam", "text", &f->err));
}

/* What both say in the end, as text. */
static const char *summary_of(struct fixture *f, struct store *s)
{
    struct buf text;
    struct store_board board = {.metric = STORE_TOTAL, .context_tokens = -1};
    const struct store_page whole = {.limit = STORE_PAGE_MAX};
    struct store_board_rows rows;
    struct store_founds found;
    struct store_audit audit;
    struct store_counts c;

    buf_init(&text, 1 << 20);
    assert_fine(f, store_board(s, &board, &whole, &f->a, &rows, &f->err));
    for (size_t i = 0; i < rows.n; i++)
        buf_addf(&text, "%s %.17g %s\n", rows.v[i].run.uid, rows.v[i].value, rows.v[i].run.title);
    assert_fine(f, store_search(s, "qwen", 20, &f->a, &found, &f->err));
    for (size_t i = 0; i < found.n; i++)
        buf_addf(&text, "%d %s\n", (int)found.v[i].kind, found.v[i].key);
    assert_fine(f, store_audit(s, NULL, &whole, &f->a, &audit, &f->err));
    for (size_t i = 0; i < audit.n; i++)
        buf_addf(&text, "%lld %s %s\n", (long long)audit.v[i].id, audit.v[i].action,
                 audit.v[i].target);
    assert_fine(f, store_counts(s, &c, &f->err));
    buf_addf(&text, "%lld %lld %lld\n", (long long)c.runs, (long long)c.cells, (long long)c.users);
    const char *all = arena_strdup(&f->a, text.p);
    buf_release(&text);
    return all;
}

static void test_copy(void **state)
{
    struct fixture *f = *state;
    const struct store_options options = fixture_options();
    char where[2][512];
    struct store *copies[2];
    int64_t rows[2];

    fill(f);
    /* to the same kind, and, where there is a server, to a file and back */
    fixture_elsewhere(f, false, where[0], sizeof where[0]);
    fixture_elsewhere(f, fixture_is_postgres(), where[1], sizeof where[1]);
    for (int i = 0; i < 2; i++)
        assert_fine(f, store_open(where[i], &options, &copies[i], &f->err));
    assert_fine(f, store_copy(f->s, copies[0], &rows[0], &f->err));
    assert_fails(f, ERR_EXISTS, store_copy(f->s, copies[0], &rows[0], &f->err));
    assert_fine(f, store_copy(copies[0], copies[1], &rows[1], &f->err));
    assert_int_equal(rows[0], rows[1]);
    assert_string_equal(summary_of(f, f->s), summary_of(f, copies[0]));
    assert_string_equal(summary_of(f, f->s), summary_of(f, copies[1]));

    /* and life goes on there */
    struct store *original = f->s;
    f->s = copies[1];
    assert_consistent(f);
    fixture_run(f, fixture_user(f, "bob"), 77);
    assert_consistent(f);
    f->s = original;
    for (int i = 0; i < 2; i++) {
        store_close(copies[i]);
        if (!store_is_url(where[i]))
            unlink(where[i]);
    }
}

/* A column that is added to the schema and not to the copy would be lost silently. */
static void test_copied_columns(void **state)
{
    struct fixture *f = *state;
    struct db_rows rows;
    struct buf real, listed;

    buf_init(&real, 64 << 10);
    buf_init(&listed, 64 << 10);
    for (size_t i = 0; i < copied_table_count; i++)
        buf_addf(&listed, "%s: %s\n", copied_tables[i].name, copied_tables[i].columns);
    for (size_t i = 0; i < copied_table_count; i++) {
        const struct db_value name = db_text(copied_tables[i].name);
        assert_fine(f, db_query(f->s->db, "SELECT name FROM pragma_table_info(?)", &name, 1, &rows,
                                &f->err));
        buf_addf(&real, "%s: ", copied_tables[i].name);
        for (int n = 0; db_next(&rows); n++)
            buf_addf(&real, "%s%s", n ? ", " : "", db_get_text(&rows, &f->a));
        assert_fine(f, db_end(&rows, &f->err));
        buf_addc(&real, '\n');
    }
    assert_string_equal(listed.p, real.p);
    assert_fine(f, DB_QUERY(f->s->db, &rows, &f->err,
                            "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name NOT "
                            "LIKE 'search_runs%' AND name NOT LIKE 'search_groups%' AND name NOT "
                            "LIKE 'sqlite_%' AND name <> "
                            "'schema_migration'"));
    assert_true(db_next(&rows));
    assert_int_equal(db_get_int(&rows), copied_table_count);
    assert_fine(f, db_end(&rows, &f->err));
    buf_release(&real);
    buf_release(&listed);
}

const struct CMUnitTest upkeep_tests[] = {
    TEST(test_expire), TEST(test_check), TEST(test_backup), TEST(test_copy), {0},
};

/* SQLite says what its columns are; the server's are the same by cases_migrate.c. */
const struct CMUnitTest column_tests[] = {TEST(test_copied_columns), {0}};
