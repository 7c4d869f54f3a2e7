/* store_runs.c - reading runs: one, its parts, lists of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "store/identity.h"
#include "store/store_parts.h"

enum {
    CELLS_MAX = PLAN_MAX_CONTEXTS * (PLAN_MAX_LEVELS + 1) + PLAN_MAX_CONTEXTS,
    FLAGS_MAX = 2000
};

static const char *const state_names[STORE_RUN_STATES] = {"draft", "public", "flagged",
                                                          "withdrawn"};

const char *store_run_state_name(enum store_run_state s)
{
    return state_names[s];
}

bool store_run_state_from_name(const char *name, enum store_run_state *ret)
{
    for (int i = 0; i < STORE_RUN_STATES; i++) {
        if (strcmp(name, state_names[i]) == 0) {
            *ret = (enum store_run_state)i;
            return true;
        }
    }
    return false;
}

bool store_run_is_listed(enum store_run_state s)
{
    return s == STORE_RUN_PUBLIC || s == STORE_RUN_FLAGGED;
}

bool store_run_visible(const struct store_run *run, const struct store_user *viewer)
{
    if (store_run_is_listed(run->state))
        return true;
    return viewer && (viewer->admin || viewer->id == run->owner);
}

/* Sums are kept as 0 where there is nothing. */
static double figure(double v)
{
    return v > 0 ? v : (double)NAN;
}

/* The ids of a row, and where their names go. */
struct named {
    enum name_kind kind;
    int64_t id;
    const char **name, **title;
};

static void find_names(struct store *s, struct db_rows *rows, const struct named *v, size_t n,
                       struct arena *a)
{
    struct err err = {0};

    for (size_t i = 0; i < n; i++) {
        if (names_get(s, v[i].kind, v[i].id, a, v[i].name, v[i].title, &err))
            continue;
        db_spoil(rows, &err);
        return;
    }
}

void read_run(struct store *s, struct db_rows *rows, struct arena *a, struct store_run *ret)
{
    struct named names[] = {
        {NAME_USER, 0, &ret->owner_name, NULL},
        {NAME_MODEL, 0, &ret->model, NULL},
        {NAME_BASE, 0, &ret->base, NULL},
        {NAME_ORGANIZATION, 0, &ret->organization, NULL},
        {NAME_HARDWARE, 0, &ret->hardware, &ret->hardware_title},
        {NAME_ENGINE, 0, &ret->engine, NULL},
        {NAME_QUANTIZATION, 0, &ret->quantization, NULL},
    };

    ret->id = db_get_int(rows);
    ret->uid = db_get_text(rows, a);
    ret->state = (enum store_run_state)db_get_int(rows);
    ret->revision = (int)db_get_int(rows);
    ret->created_ms = db_get_int(rows);
    ret->updated_ms = db_get_int(rows);
    for (int kind = NAME_USER; kind <= NAME_HARDWARE; kind++)
        names[kind].id = db_get_int(rows);
    ret->owner = names[NAME_USER].id;
    ret->hardware_class = db_get_text(rows, a);
    names[NAME_ENGINE].id = db_get_int(rows);
    ret->engine_version = db_get_text(rows, a);
    names[NAME_QUANTIZATION].id = db_get_int(rows);
    ret->backend = db_get_text(rows, a);
    ret->kind = db_get_text(rows, a);
    ret->tool = db_get_text(rows, a);
    ret->title = db_get_text(rows, a);
    ret->measured_at = db_get_text(rows, a);
    ret->launch_command = db_get_text(rows, a);
    ret->verified = db_get_int(rows);
    ret->single_tok_s = figure(db_get_real(rows));
    ret->total_tok_s = figure(db_get_real(rows));
    ret->prefill_tok_s = db_get_real(rows);
    ret->ttft_ms = db_get_real(rows);
    ret->document_bytes = db_get_int(rows);
    ret->document_digest = db_get_text(rows, a);
    ret->valid_cells = db_get_int(rows);
    ret->cell_count = db_get_int(rows);
    find_names(s, rows, names, ARRAY_LEN(names), a);
}

void read_cell(struct db_rows *rows, struct store_cell *ret)
{
    ret->context_tokens = db_get_int(rows);
    ret->concurrency = (int)db_get_int(rows);
    ret->status = (enum cell_status)db_get_int(rows);
    ret->marks = (unsigned)db_get_int(rows);
    ret->total_tok_s = db_get_real(rows);
    ret->per_request_tok_s = db_get_real(rows);
    ret->ttft_ms = db_get_real(rows);
    ret->itl_ms = db_get_real(rows);
    ret->avg_active = db_get_real(rows);
    ret->tok_per_joule = db_get_real(rows);
    ret->flagged = db_get_int(rows);
}

bool store_run_get(struct store *s, const char *uid, struct arena *a, struct store_run *ret,
                   struct err *err)
{
    struct db_rows rows;
    struct store_run run = {0};

