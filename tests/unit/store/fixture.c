#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/libpq.h"
#include "synthetic.h"

int64_t fixture_now_ms;
static int places; /* given out by this process */

static int64_t now_ms(void)
{
    return fixture_now_ms;
}

bool fixture_is_postgres(void)
{
    return getenv("TOKGRID_TEST_POSTGRES") != NULL;
}

struct store_options fixture_options(void)
{
    return (struct store_options){
        .create = true, .migrate = true, .cheap_passwords = true, .now_ms = now_ms};
}

/* A server's answer is of no interest, its failure is. */
static void run_sql(const char *sql)
{
    const char *const names[] = {"dbname", NULL};
    const char *const values[] = {getenv("TOKGRID_TEST_POSTGRES"), NULL};
    assert_true(libpq_open(NULL));
    PGconn *conn = PQconnectdbParams(names, values, 1);
    PGresult *r = PQexec(conn, sql);

    if (PQresultStatus(r) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(conn));
    PQclear(r);
    PQfinish(conn);
}

static void make_place(bool postgres, char *out, size_t size)
{
    int n = ++places;

    if (postgres) {
        char sql[128];
        const char *url = getenv("TOKGRID_TEST_POSTGRES");
        snprintf(sql, sizeof sql,
                 "SET client_min_messages = error; DROP SCHEMA IF EXISTS t%d CASCADE; "
                 "CREATE SCHEMA t%d",
                 n, n);
        run_sql(sql);
        snprintf(out, size, "%s%soptions=-csearch_path%%3Dt%d", url, strchr(url, '?') ? "&" : "?",
                 n);
        return;
    }
    const char *folder = getenv("TMPDIR");
    snprintf(out, size, "%s/tokgrid-store-%d-%d.db", folder ? folder : "/tmp", (int)getpid(), n);
}

static void drop_place(const char *where)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    char path[600];

    if (store_is_url(where))
        return; /* the cluster goes as a whole */
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        snprintf(path, sizeof path, "%s%s", where, suffixes[i]);
        unlink(path);
    }
}

void fixture_elsewhere(struct fixture *f, bool postgres, char *out, size_t size)
{
    (void)f;
    make_place(postgres, out, size);
}

int fixture_open(void **state)
{
    struct fixture *f = mem_alloc(sizeof *f);
    const struct store_options options = fixture_options();

    fixture_now_ms = INT64_C(1790000000000);
    make_place(fixture_is_postgres(), f->where, sizeof f->where);
    if (!store_open(f->where, &options, &f->s, &f->err))
        fail_msg("%s", f->err.text);
    *state = f;
    return 0;
}

int fixture_close(void **state)
{
    struct fixture *f = *state;

    store_close(f->s);
    arena_release(&f->a);
    drop_place(f->where);
    free(f);
    return 0;
}

struct store *fixture_another(const struct fixture *f)
{
    const struct store_options options = fixture_options();
    struct store *s = NULL;
    struct err err = {0};

    if (!store_open(f->where, &options, &s, &err))
        fail_msg("%s", err.text);
    return s;
}

int64_t fixture_user(struct fixture *f, const char *name)
{
    struct store_user user;

    assert_fine(f, store_user_create(f->s, name, NULL, false, &f->a, &user, &f->err));
    return user.id;
}

const char *fixture_publish(struct fixture *f, int64_t owner, const struct result *r,
                            enum store_run_state state)
{
    struct buf document;
    char *uid = arena_alloc(&f->a, UUID_TEXT_MAX);

    buf_init(&document, RESULT_MAX_BYTES);
    synthetic_document(r, &document);
    const struct store_run_new run = {.owner = owner,
                                      .result = r,
                                      .document = document.p,
                                      .document_bytes = document.len,
                                      .state = state};
    assert_fine(f, store_run_add(f->s, &run, uid, &f->err));
    buf_release(&document);
    return uid;
}

const char *fixture_run(struct fixture *f, int64_t owner, uint64_t number)
{
    struct result r;

    synthetic_run(number, &r);
    const char *uid = fixture_publish(f, owner, &r, STORE_RUN_PUBLIC);
    result_release(&r);
    return uid;
}

void assert_consistent(struct fixture *f)
{
    struct buf out;
    int64_t findings = -1;

    buf_init(&out, 64 << 10);
    assert_fine(f, store_check(f->s, &out, &findings, &f->err));
    if (findings != 0)
        fail_msg("%s", out.p);
    buf_release(&out);
}
