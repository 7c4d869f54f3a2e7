/* test_metrics_text.c - lines of the exposition format, good and bad; labels; sums. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "load/metrics_text.h"

/* One line and what it says; name NULL: nothing. Read from an exact copy, so that a read past the
 * end shows under a sanitizer. */
static void test_lines(void **state)
{
    static const struct {
        const char *line, *name, *labels;
        double value;
    } rows[] = {
        {"llamacpp:requests_deferred 37", "llamacpp:requests_deferred", "", 37},
        {"vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 57.0\n",
         "vllm:num_requests_running", "engine=\"0\",model_name=\"m\"", 57},
        {"x{} 1", "x", "", 1},
        {"x{a=\"b\",} 1", "x", "a=\"b\",", 1},
        {"  x { a = \"1\" , b=\"2\" }  7 \r\n", "x", " a = \"1\" , b=\"2\" ", 7},
        {"\tx\t8\t", "x", "", 8},
        {"x 1.5e-3", "x", "", 0.0015},
        {"x -2", "x", "", -2},
        {"x +Inf", "x", "", INFINITY},
        {"x -Inf", "x", "", -INFINITY},
        {"x NaN", "x", "", NAN},
        {"x{le=\"+Inf\"} 3", "x", "le=\"+Inf\"", 3},
        {"x 1 1924948800000", "x", "", 1},
        {"x 1 -5", "x", "", 1},
        {"x_total{a=\"b\"} 17.0 1520879607.789 # {trace=\"x y\"} 0.67 1520879606", "x_total",
         "a=\"b\"", 17},
        {"x_bucket{le=\"1\"} 4 # {} 0.5", "x_bucket", "le=\"1\"", 4},
        {"x{a=\"}\",b=\"\\\"}\",c=\"\\\\\"} 2", "x", "a=\"}\",b=\"\\\"}\",c=\"\\\\\"", 2},
        {"_x:y9 1", "_x:y9", "", 1},
        /* nothing to read */
        {.line = ""},
        {.line = "\n"},
        {.line = "# HELP x Some words."},
        {.line = "# TYPE x gauge"},
        {.line = "# EOF"},
        {.line = "[]"},
        {.line = "x"},
        {.line = "x{} "},
        {.line = "x y"},
        {.line = "x 1 2 3"},
        {.line = "x 1 y"},
        {.line = "x 1_000"},
        {.line = "x 0x10"},
        {.line = "x 1e400"},
        {.line = "9x 1"},
        {.line = "x{a=\"b\" 1"},
        {.line = "x{a=\"b 1"},
        {.line = "x{a=\"b\\"},
        {.line = "x{a=b} 1"},
        {.line = "x{a} 1"},
        {.line = "x{a=\"b\"c=\"d\"} 1"},
        {.line = "x{,} 1"},
        {.line = "x{9=\"b\"} 1"},
        {.line = "{a=\"b\"} 1"},
        {.line = "x-y 1"},
        {.line = "x 1111111111222222222233333333334444444444555555555566666666667777"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n = strlen(rows[i].line), pos = 0;
        char *copy = mem_array(n, 1);
        struct metric_line line;
        memcpy(copy, rows[i].line, n);
        bool any = metrics_next(copy, n, &pos, &line);
        if (any != (rows[i].name != NULL))
            fail_msg("%s is %sread", rows[i].line, any ? "" : "not ");
        if (any) {
            assert_int_equal(line.name_len, strlen(rows[i].name));
            assert_memory_equal(line.name, rows[i].name, line.name_len);
            assert_int_equal(line.labels_len, strlen(rows[i].labels));
            assert_memory_equal(line.labels, rows[i].labels, line.labels_len);
            assert_true(line.value == rows[i].value || (isnan(line.value) && isnan(rows[i].value)));
            assert_false(metrics_next(copy, n, &pos, &line));
        }
        free(copy);
    }
}

/* A bad line does not take its neighbours along. */
static void test_iteration(void **state)
{
    static const char text[] = "# c\na 1\nbroken{\n\nb{x=\"1\"} 2\r\nc 3";
    struct metric_line line;
    double values[4];
    size_t pos = 0, count = 0;
    (void)state;
    while (count < 4 && metrics_next(text, sizeof text - 1, &pos, &line))
        values[count++] = line.value;
    assert_int_equal(count, 3);
    assert_true(values[0] == 1 && values[1] == 2 && values[2] == 3);
    assert_int_equal(pos, sizeof text - 1);
}

static void test_labels(void **state)
{
    static const char text[] =
        "m{path=\"C:\\\\dir\",quote=\"say \\\"}\\\"\",nl=\"a\\nb\",odd=\"\\q\",none=\"\","
        "long=\"0123456789\",long_er=\"x\",twice=\"1\",twice=\"2\"} 1";
    static const struct {
        const char *label, *value;
    } rows[] = {
        {"path", "C:\\dir"}, {"quote", "say \"}\""},
        {"nl", "a\nb"},      {"odd", "q"},
        {"none", ""},        {"long", "0123456789"},
        {"long_er", "x"},    {"twice", "1"},
        {"lon", NULL},       {"", NULL},
        {"m", NULL},
    };
    struct metric_line line;
    char out[11];
    size_t pos = 0;
    (void)state;
    assert_true(metrics_next(text, sizeof text - 1, &pos, &line));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(metrics_label(&line, rows[i].label, out, sizeof out),
                         rows[i].value != NULL);
        if (rows[i].value)
            assert_string_equal(out, rows[i].value);
    }
    assert_false(metrics_label(&line, "long", out, 10)); /* no room for the NUL */
    assert_true(metrics_label(&line, "none", out, 1));
    assert_false(metrics_label(&line, "none", out, 0));
}

