/* test_prom.c - Prometheus text, as two engines' habits write it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/prom.h"

static void plain_numbers_without_labels(void **state)
{
    struct buf out;
    struct prom p = {.out = &out};
    (void)state;
    buf_init(&out, 1000);
    prom_value(&p, "x:total", "counter", "Help.", 12);
    prom_value(&p, "x:rate", "gauge", "Help.", 0.25);
    assert_string_equal(out.p, "# HELP x:total Help.\n# TYPE x:total counter\nx:total 12\n"
                               "# HELP x:rate Help.\n# TYPE x:rate gauge\nx:rate 0.25\n");
    buf_release(&out);
}

static void labels_in_order_and_since_when(void **state)
{
    const struct prom_part parts[] = {{"a", 1}, {"b", 2.5}};
    struct buf out;
    struct prom p = {.out = &out,
                     .before = "engine=\"0\"",
                     .after = "model_name=\"m\"",
                     .python = true,
                     .created_at = 7.5};
    (void)state;
    buf_init(&out, 4000);
    prom_parts(&p, "x_total", "counter", "H", "reason", parts, 2);
    assert_string_equal(out.p, "# HELP x_total H\n# TYPE x_total counter\n"
                               "x_total{engine=\"0\",model_name=\"m\",reason=\"a\"} 1.0\n"
                               "x_total{engine=\"0\",model_name=\"m\",reason=\"b\"} 2.5\n"
                               "# HELP x_created H\n# TYPE x_created gauge\n"
                               "x_created{engine=\"0\",model_name=\"m\",reason=\"a\"} 7.5\n"
                               "x_created{engine=\"0\",model_name=\"m\",reason=\"b\"} 7.5\n");
    buf_reset(&out);
    prom_parts(&p, "x", "gauge", "H", "finished_reason", parts, 1);
    assert_string_equal(out.p, "# HELP x H\n# TYPE x gauge\n"
                               "x{engine=\"0\",finished_reason=\"a\",model_name=\"m\"} 1.0\n");
    buf_release(&out);
}

static void histograms_are_cumulative(void **state)
{
    static const double bounds[] = {0.5, 1, 2};
    static const double values[] = {0.1, 0.5, 0.7, 1.5, 9};
    struct prom_histogram h = {.bounds = bounds, .bound_count = 3};
    struct buf out;
    struct prom p = {.out = &out, .python = true};
    (void)state;
    buf_init(&out, 4000);
    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        prom_observe(&h, values[i]);
    prom_histogram_write(&p, "x", "H", &h);
    assert_string_equal(out.p, "# HELP x H\n# TYPE x histogram\n"
                               "x_bucket{le=\"0.5\"} 2.0\nx_bucket{le=\"1.0\"} 3.0\n"
                               "x_bucket{le=\"2.0\"} 4.0\nx_bucket{le=\"+Inf\"} 5.0\n"
                               "x_count 5.0\nx_sum 11.800000000000001\n");
    buf_release(&out);
}

static void labels_are_escaped(void **state)
{
    struct buf out;
    (void)state;
    buf_init(&out, 100);
    prom_label(&out, "m", "a\"b\\c\nd");
    assert_string_equal(out.p, "m=\"a\\\"b\\\\c\\nd\"");
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_numbers_without_labels),
        cmocka_unit_test(labels_in_order_and_since_when),
        cmocka_unit_test(histograms_are_cumulative),
        cmocka_unit_test(labels_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
