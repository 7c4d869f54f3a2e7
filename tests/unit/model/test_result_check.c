/* Each invariant, just inside and just outside; imported figures are rounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "model/result.h"

/* A cell that holds: 3,000 tokens in 30 s at C = 4, 40 ms between tokens. */
static struct cell *good_cell(struct result *r, const char *kind)
{
    struct cell c;
    result_init(r);
    mem_set_string(&r->kind, kind);
    cell_init(&c, 16384, 4);
    c.total_tok_s = 100;
    c.output_tokens = 3000;
    c.measured_s = 30;
    c.itl_ms.p50 = 40;
    c.per_request_tok_s = 25;
    c.avg_active = 4;
    c.completed = 0;
    return result_add_cell_take(r, &c);
}

static void set_total(struct cell *c, double v)
{
    c->total_tok_s = v;
}

static void set_per_request(struct cell *c, double v)
{
    c->per_request_tok_s = v;
}

static void set_active(struct cell *c, double v)
{
    c->avg_active = v;
}

static void set_foreign(struct cell *c, double v)
{
    c->avg_active = v;
    c->marks = MARK_FOREIGN_LOAD;
}

static void set_low(struct cell *c, double v)
{
    c->ci95.low = v;
    c->ci95.high = 100;
}

static void set_p90_of_63(struct cell *c, double v)
{
    c->ttft_ms = (struct spread){63, 10, v, NAN, NAN};
}

static void set_p90_of_64(struct cell *c, double v)
{
    c->ttft_ms = (struct spread){64, 10, v, NAN, NAN};
}

static void set_p99_of_661(struct cell *c, double v)
{
    c->gap_ms = (struct spread){661, 10, 11, v, v};
}

static void set_max(struct cell *c, double v)
{
    c->gap_ms = (struct spread){700, 10, 11, 100, v};
}

static void set_loop_excerpt(struct cell *c, double v)
{
    char text[1200] = "";
    for (int i = 0; i < (int)v; i++)
        memcpy(text + 2 * i, "\xC3\xA9", 3); /* two bytes, one character */
    mem_set_string(&c->loop.excerpt, text);
}

static void test_cells(void **state)
{
    static const struct {
        const char *kind;
        void (*set)(struct cell *c, double v);
        double v;
        const char *error; /* NULL: it holds */
    } cases[] = {
        {"measured", set_total, 100.49, NULL},
        {"measured", set_total, 99.51, NULL},
        {"measured", set_total, 100.6,
         "decode[0] (16K x 4): total_tok_s is 100.6, but output_tokens / measured_s is 100"},
        {"measured", set_total, NAN,
         "decode[0] (16K x 4): total_tok_s is missing in a cell that is valid"},
        /* printed to 0.1: 30.0 s may be 29.95 s, so 100 may be 100.18 and 0.5 % more */
        {"imported", set_total, 100.7, NULL},
        {"imported", set_total, 101.2,
         "decode[0] (16K x 4): total_tok_s is 101.2, but output_tokens / measured_s is 100"},
        {"measured", set_per_request, 25.02, NULL},
        {"measured", set_per_request, 25.1,
         "decode[0] (16K x 4): per_request_tok_s x itl_ms.p50 is 25.1 x 40 = 1004, not 1000"},
        {"imported", set_per_request, 25.1, NULL},
        {"imported", set_per_request, 25.2,
         "decode[0] (16K x 4): per_request_tok_s x itl_ms.p50 is 25.2 x 40 = 1008, not 1000"},
        {"measured", set_active, 4.08, NULL},
        {"measured", set_active, 4.1,
         "decode[0] (16K x 4): avg_active is 4.1, more than the 4 streams of the cell, without the "
         "mark foreign_load"},
        {"imported", set_active, 4.1, NULL},
        {"measured", set_foreign, 9, NULL},
        {"measured", set_low, 99, NULL},
        {"measured", set_low, 101, "decode[0] (16K x 4): ci95: low is above high"},
        {"measured", set_p90_of_64, 11, NULL},
        {"measured", set_p90_of_64, 9,
         "decode[0] (16K x 4): ttft_ms: the percentiles do not ascend"},
        {"measured", set_p90_of_63, 11,
         "decode[0] (16K x 4): ttft_ms: p90 needs 64 samples and p99 662, n is 63"},
        {"measured", set_p99_of_661, 12,
         "decode[0] (16K x 4): gap_ms: p90 needs 64 samples and p99 662, n is 661"},
        {"measured", set_max, 99, NULL}, /* p99 is the middle of a bucket above the true maximum */
        {"measured", set_max, 98, "decode[0] (16K x 4): gap_ms: the percentiles do not ascend"},
        {"measured", set_loop_excerpt, 512, NULL},
        {"measured", set_loop_excerpt, 513,
         "decode[0] (16K x 4): loop.excerpt: more than 512 characters"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct result r;
        struct err err = {0};
        cases[i].set(good_cell(&r, cases[i].kind), cases[i].v);
        bool holds = result_check(&r, &err);
        assert_string_equal(err.text, cases[i].error ? cases[i].error : "");
        assert_int_equal(holds, cases[i].error == NULL);
        result_release(&r);
    }
}

static void test_no_numbers_without_a_measurement(void **state)
{
    static const enum cell_status without[] = {STATUS_OVER_CAPACITY, STATUS_LOOPED, STATUS_SKIPPED};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(without); i++) {
        struct result r;
        struct err err = {0};
        struct cell *c = good_cell(&r, "measured");
        c->status = without[i];
        assert_false(result_check(&r, &err));
        assert_non_null(strstr(err.text, "total_tok_s is 100 in a cell that is "));
        assert_non_null(strstr(err.text, status_name(without[i])));
        result_release(&r);

        struct cell empty;
        result_init(&r);
        cell_init(&empty, 0, 1);
        empty.status = without[i];
        empty.completed = empty.output_tokens = 0; /* a looped cell was begun */
        c = result_add_cell_take(&r, &empty);
        assert_true(result_check(&r, &err));
        c->output_tokens = 7;
        assert_false(result_check(&r, &err));
        assert_non_null(strstr(err.text, "output_tokens is 7"));
        result_release(&r);
    }
    struct result r;
    struct err err = {0};
    good_cell(&r, "measured")->status = STATUS_ERROR; /* keeps its own, apart */
    assert_true(result_check(&r, &err));
    result_release(&r);
}

