/* store_groups.c - reading what runs are grouped by: models, organizations, hardware, and the
 * names for filters. */
#include <math.h>
#include <string.h>

#include "store/identity.h"
#include "store/store_parts.h"

/* What every group has; the id and the figures of a cursor come first. */
struct group {
    int64_t id, run_count, last_run_ms;
    double single, total;
};
#define GROUP_COLUMNS "t.id, t.run_count, t.single, t.total, t.last_run_ms"

/* How one kind of group, whose table is t, is read, listed and found. */
struct group_kind {
    const char *thing; /* in errors */
    uint32_t list;     /* the number of its lists, in cursors */
    const char *select;
    size_t row_bytes; /* of what `read` writes: columns behind those of the group, into `ret` */
    void (*read)(struct db_rows *rows, struct arena *a, const struct group *g, void *ret);
    const char *narrowed[2]; /* conditions that a list may have; a value each */
    struct group_order {
        const char *after, *by; /* how the list goes on, how it is sorted */
        bool by_score;          /* else the cursor's row is looked up: no name fits into a cursor */
    } orders[STORE_BY_SPEED + 1];
};

#define ORDER_BY_COLUMN(column)                                                                    \
    {                                                                                              \
        " AND (t." column ", t.id) < (?, ?)", " ORDER BY t." column " DESC, t.id DESC LIMIT ?",    \
            true                                                                                   \
    }
#define ORDERS(table, name)                                                                        \
    {                                                                                              \
        [STORE_BY_RUNS] = ORDER_BY_COLUMN("run_count"),                                            \
        [STORE_BY_NAME] = {" AND (t." name ", t.id) > (SELECT x." name ", x.id FROM " table        \
                           " x WHERE x.id = ?)",                                                   \
                           " ORDER BY t." name ", t.id LIMIT ?", false},                           \
        [STORE_BY_NEWEST] = ORDER_BY_COLUMN("last_run_ms"),                                        \
        [STORE_BY_SPEED] = ORDER_BY_COLUMN("single"),                                              \
    }

static double figure(double v)
{
    return v > 0 ? v : (double)NAN;
}

static void read_base(struct db_rows *rows, struct arena *a, const struct group *g, void *ret)
{
    struct store_model *m = ret;

    *m = (struct store_model){.run_count = g->run_count,
                              .single_tok_s = figure(g->single),
                              .total_tok_s = figure(g->total),
                              .last_run_ms = g->last_run_ms};
    m->name = db_get_text(rows, a);
    m->base = db_get_text(rows, a);
    m->variant_count = db_get_int(rows);
    m->organization = db_get_text(rows, a);
}

static void read_organization(struct db_rows *rows, struct arena *a, const struct group *g,
                              void *ret)
{
    struct store_organization *o = ret;

    *o = (struct store_organization){.run_count = g->run_count,
                                     .single_tok_s = figure(g->single),
                                     .total_tok_s = figure(g->total),
                                     .last_run_ms = g->last_run_ms};
    o->name = db_get_text(rows, a);
    o->model_count = db_get_int(rows);
}

static void read_hardware(struct db_rows *rows, struct arena *a, const struct group *g, void *ret)
{
    struct store_hardware *h = ret;

    *h = (struct store_hardware){.run_count = g->run_count,
                                 .single_tok_s = figure(g->single),
                                 .total_tok_s = figure(g->total),
                                 .last_run_ms = g->last_run_ms};
    h->slug = db_get_text(rows, a);
    h->title = db_get_text(rows, a);
    h->class = db_get_text(rows, a);
    h->name = db_get_text(rows, a);
    h->card = db_get_text(rows, a);
    h->count = (int)db_get_int(rows);
    h->memory_gb = (int)db_get_int(rows);
}

static const struct group_kind bases = {
    .thing = "model",
    .list = 4,
    .select = "SELECT " GROUP_COLUMNS
              ", t.name, t.name, (SELECT COUNT(*) FROM model x WHERE x.base_id = t.id AND "
              "x.run_count > 0), (SELECT o.name FROM model y JOIN organization o ON o.id = "
              "y.organization_id WHERE y.base_id = t.id AND y.name = t.name) FROM base t",
    .row_bytes = sizeof(struct store_model),
    .read = read_base,
    .narrowed = {" AND t.id IN (SELECT m.base_id FROM model m JOIN organization z ON z.id = "
                 "m.organization_id WHERE z.key = ? AND m.run_count > 0)"},
    .orders = ORDERS("base", "name"),
};

