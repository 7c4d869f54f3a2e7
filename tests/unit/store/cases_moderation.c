/* cases_moderation.c - flags, reports, the queue, the audit log. */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_parts.h"
#include "synthetic.h"

static const char *publish_flagged(struct fixture *f, int64_t owner, uint64_t number,
                                   enum store_run_state state)
{
    struct result r;
    struct buf document;
    char *uid = arena_alloc(&f->a, UUID_TEXT_MAX);

    synthetic_run(number, &r);
    buf_init(&document, RESULT_MAX_BYTES);
    synthetic_document(&r, &document);
    const struct store_flag flags[] = {
        {"above_bound", "faster than the memory allows", r.decode[0].context_tokens,
         r.decode[0].concurrency},
        {"odd", "no such card", -1, 0},
    };
    const struct store_run_new run = {.owner = owner,
                                      .result = &r,
                                      .document = document.p,
                                      .document_bytes = document.len,
                                      .state = state,
                                      .flags = flags,
                                      .flag_count = 2};
    assert_fine(f, store_run_add(f->s, &run, uid, &f->err));
    buf_release(&document);
    result_release(&r);
    return uid;
}

/* Flagged is listed all the same, with the warning on the cell. */
static void test_flags(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    const char *uid = publish_flagged(f, ada, 1, STORE_RUN_PUBLIC);
    struct store_run run;
    struct store_flags flags;
    struct store_cells cells;
    struct store_queue queue;
    struct store_runs list;
    struct store_filter none = {0};
    size_t flagged = 0;

    assert_fine(f, store_run_get(f->s, uid, &f->a, &run, &f->err));
    assert_int_equal(run.state, STORE_RUN_FLAGGED);
    assert_fine(f, store_run_flags(f->s, run.id, &f->a, &flags, &f->err));
    assert_int_equal(flags.n, 2);
    assert_string_equal(flags.v[0].code, "above_bound");
    assert_int_equal(flags.v[1].context_tokens, -1);
    assert_fine(f, store_run_cells(f->s, run.id, &f->a, &cells, &f->err));
    for (size_t i = 0; i < cells.n; i++)
        flagged += cells.v[i].flagged;
    assert_int_equal(flagged, 1);
    assert_fine(f, store_runs(f->s, &none, STORE_RUNS_NEWEST, NULL, false, &f->a, &list, &f->err));
    assert_int_equal(list.n, 1);
    assert_fine(f, store_queue(f->s, NULL, &f->a, &queue, &f->err));
    assert_int_equal(queue.n, 1);
    assert_int_equal(queue.v[0].flag_count, 2);
    /* an owner cannot take flags away, not by the way round either */
    assert_fails(f, ERR_DENIED, store_run_set_state(f->s, uid, STORE_RUN_PUBLIC, NULL, &f->err));
    assert_fine(f, store_run_set_state(f->s, uid, STORE_RUN_WITHDRAWN, NULL, &f->err));
    assert_fails(f, ERR_DENIED, store_run_set_state(f->s, uid, STORE_RUN_PUBLIC, NULL, &f->err));
    assert_fine(f, store_run_reviewed(f->s, uid, STORE_RUN_FLAGGED, "no such card", &f->err));
    assert_fine(f, store_run_get(f->s, uid, &f->a, &run, &f->err));
    assert_int_equal(run.state, STORE_RUN_FLAGGED);

    assert_fine(f, store_run_reviewed(f->s, uid, STORE_RUN_PUBLIC, "a fine card", &f->err));
    assert_fine(f, store_run_get(f->s, uid, &f->a, &run, &f->err));
    assert_int_equal(run.state, STORE_RUN_PUBLIC);
    assert_fine(f, store_run_flags(f->s, run.id, &f->a, &flags, &f->err));
    assert_int_equal(flags.n, 0);
    assert_fine(f, store_queue(f->s, NULL, &f->a, &queue, &f->err));
    assert_int_equal(queue.n, 0);
    assert_consistent(f);
}

static void test_flagged_draft(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    const char *uid = publish_flagged(f, ada, 1, STORE_RUN_DRAFT);
    struct store_run run;

    assert_fine(f, store_run_get(f->s, uid, &f->a, &run, &f->err));
    assert_int_equal(run.state, STORE_RUN_DRAFT);
    assert_fine(f, store_run_set_state(f->s, uid, STORE_RUN_PUBLIC, NULL, &f->err));
    assert_fine(f, store_run_get(f->s, uid, &f->a, &run, &f->err));
    assert_int_equal(run.state, STORE_RUN_FLAGGED);
    assert_consistent(f);
}

