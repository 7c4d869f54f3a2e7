/* fill_store.c - fill_store WHERE RUNS: puts so many synthetic runs into a store, for benchmarks;
 * prints how fast that was, and how fast the pages' queries are afterwards. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "store/store.h"
#include "synthetic.h"

enum { OWNERS = 50, BATCH = 200, REPEATS = 40 };

static struct store *s;
static struct arena arena;
static struct err err;

static void must(bool fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "fill_store: %s: %s\n", what, err.text);
    exit(1);
}

static int64_t owner_of(uint64_t number)
{
    char name[32];
    struct store_user user;

    snprintf(name, sizeof name, "user-%02d", (int)(number % OWNERS));
    if (!store_user_by_name(s, name, &arena, &user, &err))
        must(store_user_create(s, name, NULL, false, &arena, &user, &err), "user");
    return user.id;
}

static void add(uint64_t number)
{
    struct result r;
    struct buf document;

    synthetic_run(number, &r);
    buf_init(&document, RESULT_MAX_BYTES);
    synthetic_document(&r, &document);
    const struct store_run_new run = {.owner = owner_of(number),
                                      .result = &r,
                                      .document = document.p,
                                      .document_bytes = document.len,
                                      .state = STORE_RUN_PUBLIC};
    must(store_run_add(s, &run, NULL, &err), "run");
    buf_release(&document);
    result_release(&r);
    arena_reset(&arena);
}

static void fill(uint64_t runs)
{
    struct store_counts counts;
    int64_t began = clock_now();

    must(store_counts(s, &counts, &err), "counts");
    for (uint64_t i = 0; i < runs; i++) {
        if (i % BATCH == 0)
            must(store_begin(s, &err), "begin");
        add((uint64_t)counts.runs + i);
        if (i % BATCH == BATCH - 1 || i == runs - 1)
            must(store_commit(s, &err), "commit");
    }
    if (runs > 0)
        printf("%llu runs added, %.2f ms each\n", (unsigned long long)runs,
               ns_to_ms(clock_now() - began) / (double)runs);
}

/* ---- what pages ask ---- */

static struct store_run sample;

static bool newest(void)
{
    struct store_filter none = {0};
    struct store_page page = {.limit = 20};
    struct store_runs list;
    return store_runs(s, &none, STORE_RUNS_NEWEST, &page, true, &arena, &list, &err);
}

static bool of_engine(void)
{
    struct store_filter filter = {.engine = sample.engine, .quantization = sample.quantization};
    struct store_page page = {.limit = 20};
    struct store_runs list;
    return store_runs(s, &filter, STORE_RUNS_FASTEST, &page, false, &arena, &list, &err);
}

static bool board_at(const struct store_filter *filter, enum store_metric metric,
                     int64_t context_tokens, int concurrency)
{
    struct store_board board = {metric, context_tokens, concurrency, *filter, false};
    struct store_board_rows rows;
    return store_board(s, &board, NULL, &arena, &rows, &err);
}

static bool board(void)
{
    struct store_filter none = {0};
    return board_at(&none, STORE_SINGLE, -1, 0);
}

static bool board_filtered(void)
{
    struct store_filter filter = {
        .base = sample.base, .hardware = sample.hardware, .engine = sample.engine};
    return board_at(&filter, STORE_TOTAL, 16384, 8);
}

static bool run_page(void)
{
    struct store_run run;
    struct store_cells cells;
    struct buf document;

    buf_init(&document, RESULT_MAX_BYTES);
    bool fine = store_run_get(s, sample.uid, &arena, &run, &err) &&
                store_run_cells(s, run.id, &arena, &cells, &err) &&
                store_run_document(s, sample.uid, 0, &document, &err);
    buf_release(&document);
    return fine;
}

static bool model_page(void)
{
    struct store_model model;
    struct store_models variants;
    struct store_board_rows rows;
    struct store_runs runs;
    struct store_filter filter = {.base = sample.base};
    return store_base_get(s, sample.base, &arena, &model, &err) &&
           store_base_models(s, sample.base, &arena, &variants, &err) &&
           store_board_of_base(s, sample.base, STORE_SINGLE, &arena, &rows, &err) &&
           store_runs(s, &filter, STORE_RUNS_NEWEST, NULL, false, &arena, &runs, &err);
}

static bool hardware_page(void)
{
    struct store_board_rows rows;
    return store_board_of_hardware(s, sample.hardware, STORE_TOTAL, &arena, &rows, &err);
}

static bool search(void)
{
    struct store_founds found;
    return store_search(s, "qwen 3090", 10, &arena, &found, &err);
}

static bool version(void)
{
    int64_t v;
    return store_version(s, &v, &err);
}

static const struct {
    const char *name;
    bool (*ask)(void);
} questions[] = {
    {"list of runs, 20 with cells", newest},
    {"list by engine and quantization, fastest", of_engine},
    {"board, 50 rows", board},
    {"board by model, hardware and engine", board_filtered},
    {"run page: row, cells, document", run_page},
    {"model page: group, members, best, runs", model_page},
    {"hardware page: the best of each model", hardware_page},
    {"search, 5 kinds", search},
    {"version", version},
};

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void ask_all(void)
{
    struct store_filter none = {0};
    struct store_page page = {.limit = 1};
    struct store_runs list;
    struct arena kept = {0};

    must(store_runs(s, &none, STORE_RUNS_NEWEST, &page, false, &kept, &list, &err), "list");
    sample = list.v[0];
    for (size_t i = 0; i < ARRAY_LEN(questions); i++) {
        int64_t took[REPEATS];
        for (size_t k = 0; k < REPEATS; k++) {
            int64_t began = clock_now();
            must(questions[i].ask(), questions[i].name);
            took[k] = clock_now() - began;
            arena_reset(&arena);
        }
        qsort(took, REPEATS, sizeof *took, compare);
        printf("%8.3f ms  %s\n", ns_to_ms(took[REPEATS / 2]), questions[i].name);
    }
    arena_release(&kept);
}

int main(int argc, char **argv)
{
    const struct store_options options = {.create = true, .migrate = true};
    int64_t runs;

    if (argc != 3 || !num_parse_i64(argv[2], &runs) || runs < 0) {
        fprintf(stderr, "usage: fill_store WHERE RUNS\n");
        return 2;
    }
    must(store_open(argv[1], &options, &s, &err), argv[1]);
    fill((uint64_t)runs);
    ask_all();
    store_close(s);
    arena_release(&arena);
    return 0;
}
