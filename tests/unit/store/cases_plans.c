/* cases_plans.c - no page's query walks over all runs, cells, documents or board rows: each
 * statement that a call makes is explained by the database itself. */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_parts.h"
#include "synthetic.h"

struct watched {
    struct arena *a;
    struct {
        char *sql;
        struct db_value values[32];
        size_t n;
    } v[64];
    size_t n;
};

static void watch(void *context, const char *sql, const struct db_value *values, size_t n)
{
    struct watched *w = context;

    if (w->n == ARRAY_LEN(w->v) || n > ARRAY_LEN(w->v[0].values) || strncmp(sql, "EXPLAIN", 7) == 0)
        return;
    w->v[w->n].sql = arena_strdup(w->a, sql);
    w->v[w->n].n = n;
    for (size_t i = 0; i < n; i++) {
        w->v[w->n].values[i] = values[i];
        if (values[i].type == DB_TEXT || values[i].type == DB_BLOB)
            w->v[w->n].values[i].p = arena_strndup(w->a, values[i].p, values[i].n);
    }
    w->n++;
}

/* Subqueries of at most a page have these names; everything else is a table. A list of groups by
 * name walks along an index until the page is full. Sums have eight rows; models are counted by
 * the first page. */
static bool is_page(const char *line, const char *sql)
{
    static const char *const small[] = {"SCAN i", "SCAN tally", "SCAN model"};
    for (size_t i = 0; i < ARRAY_LEN(small); i++)
        if (strcmp(line, small[i]) == 0)
            return true;
    if (strncmp(line, "SCAN t USING INDEX ", 19) == 0)
        return strstr(sql, "WHERE t.run_count > 0 ORDER BY t.") && strstr(sql, "LIMIT ?");
    return strcmp(line, "SCAN b") == 0 && strstr(sql, ") b JOIN run r") != NULL;
}

static void check_sqlite_line(const char *call, const char *sql, char *line, int *sorts)
{
    line += strspn(line, "|-`  ");
    *sorts += strstr(line, "TEMP B-TREE FOR ORDER BY") != NULL;
    if (strncmp(line, "SCAN ", 5) != 0 || is_page(line, sql) ||
        strstr(line, "VIRTUAL TABLE INDEX") || strcmp(line, "SCAN CONSTANT ROW") == 0)
        return;
    fail_msg("%s: %s\n%s", call, line, sql);
}

static void check_plan(struct fixture *f, const char *call, const char *sql,
                       const struct db_value *values, size_t n)
{
    static const char *const large[] = {"run",   "cell",  "board",        "document", "best",
                                        "audit", "flag",  "search_entry", "session",  "api_key",
                                        "users", "point", "replay",       "rate"};
    struct buf plan;
    int sorts = 0;

    buf_init(&plan, 64 << 10);
    assert_fine(f, db_explain(f->s->db, sql, values, n, &plan, &f->err));
    if (fixture_is_postgres()) {
        for (size_t i = 0; i < ARRAY_LEN(large); i++) {
            char text[64];
            snprintf(text, sizeof text, "Seq Scan on %s ", large[i]);
            if (strstr(plan.p, text))
                fail_msg("%s: %s\n%s", call, sql, plan.p);
        }
    } else {
        char *next;
        for (char *line = plan.p; *line; line = next) {
            next = strchr(line, '\n');
            *next++ = '\0';
            check_sqlite_line(call, sql, line, &sorts);
        }
        if (sorts > 1) /* the page itself, once more */
            fail_msg("%s sorts more than a page: %s", call, sql);
    }
    buf_release(&plan);
}

static struct watched *watched;

static void begin(struct fixture *f)
{
    watched = mem_alloc(sizeof *watched);
    watched->a = &f->a;
    db_watch(f->s->db, watch, watched);
}

static void end(struct fixture *f, const char *call)
{
    db_watch(f->s->db, NULL, NULL);
    assert_true(watched->n > 0);
    for (size_t i = 0; i < watched->n; i++)
        if (strncmp(watched->v[i].sql, "SELECT", 6) == 0)
            check_plan(f, call, watched->v[i].sql, watched->v[i].values, watched->v[i].n);
    free(watched);
}

