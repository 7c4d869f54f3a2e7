/* Presets, lists, the model's limit, time and order; expected values worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/num.h"
#include "model/plan.h"

enum { K = 1024 };

/* "0,16K,32K | 1,2 | 8K" */
static const char *shape(const struct plan *p)
{
    static char text[1024];
    struct buf b;
    char n[NUM_TEXT_MAX];
    buf_init(&b, sizeof text - 1);
    for (size_t i = 0; i < p->context_count; i++)
        buf_addf(&b, "%s%s", i ? "," : "", num_size_text(n, p->contexts[i]));
    buf_adds(&b, " | ");
    for (size_t i = 0; i < p->level_count; i++)
        buf_addf(&b, "%s%d", i ? "," : "", p->levels[i]);
    buf_adds(&b, " | ");
    for (size_t i = 0; i < p->prefill_count; i++)
        buf_addf(&b, "%s%s", i ? "," : "", num_size_text(n, p->prefill[i]));
    memcpy(text, b.p, b.len + 1);
    buf_release(&b);
    return text;
}

static void test_presets(void **state)
{
    static const struct {
        const char *name, *shape;
        int64_t seconds;
        int repeats;
    } cases[] = {
        {"quick", "0,8K | 1,2,4,8 | 8K", 10, 1},
        {"standard", "0,16K,32K,64K,128K | 1,2,4,8,16,32,64,128 | 8K,16K,32K,64K,128K", 30, 1},
        {"full",
         "0,4K,8K,16K,32K,48K,64K,96K,128K | 1,2,3,4,6,8,12,16,24,32,48,64,96,128 | "
         "2K,4K,8K,16K,32K,48K,64K,96K,128K",
         60, 3},
    };
    struct plan p;
    struct err err = {0};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        plan_init(&p);
        p.budget_ns = 7;
        assert_true(plan_preset(&p, cases[i].name, &err));
        assert_string_equal(shape(&p), cases[i].shape);
        assert_int_equal(p.duration_ns, cases[i].seconds * NS_PER_S);
        assert_int_equal(p.settle_ns, 2 * NS_PER_S);
        assert_int_equal(p.repeats, cases[i].repeats);
        assert_string_equal(p.preset, cases[i].name);
        assert_int_equal(p.budget_ns, 7); /* the rest is left */
    }
    plan_init(&p);
    assert_string_equal(shape(&p), cases[1].shape);
    assert_null(p.preset);
    assert_int_equal(p.max_output, 0);
    assert_false(plan_preset(&p, "fast", &err));
    assert_string_equal(err.text, "--preset: 'fast' is not one of quick, standard, full");
}

