/* test_monitor.c - the arithmetic over readings made by hand, and the thread that takes them from a
 * scripted server. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../net/peer.h"
#include "base/clock.h"
#include "base/num.h"
#include "load/monitor_view.h"

/* --- arithmetic --- */

/* Readings of nothing but what the test names. */
#define GAUGES(t, r, w, kv)                                                                        \
    {                                                                                              \
        .at = (t), .running = (r), .waiting = (w), .generated = NAN, .prompt = NAN,                \
        .preemptions = NAN, .prefix_hits = NAN, .kv_used = (kv), .power_w = NAN                    \
    }
#define COUNTERS(t, g, p, h)                                                                       \
    {                                                                                              \
        .at = (t), .running = NAN, .waiting = NAN, .generated = (g), .prompt = NAN,                \
        .preemptions = (p), .prefix_hits = (h), .kv_used = NAN, .power_w = NAN                     \
    }
#define POWER(t, w, hot)                                                                           \
    {                                                                                              \
        .at = (t), .running = NAN, .waiting = NAN, .generated = NAN, .prompt = NAN,                \
        .preemptions = NAN, .prefix_hits = NAN, .kv_used = NAN, .power_w = (w), .has_gpu = true,   \
        .throttled = (hot)                                                                         \
    }

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) < 1e-9;
}

static void expect(const char *what, double got, double wanted)
{
    if (!same(got, wanted))
        fail_msg("%s is %g, not %g", what, got, wanted);
}

/* Gauges are steps: each holds from its reading to the next. Only readings in [from, to) count, the
 * first of them also for the time before it. */
static void test_gauges(void **state)
{
    static const struct reading list[] = {
        GAUGES(100, 9, 9, 1),     GAUGES(200, 4, 0, 0.25), GAUGES(300, 2, 2, 0.5),
        GAUGES(400, 4, 0, 0.125), GAUGES(500, 8, 8, 1),
    };
    struct window_view v = monitor_view(list, ARRAY_LEN(list), 150, 500);
    (void)state;
    assert_int_equal(v.readings, 3);
    expect("running", v.running, (150 * 4 + 100 * 2 + 100 * 4) / 350.0);
    expect("running_held", v.running_held, 2); /* 4 by no two in a row */
    expect("waiting", v.waiting, 200 / 350.0);
    expect("waiting_share", v.waiting_share, 100 / 350.0);
    expect("kv_used_max", v.kv_used_max, 0.5);
    expect("generated", v.generated, NAN);
    expect("power_w", v.power_w, NAN);
    v = monitor_view(list, ARRAY_LEN(list), 200, 201); /* from counts, to does not */
    assert_int_equal(v.readings, 1);
    expect("running", v.running, 4);
    expect("running_held", v.running_held, NAN); /* one reading holds nothing */
    v = monitor_view(list, ARRAY_LEN(list), 201, 300);
    assert_int_equal(v.readings, 0);
    expect("running", v.running, NAN);
    expect("running_held", v.running_held, NAN);
    v = monitor_view(NULL, 0, 0, 100);
    assert_int_equal(v.readings, 0);
    expect("generated", v.generated, NAN);
}

/* A server that did not answer once is taken to go on as before. */
static void test_a_missing_gauge(void **state)
{
    static const struct reading list[] = {
        GAUGES(100, 4, 0, NAN),
        POWER(200, 100, false),
        GAUGES(300, 4, 0, NAN),
    };
    struct window_view v = monitor_view(list, ARRAY_LEN(list), 100, 400);
    (void)state;
    assert_int_equal(v.readings, 3);
    expect("running", v.running, 4);
    expect("running_held", v.running_held, 4);
    expect("waiting_share", v.waiting_share, 0);
    expect("power_w", v.power_w, NAN); /* of one reading alone */
}

/* Counters are read between the readings around an instant, inside the window or not. */
static void test_counters(void **state)
{
    static const struct reading list[] = {
        COUNTERS(100, 1000, 1, 0),
        COUNTERS(200, 1100, 1, 64),
        COUNTERS(300, 1400, 3, 64),
    };
    static const struct {
        int64_t from, to;
        double generated;
    } rows[] = {
        {100, 300, 400}, {100, 200, 100}, {150, 250, 200}, /* 1050 to 1250 */
        {110, 120, 10},  {290, 300, 30},  {200, 200, 0},
        {99, 200, NAN}, /* nobody knows what was before the first */
        {100, 301, NAN},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct window_view v = monitor_view(list, ARRAY_LEN(list), rows[i].from, rows[i].to);
        expect("generated", v.generated, rows[i].generated);
    }
    struct window_view v = monitor_view(list, ARRAY_LEN(list), 150, 300);
    expect("preemptions", v.preemptions, 2);
    expect("prefix_hits", v.prefix_hits, 32);
}

