/* store_upkeep.c - counts, what expires, and whether everything still agrees. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/num.h"
#include "store/migrate.h"
#include "store/run_draft.h"
#include "store/store_parts.h"

/* ---- counts ---- */

static bool count_groups(struct store *s, struct store_counts *ret, struct err *err)
{
    struct db_rows rows;

    /* "id > 0" turns SQLite to the index of open reports, away from walking over all */
    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT (SELECT COUNT(*) FROM base WHERE run_count > 0), "
                  "(SELECT COUNT(*) FROM model WHERE run_count > 0), "
                  "(SELECT COUNT(*) FROM organization WHERE run_count > 0), "
                  "(SELECT COUNT(*) FROM hardware WHERE run_count > 0), "
                  "(SELECT COUNT(*) FROM report WHERE resolved_ms = 0 AND id > 0)"))
        return false;
    if (db_next(&rows)) {
        ret->bases = db_get_int(&rows);
        ret->models = db_get_int(&rows);
        ret->organizations = db_get_int(&rows);
        ret->hardware = db_get_int(&rows);
        ret->open_reports = db_get_int(&rows);
    }
    return db_end(&rows, err);
}

bool store_counts(struct store *s, struct store_counts *ret, struct err *err)
{
    struct db_rows rows;
    struct arena a = {0};
    struct store_counts counts = {0};
    int64_t public = 0;
    const struct {
        const char *name;
        int64_t *n;
    } sums[] = {{"cells", &counts.cells},  {"users", &counts.users},
                {"draft", &counts.drafts}, {"flagged", &counts.flagged},
                {"public", &public},       {"withdrawn", &counts.withdrawn}};

    if (!DB_QUERY(s->db, &rows, err, "SELECT name, n FROM tally"))
        return false;
    while (db_next(&rows)) {
        const char *name = db_get_text(&rows, &a);
        int64_t n = db_get_int(&rows);
        for (size_t i = 0; i < ARRAY_LEN(sums); i++)
            if (strcmp(name, sums[i].name) == 0)
                *sums[i].n = n;
    }
    arena_release(&a);
    if (!db_end(&rows, err) || !count_groups(s, &counts, err))
        return false;
    counts.runs = public + counts.flagged;
    *ret = counts;
    return true;
}

/* ---- what expires ---- */

enum { EXPIRE_AT_ONCE = 500 };

bool store_expire(struct store *s, struct err *err)
{
    int64_t now = store_now_ms(s);
    const struct {
        const char *sql;
        int64_t before;
    } steps[] = {
        {"DELETE FROM session WHERE id IN "
         "(SELECT id FROM session WHERE expires_ms <= ? LIMIT ?)",
         now},
        {"DELETE FROM device_login WHERE id IN "
         "(SELECT id FROM device_login WHERE expires_ms <= ? LIMIT ?)",
         now},
        {"DELETE FROM replay WHERE (user_id, key) IN "
         "(SELECT user_id, key FROM replay WHERE created_ms <= ? LIMIT ?)",
         now - STORE_REPLAY_LIFE_MS},
        {"DELETE FROM rate WHERE key IN (SELECT key FROM rate WHERE full_us <= ? LIMIT ?)",
         now * 1000},
    };

    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        const struct db_value values[] = {db_int(steps[i].before), db_int(EXPIRE_AT_ONCE)};
        int64_t changed;
        do {
            if (!db_run(s->db, steps[i].sql, values, 2, &changed, err))
                return false;
        } while (changed == EXPIRE_AT_ONCE);
    }
    return true;
}

/* ---- whether everything agrees ---- */

/* Best of the listed runs of a group, simulated ones left out. */
#define BEST_OF(table, what)                                                                       \
    "SELECT COUNT(*) FROM " table " g WHERE g." what " <> (SELECT COALESCE(MAX(r." what            \
    "), 0) FROM run r WHERE r." table "_id = g.id AND r.listed = 1 AND r.kind <> 'simulated')"

