/* What a document must hold to be published, and which of its figures are doubted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "site/publish.h"

/* A valid run of two cards whose weights are 8.03 GB and whose memory reads 1,872 GB/s. */
static void read_example(struct result *ret)
{
    struct buf text;
    struct err err;
    buf_init(&text, RESULT_MAX_BYTES);
    assert_true(file_read("tests/data/measured/example.json", &text, &err));
    assert_true(result_read_json(text.p, text.len, "example", ret, &err));
    buf_release(&text);
}

static void set_fact(struct result *r, const char *name, const char *value)
{
    for (size_t i = 0; i < r->server.fact_count; i++)
        if (strcmp(r->server.facts[i].name, name) == 0)
            mem_set_string(&r->server.facts[i].value, value);
}

struct rig {
    struct arena a;
    struct buf text;
    struct publication p;
    struct err err;
};

/* Publishes and releases it. */
static bool publish(struct rig *t, struct result *r)
{
    *t = (struct rig){0};
    buf_init(&t->text, RESULT_MAX_BYTES);
    assert_true(result_write_json(r, &t->text));
    result_release(r);
    return publication_read(&t->p, t->text.p, t->text.len, &t->a, &t->err);
}

static void tear_down(struct rig *t)
{
    publication_release(&t->p);
    buf_release(&t->text);
    arena_release(&t->a);
}

static void test_plausible(void **state)
{
    struct rig t;
    struct result r;
    int tokens;
    (void)state;
    read_example(&r);
    assert_true(fabs(publication_bound(&r, &tokens) - 1872e9 / 8.03e9) < 1e-6);
    assert_int_equal(tokens, 1);
    assert_true(publish(&t, &r));
    assert_int_equal(t.p.flag_count, 0);
    tear_down(&t);
}

/* Every cell above the bound is flagged, with figure and bound, and none below it. */
static void test_every_cell(void **state)
{
    struct rig t;
    struct result r;
    size_t above = 0;
    int tokens;
    (void)state;
    read_example(&r);
    set_fact(&r, "memory_bandwidth_bytes_s", "400000000000");
    double bound = publication_bound(&r, &tokens);
    for (size_t i = 0; i < r.decode_count; i++)
        above +=
            status_has_numbers(r.decode[i].status) && r.decode[i].per_request_tok_s > 1.05 * bound;
    assert_true(above > 8 && above < r.decode_count);
    assert_true(publish(&t, &r));
    assert_int_equal(t.p.flag_count, above);
    assert_string_equal(t.p.flags[0].code, "above_bound");
    assert_string_equal(t.p.flags[0].text,
                        "One request got 118.0 tok/s; reading the weights once for each token "
                        "allows 49.8 tok/s.");
    assert_int_equal(t.p.flags[0].context_tokens, 0);
    assert_int_equal(t.p.flags[0].concurrency, 1);
    tear_down(&t);
}

/* A document does not get past the bound by claims of its own. */
static void test_claims(void **state)
{
    struct rig t;
    struct result r;
    int tokens;
    (void)state;
    read_example(&r);
    set_fact(&r, "memory_bandwidth_bytes_s", "9e15");
    set_fact(&r, "weight_bytes_per_token", "80e9");
    for (int i = 0; i < r.hardware.gpu_count; i++)
        mem_set_string(&r.hardware.gpus[i].name, "NVIDIA GeForce RTX 3090");
    double sheet = r.hardware.gpu_count * 936e9 / 80e9;
    assert_true(fabs(publication_bound(&r, &tokens) - sheet) < 0.05 * sheet);
    assert_true(publish(&t, &r));
    assert_true(t.p.flag_count > 0);
    tear_down(&t);

    read_example(&r);
    set_fact(&r, "memory_bandwidth_bytes_s", "30e9");
    mem_set_string(&r.engine.launch_command, "vllm serve x --speculative-config '{}'");
    assert_true(publication_bound(&r, &tokens) > 16 * 3);
    assert_int_equal(tokens, 16);
    assert_true(publish(&t, &r));
    assert_true(t.p.flag_count > 0);
    assert_non_null(strstr(t.p.flags[0].text, "every 16 drafted tokens"));
    tear_down(&t);
}

static void test_unknown(void **state)
{
    struct result r;
    int tokens;
    (void)state;
    read_example(&r);
    set_fact(&r, "weight_bytes_per_token", "unknown");
    assert_true(isnan(publication_bound(&r, &tokens)));
    result_release(&r);
}

static void test_refused(void **state)
{
    struct rig t;
    struct result r;
    (void)state;
    read_example(&r);
    mem_set_string(&r.engine.launch_command, "vllm serve x --api-key sk-very-secret");
    assert_false(publish(&t, &r));
    assert_string_equal(t.p.field, "engine.launch_command");
    assert_null(strstr(t.err.text, "very-secret"));
    tear_down(&t);
    read_example(&r);
    mem_set_string(&r.subject.model, "../..");
    assert_false(publish(&t, &r));
    assert_string_equal(t.p.field, "subject.model");
    tear_down(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plausible), cmocka_unit_test(test_every_cell),
        cmocka_unit_test(test_claims),    cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
