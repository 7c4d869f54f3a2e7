/* store_publish.c - writing runs: added, revised, deleted, moved from state to state. */
#include <string.h>

#include "store/run_draft.h"
#include "store/store_parts.h"

enum { NOTE_MAX_BYTES = 1000, DETAIL_MAX_BYTES = NOTE_MAX_BYTES + 32 };

static bool count_state(struct store *s, enum store_run_state state, int64_t n, struct err *err)
{
    return tally_add(s, store_run_state_name(state), n, err);
}

static bool same_document(struct store *s, const struct draft *d, int64_t but, struct arena *a,
                          const char **ret_uid, struct err *err)
{
    struct db_rows rows;

    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT uid FROM run WHERE owner_id = ? AND document_id = ? AND id <> ? "
                  "UNION ALL "
                  "SELECT uid FROM run WHERE owner_id = ? AND document_digest = ? AND id <> ? "
                  "LIMIT 1",
                  db_int(d->in->owner), db_text(d->document_id), db_int(but), db_int(d->in->owner),
                  db_text(d->digest), db_int(but)))
        return false;
    *ret_uid = db_next(&rows) ? db_get_text(&rows, a) : NULL;
    return db_end(&rows, err);
}

static bool is_double(const char *uid, struct err *err)
{
    return err_set(err, ERR_EXISTS, "this run is here already, as %s", uid);
}

static enum store_run_state flagged_state(enum store_run_state state, int64_t flags)
{
    return store_run_is_listed(state) ? (flags > 0 ? STORE_RUN_FLAGGED : STORE_RUN_PUBLIC) : state;
}

static bool add_run(struct store *s, struct draft *d, struct arena *a, char *uid, char *ret_uid,
                    struct err *err)
{
    enum store_run_state state = flagged_state(d->in->state, (int64_t)d->in->flag_count);
    const char *other;
    int64_t id;

    if (!store_lock_visible(s, err) || !same_document(s, d, 0, a, &other, err))
        return false;
    if (other) {
        if (ret_uid)
            memcpy(ret_uid, other, UUID_TEXT_MAX);
        return is_double(other, err);
    }
    uuid_v7(uid);
    return draft_resolve(s, d, a, err) && draft_insert_run(s, d, state, uid, &id, err) &&
           draft_insert_parts(s, d, id, 1, NULL, err) && count_state(s, state, 1, err) &&
           (!store_run_is_listed(state) || ranks_add(s, id, err)) &&
           store_audit_add(s, "run.add", uid, store_run_state_name(state), err);
}

/* result_check bounds the matrix, not the prefill rows. */
static bool within_bounds(const struct store_run_new *run, struct err *err)
{
    if (run->document_bytes > RESULT_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "a document has at most %d bytes", RESULT_MAX_BYTES);
    if (run->result->prefill_count > PLAN_MAX_CONTEXTS)
        return err_set(err, ERR_LIMIT, "prefill: a run has at most %d rows", PLAN_MAX_CONTEXTS);
    return true;
}

bool store_run_add(struct store *s, const struct store_run_new *run, char ret_uid[UUID_TEXT_MAX],
                   struct err *err)
{
    struct arena a = {0};
    struct draft d = {.in = run};
    char uid[UUID_TEXT_MAX];

    if (!within_bounds(run, err))
        return false;
    draft_describe(&d, &a);
    bool fine = db_begin(s->db, err);
    fine = fine && db_finish(s->db, add_run(s, &d, &a, uid, ret_uid, err), err);
    arena_release(&a);
    if (fine && ret_uid)
        memcpy(ret_uid, uid, sizeof uid);
    return fine;
}

/* What the functions below must know of a run; locked against the others that write. */
struct held {
    int64_t id, owner, flags, reports;
    enum store_run_state state;
    int revision;
};

static bool hold_run(struct store *s, const char *uid, struct held *ret, struct err *err)
{
    struct db_rows rows;

    if (!store_lock_visible(s, err) ||
        !DB_QUERY(s->db, &rows, err,
                  "SELECT id, owner_id, state, revision, flag_count, report_count FROM run "
                  "WHERE uid = ?",
                  db_text(uid)))
        return false;
    *ret = (struct held){0};
    if (db_next(&rows)) {
        ret->id = db_get_int(&rows);
        ret->owner = db_get_int(&rows);
        ret->state = (enum store_run_state)db_get_int(&rows);
        ret->revision = (int)db_get_int(&rows);
        ret->flags = db_get_int(&rows);
        ret->reports = db_get_int(&rows);
    }
    if (!db_end(&rows, err))
        return false;
    return ret->id || store_no_such(err, "run", uid);
}