/* What has listed runs is found, with their number as its weight; nothing else is. */
#define FOUND_AS(table, key, kind)                                                                 \
    "SELECT COUNT(*) FROM " table " g WHERE g.run_count <> COALESCE((SELECT e.weight FROM "        \
    "search_entry e WHERE e.kind = " kind " AND e.key = g." key "), 0)"

/* Each counts rows that should not be. */
static const struct {
    const char *what, *sql;
} agreements[] = {
    {"sums of runs by state",
     "SELECT COUNT(*) FROM tally t WHERE t.name IN ('draft', 'public', 'flagged', 'withdrawn') AND "
     "t.n <> (SELECT COUNT(*) FROM run r WHERE r.state = CASE t.name WHEN 'draft' THEN 0 WHEN "
     "'public' THEN 1 WHEN 'flagged' THEN 2 ELSE 3 END)"},
    {"sums of cells and users",
     "SELECT COUNT(*) FROM tally t WHERE (t.name = 'users' AND t.n <> (SELECT COUNT(*) FROM users))"
     " OR (t.name = 'cells' AND t.n <> "
     "(SELECT COALESCE(SUM(r.cell_count), 0) FROM run r WHERE r.listed = 1))"},
    {"models' run counts",
     "SELECT COUNT(*) FROM model m WHERE m.run_count <> (SELECT COUNT(*) FROM "
     "run r WHERE r.model_id = m.id AND r.listed = 1)"},
    {"groups' run counts", "SELECT COUNT(*) FROM base g WHERE g.run_count <> (SELECT COUNT(*) FROM "
                           "run r WHERE r.base_id = g.id AND r.listed = 1)"},
    {"organizations' run counts",
     "SELECT COUNT(*) FROM organization o WHERE o.run_count <> (SELECT COUNT(*) FROM run r WHERE "
     "r.organization_id = o.id AND r.listed = 1)"},
    {"hardware's run counts",
     "SELECT COUNT(*) FROM hardware h WHERE h.run_count <> (SELECT COUNT(*) FROM run r WHERE "
     "r.hardware_id = h.id AND r.listed = 1)"},
    {"users' run counts", "SELECT COUNT(*) FROM users u WHERE u.run_count <> (SELECT COUNT(*) FROM "
                          "run r WHERE r.owner_id = u.id AND r.listed = 1)"},
    {"users' key counts", "SELECT COUNT(*) FROM users u WHERE u.key_count <> (SELECT COUNT(*) FROM "
                          "api_key k WHERE k.user_id = u.id)"},
    {"models' best figures",
     "SELECT COUNT(*) FROM model m WHERE m.single <> (SELECT COALESCE(MAX(r.single), 0) FROM run r "
     "WHERE r.model_id = m.id AND r.listed = 1 AND r.kind <> 'simulated')"},
    {"board rows of runs that are not listed",
     "SELECT COUNT(*) FROM board b JOIN run r ON r.id = b.run_id WHERE r.listed = 0"},
    {"board rows of another model than their run's",
     "SELECT COUNT(*) FROM board b JOIN run r ON r.id = b.run_id WHERE r.model_id <> b.model_id OR "
     "r.base_id <> b.base_id OR r.hardware_id <> b.hardware_id"},
    {"listed runs with ranked cells and no board row",
     "SELECT COUNT(*) FROM run r WHERE r.listed = 1 AND r.total > 0 AND EXISTS (SELECT 1 FROM cell "
     "c WHERE c.run_id = r.id AND c.ranked = 1 AND c.concurrency > 0) AND NOT EXISTS "
     "(SELECT 1 FROM board b WHERE b.run_id = r.id)"},
    {"engines' run counts",
     "SELECT COUNT(*) FROM engine e WHERE e.run_count <> (SELECT COUNT(*) FROM run r WHERE "
     "r.engine_id = e.id AND r.listed = 1)"},
    {"quantizations' run counts",
     "SELECT COUNT(*) FROM quantization q WHERE q.run_count <> (SELECT COUNT(*) FROM run r WHERE "
     "r.quantization_id = q.id AND r.listed = 1)"},
    {"models' best total", BEST_OF("model", "total")},
    {"groups' best figures", BEST_OF("base", "single")},
    {"groups' best total", BEST_OF("base", "total")},
    {"organizations' best figures", BEST_OF("organization", "single")},
    {"organizations' best total", BEST_OF("organization", "total")},
    {"hardware's best figures", BEST_OF("hardware", "single")},
    {"hardware's best total", BEST_OF("hardware", "total")},
    {"runs' flag counts", "SELECT COUNT(*) FROM run r WHERE r.flag_count <> (SELECT COUNT(*) FROM "
                          "flag f WHERE f.run_id = r.id)"},
    {"runs' report counts",
     "SELECT COUNT(*) FROM run r WHERE r.report_count <> (SELECT COUNT(*) FROM report p WHERE "
     "p.run_id = r.id AND p.resolved_ms = 0)"},
    {"best rows of no board row",
     "SELECT COUNT(*) FROM best t WHERE NOT EXISTS (SELECT 1 FROM board b WHERE b.point_id = "
     "t.point_id AND b.run_id = t.run_id AND b.base_id = t.base_id AND b.hardware_id = "
     "t.hardware_id AND b.score = t.score)"},
    {"models on hardware without their best row",
     "SELECT COUNT(*) FROM board b JOIN point p ON p.id = b.point_id WHERE p.context_tokens = -1 "
     "AND p.concurrency = 0 AND NOT EXISTS (SELECT 1 FROM best t WHERE t.point_id = b.point_id AND "
     "t.base_id = b.base_id AND t.hardware_id = b.hardware_id)"},
    {"search entries of models", FOUND_AS("model", "name", "0")},
    {"search entries of organizations", FOUND_AS("organization", "name", "1")},
    {"search entries of hardware", FOUND_AS("hardware", "slug", "2")},
    {"search entries of users", FOUND_AS("users", "name", "3")},
    {"best rows that another run beats",
     "SELECT COUNT(*) FROM best t WHERE EXISTS (SELECT 1 FROM board b WHERE b.point_id = "
     "t.point_id "
     "AND b.base_id = t.base_id AND b.hardware_id = t.hardware_id AND b.score > t.score)"},
    {"search entries of listed runs",
     "SELECT COUNT(*) FROM run r WHERE r.listed <> (SELECT COUNT(*) FROM search_entry e WHERE "
     "e.kind = 4 AND e.key = r.uid)"},
    {"runs without their current document",
     "SELECT COUNT(*) FROM run r WHERE NOT EXISTS (SELECT 1 FROM document d WHERE d.run_id = r.id "
     "AND d.revision = r.revision AND d.digest = r.document_digest)"},
};

