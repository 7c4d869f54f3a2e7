/* store_moderation.c - reports, the moderators' queue, the audit log. */
#include <stdio.h>
#include <string.h>

#include "store/store_parts.h"

/* ---- reports ---- */

static bool find_listed(struct store *s, const char *uid, int64_t *ret, struct err *err)
{
    struct db_rows rows;

    if (!DB_QUERY(s->db, &rows, err, "SELECT id FROM run WHERE uid = ? AND listed = 1",
                  db_text(uid)))
        return false;
    int64_t id = db_next(&rows) ? db_get_int(&rows) : 0;
    if (!db_end(&rows, err))
        return false;
    *ret = id;
    return id || store_no_such(err, "run", uid);
}

static bool add_report(struct store *s, const char *uid, const char *reason, const char *text,
                       struct err *err)
{
    int64_t run, replaced = 0, now = store_now_ms(s);

    /* the run's row is what two reports on it wait for */
    if (!find_listed(s, uid, &run, err) ||
        !DB_RUN(s->db, err, "UPDATE run SET waiting = 1 WHERE id = ?", db_int(run)))
        return false;
    if (s->actor &&
        !DB_CHANGE(s->db, &replaced, err,
                   "UPDATE report SET reason = ?, text = ?, created_ms = ? "
                   "WHERE run_id = ? AND reporter_id = ? AND resolved_ms = 0",
                   db_text(reason), db_text(text), db_int(now), db_int(run), db_int(s->actor)))
        return false;
    if (replaced == 0 &&
        (!DB_RUN(s->db, err,
                 "INSERT INTO report (run_id, reporter_id, reason, text, created_ms) "
                 "VALUES (?, ?, ?, ?, ?)",
                 db_int(run), db_id(s->actor), db_text(reason), db_text(text), db_int(now)) ||
         !DB_RUN(s->db, err, "UPDATE run SET report_count = report_count + 1 WHERE id = ?",
                 db_int(run))))
        return false;
    return store_audit_add(s, "report.add", uid, reason, err);
}

bool store_report_add(struct store *s, const char *run_uid, const char *reason, const char *text,
                      struct err *err)
{
    if (!store_text_check("the reason", reason, STORE_LABEL_MAX, err))
        return false;
    if (strlen(text) > STORE_REPORT_TEXT_MAX)
        return err_set(err, ERR_LIMIT, "a report has at most %d bytes", STORE_REPORT_TEXT_MAX);
    return db_begin(s->db, err) && db_finish(s->db, add_report(s, run_uid, reason, text, err), err);
}

static void read_report(struct db_rows *rows, struct arena *a, struct store_report *ret)
{
    ret->id = db_get_int(rows);
    ret->run_uid = db_get_text(rows, a);
    ret->run_title = db_get_text(rows, a);
    ret->reporter = db_get_text(rows, a);
    ret->reason = db_get_text(rows, a);
    ret->text = db_get_text(rows, a);
    ret->created_ms = db_get_int(rows);
    ret->resolved_ms = db_get_int(rows);
    ret->resolved_by = db_get_text(rows, a);
    ret->resolution = db_get_text(rows, a);
}

#define REPORT_SELECT                                                                              \
    "SELECT p.id, r.uid, r.title, u.name, p.reason, p.text, p.created_ms, p.resolved_ms, v.name, " \
    "p.resolution FROM report p JOIN run r ON r.id = p.run_id LEFT JOIN users u ON u.id = "        \
    "p.reporter_id LEFT JOIN users v ON v.id = p.resolver_id"

bool store_reports(struct store *s, bool open, const struct store_page *page, struct arena *a,
                   struct store_reports *ret, struct err *err)
{
    struct pager p;
    struct db_rows rows;
    struct store_reports list = {0};

    if (!pager_init(&p, page, pager_hash(7, open ? "open" : "all"), err))
        return false;
    bool asked =
        open ? DB_QUERY(s->db, &rows, err,
                        REPORT_SELECT " WHERE p.resolved_ms = 0 AND p.id > ? "
                                      "ORDER BY p.id LIMIT ?",
                        db_int(p.id), pager_limit(&p))
             : DB_QUERY(s->db, &rows, err, REPORT_SELECT " WHERE p.id > ? ORDER BY p.id LIMIT ?",
                        db_int(p.id), pager_limit(&p));
    if (!asked)
        return false;
    READ_ALL(&rows, a, &list, p.limit, read_report(&rows, a, &list.v[list.n]));
    if (list.n > 0 && db_next(&rows))
        pager_next(&p, 0, list.v[list.n - 1].id, list.next);
    if (!db_end(&rows, err))
        return false;
    *ret = list;
    return true;
}

