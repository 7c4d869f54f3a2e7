/* store_users.c - accounts and sessions. */
#include <ctype.h>
#include <string.h>

#include "store/secret.h"
#include "store/store_parts.h"

/* Names that pages of the site have, or that would deceive. */
static const char *const reserved_names[] = {"admin", "administrator", "api",    "me",     "new",
                                             "null",  "root",          "system", "tokgrid"};

bool store_name_check(const char *name, struct err *err)
{
    size_t n = strlen(name);

    if (n < STORE_NAME_MIN || n > STORE_NAME_MAX)
        return err_set(err, ERR_FORMAT, "a user name has %d to %d characters", STORE_NAME_MIN,
                       STORE_NAME_MAX);
    for (size_t i = 0; i < n; i++) {
        char c = name[i];
        bool fine = isascii(c) && (isalnum((unsigned char)c) || (i > 0 && (c == '-' || c == '_')));
        if (!fine)
            return err_set(err, ERR_FORMAT,
                           "a user name has letters a to z, digits, - and _, and begins with a "
                           "letter or digit");
    }
    for (size_t i = 0; i < ARRAY_LEN(reserved_names); i++)
        if (strcasecmp(name, reserved_names[i]) == 0)
            return err_set(err, ERR_EXISTS, "the user name '%s' is reserved", name);
    return true;
}

void read_user(struct db_rows *rows, struct arena *a, struct store_user *ret)
{
    ret->id = db_get_int(rows);
    ret->name = db_get_text(rows, a);
    ret->admin = db_get_int(rows);
    ret->disabled = db_get_int(rows);
    ret->has_password = db_get_int(rows);
    ret->created_ms = db_get_int(rows);
    ret->run_count = db_get_int(rows);
    ret->key_count = db_get_int(rows);
}

/* One row of a query that was begun; false and ERR_NOT_FOUND without. */
static bool one_user(struct db_rows *rows, const char *name, struct arena *a,
                     struct store_user *ret, struct err *err)
{
    struct store_user user = {0};
    bool found = db_next(rows);

    if (found)
        read_user(rows, a, &user);
    if (!db_end(rows, err))
        return false;
    if (!found)
        return store_no_such(err, "user", name);
    *ret = user;
    return true;
}

/* Whether this one becomes the first admin: only one ever gets the row's change. */
static bool claim_first_admin(struct store *s, bool *ret, struct err *err)
{
    int64_t changed = 0;

    if (!DB_CHANGE(s->db, &changed, err, "UPDATE tally SET n = 1 WHERE name = 'admins' AND n = 0"))
        return false;
    *ret = changed == 1;
    return true;
}

static bool insert_user(struct store *s, const char *name, const char *hash, bool admin_if_first,
                        struct arena *a, int64_t *ret_id, struct err *err)
{
    struct db_rows rows;
    bool admin = false;

    if (admin_if_first && hash && !claim_first_admin(s, &admin, err))
        return false;
    if (!DB_QUERY(s->db, &rows, err,
                  "INSERT INTO users (name, name_key, password, admin, created_ms) "
                  "VALUES (?, ?, ?, ?, ?) ON CONFLICT (name_key) DO NOTHING RETURNING id",
                  db_text(name), db_text(store_key_of(a, name)), db_text(hash), db_int(admin),
                  db_int(store_now_ms(s))))
        return false;
    int64_t id = db_next(&rows) ? db_get_int(&rows) : 0;
    if (!db_end(&rows, err))
        return false;
    if (!id)
        return err_set(err, ERR_EXISTS, "the user name '%s' is taken", name);
    *ret_id = id;
    return tally_add(s, "users", 1, err) &&
           store_audit_add(s, "user.create", name, admin ? "admin" : NULL, err);
}

bool store_user_create(struct store *s, const char *name, const char *password, bool admin_if_first,
                       struct arena *a, struct store_user *ret, struct err *err)
{
    char hash[SECRET_PASSWORD_MAX];
    int64_t id = 0;

    if (!store_name_check(name, err))
        return false;
    if (password && !secret_password_hash(password, s->options.cheap_passwords, hash, err))
        return false;
    if (!db_begin(s->db, err))
        return false;
    bool fine = insert_user(s, name, password ? hash : NULL, admin_if_first, a, &id, err);
    return db_finish(s->db, fine, err) && store_user_by_id(s, id, a, ret, err);
}

