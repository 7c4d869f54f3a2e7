/* cases_runs.c - runs: added, read, listed, revised, moved, deleted. */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_parts.h"
#include "synthetic.h"

static void test_add(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    struct result r;
    struct store_run run;
    struct store_cells cells;
    struct buf document, stored;

    synthetic_run(1, &r);
    const char *uid = fixture_publish(f, ada, &r, STORE_RUN_PUBLIC);
    assert_true(uuid_valid(uid));
    assert_fine(f, store_run_get(f->s, uid, &f->a, &run, &f->err));
    assert_string_equal(run.uid, uid);
    assert_int_equal(run.state, STORE_RUN_PUBLIC);
    assert_int_equal(run.revision, 1);
    assert_string_equal(run.owner_name, "ada");
    assert_string_equal(run.model, r.subject.model);
    assert_string_equal(run.engine, r.engine.name);
    assert_string_equal(run.quantization, r.subject.quantization);
    assert_string_equal(run.kind, "measured");
    assert_string_equal(run.tool, "tokgrid 0.1.0");
    assert_string_equal(run.measured_at, r.run.started_at);
    assert_int_equal(run.cell_count, r.decode_count);
    assert_int_equal(run.valid_cells, result_count_status(&r, STATUS_VALID));
    assert_true(run.total_tok_s >= run.single_tok_s && run.single_tok_s > 0);

    assert_fine(f, store_run_cells(f->s, run.id, &f->a, &cells, &f->err));
    assert_int_equal(cells.n, r.decode_count + r.prefill_count);
    for (size_t i = 0; i < cells.n; i++) {
        const struct store_cell *c = &cells.v[i];
        if (c->concurrency == 0) {
            const struct prefill_row *p = result_prefill(&r, c->context_tokens);
            assert_true(i < r.prefill_count);
            assert_true(c->total_tok_s == p->total_tok_s && c->ttft_ms == p->ttft_ms.p50);
            continue;
        }
        const struct cell *d = result_cell(&r, c->context_tokens, c->concurrency);
        assert_int_equal(c->status, d->status);
        if (d->status == STATUS_VALID) {
            assert_true(c->total_tok_s == d->total_tok_s && c->itl_ms == d->itl_ms.p50);
            assert_true(fabs(c->tok_per_joule - d->total_tok_s / d->power_w) < 1e-9);
        } else if (d->status == STATUS_OVER_CAPACITY) {
            assert_true(isnan(c->total_tok_s));
        }
    }
    buf_init(&document, RESULT_MAX_BYTES);
    buf_init(&stored, RESULT_MAX_BYTES);
    synthetic_document(&r, &document);
    assert_fine(f, store_run_document(f->s, uid, 0, &stored, &f->err));
    assert_int_equal(stored.len, document.len);
    assert_memory_equal(stored.p, document.p, document.len);
    assert_int_equal(run.document_bytes, document.len);
    assert_fails(f, ERR_NOT_FOUND, store_run_document(f->s, uid, 2, &stored, &f->err));
    assert_fails(f, ERR_NOT_FOUND, store_run_get(f->s, "nothing", &f->a, &run, &f->err));
    buf_release(&document);
    buf_release(&stored);
    result_release(&r);
    assert_consistent(f);
}

/* What is published twice is there once. */
static void test_doubles(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada"), bob = fixture_user(f, "bob");
    const char *uid = fixture_run(f, ada, 1);
    char other[UUID_TEXT_MAX] = "";
    struct result r;
    struct buf document;
    struct store_counts counts;

    synthetic_run(1, &r);
    buf_init(&document, RESULT_MAX_BYTES);
    synthetic_document(&r, &document);
    struct store_run_new run = {.owner = ada,
                                .result = &r,
                                .document = document.p,
                                .document_bytes = document.len,
                                .state = STORE_RUN_PUBLIC};
    assert_fails(f, ERR_EXISTS, store_run_add(f->s, &run, other, &f->err));
    assert_string_equal(other, uid);
    result_add_note(&r, "the same run in other words"); /* its id says so */
    buf_reset(&document);
    synthetic_document(&r, &document);
    run.document = document.p;
    run.document_bytes = document.len;
    assert_fails(f, ERR_EXISTS, store_run_add(f->s, &run, NULL, &f->err));
    run.owner = bob;
    assert_fine(f, store_run_add(f->s, &run, other, &f->err));
    assert_fine(f, store_counts(f->s, &counts, &f->err));
    assert_int_equal(counts.runs, 2);
    buf_release(&document);
    result_release(&r);
    assert_consistent(f);
}

