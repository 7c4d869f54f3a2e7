/* cases_boards.c - boards against a plain computation of the same from the results. */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_parts.h"
#include "synthetic.h"

enum { RUNS = 40 };

struct oracle {
    struct result r[RUNS];
    const char *uid[RUNS];
    bool listed[RUNS];
};

static void publish_all(struct fixture *f, struct oracle *o)
{
    int64_t ada = fixture_user(f, "ada");

    for (size_t i = 0; i < RUNS; i++) {
        synthetic_run(1000 + i, &o->r[i]);
        if (i % 7 == 3)
            mem_set_string(&o->r[i].kind, "simulated");
        if (i % 9 == 5) /* such cells are not ranked */
            for (size_t k = 0; k < o->r[i].decode_count; k++)
                mem_set_string(&o->r[i].decode[k].token_source, "events");
        if (i % 11 == 2)
            o->r[i].prefill[0].marks |= MARK_CACHE_HIT;
        o->uid[i] = fixture_publish(f, ada, &o->r[i], STORE_RUN_PUBLIC);
        o->listed[i] = true;
    }
}

static void release_all(struct oracle *o)
{
    for (size_t i = 0; i < RUNS; i++)
        result_release(&o->r[i]);
}

static double better(enum store_metric m, double a, double b)
{
    if (!isfinite(b))
        return a;
    if (!isfinite(a))
        return b;
    return store_metric_less_is_better(m) == (b < a) ? b : a;
}

/* The best value of a run at a point; NAN: it has none. */
static double best_of(const struct result *r, enum store_metric m, int64_t context, int level)
{
    double best = NAN;

    if (m == STORE_PREFILL || m == STORE_TTFT) {
        for (size_t i = 0; i < r->prefill_count; i++) {
            const struct prefill_row *p = &r->prefill[i];
            if (p->status == STATUS_VALID && !(p->marks & MARK_CACHE_HIT) &&
                (context < 0 || p->context_tokens == context))
                best = better(m, best, m == STORE_TTFT ? p->ttft_ms.p50 : p->total_tok_s);
        }
        return best;
    }
    for (size_t i = 0; i < r->decode_count; i++) {
        const struct cell *c = &r->decode[i];
        if (c->status != STATUS_VALID || strcmp(c->token_source, "events") == 0 ||
            (context >= 0 && c->context_tokens != context) ||
            (level > 0 && c->concurrency != level) || (m == STORE_SINGLE && c->concurrency != 1))
            continue;
        best = better(m, best, m == STORE_PER_JOULE ? c->total_tok_s / c->power_w : c->total_tok_s);
    }
    return best;
}

static void check_board(struct fixture *f, const struct oracle *o, const struct store_board *b)
{
    bool simulated = b->filter.kind && strcmp(b->filter.kind, "simulated") == 0;
    bool seen[RUNS] = {false};
    struct store_page page = {.limit = 7};
    struct store_board_rows rows;
    double last = NAN;
    size_t n = 0, expected = 0;

    for (size_t i = 0; i < RUNS; i++)
        expected += o->listed[i] && (strcmp(o->r[i].kind, "simulated") == 0) == simulated &&
                    isfinite(best_of(&o->r[i], b->metric, b->context_tokens, b->concurrency));
    do {
        assert_fine(f, store_board(f->s, b, &page, &f->a, &rows, &f->err));
        for (size_t k = 0; k < rows.n; k++, n++) {
            const struct store_board_row *row = &rows.v[k];
            size_t i = 0;
            while (i < RUNS && strcmp(o->uid[i], row->run.uid) != 0)
                i++;
            assert_true(i < RUNS && o->listed[i] && !seen[i]);
            seen[i] = true;
            double value = best_of(&o->r[i], b->metric, b->context_tokens, b->concurrency);
            assert_true(fabs(row->value - value) <= 1e-9 * value);
            assert_true(isnan(last) || better(b->metric, last, row->value) == last);
            last = row->value;
            if (b->context_tokens >= 0)
                assert_int_equal(row->cell.context_tokens, b->context_tokens);
            if (b->concurrency > 0 && store_metric_has_concurrency(b->metric))
                assert_int_equal(row->cell.concurrency, b->concurrency);
            assert_int_equal(row->cell.status, STATUS_VALID);
        }
        page.after = arena_strdup(&f->a, rows.next);
    } while (*rows.next);
    if (n != expected)
        fail_msg("%s at %lld x %d: %zu rows, not %zu", store_metric_name(b->metric),
                 (long long)b->context_tokens, b->concurrency, n, expected);
}

