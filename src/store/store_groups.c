/* store_groups.c - reading what runs are grouped by: models, organizations, hardware, and the
 * names for filters. */
#include <math.h>
#include <string.h>

#include "store/identity.h"
#include "store/store_parts.h"

/* Orders of a list of groups whose table is t: how it goes on, how it is sorted. By name the
 * cursor's row is looked up, since a name does not fit into a cursor. */
struct order_sql {
    const char *after, *by;
    bool by_score;
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

static const struct order_sql base_orders[] = ORDERS("base", "name"),
                              organization_orders[] = ORDERS("organization", "name"),
                              hardware_orders[] = ORDERS("hardware", "slug");

static void add_order(struct db_pieces *p, const struct order_sql *o, const struct pager *pager)
{
    const struct db_value after[] = {db_real(pager->score), db_int(pager->id)};
    const struct db_value limit = pager_limit(pager);

    if (pager->begun && o->by_score)
        db_pieces_add(p, o->after, after, 2);
    else if (pager->begun)
        db_pieces_add(p, o->after, after + 1, 1);
    db_pieces_add(p, o->by, &limit, 1);
}

/* What every group has; the id and the figures of a cursor come first. */
struct group {
    int64_t id, run_count, last_run_ms;
    double single, total;
};
#define GROUP_COLUMNS "t.id, t.run_count, t.single, t.total, t.last_run_ms"

static void read_group(struct db_rows *rows, struct group *g)
{
    g->id = db_get_int(rows);
    g->run_count = db_get_int(rows);
    g->single = db_get_real(rows);
    g->total = db_get_real(rows);
    g->last_run_ms = db_get_int(rows);
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

static double figure(double v)
{
    return v > 0 ? v : (double)NAN;
}

/* ---- models ---- */

#define BASE_SELECT                                                                                \
    "SELECT " GROUP_COLUMNS ", t.name, t.name, (SELECT COUNT(*) FROM model x WHERE x.base_id = "   \
    "t.id AND x.run_count > 0), (SELECT o.name FROM model y JOIN organization o ON o.id = "        \
    "y.organization_id WHERE y.base_id = t.id AND y.name = t.name) FROM base t"
#define MODEL_SELECT                                                                               \
    "SELECT " GROUP_COLUMNS ", t.name, g.name, 1, o.name FROM model t JOIN base g ON g.id = "      \
    "t.base_id LEFT JOIN organization o ON o.id = t.organization_id"

static void read_model(struct db_rows *rows, struct arena *a, struct group *g,
                       struct store_model *ret)
{
    read_group(rows, g);
    ret->run_count = g->run_count;
    ret->single_tok_s = figure(g->single);
    ret->total_tok_s = figure(g->total);
    ret->last_run_ms = g->last_run_ms;
    ret->name = db_get_text(rows, a);
    ret->base = db_get_text(rows, a);
    ret->variant_count = db_get_int(rows);
    ret->organization = db_get_text(rows, a);
}

static uint32_t list_hash(uint32_t list, enum store_group_order order, const char *first,
                          const char *second)
{
    return pager_hash(pager_hash(list * 16 + (uint32_t)order, first), second);
}

bool store_bases(struct store *s, const char *organization, enum store_group_order order,
                 const struct store_page *page, struct arena *a, struct store_models *ret,
                 struct err *err)
{
    struct pager pager;
    struct db_pieces p;
    struct db_rows rows;
    struct group g = {0};
    struct store_models list = {0};

    if (!pager_init(&pager, page, list_hash(4, order, organization, NULL), err))
        return false;
    db_pieces_init(&p);
    DB_ADD(&p, BASE_SELECT " WHERE t.run_count > 0");
    if (organization)
        DB_ADD(&p,
               " AND t.id IN (SELECT m.base_id FROM model m JOIN organization z ON z.id = "
               "m.organization_id WHERE z.key = ? AND m.run_count > 0)",
               db_text(store_key_of(a, organization)));
    add_order(&p, &base_orders[order], &pager);
    bool fine = db_pieces_query(s->db, &p, &rows, err);
    db_pieces_release(&p);
    if (!fine)
        return false;
    READ_ALL(&rows, a, &list, pager.limit, read_model(&rows, a, &g, &list.v[list.n]));
    if (list.n > 0 && db_next(&rows))
        pager_next(&pager, score_of(&g, order), g.id, list.next);
    if (!db_end(&rows, err))
        return false;
    *ret = list;
    return true;
}

static bool one_model(struct db_rows *rows, const char *name, struct arena *a,
                      struct store_model *ret, struct err *err)
{
    struct group g;
    struct store_model model = {0};
    bool found = db_next(rows);

    if (found)
        read_model(rows, a, &g, &model);
    if (!db_end(rows, err))
        return false;
    if (!found)
        return store_no_such(err, "model", name);
    *ret = model;
    return true;
}

bool store_base_get(struct store *s, const char *name, struct arena *a, struct store_model *ret,
                    struct err *err)
{
    struct db_rows rows;
    int64_t id;

    return find_base(s, name, &id, err) &&
           DB_QUERY(s->db, &rows, err, BASE_SELECT " WHERE t.id = ?", db_int(id)) &&
           one_model(&rows, name, a, ret, err);
}

bool store_model_get(struct store *s, const char *name, struct arena *a, struct store_model *ret,
                     struct err *err)
{
    struct db_rows rows;

    return DB_QUERY(s->db, &rows, err, MODEL_SELECT " WHERE t.key = ?",
                    db_text(store_key_of(a, name))) &&
           one_model(&rows, name, a, ret, err);
}

bool store_base_models(struct store *s, const char *base, struct arena *a, struct store_models *ret,
                       struct err *err)
{
    struct db_rows rows;
    struct group g;
    struct store_models list = {0};
    int64_t id;

    if (!find_base(s, base, &id, err) ||
        !DB_QUERY(s->db, &rows, err,
                  MODEL_SELECT " WHERE t.base_id = ? AND t.run_count > 0 "
                               "ORDER BY t.run_count DESC, t.id LIMIT ?",
                  db_int(id), db_int(STORE_PAGE_MAX)))
        return false;
    READ_ALL(&rows, a, &list, STORE_PAGE_MAX, read_model(&rows, a, &g, &list.v[list.n]));
    if (!db_end(&rows, err))
        return false;
    *ret = list;
    return true;
}

/* ---- a moderator's word on a group ---- */

#define SUM_OF_MODELS(what) "(SELECT " what " FROM model m WHERE m.base_id = base.id)"

static bool sum_up_base(struct store *s, int64_t base, struct err *err)
{
    return DB_RUN(
               s->db, err,
               "UPDATE base SET run_count = " SUM_OF_MODELS(
                   "COALESCE(SUM(m.run_count), 0)") ", "
                                                    "singl"
                                                    "e "
                                                    "="
                                                    " " SUM_OF_MODELS("COALESCE(MAX(m.single), 0)") ", total = " SUM_OF_MODELS(
                                                        "C"
                                                        "O"
                                                        "A"
                                                        "L"
                                                        "E"
                                                        "S"
                                                        "C"
                                                        "E"
                                                        "("
                                                        "M"
                                                        "A"
                                                        "X"
                                                        "("
                                                        "m"
                                                        "."
                                                        "t"
                                                        "o"
                                                        "t"
                                                        "a"
                                                        "l"
                                                        ")"
                                                        ","
                                                        " "
                                                        "0"
                                                        ")") ", last_run_ms = " SUM_OF_MODELS("COAL"
                                                                                              "ESCE"
                                                                                              "(MAX"
                                                                                              "(m."
                                                                                              "last"
                                                                                              "_run"
                                                                                              "_ms)"
                                                                                              ", "
                                                                                              "0)") " WHERE id = ?",
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

/* ---- organizations ---- */

#define ORGANIZATION_SELECT                                                                        \
    "SELECT " GROUP_COLUMNS ", t.name, (SELECT COUNT(*) FROM model x WHERE x.organization_id = "   \
    "t.id AND x.run_count > 0) FROM organization t"

static void read_organization(struct db_rows *rows, struct arena *a, struct group *g,
                              struct store_organization *ret)
{
    read_group(rows, g);
    ret->run_count = g->run_count;
    ret->single_tok_s = figure(g->single);
    ret->total_tok_s = figure(g->total);
    ret->last_run_ms = g->last_run_ms;
    ret->name = db_get_text(rows, a);
    ret->model_count = db_get_int(rows);
}

bool store_organizations(struct store *s, enum store_group_order order,
                         const struct store_page *page, struct arena *a,
                         struct store_organizations *ret, struct err *err)
{
    struct pager pager;
    struct db_pieces p;
    struct db_rows rows;
    struct group g = {0};
    struct store_organizations list = {0};

    if (!pager_init(&pager, page, list_hash(5, order, NULL, NULL), err))
        return false;
    db_pieces_init(&p);
    DB_ADD(&p, ORGANIZATION_SELECT " WHERE t.run_count > 0");
    add_order(&p, &organization_orders[order], &pager);
    bool fine = db_pieces_query(s->db, &p, &rows, err);
    db_pieces_release(&p);
    if (!fine)
        return false;
    READ_ALL(&rows, a, &list, pager.limit, read_organization(&rows, a, &g, &list.v[list.n]));
    if (list.n > 0 && db_next(&rows))
        pager_next(&pager, score_of(&g, order), g.id, list.next);
    if (!db_end(&rows, err))
        return false;
    *ret = list;
    return true;
}

bool store_organization_get(struct store *s, const char *name, struct arena *a,
                            struct store_organization *ret, struct err *err)
{
    struct db_rows rows;
    struct group g;
    struct store_organization organization = {0};

    if (!DB_QUERY(s->db, &rows, err, ORGANIZATION_SELECT " WHERE t.key = ?",
                  db_text(store_key_of(a, name))))
        return false;
    bool found = db_next(&rows);
    if (found)
        read_organization(&rows, a, &g, &organization);
    if (!db_end(&rows, err))
        return false;
    if (!found)
        return store_no_such(err, "organization", name);
    *ret = organization;
    return true;
}

/* ---- hardware ---- */

#define HARDWARE_SELECT                                                                            \
    "SELECT " GROUP_COLUMNS ", t.slug, t.title, t.class, t.name, t.card, t.gpus, t.memory_gb "     \
    "FROM hardware t"

static void read_hardware(struct db_rows *rows, struct arena *a, struct group *g,
                          struct store_hardware *ret)
{
    read_group(rows, g);
    ret->run_count = g->run_count;
    ret->single_tok_s = figure(g->single);
    ret->total_tok_s = figure(g->total);
    ret->last_run_ms = g->last_run_ms;
    ret->slug = db_get_text(rows, a);
    ret->title = db_get_text(rows, a);
    ret->class = db_get_text(rows, a);
    ret->name = db_get_text(rows, a);
    ret->card = db_get_text(rows, a);
    ret->count = (int)db_get_int(rows);
    ret->memory_gb = (int)db_get_int(rows);
}

bool store_hardwares(struct store *s, const char *class, const char *card,
                     enum store_group_order order, const struct store_page *page, struct arena *a,
                     struct store_hardwares *ret, struct err *err)
{
    struct pager pager;
    struct db_pieces p;
    struct db_rows rows;
    struct group g = {0};
    struct store_hardwares list = {0};

    if (!pager_init(&pager, page, list_hash(6, order, class, card), err))
        return false;
    db_pieces_init(&p);
    DB_ADD(&p, HARDWARE_SELECT " WHERE t.run_count > 0");
    if (class)
        DB_ADD(&p, " AND t.class = ?", db_text(class));
    if (card)
        DB_ADD(&p, " AND t.card = ?", db_text(card));
    add_order(&p, &hardware_orders[order], &pager);
    bool fine = db_pieces_query(s->db, &p, &rows, err);
    db_pieces_release(&p);
    if (!fine)
        return false;
    READ_ALL(&rows, a, &list, pager.limit, read_hardware(&rows, a, &g, &list.v[list.n]));
    if (list.n > 0 && db_next(&rows))
        pager_next(&pager, score_of(&g, order), g.id, list.next);
    if (!db_end(&rows, err))
        return false;
    *ret = list;
    return true;
}

bool store_hardware_get(struct store *s, const char *slug, struct arena *a,
                        struct store_hardware *ret, struct err *err)
{
    struct db_rows rows;
    struct group g;
    struct store_hardware hardware = {0};

    if (!DB_QUERY(s->db, &rows, err, HARDWARE_SELECT " WHERE t.slug = ?", db_text(slug)))
        return false;
    bool found = db_next(&rows);
    if (found)
        read_hardware(&rows, a, &g, &hardware);
    if (!db_end(&rows, err))
        return false;
    if (!found)
        return store_no_such(err, "hardware", slug);
    *ret = hardware;
    return true;
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
