/* test_calculator.c - the calculator against figures worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "model/calculator.h"

static bool near(double a, double b)
{
    return isinf(b) ? a == b : fabs(a - b) <= 5e-5 * (1 + fabs(b));
}

/* "name value name value" */
static void set_all(struct calculator *c, const char *text)
{
    char words[512], *rest = words, *name;
    struct err err;
    assert_true(strlen(text) < sizeof words);
    memcpy(words, text, strlen(text) + 1);
    while ((name = strsep(&rest, " ")) && *name) {
        if (!calculator_set(c, name, strsep(&rest, " "), &err))
            fail_msg("%s", err.text);
    }
}

#define MOE                                                                                        \
    "kind moe params-b 30.5 active-b 3.3 experts 128 experts-per-token 8 global-layers 48 "        \
    "kv-heads 4"
#define SPECULATIVE "decoding speculative draft-resident-gb 1.8 draft-traffic-gb 1.8"

/* The uncorrected formulas, and what each correction makes of them. */
static void test_figures(void **state)
{
    static const struct {
        const char *inputs;
        int corrections;
        enum calculator_state state;
        double resident, store, read, memory_batch, rate_batch, single, usable, aggregate, session;
    } rows[] = {
        {"", 0, STATE_USABLE, 18, 8.589934592, 4.194304, 12, 5, 36.0453, 5, 102.6391, 20.5278},
        {SPECULATIVE, 0, STATE_USABLE, 19.8, 8.589934592, 4.194304, 11, 8, 79.3308, 8, 162.2534,
         20.2817},
        {MOE, 0, STATE_USABLE, 17.15625, 3.221225472, 1.572864, 32, 24, 233.2964, 17, 353.7337,
         20.8079},
        {"memory-gb 24 bandwidth-gb-s 936.2", 0, STATE_SESSION_FAIL, 18, 8.589934592, 4.194304, 0,
         6, 42.18199, 0, 0, 0},
        /* one read of the cache for 3.3616 tokens: 3.3616 * 800 / (19.8 + 4.194304) */
        {SPECULATIVE, CORRECT_KV_PASS, STATE_USABLE, 19.8, 8.589934592, 4.194304, 11, 27, 112.0799,
         11, 448.6392, 40.7854},
        /* what 17 sessions read, and not what one does, is what 18 would be too many for */
        {MOE, CORRECT_RATE, STATE_USABLE, 17.15625, 3.221225472, 1.572864, 32, 17, 233.2964, 17,
         353.7337, 20.8079},
        /* 2 * 32e9 FLOPs a token at 1 TFLOPS: 64 ms, where memory takes 27.7 */
        {"peak-tflops 1 floor-tok-s 5", CORRECT_COMPUTE, STATE_USABLE, 18, 8.589934592, 4.194304,
         12, 33, 15.625, 3, 15.625, 5.2083},
        /* two devices: the sum of both, with a free link */
        {"devices 2", CORRECT_SPLIT, STATE_USABLE, 18, 8.589934592, 4.194304, 27, 14, 72.0906, 14,
         291.9698, 20.8550},
        /* ... and in a pipeline a session has the bandwidth of one; 14 are two groups of 7 */
        {"devices 2 split pipeline floor-tok-s 16", CORRECT_SPLIT, STATE_USABLE, 18, 8.589934592,
         4.194304, 27, 19, 36.0453, 15, 242.6336, 16.1756},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct calculator c;
        struct calculator_answer a;
        struct err err;
        calculator_init(&c);
        set_all(&c, rows[i].inputs);
        c.corrections = rows[i].corrections;
        assert_true(calculator_check(&c, &err));
        calculator_solve(&c, &a);
        const double got[] = {a.resident_gb,  a.session_store_gb,     a.session_read_gb,
                              a.memory_batch, a.rate_batch,           a.single.session_tok_s,
                              a.usable_batch, a.best.aggregate_tok_s, a.best.session_tok_s};
        const double *want = &rows[i].resident;
        assert_int_equal(a.state, rows[i].state);
        for (size_t k = 0; k < ARRAY_LEN(got); k++)
            if (!near(got[k], want[k]))
                fail_msg("row %zu, figure %zu: %.6f, expected %.6f", i, k, got[k], want[k]);
    }
}