bool store_run_reports(struct store *s, int64_t run, struct arena *a, struct store_reports *ret,
                       struct err *err)
{
    struct db_rows rows;
    struct store_reports list = {0};

    if (!DB_QUERY(s->db, &rows, err,
                  REPORT_SELECT " WHERE p.run_id = ? AND p.resolved_ms = 0 ORDER BY p.id LIMIT ?",
                  db_int(run), db_int(STORE_PAGE_MAX)))
        return false;
    READ_ALL(&rows, a, &list, STORE_PAGE_MAX, read_report(&rows, a, &list.v[list.n]));
    if (!db_end(&rows, err))
        return false;
    *ret = list;
    return true;
}

static bool resolve_report(struct store *s, int64_t report, const char *resolution, struct err *err)
{
    int64_t changed = 0;
    char name[32];

    snprintf(name, sizeof name, "%lld", (long long)report);
    /* the run's row comes first, as wherever reports change: two never wait for each other */
    if (!DB_RUN(
            s->db, err,
            "UPDATE run SET waiting = waiting WHERE id = (SELECT run_id FROM report WHERE id = ?)",
            db_int(report)) ||
        !DB_CHANGE(s->db, &changed, err,
                   "UPDATE report SET resolved_ms = ?, resolver_id = ?, resolution = ? "
                   "WHERE id = ? AND resolved_ms = 0",
                   db_int(store_now_ms(s)), db_id(s->actor), db_text(resolution), db_int(report)))
        return false;
    if (changed == 0)
        return store_no_such(err, "open report", name);
    return DB_RUN(s->db, err,
                  "UPDATE run SET report_count = report_count - 1, waiting = CASE WHEN "
                  "report_count > 1 OR state = 2 THEN waiting ELSE 0 END "
                  "WHERE id = (SELECT run_id FROM report WHERE id = ?)",
                  db_int(report)) &&
           store_audit_add(s, "report.resolve", name, resolution, err);
}

_Static_assert(STORE_RUN_FLAGGED == 2, "as in the statement above");

bool store_report_resolve(struct store *s, int64_t report, const char *resolution, struct err *err)
{
    if (!store_text_check("the resolution", resolution, STORE_REPORT_TEXT_MAX, err))
        return false;
    return db_begin(s->db, err) &&
           db_finish(s->db, resolve_report(s, report, resolution, err), err);
}

/* ---- the queue ---- */

static void read_queue_row(struct store *s, struct db_rows *rows, struct arena *a,
                           struct store_queue_row *ret)
{
    ret->flag_count = db_get_int(rows);
    ret->report_count = db_get_int(rows);
    read_run(s, rows, a, &ret->run);
}

bool store_queue(struct store *s, const struct store_page *page, struct arena *a,
                 struct store_queue *ret, struct err *err)
{
    struct pager p;
    struct db_rows rows;
    struct store_queue list = {0};

    if (!pager_init(&p, page, pager_hash(8, "queue"), err) || !names_begin(s, err) ||
        !DB_QUERY(s->db, &rows, err,
                  "SELECT r.flag_count, r.report_count, " RUN_COLUMNS
                  " FROM (SELECT t.id FROM run t WHERE t.waiting = 1 AND t.id > ? ORDER BY t.id "
                  "LIMIT ?) i JOIN run r ON r.id = i.id ORDER BY r.id",
                  db_int(p.id), pager_limit(&p)))
        return false;
    READ_ALL(&rows, a, &list, p.limit, read_queue_row(s, &rows, a, &list.v[list.n]));
    if (list.n > 0 && db_next(&rows))
        pager_next(&p, 0, list.v[list.n - 1].run.id, list.next);
    if (!db_end(&rows, err))
        return false;
    *ret = list;
    return true;
}