static const char sample[] = "# HELP vllm:num_requests_running Number of requests.\n"
                             "vllm:num_requests_running{engine=\"0\"} 0.0\n"
                             "vllm:num_requests_running{engine=\"1\"} 57.0\n"
                             "vllm:num_requests_running_total 1000\n"
                             "vllm:num_requests 2000\n"
                             "kv{e=\"0\"} NaN\n"
                             "kv{e=\"1\"} 0.25\n"
                             "nan{e=\"0\"} NaN\n"
                             "zero 0\n"
                             "cfg{size=\"120000\",blocks=\"300\",engine=\"0\"} 1.0\n"
                             "cfg{size=\"None\",engine=\"1\"} 1.0\n"
                             "cfg{size=\"80000\",engine=\"2\"} 1.0\n"
                             "cfg_none{size=\"None\"} 1.0\n";

static void test_sums(void **state)
{
    static const struct {
        const char *name;
        double sum; /* NAN: none */
    } rows[] = {
        {"vllm:num_requests_running", 57},
        {"vllm:num_requests", 2000},
        {"vllm:num_requests_running_total", 1000},
        {"vllm:num", NAN},
        {"kv", 0.25},
        {"nan", NAN},
        {"zero", 0},
        {"HELP", NAN},
        {"", NAN},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        double sum = -1;
        bool any = metrics_sum(sample, sizeof sample - 1, rows[i].name, NULL, &sum);
        assert_int_equal(any, !isnan(rows[i].sum));
        assert_true(sum == (any ? rows[i].sum : -1));
    }
}

static void test_first_of_several_names(void **state)
{
    static const char *const renamed[] = {"kv_cache_usage_perc", "zero", "kv", NULL};
    static const char *const unknown[] = {"a", "b", NULL};
    double sum = -1;
    (void)state;
    assert_true(metrics_sum_first(sample, sizeof sample - 1, renamed, NULL, &sum));
    assert_true(sum == 0); /* an existing 0 is an answer */
    sum = -1;
    assert_false(metrics_sum_first(sample, sizeof sample - 1, unknown, NULL, &sum));
    assert_false(metrics_sum_first(sample, sizeof sample - 1, unknown + 2, NULL, &sum));
    assert_true(sum == -1);
}

