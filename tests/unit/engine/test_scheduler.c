/* test_scheduler.c - plans token by token, written out by hand.
 *
 * A scenario is a script. A prompt is written as runs of tokens, "A8 B2": eight tokens of a text A,
 * then two of a text B; prompts that begin alike share a prefix. A step is written as its items:
 *   c0[0,8)   tokens 0..7 of sequence 0, cold       w0[8,10)  the same, warm
 *   d0@10     sequence 0 decodes with token 10
 *   +         it produced a token                   !         and that was its last */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "engine/scheduler.h"

enum { MAX_SEQUENCES = 8, MAX_PROMPT = 64 };

enum op {
    END,
    ADD,     /* "A10 > 3": a prompt and how many tokens come of it */
    STEP,    /* "c0[0,8)": what is planned and done */
    LIMIT,   /* "2": how many may decode from now on */
    PLAN,    /* what is planned; it is done by APPLY */
    JOIN,    /* the step, after others were let join it */
    APPLY,   /* what came of it */
    REMOVE,  /* "2": which */
    PREEMPT, /* "2": how many */
    FLUSH,
    STATE, /* "running 1 used 3": gauges */
};

struct line {
    enum op op;
    const char *text;
};

struct scenario {
    const char *name;
    struct scheduler_limits limits;
    struct line lines[40];
};