bool store_queue_count(struct store *s, int64_t *ret, struct err *err)
{
    struct db_rows rows;

    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT COUNT(*) FROM (SELECT t.id FROM run t WHERE t.waiting = 1 AND t.id > 0 "
                  "ORDER BY t.id LIMIT ?) i",
                  db_int(STORE_WAITING_MAX)))
        return false;
    int64_t n = db_next(&rows) ? db_get_int(&rows) : 0;
    if (!db_end(&rows, err))
        return false;
    *ret = n;
    return true;
}

/* ---- the audit log ---- */

const char *const store_audit_actions[] = {
    "run.add",          "run.revise",    "run.state",      "run.review",     "run.verify",
    "run.not_verified", "run.delete",    "report.add",     "report.resolve", "user.create",
    "user.password",    "user.admin",    "user.not_admin", "user.disable",   "user.enable",
    "session.refuse",   "key.create",    "key.delete",     "device.approve", "device.deny",
    "setup.put",        "setup.default", "setup.delete",   "model.base",     NULL,
};

bool store_audit_add(struct store *s, const char *action, const char *target, const char *detail,
                     struct err *err)
{
    return DB_RUN(s->db, err,
                  "INSERT INTO audit (at_ms, user_id, address, action, target, detail) "
                  "VALUES (?, ?, ?, ?, ?, ?)",
                  db_int(store_now_ms(s)), db_id(s->actor), db_text(s->address), db_text(action),
                  db_text(target), db_text(detail));
}

static void read_audit(struct db_rows *rows, struct arena *a, struct store_audit_row *ret)
{
    ret->id = db_get_int(rows);
    ret->at_ms = db_get_int(rows);
    ret->actor = db_get_text(rows, a);
    ret->address = db_get_text(rows, a);
    ret->action = db_get_text(rows, a);
    ret->target = db_get_text(rows, a);
    ret->detail = db_get_text(rows, a);
}

#define AUDIT_SELECT                                                                               \
    "SELECT x.id, x.at_ms, u.name, x.address, x.action, x.target, x.detail FROM audit x "          \
    "LEFT JOIN users u ON u.id = x.user_id WHERE x.id < ?"

/* What was asked for, as conditions; false: there is no such user. */
static bool narrow(struct store *s, const struct store_audit_filter *f, struct arena *a,
                   struct db_pieces *p, bool *ret_any, struct err *err)
{
    struct store_user user;

    *ret_any = true;
    if (f->target)
        DB_ADD(p, " AND x.target = ?", db_text(f->target));
    if (f->action)
        DB_ADD(p, " AND x.action = ?", db_text(f->action));
    if (!f->user)
        return true;
    if (store_user_by_name(s, f->user, a, &user, err)) {
        DB_ADD(p, " AND x.user_id = ?", db_int(user.id));
        return true;
    }
    *ret_any = false;
    return err->code == ERR_NOT_FOUND;
}

static bool read_audits(struct db_rows *rows, const struct pager *p, struct arena *a,
                        struct store_audit *list, struct err *err)
{
    READ_ALL(rows, a, list, p->limit, read_audit(rows, a, &list->v[list->n]));
    if (list->n > 0 && db_next(rows))
        pager_next(p, 0, list->v[list->n - 1].id, list->next);
    return db_end(rows, err);
}

bool store_audit(struct store *s, const struct store_audit_filter *filter,
                 const struct store_page *page, struct arena *a, struct store_audit *ret,
                 struct err *err)
{
    static const struct store_audit_filter everything;
    const struct store_audit_filter *f = filter ? filter : &everything;
    struct pager p;
    struct db_rows rows;
    struct db_pieces pieces;
    struct store_audit list = {0};
    uint32_t hash = pager_hash(pager_hash(pager_hash(9, f->target), f->action), f->user);
    bool any;

    if (!pager_init(&p, page, hash, err))
        return false;
    db_pieces_init(&pieces);
    DB_ADD(&pieces, AUDIT_SELECT, db_int(p.begun ? p.id : INT64_MAX));
    bool fine = narrow(s, f, a, &pieces, &any, err);
    DB_ADD(&pieces, " ORDER BY x.id DESC LIMIT ?", pager_limit(&p));
    if (fine && any)
        fine = db_pieces_query(s->db, &pieces, &rows, err) && read_audits(&rows, &p, a, &list, err);
    db_pieces_release(&pieces);
    if (fine)
        *ret = list;
    return fine;
}