bool store_user_by_name(struct store *s, const char *name, struct arena *a, struct store_user *ret,
                        struct err *err)
{
    struct db_rows rows;

    return DB_QUERY(s->db, &rows, err, "SELECT " USER_COLUMNS " FROM users u WHERE u.name_key = ?",
                    db_text(store_key_of(a, name))) &&
           one_user(&rows, name, a, ret, err);
}

bool store_user_by_id(struct store *s, int64_t id, struct arena *a, struct store_user *ret,
                      struct err *err)
{
    struct db_rows rows;

    return DB_QUERY(s->db, &rows, err, "SELECT " USER_COLUMNS " FROM users u WHERE u.id = ?",
                    db_int(id)) &&
           one_user(&rows, "of that number", a, ret, err);
}

static bool denied(struct err *err)
{
    return err_set(err, ERR_DENIED, "the user name or the password is wrong");
}

bool store_user_check(struct store *s, const char *name, const char *password, struct arena *a,
                      struct store_user *ret, struct err *err)
{
    struct db_rows rows;
    char wasted[SECRET_PASSWORD_MAX];
    struct err ignored;

    if (strlen(password) > STORE_PASSWORD_MAX)
        return denied(err);
    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT id, password FROM users WHERE name_key = ? AND disabled = 0",
                  db_text(store_key_of(a, name))))
        return false;
    int64_t id = db_next(&rows) ? db_get_int(&rows) : 0;
    const char *hash = id ? db_get_text(&rows, a) : NULL;
    if (!db_end(&rows, err))
        return false;
    if (!hash) {
        /* as long as a wrong password takes */
        (void)!secret_password_hash(strlen(password) < STORE_PASSWORD_MIN ? "a password" : password,
                                    s->options.cheap_passwords, wasted, &ignored);
        return denied(err);
    }
    if (!secret_password_fits(hash, password))
        return denied(err);
    return store_user_by_id(s, id, a, ret, err);
}

/* Change one row of users, end what must end, and note it. */
static bool changed_user(struct store *s, int64_t user, int64_t changed, const char *action,
                         bool end_sessions, struct err *err)
{
    struct arena a = {0};
    struct store_user u = {0};

    if (changed == 0)
        return store_no_such(err, "user", "of that number");
    bool fine = (!end_sessions ||
                 DB_RUN(s->db, err, "DELETE FROM session WHERE user_id = ?", db_int(user))) &&
                store_user_by_id(s, user, &a, &u, err) &&
                store_audit_add(s, action, u.name, NULL, err);
    arena_release(&a);
    return fine;
}

bool store_user_set_password(struct store *s, int64_t user, const char *password, struct err *err)
{
    char hash[SECRET_PASSWORD_MAX];
    int64_t changed = 0;

    if (!secret_password_hash(password, s->options.cheap_passwords, hash, err) ||
        !db_begin(s->db, err))
        return false;
    bool fine = DB_CHANGE(s->db, &changed, err, "UPDATE users SET password = ? WHERE id = ?",
                          db_text(hash), db_int(user)) &&
                changed_user(s, user, changed, "user.password", true, err);
    return db_finish(s->db, fine, err);
}

/* Whether this user is a moderator who can sign in, and the only one. The lock comes first: two who
 * take each other's right away at the same moment must not both succeed. */
static bool keep_a_moderator(struct store *s, int64_t user, struct err *err)
{
    struct db_rows rows;
    bool is_one = false, others = false;

    if (!store_lock_visible(s, err) ||
        !DB_QUERY(s->db, &rows, err,
                  "SELECT id FROM users WHERE admin = 1 AND disabled = 0 AND password IS NOT NULL"))
        return false;
    while (db_next(&rows)) {
        if (db_get_int(&rows) == user)
            is_one = true;
        else
            others = true;
    }
    if (!db_end(&rows, err))
        return false;
    return !is_one || others ||
           err_set(err, ERR_DENIED,
                   "this is the last moderator: make another user a moderator first");
}