#define CHECKED(f, call)                                                                           \
    do {                                                                                           \
        begin(f);                                                                                  \
        assert_fine(f, call);                                                                      \
        end(f, #call);                                                                             \
    } while (0)

static void plans_of_lists(struct fixture *f, const struct store_run *run)
{
    struct store *s = f->s;
    struct arena *a = &f->a;
    struct err *err = &f->err;
    struct store_page page = {.limit = 3};
    struct store_runs runs;
    struct store_board_rows rows;
    const struct store_filter filters[] = {
        {0},
        {.base = run->base},
        {.model = run->model},
        {.hardware = run->hardware},
        {.card = "rtx-3090-24gb"},
        {.organization = run->organization},
        {.engine = run->engine},
        {.quantization = run->quantization},
        {.base = run->base, .hardware = run->hardware},
        {.base = run->base, .hardware = run->hardware, .engine = run->engine},
        {.user = "ada"},
    };
    for (size_t i = 0; i < ARRAY_LEN(filters); i++) {
        CHECKED(f, store_runs(s, &filters[i], STORE_RUNS_NEWEST, &page, true, a, &runs, err));
        CHECKED(f, store_runs(s, &filters[i], STORE_RUNS_FASTEST, &page, true, a, &runs, err));
        for (int newest = 0; newest < 2; newest++) {
            struct store_board board = {.metric = STORE_TOTAL,
                                        .context_tokens = -1,
                                        .filter = filters[i],
                                        .newest = newest && i == 0};
            struct store_page next = page;
            CHECKED(f, store_board(s, &board, &next, a, &rows, err));
            next.after = rows.next;
            if (*rows.next)
                CHECKED(f, store_board(s, &board, &next, a, &rows, err));
        }
    }
    CHECKED(f, store_runs(s, &filters[0], STORE_RUNS_FASTEST, &page, true, a, &runs, err));
    page.after = arena_strdup(a, runs.next);
    CHECKED(f, store_runs(s, &filters[0], STORE_RUNS_FASTEST, &page, true, a, &runs, err));
    page.after = NULL;
    CHECKED(f, store_runs_of(s, run->owner, &page, a, &runs, err));
}

static void plans_of_one_run(struct fixture *f, const struct store_run *run)
{
    struct store *s = f->s;
    struct arena *a = &f->a;
    struct err *err = &f->err;
    struct store_board_rows rows;
    struct store_cells cells;
    struct store_flags flags;
    struct store_revisions history;
    struct buf document;

    buf_init(&document, RESULT_MAX_BYTES);
    CHECKED(f, store_run_cells(s, run->id, a, &cells, err));
    CHECKED(f, store_run_flags(s, run->id, a, &flags, err));
    CHECKED(f, store_run_history(s, run->id, a, &history, err));
    CHECKED(f, store_run_document(s, run->uid, 0, &document, err));
    buf_release(&document);
    CHECKED(f, store_board_of_base(s, run->base, STORE_SINGLE, a, &rows, err));
    CHECKED(f, store_board_of_hardware(s, run->hardware, STORE_SINGLE, a, &rows, err));
}

static void plans_of_groups(struct fixture *f, const struct store_run *run)
{
    struct store *s = f->s;
    struct arena *a = &f->a;
    struct err *err = &f->err;
    const struct store_page page = {.limit = 3};
    struct store_model model;
    struct store_models models;
    struct store_organization organization;
    struct store_hardware hardware;
    struct store_founds found;
    struct store_points points;
    struct store_organizations organizations;
    struct store_hardwares hardwares;
    struct store_choices names;
    struct store_counts counts;
    int64_t version;

    for (int order = STORE_BY_RUNS; order <= STORE_BY_SPEED; order++) {
        CHECKED(f, store_bases(s, NULL, order, &page, a, &models, err));
        CHECKED(f, store_organizations(s, order, &page, a, &organizations, err));
        CHECKED(f, store_hardwares(s, NULL, NULL, order, &page, a, &hardwares, err));
    }
    CHECKED(f, store_bases(s, run->organization, STORE_BY_RUNS, &page, a, &models, err));
    CHECKED(f, store_hardwares(s, NULL, "rtx-3090-24gb", STORE_BY_NAME, &page, a, &hardwares, err));
    CHECKED(f, store_board_points(s, STORE_TOTAL, a, &points, err));
    CHECKED(f, store_engines(s, a, &names, err));
    CHECKED(f, store_quantizations(s, a, &names, err));
    CHECKED(f, store_counts(s, &counts, err));
    CHECKED(f, store_version(s, &version, err));
    CHECKED(f, store_base_get(s, run->base, a, &model, err));
    CHECKED(f, store_base_models(s, run->base, a, &models, err));
    CHECKED(f, store_organization_get(s, run->organization, a, &organization, err));
    CHECKED(f, store_hardware_get(s, run->hardware, a, &hardware, err));
    CHECKED(f, store_search(s, "qwen 3090", 5, a, &found, err));
}

static void plans_of_accounts(struct fixture *f, const struct store_run *run)
{
    struct store *s = f->s;
    struct arena *a = &f->a;
    struct err *err = &f->err;
    const struct store_page page = {.limit = 3};
    struct store_user user;
    struct store_session session;
    struct store_audit audit;
    struct store_queue queue;
    struct store_users users;
    struct store_reports reports;
    struct store_keys keys;
    int64_t waiting;
    const struct store_audit_filter of_run = {.target = run->uid}, by_ada = {.user = "ada"},
                                    added = {.action = "run.add"};
    char token[STORE_TOKEN_MAX], key[STORE_KEY_TEXT_MAX];
    assert_fine(f, store_session_create(s, run->owner, 1000, token, err));
    assert_fine(f, store_key_create(s, run->owner, "box", key, err));
    CHECKED(f, store_session_find(s, token, a, &session, err));
    CHECKED(f, store_key_find(s, key, a, &user, err));
    CHECKED(f, store_keys(s, run->owner, a, &keys, err));
    CHECKED(f, store_user_by_name(s, "ada", a, &user, err));
    CHECKED(f, store_audit(s, &of_run, &page, a, &audit, err));
    CHECKED(f, store_audit(s, &by_ada, &page, a, &audit, err));
    CHECKED(f, store_audit(s, &added, &page, a, &audit, err));
    CHECKED(f, store_users(s, "a", &page, a, &users, err));
    CHECKED(f, store_queue_count(s, &waiting, err));
    CHECKED(f, store_run_reports(s, run->id, a, &reports, err));
    CHECKED(f, store_queue(s, &page, a, &queue, err));
}

static void test_plans(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    const char *uid = NULL;
    struct store_run run;

    for (uint64_t i = 0; i < 30; i++)
        uid = fixture_run(f, ada, i);
    if (fixture_is_postgres()) /* for a small table it would not look at an index */
        assert_fine(f, DB_RUN(f->s->db, &f->err, "SET enable_seqscan = off"));
    CHECKED(f, store_run_get(f->s, uid, &f->a, &run, &f->err));
    plans_of_lists(f, &run);
    plans_of_one_run(f, &run);
    plans_of_groups(f, &run);
    plans_of_accounts(f, &run);
}

/* ---- work ---- */

/* What pages ask for, of which there is enough in the smaller store too. */
struct asked {
    struct fixture *f;
    struct store_run run; /* an early one */
    int64_t owner;
};

static bool ask_runs(struct asked *q, const struct store_filter *filter, enum store_run_order order)
{
    struct store_page page = {.limit = 4};
    struct store_runs list;
    struct fixture *f = q->f;
    bool fine = store_runs(f->s, filter, order, &page, false, &f->a, &list, &f->err);

    page.after = list.next;
    return fine && store_runs(f->s, filter, order, &page, false, &f->a, &list, &f->err);
}

static bool newest(struct asked *q, const struct store_filter *filter)
{
    return ask_runs(q, filter, STORE_RUNS_NEWEST);
}

static bool fastest(struct asked *q, const struct store_filter *filter)
{
    return ask_runs(q, filter, STORE_RUNS_FASTEST);
}

static bool ask_board(struct asked *q, const struct store_filter *filter, bool by_age)
{
    struct store_board board = {STORE_TOTAL, -1, 0, *filter, by_age};
    struct store_page page = {.limit = 4};
    struct store_board_rows rows;
    struct fixture *f = q->f;
    bool fine = store_board(f->s, &board, &page, &f->a, &rows, &f->err);

    page.after = rows.next;
    return fine && store_board(f->s, &board, &page, &f->a, &rows, &f->err);
}

static bool board_best(struct asked *q, const struct store_filter *filter)
{
    return ask_board(q, filter, false);
}

static bool board_newest(struct asked *q, const struct store_filter *filter)
{
    return ask_board(q, filter, true);
}

static bool one_run(struct asked *q, const struct store_filter *filter)
{
    (void)filter;
    struct fixture *f = q->f;
    struct store_run run;
    struct store_cells cells;
    struct store_flags flags;
    struct store_revisions history;

    return store_run_get(f->s, q->run.uid, &f->a, &run, &f->err) &&
           store_run_cells(f->s, run.id, &f->a, &cells, &f->err) &&
           store_run_flags(f->s, run.id, &f->a, &flags, &f->err) &&
           store_run_history(f->s, run.id, &f->a, &history, &f->err);
}

static bool own_runs(struct asked *q, const struct store_filter *filter)
{
    (void)filter;
    struct store_page page = {.limit = 4};
    struct store_runs list;

    return store_runs_of(q->f->s, q->owner, &page, &q->f->a, &list, &q->f->err);
}

static bool queue(struct asked *q, const struct store_filter *filter)
{
    (void)filter;
    struct store_page page = {.limit = 4};
    struct store_queue list;

    return store_queue(q->f->s, &page, &q->f->a, &list, &q->f->err);
}

static bool audit(struct asked *q, const struct store_filter *filter)
{
    (void)filter;
    const struct store_audit_filter filter_of_run = {.target = q->run.uid};
    struct store_audit list;

    return store_audit(q->f->s, &filter_of_run, NULL, &q->f->a, &list, &q->f->err);
}

static bool choices(struct asked *q, const struct store_filter *filter)
{
    (void)filter;
    struct fixture *f = q->f;
    struct store_points points;
    struct store_choices names;
    struct store_counts counts;
    int64_t version;

    return store_board_points(f->s, STORE_TOTAL, &f->a, &points, &f->err) &&
           store_engines(f->s, &f->a, &names, &f->err) &&
           store_quantizations(f->s, &f->a, &names, &f->err) &&
           store_counts(f->s, &counts, &f->err) && store_version(f->s, &version, &f->err);
}

/* What is rare has a few early runs, and nothing new. */
static const struct {
    const char *name;
    bool (*ask)(struct asked *q, const struct store_filter *filter);
    struct store_filter filter;
} asked[] = {
    {"all, newest", newest, {0}},
    {"all, fastest", fastest, {0}},
    {"a rare engine", newest, {.engine = "rare"}},
    {"a rare quantization", newest, {.quantization = "rare"}},
    {"a rare model", newest, {.model = "rare/rare-1b"}},
    {"a rare group", newest, {.base = "rare-1b"}},
    {"a rare organization", newest, {.organization = "rare"}},
    {"a rare hardware", newest, {.hardware = "rare-8gb"}},
    {"a rare card", newest, {.card = "rare-8gb"}},
    {"a rare engine, fastest", fastest, {.engine = "rare"}},
    {"a rare quantization, fastest", fastest, {.quantization = "rare"}},
    {"a rare model, fastest", fastest, {.model = "rare/rare-1b"}},
    {"a rare group, fastest", fastest, {.base = "rare-1b"}},
    {"a rare organization, fastest", fastest, {.organization = "rare"}},
    {"a rare hardware, fastest", fastest, {.hardware = "rare-8gb"}},
    {"a rare card, fastest", fastest, {.card = "rare-8gb"}},
    {"a rare user, fastest", fastest, {.user = "bea"}},
    {"board", board_best, {0}},
    {"board, newest", board_newest, {0}},
    {"board of an engine", board_best, {.engine = "vllm"}},
    {"board of a rare group", board_best, {.base = "rare-1b"}},
    {"board of a rare card", board_best, {.card = "rare-8gb"}},
    {"board of a rare organization", board_best, {.organization = "rare"}},
    {"board of a rare model", board_best, {.model = "rare/rare-1b"}},
    {"board of a rare hardware", board_best, {.hardware = "rare-8gb"}},
    {"board of a rare engine", board_best, {.engine = "rare"}},
    {"board of a rare quantization", board_best, {.quantization = "rare"}},
    {"board of a rare pair", board_best, {.base = "rare-1b", .hardware = "rare-8gb"}},
    {"a run", one_run, {0}},
    {"a user's runs", own_runs, {0}},
    {"the queue", queue, {0}},
    {"a run's audit", audit, {0}},
    {"choices of forms", choices, {0}},
};

enum { FEW_RUNS = 40, MANY_RUNS = 640 };

enum { RARE_RUNS = 6 }; /* the first ones */

static void make_rare(struct result *r)
{
    mem_set_string(&r->subject.model, "rare/Rare-1B");
    mem_set_string(&r->subject.quantization, "rare");
    mem_set_string(&r->engine.name, "rare");
    machine_release(&r->hardware);
    r->hardware = (struct machine){.type = mem_strdup("DISCRETE_GPU"), .gpu_count = 1};
    r->hardware.gpus[0].name = mem_strdup("Rare");
    r->hardware.gpus[0].vram_bytes = INT64_C(8) << 30;
}

static void publish_some(struct fixture *f, int64_t owner, uint64_t from, uint64_t to)
{
    assert_fine(f, store_begin(f->s, &f->err));
    for (uint64_t i = from; i < to; i++) {
        struct result r;
        synthetic_run(i, &r);
        if (i < RARE_RUNS)
            make_rare(&r);
        fixture_publish(f, owner, &r, STORE_RUN_PUBLIC);
        result_release(&r);
    }
    assert_fine(f, store_commit(f->s, &f->err));
}

static int64_t work_of(struct asked *q, size_t i)
{
    int64_t before = db_steps(q->f->s->db);

    assert_fine(q->f, asked[i].ask(q, &asked[i].filter));
    return db_steps(q->f->s->db) - before;
}

/* Sixteen times the runs, and no page is more work. */
static void test_growth(void **state)
{
    struct fixture *f = *state;
    struct asked q = {.f = f, .owner = fixture_user(f, "ada")};
    int64_t few[ARRAY_LEN(asked)];
    struct store_filter none = {0};
    struct store_page page = {.limit = STORE_PAGE_MAX};
    struct store_runs list;

    publish_some(f, fixture_user(f, "bea"), 0, RARE_RUNS);
    publish_some(f, q.owner, RARE_RUNS, FEW_RUNS);
    assert_fine(f, store_runs(f->s, &none, STORE_RUNS_NEWEST, &page, false, &f->a, &list, &f->err));
    q.run = list.v[list.n - 1 - RARE_RUNS];
    for (size_t i = 0; i < ARRAY_LEN(asked); i++)
        few[i] = work_of(&q, i);
    publish_some(f, q.owner, FEW_RUNS, MANY_RUNS);
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        int64_t many = work_of(&q, i);
        assert_true(few[i] > 0);
        if (many > few[i] * 3 / 2 + 200)
            fail_msg("%s: %lld steps with %d runs, %lld with %d", asked[i].name, (long long)few[i],
                     FEW_RUNS, (long long)many, MANY_RUNS);
    }
    assert_consistent(f);
}

const struct CMUnitTest plan_tests[] = {TEST(test_plans), {0}};

/* Only SQLite counts its steps. */
const struct CMUnitTest growth_tests[] = {TEST(test_growth), {0}};