/* Unless said otherwise blocks are 4 tokens, and there are plenty. */
static const struct scenario scenarios[] = {
    {
        "first come, first served; chunks under the budget",
        {.blocks = 100, .block_size = 4, .max_running = 2, .step_tokens = 8},
        {
            {ADD, "A10 > 3"},
            {ADD, "B5 > 2"},
            {ADD, "C3 > 1"},
            {STATE, "running 0 waiting 3 used 0"},
            {STEP, "c0[0,8)"}, /* nothing left for the second */
            {STATE, "running 1 waiting 2 used 3"},
            {STEP, "c0[8,10)+ c1[0,5)+"}, /* one token left, but two run */
            {STATE, "running 2 waiting 1 used 5"},
            {STEP, "d0@10+ d1@5!"},
            {STATE, "running 1 waiting 1 used 3"},
            {STEP, "d0@11! c2[0,3)!"},
            {STATE, "running 0 waiting 0 used 0"},
            {STEP, ""},
        },
    },
    {
        "decoding comes before prompts",
        {.blocks = 100, .block_size = 4, .max_running = 9, .step_tokens = 4},
        {
            {ADD, "A2 > 9"},
            {ADD, "B2 > 9"},
            {STEP, "c0[0,2)+ c1[0,2)+"},
            {ADD, "C5 > 1"},
            {ADD, "D2 > 2"},
            {STEP, "d0@2+ d1@2+ c2[0,2)"},
            {STEP, "d0@3+ d1@3+ c2[2,4)"},
            {STEP, "d0@4+ d1@4+ c2[4,5)! c3[0,1)"}, /* a last token alone is still a prompt */
            {STEP, "d0@5+ d1@5+ c3[1,2)+"},
            {STEP, "d0@6+ d1@6+ d3@2!"},
        },
    },
    {
        "more decode than the budget has tokens",
        {.blocks = 100, .block_size = 4, .max_running = 9, .step_tokens = 2},
        {
            {ADD, "A1 > 2"},
            {ADD, "B1 > 4"},
            {ADD, "C1 > 3"},
            {STEP, "c0[0,1)+ c1[0,1)+"},
            {STEP, "d0@1! d1@1+"},
            {STEP, "d1@2+ c2[0,1)+"},
            {STEP, "d1@3! d2@1+"},
            {STEP, "d2@2!"},
        },
    },
    {
        "nobody overtakes the first of the queue",
        {.blocks = 6, .block_size = 4, .max_running = 9, .step_tokens = 100},
        {
            {ADD, "A15 > 3"},
            {STEP, "c0[0,15)+"},
            {ADD, "B12 > 1"}, /* three blocks, two are left */
            {ADD, "C3 > 1"},  /* one would do */
            {STEP, "d0@15+"},
            {STATE, "running 1 waiting 2 used 4"},
            {STEP, "d0@16!"},
            {STEP, "c1[0,12)! c2[0,3)!"},
        },
    },
    {
        "the queue moves when its first is removed",
        {.blocks = 6, .block_size = 4, .max_running = 9, .step_tokens = 100},
        {
            {ADD, "A15 > 3"},
            {ADD, "B12 > 1"},
            {ADD, "C3 > 1"},
            {STEP, "c0[0,15)+"},
            {REMOVE, "1"},
            {STEP, "d0@15+ c2[0,3)!"},
        },
    },
    {
        "prefix hits: whole blocks, and never the last token",
        {.blocks = 100,
         .block_size = 4,
         .max_running = 9,
         .step_tokens = 100,
         .prefix_cache = true},
        {
            {ADD, "A10 > 1"},
            {STEP, "c0[0,10)!"},
            {STATE, "used 0 cached 2"}, /* the third block is not full */
            {ADD, "A10 > 1"},
            {STEP, "c1[8,10)!"},
            {ADD, "A8 > 1"}, /* cached whole: the last block again */
            {STEP, "c2[4,8)!"},
            {ADD, "A9 > 1"},
            {STEP, "c3[8,9)!"},
            {ADD, "A6 B4 > 1"}, /* alike for a block and a half */
            {STEP, "c4[4,10)!"},
            {ADD, "B10 > 1"},
            {STEP, "c5[0,10)!"},
            {ADD, "A3 > 1"},
            {STEP, "c6[0,3)!"},
            {STATE, "queries 60 hits 24 cached 5"}, /* + 4..7 of A6 B4, and two of B10 */
            {FLUSH, ""},
            {STATE, "used 0 cached 0"},
            {ADD, "A10 > 1"},
            {STEP, "c7[0,10)!"},
            {STATE, "queries 70 hits 24 cached 2"},
        },
    },
    {
        "no prefix cache, no hits",
        {.blocks = 100, .block_size = 4, .max_running = 9, .step_tokens = 100},
        {
            {ADD, "A10 > 1"},
            {ADD, "A10 > 1"},
            {STEP, "c0[0,10)! c1[0,10)!"},
            {ADD, "A10 > 1"},
            {STEP, "c2[0,10)!"},
            {STATE, "queries 0 hits 0 cached 0"},
        },
    },
    {
        "a prefix is found as soon as its step is planned, and blocks are shared",
        {.blocks = 100, .block_size = 4, .max_running = 9, .step_tokens = 12, .prefix_cache = true},
        {
            {ADD, "A10 > 2"},
            {ADD, "A10 > 2"},
            {STEP, "c0[0,10)+ c1[8,10)+"},
            {STATE, "used 4 cached 0 hits 8"},
            {STEP, "d0@10! d1@10!"},
            {STATE, "used 0 cached 2"},
        },
    },
    {
        "the first of the queue fits as soon as another has computed its prefix",
        {.blocks = 10,
         .block_size = 4,
         .max_running = 9,
         .step_tokens = 8,
         .warm_tokens = 20,
         .prefix_cache = true},
        {
            {ADD, "A24 > 9"},
            {ADD, "A24 B4 > 1"}, /* seven blocks; four are left, and two come from the cache */
            {STEP, "c0[0,8)"},
            {STATE, "waiting 1 used 6"},
            {STEP, "c0[8,16) w1[16,28)!"}, /* now four come from there */
        },
    },
    {
        "of an evicted prompt the end goes first",
        {.blocks = 4, .block_size = 4, .max_running = 9, .step_tokens = 100, .prefix_cache = true},
        {
            {ADD, "A12 > 1"},
            {STEP, "c0[0,12)!"},
            {STATE, "used 0 cached 3"},
            {ADD, "B5 > 1"}, /* the free block and one of the cached */
            {STEP, "c1[0,5)!"},
            {STATE, "used 0 cached 3"}, /* A0 A1 B0 */
            {ADD, "A12 > 1"},
            {STEP, "c2[8,12)!"},
            {ADD, "B5 > 1"}, /* older than A, but A took the free block */
            {STEP, "c3[4,5)!"},
        },
    },
    {
        "pre-emption takes the latest, which is computed anew, output and all",
        {.blocks = 4, .block_size = 4, .max_running = 9, .step_tokens = 100},
        {
            {ADD, "A7 > 10"},
            {ADD, "B7 > 4"},
            {STEP, "c0[0,7)+ c1[0,7)+"},
            {STEP, "d0@7+ d1@7+"},
            {STATE, "running 2 waiting 0 used 4"},
            {STEP, "d0@8+"},
            {STATE, "running 1 waiting 1 used 3 preemptions 1"},
            {ADD, "C1 > 1"}, /* would fit, but comes after */
            {STEP, "d0@9+"},
            {STEP, "d0@10+"},
            {STEP, "d0@11+"},
            {STEP, "d0@12+"},
            {STEP, "d0@13+"},
            {STEP, "d0@14+"},
            {STEP, "d0@15!"},
            {STEP, "c1[0,9)+ c2[0,1)!"}, /* 7 of the prompt, 2 of output */
            {STEP, "d1@9!"},
            {STATE, "used 0 preemptions 1 prompt 15 generated 15"},
        },
    },
    {
        "who needs a block and is the latest goes itself; nobody passes it",
        {.blocks = 5, .block_size = 4, .max_running = 9, .step_tokens = 100},
        {
            {ADD, "A9 > 3"},
            {ADD, "B8 > 2"},
            {STEP, "c0[0,9)+ c1[0,8)+"},
            {ADD, "C1 > 1"},
            {STEP, "d0@9+"},
            {STATE, "running 1 waiting 2 used 3 preemptions 1"},
            {STEP, "d0@10!"},
            {STEP, "c1[0,9)! c2[0,1)!"},
        },
    },
    {
        "after a pre-emption the cache still has what was computed",
        {.blocks = 100,
         .block_size = 4,
         .max_running = 9,
         .step_tokens = 100,
         .prefix_cache = true},
        {
            {ADD, "A6 > 9"},
            {STEP, "c0[0,6)+"},
            {STEP, "d0@6+"},
            {STEP, "d0@7+"}, /* fills a block with prompt and output */
            {STEP, "d0@8+"},
            {PREEMPT, "1"},
            {STATE, "running 0 waiting 1 used 0 cached 2"},
            {STEP, "c0[8,10)+"},
            {STEP, "d0@10+"},
            {STATE, "queries 6 hits 0 preemptions 1 prompt 6 generated 6"},
        },
    },
    {
        "output is nobody else's",
        {.blocks = 100,
         .block_size = 4,
         .max_running = 9,
         .step_tokens = 100,
         .prefix_cache = true},
        {
            {ADD, "A4 > 9"},
            {ADD, "A4 > 9"},
            {STEP, "c0[0,4)+ c1[0,4)+"},
            {STEP, "d0@4+ d1@4+"},
            {STEP, "d0@5+ d1@5+"},
            {STEP, "d0@6+ d1@6+"},
            {STEP, "d0@7+ d1@7+"},
            {PREEMPT, "2"},
            {STATE, "running 0 waiting 2 cached 3"}, /* the prompt, and an output of each */
            {STEP, "c0[8,9)+ c1[8,9)+"},
        },
    },
    {
        "pre-empted sequences keep their order, before the queue",
        {.blocks = 100, .block_size = 4, .max_running = 3, .step_tokens = 100},
        {
            {ADD, "A2 > 9"},
            {ADD, "B2 > 9"},
            {ADD, "C2 > 9"},
            {ADD, "D2 > 9"},
            {STEP, "c0[0,2)+ c1[0,2)+ c2[0,2)+"},
            {PREEMPT, "2"},
            {STATE, "running 1 waiting 3"},
            {STEP, "d0@2+ c1[0,3)+ c2[0,3)+"},
            {PREEMPT, "99"},
            {STATE, "running 0 waiting 4 preemptions 5"},
            {STEP, "c0[0,4)+ c1[0,4)+ c2[0,4)+"},
        },
    },
    {
        "a short rest is warm: in one go, and beside the budget",
        {.blocks = 100,
         .block_size = 4,
         .max_running = 9,
         .step_tokens = 8,
         .warm_tokens = 4,
         .prefix_cache = true},
        {
            {ADD, "A13 > 2"},
            {STEP, "c0[0,8)"},
            {STEP, "c0[8,13)+"}, /* its chunks stay cold, however short */
            {ADD, "A12 B2 > 9"},
            {ADD, "A12 C4 > 9"},
            {ADD, "D20 > 9"},
            {ADD, "A12 E1 > 9"},
            {ADD, "A12 F5 > 9"},
            {STEP, "d0@13! w1[12,14)+ w2[12,16)+ c3[0,7) w4[12,13)+"},
            {STEP, "d1@14+ d2@16+ d4@13+ c3[7,12)"},
            {ADD, "G3 > 1"}, /* warm, but after one that finds no budget */
            {STEP, "d1@15+ d2@17+ d4@14+ c3[12,17)"},
            {STEP, "d1@16+ d2@18+ d4@15+ c3[17,20)+ c5[12,14) w6[0,3)!"},
        },
    },
    {
        "who joins a step: the first of the queue while they are warm",
        {.blocks = 100,
         .block_size = 4,
         .max_running = 4,
         .step_tokens = 100,
         .warm_tokens = 4,
         .prefix_cache = true},
        {
            {ADD, "A2 > 2"},
            {PLAN, "w0[0,2)"},
            {JOIN, "w0[0,2)"},
            {ADD, "B3 > 2"},
            {JOIN, "w0[0,2) w1[0,3)"},
            {ADD, "C5 > 2"},
            {ADD, "D1 > 2"},
            {JOIN, "w0[0,2) w1[0,3)"}, /* C is cold, and D comes after it */
            {APPLY, "w0[0,2)+ w1[0,3)+"},
            {STEP, "d0@2! d1@3! c2[0,5)+ w3[0,1)+"},
            {ADD, "E1 > 1"},
            {ADD, "E2 > 1"},
            {ADD, "E3 > 1"},
            {PLAN, "d2@5 d3@1 w4[0,1) w5[0,2)"}, /* four run */
            {JOIN, "d2@5 d3@1 w4[0,1) w5[0,2)"},
            {APPLY, "d2@5! d3@1! w4[0,1)! w5[0,2)!"},
        },
    },
    {
        "removed while waiting, in a chunk, decoding, in a step, and when done",
        {.blocks = 100, .block_size = 4, .max_running = 9, .step_tokens = 8},
        {
            {ADD, "A4 > 9"},
            {ADD, "B4 > 1"},
            {ADD, "C9 > 9"},
            {ADD, "D4 > 9"},
            {REMOVE, "3"},
            {STEP, "c0[0,4)+ c1[0,4)!"},
            {REMOVE, "1"},
            {STEP, "d0@4+ c2[0,7)"},
            {STATE, "running 2 waiting 0 used 5"},
            {REMOVE, "2"},
            {STATE, "running 1 waiting 0 used 2"},
            {ADD, "E4 > 9"},
            {PLAN, "d0@5 c4[0,4)"},
            {REMOVE, "4"},
            {APPLY, "d0@5+"},
            {REMOVE, "0"},
            {STATE, "running 0 waiting 0 used 0 prompt 8 generated 4"},
            {STEP, ""},
        },
    },
    {
        "a limit on decoding holds back the latest, with their blocks",
        {.blocks = 100, .block_size = 4, .max_running = 9, .step_tokens = 100},
        {
            {ADD, "A4 > 4"},
            {ADD, "B4 > 9"},
            {ADD, "C4 > 9"},
            {LIMIT, "1"},
            {STEP, "c0[0,4)+ c1[0,4)+ c2[0,4)+"},
            {STATE, "paused 0"},
            {LIMIT, "2"},
            {STEP, "d0@4+ d1@4+"},
            {STATE, "running 3 paused 1 used 5"},
            {LIMIT, "0"},
            {STEP, ""},
            {STATE, "running 3 paused 3 used 5"},
            {LIMIT, "1"},
            {STEP, "d0@5+"},
            {LIMIT, "9"},
            {STEP, "d0@6! d1@5+ d2@4+"},
            {STATE, "running 2 paused 0"},
            {STEP, "d1@6+ d2@5+"},
            {LIMIT, "1"},
            {ADD, "D4 > 1"},
            {PLAN, "d1@7 c3[0,4)"},
            {REMOVE, "2"}, /* paused: not in this step, whatever place it had in the last */
            {APPLY, "d1@7+ c3[0,4)!"},
        },
    },
    {
        "of the paused, the latest are the first to lose their blocks",
        {.blocks = 3, .block_size = 4, .max_running = 9, .step_tokens = 100},
        {
            {ADD, "A4 > 3"},
            {ADD, "B4 > 3"},
            {ADD, "C4 > 3"},
            {STEP, "c0[0,4)+ c1[0,4)+ c2[0,4)+"},
            {LIMIT, "1"},
            {STEP, "d0@4+"},
            {STATE, "running 2 paused 1 waiting 1 used 3"},
        },
    },
};

