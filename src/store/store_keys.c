/* store_keys.c - API keys, and the login of programs without a browser that ends in one. */
#include <stdio.h>
#include <string.h>

#include "store/secret.h"
#include "store/store_parts.h"

enum {
    USED_EVERY_MS = 60 * 1000, /* how fine the time of last use is */
    POLL_EARLY_MS = 500,       /* networks make intervals a little shorter, too */
};

bool add_key(struct store *s, int64_t user, const char *label, char key[STORE_KEY_TEXT_MAX],
             bool *ret_full, struct err *err)
{
    unsigned char hash[SECRET_HASH_BYTES];
    char prefix[SECRET_PREFIX_MAX];
    int64_t changed = 0;

    _Static_assert(STORE_KEYS_MAX == 10, "as in the statement below");
    if (!DB_CHANGE(s->db, &changed, err,
                   "UPDATE users SET key_count = key_count + 1 WHERE id = ? AND key_count < 10 "
                   "AND disabled = 0",
                   db_int(user)))
        return false;
    *ret_full = changed == 0;
    if (*ret_full)
        return true;
    secret_api_key(key);
    secret_hash(key, hash);
    snprintf(prefix, sizeof prefix, "%s", key);
    return DB_RUN(s->db, err,
                  "INSERT INTO api_key (user_id, label, prefix, key_hash, created_ms) "
                  "VALUES (?, ?, ?, ?, ?)",
                  db_int(user), db_text(label), db_text(prefix), db_blob(hash, sizeof hash),
                  db_int(store_now_ms(s))) &&
           store_audit_add(s, "key.create", prefix, label, err);
}

bool store_key_create(struct store *s, int64_t user, const char *label,
                      char key[STORE_KEY_TEXT_MAX], struct err *err)
{
    bool full = false;

    if (!store_text_check("the key's label", label, STORE_LABEL_MAX, err) || !db_begin(s->db, err))
        return false;
    bool fine = add_key(s, user, label, key, &full, err);
    if (full)
        fine = err_set(err, ERR_LIMIT, "this user has %d keys already: delete one first",
                       STORE_KEYS_MAX);
    return db_finish(s->db, fine, err);
}

bool store_key_find(struct store *s, const char *key, struct arena *a, struct store_user *ret,
                    struct err *err)
{
    unsigned char hash[SECRET_HASH_BYTES];
    struct db_rows rows;
    struct store_user user = {0};
    int64_t id = 0, used = 0, now = store_now_ms(s);

    secret_hash(key, hash);
    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT k.id, k.used_ms, " USER_COLUMNS
                  " FROM api_key k JOIN users u ON u.id = k.user_id"
                  " WHERE k.key_hash = ? AND u.disabled = 0",
                  db_blob(hash, sizeof hash)))
        return false;
    if (db_next(&rows)) {
        id = db_get_int(&rows);
        used = db_get_int(&rows);
        read_user(&rows, a, &user);
    }
    if (!db_end(&rows, err))
        return false;
    if (!id)
        return err_set(err, ERR_DENIED, "there is no such API key");
    if (now - used >= USED_EVERY_MS &&
        !DB_RUN(s->db, err, "UPDATE api_key SET used_ms = ? WHERE id = ?", db_int(now), db_int(id)))
        return false;
    *ret = user;
    return true;
}

static void read_key(struct db_rows *rows, struct arena *a, struct store_key *ret)
{
    ret->id = db_get_int(rows);
    ret->label = db_get_text(rows, a);
    ret->prefix = db_get_text(rows, a);
    ret->created_ms = db_get_int(rows);
    ret->used_ms = db_get_int(rows);
}

bool store_keys(struct store *s, int64_t user, struct arena *a, struct store_keys *ret,
                struct err *err)
{
    struct db_rows rows;
    struct store_keys list = {0};

    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT id, label, prefix, created_ms, used_ms FROM api_key "
                  "WHERE user_id = ? ORDER BY id",
                  db_int(user)))
        return false;
    READ_ALL(&rows, a, &list, STORE_KEYS_MAX, read_key(&rows, a, &list.v[list.n]));
    if (!db_end(&rows, err))
        return false;
    *ret = list;
    return true;
}

static bool delete_key(struct store *s, int64_t user, int64_t key, struct err *err)
{
    int64_t changed = 0;
    char name[32];

    snprintf(name, sizeof name, "%lld", (long long)key);
    if (!DB_CHANGE(s->db, &changed, err, "DELETE FROM api_key WHERE id = ? AND user_id = ?",
                   db_int(key), db_int(user)))
        return false;
    if (changed == 0)
        return store_no_such(err, "key", name);
    return DB_RUN(s->db, err, "UPDATE users SET key_count = key_count - 1 WHERE id = ?",
                  db_int(user)) &&
           store_audit_add(s, "key.delete", name, NULL, err);
}

bool store_key_delete(struct store *s, int64_t user, int64_t key, struct err *err)
{
    return db_begin(s->db, err) && db_finish(s->db, delete_key(s, user, key, err), err);
}

/* ---- device login ---- */

bool store_device_start(struct store *s, const char *label, char device_code[STORE_TOKEN_MAX],
                        char user_code[STORE_USER_CODE_MAX], struct err *err)
{
    unsigned char hash[SECRET_HASH_BYTES];
    int64_t now = store_now_ms(s);

    if (!store_text_check("the program's name", label, STORE_LABEL_MAX, err))
        return false;
    secret_token(device_code);
    secret_hash(device_code, hash);
    secret_user_code(user_code);
    return DB_RUN(s->db, err,
                  "INSERT INTO device_login (device_hash, user_code, label, created_ms, "
                  "expires_ms) VALUES (?, ?, ?, ?, ?)",
                  db_blob(hash, sizeof hash), db_text(user_code), db_text(label), db_int(now),
                  db_int(now + STORE_DEVICE_LIFE_MS));
}

