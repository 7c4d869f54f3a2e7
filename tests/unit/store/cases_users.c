/* cases_users.c - accounts, sessions, keys, device login. */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/secret.h"
#include "store/store_parts.h"
#include "synthetic.h"

static void test_create(void **state)
{
    struct fixture *f = *state;
    struct store_user u, v;

    assert_fine(f, store_user_create(f->s, "Ada", "correct horse", true, &f->a, &u, &f->err));
    assert_string_equal(u.name, "Ada");
    assert_true(u.admin);
    assert_true(u.has_password);
    assert_true(u.created_ms == fixture_now_ms);
    assert_fails(f, ERR_EXISTS,
                 store_user_create(f->s, "aDA", "x3467890", false, &f->a, &v, &f->err));
    assert_fine(f, store_user_create(f->s, "bob", "x3467890", true, &f->a, &v, &f->err));
    assert_false(v.admin); /* only the first */
    assert_fine(f, store_user_by_name(f->s, "ADA", &f->a, &v, &f->err));
    assert_int_equal(v.id, u.id);
    assert_fails(f, ERR_NOT_FOUND, store_user_by_name(f->s, "eve", &f->a, &v, &f->err));
    assert_fails(f, ERR_NOT_FOUND, store_user_by_id(f->s, 99, &f->a, &v, &f->err));
    assert_consistent(f);
}

static void test_names(void **state)
{
    static const char *const bad[] = {"",
                                      "a",
                                      "-ab",
                                      "a b",
                                      "a/b",
                                      "\xc3\xa9t\xc3\xa9",
                                      "admin",
                                      "<b>",
                                      "_ab",
                                      "a.b",
                                      "ADMIN",
                                      "a\nb",
                                      "1234567890123456789012345678901234567890"};
    static const char *const good[] = {"ab", "A-b_9", "123456789012345678901234567890123456789"};
    struct fixture *f = *state;
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(store_name_check(bad[i], &err));
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_fine(f, store_name_check(good[i], &f->err));
}

static void test_password(void **state)
{
    struct fixture *f = *state;
    struct store_user u, v;
    char token[STORE_TOKEN_MAX];
    struct store_session session;

    assert_fine(f, store_user_create(f->s, "ada", "correct horse", false, &f->a, &u, &f->err));
    assert_fine(f, store_user_check(f->s, "ADA", "correct horse", &f->a, &v, &f->err));
    assert_int_equal(u.id, v.id);
    assert_fails(f, ERR_DENIED, store_user_check(f->s, "ada", "wrong horse", &f->a, &v, &f->err));
    assert_fails(f, ERR_DENIED, store_user_check(f->s, "eve", "correct horse", &f->a, &v, &f->err));
    assert_fails(f, ERR_DENIED, store_user_check(f->s, "eve", "", &f->a, &v, &f->err));
    int64_t nobody = fixture_user(f, "owner"); /* without a password */
    assert_fails(f, ERR_DENIED, store_user_check(f->s, "owner", "", &f->a, &v, &f->err));
    assert_fails(f, ERR_FORMAT, store_user_set_password(f->s, nobody, "short", &f->err));
    assert_fine(f, store_session_create(f->s, u.id, 1000, token, &f->err));
    assert_fine(f, store_user_set_password(f->s, u.id, "battery staple", &f->err));
    assert_fails(f, ERR_DENIED, store_session_find(f->s, token, &f->a, &session, &f->err));
    assert_fails(f, ERR_DENIED, store_user_check(f->s, "ada", "correct horse", &f->a, &v, &f->err));
    assert_fine(f, store_user_check(f->s, "ada", "battery staple", &f->a, &v, &f->err));
    assert_fine(f, store_user_set_disabled(f->s, u.id, true, &f->err));
    assert_fails(f, ERR_DENIED,
                 store_user_check(f->s, "ada", "battery staple", &f->a, &v, &f->err));
    assert_fails(f, ERR_NOT_FOUND, store_user_set_disabled(f->s, 99, true, &f->err));
}