static const struct group_kind organizations = {
    .thing = "organization",
    .list = 5,
    .select = "SELECT " GROUP_COLUMNS
              ", t.name, (SELECT COUNT(*) FROM model x WHERE x.organization_id = t.id AND "
              "x.run_count > 0) FROM organization t",
    .row_bytes = sizeof(struct store_organization),
    .read = read_organization,
    .orders = ORDERS("organization", "name"),
};

static const struct group_kind hardwares = {
    .thing = "hardware",
    .list = 6,
    .select = "SELECT " GROUP_COLUMNS
              ", t.slug, t.title, t.class, t.name, t.card, t.gpus, t.memory_gb FROM hardware t",
    .row_bytes = sizeof(struct store_hardware),
    .read = read_hardware,
    .narrowed = {" AND t.class = ?", " AND t.card = ?"},
    .orders = ORDERS("hardware", "slug"),
};

static void read_group(struct db_rows *rows, const struct group_kind *kind, struct arena *a,
                       struct group *g, void *ret)
{
    g->id = db_get_int(rows);
    g->run_count = db_get_int(rows);
    g->single = db_get_real(rows);
    g->total = db_get_real(rows);
    g->last_run_ms = db_get_int(rows);
    kind->read(rows, a, g, ret);
}

static double score_of(const struct group *g, enum store_group_order order)
{
    switch (order) {
    case STORE_BY_RUNS: return (double)g->run_count;
    case STORE_BY_NEWEST: return (double)g->last_run_ms;
    case STORE_BY_SPEED: return g->single;
    case STORE_BY_NAME: break;
    }
    return 0;
}

/* Which page of which list: `names` narrow it, or are NULL. */
struct group_list {
    const struct group_kind *kind;
    enum store_group_order order;
    const char *names[2];
    const struct store_page *page;
};

static bool query_list(struct store *s, const struct group_list *l, const struct pager *pager,
                       struct db_rows *rows, struct err *err)
{
    const struct group_order *order = &l->kind->orders[l->order];
    const struct db_value after[] = {db_real(pager->score), db_int(pager->id)};
    const struct db_value limit = pager_limit(pager);
    struct db_pieces p;

    db_pieces_init(&p);
    db_pieces_add(&p, l->kind->select, NULL, 0);
    DB_ADD(&p, " WHERE t.run_count > 0");
    for (size_t i = 0; i < ARRAY_LEN(l->names); i++) {
        const struct db_value name = db_text(l->names[i]);
        if (l->names[i])
            db_pieces_add(&p, l->kind->narrowed[i], &name, 1);
    }
    if (pager->begun && order->by_score)
        db_pieces_add(&p, order->after, after, 2);
    else if (pager->begun)
        db_pieces_add(&p, order->after, after + 1, 1);
    db_pieces_add(&p, order->by, &limit, 1);
    bool fine = db_pieces_query(s->db, &p, rows, err);
    db_pieces_release(&p);
    return fine;
}

/* The rows in the arena, NULL: it failed. */
static void *read_list(struct store *s, const struct group_list *l, struct arena *a, size_t *ret_n,
                       char next[STORE_CURSOR_MAX], struct err *err)
{
    struct pager pager;
    struct db_rows rows;
    struct group g = {0};
    size_t n = 0;
    uint32_t hash = l->kind->list * 16 + (uint32_t)l->order;

    hash = pager_hash(pager_hash(hash, l->names[0]), l->names[1]);
    if (!pager_init(&pager, l->page, hash, err) || !query_list(s, l, &pager, &rows, err))
        return NULL;
    char *v = arena_array(a, (size_t)pager.limit, l->kind->row_bytes);
    for (; n < (size_t)pager.limit && db_next(&rows); n++)
        read_group(&rows, l->kind, a, &g, v + n * l->kind->row_bytes);
    next[0] = '\0';
    if (n > 0 && db_next(&rows))
        pager_next(&pager, score_of(&g, l->order), g.id, next);
    if (!db_end(&rows, err))
        return NULL;
    *ret_n = n;
    return v;
}

/* The one of this key, which `where` compares; `name` is what it is called in the error. */
static bool read_one(struct store *s, const struct group_kind *kind, const char *where,
                     struct db_value key, const char *name, struct arena *a, void *ret,
                     struct err *err)
{
    struct db_rows rows;
    struct db_pieces p;
    struct group g;
    void *row = arena_alloc(a, kind->row_bytes);

