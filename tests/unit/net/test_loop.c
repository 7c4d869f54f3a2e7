/* test_loop.c - timers in their order, watches that come and go inside callbacks, wake-ups. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/rand.h"
#include "net/loop.h"

enum { MANY = 300 };

static int new_loop(void **state)
{
    struct err err;
    *state = loop_new(&err);
    return *state ? 0 : -1;
}

static int free_loop(void **state)
{
    loop_free(*state);
    return 0;
}

/* --- timers --- */

struct bell {
    struct loop_timer timer;
    struct loop *loop;
    int rung;
    int64_t *order; /* where `at` of each bell goes as it rings */
    size_t *rings;
    /* what it does to another (or itself) when it rings */
    struct loop_timer *cancels, *sets;
    int64_t sets_at;
};

static void ring(void *ctx)
{
    struct bell *b = ctx;
    b->rung++;
    if (b->order)
        b->order[(*b->rings)++] = b->timer.at;
    if (b->cancels)
        loop_timer_cancel(b->loop, b->cancels);
    if (b->sets)
        loop_timer_set(b->loop, b->sets, b->sets_at);
}

static void bell_init(struct bell *b, struct loop *l)
{
    *b = (struct bell){.timer = {.fn = ring}, .loop = l};
    b->timer.ctx = b;
}

static void test_timers_ring_in_order(void **state)
{
    struct loop *l = *state;
    struct rng rng = {7};
    static struct bell bells[MANY];
    int64_t order[MANY], past = clock_now() - NS_PER_S;
    size_t rings = 0, cancelled = 0;

    for (size_t i = 0; i < MANY; i++) {
        bell_init(&bells[i], l);
        bells[i].order = order;
        bells[i].rings = &rings;
        loop_timer_set(l, &bells[i].timer, past + rng_below(&rng, 1000));
    }
    for (size_t i = 0; i < MANY; i++) { /* some move, some go, from anywhere in the heap */
        if (i % 3 == 0)
            loop_timer_set(l, &bells[i].timer, past + rng_below(&rng, 1000));
        if (i % 7 == 3) {
            loop_timer_cancel(l, &bells[i].timer);
            loop_timer_cancel(l, &bells[i].timer);
            cancelled++;
        }
    }
    loop_turn(l, INT64_MAX);
    assert_int_equal(rings, MANY - cancelled);
    for (size_t i = 1; i < rings; i++)
        assert_true(order[i - 1] <= order[i]);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(bells[i].rung, i % 7 == 3 ? 0 : 1);
    loop_turn(l, 0); /* once each */
    assert_int_equal(rings, MANY - cancelled);
}

static void test_a_timer_changes_others(void **state)
{
    struct loop *l = *state;
    struct bell first, second, third;
    int64_t past = clock_now() - NS_PER_S;

    bell_init(&first, l);
    bell_init(&second, l);
    bell_init(&third, l);
    first.cancels = &second.timer;
    first.sets = &third.timer;
    first.sets_at = INT64_MAX - 1; /* moved away */
    loop_timer_set(l, &first.timer, past);
    loop_timer_set(l, &second.timer, past + 1);
    loop_timer_set(l, &third.timer, past + 2);
    loop_turn(l, 0);
    assert_int_equal(first.rung, 1);
    assert_int_equal(second.rung, 0);
    assert_int_equal(third.rung, 0);
    assert_int_equal(second.timer.slot, 0);
    loop_timer_set(l, &third.timer, past); /* and back again */
    loop_turn(l, 0);
    assert_int_equal(third.rung, 1);
}

/* One that sets itself anew for a time long past rings once a turn, and the turn ends. */
static void test_a_timer_that_sets_itself(void **state)
{
    struct loop *l = *state;
    struct bell b;

    bell_init(&b, l);
    b.sets = &b.timer;
    b.sets_at = 1;
    loop_timer_set(l, &b.timer, 0);
    for (int turn = 1; turn <= 5; turn++) {
        loop_turn(l, INT64_MAX);
        assert_int_equal(b.rung, turn);
    }
    b.sets = NULL;
    b.cancels = &b.timer; /* cancelling the one that rings is fine */
    loop_turn(l, INT64_MAX);
    loop_turn(l, 0);
    assert_int_equal(b.rung, 6);
}