_Static_assert(STORE_FOUND_MODEL == 0 && STORE_FOUND_ORGANIZATION == 1 &&
                   STORE_FOUND_HARDWARE == 2 && STORE_FOUND_USER == 3 && STORE_FOUND_RUN == 4 &&
                   STORE_RUN_PUBLIC == 1 && STORE_RUN_WITHDRAWN == 3,
               "as in the statements above");

struct findings {
    struct buf *out;
    int64_t n;
};

static void found(struct findings *f, const char *text)
{
    buf_addf(f->out, "%s\n", text);
    f->n++;
}

static bool check_agreements(struct store *s, struct findings *f, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(agreements); i++) {
        struct db_rows rows;
        if (!db_query(s->db, agreements[i].sql, NULL, 0, &rows, err))
            return false;
        int64_t n = db_next(&rows) ? db_get_int(&rows) : 0;
        if (!db_end(&rows, err))
            return false;
        if (n > 0) {
            buf_addf(f->out, "%s: %lld wrong\n", agreements[i].what, (long long)n);
            f->n++;
        }
    }
    return true;
}

static bool check_file(struct store *s, struct findings *f, struct err *err)
{
    struct db_rows rows;
    struct arena a = {0};

    if (db_kind(s->db) != DB_SQLITE)
        return true;
    if (!DB_QUERY(s->db, &rows, err, "PRAGMA integrity_check(20)"))
        return false;
    while (db_next(&rows)) {
        const char *line = db_get_text(&rows, &a);
        if (strcmp(line, "ok") != 0)
            found(f, line);
    }
    if (!db_end(&rows, err) || !DB_QUERY(s->db, &rows, err, "PRAGMA foreign_key_check"))
        return false;
    while (db_next(&rows)) {
        buf_addf(f->out, "%s: a row refers to one that is not there\n", db_get_text(&rows, &a));
        f->n++;
    }
    arena_release(&a);
    return db_end(&rows, err);
}