    db_pieces_init(&p);
    db_pieces_add(&p, kind->select, NULL, 0);
    db_pieces_add(&p, where, &key, 1);
    bool fine = db_pieces_query(s->db, &p, &rows, err);
    db_pieces_release(&p);
    if (!fine)
        return false;
    bool found = db_next(&rows);
    if (found)
        read_group(&rows, kind, a, &g, row);
    if (!db_end(&rows, err))
        return false;
    if (!found)
        return store_no_such(err, kind->thing, name);
    memcpy(ret, row, kind->row_bytes);
    return true;
}

/* ---- models ---- */

bool store_bases(struct store *s, const char *organization, enum store_group_order order,
                 const struct store_page *page, struct arena *a, struct store_models *ret,
                 struct err *err)
{
    const struct group_list list = {
        .kind = &bases,
        .order = order,
        .names = {organization ? store_key_of(a, organization) : NULL},
        .page = page,
    };
    struct store_models models;

    models.v = read_list(s, &list, a, &models.n, models.next, err);
    if (!models.v)
        return false;
    *ret = models;
    return true;
}

bool store_base_get(struct store *s, const char *name, struct arena *a, struct store_model *ret,
                    struct err *err)
{
    int64_t id;

    return find_base(s, name, &id, err) &&
           read_one(s, &bases, " WHERE t.id = ? AND t.run_count > 0", db_int(id), name, a, ret,
                    err);
}

/* A member has the columns of a base. */
bool store_base_models(struct store *s, const char *base, struct arena *a, struct store_models *ret,
                       struct err *err)
{
    struct db_rows rows;
    struct group g;
    struct store_models list = {0};
    int64_t id;

    if (!find_base(s, base, &id, err) ||
        !DB_QUERY(s->db, &rows, err,
                  "SELECT " GROUP_COLUMNS
                  ", t.name, g.name, 1, o.name FROM model t JOIN base g ON g.id = t.base_id "
                  "LEFT JOIN organization o ON o.id = t.organization_id WHERE t.base_id = ? AND "
                  "t.run_count > 0 ORDER BY t.run_count DESC, t.id LIMIT ?",
                  db_int(id), db_int(STORE_PAGE_MAX)))
        return false;
    READ_ALL(&rows, a, &list, STORE_PAGE_MAX, read_group(&rows, &bases, a, &g, &list.v[list.n]));
    if (!db_end(&rows, err))
        return false;
    *ret = list;
    return true;
}

/* ---- a moderator's word on a group ---- */

static bool sum_up_base(struct store *s, int64_t base, struct err *err)
{
    return DB_RUN(s->db, err,
                  "UPDATE base SET (run_count, single, total, last_run_ms) = (SELECT "
                  "COALESCE(SUM(m.run_count), 0), COALESCE(MAX(m.single), 0), "
                  "COALESCE(MAX(m.total), 0), COALESCE(MAX(m.last_run_ms), 0) "
                  "FROM model m WHERE m.base_id = base.id) WHERE id = ?",
                  db_int(base)) &&
           DB_RUN(s->db, err, "DELETE FROM best WHERE base_id = ?", db_int(base)) &&
           DB_RUN(s->db, err,
                  "INSERT INTO best (base_id, hardware_id, point_id, score, run_id) "
                  "SELECT base_id, hardware_id, point_id, score, run_id FROM ("
                  "SELECT b.base_id, b.hardware_id, b.point_id, b.score, b.run_id, "
                  "ROW_NUMBER() OVER (PARTITION BY b.hardware_id, b.point_id "
                  "ORDER BY b.score DESC) AS place FROM board b JOIN point p ON p.id = b.point_id "
                  "WHERE b.base_id = ? AND p.context_tokens = -1 AND p.concurrency = 0) ranked "
                  "WHERE place = 1",
                  db_int(base));
}

static bool make_base(struct store *s, const char *name, struct arena *a, int64_t *ret_id,
                      struct err *err)
{
    struct model_identity m;
    struct db_rows rows;

    identity_of_name(name, a, &m);
    if (!DB_QUERY(s->db, &rows, err, "INSERT INTO base (name, key) VALUES (?, ?) RETURNING id",
                  db_text(m.name), db_text(m.stem_key)))
        return false;
    *ret_id = db_next(&rows) ? db_get_int(&rows) : 0;
    return db_end(&rows, err);
}

static bool set_base(struct store *s, const char *name, const char *base, struct arena *a,
                     struct err *err)
{
    struct db_rows rows;
    int64_t model = 0, from = 0, to;

