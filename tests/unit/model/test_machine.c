/* Names for titles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "model/machine.h"

#define GIB (INT64_C(1) << 30)

static void add_gpu(struct machine *m, const char *name, int64_t bytes)
{
    struct gpu *g = &m->gpus[m->gpu_count++];
    g->name = name ? mem_strdup(name) : NULL;
    g->uuid = mem_strdup("GPU-1");
    g->vram_bytes = bytes;
}

static void expect(struct machine *m, const char *title)
{
    struct buf b;
    buf_init(&b, 1024);
    machine_title(m, &b);
    assert_string_equal(b.p, title);
    buf_release(&b);
    machine_release(m);
}

static void test_titles(void **state)
{
    struct machine m = {0};
    (void)state;
    expect(&m, "an unknown machine");
    m.cpu = mem_strdup("AMD Ryzen 9 7900X");
    expect(&m, "AMD Ryzen 9 7900X");
    add_gpu(&m, "NVIDIA GeForce RTX 3090", 24 * GIB);
    expect(&m, "RTX 3090 24GB");
    add_gpu(&m, "NVIDIA GeForce RTX 4090", INT64_C(24564) << 20); /* as the driver reports it */
    expect(&m, "RTX 4090 24GB");
    add_gpu(&m, "NVIDIA GeForce RTX 3090", 24 * GIB);
    add_gpu(&m, "NVIDIA GeForce RTX 3090", 24 * GIB);
    add_gpu(&m, "NVIDIA RTX A4000", 16 * GIB);
    expect(&m, "2x RTX 3090 24GB + RTX A4000 16GB");
    add_gpu(&m, NULL, 0);
    add_gpu(&m, NULL, 0);
    expect(&m, "unknown GPU + unknown GPU");
    add_gpu(&m, "NVIDIA GB10", 0);
    m.type = mem_strdup("UNIFIED");
    m.ram_bytes = 128 * GIB;
    expect(&m, "GB10 128GB");
}

static void test_short_names(void **state)
{
    static const struct {
        const char *name, *brief;
    } cases[] = {
        {"RTX 3090", "RTX 3090"},
        {"NVIDIA H200", "H200"},
        {"AMD Radeon RX 7900 XTX", "Radeon RX 7900 XTX"},
        {"Intel(R) Arc(TM) A770", "Arc(TM) A770"},
        {"NVIDIA ", "NVIDIA "},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(gpu_short_name(cases[i].name), cases[i].brief);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_titles),
        cmocka_unit_test(test_short_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
