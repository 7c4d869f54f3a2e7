/* bench_scheduler.c - what a step of 4,096 decoding sequences costs: its plan and its completion.
 *
 * Prints the median of many steps, in time on a CPU. At 25 ms a step of such a size the scheduler
 * must not be seen: the limit is 1 ms, and time depends on the machine and fails nothing. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "engine/scheduler.h"
#include "stats/summary.h"

enum { SEQUENCES = 4096, PROMPT = 500, STEPS = 1001, BLOCK = 16 };

static void add_all(struct scheduler *s, struct sequence *q)
{
    for (uint64_t i = 0; i < SEQUENCES; i++) {
        uint64_t tokens[PROMPT];
        for (uint64_t k = 0; k < PROMPT; k++)
            tokens[k] = i * PROMPT + k;
        q[i] = (struct sequence){
            .prompt_tokens = PROMPT,
            .output_limit = INT64_MAX,
            .number = i,
            .hashes = mem_array(PROMPT / BLOCK, sizeof *q->hashes),
        };
        kv_hash_prompt(1, tokens, PROMPT, BLOCK, q[i].hashes);
        scheduler_add(s, &q[i]);
    }
}

/* Plan and complete a step; says how many sequences decoded. */
static int do_step(struct scheduler *s)
{
    const struct step *step = scheduler_plan(s, INT_MAX);
    int decodes = step->decodes;
    for (size_t i = 0; i < step->count; i++)
        scheduler_apply(s, i);
    return decodes;
}

int main(void)
{
    static struct sequence q[SEQUENCES];
    static double us[STEPS];
    struct scheduler s;

    scheduler_init(&s, &(struct scheduler_limits){.blocks = SEQUENCES * 128,
                                                  .block_size = BLOCK,
                                                  .max_running = SEQUENCES,
                                                  .step_tokens = 8192,
                                                  .prefix_cache = true});
    add_all(&s, q);
    while (do_step(&s) < SEQUENCES)
        ;
    for (size_t i = 0; i < STEPS; i++) {
        int64_t begin = clock_thread_cpu();
        if (do_step(&s) != SEQUENCES)
            return 1;
        us[i] = (double)(clock_thread_cpu() - begin) / (double)NS_PER_US;
    }
    double median = summary_median(us, STEPS);
    printf("step of %d decodes: %.0f us (best %.0f, worst %.0f)\n", SEQUENCES, median, us[0],
           us[STEPS - 1]);
    for (size_t i = 0; i < SEQUENCES; i++)
        scheduler_remove(&s, &q[i]);
    scheduler_release(&s);
    return 0;
}