/* Readings without the counter are bridged; one that goes down holds its highest value. */
static void test_broken_counters(void **state)
{
    static const struct reading gap[] = {
        COUNTERS(100, 0, NAN, NAN),
        COUNTERS(200, NAN, NAN, NAN),
        COUNTERS(300, 200, NAN, NAN),
    };
    static const struct reading dip[] = {
        COUNTERS(100, 0, NAN, NAN),  COUNTERS(200, 100, NAN, NAN), COUNTERS(300, 90, NAN, NAN),
        COUNTERS(400, 95, NAN, NAN), COUNTERS(500, 200, NAN, NAN),
    };
    static const struct reading late[] = {
        COUNTERS(100, NAN, NAN, NAN),
        COUNTERS(200, 50, NAN, NAN),
        COUNTERS(300, 60, NAN, NAN),
    };
    (void)state;
    expect("gap", monitor_view(gap, 3, 100, 200).generated, 100);
    expect("dip", monitor_view(dip, 5, 100, 500).generated, 200);
    expect("dip", monitor_view(dip, 5, 200, 350).generated, 50); /* 100 at 200, 200 at 500 */
    expect("late", monitor_view(late, 3, 100, 300).generated, NAN);
    expect("late", monitor_view(late, 3, 200, 300).generated, 10);
}

/* Energy is the area under the power, in seconds; the nearest reading holds at the ends. */
static void test_power(void **state)
{
    const struct reading list[] = {
        POWER(1 * NS_PER_S, 100, false),
        POWER(2 * NS_PER_S, 300, true),
        POWER(3 * NS_PER_S, 300, false),
    };
    struct window_view v = monitor_view(list, 3, 0, 4 * NS_PER_S);
    (void)state;
    expect("energy_j", v.energy_j, 100 + 200 + 300 + 300);
    expect("power_w", v.power_w, 225);
    assert_true(v.throttled);
    expect("running", v.running, NAN);
    assert_false(monitor_view(list, 3, 3 * NS_PER_S, 4 * NS_PER_S).throttled);
}