/* A turn waits for its timer, not longer and not shorter; and for its bound when that is first. */
static void test_turns_wait(void **state)
{
    struct loop *l = *state;
    struct bell b;
    int64_t at = clock_now() + 3 * NS_PER_MS, until;

    bell_init(&b, l);
    loop_timer_set(l, &b.timer, at);
    while (!b.rung)
        loop_turn(l, INT64_MAX);
    assert_true(clock_now() >= at);
    loop_timer_set(l, &b.timer, clock_now() + 3600 * NS_PER_S);
    until = clock_now() + 2 * NS_PER_MS;
    while (clock_now() < until)
        loop_turn(l, until);
    assert_int_equal(b.rung, 1);
    until = clock_now() + 2 * NS_PER_MS; /* a bound armed after another one */
    loop_turn(l, until - NS_PER_MS);
    while (clock_now() < until)
        loop_turn(l, until);
    loop_timer_cancel(l, &b.timer);
}

/* --- watches --- */

struct ear {
    struct loop_watch watch;
    struct loop *loop;
    int heard;
    uint32_t events;
    struct ear *removes; /* when it hears something: unwatched, closed, freed */
    bool drains, watches_again;
};

static const struct ear *freed; /* the last one; only to compare with */

static void ear_free(struct ear *e)
{
    freed = e;
    loop_unwatch(e->loop, &e->watch);
    close(e->watch.fd);
    free(e);
}

static void hear(void *ctx, uint32_t events)
{
    struct ear *e = ctx;
    eventfd_t n;
    e->heard++;
    e->events = events;
    if (e->drains)
        assert_int_equal(eventfd_read(e->watch.fd, &n), 0);
    if (e->watches_again) {
        loop_unwatch(e->loop, &e->watch);
        assert_true(loop_watch(e->loop, &e->watch, EPOLLIN, NULL));
    }
    if (e->removes) {
        struct ear *victim = e->removes;
        e->removes = victim->removes = NULL;
        ear_free(victim); /* may be this one */
    }
}

static struct ear *ear_new(struct loop *l, unsigned ready)
{
    struct ear *e = mem_alloc(sizeof *e);
    struct err err;
    e->loop = l;
    e->watch =
        (struct loop_watch){.fd = eventfd(ready, EFD_CLOEXEC | EFD_NONBLOCK), .fn = hear, .ctx = e};
    assert_true(loop_watch(l, &e->watch, EPOLLIN, &err));
    return e;
}

static void test_watches_are_level_triggered(void **state)
{
    struct loop *l = *state;
    struct ear *e = ear_new(l, 1);

    loop_turn(l, 0);
    loop_turn(l, 0);
    assert_int_equal(e->heard, 2);
    assert_int_equal(e->events, EPOLLIN);
    e->drains = true;
    loop_turn(l, 0);
    loop_turn(l, 0);
    assert_int_equal(e->heard, 3);
    e->drains = false;
    loop_change(l, &e->watch, EPOLLOUT);
    loop_turn(l, 0);
    assert_int_equal(e->events, EPOLLOUT);
    loop_change(l, &e->watch, 0);
    loop_turn(l, 0);
    assert_int_equal(e->heard, 4);
    ear_free(e);
}

/* Two are ready in one batch; whichever comes first frees the other, which must not be called. */
static void test_freed_during_dispatch(void **state)
{
    struct loop *l = *state;
    struct ear *a = ear_new(l, 1), *b = ear_new(l, 1);

    a->removes = b;
    b->removes = a;
    freed = NULL;
    loop_turn(l, 0); /* a use after free would show under a sanitizer */
    assert_true(freed == a || freed == b);
    struct ear *left = freed == a ? b : a;
    loop_turn(l, 0);
    assert_int_equal(left->heard, 2);
    left->removes = left; /* its own watch, from its own callback */
    loop_turn(l, 0);
    assert_ptr_equal(freed, left);
    loop_turn(l, 0);
}

