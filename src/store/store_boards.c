/* store_boards.c - reading boards: one point's rows in the order of an index. */
#include <string.h>

#include "store/store_parts.h"

static const struct {
    const char *name;
    bool has_concurrency, less_is_better;
} metrics[STORE_METRICS] = {
    [STORE_SINGLE] = {"single", false, false},      [STORE_TOTAL] = {"total", true, false},
    [STORE_PREFILL] = {"prefill", false, false},    [STORE_TTFT] = {"ttft", false, true},
    [STORE_PER_JOULE] = {"per_joule", true, false},
};

const char *store_metric_name(enum store_metric m)
{
    return metrics[m].name;
}

bool store_metric_from_name(const char *name, enum store_metric *ret)
{
    for (int i = 0; i < STORE_METRICS; i++) {
        if (strcmp(name, metrics[i].name) == 0) {
            *ret = (enum store_metric)i;
            return true;
        }
    }
    return false;
}

bool store_metric_has_concurrency(enum store_metric m)
{
    return metrics[m].has_concurrency;
}

bool store_metric_less_is_better(enum store_metric m)
{
    return metrics[m].less_is_better;
}

/* 0: nothing is ranked there. */
static bool find_point(struct store *s, bool simulated, enum store_metric metric,
                       int64_t context_tokens, int concurrency, int64_t *ret, struct err *err)
{
    struct db_rows rows;

    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT id FROM point WHERE simulated = ? AND metric = ? AND "
                  "context_tokens = ? AND concurrency = ?",
                  db_int(simulated), db_int(metric), db_int(context_tokens),
                  db_int(metrics[metric].has_concurrency ? concurrency : 0)))
        return false;
    int64_t id = db_next(&rows) ? db_get_int(&rows) : 0;
    if (!db_end(&rows, err))
        return false;
    *ret = id;
    return true;
}

/* Columns of a board's row, from b, its run and its cell. */
#define BOARD_COLUMNS "b.score, " CELL_COLUMNS ", " RUN_COLUMNS
#define BOARD_TABLES                                                                               \
    " JOIN run r ON r.id = b.run_id JOIN cell c ON c.run_id = b.run_id"                            \
    " AND c.context_tokens = b.context_tokens AND c.concurrency = b.concurrency"

static void read_row(struct store *s, struct db_rows *rows, enum store_metric metric,
                     struct arena *a, struct store_board_row *ret)
{
    double score = db_get_real(rows);

    ret->value = metrics[metric].less_is_better ? -score : score;
    read_cell(rows, &ret->cell);
    read_run(s, rows, a, &ret->run);
}

/* A model has one base, a machine one card: said as well, they let an index serve which has only
 * these. */
static bool add_groups(struct store *s, struct arena *a, struct filter_ids *f, struct err *err)
{
    struct db_rows rows;

    if (f->model && !f->base) {
        if (!DB_QUERY(s->db, &rows, err, "SELECT base_id FROM model WHERE id = ?",
                      db_int(f->model)))
            return false;
        f->base = db_next(&rows) ? db_get_int(&rows) : 0;
        if (!db_end(&rows, err))
            return false;
    }
    if (f->hardware && !f->card) {
        if (!DB_QUERY(s->db, &rows, err, "SELECT card FROM hardware WHERE id = ?",
                      db_int(f->hardware)))
            return false;
        f->card = db_next(&rows) ? db_get_text(&rows, a) : NULL;
        if (!db_end(&rows, err))
            return false;
    }
    return true;
}

static void board_query(struct db_pieces *p, const struct store_board *board,
                        const struct filter_ids *f, int64_t point, const struct pager *pager)
{
    DB_ADD(p,
           "SELECT " BOARD_COLUMNS " FROM (SELECT t.score, t.run_id, t.context_tokens, "
           "t.concurrency FROM board t WHERE t.point_id = ?",
           db_int(point));
    filter_add(p, f);
    if (f->kind)
        DB_ADD(p, " AND t.kind = ?", db_text(f->kind));
    if (f->user)
        DB_ADD(p, " AND t.run_id IN (SELECT o.id FROM run o WHERE o.owner_id = ? AND o.listed = 1)",
               db_int(f->user));
    if (board->newest) {
        if (pager->begun)
            DB_ADD(p, " AND t.run_id < ?", db_int(pager->id));
        DB_ADD(p, " ORDER BY t.run_id DESC LIMIT ?) b" BOARD_TABLES " ORDER BY b.run_id DESC",
               pager_limit(pager));
    } else {
        if (pager->begun)
            DB_ADD(p, " AND (t.score, t.run_id) < (?, ?)", db_real(pager->score),
                   db_int(pager->id));
        DB_ADD(p,
               " ORDER BY t.score DESC, t.run_id DESC LIMIT ?) b" BOARD_TABLES
               " ORDER BY b.score DESC, b.run_id DESC",
               pager_limit(pager));
    }
}

static bool is_simulated(const struct store_filter *f)
{
    return f->kind && strcmp(f->kind, "simulated") == 0;
}

static bool read_board(struct store *s, const struct store_board *board, const struct db_pieces *p,
                       const struct pager *pager, struct arena *a, struct store_board_rows *list,
                       struct err *err)
{
    struct db_rows rows;

    if (!names_begin(s, err) || !db_pieces_query(s->db, p, &rows, err))
        return false;
    READ_ALL(&rows, a, list, pager->limit, read_row(s, &rows, board->metric, a, &list->v[list->n]));
    if (list->n > 0 && db_next(&rows)) {
        const struct store_board_row *last = &list->v[list->n - 1];
        double score = metrics[board->metric].less_is_better ? -last->value : last->value;
        pager_next(pager, score, last->run.id, list->next);
    }
    return db_end(&rows, err);
}

