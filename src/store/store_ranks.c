/* store_ranks.c - what follows from a run being listed: its rows on boards, the counters and best
 * figures of what it is grouped by, its search entries. Written when a run enters or leaves, so
 * that pages read a few rows however many runs there are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/store_parts.h"

/* ---- boards ---- */

enum { ANY_CONTEXT = -1, ANY_CONCURRENCY = 0, ROW_VALUES = 6 };

/* A run's best cell at one point. */
struct entry {
    enum store_metric metric;
    int64_t context_tokens; /* of the point */
    int concurrency;
    double score;
    int64_t cell_context;
    int cell_concurrency;
};

/* Entries, found by their point: open addressing. */
struct entries {
    struct entry *v; /* score NAN: free */
    size_t n, room;  /* room is a power of two */
};

static void entries_init(struct entries *e, size_t room)
{
    *e = (struct entries){.v = mem_array(room, sizeof *e->v), .room = room};
    for (size_t i = 0; i < room; i++)
        e->v[i].score = (double)NAN;
}

static size_t place_of(const struct entries *e, const struct entry *x)
{
    uint64_t h =
        ((uint64_t)x->context_tokens * 31 + (uint64_t)x->concurrency) * 31 + (uint64_t)x->metric;
    size_t i = (size_t)(h * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (e->room - 1);

    while (!isnan(e->v[i].score) &&
           (e->v[i].metric != x->metric || e->v[i].context_tokens != x->context_tokens ||
            e->v[i].concurrency != x->concurrency))
        i = (i + 1) & (e->room - 1);
    return i;
}

static void offer(struct entries *e, const struct entry *x)
{
    if ((e->n + 1) * 2 > e->room) {
        struct entries larger;
        entries_init(&larger, e->room * 2);
        for (size_t i = 0; i < e->room; i++)
            if (!isnan(e->v[i].score))
                larger.v[place_of(&larger, &e->v[i])] = e->v[i];
        larger.n = e->n;
        free(e->v);
        *e = larger;
    }
    struct entry *at = &e->v[place_of(e, x)];
    if (isnan(at->score))
        e->n++;
    else if (at->score >= x->score)
        return;
    *at = *x;
}

/* At its own point, and wherever its context, its concurrency or both are left open. */
static void offer_cell(struct entries *e, enum store_metric metric, double value,
                       const struct store_cell *c)
{
    bool levels = store_metric_has_concurrency(metric);
    struct entry x = {.metric = metric,
                      .score = store_metric_less_is_better(metric) ? -value : value,
                      .cell_context = c->context_tokens,
                      .cell_concurrency = c->concurrency};

    if (!isfinite(value) || value <= 0)
        return;
    for (int any_context = 0; any_context < 2; any_context++) {
        x.context_tokens = any_context ? ANY_CONTEXT : c->context_tokens;
        x.concurrency = ANY_CONCURRENCY;
        offer(e, &x);
        if (levels) {
            x.concurrency = c->concurrency;
            offer(e, &x);
        }
    }
}

static void offer_metrics(struct entries *e, const struct store_cell *c)
{
    if (c->concurrency == 0) {
        offer_cell(e, STORE_PREFILL, c->total_tok_s, c);
        offer_cell(e, STORE_TTFT, c->ttft_ms, c);
        return;
    }
    if (c->concurrency == 1)
        offer_cell(e, STORE_SINGLE, c->total_tok_s, c);
    offer_cell(e, STORE_TOTAL, c->total_tok_s, c);
    offer_cell(e, STORE_PER_JOULE, c->tok_per_joule, c);
}

static bool collect(struct store *s, int64_t run, struct entries *e, struct err *err)
{
    struct db_rows rows;
    struct store_cell c;

    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT " CELL_COLUMNS " FROM cell c WHERE c.run_id = ? AND c.ranked = 1",
                  db_int(run)))
        return false;
    while (db_next(&rows)) {
        read_cell(&rows, &c);
        offer_metrics(e, &c);
    }
    return db_end(&rows, err);
}

