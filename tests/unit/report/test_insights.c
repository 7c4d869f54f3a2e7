/* Each rule: what it says of the published matrices and of cells made for it, and that it is silent
 * where the figures do not support it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "published.h"
#include "report/insights.h"

static void expect(const struct result *r, const char *rule, const struct lang *l, const char *text)
{
    struct buf b;
    buf_init(&b, 1 << 16);
    for (size_t i = 0; i < insight_rule_count; i++) {
        if (strcmp(insight_rules[i].name, rule) != 0)
            continue;
        insight_rules[i].add(r, l, &b);
        assert_string_equal(b.p, text);
        buf_release(&b);
        return;
    }
    fail_msg("no rule %s", rule);
}

static void test_published(void **state)
{
    static const struct {
        const char *rule, *coder, *other;
    } cases[] = {
        {"prefill",
         "Prefill falls from 3,531 tok/s at 8K to 358.0 tok/s at 128K: 9.9 times slower for a "
         "prompt 16 times as long. From 16K on it falls almost as 1/context, so TTFT grows almost "
         "with the square of the prompt.",
         "Prefill falls from 1,804 tok/s at 8K to 839.0 tok/s at 56K: 2.2 times slower for a "
         "prompt 7.0 times as long."},
        {"context_cost",
         "With one request, a token takes 7.8 ms plus 0.36 ms for every 1K of context. Its speed "
         "halves by about 22K.",
         "With one request, a token takes 22.7 ms plus 0.17 ms for every 1K of context."},
        {"alone",
         "At context 0 one request alone gets 124.6 tok/s; with about 15 at once each gets half of "
         "that.",
         "At context 0 one request alone gets 44.1 tok/s; with 4 at once each still gets 39.7 "
         "(90 %)."},
        {"knee",
         "Total speed still rises by 58 % from 8 to 16 requests at once (591.6 to 933.6 tok/s). It "
         "is the KV cache that ends this row, not the speed of the hardware.",
         "Total speed still rises by 93 % from 2 to 4 requests at once (82.0 to 158.4 tok/s). "
         "Beyond that, requests queue."},
        {"ttft",
         "TTFT of one request grows from 30 ms at context 0 to 732 ms at 136K, although the "
         "context is in the prompt cache already.",
         "TTFT of one request grows from 89 ms at context 0 to 3,332 ms at 56K, although the "
         "context is in the prompt cache already."},
        {"stutter", "", ""},
        {"energy", "", ""},
        {"queue",
         "At 128K × 1, 136K × 1 requests waited for a while, although on average all of them ran.",
         "Requests had to wait in 2 cells: on average 6.1 of 8 ran at 0 × 8, 0.9 of 1 ran at "
         "56K × 1."},
        {"slots", "", /* --max-num-seqs 128 */
         "The server runs at most 29 requests at once, so columns beyond that can only queue."},
        /* 2 x (64K + 8K) ran, 4 x (32K + 8K) did not; 8 x 8K ran, 2 x (32K + 8K) did not */
        {"capacity",
         "34 of 48 cells were not run: requests × (context + 8,192 output tokens) is more than the "
         "KV cache holds. What ran and what did not puts it between 147,456 and 163,840 tokens.",
         "24 of 32 cells were not run: requests × (context + 8,192 output tokens) is more than the "
         "KV cache holds. What ran and what did not puts it between 65,536 and 81,920 tokens."},
        {"kv_dtype", "", ""}, /* their caches have 4 bits already */
        {"max_output",
         "Measured with --max-output 2,048 instead of 8,192, 4 of these cells would "
         "fit.",
         "Measured with --max-output 2,048 instead of 8,192, 2 of these cells would fit."},
        {"model_len", "", ""},
    };
    struct result coder, other;
    (void)state;
    published_read("qwen3-coder-30b", &coder);
    published_read("qwen3.5-27b", &other);
    assert_int_equal(ARRAY_LEN(cases), insight_rule_count);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        expect(&coder, cases[i].rule, NULL, cases[i].coder);
        expect(&other, cases[i].rule, NULL, cases[i].other);
    }
    expect(
        &coder, "context_cost", lang_find("zh"),
        "单个请求时，每个 token 用时 7.8 ms，上下文每增加 1K 再加 0.36 ms。约到 22K 时速度减半。");
    result_release(&coder);
    result_release(&other);
}

static void test_silent_without_figures(void **state)
{
    struct result r;
    (void)state;
    result_init(&r);
    for (size_t i = 0; i < insight_rule_count; i++)
        expect(&r, insight_rules[i].name, NULL, "");
    result_release(&r);
}

