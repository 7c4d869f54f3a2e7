/* engine_rig.h - an engine on a clock that the test advances, a profile of formulas, and clients.
 *
 * clock_now is the test's (the linker puts __wrap_clock_now in its place, in the loop as well), and
 * so is the setting of timers, which tells it when the engine wants to be called: every instant is
 * exact, to the microsecond. The profile, in microseconds of engine time:
 *   decode   1000 + 10 x sequences + mean context
 *   warm     3000 + 100 x sequences + mean context
 *   prefill  P(L) = 10 L + L^2 */
#ifndef TOKGRID_TESTS_ENGINE_RIG_H
#define TOKGRID_TESTS_ENGINE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "engine/engine.h"

/* --- the clock and the profile --- */

static int64_t fake_now;

int64_t __wrap_clock_now(void);
int64_t __wrap_clock_now(void)
{
    return fake_now;
}

static int64_t timer_at; /* when the engine's timer is due; INT64_MAX: it has fired */

void __real_loop_timer_set(struct loop *l, struct loop_timer *t, int64_t at);
void __wrap_loop_timer_set(struct loop *l, struct loop_timer *t, int64_t at);
void __wrap_loop_timer_set(struct loop *l, struct loop_timer *t, int64_t at)
{
    timer_at = at;
    __real_loop_timer_set(l, t, at);
}

static const double *odd_ns; /* what everything takes instead */

static inline double us(double v)
{
    return odd_ns ? *odd_ns : v * (double)NS_PER_US;
}

double profile_decode_ns(const struct profile *p, double mean_context, double batch)
{
    (void)p;
    return us(1000 + 10 * batch + mean_context);
}

double profile_warm_ns(const struct profile *p, double mean_context, double batch)
{
    (void)p;
    return us(3000 + 100 * batch + mean_context);
}

double profile_prefill_ns(const struct profile *p, double from, double to)
{
    (void)p;
    return us(10 * (to - from) + to * to - from * from);
}

const struct cause *profile_cause(const struct profile *p, int requests, double mean_prompt)
{
    for (size_t i = 0; i < p->cause_count; i++)
        if (p->causes[i].concurrency == requests &&
            (double)p->causes[i].context_tokens == mean_prompt)
            return &p->causes[i];
    return NULL;
}

static const struct profile plain = {
    .context_limit = 1 << 20,
    .kv_tokens = 1 << 20,
    .block_size = 4,
    .max_running = 16,
    .step_tokens = 8,
    .warm_tokens = 4,
    .prefix_cache = true,
};

/* --- a crowd of clients --- */

enum { CLIENTS = 32, TOKENS = 2048 };

struct rig;

struct client {
    struct rig *rig;
    struct engine_request *request; /* NULL: none, or it has ended */
    int64_t at[TOKENS];             /* when each token came, us since the start */
    int64_t count, looped;
    int ends;
    enum engine_end why;
    void (*on_token)(struct client *c); /* what it does besides */
    void (*on_end)(struct client *c);
};

struct rig {
    struct loop *loop;
    struct engine *engine;
    struct profile profile;
    int64_t start; /* the instant 0 of the test */
    struct client c[CLIENTS];
};

static inline int64_t now_us(const struct rig *r)
{
    return (fake_now - r->start) / NS_PER_US;
}

static inline void take_token(void *owner, int64_t index, bool looped)
{
    struct client *c = owner;

    assert_int_equal(c->ends, 0);
    assert_int_equal(index, c->count);
    assert_true(index < TOKENS);
    c->at[c->count++] = now_us(c->rig);
    c->looped += looped;
    if (c->on_token)
        c->on_token(c);
}

static inline void take_end(void *owner, enum engine_end why)
{
    struct client *c = owner;

    c->ends++;
    c->why = why;
    if (c->on_end)
        c->on_end(c);
    c->request = NULL;
}

static const struct engine_events events = {.on_token = take_token, .on_end = take_end};

static inline struct rig *rig_new(const struct profile *profile, double speed)
{
    struct rig *r = mem_alloc(sizeof *r);
    struct err err;

    r->start = fake_now = 1000 * NS_PER_S;
    timer_at = INT64_MAX;
    odd_ns = NULL;
    r->profile = *profile;
    r->loop = loop_new(&err);
    assert_non_null(r->loop);
    r->engine = engine_new(r->loop, &r->profile, speed, &events);
    for (size_t i = 0; i < CLIENTS; i++)
        r->c[i].rig = r;
    return r;
}

static inline void rig_free(struct rig *r)
{
    engine_free(r->engine);
    loop_free(r->loop);
    free(r);
}

/* Let client i ask: a prompt of `prompt` tokens of its own, after `shared` common ones. */
static inline void ask_at(struct rig *r, int i, int64_t shared, int64_t prompt, int64_t output,
                          int64_t arrived_us)
{
    uint64_t *tokens = mem_array((size_t)(shared + prompt), sizeof *tokens);
    for (int64_t k = 0; k < shared + prompt; k++)
        tokens[k] = k < shared ? (uint64_t)k : (uint64_t)(k + 100000 * (i + 1));
    r->c[i].request = engine_submit(r->engine, &(struct engine_submission){
                                                   .tokens = tokens,
                                                   .token_count = shared + prompt,
                                                   .max_output = output,
                                                   .stop_after = INT64_MAX,
                                                   .arrived = r->start + arrived_us * NS_PER_US,
                                                   .owner = &r->c[i],
                                               });
    free(tokens);
}

static inline void ask(struct rig *r, int i, int64_t prompt, int64_t output)
{
    ask_at(r, i, 0, prompt, output, now_us(r));
}

static inline void turn(struct rig *r)
{
    loop_turn(r->loop, fake_now);
}

/* So many turns in no time to speak of: the loop fires what is overdue once a turn. */
static inline void turns(struct rig *r, int n)
{
    for (; n > 0; n--) {
        turn(r);
        fake_now++;
    }
}

/* Let time pass, from one firing of the timer to the next. */
static inline void pass_until(struct rig *r, int64_t until_us)
{
    int64_t until = r->start + until_us * NS_PER_US;

    turn(r);
    while (timer_at <= until) {
        fake_now = timer_at > fake_now ? timer_at : fake_now + 1;
        timer_at = INT64_MAX;
        turn(r);
    }
    if (fake_now < until)
        fake_now = until;
    turn(r);
}

static inline struct engine_stats stats(const struct rig *r)
{
    struct engine_stats s;
    engine_read_stats(r->engine, &s);
    return s;
}

static inline void assert_waiting(const struct rig *r, int running, int waiting)
{
    struct engine_stats s = stats(r);
    assert_int_equal(s.running, running);
    assert_int_equal(s.waiting, waiting);
}

#endif