/* The points of these entries, for those that are new. */
static bool make_points(struct store *s, const struct entry *v, size_t n, bool simulated,
                        struct err *err)
{
    struct db_pieces p;

    db_pieces_init(&p);
    DB_ADD(&p, "INSERT INTO point (simulated, metric, context_tokens, concurrency) VALUES ");
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            DB_ADD(&p, ", ");
        DB_ADD(&p, "(?, ?, ?, ?)", db_int(simulated), db_int(v[i].metric),
               db_int(v[i].context_tokens), db_int(v[i].concurrency));
    }
    DB_ADD(&p, " ON CONFLICT (simulated, metric, context_tokens, concurrency) DO NOTHING");
    bool fine = db_pieces_run(s->db, &p, err);
    db_pieces_release(&p);
    return fine;
}

static bool make_rows(struct store *s, int64_t run, const struct entry *v, size_t n, bool simulated,
                      struct err *err)
{
    struct db_pieces p;

    db_pieces_init(&p);
    DB_ADD(&p, "INSERT INTO board (point_id, run_id, score, context_tokens, concurrency, base_id, "
               "model_id, organization_id, hardware_id, card, class, engine_id, quantization_id, "
               "kind, verified) SELECT p.id, r.id, v.column4, v.column5, v.column6, r.base_id, "
               "r.model_id, r.organization_id, r.hardware_id, r.card, r.class, r.engine_id, "
               "r.quantization_id, r.kind, r.verified FROM (VALUES ");
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            DB_ADD(&p, ", ");
        DB_ADD(&p,
               "(CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT), "
               "CAST(? AS DOUBLE PRECISION), CAST(? AS BIGINT), CAST(? AS BIGINT))",
               db_int(v[i].metric), db_int(v[i].context_tokens), db_int(v[i].concurrency),
               db_real(v[i].score), db_int(v[i].cell_context), db_int(v[i].cell_concurrency));
    }
    DB_ADD(&p,
           ") v JOIN point p ON p.simulated = ? AND p.metric = v.column1 AND "
           "p.context_tokens = v.column2 AND p.concurrency = v.column3 JOIN run r ON r.id = ?",
           db_int(simulated), db_int(run));
    bool fine = db_pieces_run(s->db, &p, err);
    db_pieces_release(&p);
    return fine;
}

enum { ROWS_AT_ONCE = (DB_PIECE_VALUES - 2) / ROW_VALUES };

static bool add_rows(struct store *s, int64_t run, bool simulated, struct err *err)
{
    struct entries e;
    bool fine;

    entries_init(&e, 128);
    fine = collect(s, run, &e, err);
    size_t n = 0;
    for (size_t i = 0; i < e.room; i++)
        if (!isnan(e.v[i].score))
            e.v[n++] = e.v[i];
    for (size_t i = 0; fine && i < n; i += ROWS_AT_ONCE) {
        size_t some = n - i < ROWS_AT_ONCE ? n - i : ROWS_AT_ONCE;
        fine = make_points(s, e.v + i, some, simulated, err) &&
               make_rows(s, run, e.v + i, some, simulated, err);
    }
    free(e.v);
    return fine;
}

/* ---- the best of each model on each hardware ---- */

static bool add_best(struct store *s, int64_t run, struct err *err)
{
    return DB_RUN(s->db, err,
                  "INSERT INTO best (base_id, hardware_id, point_id, score, run_id) "
                  "SELECT b.base_id, b.hardware_id, b.point_id, b.score, b.run_id "
                  "FROM board b JOIN point p ON p.id = b.point_id "
                  "WHERE b.run_id = ? AND p.context_tokens = -1 AND p.concurrency = 0 "
                  "ON CONFLICT (point_id, base_id, hardware_id) DO UPDATE "
                  "SET score = excluded.score, run_id = excluded.run_id "
                  "WHERE excluded.score > best.score",
                  db_int(run));
}

struct pair {
    int64_t point, base, hardware;
};