static void add_prefill(struct result *r, int64_t context, double rate)
{
    struct prefill_row p;
    prefill_row_init(&p, context);
    p.total_tok_s = rate;
    result_add_prefill_take(r, &p);
}

static struct cell *add_cell(struct result *r, int64_t context, int level, double total)
{
    struct cell c;
    cell_init(&c, context, level);
    c.total_tok_s = total;
    c.per_request_tok_s = total / level;
    return result_add_cell_take(r, &c);
}

static void test_prefill(void **state)
{
    struct result r;
    (void)state;
    result_init(&r);
    add_prefill(&r, 8192, 1000);
    add_prefill(&r, 16384, 990);
    expect(&r, "prefill", NULL, ""); /* two points are no shape */
    add_prefill(&r, 32768, 950);
    expect(&r, "prefill", NULL, "Prefill holds its speed: at 8K it is 1,000 tok/s, at 32K 950.0.");
    add_prefill(&r, 65536, 1200);
    expect(&r, "prefill", NULL, ""); /* rising: nothing to explain it with */
    r.prefill[3].total_tok_s = 100;
    r.prefill[3].status = STATUS_ERROR;
    expect(&r, "prefill", NULL, "Prefill holds its speed: at 8K it is 1,000 tok/s, at 32K 950.0.");
    result_release(&r);
}

static void test_context_cost(void **state)
{
    static const double bent[] = {10, 10, 30}, flat[] = {10, 10.1, 10.2};
    struct result r;
    (void)state;
    result_init(&r);
    for (int i = 0; i < 3; i++)
        add_cell(&r, i * 16384, 1, 50)->itl_ms.p50 = bent[i];
    expect(&r, "context_cost", NULL, ""); /* no line */
    for (int i = 0; i < 3; i++)
        r.decode[i].itl_ms.p50 = flat[i];
    expect(&r, "context_cost", NULL, ""); /* a line, of no consequence */
    for (int i = 0; i < 3; i++)
        r.decode[i].itl_ms.p50 = 10 + 8 * i; /* 0.5 ms for each K */
    expect(&r, "context_cost", NULL,
           "With one request, a token takes 10.0 ms plus 0.50 ms for every 1K of context. Its "
           "speed halves by about 20K.");
    r.decode[2].status = STATUS_ERROR;
    expect(&r, "context_cost", NULL, "");
    result_release(&r);
}

static void test_knee(void **state)
{
    struct result r;
    (void)state;
    result_init(&r);
    add_cell(&r, 0, 1, 100);
    add_cell(&r, 0, 2, 190);
    expect(&r, "knee", NULL, ""); /* too few */
    add_cell(&r, 0, 4, 350);
    expect(&r, "knee", NULL,
           "Total speed still rises by 84 % from 2 to 4 requests at once (190.0 to 350.0 tok/s). "
           "The knee lies beyond what was measured.");
    add_cell(&r, 0, 8, 364);
    add_cell(&r, 0, 16, 370);
    expect(&r, "knee", NULL,
           "Total speed levels off at 4 requests at once: going on to 8 takes it from 350.0 to "
           "364.0 tok/s, 4 % more.");
    r.decode[3].total_tok_s = 420; /* 20 %: neither flat nor steep */
    r.decode[4].total_tok_s = 500;
    expect(&r, "knee", NULL, "");
    result_release(&r);
}

static void test_stutter(void **state)
{
    struct result r;
    (void)state;
    result_init(&r);
    struct cell *c = add_cell(&r, 16384, 2, 100);
    c->gap_ms.p50 = 20;
    c->gap_ms.p99 = 60;
    expect(&r, "stutter", NULL, "");
    c->gap_ms.p99 = 190;
    expect(&r, "stutter", NULL,
           "At 16K × 2 one gap between tokens in a hundred is longer than 190 ms, 9.5 times the "
           "median of 20 ms: the text stutters.");
    c->status = STATUS_QUEUED;
    expect(&r, "stutter", NULL, "");
    result_release(&r);
}

static void test_energy(void **state)
{
    struct result r;
    (void)state;
    result_init(&r);
    for (int level = 1; level <= 4; level *= 4) {
        struct cell *c = add_cell(&r, 0, level, 100 * level);
        c->output_tokens = 3000 * level;
        c->energy_j = 10000;
    }
    expect(&r, "energy", NULL,
           "A joule buys most at 0 × 4: 1.2 tokens, against 0.30 with one request alone.");
    r.decode[1].energy_j = 50000; /* now one request alone is the best */
    expect(&r, "energy", NULL, "");
    result_release(&r);
}

