/* Tables of step times: between points, outside them, filled from neighbours; causes; JSON.
 * Expected values worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "engine/profile.h"
#include "near.h"

#define CLOSE 1e-9

static void set_grid(struct grid *g, size_t contexts, size_t batches, const double *context,
                     const double *batch, const double *ns)
{
    *g = (struct grid){.contexts = contexts, .batches = batches};
    memcpy(g->context, context, contexts * sizeof *context);
    memcpy(g->batch, batch, batches * sizeof *batch);
    for (size_t c = 0; c < contexts; c++)
        memcpy(g->ns[c], ns + c * batches, batches * sizeof *ns);
}

static void test_between_and_outside(void **state)
{
    static const double context[] = {0, 1000, 3000}, batch[] = {1, 2, 6};
    static const double ns[] = {10, 12, 20, /**/ 20, 24, 40, /**/ 60, 64, 80};
    static const struct {
        double context, batch, ns;
    } cases[] = {
        {0, 1, 10},      {1000, 6, 40}, {3000, 2, 64}, {0, 4, 16}, /* 12 + 8 x 2/4 */
        {500, 2, 18},                                              /* (12 + 24) / 2 */
        {2000, 4, 52},                                             /* (32 + 72) / 2 */
        {0, 8, 24},      /* the last slope, 2 a sequence */
        {4000, 1, 80},   /* the last slope, 20 in a thousand tokens */
        {4000, 8, 108},  /* rows 48 and 88: 40 in 2000 */
        {1000, 0.5, 18}, /* the first slope, 4 a sequence, half of it back */
        {-500, 1, 5},    /* 10 - 5 */
        {-50000, 1, 1},  /* never below a tenth */
    };
    struct grid g;
    (void)state;
    set_grid(&g, 3, 3, context, batch, ns);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_near(grid_at(&g, cases[i].context, cases[i].batch), cases[i].ns, CLOSE);
}

/* A measured dip does not make larger batches or contexts free. */
static void test_outside_a_fall(void **state)
{
    static const double context[] = {0, 1000}, batch[] = {1, 2};
    static const double ns[] = {10, 8, /**/ 9, 7};
    struct grid g;
    (void)state;
    set_grid(&g, 2, 2, context, batch, ns);
    assert_near(grid_at(&g, 0, 1.5), 9, CLOSE);
    assert_near(grid_at(&g, 0, 64), 8, CLOSE);
    assert_near(grid_at(&g, 9000, 1), 9, CLOSE);
    assert_near(grid_at(&g, 0, 0.5), 10, CLOSE);
}

static void test_single_points(void **state)
{
    static const double context[] = {0, 1000}, batch[] = {4, 8}, ns[] = {10, 30};
    struct grid g;
    (void)state;
    set_grid(&g, 1, 1, context, batch, ns);
    assert_near(grid_at(&g, 70000, 128), 10, CLOSE);
    set_grid(&g, 2, 1, context, batch, ns);
    assert_near(grid_at(&g, 500, 128), 20, CLOSE);
    set_grid(&g, 1, 2, context, batch, ns);
    assert_near(grid_at(&g, 500, 6), 20, CLOSE);
}

static void test_complete(void **state)
{
    static const double context[] = {0, 1000, 2000, 4000}, batch[] = {1, 2, 4, 8};
    static const double ns[] = {
        10,  NAN, 16,  NAN, /* 12 between, 24 beyond */
        NAN, NAN, NAN, NAN, /* half way between the rows around it */
        NAN, 30,  NAN, NAN, /* the shape of the first row, times 30 / 12 */
        NAN, NAN, NAN, NAN, /* the slope of the two above: as far again */
    };
    static const double full[4][4] = {
        {10, 12, 16, 24}, {17.5, 21, 28, 42}, {25, 30, 40, 60}, {40, 48, 64, 96}};
    struct grid g;
    (void)state;
    set_grid(&g, 4, 4, context, batch, ns);
    grid_complete(&g);
    for (size_t c = 0; c < 4; c++)
        for (size_t b = 0; b < 4; b++)
            assert_near(g.ns[c][b], full[c][b], CLOSE);
}

