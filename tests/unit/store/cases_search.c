/* cases_search.c - the same words find the same things on either database. */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "store/store_parts.h"
#include "synthetic.h"

static size_t count_found(struct fixture *f, const char *query, enum store_found_kind kind)
{
    struct store_founds list;
    size_t n = 0;

    assert_fine(f, store_search(f->s, query, 50, &f->a, &list, &f->err));
    for (size_t i = 0; i < list.n; i++) {
        n += list.v[i].kind == kind;
        assert_true(i == 0 || list.v[i].kind >= list.v[i - 1].kind);
    }
    return n;
}

static const char *publish(struct fixture *f, int64_t owner, uint64_t number, const char *model,
                           const char *quantization)
{
    struct result r;

    synthetic_run(number, &r);
    mem_set_string(&r.subject.model, model);
    mem_set_string(&r.subject.quantization, quantization);
    mem_set_string(&r.hardware.gpus[0].name, "NVIDIA GeForce RTX 3090");
    r.hardware.gpus[0].vram_bytes = INT64_C(24) << 30;
    mem_set_string(&r.hardware.type, "DISCRETE_GPU");
    while (r.hardware.gpu_count > 1) {
        struct gpu *g = &r.hardware.gpus[--r.hardware.gpu_count];
        free(g->name);
        free(g->driver);
        *g = (struct gpu){0};
    }
    const char *uid = fixture_publish(f, owner, &r, STORE_RUN_PUBLIC);
    result_release(&r);
    return uid;
}

static void test_search(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "Ada-Lovelace");
    struct store_founds list;
    static const struct {
        const char *query;
        size_t models, hardware, users, runs;
    } cases[] = {
        {"qwen", 2, 0, 0, 2},
        {"QWEN3.5 27b", 1, 0, 0, 1},
        {"qw", 2, 0, 0, 2},
        {"wen", 0, 0, 0, 0}, /* words are found from their beginning */
        {"rtx 3090", 0, 1, 0, 3},
        {"rtx3090", 0, 1, 0, 3},
        {"3090 qwen", 0, 0, 0, 2},
        {"lovelace", 0, 0, 1, 3},
        {"\xe6\xa8\xa1\xe5\x9e\x8b", 1, 0, 0, 1},             /* two characters */
        {"\xe5\xa4\xa7\xe6\xa8\xa1\xe5\x9e\x8b", 1, 0, 0, 1}, /* three */
        {"\xe6\xa8\xa1", 1, 0, 0, 1},                         /* one */
        {"\xe5\xa4\xa7\xe5\x9e\x8b", 0, 0, 0, 0},             /* not neighbours */
        {"\xe6\xa8\xa1\xe5\x9e\x8b 3090", 0, 0, 0, 1},
        {"\xef\xbc\xb1\xef\xbd\x97\xef\xbd\x85\xef\xbd\x8e", 2, 0, 0, 2}, /* full-width Qwen */
        {"awq", 0, 0, 0, 1},
        {"", 0, 0, 0, 0},
        {" -- ' \" * ( ) : & | ! <-> \\ ", 0, 0, 0, 0},
        {"qwen OR llama", 0, 0, 0, 0}, /* no operators: a word like others */
        {"NEAR(qwen)", 0, 0, 0, 0},
        {"'qwen'", 2, 0, 0, 2},
        {"\xff\xfe", 0, 0, 0, 0},
    };

    publish(f, ada, 1, "Qwen/Qwen3.5-27B", "AWQ");
    publish(f, ada, 2, "Qwen/Qwen3-8B", "FP8");
    const char *chinese = publish(f, ada, 3, "org/\xe5\xa4\xa7\xe6\xa8\xa1\xe5\x9e\x8b-7B", "FP8");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t models = count_found(f, cases[i].query, STORE_FOUND_MODEL);
        size_t hardware = count_found(f, cases[i].query, STORE_FOUND_HARDWARE);
        size_t users = count_found(f, cases[i].query, STORE_FOUND_USER);
        size_t runs = count_found(f, cases[i].query, STORE_FOUND_RUN);
        if (models != cases[i].models || hardware != cases[i].hardware || users != cases[i].users ||
            runs != cases[i].runs)
            fail_msg("'%s': %zu models, %zu hardware, %zu users, %zu runs", cases[i].query, models,
                     hardware, users, runs);
    }
    assert_fine(f, store_search(f->s, "\xe6\xa8\xa1\xe5\x9e\x8b", 5, &f->a, &list, &f->err));
    assert_string_equal(list.v[1].key, chinese);
    assert_fails(f, ERR_FORMAT, store_search(f->s, "x", 0, &f->a, &list, &f->err));
    char *large = arena_alloc(&f->a, STORE_QUERY_MAX + 2);
    memset(large, 'x', STORE_QUERY_MAX + 1);
    assert_fails(f, ERR_FORMAT, store_search(f->s, large, 1, &f->a, &list, &f->err));
}