static void check_boards(struct fixture *f, const struct oracle *o)
{
    static const int64_t contexts[] = {-1, 0, 16384, 131072, 777};
    static const int levels[] = {0, 1, 8, 128, 3};

    for (int m = 0; m < STORE_METRICS; m++)
        for (size_t i = 0; i < ARRAY_LEN(contexts); i++)
            for (size_t j = 0; j < ARRAY_LEN(levels); j++)
                for (int simulated = 0; simulated < 2; simulated++) {
                    struct store_board b = {.metric = (enum store_metric)m,
                                            .context_tokens = contexts[i],
                                            .concurrency = levels[j]};
                    b.filter.kind = simulated ? "simulated" : NULL;
                    if (store_metric_has_concurrency(b.metric) || j == 0)
                        check_board(f, o, &b);
                }
}

static void test_boards(void **state)
{
    struct fixture *f = *state;
    struct oracle o;

    publish_all(f, &o);
    check_boards(f, &o);
    for (size_t i = 0; i < RUNS; i += 3) {
        o.listed[i] = false;
        assert_fine(
            f, i % 2 ? store_run_delete(f->s, o.uid[i], &f->err)
                     : store_run_set_state(f->s, o.uid[i], STORE_RUN_WITHDRAWN, NULL, &f->err));
    }
    check_boards(f, &o);
    for (size_t i = 0; i < RUNS; i += 6) {
        o.listed[i] = true;
        assert_fine(f, store_run_set_state(f->s, o.uid[i], STORE_RUN_PUBLIC, NULL, &f->err));
    }
    check_boards(f, &o);
    assert_consistent(f);
    release_all(&o);
}

static void test_filtered(void **state)
{
    struct fixture *f = *state;
    struct oracle o;
    struct store_board_rows all, some;
    struct store_board board = {.metric = STORE_TOTAL, .context_tokens = -1};
    const struct store_page whole = {.limit = STORE_PAGE_MAX};

    publish_all(f, &o);
    assert_fine(f, store_board(f->s, &board, &whole, &f->a, &all, &f->err));
    for (size_t k = 0; k < 6; k++) {
        const struct store_run *r = &all.v[k].run;
        const struct store_filter filters[] = {
            {.base = r->base},
            {.model = r->model},
            {.organization = r->organization},
            {.hardware = r->hardware},
            {.engine = r->engine},
            {.quantization = r->quantization},
            {.user = "ada"},
            {.hardware_class = r->hardware_class},
        };
        for (size_t j = 0; j < ARRAY_LEN(filters); j++) {
            size_t expected = 0;
            board.filter = filters[j];
            for (size_t i = 0; i < all.n; i++) {
                const struct store_run *c = &all.v[i].run;
                const char *const pairs[][2] = {{c->base, r->base},
                                                {c->model, r->model},
                                                {c->organization, r->organization},
                                                {c->hardware, r->hardware},
                                                {c->engine, r->engine},
                                                {c->quantization, r->quantization},
                                                {"", ""},
                                                {c->hardware_class, r->hardware_class}};
                expected += strcmp(pairs[j][0], pairs[j][1]) == 0;
            }
            assert_fine(f, store_board(f->s, &board, &whole, &f->a, &some, &f->err));
            assert_int_equal(some.n, expected);
        }
    }
    board.filter = (struct store_filter){.verified = true};
    assert_fine(f, store_board(f->s, &board, &whole, &f->a, &some, &f->err));
    assert_int_equal(some.n, 0);
    assert_fine(f, store_run_set_verified(f->s, all.v[3].run.uid, true, &f->err));
    assert_fine(f, store_board(f->s, &board, &whole, &f->a, &some, &f->err));
    assert_int_equal(some.n, 1);
    assert_string_equal(some.v[0].run.uid, all.v[3].run.uid);
    board.filter = (struct store_filter){0};
    board.newest = true;
    assert_fine(f, store_board(f->s, &board, &whole, &f->a, &some, &f->err));
    assert_int_equal(some.n, all.n);
    for (size_t i = 1; i < some.n; i++)
        assert_true(some.v[i].run.id < some.v[i - 1].run.id);
    release_all(&o);
}

