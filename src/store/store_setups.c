/* store_setups.c - a user's saved setups. */
#include <stdio.h>
#include <string.h>

#include "store/store_parts.h"

static void read_setup(struct db_rows *rows, struct arena *a, struct store_setup *ret)
{
    ret->id = db_get_int(rows);
    ret->name = db_get_text(rows, a);
    ret->body = db_get_text(rows, a);
    ret->is_default = db_get_int(rows);
    ret->updated_ms = db_get_int(rows);
}

bool store_setups(struct store *s, int64_t user, struct arena *a, struct store_setups *ret,
                  struct err *err)
{
    struct db_rows rows;
    struct store_setups list = {0};

    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT id, name, body, is_default, updated_ms FROM setup "
                  "WHERE user_id = ? ORDER BY name",
                  db_int(user)))
        return false;
    READ_ALL(&rows, a, &list, STORE_SETUPS_MAX, read_setup(&rows, a, &list.v[list.n]));
    if (!db_end(&rows, err))
        return false;
    *ret = list;
    return true;
}

static bool put_setup(struct store *s, int64_t user, const char *name, const char *body,
                      bool is_default, int64_t *ret_id, struct err *err)
{
    struct db_rows rows;
    int64_t others = 0, id = 0;

    /* the user's row is what two of their requests wait for */
    if (!DB_RUN(s->db, err, "UPDATE users SET key_count = key_count WHERE id = ?", db_int(user)) ||
        !DB_QUERY(s->db, &rows, err, "SELECT COUNT(*) FROM setup WHERE user_id = ? AND name <> ?",
                  db_int(user), db_text(name)))
        return false;
    if (db_next(&rows))
        others = db_get_int(&rows);
    if (!db_end(&rows, err))
        return false;
    if (others >= STORE_SETUPS_MAX)
        return err_set(err, ERR_LIMIT, "this user has %d setups already: delete one first",
                       STORE_SETUPS_MAX);
    if (is_default &&
        !DB_RUN(s->db, err, "UPDATE setup SET is_default = 0 WHERE user_id = ? AND is_default = 1",
                db_int(user)))
        return false;
    if (!DB_QUERY(s->db, &rows, err,
                  "INSERT INTO setup (user_id, name, body, is_default, updated_ms) "
                  "VALUES (?, ?, ?, ?, ?) ON CONFLICT (user_id, name) DO UPDATE SET "
                  "body = excluded.body, is_default = excluded.is_default, "
                  "updated_ms = excluded.updated_ms RETURNING id",
                  db_int(user), db_text(name), db_text(body), db_int(is_default),
                  db_int(store_now_ms(s))))
        return false;
    if (db_next(&rows))
        id = db_get_int(&rows);
    if (!db_end(&rows, err))
        return false;
    *ret_id = id;
    return store_audit_add(s, "setup.put", name, NULL, err);
}

bool store_setup_put(struct store *s, int64_t user, const char *name, const char *body,
                     bool is_default, int64_t *ret_id, struct err *err)
{
    if (!store_text_check("the setup's name", name, STORE_LABEL_MAX, err))
        return false;
    if (strlen(body) > STORE_SETUP_BYTES_MAX)
        return err_set(err, ERR_LIMIT, "a setup has at most %d bytes", STORE_SETUP_BYTES_MAX);
    return db_begin(s->db, err) &&
           db_finish(s->db, put_setup(s, user, name, body, is_default, ret_id, err), err);
}

static bool set_default(struct store *s, int64_t user, int64_t setup, struct err *err)
{
    int64_t changed = 0;
    char name[32];

    snprintf(name, sizeof name, "%lld", (long long)setup);
    if (!DB_RUN(s->db, err,
                "UPDATE setup SET is_default = 0 WHERE user_id = ? AND is_default = 1 AND id <> ?",
                db_int(user), db_int(setup)) ||
        !DB_CHANGE(s->db, &changed, err,
                   "UPDATE setup SET is_default = 1 WHERE id = ? AND user_id = ?", db_int(setup),
                   db_int(user)))
        return false;
    if (changed == 0)
        return store_no_such(err, "setup", name);
    return store_audit_add(s, "setup.default", name, NULL, err);
}

bool store_setup_set_default(struct store *s, int64_t user, int64_t setup, struct err *err)
{
    return db_begin(s->db, err) && db_finish(s->db, set_default(s, user, setup, err), err);
}

bool store_setup_delete(struct store *s, int64_t user, int64_t setup, struct err *err)
{
    int64_t changed = 0;
    char name[32];

    snprintf(name, sizeof name, "%lld", (long long)setup);
    if (!db_begin(s->db, err))
        return false;
    bool fine = DB_CHANGE(s->db, &changed, err, "DELETE FROM setup WHERE id = ? AND user_id = ?",
                          db_int(setup), db_int(user));
    if (fine && changed == 0)
        fine = store_no_such(err, "setup", name);
    fine = fine && store_audit_add(s, "setup.delete", name, NULL, err);
    return db_finish(s->db, fine, err);
}