/* Every bound names what would help; a prefill bound needs a peak. */
static void test_advice(void **state)
{
    static const struct {
        const char *inputs, *state, *words;
    } rows[] = {
        {"memory-gb 16", "resident-fail", "8.0 GB more than the memory"},
        {"memory-gb 30", "session-fail", "6.0 GB are left, and one session of 32768 tokens"},
        {"floor-tok-s 50", "floor-fail", "at most 36.0 tok/s, the floor is 50.0"},
        {"", "usable", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct calculator c;
        struct calculator_answer a;
        char text[400];
        calculator_init(&c);
        set_all(&c, rows[i].inputs);
        calculator_solve(&c, &a);
        assert_string_equal(calculator_state_name(a.state), rows[i].state);
        const char *words = calculator_advice(&c, &a, text, sizeof text);
        if (!words != !rows[i].words || (words && !strstr(words, rows[i].words)))
            fail_msg("row %zu: %s", i, words ? words : "(none)");
        assert_true(isnan(a.prefill_tok_s));
    }
}

/* 2 * 32e9 FLOPs a token at 64 TFLOPS: 1,000 tokens a second; 64 layers of 64 heads of 128 over
 * 1,000 tokens add 2 * 128 * 64 * 64000 * 1000 FLOPs to 64e12. */
static void test_prefill(void **state)
{
    struct calculator c;
    struct calculator_answer a;
    (void)state;
    calculator_init(&c);
    set_all(&c, "peak-tflops 64 read-context 1000");
    calculator_solve(&c, &a);
    assert_true(near(a.prefill_tok_s, 1000) && near(a.prefill_s, 1));
    set_all(&c, "query-heads 64");
    calculator_solve(&c, &a);
    assert_true(near(a.prefill_s, 1 + 1.048576 / 64));
    set_all(&c, "read-context 10"); /* so few tokens that reading the weights takes longer */
    calculator_solve(&c, &a);
    assert_true(near(a.prefill_s, 18.0 / 800));
}

/* 8 devices, 64 layers, two all-reduces of 2 * 7/8 * 2 * 5120 bytes over 100 GB/s. */
static void test_link(void **state)
{
    struct calculator c;
    (void)state;
    calculator_init(&c);
    set_all(&c, "devices 8 hidden 5120 link-gb-s 100");
    double s = 1 / calculator_at(&c, 1).session_tok_s;
    assert_true(near(s, 22.194304 / 6400 + 64 * 2 * 1.75 * 2 * 5120 / 100e9));
}

static void test_what_is_refused(void **state)
{
    static const struct {
        const char *name, *text, *words;
    } values[] = {
        {"memory-gb", "0", "memory-gb: '0' is not a number from 0.001 to"},
        {"memory_gb", "nan", "memory-gb: 'nan' is not"},
        {"memory-gb", "12x", "'12x'"},
        {"experts", "8.5", "not a whole number"},
        {"routing", "sometimes", "routing: 'sometimes' is not one of expected, minimum"},
        {"acceptance-pct", "101", "from 0 to 100"},
        {"memory", "1", "'memory' is no input"},
    };
    static const struct {
        const char *inputs, *words;
    } together[] = {
        {"global-layers 0", "one layer or more"},
        {"read-context 40000", "more than allocated-context keeps"},
        {"kind moe active-b 33", "more than all 32 parameters"},
        {"kind moe active-b 3 experts 8", "fewer than the 8 experts"},
        {"kind moe active-b 1 experts 16", "8 experts of 3.875 each"},
    };
    struct calculator c;
    struct err err;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        calculator_init(&c);
        assert_false(calculator_set(&c, values[i].name, values[i].text, &err));
        if (!strstr(err.text, values[i].words))
            fail_msg("value %zu: %s", i, err.text);
    }
    for (size_t i = 0; i < ARRAY_LEN(together); i++) {
        calculator_init(&c);
        set_all(&c, together[i].inputs);
        assert_false(calculator_check(&c, &err));
        if (!strstr(err.text, together[i].words))
            fail_msg("together %zu: %s", i, err.text);
    }
}