static void test_complete_from_little(void **state)
{
    static const double context[] = {0, 1000}, batch[] = {1, 2};
    static const double one[] = {NAN, NAN, /**/ NAN, 30}, each[] = {10, NAN, /**/ NAN, 30};
    static const double none[] = {NAN, NAN, /**/ NAN, NAN};
    struct grid g;
    (void)state;
    set_grid(&g, 2, 2, context, batch, one);
    grid_complete(&g);
    for (size_t i = 0; i < 4; i++)
        assert_near(g.ns[i / 2][i % 2], 30, CLOSE);
    set_grid(&g, 2, 2, context, batch, each); /* no row has a shape: it costs the same */
    grid_complete(&g);
    assert_near(g.ns[0][1], 10, CLOSE);
    assert_near(g.ns[1][0], 30, CLOSE);
    set_grid(&g, 2, 2, context, batch, none);
    grid_complete(&g);
    assert_true(isnan(g.ns[0][0]) && isnan(g.ns[1][1]));
}

static void test_prefill(void **state)
{
    static const struct {
        double from, to, ns;
    } cases[] = {
        {0, 500, 500},     {0, 1000, 1000}, {0, 2000, 3000},    {1000, 2000, 2000},
        {500, 1500, 1500}, {0, 3000, 5000}, {2000, 4000, 4000}, {700, 700, 0},
    };
    struct profile *p = mem_alloc(sizeof *p);
    (void)state;
    p->prefill = (struct curve){.count = 2, .tokens = {1000, 2000}, .ns = {1000, 3000}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_near(profile_prefill_ns(p, cases[i].from, cases[i].to), cases[i].ns, CLOSE);
    free(p);
}

static void test_cause(void **state)
{
    static const struct {
        int requests;
        double mean_prompt;
        int found; /* index, -1: none */
    } cases[] = {
        {1, 131072, 0},  {1, 139264, 1},  {1, 135000, 0}, /* both are near enough: the nearer */
        {1, 135300, 1},  {1, 150000, 1},  {1, 118000, 0}, /* within a tenth */
        {1, 117000, -1}, {1, 160000, -1}, {2, 131072, -1}, {8, 0, 2},
        {8, 512, 2},     {8, 513, -1},    {7, 0, -1},
    };
    struct profile *p = mem_alloc(sizeof *p);
    (void)state;
    p->causes[0] = (struct cause){.context_tokens = 131072, .concurrency = 1};
    p->causes[1] = (struct cause){.context_tokens = 139264, .concurrency = 1};
    p->causes[2] = (struct cause){.context_tokens = 0, .concurrency = 8};
    p->cause_count = 3;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct cause *c = profile_cause(p, cases[i].requests, cases[i].mean_prompt);
        assert_ptr_equal(c, cases[i].found < 0 ? NULL : &p->causes[cases[i].found]);
    }
    free(p);
}

static void test_json(void **state)
{
    static const double context[] = {0, 1000}, batch[] = {1}, ns[] = {1234567.4, 2e6};
    struct profile *p = mem_alloc(sizeof *p);
    struct buf out;
    struct err err = {0};
    double v;
    (void)state;

    memcpy(p->name, "a \"name\"", 9);
    p->kv_tokens = 65536;
    p->prefix_cache = true;
    set_grid(&p->decode, 2, 1, context, batch, ns);
    p->warm = p->decode;
    p->prefill = (struct curve){.count = 1, .tokens = {1000}, .ns = {5e8}};
    p->causes[0] = (struct cause){.context_tokens = 1000, .concurrency = 8, .max_running = 6};
    p->causes[1] = (struct cause){.concurrency = 1, .hold_from_s = 29.5, .hold_until_s = 32};
    p->cause_count = 2;
    buf_init(&out, 1 << 16);
    profile_write_json(p, &out);
    json_t *root = json_parse(out.p, out.len, "profile", &err);
    assert_non_null(root);
    assert_string_equal(json_string_at(root, "name"), "a \"name\"");
    assert_true(json_is_true(json_at(root, "prefix_cache")));
    assert_true(json_number_at(root, "kv_tokens", &v) && v == 65536);
    assert_true(json_number_at(root, "decode.step_ms.0.0", &v) && v == 1.234567);
    assert_true(json_number_at(root, "decode.contexts.1", &v) && v == 1000);
    assert_true(json_number_at(root, "warm.step_ms.1.0", &v) && v == 2);
    assert_true(json_number_at(root, "prefill.ms.0", &v) && v == 500);
    assert_true(json_number_at(root, "causes.0.max_running", &v) && v == 6);
    assert_null(json_at(root, "causes.0.hold_s"));
    assert_true(json_number_at(root, "causes.1.hold_s.0", &v) && v == 29.5);
    json_decref(root);
    buf_release(&out);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_between_and_outside),
        cmocka_unit_test(test_outside_a_fall),
        cmocka_unit_test(test_single_points),
        cmocka_unit_test(test_complete),
        cmocka_unit_test(test_complete_from_little),
        cmocka_unit_test(test_prefill),
        cmocka_unit_test(test_cause),
        cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