/* Where this run was the best, the next one takes its place. */
static bool give_up_best(struct store *s, int64_t run, struct err *err)
{
    struct pair pairs[2 * STORE_METRICS];
    struct db_rows rows;
    size_t n = 0;

    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT point_id, base_id, hardware_id FROM best WHERE run_id = ?", db_int(run)))
        return false;
    for (; n < ARRAY_LEN(pairs) && db_next(&rows); n++) {
        pairs[n].point = db_get_int(&rows);
        pairs[n].base = db_get_int(&rows);
        pairs[n].hardware = db_get_int(&rows);
    }
    if (!db_end(&rows, err) ||
        !DB_RUN(s->db, err, "DELETE FROM best WHERE run_id = ?", db_int(run)))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!DB_RUN(s->db, err,
                    "INSERT INTO best (base_id, hardware_id, point_id, score, run_id) "
                    "SELECT base_id, hardware_id, point_id, score, run_id FROM board "
                    "WHERE point_id = ? AND base_id = ? AND hardware_id = ? "
                    "ORDER BY score DESC LIMIT 1",
                    db_int(pairs[i].point), db_int(pairs[i].base), db_int(pairs[i].hardware)))
            return false;
    return true;
}

/* ---- counters ---- */

/* What the rest needs to know of the run. */
struct facts {
    int64_t id, model, base, organization, hardware, engine, quantization, owner, created_ms;
    int64_t cells;
    double single, total; /* 0 when simulated: groups show measured speed */
    bool simulated;
    const char *uid, *title, *model_name, *organization_name, *slug, *hardware_title, *owner_name;
    const char *engine_name, *engine_version, *quantization_name;
};

static bool read_facts(struct store *s, int64_t run, struct arena *a, struct facts *f,
                       struct err *err)
{
    struct db_rows rows;

    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT r.model_id, r.base_id, r.organization_id, r.hardware_id, r.engine_id, "
                  "r.quantization_id, r.owner_id, r.created_ms, r.cell_count, r.single, r.total, "
                  "CASE WHEN r.kind = 'simulated' THEN 1 ELSE 0 END, r.uid, r.title, m.name, "
                  "o.name, h.slug, h.title, u.name, e.name, r.engine_version, q.name "
                  "FROM run r JOIN users u ON u.id = r.owner_id JOIN model m ON m.id = r.model_id "
                  "LEFT JOIN organization o ON o.id = r.organization_id "
                  "JOIN hardware h ON h.id = r.hardware_id "
                  "LEFT JOIN engine e ON e.id = r.engine_id "
                  "LEFT JOIN quantization q ON q.id = r.quantization_id WHERE r.id = ?",
                  db_int(run)))
        return false;
    *f = (struct facts){.id = run};
    if (db_next(&rows)) {
        int64_t *const numbers[] = {&f->model,    &f->base,       &f->organization,
                                    &f->hardware, &f->engine,     &f->quantization,
                                    &f->owner,    &f->created_ms, &f->cells};
        for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
            *numbers[i] = db_get_int(&rows);
        f->single = db_get_real(&rows);
        f->total = db_get_real(&rows);
        f->simulated = db_get_int(&rows);
        const char **const texts[] = {&f->uid,
                                      &f->title,
                                      &f->model_name,
                                      &f->organization_name,
                                      &f->slug,
                                      &f->hardware_title,
                                      &f->owner_name,
                                      &f->engine_name,
                                      &f->engine_version,
                                      &f->quantization_name};
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
            *texts[i] = db_get_text(&rows, a);
    }
    if (f->simulated)
        f->single = f->total = 0;
    return db_end(&rows, err);
}

/* One row per group. Entering takes the larger figure; leaving looks for what is left. */
#define ENTER_GROUP(table)                                                                         \
    "UPDATE " table " SET run_count = run_count + 1, "                                             \
    "single = CASE WHEN single < ? THEN ? ELSE single END, "                                       \
    "total = CASE WHEN total < ? THEN ? ELSE total END, "                                          \
    "last_run_ms = CASE WHEN last_run_ms < ? THEN ? ELSE last_run_ms END WHERE id = ?"