/* The document says every input under its name, and what is unbounded is null. */
static void test_json(void **state)
{
    struct calculator c;
    struct calculator_answer a;
    struct buf out;
    double v;
    (void)state;
    calculator_init(&c);
    set_all(&c, "kv-heads 0 decoding speculative");
    calculator_solve(&c, &a);
    buf_init(&out, 65536);
    calculator_write_json(&c, &a, &out);
    json_t *root = json_parse(out.p, out.len, "answer", NULL);
    assert_non_null(root);
    assert_int_equal(json_object_size(json_at(root, "inputs")), calculator_field_count + 1);
    assert_string_equal(json_string_at(root, "inputs.decoding"), "speculative");
    assert_true(json_number_at(root, "inputs.memory_gb", &v) && v == 128);
    assert_true(json_is_null(json_at(root, "memory_batch")));
    assert_string_equal(json_string_at(root, "state"), "usable");
    assert_int_equal(json_array_size(json_at(root, "inputs.corrections")), 4);
    assert_string_equal(json_string_at(root, "plain.state"), "usable");
    assert_true(json_number_at(root, "plain.single.session_tok_s", &v) && v > 0);
    json_decref(root);
    buf_release(&out);
}

/* Sessions never get faster as there are more of them: the search relies on it. */
static void test_monotone(void **state)
{
    static const char *const inputs[] = {"",
                                         MOE,
                                         SPECULATIVE,
                                         "devices 4 split pipeline",
                                         "peak-tflops 10 devices 4 hidden 8192 link-gb-s 20",
                                         MOE " devices 3 split pipeline"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(inputs); i++) {
        struct calculator c;
        calculator_init(&c);
        set_all(&c, inputs[i]);
        for (int b = 1; b < 600; b++)
            if (calculator_at(&c, b + 1).session_tok_s >
                calculator_at(&c, b).session_tok_s * (1 + 1e-12))
                fail_msg("row %zu, batch %d", i, b);
    }
}

static void test_corrections(void **state)
{
    static const struct {
        const char *list;
        int bits; /* -1: refused */
    } cases[] = {
        {"all", CORRECT_ALL},
        {"none", 0},
        {"none,split", CORRECT_SPLIT},
        {"kv-per-pass,exact_rate", CORRECT_KV_PASS | CORRECT_RATE},
        {"compute", CORRECT_COMPUTE},
        {"", 0},
        {"split,", -1},
        {"kv", -1},
    };
    struct err err;
    int bits;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool ok = calculator_parse_corrections(cases[i].list, &bits, &err);
        if (ok != (cases[i].bits >= 0) || (ok && bits != cases[i].bits))
            fail_msg("'%s': %d, %d", cases[i].list, ok, bits);
    }
}

/* The plain figures are the golden ones, whatever is switched on. */
static void test_plain(void **state)
{
    struct calculator c;
    struct calculator_answer a, plain;
    (void)state;
    calculator_init(&c);
    set_all(&c, SPECULATIVE);
    calculator_solve(&c, &a);
    calculator_solve_plain(&c, &plain);
    assert_true(fabs(plain.single.session_tok_s - 79.3308) < 1e-4);
    assert_true(fabs(plain.best.aggregate_tok_s - 162.2534) < 1e-4);
    assert_true(a.single.session_tok_s > plain.single.session_tok_s);
    assert_int_equal(c.corrections, CORRECT_ALL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),         cmocka_unit_test(test_advice),
        cmocka_unit_test(test_prefill),         cmocka_unit_test(test_link),
        cmocka_unit_test(test_what_is_refused), cmocka_unit_test(test_json),
        cmocka_unit_test(test_monotone),        cmocka_unit_test(test_corrections),
        cmocka_unit_test(test_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