/* Nothing that a thief of the database could sign in with. */
static void test_secrets_are_hashed(void **state)
{
    struct fixture *f = *state;
    struct store_user u;
    char token[STORE_TOKEN_MAX], key[STORE_KEY_TEXT_MAX], device[STORE_TOKEN_MAX];
    char code[STORE_USER_CODE_MAX];
    static const char *const columns[] = {
        "SELECT password FROM users", "SELECT token_hash FROM session",
        "SELECT key_hash FROM api_key", "SELECT device_hash FROM device_login"};

    assert_fine(f, store_user_create(f->s, "ada", "correct horse", false, &f->a, &u, &f->err));
    assert_fine(f, store_session_create(f->s, u.id, 1000, token, &f->err));
    assert_fine(f, store_key_create(f->s, u.id, "box", key, &f->err));
    assert_fine(f, store_device_start(f->s, "box", device, code, &f->err));
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        struct db_rows rows;
        size_t n;
        assert_fine(f, db_query(f->s->db, columns[i], NULL, 0, &rows, &f->err));
        assert_true(db_next(&rows));
        if (i == 0) {
            assert_true(strncmp(db_get_text(&rows, &f->a), "$argon2id$", 10) == 0);
        } else {
            db_get_blob(&rows, &n);
            assert_int_equal(n, SECRET_HASH_BYTES);
        }
        assert_fine(f, db_end(&rows, &f->err));
    }
}

static void test_sessions(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    char one[STORE_TOKEN_MAX], two[STORE_TOKEN_MAX];
    struct store_session s, t;

    assert_fine(f, store_session_create(f->s, ada, 60000, one, &f->err));
    assert_fine(f, store_session_create(f->s, ada, 60000, two, &f->err));
    assert_int_equal(strlen(one), 43);
    assert_string_not_equal(one, two);
    assert_fine(f, store_session_find(f->s, one, &f->a, &s, &f->err));
    assert_fine(f, store_session_find(f->s, two, &f->a, &t, &f->err));
    assert_int_equal(s.user.id, ada);
    assert_true(s.expires_ms == fixture_now_ms + 60000);
    assert_string_not_equal(s.csrf, t.csrf);
    assert_true(strlen(s.csrf) >= 32);
    assert_fails(f, ERR_DENIED, store_session_find(f->s, "", &f->a, &t, &f->err));
    assert_fails(f, ERR_DENIED, store_session_find(f->s, s.csrf, &f->a, &t, &f->err));
    assert_fine(f, store_session_end(f->s, one, &f->err));
    assert_fails(f, ERR_DENIED, store_session_find(f->s, one, &f->a, &t, &f->err));
    fixture_now_ms += 60000;
    assert_fails(f, ERR_DENIED, store_session_find(f->s, two, &f->a, &t, &f->err));
}

static void test_keys(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada"), bob = fixture_user(f, "bob");
    char key[STORE_KEY_TEXT_MAX], first[STORE_KEY_TEXT_MAX];
    struct store_keys keys;
    struct store_user u;

    for (int i = 0; i < STORE_KEYS_MAX; i++)
        assert_fine(f, store_key_create(f->s, ada, "box", i ? key : first, &f->err));
    assert_true(strncmp(first, "tgk_", 4) == 0);
    assert_int_equal(strlen(first), 44);
    assert_fails(f, ERR_LIMIT, store_key_create(f->s, ada, "one too many", key, &f->err));
    assert_fine(f, store_key_create(f->s, bob, "his", key, &f->err));
    assert_fine(f, store_keys(f->s, ada, &f->a, &keys, &f->err));
    assert_int_equal(keys.n, STORE_KEYS_MAX);
    assert_true(strncmp(keys.v[0].prefix, first, strlen(keys.v[0].prefix)) == 0);
    assert_true(strlen(keys.v[0].prefix) < 13);
    assert_int_equal(keys.v[0].used_ms, 0);
    assert_fine(f, store_key_find(f->s, first, &f->a, &u, &f->err));
    assert_int_equal(u.id, ada);
    assert_int_equal(u.key_count, STORE_KEYS_MAX);
    assert_fine(f, store_keys(f->s, ada, &f->a, &keys, &f->err));
    assert_true(keys.v[0].used_ms == fixture_now_ms);
    assert_fails(f, ERR_NOT_FOUND, store_key_delete(f->s, bob, keys.v[0].id, &f->err));
    assert_fine(f, store_key_delete(f->s, ada, keys.v[0].id, &f->err));
    assert_fails(f, ERR_DENIED, store_key_find(f->s, first, &f->a, &u, &f->err));
    assert_fails(f, ERR_DENIED, store_key_find(f->s, "tgk_", &f->a, &u, &f->err));
    assert_fine(f, store_key_create(f->s, ada, "again", key, &f->err));
    assert_fails(f, ERR_FORMAT, store_key_create(f->s, bob, "", key, &f->err));
    assert_fails(f, ERR_FORMAT, store_key_create(f->s, bob, "a\nb", key, &f->err));
    assert_fine(f, store_user_set_disabled(f->s, ada, true, &f->err));
    assert_fails(f, ERR_DENIED, store_key_find(f->s, key, &f->a, &u, &f->err));
    assert_consistent(f);
}