static void test_prefill(void **state)
{
    static const struct {
        const char *kind;
        double rate, ttft, prompt, cached;
        enum cell_status status;
        const char *error;
    } cases[] = {
        {"measured", 4000, 2048, 8192, NAN, STATUS_VALID, NULL},
        {"measured", 4000, 2048, 9192, 1000, STATUS_VALID, NULL},
        {"measured", 4015, 2048, 8192, NAN, STATUS_VALID, NULL},
        {"measured", 4030, 2048, 8192, NAN, STATUS_VALID,
         "prefill[0] (8K): total_tok_s x ttft_ms.p50 is 8253.44 tokens, but prompt_tokens less "
         "cached_tokens is 8192"},
        {"measured", 4000, 2048, NAN, NAN, STATUS_VALID, NULL}, /* the server does not say */
        {"measured", NAN, 2048, 8192, NAN, STATUS_VALID,
         "prefill[0] (8K): total_tok_s is missing in a cell that is valid"},
        {"measured", 4000, 2048, 8192, NAN, STATUS_SKIPPED,
         "prefill[0] (8K): figures in a row that is skipped"},
        {"measured", NAN, NAN, NAN, NAN, STATUS_SKIPPED, NULL},
        /* 3 tok/s printed whole may be 3.5: 16 % */
        {"imported", 3, 2048, 7, NAN, STATUS_VALID, NULL},
        {"imported", 3, 2048, 8, NAN, STATUS_VALID,
         "prefill[0] (8K): total_tok_s x ttft_ms.p50 is 6.144 tokens, but prompt_tokens less "
         "cached_tokens is 8"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct result r;
        struct prefill_row p;
        struct err err = {0};
        result_init(&r);
        mem_set_string(&r.kind, cases[i].kind);
        prefill_row_init(&p, 8192);
        p.total_tok_s = cases[i].rate;
        p.ttft_ms.p50 = cases[i].ttft;
        p.prompt_tokens = cases[i].prompt;
        p.cached_tokens = cases[i].cached;
        p.status = cases[i].status;
        result_add_prefill_take(&r, &p);
        bool holds = result_check(&r, &err);
        assert_string_equal(err.text, cases[i].error ? cases[i].error : "");
        assert_int_equal(holds, cases[i].error == NULL);
        prefill_row_init(&p, 8192);
        p.status = STATUS_SKIPPED;
        result_add_prefill_take(&r, &p);
        assert_false(result_check(&r, &err)); /* twice the same context */
        result_release(&r);
    }
}

static void test_axes(void **state)
{
    struct result r;
    struct err err = {0};
    struct cell c;
    (void)state;
    result_init(&r);
    for (int i = 0; i < PLAN_MAX_CONTEXTS; i++) {
        cell_init(&c, i, 1);
        c.status = STATUS_SKIPPED;
        result_add_cell_take(&r, &c);
    }
    assert_true(result_check(&r, &err));
    cell_init(&c, 99, 1);
    c.status = STATUS_SKIPPED;
    result_add_cell_take(&r, &c);
    assert_false(result_check(&r, &err));
    assert_string_equal(err.text, "decode: 33 contexts x 1 concurrency levels; at most 32 x 32");
    result_release(&r);
}

static void test_url(void **state)
{
    static const struct {
        const char *url;
        bool holds;
    } cases[] = {
        {"http://127.0.0.1:8000/v1", true}, {"http://host/path?mail=a@b", true},
        {"http://user:pass@host/", false},  {"https://token@host", false},
        {"user:pass@host:8000", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct result r;
        struct err err = {0};
        result_init(&r);
        mem_set_string(&r.server.url, cases[i].url);
        assert_int_equal(result_check(&r, &err), cases[i].holds);
        assert_null(strstr(err.text, "pass@")); /* and is not repeated */
        result_release(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),   cmocka_unit_test(test_no_numbers_without_a_measurement),
        cmocka_unit_test(test_prefill), cmocka_unit_test(test_axes),
        cmocka_unit_test(test_url),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