/* Tensor-parallel ranks tell the same requests again, data-parallel ones their own; another model's
 * series are left out as soon as ours are there. */
static void test_whose_series(void **state)
{
    static const char ranks[] = "run{dp_rank=\"0\",tp_rank=\"0\",pp_rank=\"0\"} 5\n"
                                "run{dp_rank=\"0\",tp_rank=\"1\",pp_rank=\"0\"} 5\n"
                                "run{dp_rank=\"0\",tp_rank=\"0\",pp_rank=\"1\"} 5\n"
                                "run{dp_rank=\"1\",tp_rank=\"0\"} 7\n";
    /* tensor ranks that are numbered through, the later one first */
    static const char through[] = "run{dp_rank=\"1\",tp_rank=\"3\"} 7\n"
                                  "run{dp_rank=\"0\",tp_rank=\"0\"} 5\n"
                                  "run{dp_rank=\"0\",tp_rank=\"1\"} 5\n"
                                  "run{dp_rank=\"1\",tp_rank=\"2\"} 7\n"
                                  "run{dp_rank=\"999\",tp_rank=\"8\"} 1\n"
                                  "run{dp_rank=\"-1\",tp_rank=\"x\"} 2\n";
    static const char models[] = "run{model_name=\"a\"} 3\nrun{model_name=\"b\",engine=\"0\"} 4\n"
                                 "run{model_name=\"b\",engine=\"1\"} 5\nrun 100\n";
    double sum;
    (void)state;
    assert_true(metrics_sum(ranks, sizeof ranks - 1, "run", "a", &sum));
    assert_true(sum == 12);
    assert_true(metrics_sum(through, sizeof through - 1, "run", "a", &sum));
    assert_true(sum == 15);
    assert_true(metrics_sum(models, sizeof models - 1, "run", "b", &sum));
    assert_true(sum == 9);
    assert_true(metrics_sum(models, sizeof models - 1, "run", "nobody", &sum));
    assert_true(sum == 112);
    assert_true(metrics_sum(models, sizeof models - 1, "run", NULL, &sum));
    assert_true(sum == 112);
}

/* name{label="value"} is those series alone. */
static void test_selected(void **state)
{
    static const char text[] = "made{engine=\"a\",mode=\"decode\"} 3\n"
                               "made{mode=\"decode\",engine=\"b\"} 4\n"
                               "made{mode=\"prefill\"} 100\nmade 50\n"
                               "made_up{mode=\"decode\"} 8\n";
    static const char *const none[] = {"made{mode=\"decod\"}", "made{mod=\"decode\"}", "made{",
                                       "made{mode=decode}", "mad{mode=\"decode\"}"};
    double sum;
    (void)state;
    assert_true(metrics_sum(text, sizeof text - 1, "made{mode=\"decode\"}", NULL, &sum));
    assert_true(sum == 7);
    assert_true(metrics_sum(text, sizeof text - 1, "made", NULL, &sum));
    assert_true(sum == 157);
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        assert_false(metrics_sum(text, sizeof text - 1, none[i], NULL, &sum));
}

static void test_label_sums(void **state)
{
    double sum = -1;
    (void)state;
    assert_true(metrics_sum_label(sample, sizeof sample - 1, "cfg", "size", &sum));
    assert_true(sum == 200000);
    assert_true(metrics_sum_label(sample, sizeof sample - 1, "cfg", "blocks", &sum));
    assert_true(sum == 300);
    sum = -1;
    assert_false(metrics_sum_label(sample, sizeof sample - 1, "cfg_none", "size", &sum));
    assert_false(metrics_sum_label(sample, sizeof sample - 1, "cfg", "absent", &sum));
    assert_false(metrics_sum_label(sample, sizeof sample - 1, "absent", "size", &sum));
    assert_true(sum == -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_iteration),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_first_of_several_names),
        cmocka_unit_test(test_whose_series),
        cmocka_unit_test(test_selected),
        cmocka_unit_test(test_label_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