/* Any character may be asked for; what neither database takes for a letter ends a word. */
static void test_any_character(void **state)
{
    struct fixture *f = *state;
    struct store_founds found;
    char query[32];

    fixture_run(f, fixture_user(f, "ada"), 1);
    for (uint32_t cp = 0x80; cp < 0x11000; cp += cp < 0x1200 ? 1 : 61) {
        char text[4];
        size_t n = text_utf8_encode(cp, text);
        snprintf(query, sizeof query, "ec%.*stsi", (int)n, text);
        if (!store_search(f->s, query, 3, &f->a, &found, &f->err))
            fail_msg("U+%04X: %s", cp, f->err.text);
    }
}

static void test_listed_only(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    const char *one = publish(f, ada, 1, "Qwen/Qwen3.5-27B", "AWQ");
    const char *two = publish(f, ada, 2, "Qwen/Qwen3.5-27B", "FP8");

    assert_int_equal(count_found(f, "qwen", STORE_FOUND_RUN), 2);
    assert_int_equal(count_found(f, "qwen", STORE_FOUND_ORGANIZATION), 1);
    assert_fine(f, store_run_set_state(f->s, one, STORE_RUN_DRAFT, NULL, &f->err));
    assert_int_equal(count_found(f, "qwen", STORE_FOUND_RUN), 1);
    assert_int_equal(count_found(f, "qwen", STORE_FOUND_MODEL), 1);
    assert_fine(f, store_run_delete(f->s, two, &f->err));
    assert_int_equal(count_found(f, "qwen", STORE_FOUND_RUN), 0);
    assert_int_equal(count_found(f, "qwen", STORE_FOUND_MODEL), 0);
    assert_int_equal(count_found(f, "ada", STORE_FOUND_USER), 0);
    assert_fine(f, store_run_set_state(f->s, one, STORE_RUN_PUBLIC, NULL, &f->err));
    assert_int_equal(count_found(f, "qwen", STORE_FOUND_RUN), 1);
    assert_consistent(f);
}

/* Groups with more runs stand first, runs by age. */
static void test_order(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    struct store_founds list;

    publish(f, ada, 1, "a/Falcon-1B", "FP8");
    const char *old = publish(f, ada, 2, "b/Falcon-2B", "FP8");
    const char *new = publish(f, ada, 3, "b/Falcon-2B", "FP8");
    assert_fine(f, store_search(f->s, "falcon", 2, &f->a, &list, &f->err));
    assert_int_equal(list.n, 4); /* two models, two runs */
    assert_string_equal(list.v[0].key, "b/Falcon-2B");
    assert_string_equal(list.v[1].key, "a/Falcon-1B");
    assert_string_equal(list.v[2].key, new);
    assert_string_equal(list.v[3].key, old);
}

const struct CMUnitTest search_tests[] = {
    TEST(test_search), TEST(test_any_character), TEST(test_listed_only), TEST(test_order), {0},
};
