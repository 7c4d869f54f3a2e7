/* cases_groups.c - models with their repackagings, organizations, hardware. */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_parts.h"
#include "synthetic.h"

static const char *publish_model(struct fixture *f, int64_t owner, uint64_t number,
                                 const char *model)
{
    struct result r;

    synthetic_run(number, &r);
    mem_set_string(&r.subject.model, model);
    const char *uid = fixture_publish(f, owner, &r, STORE_RUN_PUBLIC);
    result_release(&r);
    return uid;
}

static void test_repackagings(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    struct store_model m;
    struct store_models list;

    publish_model(f, ada, 1, "cyankiwi/Qwen3.5-27B-AWQ-4bit");
    assert_fine(f, store_base_get(f->s, "cyankiwi/Qwen3.5-27B-AWQ-4bit", &f->a, &m, &f->err));
    assert_string_equal(m.name, "Qwen3.5-27B"); /* nobody has said more */
    assert_null(m.organization);
    publish_model(f, ada, 2, "unsloth/Qwen3.5-27B-GGUF");
    publish_model(f, ada, 3, "Qwen/Qwen3.5-27B");
    publish_model(f, ada, 4, "unsloth/Qwen3.5-27B");
    publish_model(f, ada, 5, "Qwen/Qwen3.5-27B-FP8");
    publish_model(f, ada, 6, "qwen/qwen3.5-27b-fp8");
    publish_model(f, ada, 7, "Qwen/Qwen3.5-9B");
    static const char *const names[] = {"Qwen/Qwen3.5-27B", "qwen3.5-27b",
                                        "UNSLOTH/qwen3.5-27B-gguf", "someone/Qwen3.5-27B-EXL3"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_fine(f, store_base_get(f->s, names[i], &f->a, &m, &f->err));
        assert_string_equal(m.name, "Qwen/Qwen3.5-27B");
        assert_string_equal(m.organization, "Qwen");
        assert_int_equal(m.run_count, 6);
        assert_int_equal(m.variant_count, 5);
    }
    assert_fine(f, store_base_models(f->s, "qwen3.5-27b", &f->a, &list, &f->err));
    assert_int_equal(list.n, 5);
    assert_string_equal(list.v[0].name, "Qwen/Qwen3.5-27B-FP8");
    assert_int_equal(list.v[0].run_count, 2);
    size_t i = 0;
    while (i < list.n && strcmp(list.v[i].name, "unsloth/Qwen3.5-27B-GGUF") != 0)
        i++;
    assert_true(i < list.n);
    assert_string_equal(list.v[i].base, "Qwen/Qwen3.5-27B");
    assert_string_equal(list.v[i].organization, "unsloth");
    assert_fine(f, store_base_models(f->s, "none", &f->a, &list, &f->err));
    assert_int_equal(list.n, 0);
    assert_fails(f, ERR_NOT_FOUND, store_base_get(f->s, "none", &f->a, &m, &f->err));
    assert_consistent(f);
}

static void test_set_base(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    struct store_model m;
    struct store_board_rows rows;

    publish_model(f, ada, 1, "a/Alpha-7B");
    publish_model(f, ada, 2, "b/Beta-Alpha-7B-tuned");
    assert_fine(f, store_model_set_base(f->s, "b/Beta-Alpha-7B-tuned", "a/Alpha-7B", &f->err));
    assert_fine(f, store_base_get(f->s, "a/Alpha-7B", &f->a, &m, &f->err));
    assert_int_equal(m.run_count, 2);
    assert_fine(
        f, store_board_of_base(f->s, "b/Beta-Alpha-7B-tuned", STORE_TOTAL, &f->a, &rows, &f->err));
    assert_int_equal(rows.n, 2);
    assert_consistent(f);
    publish_model(f, ada, 3, "b/Beta-Alpha-7B-tuned"); /* and so it stays */
    assert_fine(f, store_base_get(f->s, "a/Alpha-7B", &f->a, &m, &f->err));
    assert_int_equal(m.run_count, 3);
    assert_fine(f, store_model_set_base(f->s, "a/Alpha-7B", "new/Base-8B", &f->err));
    assert_fine(f, store_base_get(f->s, "a/Alpha-7B", &f->a, &m, &f->err));
    assert_string_equal(m.name, "new/Base-8B");
    assert_consistent(f);
    assert_fails(f, ERR_NOT_FOUND, store_model_set_base(f->s, "x/y", "a/Alpha-7B", &f->err));
}