/* --- the interpreter --- */

struct rig {
    struct scheduler s;
    struct sequence q[MAX_SEQUENCES];
    int count, limit;
    char text[512], *end;
};

static int read_number(const char **text)
{
    int n = 0;

    for (; **text >= '0' && **text <= '9'; (*text)++)
        n = 10 * n + (**text - '0');
    return n;
}

static size_t read_prompt(const char **text, uint64_t *tokens)
{
    size_t n = 0;

    while (**text && **text != '>') {
        uint64_t letter = (uint64_t) * (*text)++;
        for (int run = read_number(text); run > 0; run--, n++) {
            assert_true(n < MAX_PROMPT);
            tokens[n] = letter << 32 | n;
        }
        *text += **text == ' ';
    }
    return n;
}

static void add(struct rig *r, const char *text)
{
    uint64_t tokens[MAX_PROMPT];
    size_t n = read_prompt(&text, tokens);
    int size = r->s.limits.block_size;

    assert_true(r->count < MAX_SEQUENCES);
    struct sequence *q = &r->q[r->count];
    text += strlen("> ");
    *q = (struct sequence){
        .prompt_tokens = (int64_t)n,
        .output_limit = read_number(&text),
        .number = (uint64_t)r->count++,
        .hashes = mem_array(n / (size_t)size, sizeof *q->hashes),
    };
    kv_hash_prompt(0, tokens, (int64_t)n, size, q->hashes);
    scheduler_add(&r->s, q);
}