static uint32_t board_hash(const struct store_board *b)
{
    struct buf text;

    buf_init(&text, 128);
    buf_addf(&text, "%d %lld %d %d", (int)b->metric, (long long)b->context_tokens, b->concurrency,
             b->newest);
    uint32_t h = filter_hash(pager_hash(3, text.p), &b->filter);
    buf_release(&text);
    return h;
}

bool store_board(struct store *s, const struct store_board *board, const struct store_page *page,
                 struct arena *a, struct store_board_rows *ret, struct err *err)
{
    struct pager pager;
    struct filter_ids ids;
    struct db_pieces p;
    struct store_board_rows list = {0};
    int64_t point;

    if (!pager_init(&pager, page, board_hash(board), err) ||
        !filter_resolve(s, &board->filter, a, &ids, err) || !add_groups(s, a, &ids, err) ||
        !find_point(s, is_simulated(&board->filter), board->metric, board->context_tokens,
                    board->concurrency, &point, err))
        return false;
    if (ids.nothing || !point) {
        *ret = list;
        return true;
    }
    db_pieces_init(&p);
    board_query(&p, board, &ids, point, &pager);
    bool fine = read_board(s, board, &p, &pager, a, &list, err);
    db_pieces_release(&p);
    if (fine)
        *ret = list;
    return fine;
}

/* ---- the best ---- */

#define BEST_COLUMNS                                                                               \
    "SELECT " BOARD_COLUMNS " FROM (SELECT t.point_id, t.run_id, t.score FROM best t"
#define BEST_TABLES                                                                                \
    ") i JOIN board b ON b.point_id = i.point_id AND b.run_id = i.run_id" BOARD_TABLES             \
    " ORDER BY i.score DESC, i.run_id DESC"

static bool read_best(struct store *s, struct db_rows *rows, enum store_metric metric,
                      struct arena *a, struct store_board_rows *ret, struct err *err)
{
    struct store_board_rows list = {0};

    READ_ALL(rows, a, &list, STORE_PAGE_MAX, read_row(s, rows, metric, a, &list.v[list.n]));
    if (!db_end(rows, err))
        return false;
    *ret = list;
    return true;
}

bool store_board_of_base(struct store *s, const char *base, enum store_metric metric,
                         struct arena *a, struct store_board_rows *ret, struct err *err)
{
    struct db_rows rows;
    int64_t id, point;

    if (!find_base(s, base, &id, err))
        return false;
    if (!id)
        return store_no_such(err, "model", base);
    return find_point(s, false, metric, -1, 0, &point, err) && names_begin(s, err) &&
           DB_QUERY(s->db, &rows, err,
                    BEST_COLUMNS " WHERE t.base_id = ? AND t.point_id = ? "
                                 "ORDER BY t.score DESC LIMIT ?" BEST_TABLES,
                    db_int(id), db_int(point), db_int(STORE_PAGE_MAX)) &&
           read_best(s, &rows, metric, a, ret, err);
}

bool store_board_of_hardware(struct store *s, const char *slug, enum store_metric metric,
                             struct arena *a, struct store_board_rows *ret, struct err *err)
{
    struct db_rows rows;
    struct store_hardware hardware;
    int64_t point;

    return store_hardware_get(s, slug, a, &hardware, err) &&
           find_point(s, false, metric, -1, 0, &point, err) && names_begin(s, err) &&
           DB_QUERY(s->db, &rows, err,
                    BEST_COLUMNS " WHERE t.hardware_id = (SELECT id FROM hardware WHERE slug = ?) "
                                 "AND t.point_id = ? ORDER BY t.score DESC LIMIT ?" BEST_TABLES,
                    db_text(hardware.slug), db_int(point), db_int(STORE_PAGE_MAX)) &&
           read_best(s, &rows, metric, a, ret, err);
}

/* ---- points ---- */

enum { POINTS_MAX = 500 };

/* One axis: the values at which something is ranked, the other axis left open. */
static bool read_axis(struct db_rows *rows, struct arena *a, int64_t **ret, size_t *ret_n,
                      struct err *err)
{
    int64_t *v = arena_array(a, POINTS_MAX, sizeof *v);
    size_t n = 0;

    while (n < POINTS_MAX && db_next(rows))
        v[n++] = db_get_int(rows);
    if (!db_end(rows, err))
        return false;
    *ret = v;
    *ret_n = n;
    return true;
}

bool store_board_points(struct store *s, enum store_metric metric, struct arena *a,
                        struct store_points *ret, struct err *err)
{
    struct db_rows rows;
    struct store_points points = {0};
    int64_t *levels;

    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT p.context_tokens FROM point p WHERE p.simulated = 0 AND p.metric = ? "
                  "AND p.concurrency = 0 AND EXISTS "
                  "(SELECT 1 FROM board b WHERE b.point_id = p.id) ORDER BY p.context_tokens",
                  db_int(metric)) ||
        !read_axis(&rows, a, &points.contexts, &points.context_count, err))
        return false;
    if (!DB_QUERY(s->db, &rows, err,
                  "SELECT p.concurrency FROM point p WHERE p.simulated = 0 AND p.metric = ? "
                  "AND p.context_tokens = -1 AND EXISTS "
                  "(SELECT 1 FROM board b WHERE b.point_id = p.id) ORDER BY p.concurrency",
                  db_int(metric)) ||
        !read_axis(&rows, a, &levels, &points.level_count, err))
        return false;
    points.levels = arena_array(a, points.level_count, sizeof *points.levels);
    for (size_t i = 0; i < points.level_count; i++)
        points.levels[i] = (int)levels[i];
    *ret = points;
    return true;
}