    if (!names_begin(s, err) ||
        !DB_QUERY(s->db, &rows, err, "SELECT " RUN_COLUMNS " FROM run r WHERE r.uid = ?",
                  db_text(uid)))
        return false;
    bool found = db_next(&rows);
    if (found)
        read_run(s, &rows, a, &run);
    if (!db_end(&rows, err))
        return false;
    if (!found)
        return store_no_such(err, "run", uid);
    *ret = run;
    return true;
}

/* ---- its parts ---- */

static bool unpack(const void *body, size_t body_bytes, size_t bytes, struct buf *out,
                   struct err *err)
{
    char *to = bytes <= RESULT_MAX_BYTES ? buf_reserve(out, bytes) : NULL;

    if (!to)
        return err_set(err, ERR_LIMIT, "the document is larger than what was made ready for it");
    size_t n = ZSTD_decompress(to, bytes, body, body_bytes);
    if (ZSTD_isError(n) || n != bytes)
        return err_set(err, ERR_SYSTEM, "the document is damaged");
    buf_advance(out, n);
    return true;
}

bool store_run_document(struct store *s, const char *uid, int revision, struct buf *out,
                        struct err *err)
{
    struct db_rows rows;
    size_t body_bytes;
    bool fine = true;

    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT d.bytes, d.body FROM run r JOIN document d ON d.run_id = r.id AND "
                  "d.revision = CASE WHEN ? = 0 THEN r.revision ELSE ? END WHERE r.uid = ?",
                  db_int(revision), db_int(revision), db_text(uid)))
        return false;
    bool found = db_next(&rows);
    if (found) {
        size_t bytes = (size_t)db_get_int(&rows);
        const void *body = db_get_blob(&rows, &body_bytes);
        fine = unpack(body, body_bytes, bytes, out, err);
    }
    if (!db_end(&rows, fine ? err : NULL) || !fine)
        return false;
    return found || store_no_such(err, "document of run", uid);
}

/* The four columns that a small matrix shows. */
static void read_place(struct db_rows *rows, struct store_cell *ret)
{
    *ret = (struct store_cell){.per_request_tok_s = NAN,
                               .ttft_ms = NAN,
                               .itl_ms = NAN,
                               .avg_active = NAN,
                               .tok_per_joule = NAN};
    ret->context_tokens = db_get_int(rows);
    ret->concurrency = (int)db_get_int(rows);
    ret->status = (enum cell_status)db_get_int(rows);
    ret->total_tok_s = db_get_real(rows);
}

static const struct {
    const char *sql; /* in the order of the table's key, so that nothing is sorted */
    void (*read)(struct db_rows *rows, struct store_cell *ret);
} cell_queries[] = {
    {"SELECT " CELL_COLUMNS " FROM cell c WHERE c.run_id = ? "
     "ORDER BY c.context_tokens, c.concurrency",
     read_cell},
    {"SELECT context_tokens, concurrency, status, total FROM cell WHERE run_id = ? "
     "ORDER BY context_tokens, concurrency",
     read_place},
};

/* `room` is for CELLS_MAX of them, for use here. */
static bool read_cells(struct store *s, int64_t run, bool brief, struct store_cell *room,
                       struct arena *a, struct store_cells *ret, struct err *err)
{
    const struct db_value id = db_int(run);
    struct store_cells list = {0};
    struct db_rows rows;
    size_t n = 0;

    if (!db_query(s->db, cell_queries[brief].sql, &id, 1, &rows, err))
        return false;
    while (n < CELLS_MAX && db_next(&rows))
        cell_queries[brief].read(&rows, &room[n++]);
    if (!db_end(&rows, err))
        return false;
    list.v = arena_array(a, n, sizeof *list.v);
    for (int decode = 0; decode < 2; decode++)
        for (size_t i = 0; i < n; i++)
            if ((room[i].concurrency != 0) == decode)
                list.v[list.n++] = room[i];
    *ret = list;
    return true;
}

bool store_run_cells(struct store *s, int64_t run, struct arena *a, struct store_cells *ret,
                     struct err *err)
{
    struct store_cell *room = mem_array(CELLS_MAX, sizeof *room);
    bool fine = read_cells(s, run, false, room, a, ret, err);

    free(room);
    return fine;
}

static void read_flag(struct db_rows *rows, struct arena *a, struct store_flag *ret)
{
    ret->code = db_get_text(rows, a);
    ret->text = db_get_text(rows, a);
    ret->context_tokens = db_get_int(rows);
    ret->concurrency = (int)db_get_int(rows);
}