bool store_user_set_admin(struct store *s, int64_t user, bool admin, struct err *err)
{
    int64_t changed = 0;

    if (!db_begin(s->db, err))
        return false;
    bool fine = /* pages and the API tell who is a moderator */
        (admin ? store_lock_visible(s, err) : keep_a_moderator(s, user, err)) &&
        DB_CHANGE(s->db, &changed, err, "UPDATE users SET admin = ? WHERE id = ?", db_int(admin),
                  db_int(user)) &&
        changed_user(s, user, changed, admin ? "user.admin" : "user.not_admin", false, err) &&
        (!admin || DB_RUN(s->db, err, "UPDATE tally SET n = 1 WHERE name = 'admins'"));
    return db_finish(s->db, fine, err);
}

bool store_user_set_disabled(struct store *s, int64_t user, bool disabled, struct err *err)
{
    int64_t changed = 0;

    if (!db_begin(s->db, err))
        return false;
    bool fine =
        (!disabled || keep_a_moderator(s, user, err)) &&
        DB_CHANGE(s->db, &changed, err, "UPDATE users SET disabled = ? WHERE id = ?",
                  db_int(disabled), db_int(user)) &&
        changed_user(s, user, changed, disabled ? "user.disable" : "user.enable", disabled, err);
    return db_finish(s->db, fine, err);
}

bool store_users(struct store *s, const char *prefix, const struct store_page *page,
                 struct arena *a, struct store_users *ret, struct err *err)
{
    const char *first = store_key_of(a, prefix ? prefix : "");
    const char *last = arena_printf(a, "%s~", first); /* '~' sorts behind all that names hold */
    struct pager p;
    struct db_rows rows;
    struct store_users list = {0};

    if (!pager_init(&p, page, pager_hash(pager_hash(0, "users"), first), err) ||
        !DB_QUERY(s->db, &rows, err,
                  "SELECT " USER_COLUMNS " FROM users u WHERE u.name_key > "
                  "COALESCE((SELECT x.name_key FROM users x WHERE x.id = ?), '') "
                  "AND u.name_key >= ? AND u.name_key < ? ORDER BY u.name_key LIMIT ?",
                  db_int(p.id), db_text(first), db_text(last), pager_limit(&p)))
        return false;
    READ_ALL(&rows, a, &list, p.limit, read_user(&rows, a, &list.v[list.n]));
    if (db_next(&rows))
        pager_next(&p, 0, list.v[list.n - 1].id, list.next);
    if (!db_end(&rows, err))
        return false;
    *ret = list;
    return true;
}

/* ---- sessions ---- */

bool store_session_create(struct store *s, int64_t user, int64_t lifetime_ms,
                          char token[STORE_TOKEN_MAX], struct err *err)
{
    unsigned char hash[SECRET_HASH_BYTES];
    int64_t now = store_now_ms(s);

    secret_token(token);
    secret_hash(token, hash);
    return DB_RUN(s->db, err,
                  "INSERT INTO session (token_hash, user_id, created_ms, expires_ms) "
                  "VALUES (?, ?, ?, ?)",
                  db_blob(hash, sizeof hash), db_int(user), db_int(now), db_int(now + lifetime_ms));
}

bool store_session_find(struct store *s, const char *token, struct arena *a,
                        struct store_session *ret, struct err *err)
{
    unsigned char hash[SECRET_HASH_BYTES];
    struct db_rows rows;
    struct store_session session = {0};

    secret_hash(token, hash);
    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT t.id, t.created_ms, t.expires_ms, " USER_COLUMNS
                  " FROM session t JOIN users u ON u.id = t.user_id"
                  " WHERE t.token_hash = ? AND t.expires_ms > ? AND u.disabled = 0",
                  db_blob(hash, sizeof hash), db_int(store_now_ms(s))))
        return false;
    bool found = db_next(&rows);
    if (found) {
        session.id = db_get_int(&rows);
        session.created_ms = db_get_int(&rows);
        session.expires_ms = db_get_int(&rows);
        read_user(&rows, a, &session.user);
        secret_csrf(token, session.csrf);
    }
    if (!db_end(&rows, err))
        return false;
    if (!found)
        return err_set(err, ERR_DENIED, "the session has ended: sign in again");
    *ret = session;
    return true;
}

bool store_session_end(struct store *s, const char *token, struct err *err)
{
    unsigned char hash[SECRET_HASH_BYTES];

    secret_hash(token, hash);
    return DB_RUN(s->db, err, "DELETE FROM session WHERE token_hash = ?",
                  db_blob(hash, sizeof hash));
}