/* What a moderator said stays with the run until a moderator takes it back. */
static void test_moderators_word(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada"), waiting;
    const char *uid = fixture_run(f, ada, 1);
    struct store_run run;
    struct store_flags flags;
    struct result r;
    struct buf document;

    assert_fails(f, ERR_FORMAT, store_run_reviewed(f->s, uid, STORE_RUN_WITHDRAWN, NULL, &f->err));
    assert_fine(f, store_run_reviewed(f->s, uid, STORE_RUN_WITHDRAWN, "made up", &f->err));
    synthetic_run(2, &r);
    buf_init(&document, RESULT_MAX_BYTES);
    synthetic_document(&r, &document);
    const struct store_run_new other = {
        .owner = ada, .result = &r, .document = document.p, .document_bytes = document.len};
    assert_fine(f, store_run_revise(f->s, uid, &other, "measured again", &f->err));
    buf_release(&document);
    result_release(&r);
    assert_fine(f, store_run_get(f->s, uid, &f->a, &run, &f->err));
    assert_int_equal(run.state, STORE_RUN_WITHDRAWN);
    assert_fine(f, store_run_flags(f->s, run.id, &f->a, &flags, &f->err));
    assert_int_equal(flags.n, 1);
    assert_string_equal(flags.v[0].code, STORE_FLAG_MODERATOR);
    assert_string_equal(flags.v[0].text, "made up");
    assert_fails(f, ERR_DENIED, store_run_set_state(f->s, uid, STORE_RUN_PUBLIC, NULL, &f->err));
    assert_consistent(f);

    /* accepted: its owner decides again, the moderator does not publish it for him */
    assert_fine(f, store_run_reviewed(f->s, uid, STORE_RUN_PUBLIC, NULL, &f->err));
    assert_fine(f, store_run_get(f->s, uid, &f->a, &run, &f->err));
    assert_int_equal(run.state, STORE_RUN_WITHDRAWN);
    assert_fine(f, store_run_set_state(f->s, uid, STORE_RUN_PUBLIC, NULL, &f->err));
    assert_fine(f, store_run_reviewed(f->s, uid, STORE_RUN_FLAGGED, "odd", &f->err));
    assert_fine(f, store_queue_count(f->s, &waiting, &f->err));
    assert_int_equal(waiting, 0); /* it was looked at */
    const char *draft = publish_flagged(f, ada, 3, STORE_RUN_DRAFT);
    assert_fails(f, ERR_DENIED, store_run_reviewed(f->s, draft, STORE_RUN_PUBLIC, NULL, &f->err));
    assert_consistent(f);
}

static void test_reports(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada"), bob = fixture_user(f, "bob"),
            eve = fixture_user(f, "eve");
    const char *uid = fixture_run(f, ada, 1);
    struct store_reports list;
    struct store_queue queue;
    struct store_counts counts;
    struct store_run run;

    store_act_as(f->s, bob, "192.0.2.1");
    assert_fine(f, store_report_add(f->s, uid, "implausible", "too fast", &f->err));
    assert_fine(f, store_report_add(f->s, uid, "implausible", "far too fast", &f->err));
    store_act_as(f->s, 0, "192.0.2.2");
    assert_fine(f, store_report_add(f->s, uid, "spam", "", &f->err));
    assert_fails(f, ERR_NOT_FOUND, store_report_add(f->s, "none", "spam", "", &f->err));
    assert_fine(f, store_run_get(f->s, uid, &f->a, &run, &f->err));
    assert_fine(f, store_reports(f->s, true, NULL, &f->a, &list, &f->err));
    assert_int_equal(list.n, 2);
    assert_fine(f, store_run_reports(f->s, run.id, &f->a, &list, &f->err));
    assert_int_equal(list.n, 2);
    assert_string_equal(list.v[0].reporter, "bob");
    assert_string_equal(list.v[0].text, "far too fast");
    assert_string_equal(list.v[0].run_uid, uid);
    assert_null(list.v[1].reporter);
    assert_fine(f, store_counts(f->s, &counts, &f->err));
    assert_int_equal(counts.open_reports, 2);
    assert_fine(f, store_queue(f->s, NULL, &f->a, &queue, &f->err));
    assert_int_equal(queue.v[0].report_count, 2);

    store_act_as(f->s, eve, "192.0.2.3");
    assert_fine(f, store_report_resolve(f->s, list.v[1].id, "no spam", &f->err));
    assert_fails(f, ERR_NOT_FOUND, store_report_resolve(f->s, list.v[1].id, "again", &f->err));
    assert_fine(f, store_queue(f->s, NULL, &f->a, &queue, &f->err));
    assert_int_equal(queue.n, 1);
    assert_fine(f, store_report_resolve(f->s, list.v[0].id, "measured again", &f->err));
    assert_fine(f, store_queue(f->s, NULL, &f->a, &queue, &f->err));
    assert_int_equal(queue.n, 0);
    assert_fine(f, store_reports(f->s, false, NULL, &f->a, &list, &f->err));
    assert_int_equal(list.n, 2);
    assert_string_equal(list.v[0].resolved_by, "eve");
    assert_string_equal(list.v[0].resolution, "measured again");
    assert_fine(f, store_reports(f->s, true, NULL, &f->a, &list, &f->err));
    assert_int_equal(list.n, 0);

    store_act_as(f->s, bob, "192.0.2.1");
    assert_fine(f, store_report_add(f->s, uid, "implausible", "still", &f->err));
    store_act_as(f->s, eve, "192.0.2.3");
    assert_fine(f, store_run_reviewed(f->s, uid, STORE_RUN_WITHDRAWN, "indeed", &f->err));
    assert_fine(f, store_reports(f->s, true, NULL, &f->a, &list, &f->err));
    assert_int_equal(list.n, 0);
    assert_consistent(f);
}