/* Two contexts x 1, 2, 4 with a budget of 40,000 and 8,192 tokens of output. */
static void capacity_result(struct result *r)
{
    result_init(r);
    r->plan.max_output = 8192;
    r->server.kv_budget = 40000;
    r->server.context_limit = 24576;
    for (int i = 0; i < 2; i++) {
        for (int level = 1; level <= 4; level *= 2) {
            struct cell *c = add_cell(r, i * 16384, level, 100);
            if (level * (i * 16384 + 8192) > 40000)
                c->status = STATUS_OVER_CAPACITY;
        }
    }
}

static void test_capacity(void **state)
{
    struct result r;
    (void)state;
    capacity_result(&r);
    expect(&r, "capacity", NULL,
           "2 of 6 cells were not run: requests × (context + 8,192 output tokens) is more than the "
           "KV cache holds. It holds 40,000 tokens.");
    /* 2 x (16,384 + 2,048) fits, 4 x does not */
    expect(&r, "max_output", NULL,
           "Measured with --max-output 2,048 instead of 8,192, 1 of these cells would fit.");
    r.plan.capacity_rule = CAPACITY_WINDOW;
    expect(&r, "capacity", NULL, "");
    expect(&r, "max_output", NULL, "");
    result_release(&r);
}

static void test_kv_dtype(void **state)
{
    static const struct {
        const char *engine, *command, *option;
    } cases[] = {
        {"vllm", "vllm serve m", "--kv-cache-dtype fp8"},
        {"vLLM", "vllm serve m --kv-cache-dtype auto", "--kv-cache-dtype fp8"},
        {"vllm", "vllm serve m --kv-cache-dtype=bfloat16 -x", "--kv-cache-dtype fp8"},
        {"vllm", "# a comment\nvllm serve m \\\n--kv-cache-dtype fp8_e4m3", NULL},
        {"vllm", "vllm serve m --kv-cache-dtype int4_per_token_head", NULL},
        {"vllm", "vllm serve m --kv-cache-dtype turbo3", NULL}, /* who knows */
        {"vllm", "vllm serve m --kv-cache-dtype", "--kv-cache-dtype fp8"},
        {"vllm", NULL, NULL},
        {"sglang", "python -m sglang.launch_server", "--kv-cache-dtype fp8_e5m2"},
        {"llama.cpp", "llama-server -m x", "--cache-type-k q8_0 --cache-type-v q8_0"},
        {"llama.cpp", "llama-server -m x -ctk q8_0 -ctv q8_0", NULL},
        {"other", "serve", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct result r;
        struct buf expected;
        capacity_result(&r);
        mem_set_string(&r.engine.name, cases[i].engine);
        mem_set_string(&r.engine.launch_command, cases[i].command);
        buf_init(&expected, 1024);
        if (cases[i].option) /* 2 x 24,576 is within 80,000, 4 x 24,576 is not */
            buf_addf(&expected,
                     "%s would double the tokens that the KV cache holds, and free 1 of these "
                     "cells.",
                     cases[i].option);
        expect(&r, "kv_dtype", NULL, expected.p);
        buf_release(&expected);
        result_release(&r);
    }
}

static void test_model_len(void **state)
{
    struct result r;
    (void)state;
    capacity_result(&r);
    mem_set_string(&r.engine.name, "vllm");
    expect(&r, "model_len", NULL,
           "--max-model-len 24,576 is what ends the rows at 16K: the KV cache of 40,000 tokens "
           "would hold a longer context.");
    r.server.kv_budget = 25000; /* hardly more than the limit */
    expect(&r, "model_len", NULL, "");
    r.server.kv_budget = 40000;
    r.server.context_limit = 32768; /* the plan ended before the model */
    expect(&r, "model_len", NULL, "");
    r.server.context_limit = 24576;
    mem_set_string(&r.engine.name, "llama.cpp"); /* there the limit takes the memory */
    expect(&r, "model_len", NULL, "");
    result_release(&r);
}

static void test_lines(void **state)
{
    struct result r;
    struct buf b;
    size_t lines = 0;
    (void)state;
    buf_init(&b, 1 << 16);
    published_read("qwen3-coder-30b", &r);
    insights_add(&r, NULL, &b);
    for (const char *p = b.p; *p; p++)
        lines += *p == '\n';
    assert_int_equal(lines, 8);
    assert_int_equal(b.p[b.len - 1], '\n');
    result_release(&r);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published), cmocka_unit_test(test_silent_without_figures),
        cmocka_unit_test(test_prefill),   cmocka_unit_test(test_context_cost),
        cmocka_unit_test(test_knee),      cmocka_unit_test(test_stutter),
        cmocka_unit_test(test_energy),    cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_kv_dtype),  cmocka_unit_test(test_model_len),
        cmocka_unit_test(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