__attribute__((format(printf, 2, 3))) static void say(struct rig *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(r->end, (size_t)(r->text + sizeof r->text - r->end), format, args);
    va_end(args);
    assert_true(n >= 0 && r->end + n < r->text + sizeof r->text);
    r->end += n;
}

/* The step in words. With `apply`, what comes of each item as well. */
static void say_step(struct rig *r, bool apply)
{
    static const char marks[][2] = {
        [STEP_NOTHING] = "", [STEP_TOKEN] = "+", [STEP_LAST_TOKEN] = "!"};
    const struct step *step = &r->s.step;

    for (size_t i = 0; i < step->count; i++) {
        const struct step_item *item = &step->items[i];
        if (!item->sequence)
            continue;
        say(r, r->end == r->text ? "" : " ");
        if (item->kind == STEP_DECODE)
            say(r, "d%d@%d", (int)item->sequence->number, (int)item->from);
        else
            say(r, "%c%d[%d,%d)", item->kind == STEP_WARM ? 'w' : 'c', (int)item->sequence->number,
                (int)item->from, (int)item->to);
        if (apply)
            say(r, "%s", marks[scheduler_apply(&r->s, i)]);
    }
}

/* Gauges, in words: only those that the expected text names, in its order. */
static void say_state(struct rig *r, const char *names)
{
    const struct scheduler *s = &r->s;
    const struct {
        const char *name;
        int64_t value;
    } gauges[] = {
        {"running", s->running_count},
        {"waiting", s->waiting_count},
        {"paused", s->step.paused},
        {"used", s->pool.used},
        {"cached", s->pool.cached},
        {"preemptions", s->counts.preemptions},
        {"prompt", s->counts.prompt_tokens},
        {"generated", s->counts.generated_tokens},
        {"queries", s->counts.prefix_queries},
        {"hits", s->counts.prefix_hits},
    };

    while (*names) {
        size_t len = strcspn(names, " "), i = 0;
        while (i < ARRAY_LEN(gauges) && strncmp(gauges[i].name, names, len) != 0)
            i++;
        assert_true(i < ARRAY_LEN(gauges));
        say(r, "%s%s %d", r->end == r->text ? "" : " ", gauges[i].name, (int)gauges[i].value);
        names += len + 1;
        names += strcspn(names, " ");
        names += *names == ' ';
    }
}