static void test_context_lists(void **state)
{
    static const struct {
        const char *text;
        bool zero;
        const char *shape, *error;
    } cases[] = {
        {"0,16k,32k", true, "0,16K,32K |  | ", NULL},
        {"32k,0,16K,16384", true, "0,16K,32K |  | ", NULL},
        {"1000", true, "1000 |  | ", NULL},
        {"0,16q", true, NULL, "--contexts: '16q' is not a length in tokens such as 0, 4096 or 16k"},
        {"0,,1", true, NULL, "--contexts: '' is not a length in tokens such as 0, 4096 or 16k"},
        {"", true, NULL, "--contexts: '' is not a length in tokens such as 0, 4096 or 16k"},
        {"1,", true, NULL, "--contexts: '' is not a length in tokens such as 0, 4096 or 16k"},
        {"-1", true, NULL, "--contexts: '-1' is not a length in tokens such as 0, 4096 or 16k"},
        {"0", false, NULL,
         "--contexts: '0' is not a length in tokens such as 4096 or 16k, above 0"},
        {"2g", true, NULL, "--contexts: '2g' is not a length in tokens such as 0, 4096 or 16k"},
        {"99999999999999999999999999999999999999999999999999", true, NULL,
         "--contexts: '9999999999999999999999999999999999999999' is not a length in tokens such as "
         "0, 4096 or 16k"},
        {"1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,"
         "33",
         true, NULL, "--contexts: more than 32 values"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan p = {0};
        struct err err = {0};
        bool ok = plan_parse_contexts(cases[i].text, p.contexts, &p.context_count, cases[i].zero,
                                      "--contexts", &err);
        assert_int_equal(ok, cases[i].error == NULL);
        assert_string_equal(err.text, cases[i].error ? cases[i].error : "");
        assert_string_equal(shape(&p), cases[i].shape ? cases[i].shape : " |  | ");
    }
}

static void test_level_lists(void **state)
{
    static const struct {
        const char *text, *shape, *error;
    } cases[] = {
        {"4,1,2,4", " | 1,2,4 | ", NULL},
        {"16384", " | 16384 | ", NULL},
        {"0", NULL, "--concurrency: '0' is not a number of requests from 1 to 16384"},
        {"16385", NULL, "--concurrency: '16385' is not a number of requests from 1 to 16384"},
        {"1,2k", NULL, "--concurrency: '2k' is not a number of requests from 1 to 16384"},
        {"1 ", NULL, "--concurrency: '1 ' is not a number of requests from 1 to 16384"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan p = {0};
        struct err err = {0};
        assert_int_equal(plan_parse_levels(cases[i].text, &p, &err), cases[i].error == NULL);
        assert_string_equal(err.text, cases[i].error ? cases[i].error : "");
        assert_string_equal(shape(&p), cases[i].shape ? cases[i].shape : " |  | ");
    }
}

static void test_trim(void **state)
{
    static const struct {
        const char *contexts, *prefill;
        int64_t limit, max_output; /* asked for */
        const char *shape;
        int64_t ret_output;
        const char *notes;
    } cases[] = {
        /* the two published runs */
        {"0,16k,32k,64k,128k", "8k,16k,32k,64k,128k", 65536, 0,
         "0,16K,32K,56K | 1 | 8K,16K,32K,56K", 8192,
         "context 64K dropped: the model's limit is 65,536 tokens\n"
         "context 128K dropped: the model's limit is 65,536 tokens\n"
         "context 56K added: the largest that leaves room for 8,192 tokens of output\n"
         "prefill 64K dropped: the model's limit is 65,536 tokens\n"
         "prefill 128K dropped: the model's limit is 65,536 tokens\n"
         "prefill 56K added: the largest that leaves room for 8,192 tokens of output\n"},
        {"0,16k,32k,64k,128k", "8k,16k,32k,64k,128k", 147456, 0,
         "0,16K,32K,64K,128K,136K | 1 | 8K,16K,32K,64K,128K", 8192,
         "context 136K added: the largest that leaves room for 8,192 tokens of output\n"},
        /* a user's own output: 65,536 - 1,024 = 63K */
        {"0,64k", "8k", 65536, 1024, "0,63K | 1 | 8K", 1024,
         "context 64K dropped: the model's limit is 65,536 tokens\n"
         "context 63K added: the largest that leaves room for 1,024 tokens of output\n"},
        /* far from the limit nothing is added: a quick plan stays quick */
        {"0,8k", "8k", 131072, 0, "0,8K | 1 | 8K", 8192, ""},
        {"0,128k", "8k", 1048576, 0, "0,128K | 1 | 8K", 8192, ""},
        /* exactly at the limit; the largest value is there already */
        {"0,56k", "56k", 65536, 0, "0,56K | 1 | 56K", 8192, ""},
        {"0,56k,64k", "8k", 65536, 0, "0,56K | 1 | 8K", 8192,
         "context 64K dropped: the model's limit is 65,536 tokens\n"},
        /* unknown limit */
        {"0,128k", "128k", 0, 0, "0,128K | 1 | 128K", 8192, ""},
        {"0,128k", "128k", 0, 100, "0,128K | 1 | 128K", 100, ""},
        /* a small model: a quarter of 4,096; 4,096 - 1,024 = 3K */
        {"0,16k", "8k", 4096, 0, "0,3K | 1 | 3K", 1024,
         "context 16K dropped: the model's limit is 4,096 tokens\n"
         "context 3K added: the largest that leaves room for 1,024 tokens of output\n"
         "prefill 8K dropped: the model's limit is 4,096 tokens\n"
         "prefill 3K added: the largest that leaves room for 1,024 tokens of output\n"},
        /* not even 1K is left: context 0 remains, no prefill */
        {"16k", "8k", 512, 0, "0 | 1 | ", 128,
         "context 16K dropped: the model's limit is 512 tokens\n"
         "context 0 added: the largest that leaves room for 128 tokens of output\n"
         "prefill 8K dropped: the model's limit is 512 tokens\n"},
        /* output as long as the model's limit leaves no room for a prompt */
        {"0", "1k", 4096, 4096, "0 | 1 | 1K", 3072,
         "max output lowered from 4,096 to 3,072: the model's limit is 4,096 tokens\n"},
        {"0", "1k", 3, 0, "0 | 1 | ", 1, "prefill 1K dropped: the model's limit is 3 tokens\n"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan p = {.max_output = cases[i].max_output};
        struct err err = {0};
        struct buf notes;
        buf_init(&notes, 4096);
        assert_true(
            plan_parse_contexts(cases[i].contexts, p.contexts, &p.context_count, true, "", &err));
        assert_true(
            plan_parse_contexts(cases[i].prefill, p.prefill, &p.prefill_count, false, "", &err));
        assert_true(plan_parse_levels("1", &p, &err));
        plan_trim(&p, cases[i].limit, &notes);
        assert_string_equal(shape(&p), cases[i].shape);
        assert_int_equal(p.max_output, cases[i].ret_output);
        assert_string_equal(notes.p, cases[i].notes);
        buf_release(&notes);
    }
}

static struct plan small_plan(void)
{
    struct plan p;
    struct err err = {0};
    plan_init(&p);
    assert_true(plan_parse_contexts("0,16k", p.contexts, &p.context_count, true, "", &err));
    assert_true(plan_parse_contexts("8k,16k", p.prefill, &p.prefill_count, false, "", &err));
    assert_true(plan_parse_levels("1,2,4", &p, &err));
    return p;
}

static void test_estimate(void **state)
{
    struct plan p = small_plan();
    (void)state;
    /* start 10; six cells of 30 + 2 + 3; prefill 3 x 8K + 3 x 16K, of which the warm-up of 16K is
     * one, at 8,192 a second: 3 + 6 */
    plan_estimate(&p, 8192);
    assert_int_equal(p.estimate_ns, (10 + 6 * 35 + 9) * NS_PER_S);
    p.prefill_mode = PREFILL_STANDALONE; /* the warm-up comes on top */
    plan_estimate(&p, 8192);
    assert_int_equal(p.estimate_ns, (10 + 6 * 35 + 11) * NS_PER_S);
    p.prefill_mode = PREFILL_NONE;
    plan_estimate(&p, 8192);
    assert_int_equal(p.estimate_ns, (10 + 6 * 35 + 2) * NS_PER_S);
    p.prompts = PROMPTS_DISTINCT; /* each cell warms its own: 1 + 2 + 4 contexts of 16K */
    plan_estimate(&p, 8192);
    assert_int_equal(p.estimate_ns, (10 + 6 * 35 + 14) * NS_PER_S);
    p.repeats = 3;
    plan_estimate(&p, 8192);
    assert_int_equal(p.estimate_ns, (10 + 18 * 35 + 14) * NS_PER_S);
    p.repeats = 1;
    p.max_output = 1024; /* 16K x 4 needs 69,632 tokens and is not run */
    p.kv_budget = 65536;
    assert_false(plan_runs(&p, 16384, 4));
    assert_true(plan_runs(&p, 16384, 2));
    plan_estimate(&p, 8192);
    assert_int_equal(p.estimate_ns, (10 + 5 * 35 + 14) * NS_PER_S);
    p.run_over_capacity = true;
    plan_estimate(&p, 8192);
    assert_int_equal(p.estimate_ns, (10 + 6 * 35 + 14) * NS_PER_S);
    p = small_plan();
    p.prefill_samples = 1;
    plan_estimate(&p, 0); /* unknown: 1,000 a second; 24K tokens */
    assert_int_equal(p.estimate_ns, (10 + 6 * 35) * NS_PER_S + 24576 * NS_PER_MS);
}

static void test_budget(void **state)
{
    static const struct {
        int64_t budget_s;
        const char *shape, *notes;
        int64_t window_s;
    } cases[] = {
        {0, "0,16K | 1,2,4 | 8K,16K", "", 30},
        {229, "0,16K | 1,2,4 | 8K,16K", "", 30},
        /* one second too many: six windows of 29 s save six */
        {228, "0,16K | 1,2,4 | 8K,16K", "window shortened from 30s to 29s to fit the budget\n", 29},
        /* 10 + 9 + 6 x 10 with windows of 5 s */
        {79, "0,16K | 1,2,4 | 8K,16K", "window shortened from 30s to 5s to fit the budget\n", 5},
        {78, "0,16K | 1,2 | 8K,16K",
         "window shortened from 30s to 5s to fit the budget\n"
         "concurrency above 2 left out to fit the budget\n",
         5},
        /* without 16K: 10 + 3 + 10 */
        {25, "0 | 1 | 8K",
         "window shortened from 30s to 5s to fit the budget\n"
         "concurrency above 1 left out to fit the budget\n"
         "contexts above 0 left out to fit the budget\n"
         "prefill from 16K on left out to fit the budget\n",
         5},
        {20, "0 | 1 | ",
         "window shortened from 30s to 5s to fit the budget\n"
         "concurrency above 1 left out to fit the budget\n"
         "contexts above 0 left out to fit the budget\n"
         "prefill from 8K on left out to fit the budget\n",
         5},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan p = small_plan();
        struct err err = {0};
        struct buf notes;
        buf_init(&notes, 4096);
        p.budget_ns = cases[i].budget_s * NS_PER_S;
        assert_true(plan_fit_budget(&p, 8192, &notes, &err));
        assert_string_equal(shape(&p), cases[i].shape);
        assert_string_equal(notes.p, cases[i].notes);
        assert_int_equal(p.duration_ns, cases[i].window_s * NS_PER_S);
        assert_true(p.budget_ns == 0 || p.estimate_ns <= p.budget_ns);
        buf_release(&notes);
    }
    struct plan p = small_plan();
    struct err err = {0};
    struct buf notes;
    buf_init(&notes, 4096);
    p.budget_ns = 19 * NS_PER_S;
    assert_false(plan_fit_budget(&p, 8192, &notes, &err));
    assert_string_equal(err.text, "a budget of 19s is too short: one cell needs about 20s");
    p = small_plan();
    p.duration_ns = 2 * NS_PER_S; /* a shorter window than 5 s is never lengthened */
    p.budget_ns = 30 * NS_PER_S;
    buf_reset(&notes);
    assert_true(plan_fit_budget(&p, 8192, &notes, &err));
    assert_int_equal(p.duration_ns, 2 * NS_PER_S);
    buf_release(&notes);
}

static void test_order(void **state)
{
    struct plan p = small_plan(); /* 2 x 3 */
    struct plan_step steps[6];
    static const struct plan_step expected[] = {{0, 0}, {1, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}};
    (void)state;
    assert_int_equal(plan_order(&p, steps, 6), 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(steps[i].context, expected[i].context);
        assert_int_equal(steps[i].level, expected[i].level);
    }
    assert_int_equal(plan_order(&p, steps, 4), 4);
    p.level_count = 0;
    assert_int_equal(plan_order(&p, steps, 6), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_presets),     cmocka_unit_test(test_context_lists),
        cmocka_unit_test(test_level_lists), cmocka_unit_test(test_trim),
        cmocka_unit_test(test_estimate),    cmocka_unit_test(test_budget),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