static void test_best(void **state)
{
    struct fixture *f = *state;
    struct oracle o;
    struct store_board_rows all, best;
    struct store_board board = {.metric = STORE_SINGLE, .context_tokens = -1};
    const struct store_page whole = {.limit = STORE_PAGE_MAX};

    publish_all(f, &o);
    for (int round = 0; round < 2; round++) {
        assert_fine(f, store_board(f->s, &board, &whole, &f->a, &all, &f->err));
        for (size_t k = 0; k < all.n; k++) {
            const char *base = all.v[k].run.base, *slug = all.v[k].run.hardware;
            double first = NAN;
            for (size_t i = 0; i < all.n && isnan(first); i++)
                if (strcmp(all.v[i].run.base, base) == 0 &&
                    strcmp(all.v[i].run.hardware, slug) == 0)
                    first = all.v[i].value;
            for (int by_base = 0; by_base < 2; by_base++) {
                size_t found = 0;
                assert_fine(f, by_base ? store_board_of_base(f->s, base, STORE_SINGLE, &f->a, &best,
                                                             &f->err)
                                       : store_board_of_hardware(f->s, slug, STORE_SINGLE, &f->a,
                                                                 &best, &f->err));
                for (size_t i = 0; i < best.n; i++) {
                    if (strcmp(best.v[i].run.base, base) == 0 &&
                        strcmp(best.v[i].run.hardware, slug) == 0) {
                        found++;
                        assert_true(best.v[i].value == first);
                    }
                    assert_true(i == 0 || best.v[i].value <= best.v[i - 1].value);
                }
                assert_int_equal(found, 1);
            }
        }
        assert_fine(f, store_run_delete(f->s, all.v[0].run.uid, &f->err));
        assert_fine(f, store_run_delete(f->s, all.v[1].run.uid, &f->err));
    }
    assert_fails(f, ERR_NOT_FOUND,
                 store_board_of_base(f->s, "none", STORE_TOTAL, &f->a, &best, &f->err));
    assert_consistent(f);
    release_all(&o);
}

static void test_points(void **state)
{
    static const int64_t contexts[] = {-1, 0, 16384, 32768, 65536, 131072};
    static const int levels[] = {0, 1, 2, 4, 8, 16, 32};
    struct fixture *f = *state;
    struct oracle o;
    struct store_points points;

    assert_fine(f, store_board_points(f->s, STORE_TOTAL, &f->a, &points, &f->err));
    assert_int_equal(points.context_count + points.level_count, 0);
    publish_all(f, &o);
    assert_fine(f, store_board_points(f->s, STORE_TOTAL, &f->a, &points, &f->err));
    assert_int_equal(points.context_count, ARRAY_LEN(contexts));
    assert_memory_equal(points.contexts, contexts, sizeof contexts);
    assert_int_equal(points.level_count, ARRAY_LEN(levels));
    assert_memory_equal(points.levels, levels, sizeof levels);
    assert_fine(f, store_board_points(f->s, STORE_TTFT, &f->a, &points, &f->err));
    assert_int_equal(points.context_count, ARRAY_LEN(contexts) - 1); /* nothing at 0 */
    assert_int_equal(points.level_count, 1);
    release_all(&o);
}

static void test_metric_names(void **state)
{
    (void)state;
    for (int i = 0; i < STORE_METRICS; i++) {
        enum store_metric m = STORE_METRICS;
        assert_true(store_metric_from_name(store_metric_name((enum store_metric)i), &m));
        assert_int_equal(m, i);
    }
    enum store_metric m;
    assert_false(store_metric_from_name("speed", &m));
}

const struct CMUnitTest board_tests[] = {
    TEST(test_boards),
    TEST(test_filtered),
    TEST(test_best),
    TEST(test_points),
    cmocka_unit_test(test_metric_names),
    {0},
};