#define LEFT(table, what)                                                                          \
    "COALESCE((SELECT MAX(r." what ") FROM run r WHERE r." table "_id = " table                    \
    ".id AND r.listed = 1 AND r.id <> ? AND r.kind <> 'simulated'), 0)"
#define LEAVE_GROUP(table)                                                                         \
    "UPDATE " table " SET run_count = run_count - 1, single = " LEFT(                              \
        table, "single") ", total = " LEFT(table, "total") " WHERE id = ?"

static const struct {
    const char *enter, *leave;
    size_t id; /* in struct facts */
} groups[] = {
    {ENTER_GROUP("model"), LEAVE_GROUP("model"), offsetof(struct facts, model)},
    {ENTER_GROUP("base"), LEAVE_GROUP("base"), offsetof(struct facts, base)},
    {ENTER_GROUP("organization"), LEAVE_GROUP("organization"),
     offsetof(struct facts, organization)},
    {ENTER_GROUP("hardware"), LEAVE_GROUP("hardware"), offsetof(struct facts, hardware)},
};

static const struct {
    const char *change;
    size_t id;
} counters[] = {
    {"UPDATE engine SET run_count = run_count + ? WHERE id = ?", offsetof(struct facts, engine)},
    {"UPDATE quantization SET run_count = run_count + ? WHERE id = ?",
     offsetof(struct facts, quantization)},
    {"UPDATE users SET run_count = run_count + ? WHERE id = ?", offsetof(struct facts, owner)},
};

static int64_t id_at(const struct facts *f, size_t offset)
{
    int64_t id;

    memcpy(&id, (const char *)f + offset, sizeof id);
    return id;
}

static bool change_counters(struct store *s, const struct facts *f, int64_t by, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
        const struct db_value values[] = {db_int(by), db_int(id_at(f, counters[i].id))};
        if (!db_run(s->db, counters[i].change, values, 2, NULL, err))
            return false;
    }
    return tally_add(s, "cells", by * f->cells, err);
}

static bool enter_groups(struct store *s, const struct facts *f, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        const struct db_value values[] = {db_real(f->single),
                                          db_real(f->single),
                                          db_real(f->total),
                                          db_real(f->total),
                                          db_int(f->created_ms),
                                          db_int(f->created_ms),
                                          db_int(id_at(f, groups[i].id))};
        if (!db_run(s->db, groups[i].enter, values, ARRAY_LEN(values), NULL, err))
            return false;
    }
    return change_counters(s, f, 1, err);
}

static bool leave_groups(struct store *s, const struct facts *f, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        const struct db_value values[] = {db_int(f->id), db_int(f->id),
                                          db_int(id_at(f, groups[i].id))};
        if (!db_run(s->db, groups[i].leave, values, ARRAY_LEN(values), NULL, err))
            return false;
    }
    return change_counters(s, f, -1, err);
}

/* ---- search ---- */

static bool count_of(struct store *s, const char *sql, int64_t id, int64_t *ret, struct err *err)
{
    struct db_rows rows;
    const struct db_value value = db_int(id);

    if (!db_query(s->db, sql, &value, 1, &rows, err))
        return false;
    *ret = db_next(&rows) ? db_get_int(&rows) : 0;
    return db_end(&rows, err);
}

