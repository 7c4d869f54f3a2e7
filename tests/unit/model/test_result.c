/* Life cycle, adding, finding, and the words for statuses and marks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "fill.h"
#include "model/result.h"

static void test_nothing_exists_at_first(void **state)
{
    struct result r;
    struct cell c;
    struct prefill_row p;
    (void)state;
    result_init(&r);
    cell_init(&c, 16384, 4);
    prefill_row_init(&p, 8192);

    assert_true(isnan(r.server.kv_budget));
    assert_true(isnan(r.run.temperature));
    assert_null(r.id);
    assert_int_equal(r.plan.settle_ns, -1);
    assert_int_equal(c.context_tokens, 16384);
    assert_int_equal(c.concurrency, 4);
    assert_int_equal(c.status, STATUS_VALID);
    assert_true(isnan(c.total_tok_s));
    assert_true(isnan(c.client.lag_ms.p99));
    assert_int_equal(c.completed, -1);
    assert_int_equal(c.output_tokens, -1);
    assert_int_equal(c.client.unread_bytes, -1);
    assert_int_equal(p.context_tokens, 8192);
    assert_true(isnan(p.cached_tokens));
    assert_int_equal(p.completed, -1);

    prefill_row_release(&p);
    cell_release(&c);
    result_release(&r);
    result_release(&r); /* a released result is zeroed: again is fine */
}

static void test_add_takes_the_contents(void **state)
{
    struct result r;
    (void)state;
    result_init(&r);
    for (int i = 0; i < 20; i++) { /* past the first growth */
        struct cell c;
        struct prefill_row p;
        cell_init(&c, i % 2 ? 16384 : 0, 1 + i);
        mem_set_string(&c.reason, "because");
        c.status = i < 3 ? STATUS_QUEUED : STATUS_VALID;
        struct cell *in = result_add_cell_take(&r, &c);
        assert_string_equal(in->reason, "because");
        assert_null(c.reason);
        cell_release(&c); /* nothing left to free */
        prefill_row_init(&p, 1024 * (i + 1));
        mem_set_string(&p.how, "warmup");
        assert_string_equal(result_add_prefill_take(&r, &p)->how, "warmup");
        prefill_row_release(&p);
    }
    assert_int_equal(r.decode_count, 20);
    assert_ptr_equal(result_cell(&r, 16384, 2), &r.decode[1]);
    assert_null(result_cell(&r, 16384, 3));
    assert_ptr_equal(result_prefill(&r, 2048), &r.prefill[1]);
    assert_null(result_prefill(&r, 1));
    assert_int_equal(result_count_status(&r, STATUS_QUEUED), 3);
    assert_int_equal(result_count_status(&r, STATUS_VALID), 17);
    assert_int_equal(result_count_status(&r, STATUS_ERROR), 0);
    result_release(&r);
}

static void test_facts_events_notes(void **state)
{
    struct result r;
    char big[9000];
    (void)state;
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    result_init(&r);
    for (int i = 0; i < 10; i++) {
        char name[8];
        snprintf(name, sizeof name, "f%d", i);
        result_add_fact(&r, name, i ? "65536" : NULL, "GET /v1/models");
    }
    result_add_fact(&r, "f3", "8192", "GET /props"); /* learned better */
    result_add_event(&r, "warning", "%d of %d", 1, 2);
    result_add_note(&r, "%s", big);
    assert_int_equal(r.server.fact_count, 10);
    assert_null(r.server.facts[0].value);
    assert_string_equal(r.server.facts[9].value, "65536");
    assert_string_equal(r.server.facts[3].value, "8192");
    assert_string_equal(r.server.facts[3].source, "GET /props");
    assert_string_equal(r.events[0].text, "1 of 2");
    assert_string_equal(r.events[0].level, "warning");
    assert_int_equal(strlen(r.events[0].at), 20);
    assert_true(strlen(r.notes[0]) < sizeof big); /* cut, not overrun */
    result_release(&r);
}

static void test_release_frees_every_field(void **state)
{
    struct result r;
    (void)state;
    fill_result(&r, "text"); /* the address sanitizer sees what release forgets */
    result_release(&r);
    assert_null(r.decode);
    assert_int_equal(r.decode_count, 0);
}

static void test_words(void **state)
{
    (void)state;
    for (int s = 0; s < STATUS_COUNT; s++)
        assert_true(strlen(status_label((enum cell_status)s)) > 0);
    assert_string_equal(status_name(STATUS_OVER_CAPACITY), "over_capacity");
    assert_true(status_has_numbers(STATUS_VALID));
    assert_true(status_has_numbers(STATUS_QUEUED));
    assert_false(status_has_numbers(STATUS_ERROR));
    assert_false(status_has_numbers(STATUS_LOOPED));
    assert_string_equal(status_label(STATUS_QUEUED), "Requests queued");
    for (unsigned i = 0; i < MARK_COUNT; i++)
        assert_non_null(mark_name(i));
    assert_string_equal(mark_name(0), "client_limited");
    assert_string_equal(mark_name(9), "over_capacity");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_exists_at_first),
        cmocka_unit_test(test_add_takes_the_contents),
        cmocka_unit_test(test_facts_events_notes),
        cmocka_unit_test(test_release_frees_every_field),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
