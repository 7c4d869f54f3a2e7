/* test_scheduler_random.c - a hundred thousand random operations: after each of them every block is
 * accounted for, every holder counted, and no limit passed. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rand.h"
#include "engine/scheduler.h"

enum {
    MAX_PROMPT = 64,
    CROWD = 24,
    BLOCKS = 40,
    OPERATIONS = 100000,
    SIZE = 4,
    BUDGET = 16,
    AT_ONCE = 9
};

struct crowd {
    struct scheduler s;
    struct sequence q[CROWD];
    bool here[CROWD];
    uint64_t next;
    int64_t produced; /* tokens, by our own count */
    int done, removed;
    bool planned; /* a step is planned and not yet applied */
};

static void join_crowd(struct crowd *c, struct rng *rng)
{
    uint64_t tokens[MAX_PROMPT];
    size_t i = 0;

    while (i < CROWD && c->here[i])
        i++;
    if (i == CROWD)
        return;
    size_t n = 1 + rng_below(rng, MAX_PROMPT), shared = rng_below(rng, (uint32_t)n + 1);
    for (size_t k = 0; k < n; k++)
        tokens[k] = k < shared ? k + 1000 * (n % 3) : rng_next(rng);
    c->here[i] = true;
    c->q[i] = (struct sequence){
        .prompt_tokens = (int64_t)n,
        .output_limit = 1 + rng_below(rng, 60),
        .number = c->next++,
        .hashes = mem_array(n / SIZE, sizeof *c->q[i].hashes),
    };
    kv_hash_prompt(0, tokens, (int64_t)n, SIZE, c->q[i].hashes);
    scheduler_add(&c->s, &c->q[i]);
}

static void leave_crowd(struct crowd *c, size_t i)
{
    if (!c->here[i])
        return;
    scheduler_remove(&c->s, &c->q[i]);
    c->here[i] = false;
    c->removed++;
}

static void check_step(const struct crowd *c)
{
    const struct step *step = &c->s.step;
    int64_t charged = 0;

    for (size_t i = 0; i < step->count; i++) {
        const struct step_item *item = &step->items[i];
        assert_true(item->from < item->to);
        if (item->kind != STEP_WARM)
            charged += item->to - item->from;
        else
            assert_true(item->to - item->from <= c->s.limits.warm_tokens);
    }
    assert_true(charged <= BUDGET);
    assert_int_equal(step->tokens_left, BUDGET - charged);
}

static void apply_all(struct crowd *c)
{
    for (size_t i = 0; i < c->s.step.count; i++) {
        enum step_outcome outcome = scheduler_apply(&c->s, i);
        c->produced += outcome != STEP_NOTHING;
        if (outcome != STEP_LAST_TOKEN)
            continue;
        size_t slot = (size_t)(c->s.step.items[i].sequence - c->q);
        assert_int_equal(c->q[slot].produced, c->q[slot].output_limit);
        c->done++;
        leave_crowd(c, slot);
    }
    c->planned = false;
}

static int32_t count_list(const struct kv_pool *p, int32_t first)
{
    int32_t n = 0;
    for (int32_t i = first; i != KV_NONE; i = p->blocks[i].next) {
        assert_int_equal(p->blocks[i].refs, 0);
        assert_true(n++ < BLOCKS);
    }
    return n;
}

static void check_pool(const struct crowd *c)
{
    const struct kv_pool *p = &c->s.pool;
    int32_t refs[BLOCKS] = {0}, used = 0;

    for (size_t i = 0; i < CROWD; i++)
        for (size_t k = 0; c->here[i] && k < c->q[i].block_count; k++)
            refs[c->q[i].blocks[k]]++;
    for (int32_t i = 0; i < BLOCKS; i++) {
        const struct kv_block *b = &p->blocks[i];
        assert_int_equal(b->refs, refs[i]);
        used += refs[i] > 0;
        if (b->hashed)
            assert_int_equal(kv_pool_find(p, b->hash), i);
    }
    assert_int_equal(p->used, used);
    assert_int_equal(p->cached, count_list(p, p->lru_first));
    assert_int_equal(p->total,
                     used + p->cached + count_list(p, p->free_first) + p->total - p->touched);
}

static void check_queues(const struct crowd *c)
{
    const struct sequence *q;
    int waiting = 0, running = 0;

    TAILQ_FOREACH(q, &c->s.waiting, queue)
    {
        assert_int_equal(q->state, SEQUENCE_WAITING);
        assert_int_equal(q->block_count, 0);
        waiting++;
    }
    TAILQ_FOREACH(q, &c->s.running, queue)
    {
        assert_true(q->state == SEQUENCE_PREFILL || q->state == SEQUENCE_DECODE);
        assert_true((int64_t)q->block_count * SIZE >= q->computed);
        running++;
    }
    assert_int_equal(c->s.waiting_count, waiting);
    assert_int_equal(c->s.running_count, running);
    assert_true(running <= AT_ONCE);
    int here = 0;
    for (size_t i = 0; i < CROWD; i++)
        here += c->here[i];
    assert_int_equal(here, waiting + running);
}

static void plan(struct crowd *c, int limit)
{
    scheduler_plan(&c->s, limit);
    c->planned = true;
    check_step(c);
    bool nobody = c->s.running_count + c->s.waiting_count == 0;
    if (limit == INT_MAX)
        assert_int_equal(c->s.step.count == 0, nobody); /* somebody can always go on */
}

static void random_operation(struct crowd *c, struct rng *rng)
{
    uint32_t what = rng_below(rng, 1000);

    if (what < 120)
        join_crowd(c, rng);
    else if (what < 150)
        leave_crowd(c, rng_below(rng, CROWD));
    else if (c->planned && what < 250) {
        scheduler_join(&c->s);
        check_step(c);
    } else if (c->planned)
        apply_all(c);
    else if (what < 155)
        scheduler_preempt(&c->s, (int)rng_below(rng, 4));
    else if (what < 160)
        kv_pool_flush(&c->s.pool);
    else if (what < 200)
        plan(c, (int)rng_below(rng, 4));
    else
        plan(c, INT_MAX);
}

static void test_random_work(void **state)
{
    static struct crowd c;
    struct rng rng = {5};
    (void)state;

    scheduler_init(&c.s, &(struct scheduler_limits){.blocks = BLOCKS,
                                                    .block_size = SIZE,
                                                    .max_running = AT_ONCE,
                                                    .step_tokens = BUDGET,
                                                    .warm_tokens = 5,
                                                    .prefix_cache = true});
    for (int n = 0; n < OPERATIONS; n++) {
        random_operation(&c, &rng);
        check_pool(&c);
        check_queues(&c);
    }
    assert_true(c.done > 1000); /* all of it took part */
    assert_true(c.s.counts.preemptions > 1000);
    assert_true(c.s.counts.prefix_hits > 1000);
    while (c.s.running_count + c.s.waiting_count > 0) { /* and everybody comes to an end */
        if (!c.planned)
            plan(&c, INT_MAX);
        apply_all(&c);
    }
    assert_int_equal(c.s.pool.used, 0);
    assert_int_equal(c.s.counts.generated_tokens, c.produced);
    scheduler_release(&c.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