static void test_orders(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");

    for (uint64_t i = 0; i < 60; i++) {
        fixture_now_ms += 1000;
        fixture_run(f, ada, i);
    }
    for (int order = STORE_BY_RUNS; order <= STORE_BY_SPEED; order++) {
        struct store_page page = {.limit = 4};
        struct store_models list;
        struct store_model last = {0};
        size_t n = 0;
        do {
            assert_fine(f, store_bases(f->s, NULL, (enum store_group_order)order, &page, &f->a,
                                       &list, &f->err));
            for (size_t i = 0; i < list.n; i++, n++) {
                const struct store_model *m = &list.v[i];
                bool sorted[] = {
                    [STORE_BY_RUNS] = m->run_count <= last.run_count,
                    [STORE_BY_NAME] = last.name && strcmp(m->name, last.name) > 0,
                    [STORE_BY_NEWEST] = m->last_run_ms <= last.last_run_ms,
                    [STORE_BY_SPEED] = !(m->single_tok_s > last.single_tok_s),
                };
                assert_true(n == 0 || sorted[order]);
                assert_true(m->run_count > 0);
                last = *m;
            }
            page.after = arena_strdup(&f->a, list.next);
        } while (*list.next);
        struct store_counts counts;
        assert_fine(f, store_counts(f->s, &counts, &f->err));
        assert_int_equal(n, counts.bases);

        struct store_organizations orgs;
        page = (struct store_page){.limit = 3};
        n = 0;
        do {
            assert_fine(f, store_organizations(f->s, (enum store_group_order)order, &page, &f->a,
                                               &orgs, &f->err));
            n += orgs.n;
            page.after = arena_strdup(&f->a, orgs.next);
        } while (*orgs.next);
        assert_int_equal(n, counts.organizations);

        struct store_hardwares hardware;
        page = (struct store_page){.limit = 5};
        n = 0;
        do {
            assert_fine(f, store_hardwares(f->s, NULL, NULL, (enum store_group_order)order, &page,
                                           &f->a, &hardware, &f->err));
            n += hardware.n;
            page.after = arena_strdup(&f->a, hardware.next);
        } while (*hardware.next);
        assert_int_equal(n, counts.hardware);
    }
}

static void test_organizations(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    struct store_organization o;
    struct store_models list;

    publish_model(f, ada, 1, "Qwen/Qwen3.5-27B");
    publish_model(f, ada, 2, "Qwen/Qwen3.5-9B");
    publish_model(f, ada, 3, "unsloth/Qwen3.5-27B-GGUF");
    publish_model(f, ada, 4, "/models/local-file.gguf");
    assert_fine(f, store_organization_get(f->s, "QWEN", &f->a, &o, &f->err));
    assert_string_equal(o.name, "Qwen");
    assert_int_equal(o.run_count, 2);
    assert_int_equal(o.model_count, 2);
    assert_fine(f, store_bases(f->s, "unsloth", STORE_BY_RUNS, NULL, &f->a, &list, &f->err));
    assert_int_equal(list.n, 1);
    assert_string_equal(list.v[0].name, "Qwen/Qwen3.5-27B");
    assert_fine(f, store_bases(f->s, "qwen", STORE_BY_NAME, NULL, &f->a, &list, &f->err));
    assert_int_equal(list.n, 2);
    assert_fine(f, store_bases(f->s, "none", STORE_BY_NAME, NULL, &f->a, &list, &f->err));
    assert_int_equal(list.n, 0);
    assert_fails(f, ERR_NOT_FOUND, store_organization_get(f->s, "none", &f->a, &o, &f->err));
}