bool store_run_flags(struct store *s, int64_t run, struct arena *a, struct store_flags *ret,
                     struct err *err)
{
    struct db_rows rows;
    struct store_flags list = {0};

    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT code, text, context_tokens, concurrency FROM flag WHERE run_id = ? "
                  "ORDER BY id",
                  db_int(run)))
        return false;
    READ_ALL(&rows, a, &list, FLAGS_MAX, read_flag(&rows, a, &list.v[list.n]));
    if (!db_end(&rows, err))
        return false;
    *ret = list;
    return true;
}

static void read_revision(struct db_rows *rows, struct arena *a, struct store_revision *ret)
{
    ret->revision = (int)db_get_int(rows);
    ret->created_ms = db_get_int(rows);
    ret->author = db_get_text(rows, a);
    ret->note = db_get_text(rows, a);
    ret->document_digest = db_get_text(rows, a);
    ret->document_bytes = db_get_int(rows);
}

bool store_run_history(struct store *s, int64_t run, struct arena *a, struct store_revisions *ret,
                       struct err *err)
{
    struct db_rows rows;
    struct store_revisions list = {0};

    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT d.revision, d.created_ms, u.name, d.note, d.digest, d.bytes "
                  "FROM document d LEFT JOIN users u ON u.id = d.author_id "
                  "WHERE d.run_id = ? ORDER BY d.revision DESC LIMIT ?",
                  db_int(run), db_int(STORE_PAGE_MAX)))
        return false;
    READ_ALL(&rows, a, &list, STORE_PAGE_MAX, read_revision(&rows, a, &list.v[list.n]));
    if (!db_end(&rows, err))
        return false;
    *ret = list;
    return true;
}

/* ---- filters ---- */

bool find_base(struct store *s, const char *name, int64_t *ret_id, struct err *err)
{
    struct arena a = {0};
    struct model_identity model;
    struct db_rows rows;

    identity_of_name(name, &a, &model);
    bool fine = DB_QUERY(s->db, &rows, err,
                         "SELECT base_id, 0 AS rank FROM model WHERE key = ? UNION ALL "
                         "SELECT id, 1 FROM base WHERE key = ? ORDER BY rank LIMIT 1",
                         db_text(model.key), db_text(model.stem_key));
    if (fine) {
        int64_t id = db_next(&rows) ? db_get_int(&rows) : 0;
        fine = db_end(&rows, err);
        if (fine)
            *ret_id = id;
    }
    arena_release(&a);
    return fine;
}

/* One id by a statement with one value; 0 when there is none. */
static bool find_id(struct store *s, const char *sql, const char *key, int64_t *ret,
                    struct err *err)
{
    struct db_rows rows;
    const struct db_value value = db_text(key);

    if (!db_query(s->db, sql, &value, 1, &rows, err))
        return false;
    *ret = db_next(&rows) ? db_get_int(&rows) : 0;
    return db_end(&rows, err);
}

bool filter_resolve(struct store *s, const struct store_filter *f, struct arena *a,
                    struct filter_ids *ret, struct err *err)
{
    *ret = (struct filter_ids){
        .card = f->card, .class = f->hardware_class, .kind = f->kind, .verified = f->verified};
    const struct {
        const char *name, *sql;
        int64_t *id;
    } names[] = {
        {f->model, "SELECT id FROM model WHERE key = ?", &ret->model},
        {f->organization, "SELECT id FROM organization WHERE key = ?", &ret->organization},
        {f->hardware, "SELECT id FROM hardware WHERE slug = ?", &ret->hardware},
        {f->engine, "SELECT id FROM engine WHERE key = ?", &ret->engine},
        {f->quantization, "SELECT id FROM quantization WHERE key = ?", &ret->quantization},
        {f->user, "SELECT id FROM users WHERE name_key = ?", &ret->user},
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (!names[i].name)
            continue;
        if (!find_id(s, names[i].sql, store_key_of(a, names[i].name), names[i].id, err))
            return false;
        ret->nothing = ret->nothing || !*names[i].id;
    }
    if (!f->base)
        return true;
    if (!find_base(s, f->base, &ret->base, err))
        return false;
    ret->nothing = ret->nothing || !ret->base;
    return true;
}

uint32_t filter_hash(uint32_t h, const struct store_filter *f)
{
    const char *const texts[] = {f->model, f->base,          f->organization, f->hardware,
                                 f->card,  f->engine,        f->quantization, f->kind,
                                 f->user,  f->hardware_class};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        h = pager_hash(h, texts[i]);
    return pager_hash(h, f->verified ? "v" : NULL);
}