static void test_published_pages(void **state)
{
    static const struct {
        const char *path, *base, *hardware;
    } pages[] = {
        {"tests/data/published/qwen3.5-27b.json", "Qwen3.5-27B", "rtx-3090-24gb"},
        {"tests/data/published/qwen3-coder-30b.json", "Qwen3-Coder-30B-A3B-Instruct",
         "rtx-3090-24gb"},
        {"tests/data/measured/example.json", "example-org/Example-8B-Instruct",
         "2x-example-24-24gb"},
    };
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");

    for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
        struct result r;
        struct store_run run;
        char text[64 << 10];
        FILE *file = fopen(pages[i].path, "r");
        assert_non_null(file);
        size_t n = fread(text, 1, sizeof text, file);
        fclose(file);
        assert_fine(f, result_read_json(text, n, pages[i].path, &r, &f->err));
        const char *uid = fixture_publish(f, ada, &r, STORE_RUN_PUBLIC);
        assert_fine(f, store_run_get(f->s, uid, &f->a, &run, &f->err));
        assert_string_equal(run.base, pages[i].base);
        assert_string_equal(run.hardware, pages[i].hardware);
        result_release(&r);
    }
    assert_consistent(f);
}

static void test_lists(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    const char *uids[25];
    struct store_runs list;
    struct store_filter none = {0};
    struct store_page page = {.limit = 10};
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(uids); i++)
        uids[i] = fixture_run(f, ada, 100 + i);
    do {
        assert_fine(f,
                    store_runs(f->s, &none, STORE_RUNS_NEWEST, &page, true, &f->a, &list, &f->err));
        for (size_t i = 0; i < list.n; i++, n++) {
            assert_string_equal(list.v[i].uid, uids[ARRAY_LEN(uids) - 1 - n]);
            assert_true((int64_t)list.cells[i].n >= list.v[i].cell_count);
        }
        page.after = arena_strdup(&f->a, list.next);
    } while (*list.next);
    assert_int_equal(n, ARRAY_LEN(uids));

    page = (struct store_page){.limit = 4};
    double last = INFINITY;
    n = 0;
    do {
        assert_fine(
            f, store_runs(f->s, &none, STORE_RUNS_FASTEST, &page, false, &f->a, &list, &f->err));
        for (size_t i = 0; i < list.n; i++, n++) {
            assert_true(list.v[i].total_tok_s <= last);
            last = list.v[i].total_tok_s;
        }
        page.after = arena_strdup(&f->a, list.next);
    } while (*list.next);
    assert_int_equal(n, ARRAY_LEN(uids));
    assert_null(list.cells);
}

static void test_filters(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada"), bob = fixture_user(f, "bob");
    struct store_runs all, list;
    struct store_filter none = {0};
    const struct store_page whole = {.limit = STORE_PAGE_MAX};

    for (uint64_t i = 0; i < 40; i++)
        fixture_run(f, i % 2 ? ada : bob, i);
    assert_fine(f, store_runs(f->s, &none, STORE_RUNS_NEWEST, &whole, false, &f->a, &all, &f->err));
    assert_int_equal(all.n, 40);
    for (size_t k = 0; k < 8; k++) {
        const struct store_run *r = &all.v[k];
        const struct store_filter filters[] = {
            {.model = r->model},
            {.base = r->base},
            {.base = r->model},
            {.organization = r->organization},
            {.hardware = r->hardware},
            {.hardware_class = r->hardware_class},
            {.engine = r->engine},
            {.quantization = r->quantization},
            {.user = r->owner_name},
            {.kind = r->kind},
            {.user = "ADA", .engine = "VLLM"},
            {.base = r->base, .hardware = r->hardware},
        };
        for (size_t j = 0; j < ARRAY_LEN(filters); j++) {
            const struct store_filter *x = &filters[j];
            size_t expected = 0;
            for (size_t i = 0; i < all.n; i++) {
                const struct store_run *c = &all.v[i];
                expected +=
                    (!x->model || strcmp(c->model, x->model) == 0) &&
                    (!x->base || strcmp(c->base, r->base) == 0) &&
                    (!x->organization || strcmp(c->organization, x->organization) == 0) &&
                    (!x->hardware || strcmp(c->hardware, x->hardware) == 0) &&
                    (!x->hardware_class || strcmp(c->hardware_class, x->hardware_class) == 0) &&
                    (!x->engine || strcasecmp(c->engine, x->engine) == 0) &&
                    (!x->quantization || strcmp(c->quantization, x->quantization) == 0) &&
                    (!x->user || strcasecmp(c->owner_name, x->user) == 0);
            }
            assert_fine(
                f, store_runs(f->s, x, STORE_RUNS_FASTEST, &whole, false, &f->a, &list, &f->err));
            if (list.n != expected)
                fail_msg("run %zu, filter %zu: %zu runs, not %zu", k, j, list.n, expected);
        }
    }
    const struct store_filter unknown[] = {
        {.model = "no/such"}, {.base = "none"}, {.engine = "x"},       {.hardware = "abacus"},
        {.user = "eve"},      {.card = "x"},    {.kind = "simulated"}, {.verified = true}};
    for (size_t i = 0; i < ARRAY_LEN(unknown); i++) {
        assert_fine(
            f, store_runs(f->s, &unknown[i], STORE_RUNS_NEWEST, NULL, true, &f->a, &list, &f->err));
        assert_int_equal(list.n, 0);
    }
}