static void test_unwatched_during_dispatch(void **state)
{
    struct loop *l = *state;
    struct ear *ears[MANY];
    int heard = 0;

    for (size_t i = 0; i < MANY; i++) {
        ears[i] = ear_new(l, 1);
        ears[i]->drains = true;
        ears[i]->watches_again = i % 2;
    }
    for (int turn = 0; turn < 3; turn++) /* more than fit one batch */
        loop_turn(l, 0);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(ears[i]->heard, 1);
        heard += ears[i]->heard;
        assert_int_equal(eventfd_write(ears[i]->watch.fd, 1), 0);
        loop_unwatch(l, &ears[i]->watch);
        loop_unwatch(l, &ears[i]->watch);
    }
    loop_turn(l, 0);
    assert_int_equal(heard, MANY);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(ears[i]->heard, 1);
        ear_free(ears[i]);
    }
}

static void test_hang_up_and_bad_descriptors(void **state)
{
    struct loop *l = *state;
    struct loop_watch bad = {.fd = -1};
    struct err err = {0};
    int pair[2];

    assert_false(loop_watch(l, &bad, EPOLLIN, &err));
    assert_int_equal(err.code, ERR_SYSTEM);
    loop_unwatch(l, &bad);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    struct ear *e = ear_new(l, 0);
    loop_unwatch(l, &e->watch);
    close(e->watch.fd);
    e->watch.fd = pair[0];
    assert_true(loop_watch(l, &e->watch, EPOLLIN, &err));
    close(pair[1]);
    loop_turn(l, INT64_MAX);
    assert_int_equal(e->heard, 1);
    assert_true(e->events & EPOLLHUP);
    ear_free(e);
}

/* --- wake-ups --- */

static void *wake_thread(void *ctx)
{
    loop_wake(ctx);
    return NULL;
}

static void test_wake_from_another_thread(void **state)
{
    struct loop *l = *state;
    pthread_t thread;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(pthread_create(&thread, NULL, wake_thread, l), 0);
        loop_turn(l, INT64_MAX); /* for ever but for the wake-up */
        pthread_join(thread, NULL);
    }
}

static int64_t woken_by_callback;

static void wake_from_callback(void *ctx)
{
    woken_by_callback++;
    loop_wake(ctx);
}

/* A wake-up before the turn, many of them, and one from inside a callback. */
static void test_wake_counts_once(void **state)
{
    struct loop *l = *state;
    struct loop_timer t = {.fn = wake_from_callback, .ctx = l};
    int64_t until;

    for (int i = 0; i < 1000; i++)
        loop_wake(l);
    loop_turn(l, INT64_MAX);
    until = clock_now() + NS_PER_MS;
    loop_turn(l, until); /* all of them were used up */
    assert_true(clock_now() >= until);
    loop_timer_set(l, &t, clock_now());
    while (!woken_by_callback)
        loop_turn(l, INT64_MAX);
    loop_turn(l, INT64_MAX); /* the turn after it returns */
    assert_int_equal(woken_by_callback, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_timers_ring_in_order, new_loop, free_loop),
        cmocka_unit_test_setup_teardown(test_a_timer_changes_others, new_loop, free_loop),
        cmocka_unit_test_setup_teardown(test_a_timer_that_sets_itself, new_loop, free_loop),
        cmocka_unit_test_setup_teardown(test_turns_wait, new_loop, free_loop),
        cmocka_unit_test_setup_teardown(test_watches_are_level_triggered, new_loop, free_loop),
        cmocka_unit_test_setup_teardown(test_freed_during_dispatch, new_loop, free_loop),
        cmocka_unit_test_setup_teardown(test_unwatched_during_dispatch, new_loop, free_loop),
        cmocka_unit_test_setup_teardown(test_hang_up_and_bad_descriptors, new_loop, free_loop),
        cmocka_unit_test_setup_teardown(test_wake_from_another_thread, new_loop, free_loop),
        cmocka_unit_test_setup_teardown(test_wake_counts_once, new_loop, free_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
