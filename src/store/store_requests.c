/* store_requests.c - what several processes must agree on about requests: answers given already,
 * and how many more are allowed. */
#include <sodium.h>
#include <string.h>

#include "store/secret.h"
#include "store/store_parts.h"

/* ---- idempotent requests ---- */

/* The insert waits for another transaction that claims the same key, and then finds its row. */
static bool claim(struct store *s, int64_t user, const char *key, const unsigned char *hash,
                  bool *ret_mine, struct err *err)
{
    int64_t changed = 0, now = store_now_ms(s);

    if (!DB_RUN(s->db, err, "DELETE FROM replay WHERE user_id = ? AND key = ? AND created_ms < ?",
                db_int(user), db_text(key), db_int(now - STORE_REPLAY_LIFE_MS)) ||
        !DB_CHANGE(s->db, &changed, err,
                   "INSERT INTO replay (user_id, key, request_hash, created_ms) "
                   "VALUES (?, ?, ?, ?) ON CONFLICT (user_id, key) DO NOTHING",
                   db_int(user), db_text(key), db_blob(hash, SECRET_HASH_BYTES), db_int(now)))
        return false;
    *ret_mine = changed == 1;
    return true;
}

bool store_replay_claim(struct store *s, int64_t user, const char *key, const void *request,
                        size_t request_bytes, struct arena *a, struct store_replay *ret,
                        struct err *err)
{
    unsigned char hash[SECRET_HASH_BYTES];
    struct db_rows rows;
    struct store_replay replay = {.state = REPLAY_NEW};
    bool mine, same = false;
    size_t n;

    if (!store_text_check("the idempotency key", key, STORE_REPLAY_KEY_MAX, err))
        return false;
    crypto_generichash(hash, sizeof hash, request, request_bytes, NULL, 0);
    if (!claim(s, user, key, hash, &mine, err))
        return false;
    if (mine) {
        *ret = replay;
        return true;
    }
    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT request_hash, status, body FROM replay WHERE user_id = ? AND key = ?",
                  db_int(user), db_text(key)))
        return false;
    if (db_next(&rows)) {
        const void *found = db_get_blob(&rows, &n);
        same = n == sizeof hash && memcmp(found, hash, n) == 0;
        replay.status = (int)db_get_int(&rows);
        replay.body = db_get_text(&rows, a);
    }
    if (!db_end(&rows, err))
        return false;
    replay.state = same ? REPLAY_DONE : REPLAY_OTHER;
    *ret = replay;
    return true;
}

bool store_replay_save(struct store *s, int64_t user, const char *key, int status, const char *body,
                       struct err *err)
{
    return DB_RUN(s->db, err,
                  "UPDATE replay SET status = ?, body = ? WHERE user_id = ? AND key = ?",
                  db_int(status), db_text(body), db_int(user), db_text(key));
}

/* ---- rate limits ---- */

/* The generic cell rate algorithm: a bucket is known by the time at which it will be full again.
 * Taking one moves that time by the time one takes to come back; it may not pass the window. One
 * statement, so that processes cannot take the same one twice. */
bool store_rate_take(struct store *s, const char *key, int limit, int64_t window_ms,
                     struct store_rate *ret, struct err *err)
{
    int64_t now = store_now_ms(s) * 1000, window = window_ms * 1000, one = window / limit;
    struct db_rows rows;
    struct store_rate rate = {.limit = limit};
    int64_t full = 0;

    if (!DB_QUERY(s->db, &rows, err,
                  "INSERT INTO rate (key, full_us) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET "
                  "full_us = CASE WHEN rate.full_us > ? THEN rate.full_us ELSE ? END + ? "
                  "WHERE rate.full_us <= ? RETURNING full_us",
                  db_text(key), db_int(now + one), db_int(now), db_int(now), db_int(one),
                  db_int(now + window - one)))
        return false;
    rate.allowed = db_next(&rows);
    if (rate.allowed)
        full = db_get_int(&rows);
    if (!db_end(&rows, err))
        return false;
    if (!rate.allowed) {
        if (!DB_QUERY(s->db, &rows, err, "SELECT full_us FROM rate WHERE key = ?", db_text(key)))
            return false;
        full = db_next(&rows) ? db_get_int(&rows) : now;
        if (!db_end(&rows, err))
            return false;
        int64_t wait = full - (now + window - one);
        rate.retry_ms = wait > 0 ? (wait + 999) / 1000 : 1;
    }
    rate.remaining = full < now + window ? (int)((now + window - full) / one) : 0;
    rate.reset_ms = (full + 999) / 1000;
    *ret = rate;
    return true;
}