static void test_cursors(void **state)
{
    static const char *const bad[] = {"x", "0", "00000000000000000000000000000000000000000",
                                      "zz00000000000000000000000000000000000000",
                                      "'; DROP TABLE run; --"};
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    struct store_filter none = {0}, engine = {.engine = "vllm"};
    struct store_page page = {.limit = 1};
    struct store_runs list;

    fixture_run(f, ada, 1);
    fixture_run(f, ada, 2);
    assert_fine(f, store_runs(f->s, &none, STORE_RUNS_NEWEST, &page, false, &f->a, &list, &f->err));
    page.after = arena_strdup(&f->a, list.next);
    assert_int_equal(strlen(page.after), 40);
    assert_fails(f, ERR_FORMAT,
                 store_runs(f->s, &none, STORE_RUNS_FASTEST, &page, false, &f->a, &list, &f->err));
    assert_fails(f, ERR_FORMAT,
                 store_runs(f->s, &engine, STORE_RUNS_NEWEST, &page, false, &f->a, &list, &f->err));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        page.after = bad[i];
        assert_fails(
            f, ERR_FORMAT,
            store_runs(f->s, &none, STORE_RUNS_NEWEST, &page, false, &f->a, &list, &f->err));
    }
    page = (struct store_page){.limit = STORE_PAGE_MAX + 1};
    assert_fails(f, ERR_FORMAT,
                 store_runs(f->s, &none, STORE_RUNS_NEWEST, &page, false, &f->a, &list, &f->err));
}

/* A page in the middle of reading does not shift when runs appear. */
static void test_stable_pages(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    struct store_filter none = {0};
    struct store_page page = {.limit = 2};
    struct store_runs one, two;
    const char *uids[4];

    for (size_t i = 0; i < 4; i++)
        uids[i] = fixture_run(f, ada, i);
    assert_fine(f, store_runs(f->s, &none, STORE_RUNS_NEWEST, &page, false, &f->a, &one, &f->err));
    fixture_run(f, ada, 9);
    page.after = one.next;
    assert_fine(f, store_runs(f->s, &none, STORE_RUNS_NEWEST, &page, false, &f->a, &two, &f->err));
    assert_int_equal(two.n, 2);
    assert_string_equal(two.v[0].uid, uids[1]);
    assert_string_equal(two.v[1].uid, uids[0]);
    assert_string_equal(two.next, "");
}

static void test_states(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    struct result r;
    struct store_run run;
    struct store_runs list;
    struct store_filter none = {0};
    struct store_counts counts;
    const struct store_user owner = {.id = ada}, other = {.id = ada + 1},
                            admin = {.id = ada + 1, .admin = true};
    int64_t before, after;

    synthetic_run(1, &r);
    const char *uid = fixture_publish(f, ada, &r, STORE_RUN_DRAFT);
    assert_fine(f, store_run_get(f->s, uid, &f->a, &run, &f->err));
    assert_true(store_run_visible(&run, &owner) && store_run_visible(&run, &admin));
    assert_false(store_run_visible(&run, &other) || store_run_visible(&run, NULL));
    assert_fine(f, store_runs(f->s, &none, STORE_RUNS_NEWEST, NULL, false, &f->a, &list, &f->err));
    assert_int_equal(list.n, 0);
    assert_fine(f, store_runs_of(f->s, ada, NULL, &f->a, &list, &f->err));
    assert_int_equal(list.n, 1);
    assert_consistent(f);

    assert_fine(f, store_version(f->s, &before, &f->err));
    assert_fine(f, store_run_set_state(f->s, uid, STORE_RUN_PUBLIC, NULL, &f->err));
    assert_fine(f, store_version(f->s, &after, &f->err));
    assert_true(after > before);
    assert_fine(f, store_runs(f->s, &none, STORE_RUNS_NEWEST, NULL, false, &f->a, &list, &f->err));
    assert_int_equal(list.n, 1);
    assert_consistent(f);

    assert_fine(f,
                store_run_set_state(f->s, uid, STORE_RUN_WITHDRAWN, "measured wrongly", &f->err));
    assert_fine(f, store_runs(f->s, &none, STORE_RUNS_NEWEST, NULL, false, &f->a, &list, &f->err));
    assert_int_equal(list.n, 0);
    assert_fine(f, store_counts(f->s, &counts, &f->err));
    assert_int_equal(counts.withdrawn, 1);
    assert_int_equal(counts.runs + counts.cells + counts.models + counts.hardware, 0);
    assert_consistent(f);
    assert_fails(f, ERR_NOT_FOUND, store_run_set_state(f->s, "x", STORE_RUN_PUBLIC, NULL, &f->err));
    result_release(&r);
}

