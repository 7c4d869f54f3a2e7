/* The figures of the matrix and the scale of its colours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "report/views.h"

static const struct view *view(const char *id)
{
    for (size_t i = 0; i < view_count; i++)
        if (strcmp(views[i].id, id) == 0)
            return &views[i];
    fail_msg("no view %s", id);
    return NULL;
}

static void test_scale(void **state)
{
    struct scale s;
    (void)state;
    scale_init(&s);
    assert_int_equal(scale_step(&s, 5, 9), -1); /* an empty scale has no places */
    scale_add(&s, NAN);
    scale_add(&s, 0);
    scale_add(&s, -1);
    scale_add(&s, INFINITY);
    assert_true(isnan(s.least));
    scale_add(&s, 10);
    assert_int_equal(scale_step(&s, 10, 9), 8); /* a single value is the most there is */
    scale_add(&s, 1000);
    assert_int_equal(scale_step(&s, 10, 9), 0);
    assert_int_equal(scale_step(&s, 100, 9), 4); /* half way by ratio */
    assert_int_equal(scale_step(&s, 1000, 9), 8);
    assert_int_equal(scale_step(&s, 1e9, 9), 8); /* beyond the ends */
    assert_int_equal(scale_step(&s, 1, 9), 0);
    assert_int_equal(scale_step(&s, NAN, 9), -1);
    assert_int_equal(scale_step(&s, 0, 9), -1);
}

static void test_bandwidth_bound_only_where_it_is_known(void **state)
{
    struct result r;
    struct cell c;
    char text[NUM_TEXT_MAX];
    (void)state;
    result_init(&r);
    cell_init(&c, 0, 1);
    c.per_request_tok_s = 50;
    result_add_cell_take(&r, &c);
    assert_true(view_has_any(view("each"), &r));
    assert_false(view_has_any(view("ttft"), &r));
    assert_false(view_has_any(view("bound"), &r));
    result_add_fact(&r, "weight_bytes_per_token", "15000000000", "given");
    assert_false(view_has_any(view("bound"), &r));
    result_add_fact(&r, "memory_bandwidth_bytes_s", "936200000000", "given");
    assert_true(view_has_any(view("bound"), &r));
    double v = view("bound")->value(&r, &r.decode[0]); /* 50 x 15e9 of 936.2e9 */
    assert_true(fabs(v - 80.11) < 0.01);
    assert_string_equal(view_text(view("bound"), NULL, text, v), "80");
    assert_string_equal(view_text(view("each"), NULL, text, 1234.5), "1,234");
    r.decode[0].status = STATUS_ERROR; /* its figures are kept apart */
    assert_false(view_has_any(view("each"), &r));
    result_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scale),
        cmocka_unit_test(test_bandwidth_bound_only_where_it_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