static void test_idle(void **state)
{
    static const struct reading list[] = {
        GAUGES(100, 0, 0, NAN), GAUGES(200, 0, 0, NAN),     GAUGES(300, 1, 0, NAN),
        GAUGES(400, 0, 1, NAN), GAUGES(500, NAN, NAN, NAN), GAUGES(600, 0, 0, NAN),
        GAUGES(700, 0, 0, NAN), GAUGES(800, 0, 0, NAN),
    };
    static const struct {
        size_t n;
        int64_t since, for_ns;
        bool idle;
    } rows[] = {
        {8, 550, 200, true},  {8, 600, 200, true}, {8, 550, 201, false},
        {8, 601, 200, false},                     /* only from 700 on */
        {8, 701, 100, false}, {8, 0, 200, true},  /* busy before, idle long enough since */
        {8, 0, 201, false},   {8, 900, 0, false}, /* nothing was read since */
        {0, 0, 0, false},     {3, 0, 0, false},   /* busy at the end */
        {4, 0, 0, false},     {5, 0, 0, false},   /* not known is not idle */
        {2, 0, 100, true},    {1, 0, 0, true},     {1, 0, 1, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (monitor_view_idle(list, rows[i].n, rows[i].since, rows[i].for_ns) != rows[i].idle)
            fail_msg("row %zu", i);
}

/* --- the thread --- */

#define PAGE(text) "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" text

static const char vllm_page[] = PAGE("# HELP vllm:num_requests_running x\n"
                                     "vllm:num_requests_running{engine=\"0\"} 3\n"
                                     "vllm:num_requests_running{engine=\"1\"} 4\n"
                                     "vllm:num_requests_waiting{engine=\"0\"} 2\n"
                                     "vllm:kv_cache_usage_perc{engine=\"0\"} 0.5\n"
                                     "vllm:generation_tokens_total{engine=\"0\"} 100\n"
                                     "vllm:generation_tokens_total{engine=\"1\"} 50\n"
                                     "vllm:num_preemptions_total{engine=\"0\"} 7\n");

static const struct peer_step busy[] = {
    {.what = PEER_REQUEST}, {.what = PEER_SEND, .text = vllm_page}, {.what = PEER_CLOSE}};
static const struct peer_step idle[] = {
    {.what = PEER_REQUEST},
    {.what = PEER_SEND, .text = PAGE("vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n")},
    {.what = PEER_CLOSE}};
static const struct peer_step failing[] = {{.what = PEER_REQUEST},
                                           {.what = PEER_SEND, .text = "HTTP/1.1 500 Oh\r\n\r\n"},
                                           {.what = PEER_CLOSE}};
static const struct peer_step no_gauges[] = {{.what = PEER_REQUEST},
                                             {.what = PEER_SEND, .text = PAGE("vllm:other 1\n")},
                                             {.what = PEER_CLOSE}};

static const struct server_facts facts = {.metrics_path = "/metrics", .load_path = "/slots"};
static const struct metrics_source of_vllm = {&dialect_vllm, &facts, "m"},
                                   of_plain = {&dialect_plain, &facts, "m"},
                                   of_llamacpp = {&dialect_llamacpp, &facts, "m"};

static void test_one_reading(void **state)
{
    static const struct peer_step *const scripts[] = {busy, idle, failing, no_gauges};
    struct peer *peer = peer_start(scripts, 4, NULL);
    struct endpoint e;
    struct reading r;

    (void)state;
    peer_endpoint(peer, &e, true);
    struct fetcher *f = fetcher_new(&e, NULL);
    int64_t before = clock_now();
    assert_true(monitor_read_metrics(f, &of_vllm, &r));
    assert_true(r.at >= before && r.at <= clock_now());
    expect("running", r.running, 7); /* both engines */
    expect("waiting", r.waiting, 2);
    expect("kv_used", r.kv_used, 0.5);
    expect("generated", r.generated, 150);
    expect("preemptions", r.preemptions, 7);
    expect("prompt", r.prompt, NAN);
    expect("prefix_hits", r.prefix_hits, NAN);
    expect("power_w", r.power_w, NAN);
    assert_true(monitor_read_metrics(f, &of_vllm, &r));
    expect("running", r.running, 0);
    expect("generated", r.generated, NAN);
    assert_false(monitor_read_metrics(f, &of_vllm, &r));  /* 500 */
    assert_false(monitor_read_metrics(f, &of_vllm, &r));  /* a page without the gauges */
    assert_false(monitor_read_metrics(f, &of_plain, &r)); /* nothing to ask for */
    fetcher_free(f);
    endpoint_close(&e);
    peer_stop(peer);
}

/* llama.cpp counts a request's tokens at its end; those of the slots in progress are added. */
static void test_generated_in_progress(void **state)
{
    static const struct peer_step metrics[] = {
        {.what = PEER_REQUEST},
        {.what = PEER_SEND,
         .text = PAGE("llamacpp:requests_processing 2\nllamacpp:requests_deferred 0\n"
                      "llamacpp:tokens_predicted_total 40\n")},
        {.what = PEER_CLOSE}};
    static const struct peer_step slots[] = {
        {.what = PEER_REQUEST},
        {.what = PEER_SEND,
         .text = PAGE("[{\"is_processing\":true,\"next_token\":[{\"n_decoded\":5}]},"
                      "{\"is_processing\":false,\"next_token\":[{\"n_decoded\":99}]},"
                      "{\"is_processing\":true,\"next_token\":{\"n_decoded\":7}},{}]")},
        {.what = PEER_CLOSE}};
    static const struct peer_step *const scripts[] = {metrics, slots, metrics, failing};
    struct peer *peer = peer_start(scripts, 4, NULL);
    struct endpoint e;
    struct reading r;

    (void)state;
    peer_endpoint(peer, &e, true);
    struct fetcher *f = fetcher_new(&e, NULL);
    assert_true(monitor_read_metrics(f, &of_llamacpp, &r));
    expect("generated", r.generated, 52);
    assert_true(monitor_read_metrics(f, &of_llamacpp, &r)); /* no slots: no figure */
    expect("generated", r.generated, NAN);
    expect("running", r.running, 2);
    fetcher_free(f);
    endpoint_close(&e);
    peer_stop(peer);
}

static void wait_for_connections(struct peer *peer, int n)
{
    int64_t give_up_at = clock_now() + 10 * NS_PER_S;
    while (peer_connections(peer) < n) {
        if (clock_now() > give_up_at)
            fail_msg("the monitor made %d connections", peer_connections(peer));
        clock_sleep(NS_PER_MS);
    }
}

/* An hour between polls: only pokes lead to readings, and each to one. */
static void test_poke(void **state)
{
    static const struct peer_step *const scripts[] = {busy, idle};
    struct peer *peer = peer_start(scripts, 2, NULL);
    struct endpoint e;
    struct reading r;
    int64_t give_up_at = clock_now() + 10 * NS_PER_S;

    (void)state;
    peer_endpoint(peer, &e, true);
    struct monitor *m = monitor_start(&e, &of_vllm, true, NULL, 3600 * NS_PER_S);
    assert_non_null(m);
    assert_true(monitor_has_metrics(m));
    while (!monitor_latest(m, &r) && clock_now() < give_up_at) /* the first comes by itself */
        clock_sleep(NS_PER_MS);
    expect("running", r.running, 7);
    int64_t to = clock_now();
    assert_false(monitor_settled(m, to));
    assert_false(monitor_idle_since(m, 0, 0));
    monitor_poke(m);
    wait_for_connections(peer, 2);
    while (!monitor_latest(m, &r) || r.running != 0)
        if (clock_now() > give_up_at)
            fail_msg("no second reading");
    assert_true(r.at >= to);
    assert_true(monitor_idle_since(m, to, 0));
    assert_int_equal(monitor_window(m, 0, INT64_MAX).readings, 2);
    monitor_forget(m, to);
    assert_int_equal(monitor_window(m, 0, INT64_MAX).readings, 1);
    monitor_forget(m, INT64_MAX);
    assert_false(monitor_latest(m, &r));
    assert_false(monitor_settled(m, 0));
    assert_int_equal(peer_connections(peer), 2);
    monitor_poke(NULL);
    monitor_stop(NULL);
    assert_false(monitor_has_metrics(NULL));
    monitor_stop(m);
    endpoint_close(&e);
    peer_stop(peer);
}

/* Polls by itself; answers that are none are no readings; stops while a poll waits. */
static void test_interval_and_stop(void **state)
{
    static const struct peer_step mute[] = {
        {.what = PEER_REQUEST}, {.what = PEER_TELL}, {.what = PEER_GONE}, {.what = PEER_END}};
    static const struct peer_step *const scripts[] = {idle, failing, no_gauges, idle, mute};
    struct peer *peer = peer_start(scripts, 5, NULL);
    struct endpoint e;

    (void)state;
    peer_endpoint(peer, &e, true);
    struct monitor *m = monitor_start(&e, &of_vllm, true, NULL, NS_PER_MS);
    peer_wait(peer);
    assert_int_equal(monitor_window(m, 0, INT64_MAX).readings, 2);
    int64_t before = clock_now();
    monitor_stop(m);
    assert_true(clock_now() - before < 3 * NS_PER_S); /* a poll's own limit is five */
    endpoint_close(&e);
    peer_stop(peer);
}

/* Without metrics the server is left alone. */
static void test_without_metrics(void **state)
{
    static const struct peer_step *const scripts[] = {busy};
    struct peer *peer = peer_start(scripts, 1, NULL);
    struct endpoint e;
    struct reading r;

    (void)state;
    peer_endpoint(peer, &e, true);
    struct monitor *m = monitor_start(&e, &of_vllm, false, NULL, NS_PER_MS);
    assert_false(monitor_has_metrics(m));
    monitor_poke(m);
    clock_sleep(20 * NS_PER_MS);
    assert_false(monitor_latest(m, &r));
    assert_int_equal(peer_connections(peer), 0);
    monitor_stop(m);
    endpoint_close(&e);
    peer_stop(peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gauges),
        cmocka_unit_test(test_a_missing_gauge),
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_broken_counters),
        cmocka_unit_test(test_power),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_one_reading),
        cmocka_unit_test(test_generated_in_progress),
        cmocka_unit_test(test_poke),
        cmocka_unit_test(test_interval_and_stop),
        cmocka_unit_test(test_without_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