/* Null when a stored document is what it should be, else what is wrong. */
static const char *fault_of(const char *digest, size_t bytes, const void *body, size_t body_bytes)
{
    unsigned char hash[DIGEST_BYTES];
    char text[DIGEST_TEXT_MAX];

    if (bytes > RESULT_MAX_BYTES)
        return "is too large";
    void *document = mem_alloc(bytes + 1);
    size_t n = ZSTD_decompress(document, bytes, body, body_bytes);
    bool readable = !ZSTD_isError(n) && n == bytes;
    if (readable)
        crypto_generichash(hash, sizeof hash, document, n, NULL, 0);
    free(document);
    if (!readable)
        return "cannot be read";
    sodium_bin2hex(text, sizeof text, hash, sizeof hash);
    return strcmp(text, digest) == 0 ? NULL : "is not what its digest says";
}

enum { DOCUMENTS_AT_ONCE = 50 };

/* The documents after this one; returns how many there were, -1 on failure. */
static int check_documents_after(struct store *s, int64_t *run, int64_t *revision,
                                 struct findings *f, struct err *err)
{
    struct db_rows rows;
    struct arena a = {0};
    int n = 0;

    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT run_id, revision, digest, bytes, body FROM document "
                  "WHERE (run_id, revision) > (?, ?) ORDER BY run_id, revision LIMIT ?",
                  db_int(*run), db_int(*revision), db_int(DOCUMENTS_AT_ONCE)))
        return -1;
    for (; db_next(&rows); n++) {
        size_t body_bytes;
        *run = db_get_int(&rows);
        *revision = db_get_int(&rows);
        const char *digest = db_get_text(&rows, &a);
        size_t bytes = (size_t)db_get_int(&rows);
        const void *body = db_get_blob(&rows, &body_bytes);
        const char *fault = fault_of(digest, bytes, body, body_bytes);
        if (fault) {
            buf_addf(f->out, "run %lld, revision %lld: its document %s\n", (long long)*run,
                     (long long)*revision, fault);
            f->n++;
        }
    }
    arena_release(&a);
    return db_end(&rows, err) ? n : -1;
}

static bool check_documents(struct store *s, struct findings *f, struct err *err)
{
    int64_t run = 0, revision = 0;
    int n;

    do {
        n = check_documents_after(s, &run, &revision, f, err);
    } while (n == DOCUMENTS_AT_ONCE);
    return n >= 0;
}

/* The next run after this one that is listed; 0: none. */
static bool next_listed(struct store *s, int64_t *run, struct err *err)
{
    struct db_rows rows;

    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT id FROM run WHERE listed = 1 AND id > ? ORDER BY id LIMIT 1",
                  db_int(*run)))
        return false;
    *run = db_next(&rows) ? db_get_int(&rows) : 0;
    return db_end(&rows, err);
}

static bool check_ranks(struct store *s, struct findings *f, struct err *err)
{
    bool right;

    for (int64_t run = 0;;) {
        if (!next_listed(s, &run, err))
            return false;
        if (!run)
            return true;
        if (!ranks_check(s, run, &right, err))
            return false;
        if (!right) {
            buf_addf(f->out, "run %lld: its board rows are not what its cells say\n",
                     (long long)run);
            f->n++;
        }
    }
}

bool store_check(struct store *s, struct buf *out, int64_t *ret_findings, struct err *err)
{
    struct findings f = {.out = out};
    struct err history = {0};

    if (!migrate_check(s->db, &history))
        found(&f, history.text);
    if (!check_file(s, &f, err) || !check_documents(s, &f, err) || !check_agreements(s, &f, err) ||
        !check_ranks(s, &f, err))
        return false;
    *ret_findings = f.n;
    return true;
}
