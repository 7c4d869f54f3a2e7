/* The lines above a report and the blocks beside it, for machines and runs of every sort. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "report/headline.h"
#include "report/setup.h"

#define GIB (INT64_C(1) << 30)

static void expect(const struct result *r, report_part_fn *add, const char *text)
{
    struct buf b;
    buf_init(&b, 4096);
    add(r, NULL, &b);
    assert_string_equal(b.p, text);
    buf_release(&b);
}

static void expect_row(const struct result *r, const char *label, const char *text)
{
    for (size_t i = 0; i < SETUP_BLOCKS; i++)
        for (size_t k = 0; k < setup_blocks[i].count; k++)
            if (strcmp(word(NULL, setup_blocks[i].rows[k].label), label) == 0) {
                expect(r, setup_blocks[i].rows[k].add, text);
                return;
            }
    fail_msg("no row %s", label);
}

static void test_lines(void **state)
{
    struct result r;
    struct cell c;
    (void)state;
    result_init(&r);
    expect(&r, headline_title, "unknown model on an unknown machine");
    expect(&r, headline_engine, "");
    expect(&r, headline_grid, "no contexts × no concurrency levels");
    expect(&r, headline_by, "");
    mem_set_string(&r.subject.served_model, "org/model/");
    mem_set_string(&r.engine.version, "1.2");
    mem_set_string(&r.kind, "measured");
    cell_init(&c, 1000, 3);
    result_add_cell_take(&r, &c);
    expect(&r, headline_title, "org/model/ on an unknown machine");
    expect(&r, headline_engine, "1.2");
    expect(&r, headline_grid, "1 context (1000) × 1 concurrency level (3)");
    expect(&r, headline_by, "Measured");
    mem_set_string(&r.subject.model, "org/name");
    mem_set_string(&r.by, "me");
    mem_set_string(&r.tool.name, "tokgrid");
    expect(&r, headline_title, "name on an unknown machine");
    expect(&r, headline_by, "by me · tokgrid · Measured");
    result_release(&r);
}

static void test_simulated(void **state)
{
    static const char tail[] = "No figure here was measured on a machine of that kind.";
    struct result r;
    char line[200];
    (void)state;
    result_init(&r);
    result_add_fact(&r, "emulator_speed", "4", NULL);
    mem_set_string(&r.kind, "measured"); /* whatever its facts say */
    expect(&r, headline_simulated, "");
    expect(&r, headline_kind, "Measured");
    mem_set_string(&r.kind, "simulated");
    expect(&r, headline_kind, "Simulated, 4 times as fast");
    snprintf(line, sizeof line, "Simulated: the server imitates an engine. %s", tail);
    expect(&r, headline_simulated, line);
    result_add_fact(&r, "emulator", "tokgrid-engine 0.1\x1b", NULL);
    result_add_fact(&r, "emulator_profile", "card", NULL);
    snprintf(line, sizeof line,
             "Simulated by tokgrid-engine 0.1? from the profile card, 4 times as fast as it says. "
             "%s",
             tail);
    expect(&r, headline_simulated, line);
    result_add_fact(&r, "emulator_speed", "1", NULL);
    snprintf(line, sizeof line, "Simulated by tokgrid-engine 0.1? from the profile card. %s", tail);
    expect(&r, headline_simulated, line);
    expect(&r, headline_kind, "Simulated");
    result_release(&r);
}

static void test_axes_join_plan_and_cells(void **state)
{
    struct result r;
    struct axes axes;
    struct cell c;
    (void)state;
    result_init(&r);
    r.plan.contexts[0] = 8192;
    r.plan.context_count = 1;
    r.plan.levels[0] = 4;
    r.plan.level_count = 1;
    cell_init(&c, 0, 8);
    result_add_cell_take(&r, &c);
    cell_init(&c, 8192, 1);
    result_add_cell_take(&r, &c);
    axes_of(&r, &axes);
    assert_int_equal(axes.context_count, 2);
    assert_int_equal(axes.contexts[0], 0);
    assert_int_equal(axes.contexts[1], 8192);
    assert_int_equal(axes.level_count, 3);
    assert_int_equal(axes.levels[2], 8);
    assert_int_equal(axes.prefill_count, 0);
    for (int i = 0; i < 2000; i++) { /* more than a document may hold: cut, not overrun */
        cell_init(&c, i, i + 1);
        result_add_cell_take(&r, &c);
    }
    axes_of(&r, &axes);
    assert_int_equal(axes.context_count, PLAN_MAX_CONTEXTS);
    assert_int_equal(axes.level_count, PLAN_MAX_LEVELS);
    result_release(&r);
}

static void test_setup_rows(void **state)
{
    struct result r;
    (void)state;
    result_init(&r);
    for (size_t i = 0; i < SETUP_BLOCKS; i++)
        for (size_t k = 0; k < setup_blocks[i].count; k++)
            if (setup_blocks[i].rows[k].label != WORD_SETUP_PREFILL_MODE &&
                setup_blocks[i].rows[k].label != WORD_SETUP_PROMPTS)
                expect(&r, setup_blocks[i].rows[k].add, ""); /* nothing is made up */

    for (int i = 0; i < 2; i++) {
        struct gpu *g = &r.hardware.gpus[r.hardware.gpu_count++];
        g->name = mem_strdup("NVIDIA GeForce RTX 3090");
        g->vram_bytes = 24 * GIB;
        g->pcie_gen = i ? 4 : 3;
        g->pcie_width = 16;
        g->pcie_gen_max = 4;
        g->pcie_width_max = 16;
        g->power_limit_w = 350;
    }
    mem_set_string(&r.hardware.cpu, "CPU");
    r.hardware.cpu_cores = 12;
    r.hardware.ram_bytes = 32 * GIB;
    r.plan.duration_ns = 2500000000;
    r.plan.repeats = 3;
    r.server.kv_budget = 173000;
    r.run.duration_s = 75;
    expect_row(&r, "GPU", "2x RTX 3090");
    expect_row(&r, "VRAM", "24 GB each");
    expect_row(&r, "PCIe", "Gen3 x16 (of Gen4 x16) + Gen4 x16");
    expect_row(&r, "Power limit", "350 W");
    expect_row(&r, "CPU", "CPU (12C)");
    expect_row(&r, "RAM", "32 GB");
    expect_row(&r, "Time per measurement", "2.5 s");
    expect_row(&r, "Repeats", "3");
    expect_row(&r, "KV budget", "173,000 tokens");
    expect_row(&r, "Took", "1 min 15 s");
    result_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_simulated),
        cmocka_unit_test(test_axes_join_plan_and_cells),
        cmocka_unit_test(test_setup_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