static void run_line(struct rig *r, const struct line *l)
{
    const char *text = l->text;
    int n = read_number(&text);

    r->end = r->text;
    *r->end = '\0';
    switch (l->op) {
    case ADD: add(r, text); return;
    case REMOVE: scheduler_remove(&r->s, &r->q[n]); return;
    case PREEMPT: scheduler_preempt(&r->s, n); return;
    case FLUSH: kv_pool_flush(&r->s.pool); return;
    case LIMIT: r->limit = n; return;
    case STEP:
    case PLAN:
        scheduler_plan(&r->s, r->limit);
        say_step(r, l->op != PLAN);
        break;
    case JOIN:
        scheduler_join(&r->s);
        say_step(r, false);
        break;
    case APPLY: say_step(r, true); break;
    case STATE: say_state(r, text); break;
    case END: return;
    }
    assert_string_equal(r->text, text);
}

static void test_scenario(void **state)
{
    const struct scenario *c = *state;
    struct rig r = {.limit = INT_MAX};

    scheduler_init(&r.s, &c->limits);
    for (const struct line *l = c->lines; l->op != END; l++)
        run_line(&r, l);
    for (int i = 0; i < r.count; i++)
        scheduler_remove(&r.s, &r.q[i]);
    assert_int_equal(r.s.pool.used, 0);
    assert_int_equal(r.s.running_count + r.s.waiting_count, 0);
    scheduler_release(&r.s);
}