/* A moderator's word stays, whatever the document says now. */
static bool count_kept_flags(struct store *s, int64_t run, int64_t *ret, struct err *err)
{
    struct db_rows rows;

    if (!DB_RUN(s->db, err, "DELETE FROM flag WHERE run_id = ? AND code <> ?", db_int(run),
                db_text(STORE_FLAG_MODERATOR)) ||
        !DB_QUERY(s->db, &rows, err, "SELECT COUNT(*) FROM flag WHERE run_id = ?", db_int(run)))
        return false;
    *ret = db_next(&rows) ? db_get_int(&rows) : 0;
    return db_end(&rows, err);
}

static bool revise_run(struct store *s, const char *uid, struct draft *d, const char *note,
                       struct arena *a, struct err *err)
{
    struct held h;
    const char *other;
    int64_t kept;

    if (!hold_run(s, uid, &h, err) || !count_kept_flags(s, h.id, &kept, err))
        return false;
    enum store_run_state state = flagged_state(h.state, (int64_t)d->in->flag_count + kept);
    if (!same_document(s, d, h.id, a, &other, err))
        return false;
    if (other)
        return is_double(other, err);
    return (!store_run_is_listed(h.state) || ranks_remove(s, h.id, err)) &&
           draft_resolve(s, d, a, err) &&
           DB_RUN(s->db, err, "DELETE FROM cell WHERE run_id = ?", db_int(h.id)) &&
           draft_update_run(s, d, h.id, state, h.revision + 1, err) &&
           DB_RUN(s->db, err, "UPDATE run SET flag_count = flag_count + ? WHERE id = ?",
                  db_int(kept), db_int(h.id)) &&
           draft_insert_parts(s, d, h.id, h.revision + 1, note, err) &&
           count_state(s, h.state, -1, err) && count_state(s, state, 1, err) &&
           (!store_run_is_listed(state) || ranks_add(s, h.id, err)) &&
           store_audit_add(s, "run.revise", uid, note, err);
}

bool store_run_revise(struct store *s, const char *uid, const struct store_run_new *run,
                      const char *note, struct err *err)
{
    struct arena a = {0};
    struct draft d = {.in = run};

    if (!within_bounds(run, err))
        return false;
    if (note && !store_text_check("the note", note, NOTE_MAX_BYTES, err))
        return false;
    draft_describe(&d, &a);
    bool fine = db_begin(s->db, err);
    fine = fine && db_finish(s->db, revise_run(s, uid, &d, note, &a, err), err);
    arena_release(&a);
    return fine;
}

static bool delete_run(struct store *s, const char *uid, struct err *err)
{
    struct held h;

    return hold_run(s, uid, &h, err) &&
           (!store_run_is_listed(h.state) || ranks_remove(s, h.id, err)) &&
           DB_RUN(s->db, err, "DELETE FROM run WHERE id = ?", db_int(h.id)) &&
           count_state(s, h.state, -1, err) &&
           store_audit_add(s, "run.delete", uid, store_run_state_name(h.state), err);
}

bool store_run_delete(struct store *s, const char *uid, struct err *err)
{
    return db_begin(s->db, err) && db_finish(s->db, delete_run(s, uid, err), err);
}

/* Leaving the boards comes before the change, entering them after it. */
static bool move_run(struct store *s, const struct held *h, enum store_run_state state,
                     struct err *err)
{
    if (state == h->state)
        return true;
    bool was = store_run_is_listed(h->state), is = store_run_is_listed(state);
    return (!was || is || ranks_remove(s, h->id, err)) &&
           DB_RUN(s->db, err,
                  "UPDATE run SET state = ?, listed = ?, updated_ms = ?, "
                  "waiting = CASE WHEN ? = 1 THEN 1 ELSE waiting END WHERE id = ?",
                  db_int(state), db_int(is), db_int(store_now_ms(s)),
                  db_int(state == STORE_RUN_FLAGGED), db_int(h->id)) &&
           count_state(s, h->state, -1, err) && count_state(s, state, 1, err) &&
           (was || !is || ranks_add(s, h->id, err));
}

static bool set_state(struct store *s, const char *uid, enum store_run_state state,
                      const char *reason, struct err *err)
{
    struct held h;
    struct buf detail;

    if (!hold_run(s, uid, &h, err))
        return false;
    if (state == STORE_RUN_PUBLIC && h.flags > 0 && h.state != STORE_RUN_DRAFT)
        return err_set(err, ERR_DENIED, "this run is flagged: a moderator has to look at it");
    if (state == STORE_RUN_PUBLIC)
        state = flagged_state(state, h.flags);
    buf_init(&detail, DETAIL_MAX_BYTES);
    buf_addf(&detail, "%s%s%s", store_run_state_name(state), reason ? ": " : "",
             reason ? reason : "");
    bool fine = move_run(s, &h, state, err) && store_audit_add(s, "run.state", uid, detail.p, err);
    buf_release(&detail);
    return fine;
}

bool store_run_set_state(struct store *s, const char *uid, enum store_run_state state,
                         const char *reason, struct err *err)
{
    if (reason && !store_text_check("the reason", reason, NOTE_MAX_BYTES, err))
        return false;
    return db_begin(s->db, err) && db_finish(s->db, set_state(s, uid, state, reason, err), err);
}