/* Groups are found as long as they have listed runs; the more, the earlier. */
static bool index_groups(struct store *s, const struct facts *f, struct err *err)
{
    const struct {
        enum store_found_kind kind;
        const char *count;
        int64_t id;
        const char *key, *title;
    } found[] = {
        {STORE_FOUND_MODEL, "SELECT run_count FROM model WHERE id = ?", f->model, f->model_name,
         f->model_name},
        {STORE_FOUND_ORGANIZATION, "SELECT run_count FROM organization WHERE id = ?",
         f->organization, f->organization_name, f->organization_name},
        {STORE_FOUND_HARDWARE, "SELECT run_count FROM hardware WHERE id = ?", f->hardware, f->slug,
         f->hardware_title},
        {STORE_FOUND_USER, "SELECT run_count FROM users WHERE id = ?", f->owner, f->owner_name,
         f->owner_name},
    };

    for (size_t i = 0; i < ARRAY_LEN(found); i++) {
        int64_t n;
        if (!found[i].id)
            continue;
        if (!count_of(s, found[i].count, found[i].id, &n, err))
            return false;
        bool fine = n > 0 ? search_put(s, found[i].kind, found[i].key, found[i].title,
                                       found[i].title, n, err)
                          : search_remove(s, found[i].kind, found[i].key, err);
        if (!fine)
            return false;
    }
    return true;
}

static bool index_run(struct store *s, const struct facts *f, struct err *err)
{
    const char *const parts[] = {
        f->title,       f->model_name,     f->hardware_title,    f->owner_name,
        f->engine_name, f->engine_version, f->quantization_name, f->uid};
    struct buf text;

    buf_init(&text, 16 << 10);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (parts[i])
            buf_addf(&text, "%s\n", parts[i]);
    bool fine = search_put(s, STORE_FOUND_RUN, f->uid, f->title, text.p, 0, err);
    buf_release(&text);
    return fine;
}

/* ---- both directions ---- */

bool ranks_add(struct store *s, int64_t run, struct err *err)
{
    struct arena a = {0};
    struct facts f;
    bool fine = read_facts(s, run, &a, &f, err) && add_rows(s, run, f.simulated, err) &&
                add_best(s, run, err) && enter_groups(s, &f, err) && index_groups(s, &f, err) &&
                index_run(s, &f, err);

    arena_release(&a);
    return fine;
}

bool ranks_remove(struct store *s, int64_t run, struct err *err)
{
    struct arena a = {0};
    struct facts f;
    bool fine = read_facts(s, run, &a, &f, err) &&
                DB_RUN(s->db, err, "DELETE FROM board WHERE run_id = ?", db_int(run)) &&
                give_up_best(s, run, err) && leave_groups(s, &f, err) && index_groups(s, &f, err) &&
                search_remove(s, STORE_FOUND_RUN, f.uid, err);

    arena_release(&a);
    return fine;
}

/* ---- whether they are right ---- */

/* What the cells make first, then each row on a board is taken out of it; nothing may be left. In
 * one statement, so that both are seen at the same time while others publish. */
bool ranks_check(struct store *s, int64_t run, bool *ret_right, struct err *err)
{
    struct db_rows rows;
    struct store_cell c;
    struct entries e;

    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT " CELL_COLUMNS ", -1 FROM cell c JOIN run r ON r.id = c.run_id "
                  "WHERE r.id = ? AND r.listed = 1 AND c.ranked = 1 UNION ALL "
                  "SELECT p.context_tokens, p.concurrency, 0, 0, b.score, NULL, NULL, NULL, NULL, "
                  "NULL, 0, p.metric FROM board b JOIN point p ON p.id = b.point_id "
                  "JOIN run r ON r.id = b.run_id WHERE r.id = ? AND "
                  "p.simulated = CASE WHEN r.kind = 'simulated' THEN 1 ELSE 0 END ORDER BY 12",
                  db_int(run), db_int(run)))
        return false;
    entries_init(&e, 128);
    bool right = true;
    size_t taken = 0;
    while (db_next(&rows)) {
        read_cell(&rows, &c);
        int64_t metric = db_get_int(&rows);
        if (metric < 0) {
            offer_metrics(&e, &c);
            continue;
        }
        const struct entry x = {.metric = (enum store_metric)metric,
                                .context_tokens = c.context_tokens,
                                .concurrency = c.concurrency};
        right = right && e.v[place_of(&e, &x)].score == c.total_tok_s;
        taken++;
    }
    right = right && taken == e.n;
    free(e.v);
    if (!db_end(&rows, err))
        return false;
    *ret_right = right;
    return true;
}