static void test_device_login(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    char device[STORE_TOKEN_MAX], code[STORE_USER_CODE_MAX], key[STORE_KEY_TEXT_MAX] = "";
    char typed[32];
    enum store_device_state got;
    struct store_device d;
    struct store_user u;

    assert_fine(f, store_device_start(f->s, "tokgrid on box", device, code, &f->err));
    assert_int_equal(strlen(code), 9);
    assert_fine(f, store_device_poll(f->s, device, &got, key, &f->err));
    assert_int_equal(got, STORE_DEVICE_PENDING);
    fixture_now_ms += 1000;
    assert_fine(f, store_device_poll(f->s, device, &got, key, &f->err));
    assert_int_equal(got, STORE_DEVICE_SLOW_DOWN);
    fixture_now_ms += STORE_DEVICE_POLL_MS;
    assert_fine(f, store_device_poll(f->s, device, &got, key, &f->err));
    assert_int_equal(got, STORE_DEVICE_PENDING);
    snprintf(typed, sizeof typed, " %c%c %s", code[0] | 0x20, code[1] | 0x20, code + 2);
    assert_fine(f, store_device_find(f->s, typed, &f->a, &d, &f->err));
    assert_string_equal(d.label, "tokgrid on box");
    assert_fails(f, ERR_NOT_FOUND, store_device_find(f->s, "AAAA-AAAA", &f->a, &d, &f->err));
    assert_fails(f, ERR_NOT_FOUND, store_device_find(f->s, "", &f->a, &d, &f->err));
    assert_fine(f, store_device_decide(f->s, typed, ada, true, &f->err));
    assert_fails(f, ERR_NOT_FOUND, store_device_decide(f->s, code, ada, false, &f->err));
    assert_fine(f, store_device_poll(f->s, device, &got, key, &f->err));
    assert_int_equal(got, STORE_DEVICE_APPROVED);
    assert_fine(f, store_key_find(f->s, key, &f->a, &u, &f->err));
    assert_int_equal(u.id, ada);
    assert_fine(f, store_device_poll(f->s, device, &got, key, &f->err));
    assert_int_equal(got, STORE_DEVICE_EXPIRED); /* once */
}

static void test_device_ends(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    char device[STORE_TOKEN_MAX], code[STORE_USER_CODE_MAX], key[STORE_KEY_TEXT_MAX];
    enum store_device_state got;
    struct store_keys keys;

    assert_fine(f, store_device_start(f->s, "box", device, code, &f->err));
    assert_fine(f, store_device_decide(f->s, code, ada, false, &f->err));
    assert_fine(f, store_device_poll(f->s, device, &got, key, &f->err));
    assert_int_equal(got, STORE_DEVICE_DENIED);
    assert_fine(f, store_device_start(f->s, "box", device, code, &f->err));
    fixture_now_ms += STORE_DEVICE_LIFE_MS;
    assert_fails(f, ERR_NOT_FOUND, store_device_decide(f->s, code, ada, true, &f->err));
    assert_fine(f, store_device_poll(f->s, device, &got, key, &f->err));
    assert_int_equal(got, STORE_DEVICE_EXPIRED);

    for (int i = 0; i < STORE_KEYS_MAX; i++)
        assert_fine(f, store_key_create(f->s, ada, "box", key, &f->err));
    assert_fine(f, store_device_start(f->s, "box", device, code, &f->err));
    assert_fine(f, store_device_decide(f->s, code, ada, true, &f->err));
    assert_fine(f, store_device_poll(f->s, device, &got, key, &f->err));
    assert_int_equal(got, STORE_DEVICE_KEY_LIMIT);
    assert_fine(f, store_keys(f->s, ada, &f->a, &keys, &f->err));
    assert_fine(f, store_key_delete(f->s, ada, keys.v[0].id, &f->err));
    assert_fine(f, store_device_poll(f->s, device, &got, key, &f->err));
    assert_int_equal(got, STORE_DEVICE_APPROVED);
}

