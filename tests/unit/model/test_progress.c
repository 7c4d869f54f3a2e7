/* The picture and its box. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/progress.h"

static struct progress now, copy; /* large for a stack */

static void test_nothing_is_known_at_first(void **state)
{
    (void)state;
    progress_init(&now);
    assert_int_equal(now.phase, PHASE_PROBE);
    assert_int_equal(now.eta_ns, -1);
    assert_true(isnan(now.running));
    assert_true(isnan(now.cells[31][31].total_tok_s));
    assert_true(isnan(now.prefill_ttft_ms[31]));
    assert_int_equal(now.cells[0][0].state, CELL_PENDING);
}

static void test_events_keep_the_newest(void **state)
{
    (void)state;
    progress_init(&now);
    for (int i = 0; i < PROGRESS_EVENTS + 3; i++) {
        char text[32];
        snprintf(text, sizeof text, "event %d\x1B[2J", i);
        progress_add_event(&now, text);
    }
    assert_int_equal(now.event_count, PROGRESS_EVENTS);
    assert_string_equal(now.events[0], "event 3?[2J");
    assert_string_equal(now.events[PROGRESS_EVENTS - 1], "event 10?[2J");
}

static void test_box(void **state)
{
    static struct progress_box box;
    (void)state;
    progress_box_init(&box);
    progress_get(&box, &copy);
    assert_int_equal(copy.eta_ns, -1);
    progress_init(&now);
    now.concurrency = 7;
    progress_put(&box, &now);
    progress_get(&box, &copy);
    assert_int_equal(copy.concurrency, 7);
    progress_box_release(&box);
}

static void test_phases_have_words(void **state)
{
    (void)state;
    for (int p = PHASE_PROBE; p <= PHASE_DONE; p++)
        assert_true(strlen(phase_words((enum run_phase)p)) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_known_at_first),
        cmocka_unit_test(test_events_keep_the_newest),
        cmocka_unit_test(test_box),
        cmocka_unit_test(test_phases_have_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