static void test_limits_below_one(void **state)
{
    struct rig r = {0};
    (void)state;

    scheduler_init(&r.s, &(struct scheduler_limits){0});
    add(&r, "A1 > 1");
    scheduler_plan(&r.s, INT_MAX);
    r.end = r.text;
    say_step(&r, true);
    assert_string_equal(r.text, "c0[0,1)!");
    scheduler_remove(&r.s, &r.q[0]);
    scheduler_release(&r.s);
}

/* The sums that step times are made of. */
static void test_mean_contexts(void **state)
{
    struct rig r = {0};
    (void)state;

    scheduler_init(&r.s, &(struct scheduler_limits){.blocks = 100,
                                                    .block_size = 4,
                                                    .max_running = 9,
                                                    .step_tokens = 100,
                                                    .warm_tokens = 4,
                                                    .prefix_cache = true});
    add(&r, "A12 > 9");
    add(&r, "B2 > 9");
    add(&r, "A8 C3 > 9");
    const struct step *step = scheduler_plan(&r.s, INT_MAX);
    assert_int_equal(step->cold, 1);
    assert_int_equal(step->warm, 2);
    assert_int_equal(step->warm_context, 2 + 11); /* the whole prompt, not its rest */
    assert_int_equal(r.q[2].cached_tokens, 8);
    r.end = r.text;
    say_step(&r, true);
    step = scheduler_plan(&r.s, INT_MAX);
    assert_int_equal(step->decodes, 3);
    assert_int_equal(step->decode_context, 13 + 3 + 12); /* with the token that is fed in */
    assert_int_equal(step->tokens_left, 97);
    say_step(&r, true);
    for (int i = 0; i < r.count; i++)
        scheduler_remove(&r.s, &r.q[i]);
    scheduler_release(&r.s);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_LEN(scenarios) + 2] = {
        cmocka_unit_test(test_limits_below_one),
        cmocka_unit_test(test_mean_contexts),
    };

    for (size_t i = 0; i < ARRAY_LEN(scenarios); i++)
        tests[2 + i] = (struct CMUnitTest){
            .name = scenarios[i].name,
            .test_func = test_scenario,
            .initial_state = (void *)(uintptr_t)&scenarios[i],
        };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
