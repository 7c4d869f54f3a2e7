/* test_store.c - every test of the store, on one kind of database: a file, or the server that
 * TOKGRID_TEST_POSTGRES names. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

/* "pass-by PATH": what another program does that looks into the store, for process_tests. */
static int pass_by(const char *where)
{
    const struct store_options options = fixture_options();
    struct store *s = NULL;
    struct err err;

    if (!store_open(where, &options, &s, &err))
        return 1;
    store_close(s);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "pass-by") == 0)
        return pass_by(argv[2]);
    static const struct CMUnitTest none[] = {{0}};
    const bool server = fixture_is_postgres();
    const struct CMUnitTest *const tables[] = {
        server ? server_tests : none,
        server ? none : snapshot_tests,
        server ? none : column_tests,
        server ? none : growth_tests,
        db_tests,
        migrate_tests,
        user_tests,
        run_tests,
        board_tests,
        group_tests,
        search_tests,
        request_tests,
        moderation_tests,
        upkeep_tests,
        plan_tests,
        process_tests,
    };
    struct CMUnitTest *all = NULL;
    size_t n = 0, room = 0;

    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        for (const struct CMUnitTest *t = tables[i]; t->name; t++) {
            MEM_GROW(all, n, room);
            all[n++] = *t;
        }
    }
    int failed = _cmocka_run_group_tests(server ? "postgres" : "sqlite", all, n, NULL, NULL);
    free(all);
    return failed;
}
