/* cases_process.c - several processes on one store: nothing lost, nothing double, also when one of
 * them is killed. */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_parts.h"
#include "synthetic.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

enum { PROCESSES = 4, REQUESTS = 12 };

static struct store *open_there(const char *where)
{
    const struct store_options options = fixture_options();
    struct store *s;
    struct err err;

    return store_open(where, &options, &s, &err) ? s : NULL;
}

/* Add a run under an idempotency key, as the site does. */
static bool publish_once(struct store *s, int64_t user, uint64_t number, bool die, struct err *err)
{
    struct arena a = {0};
    struct result r;
    struct buf document;
    struct store_replay replay;
    char key[32], uid[UUID_TEXT_MAX];

    synthetic_run(number, &r);
    buf_init(&document, RESULT_MAX_BYTES);
    synthetic_document(&r, &document);
    const struct store_run_new run = {.owner = user,
                                      .result = &r,
                                      .document = document.p,
                                      .document_bytes = document.len,
                                      .state = STORE_RUN_PUBLIC};
    snprintf(key, sizeof key, "key-%llu", (unsigned long long)number);
    bool fine = store_begin(s, err);
    if (fine) {
        fine = store_replay_claim(s, user, key, document.p, document.len, &a, &replay, err);
        if (fine && replay.state == REPLAY_NEW) {
            fine =
                store_run_add(s, &run, uid, err) && store_replay_save(s, user, key, 201, uid, err);
            if (die)
                kill(getpid(), SIGKILL);
            fine = fine && store_commit(s, err);
        }
        store_rollback(s);
    }
    buf_release(&document);
    result_release(&r);
    arena_release(&a);
    return fine;
}

/* Every process sends every request. */
static int be_a_process(const char *where, int64_t user, int which)
{
    struct store *s = open_there(where);
    struct err err;

    if (!s)
        return 1;
    for (int i = 0; i < REQUESTS; i++) {
        int tries = 0;
        while (!publish_once(s, user, (uint64_t)((i + which * 5) % REQUESTS), false, &err))
            if (err.code != ERR_BUSY || ++tries == 20)
                return 2;
    }
    store_close(s);
    return 0;
}

static void test_processes(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    pid_t pids[PROCESSES];
    struct store_counts counts;

    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0)
            _exit(be_a_process(f->where, ada, i));
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    assert_fine(f, store_counts(f->s, &counts, &f->err));
    assert_int_equal(counts.runs, REQUESTS);
    assert_consistent(f);
}

static void test_killed(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    struct store_counts counts;
    int status;

    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct store *s = open_there(f->where);
        struct err err;
        if (s)
            (void)!publish_once(s, ada, 3, true, &err);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_fine(f, store_counts(f->s, &counts, &f->err));
    assert_int_equal(counts.runs, 0);
    assert_fine(f, publish_once(f->s, ada, 3, false, &f->err)); /* the client tries again */
    assert_fine(f, publish_once(f->s, ada, 3, false, &f->err));
    assert_fine(f, store_counts(f->s, &counts, &f->err));
    assert_int_equal(counts.runs, 1);
    assert_consistent(f);
}

/* A limit is one limit, however many processes ask. */
static void test_shared_limit(void **state)
{
    struct fixture *f = *state;
    int left[2], allowed = 0;
    pid_t pids[PROCESSES];

    assert_int_equal(pipe2(left, O_CLOEXEC), 0);
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            struct store *s = open_there(f->where);
            struct store_rate rate;
            struct err err;
            unsigned n = 0;
            for (int k = 0; s && k < 20; k++)
                n += store_rate_take(s, "shared", 30, 3600000, &rate, &err) && rate.allowed;
            _exit(write(left[1], &n, sizeof n) == sizeof n ? 0 : 1);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        unsigned n;
        int status;
        assert_int_equal(read(left[0], &n, sizeof n), sizeof n);
        allowed += (int)n;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    close(left[0]);
    close(left[1]);
    assert_int_equal(allowed, 30);
}

/* Who has waited long enough is told so, and may try again. */
static void test_busy(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    struct store *other = fixture_another(f);

    assert_fine(f, store_begin(other, &f->err));
    assert_fine(f, store_lock_visible(other, &f->err));
    assert_fails(f, ERR_BUSY, publish_once(f->s, ada, 1, false, &f->err));
    store_rollback(other);
    assert_fine(f, publish_once(f->s, ada, 1, false, &f->err));
    store_close(other);
    assert_consistent(f);
}

/* Processes that start together make one schema. */
static void test_start_together(void **state)
{
    struct fixture *f = *state;
    char where[512];
    pid_t pids[PROCESSES];

    fixture_elsewhere(f, fixture_is_postgres(), where, sizeof where);
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            struct store *s = open_there(where);
            store_close(s);
            _exit(s ? 0 : 1);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    if (!fixture_is_postgres())
        unlink(where);
}

/* Who opens a file that is in use and closes it again is never taken for the last one: that would
 * remove the log in which the others' commits lie. */
static void test_passing_by(void **state)
{
    struct fixture *f = *state;
    struct store *other =
        fixture_another(f); /* whose opening must not drop the locks of the first */
    char log[600];
    int status;

    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        execl("/proc/self/exe", "test_store", "pass-by", f->where, (char *)NULL);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    snprintf(log, sizeof log, "%s-wal", f->where);
    if (!fixture_is_postgres())
        assert_int_equal(access(log, F_OK), 0);
    store_close(other);
    assert_consistent(f);
}

const struct CMUnitTest process_tests[] = {
    TEST(test_processes),
    TEST(test_killed),
    TEST(test_shared_limit),
    TEST(test_busy),
    TEST(test_start_together),
    TEST(test_passing_by),
    {0},
};