static bool clear_flags(struct store *s, int64_t run, struct err *err)
{
    return DB_RUN(s->db, err, "DELETE FROM flag WHERE run_id = ?", db_int(run)) &&
           DB_RUN(s->db, err, "UPDATE cell SET flagged = 0 WHERE run_id = ? AND flagged = 1",
                  db_int(run)) &&
           DB_RUN(s->db, err, "UPDATE run SET flag_count = 0 WHERE id = ?", db_int(run));
}

static bool add_flag(struct store *s, int64_t run, const char *text, struct err *err)
{
    return DB_RUN(s->db, err,
                  "INSERT INTO flag (run_id, code, text, context_tokens, concurrency) "
                  "VALUES (?, ?, ?, -1, 0)",
                  db_int(run), db_text(STORE_FLAG_MODERATOR), db_text(text)) &&
           DB_RUN(s->db, err, "UPDATE run SET flag_count = flag_count + 1 WHERE id = ?",
                  db_int(run));
}

static bool settle_reports(struct store *s, int64_t run, const char *reason, struct err *err)
{
    return DB_RUN(s->db, err,
                  "UPDATE report SET resolved_ms = ?, resolver_id = ?, resolution = ? "
                  "WHERE run_id = ? AND resolved_ms = 0",
                  db_int(store_now_ms(s)), db_id(s->actor), db_text(reason), db_int(run)) &&
           DB_RUN(s->db, err, "UPDATE run SET waiting = 0, report_count = 0 WHERE id = ?",
                  db_int(run));
}

static bool review(struct store *s, const char *uid, enum store_run_state state, const char *reason,
                   struct err *err)
{
    struct held h;
    struct buf detail;

    if (!hold_run(s, uid, &h, err))
        return false;
    if (h.state == STORE_RUN_DRAFT)
        return err_set(err, ERR_DENIED, "this run is a draft: only its owner can publish it");
    bool accepted = state == STORE_RUN_PUBLIC;
    if (!(accepted ? clear_flags(s, h.id, err) : add_flag(s, h.id, reason, err)))
        return false;
    if (accepted && h.state == STORE_RUN_WITHDRAWN)
        state = STORE_RUN_WITHDRAWN;
    buf_init(&detail, DETAIL_MAX_BYTES);
    buf_addf(&detail, "%s%s%s", accepted ? "accepted" : store_run_state_name(state),
             reason ? ": " : "", reason ? reason : "");
    bool fine = move_run(s, &h, state, err) && settle_reports(s, h.id, reason, err) &&
                store_audit_add(s, "run.review", uid, detail.p, err);
    buf_release(&detail);
    return fine;
}

bool store_run_reviewed(struct store *s, const char *uid, enum store_run_state state,
                        const char *reason, struct err *err)
{
    if (state == STORE_RUN_DRAFT)
        return err_set(err, ERR_FORMAT, "a moderator makes no drafts");
    if (!reason && state != STORE_RUN_PUBLIC)
        return err_set(err, ERR_FORMAT, "the reason is missing: its owner will read it");
    if (reason && !store_text_check("the reason", reason, NOTE_MAX_BYTES, err))
        return false;
    return db_begin(s->db, err) && db_finish(s->db, review(s, uid, state, reason, err), err);
}

static bool set_verified(struct store *s, const char *uid, bool verified, struct err *err)
{
    struct held h;

    return hold_run(s, uid, &h, err) &&
           DB_RUN(s->db, err, "UPDATE run SET verified = ? WHERE id = ?", db_int(verified),
                  db_int(h.id)) &&
           DB_RUN(s->db, err, "UPDATE board SET verified = ? WHERE run_id = ?", db_int(verified),
                  db_int(h.id)) &&
           store_audit_add(s, verified ? "run.verify" : "run.not_verified", uid, NULL, err);
}

bool store_run_set_verified(struct store *s, const char *uid, bool verified, struct err *err)
{
    return db_begin(s->db, err) && db_finish(s->db, set_verified(s, uid, verified, err), err);
}

const char *const store_decisions[] = {"accept", "flag", "withdraw", "verify", "unverify", NULL};

bool store_run_decide(struct store *s, const char *uid, const char *decision, const char *reason,
                      struct err *err)
{
    static const enum store_run_state states[] = {STORE_RUN_PUBLIC, STORE_RUN_FLAGGED,
                                                  STORE_RUN_WITHDRAWN};
    size_t i = 0;

    while (store_decisions[i] && strcmp(store_decisions[i], decision) != 0)
        i++;
    if (!store_decisions[i])
        return err_set(err, ERR_FORMAT, "accept, flag, withdraw, verify or unverify is expected");
    if (i < ARRAY_LEN(states))
        return store_run_reviewed(s, uid, states[i], reason, err);
    return store_run_set_verified(s, uid, i == ARRAY_LEN(states), err);
}