static bool no_such_code(struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "the code is unknown, used or has expired");
}

bool store_device_find(struct store *s, const char *user_code, struct arena *a,
                       struct store_device *ret, struct err *err)
{
    char code[STORE_USER_CODE_MAX];
    struct db_rows rows;
    struct store_device device = {0};

    if (!secret_read_user_code(user_code, code))
        return no_such_code(err);
    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT label, created_ms, expires_ms FROM device_login "
                  "WHERE user_code = ? AND expires_ms > ? AND decision = 0",
                  db_text(code), db_int(store_now_ms(s))))
        return false;
    if (db_next(&rows)) {
        device.label = db_get_text(&rows, a);
        device.created_ms = db_get_int(&rows);
        device.expires_ms = db_get_int(&rows);
    }
    if (!db_end(&rows, err))
        return false;
    if (!device.label)
        return no_such_code(err);
    *ret = device;
    return true;
}

enum { DECISION_NONE, DECISION_APPROVED, DECISION_DENIED };

bool store_device_decide(struct store *s, const char *user_code, int64_t user, bool approve,
                         struct err *err)
{
    char code[STORE_USER_CODE_MAX];
    int64_t changed = 0;

    if (!secret_read_user_code(user_code, code))
        return no_such_code(err);
    if (!db_begin(s->db, err))
        return false;
    bool fine = DB_CHANGE(s->db, &changed, err,
                          "UPDATE device_login SET decision = ?, user_id = ? "
                          "WHERE user_code = ? AND expires_ms > ? AND decision = 0",
                          db_int(approve ? DECISION_APPROVED : DECISION_DENIED), db_int(user),
                          db_text(code), db_int(store_now_ms(s)));
    if (fine && changed == 0)
        fine = no_such_code(err);
    fine = fine && store_audit_add(s, approve ? "device.approve" : "device.deny", code, NULL, err);
    return db_finish(s->db, fine, err);
}

struct login {
    int64_t id, polled_ms, decision, user;
    const char *label;
};

static bool find_login(struct store *s, const char *device_code, struct arena *a, struct login *ret,
                       struct err *err)
{
    unsigned char hash[SECRET_HASH_BYTES];
    struct db_rows rows;

    secret_hash(device_code, hash);
    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT id, polled_ms, decision, user_id, label FROM device_login "
                  "WHERE device_hash = ? AND expires_ms > ?",
                  db_blob(hash, sizeof hash), db_int(store_now_ms(s))))
        return false;
    *ret = (struct login){0};
    if (db_next(&rows)) {
        ret->id = db_get_int(&rows);
        ret->polled_ms = db_get_int(&rows);
        ret->decision = db_get_int(&rows);
        ret->user = db_get_int(&rows);
        ret->label = db_get_text(&rows, a);
    }
    return db_end(&rows, err);
}

/* The one who deletes the row gets the key. */
static bool redeem(struct store *s, const struct login *login, enum store_device_state *ret,
                   char key[STORE_KEY_TEXT_MAX], struct err *err)
{
    int64_t changed = 0;
    bool full = false;

    *ret = STORE_DEVICE_EXPIRED;
    if (!DB_CHANGE(s->db, &changed, err, "DELETE FROM device_login WHERE id = ?",
                   db_int(login->id)))
        return false;
    if (changed == 0)
        return true;
    int64_t actor = s->actor;
    s->actor = login->user; /* who agreed */
    bool added = add_key(s, login->user, login->label, key, &full, err);
    s->actor = actor;
    if (!added)
        return false;
    *ret = full ? STORE_DEVICE_KEY_LIMIT : STORE_DEVICE_APPROVED;
    return true;
}

static bool poll_login(struct store *s, const struct login *login, enum store_device_state *ret,
                       char key[STORE_KEY_TEXT_MAX], struct err *err)
{
    int64_t now = store_now_ms(s);

    if (!login->id) {
        *ret = STORE_DEVICE_EXPIRED;
        return true;
    }
    if (login->decision == DECISION_APPROVED)
        return redeem(s, login, ret, key, err);
    if (login->decision == DECISION_DENIED) {
        *ret = STORE_DEVICE_DENIED;
        return DB_RUN(s->db, err, "DELETE FROM device_login WHERE id = ?", db_int(login->id));
    }
    *ret = now - login->polled_ms < STORE_DEVICE_POLL_MS - POLL_EARLY_MS ? STORE_DEVICE_SLOW_DOWN
                                                                         : STORE_DEVICE_PENDING;
    return DB_RUN(s->db, err, "UPDATE device_login SET polled_ms = ? WHERE id = ?", db_int(now),
                  db_int(login->id));
}

bool store_device_poll(struct store *s, const char *device_code, enum store_device_state *ret,
                       char key[STORE_KEY_TEXT_MAX], struct err *err)
{
    struct arena a = {0};
    struct login login;
    enum store_device_state state = STORE_DEVICE_EXPIRED;
    bool fine = db_begin(s->db, err);

    if (fine) {
        fine =
            find_login(s, device_code, &a, &login, err) && poll_login(s, &login, &state, key, err);
        if (fine && state == STORE_DEVICE_KEY_LIMIT)
            db_rollback(s->db); /* the codes stay good: a key may be deleted meanwhile */
        else
            fine = db_finish(s->db, fine, err);
    }
    arena_release(&a);
    if (fine)
        *ret = state;
    return fine;
}