void filter_add(struct db_pieces *p, const struct filter_ids *f)
{
    if (f->model)
        DB_ADD(p, " AND t.model_id = ?", db_int(f->model));
    if (f->base)
        DB_ADD(p, " AND t.base_id = ?", db_int(f->base));
    if (f->organization)
        DB_ADD(p, " AND t.organization_id = ?", db_int(f->organization));
    if (f->hardware)
        DB_ADD(p, " AND t.hardware_id = ?", db_int(f->hardware));
    if (f->card)
        DB_ADD(p, " AND t.card = ?", db_text(f->card));
    if (f->class)
        DB_ADD(p, " AND t.class = ?", db_text(f->class));
    if (f->engine)
        DB_ADD(p, " AND t.engine_id = ?", db_int(f->engine));
    if (f->quantization)
        DB_ADD(p, " AND t.quantization_id = ?", db_int(f->quantization));
    if (f->verified)
        DB_ADD(p, " AND t.verified = 1");
}

/* ---- lists ---- */

/* The ids first, by one index, then all that belongs to them. */
static void runs_query(struct db_pieces *p, const struct filter_ids *f, enum store_run_order order,
                       const struct pager *pager)
{
    DB_ADD(p, "SELECT " RUN_COLUMNS " FROM (SELECT t.id FROM run t WHERE t.listed = 1");
    filter_add(p, f);
    if (f->kind)
        DB_ADD(p, " AND t.kind = ?", db_text(f->kind));
    if (f->user)
        DB_ADD(p, " AND t.owner_id = ?", db_int(f->user));
    if (order == STORE_RUNS_FASTEST) {
        if (pager->begun)
            DB_ADD(p, " AND (t.total, t.id) < (?, ?)", db_real(pager->score), db_int(pager->id));
        DB_ADD(p, " ORDER BY t.total DESC, t.id DESC LIMIT ?", pager_limit(pager));
        DB_ADD(p, ") i JOIN run r ON r.id = i.id ORDER BY r.total DESC, r.id DESC");
    } else {
        if (pager->begun)
            DB_ADD(p, " AND t.id < ?", db_int(pager->id));
        DB_ADD(p, " ORDER BY t.id DESC LIMIT ?", pager_limit(pager));
        DB_ADD(p, ") i JOIN run r ON r.id = i.id ORDER BY r.id DESC");
    }
}

static bool read_runs(struct store *s, struct db_rows *rows, const struct pager *p, struct arena *a,
                      struct store_runs *list, struct err *err)
{
    READ_ALL(rows, a, list, p->limit, read_run(s, rows, a, &list->v[list->n]));
    if (list->n > 0 && db_next(rows)) {
        const struct store_run *last = &list->v[list->n - 1];
        pager_next(p, isfinite(last->total_tok_s) ? last->total_tok_s : 0, last->id, list->next);
    }
    return db_end(rows, err);
}

static bool add_cells(struct store *s, struct arena *a, struct store_runs *list, struct err *err)
{
    struct store_cell *room = mem_array(CELLS_MAX, sizeof *room);
    bool fine = true;

    list->cells = arena_array(a, list->n, sizeof *list->cells);
    for (size_t i = 0; fine && i < list->n; i++)
        fine = read_cells(s, list->v[i].id, true, room, a, &list->cells[i], err);
    free(room);
    return fine;
}

bool store_runs(struct store *s, const struct store_filter *filter, enum store_run_order order,
                const struct store_page *page, bool with_cells, struct arena *a,
                struct store_runs *ret, struct err *err)
{
    struct pager pager;
    struct filter_ids ids;
    struct db_pieces p;
    struct db_rows rows;
    struct store_runs list = {0};
    uint32_t hash = pager_hash(filter_hash(1, filter), order == STORE_RUNS_FASTEST ? "f" : "n");

    if (!pager_init(&pager, page, hash, err) || !filter_resolve(s, filter, a, &ids, err))
        return false;
    if (ids.nothing) {
        *ret = list;
        return true;
    }
    db_pieces_init(&p);
    runs_query(&p, &ids, order, &pager);
    bool fine = names_begin(s, err) && db_pieces_query(s->db, &p, &rows, err) &&
                read_runs(s, &rows, &pager, a, &list, err) &&
                (!with_cells || add_cells(s, a, &list, err));
    db_pieces_release(&p);
    if (fine)
        *ret = list;
    return fine;
}

bool store_runs_of(struct store *s, int64_t user, const struct store_page *page, struct arena *a,
                   struct store_runs *ret, struct err *err)
{
    struct pager p;
    struct db_rows rows;
    struct store_runs list = {0};

    if (!pager_init(&p, page, pager_hash(2, "own"), err) || !names_begin(s, err) ||
        !DB_QUERY(
            s->db, &rows, err,
            "SELECT " RUN_COLUMNS " FROM (SELECT t.id FROM run t WHERE t.owner_id = ? AND "
            "t.id < ? ORDER BY t.id DESC LIMIT ?) i JOIN run r ON r.id = i.id ORDER BY r.id DESC",
            db_int(user), db_int(p.begun ? p.id : INT64_MAX), pager_limit(&p)) ||
        !read_runs(s, &rows, &p, a, &list, err))
        return false;
    *ret = list;
    return true;
}