static void test_revise(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    struct result r;
    struct buf document, old;
    struct store_run run, before;
    struct store_revisions history;

    store_act_as(f->s, ada, "127.0.0.1");
    const char *uid = fixture_run(f, ada, 1), *second = fixture_run(f, ada, 7);
    assert_fine(f, store_run_get(f->s, uid, &f->a, &before, &f->err));
    synthetic_run(1, &r);
    mem_set_string(&r.engine.version, "9.9");
    mem_set_string(&r.subject.model, "Qwen/Qwen3-8B-Other");
    buf_init(&document, RESULT_MAX_BYTES);
    buf_init(&old, RESULT_MAX_BYTES);
    synthetic_document(&r, &document);
    const struct store_run_new new = {
        .owner = ada, .result = &r, .document = document.p, .document_bytes = document.len};
    fixture_now_ms += 5000;
    assert_fine(f, store_run_revise(f->s, uid, &new, "wrong version", &f->err));
    assert_fine(f, store_run_get(f->s, uid, &f->a, &run, &f->err));
    assert_int_equal(run.revision, 2);
    assert_int_equal(run.state, STORE_RUN_PUBLIC);
    assert_string_equal(run.engine_version, "9.9");
    assert_string_equal(run.model, "Qwen/Qwen3-8B-Other");
    assert_true(run.updated_ms == run.created_ms + 5000);
    assert_fine(f, store_run_history(f->s, run.id, &f->a, &history, &f->err));
    assert_int_equal(history.n, 2);
    assert_string_equal(history.v[0].note, "wrong version");
    assert_string_equal(history.v[0].author, "ada");
    assert_string_equal(history.v[1].document_digest, before.document_digest);
    assert_fine(f, store_run_document(f->s, uid, 1, &old, &f->err));
    assert_int_equal(old.len, before.document_bytes);
    assert_fails(f, ERR_EXISTS, store_run_revise(f->s, second, &new, NULL, &f->err));
    assert_consistent(f);
    buf_release(&document);
    buf_release(&old);
    result_release(&r);
}

static void test_delete(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    const char *uids[6];
    struct store_run run;
    struct store_counts counts;
    struct buf document;

    buf_init(&document, RESULT_MAX_BYTES);
    for (size_t i = 0; i < ARRAY_LEN(uids); i++)
        uids[i] = fixture_run(f, ada, i);
    for (size_t i = 0; i < ARRAY_LEN(uids); i++) {
        assert_fine(f, store_run_delete(f->s, uids[i], &f->err));
        assert_fails(f, ERR_NOT_FOUND, store_run_get(f->s, uids[i], &f->a, &run, &f->err));
        assert_fails(f, ERR_NOT_FOUND, store_run_document(f->s, uids[i], 0, &document, &f->err));
        assert_consistent(f);
    }
    assert_fine(f, store_counts(f->s, &counts, &f->err));
    assert_int_equal(counts.runs + counts.cells + counts.bases + counts.organizations, 0);
    assert_fails(f, ERR_NOT_FOUND, store_run_delete(f->s, uids[0], &f->err));
    buf_release(&document);
}

static void set_texts(struct result *r, const char *text)
{
    char **const texts[] = {&r->subject.model, &r->subject.served_model,  &r->subject.quantization,
                            &r->engine.name,   &r->engine.version,        &r->engine.backend,
                            &r->tool.name,     &r->engine.launch_command, &r->hardware.gpus[0].name,
                            &r->hardware.cpu,  &r->hardware.os,           &r->by};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        mem_set_string(texts[i], text);
}