static void test_list(void **state)
{
    struct fixture *f = *state;
    struct store_users users;
    struct store_page page = {.limit = 3};
    char last[64] = "", name[32];
    size_t n = 0;

    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "user%d", (i * 5) % 8);
        fixture_user(f, name);
    }
    do {
        assert_fine(f, store_users(f->s, NULL, &page, &f->a, &users, &f->err));
        for (size_t i = 0; i < users.n; i++, n++) {
            assert_true(strcmp(users.v[i].name, last) > 0);
            snprintf(last, sizeof last, "%s", users.v[i].name);
        }
        page.after = arena_strdup(&f->a, users.next);
    } while (*users.next);
    assert_int_equal(n, 8);
    page = (struct store_page){.limit = 3};
    fixture_user(f, "usher");
    assert_fine(f, store_users(f->s, "USE", &page, &f->a, &users, &f->err));
    assert_int_equal(users.n, 3);
    page.after = users.next;
    assert_fails(f, ERR_FORMAT, store_users(f->s, "us", &page, &f->a, &users, &f->err));
    assert_fine(f, store_users(f->s, "ush", NULL, &f->a, &users, &f->err));
    assert_int_equal(users.n, 1);
    assert_string_equal(users.v[0].name, "usher");
    assert_fine(f, store_users(f->s, "%", NULL, &f->a, &users, &f->err));
    assert_int_equal(users.n, 0);
}

/* Whoever looks after the store cannot be locked out of it: not by himself, not by another. */
static void test_last_moderator(void **state)
{
    struct fixture *f = *state;
    struct store_user ada, bob;

    assert_fine(f, store_user_create(f->s, "ada", "correct horse", true, &f->a, &ada, &f->err));
    assert_fine(f, store_user_create(f->s, "bob", "correct horse", true, &f->a, &bob, &f->err));
    assert_fine(f, store_user_set_admin(f->s, fixture_user(f, "eve"), true, &f->err));
    assert_fails(f, ERR_DENIED, store_user_set_admin(f->s, ada.id, false, &f->err));
    assert_fails(f, ERR_DENIED, store_user_set_disabled(f->s, ada.id, true, &f->err));
    assert_fine(f, store_user_set_admin(f->s, bob.id, true, &f->err));
    assert_fine(f, store_user_set_disabled(f->s, ada.id, true, &f->err));
    assert_fails(f, ERR_DENIED, store_user_set_admin(f->s, bob.id, false, &f->err));
    assert_fine(f, store_user_set_admin(f->s, ada.id, false, &f->err)); /* could not sign in */
    assert_fine(f, store_user_set_disabled(f->s, ada.id, false, &f->err));
    assert_fine(f, store_user_set_admin(f->s, ada.id, true, &f->err));
    assert_fine(f, store_user_set_admin(f->s, bob.id, false, &f->err));
    assert_consistent(f);
}

const struct CMUnitTest user_tests[] = {
    TEST(test_create),
    TEST(test_names),
    TEST(test_password),
    TEST(test_secrets_are_hashed),
    TEST(test_sessions),
    TEST(test_keys),
    TEST(test_device_login),
    TEST(test_device_ends),
    TEST(test_list),
    TEST(test_last_moderator),
    {0},
};