    if (!store_lock_visible(s, err) ||
        !DB_QUERY(s->db, &rows, err, "SELECT id, base_id FROM model WHERE key = ?",
                  db_text(store_key_of(a, name))))
        return false;
    if (db_next(&rows)) {
        model = db_get_int(&rows);
        from = db_get_int(&rows);
    }
    if (!db_end(&rows, err))
        return false;
    if (!model)
        return store_no_such(err, "model", name);
    if (!find_base(s, base, &to, err) || (!to && !make_base(s, base, a, &to, err)))
        return false;
    if (to == from)
        return true;
    return DB_RUN(s->db, err, "UPDATE model SET base_id = ? WHERE id = ?", db_int(to),
                  db_int(model)) &&
           DB_RUN(s->db, err, "UPDATE run SET base_id = ? WHERE model_id = ?", db_int(to),
                  db_int(model)) &&
           DB_RUN(s->db, err, "UPDATE board SET base_id = ? WHERE base_id = ? AND model_id = ?",
                  db_int(to), db_int(from), db_int(model)) &&
           sum_up_base(s, from, err) && sum_up_base(s, to, err) &&
           store_audit_add(s, "model.base", name, base, err);
}

bool store_model_set_base(struct store *s, const char *name, const char *base, struct err *err)
{
    struct arena a = {0};
    bool fine = store_text_check("the model's name", base, IDENTITY_NAME_MAX, err) &&
                db_begin(s->db, err) && db_finish(s->db, set_base(s, name, base, &a, err), err);

    arena_release(&a);
    return fine;
}

/* ---- organizations and hardware ---- */

bool store_organizations(struct store *s, enum store_group_order order,
                         const struct store_page *page, struct arena *a,
                         struct store_organizations *ret, struct err *err)
{
    const struct group_list list = {.kind = &organizations, .order = order, .page = page};
    struct store_organizations found;

    found.v = read_list(s, &list, a, &found.n, found.next, err);
    if (!found.v)
        return false;
    *ret = found;
    return true;
}

bool store_organization_get(struct store *s, const char *name, struct arena *a,
                            struct store_organization *ret, struct err *err)
{
    return read_one(s, &organizations, " WHERE t.key = ? AND t.run_count > 0",
                    db_text(store_key_of(a, name)), name, a, ret, err);
}

bool store_hardwares(struct store *s, const char *class, const char *card,
                     enum store_group_order order, const struct store_page *page, struct arena *a,
                     struct store_hardwares *ret, struct err *err)
{
    const struct group_list list = {
        .kind = &hardwares, .order = order, .names = {class, card}, .page = page};
    struct store_hardwares found;

    found.v = read_list(s, &list, a, &found.n, found.next, err);
    if (!found.v)
        return false;
    *ret = found;
    return true;
}

bool store_hardware_get(struct store *s, const char *slug, struct arena *a,
                        struct store_hardware *ret, struct err *err)
{
    return read_one(s, &hardwares, " WHERE t.slug = ? AND t.run_count > 0", db_text(slug), slug, a,
                    ret, err);
}

/* ---- names for filters ---- */

static void read_choice(struct db_rows *rows, struct arena *a, struct store_choice *ret)
{
    ret->name = db_get_text(rows, a);
    ret->run_count = db_get_int(rows);
}

static bool read_choices(struct db_rows *rows, struct arena *a, struct store_choices *ret,
                         struct err *err)
{
    struct store_choices list = {0};

    READ_ALL(rows, a, &list, STORE_PAGE_MAX, read_choice(rows, a, &list.v[list.n]));
    if (!db_end(rows, err))
        return false;
    *ret = list;
    return true;
}

bool store_engines(struct store *s, struct arena *a, struct store_choices *ret, struct err *err)
{
    struct db_rows rows;

    return DB_QUERY(s->db, &rows, err,
                    "SELECT name, run_count FROM engine WHERE run_count > 0 "
                    "ORDER BY run_count DESC, id DESC LIMIT ?",
                    db_int(STORE_PAGE_MAX)) &&
           read_choices(&rows, a, ret, err);
}

bool store_quantizations(struct store *s, struct arena *a, struct store_choices *ret,
                         struct err *err)
{
    struct db_rows rows;

    return DB_QUERY(s->db, &rows, err,
                    "SELECT name, run_count FROM quantization WHERE run_count > 0 "
                    "ORDER BY run_count DESC, id DESC LIMIT ?",
                    db_int(STORE_PAGE_MAX)) &&
           read_choices(&rows, a, ret, err);
}