static void test_hardware(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    struct store_hardware h;
    struct store_hardwares list;
    static const char *const names[] = {"NVIDIA GeForce RTX 3090", "RTX 3090", "GeForce RTX3090"};

    for (size_t i = 0; i < 4; i++) {
        struct result r;
        synthetic_run(i, &r);
        machine_release(&r.hardware);
        r.hardware =
            (struct machine){.type = mem_strdup("DISCRETE_GPU"), .gpu_count = i == 3 ? 2 : 1};
        for (int k = 0; k < r.hardware.gpu_count; k++) {
            r.hardware.gpus[k].name = mem_strdup(names[i % 3]);
            r.hardware.gpus[k].vram_bytes = INT64_C(24) << 30;
        }
        fixture_publish(f, ada, &r, STORE_RUN_PUBLIC);
        result_release(&r);
    }
    assert_fine(f, store_hardware_get(f->s, "rtx-3090-24gb", &f->a, &h, &f->err));
    assert_int_equal(h.run_count, 3);
    assert_string_equal(h.title, "RTX 3090 24GB");
    assert_string_equal(h.name, "RTX 3090");
    assert_int_equal(h.memory_gb, 24);
    assert_int_equal(h.count, 1);
    assert_fine(f, store_hardware_get(f->s, "2x-rtx-3090-24gb", &f->a, &h, &f->err));
    assert_string_equal(h.title, "2x RTX 3090 24GB");
    assert_string_equal(h.card, "rtx-3090-24gb");
    assert_fine(f, store_hardwares(f->s, "DISCRETE_GPU", "rtx-3090-24gb", STORE_BY_RUNS, NULL,
                                   &f->a, &list, &f->err));
    assert_int_equal(list.n, 2);
    assert_fine(f,
                store_hardwares(f->s, "UNIFIED", NULL, STORE_BY_RUNS, NULL, &f->a, &list, &f->err));
    assert_int_equal(list.n, 0);
    assert_fails(f, ERR_NOT_FOUND, store_hardware_get(f->s, "none", &f->a, &h, &f->err));
    struct store_board board = {
        .metric = STORE_TOTAL, .context_tokens = -1, .filter.card = "rtx-3090-24gb"};
    struct store_board_rows rows;
    assert_fine(f, store_board(f->s, &board, NULL, &f->a, &rows, &f->err));
    assert_int_equal(rows.n, 4);
}

static void test_choices(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada"), sum = 0;
    struct store_choices list;

    for (uint64_t i = 0; i < 20; i++)
        fixture_run(f, ada, i);
    assert_fine(f, store_engines(f->s, &f->a, &list, &f->err));
    for (size_t i = 0; i < list.n; i++) {
        sum += list.v[i].run_count;
        assert_true(i == 0 || list.v[i].run_count <= list.v[i - 1].run_count);
    }
    assert_int_equal(sum, 20);
    assert_fine(f, store_quantizations(f->s, &f->a, &list, &f->err));
    assert_true(list.n > 2);
}

/* What only drafts and withdrawn runs name is as private as they are. */
static void test_unlisted(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    struct store_model m;
    struct store_organization o;
    struct store_hardware h;
    struct store_run run;
    struct result r;

    synthetic_run(1, &r);
    mem_set_string(&r.subject.model, "acme/Unseen-1B");
    const char *uid = fixture_publish(f, ada, &r, STORE_RUN_DRAFT);
    result_release(&r);
    assert_fine(f, store_run_get(f->s, uid, &f->a, &run, &f->err));
    static const enum store_run_state states[] = {STORE_RUN_DRAFT, STORE_RUN_PUBLIC,
                                                  STORE_RUN_WITHDRAWN};
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        bool listed = store_run_is_listed(states[i]);
        if (i > 0)
            assert_fine(f, store_run_set_state(f->s, uid, states[i], NULL, &f->err));
        assert_int_equal(store_base_get(f->s, "acme/Unseen-1B", &f->a, &m, &f->err), listed);
        assert_int_equal(store_organization_get(f->s, "acme", &f->a, &o, &f->err), listed);
        assert_int_equal(store_hardware_get(f->s, run.hardware, &f->a, &h, &f->err), listed);
    }
    assert_int_equal(f->err.code, ERR_NOT_FOUND);
    assert_consistent(f);
}

const struct CMUnitTest group_tests[] = {
    TEST(test_repackagings), TEST(test_set_base), TEST(test_orders),   TEST(test_organizations),
    TEST(test_hardware),     TEST(test_choices),  TEST(test_unlisted), {0},
};