static void test_audit(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    struct store_audit log;
    struct store_page page = {.limit = 2};

    store_act_as(f->s, ada, "192.0.2.1");
    const char *uid = fixture_run(f, ada, 1);
    assert_fine(f, store_run_set_state(f->s, uid, STORE_RUN_WITHDRAWN, "mistake", &f->err));
    store_act_as(f->s, 0, NULL);
    const struct store_audit_filter of_run = {.target = uid}, by_ada = {.user = "ADA"},
                                    by_none = {.user = "nobody"},
                                    both = {.user = "ada", .action = "run.state"};
    assert_fine(f, store_audit_add(f->s, "session.failed", "ada", NULL, &f->err));
    assert_fine(f, store_audit(f->s, &of_run, NULL, &f->a, &log, &f->err));
    assert_int_equal(log.n, 2);
    assert_string_equal(log.v[0].action, "run.state");
    assert_string_equal(log.v[0].detail, "withdrawn: mistake");
    assert_string_equal(log.v[0].actor, "ada");
    assert_string_equal(log.v[0].address, "192.0.2.1");
    assert_string_equal(log.v[1].action, "run.add");
    assert_fine(f, store_audit(f->s, &by_ada, NULL, &f->a, &log, &f->err));
    assert_int_equal(log.n, 2);
    assert_fine(f, store_audit(f->s, &by_none, NULL, &f->a, &log, &f->err));
    assert_int_equal(log.n, 0);
    assert_fine(f, store_audit(f->s, &both, NULL, &f->a, &log, &f->err));
    assert_int_equal(log.n, 1);
    assert_string_equal(log.v[0].detail, "withdrawn: mistake");
    assert_fine(f, store_audit(f->s, NULL, &page, &f->a, &log, &f->err));
    assert_string_equal(log.v[0].action, "session.failed");
    assert_null(log.v[0].actor);
    page.after = log.next;
    assert_fine(f, store_audit(f->s, NULL, &page, &f->a, &log, &f->err));
    assert_int_equal(log.n, 2); /* run.add, user.create */
    assert_string_equal(log.v[1].action, "user.create");
    assert_string_equal(log.next, "");
}

/* What failed leaves no trace. */
static void test_rolled_back(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    struct store_audit before, after;

    assert_fine(f, store_audit(f->s, NULL, NULL, &f->a, &before, &f->err));
    assert_fine(f, store_begin(f->s, &f->err));
    fixture_run(f, ada, 1);
    store_rollback(f->s);
    assert_fine(f, store_audit(f->s, NULL, NULL, &f->a, &after, &f->err));
    assert_int_equal(before.n, after.n);
    assert_consistent(f);
}

const struct CMUnitTest moderation_tests[] = {
    TEST(test_flags),
    TEST(test_flagged_draft),
    TEST(test_moderators_word),
    TEST(test_reports),
    TEST(test_audit),
    TEST(test_rolled_back),
    {0},
};