/* Text is text, whatever it says. */
static void test_hostile(void **state)
{
    static const char *const texts[] = {
        "'; DROP TABLE run; --",
        "\" OR 1=1; --",
        "%s%n%x ? $1 ?? :a @b",
        "<script>alert(1)</script>",
        "../../../etc/passwd",
        "\\'\\\"\\x00\\",
        "\xf0\x9f\x98\x80\xe2\x80\xae\xcc\x81",
        "''",
        "NULL",
        " ",
        "",
    };
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    struct store_founds found;
    struct store_run run;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct result r;
        synthetic_run(i, &r);
        set_texts(&r, texts[i]);
        const char *uid = fixture_publish(f, ada, &r, STORE_RUN_PUBLIC);
        assert_fine(f, store_run_get(f->s, uid, &f->a, &run, &f->err));
        assert_string_equal(run.launch_command, texts[i]);
        assert_fine(f, store_search(f->s, texts[i], 5, &f->a, &found, &f->err));
        const struct store_filter filter = {
            .model = texts[i], .engine = texts[i], .user = texts[i]};
        struct store_runs list;
        assert_fine(
            f, store_runs(f->s, &filter, STORE_RUNS_NEWEST, NULL, false, &f->a, &list, &f->err));
        result_release(&r);
    }
    assert_consistent(f);
}

static void test_long_texts(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    struct buf text, document;
    struct result r;
    struct store_run run;

    buf_init(&text, 200000);
    buf_init(&document, RESULT_MAX_BYTES);
    for (int i = 0; i < 30000; i++)
        buf_adds(&text, "\xe6\xa8\xa1");
    synthetic_run(1, &r);
    set_texts(&r, text.p);
    const char *uid = fixture_publish(f, ada, &r, STORE_RUN_PUBLIC);
    assert_fine(f, store_run_get(f->s, uid, &f->a, &run, &f->err));
    assert_int_equal(strlen(run.launch_command), 3999);
    assert_true(strlen(run.engine_version) <= 200 && strlen(run.title) <= 1000);
    assert_fine(f, store_run_document(f->s, uid, 0, &document, &f->err));
    assert_non_null(strstr(document.p, text.p)); /* all of it */
    assert_consistent(f);
    buf_release(&text);
    buf_release(&document);
    result_release(&r);
}

static void test_bounds(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    struct result r;

    synthetic_run(1, &r);
    for (int i = 0; i < PLAN_MAX_CONTEXTS; i++) {
        struct prefill_row p;
        prefill_row_init(&p, 1000000 + i);
        p.status = STATUS_SKIPPED;
        result_add_prefill_take(&r, &p);
    }
    const struct store_run_new many = {
        .owner = ada, .result = &r, .document = "{}", .document_bytes = 2};
    assert_fails(f, ERR_LIMIT, store_run_add(f->s, &many, NULL, &f->err));
    const struct store_run_new large = {
        .owner = ada, .result = &r, .document = "{}", .document_bytes = RESULT_MAX_BYTES + 1};
    assert_fails(f, ERR_LIMIT, store_run_add(f->s, &large, NULL, &f->err));
    result_release(&r);
}

static void assert_model(struct fixture *f, const char *uid, const char *model)
{
    struct store_run run;

    assert_fine(f, store_run_get(f->s, uid, &f->a, &run, &f->err));
    assert_string_equal(run.model, model);
    assert_string_equal(run.base, model);
}

/* A handle remembers names by id; what was rolled back gives its ids, and the store's version, to
 * what comes next. */
static void test_names_rolled_back(void **state)
{
    struct fixture *f = *state;
    int64_t ada = fixture_user(f, "ada");
    struct result r;

    synthetic_run(1, &r);
    mem_set_string(&r.subject.model, "first/One");
    assert_fine(f, store_begin(f->s, &f->err));
    assert_model(f, fixture_publish(f, ada, &r, STORE_RUN_PUBLIC), "first/One");
    store_rollback(f->s);
    mem_set_string(&r.subject.model, "second/Two");
    assert_model(f, fixture_publish(f, ada, &r, STORE_RUN_PUBLIC), "second/Two");
    result_release(&r);
}

const struct CMUnitTest run_tests[] = {
    TEST(test_add),
    TEST(test_doubles),
    TEST(test_published_pages),
    TEST(test_lists),
    TEST(test_filters),
    TEST(test_cursors),
    TEST(test_stable_pages),
    TEST(test_states),
    TEST(test_revise),
    TEST(test_delete),
    TEST(test_bounds),
    TEST(test_hostile),
    TEST(test_long_texts),
    TEST(test_names_rolled_back),
    {0},
};
