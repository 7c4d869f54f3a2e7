/* fixture.h - an empty store for each test: a temporary file, or, when TOKGRID_TEST_POSTGRES is the
 * URL of a server, a schema of its own there. */
#ifndef TOKGRID_TESTS_STORE_FIXTURE_H
#define TOKGRID_TESTS_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/store.h"

struct fixture {
    struct store *s;
    struct arena a;
    struct err err;
    char where[512]; /* for another handle on the same store */
};

int fixture_open(void **state); /* cmocka's set-up: *state becomes the fixture */
int fixture_close(void **state);

/* Another handle; close it. */
struct store *fixture_another(const struct fixture *f);
struct store_options fixture_options(void);
bool fixture_is_postgres(void);

/* A place for another empty store of the kind asked for, as a URL; forgotten with the fixture. */
void fixture_elsewhere(struct fixture *f, bool postgres, char *out, size_t size);

/* The clock of stores opened here stands still until it is moved. */
extern int64_t fixture_now_ms;

/* Fails the test with the error's text. */
#define assert_fine(f, call)                                                                       \
    do {                                                                                           \
        (f)->err = (struct err){0};                                                                \
        if (!(call))                                                                               \
            fail_msg("%s: %s", #call, (f)->err.text);                                              \
    } while (0)
#define assert_fails(f, code_, call)                                                               \
    do {                                                                                           \
        (f)->err = (struct err){0};                                                                \
        assert_false(call);                                                                        \
        if ((f)->err.code != (code_))                                                              \
            fail_msg("%s: %s", #call, (f)->err.text);                                              \
        assert_true(*(f)->err.text);                                                               \
    } while (0)

/* Things that tests need often. */
int64_t fixture_user(struct fixture *f, const char *name);
/* The synthetic run of this number, public, owned by the user; its uid. */
const char *fixture_run(struct fixture *f, int64_t owner, uint64_t number);
/* The same for a result of the test's own. */
const char *fixture_publish(struct fixture *f, int64_t owner, const struct result *r,
                            enum store_run_state state);
/* Nothing that store_check would find. */
void assert_consistent(struct fixture *f);

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)

/* One table a file, ended by an empty row; test_store.c runs them all. */
extern const struct CMUnitTest db_tests[], migrate_tests[], user_tests[], run_tests[],
    board_tests[], group_tests[], search_tests[], request_tests[], moderation_tests[],
    upkeep_tests[], plan_tests[], process_tests[];
extern const struct CMUnitTest server_tests[];                                   /* only there */
extern const struct CMUnitTest snapshot_tests[], column_tests[], growth_tests[]; /* of files only */

#endif
