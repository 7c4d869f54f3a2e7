/* cases_requests.c - setups, idempotent requests, rate limits. */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_parts.h"
#include "synthetic.h"

static void test_setups(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada"), bob = fixture_user(f, "bob"), id, again;
    struct store_setups list;
    char name[32];

    assert_fine(f, store_setup_put(f->s, ada, "two cards", "{}", true, &id, &f->err));
    assert_fine(f, store_setup_put(f->s, ada, "one card", "{\"a\":1}", true, &again, &f->err));
    assert_fine(f, store_setups(f->s, ada, &f->a, &list, &f->err));
    assert_int_equal(list.n, 2);
    assert_string_equal(list.v[0].name, "one card");
    assert_true(list.v[0].is_default && !list.v[1].is_default);
    assert_fine(f, store_setup_put(f->s, ada, "two cards", "{\"b\":2}", false, &again, &f->err));
    assert_int_equal(again, id);
    assert_fails(f, ERR_NOT_FOUND, store_setup_set_default(f->s, bob, id, &f->err));
    assert_fine(f, store_setup_set_default(f->s, ada, id, &f->err));
    assert_fine(f, store_setups(f->s, ada, &f->a, &list, &f->err));
    assert_true(list.v[0].is_default + list.v[1].is_default == 1);
    assert_true(list.v[list.v[1].id == id].is_default);
    assert_fails(f, ERR_NOT_FOUND, store_setup_delete(f->s, bob, id, &f->err));
    assert_fine(f, store_setup_delete(f->s, ada, id, &f->err));
    for (int i = 0; i < STORE_SETUPS_MAX; i++) {
        snprintf(name, sizeof name, "setup %d", i);
        assert_fine(f, store_setup_put(f->s, bob, name, "{}", false, &id, &f->err));
    }
    assert_fails(f, ERR_LIMIT, store_setup_put(f->s, bob, "more", "{}", false, &id, &f->err));
    assert_fine(f, store_setup_put(f->s, bob, "setup 3", "[]", false, &id, &f->err));
    assert_fails(f, ERR_FORMAT, store_setup_put(f->s, ada, "", "{}", false, &id, &f->err));
}

static void test_replay(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada"), bob = fixture_user(f, "bob");
    struct store_replay r;

    assert_fine(f, store_begin(f->s, &f->err));
    assert_fine(f, store_replay_claim(f->s, ada, "k1", "POST /a", 7, &f->a, &r, &f->err));
    assert_int_equal(r.state, REPLAY_NEW);
    assert_fine(f, store_replay_save(f->s, ada, "k1", 201, "{\"id\":1}", &f->err));
    assert_fine(f, store_commit(f->s, &f->err));
    assert_fine(f, store_replay_claim(f->s, ada, "k1", "POST /a", 7, &f->a, &r, &f->err));
    assert_int_equal(r.state, REPLAY_DONE);
    assert_int_equal(r.status, 201);
    assert_string_equal(r.body, "{\"id\":1}");
    assert_fine(f, store_replay_claim(f->s, ada, "k1", "POST /b", 7, &f->a, &r, &f->err));
    assert_int_equal(r.state, REPLAY_OTHER);
    assert_fine(f, store_begin(f->s, &f->err));
    assert_fine(f, store_replay_claim(f->s, bob, "k1", "POST /b", 7, &f->a, &r, &f->err));
    assert_int_equal(r.state, REPLAY_NEW); /* keys are a user's own */
    store_rollback(f->s);
    assert_fine(f, store_begin(f->s, &f->err));
    assert_fine(f, store_replay_claim(f->s, bob, "k1", "POST /b", 7, &f->a, &r, &f->err));
    assert_int_equal(r.state, REPLAY_NEW); /* what failed never was */
    store_rollback(f->s);
    fixture_now_ms += STORE_REPLAY_LIFE_MS + 1;
    assert_fine(f, store_replay_claim(f->s, ada, "k1", "POST /b", 7, &f->a, &r, &f->err));
    assert_int_equal(r.state, REPLAY_NEW);
    assert_fails(f, ERR_FORMAT, store_replay_claim(f->s, ada, "", "x", 1, &f->a, &r, &f->err));
}

static void test_rate(void **state)
{
    struct fixture *f = *state;
    struct store_rate r;

    for (int i = 0; i < 30; i++) {
        assert_fine(f, store_rate_take(f->s, "upload:1", 30, 3600000, &r, &f->err));
        assert_true(r.allowed);
        assert_int_equal(r.remaining, 29 - i);
        assert_int_equal(r.limit, 30);
    }
    assert_true(r.reset_ms == fixture_now_ms + 3600000);
    for (int i = 0; i < 3; i++) {
        assert_fine(f, store_rate_take(f->s, "upload:1", 30, 3600000, &r, &f->err));
        assert_false(r.allowed);
        assert_int_equal(r.remaining, 0);
        assert_int_equal(r.retry_ms, 120000); /* one thirtieth of the hour */
    }
    assert_fine(f, store_rate_take(f->s, "upload:2", 30, 3600000, &r, &f->err));
    assert_true(r.allowed);
    fixture_now_ms += 119999;
    assert_fine(f, store_rate_take(f->s, "upload:1", 30, 3600000, &r, &f->err));
    assert_false(r.allowed);
    assert_int_equal(r.retry_ms, 1);
    fixture_now_ms += 1;
    assert_fine(f, store_rate_take(f->s, "upload:1", 30, 3600000, &r, &f->err));
    assert_true(r.allowed);
    fixture_now_ms += 3600000;
    assert_fine(f, store_rate_take(f->s, "upload:1", 30, 3600000, &r, &f->err));
    assert_int_equal(r.remaining, 29);
}

const struct CMUnitTest request_tests[] = {
    TEST(test_setups),
    TEST(test_replay),
    TEST(test_rate),
    {0},
};
