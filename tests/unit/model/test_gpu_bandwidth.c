/* What the table knows, what it must not guess, and several cards together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "model/gpu_bandwidth.h"

#define GIB (INT64_C(1) << 30)

static void test_cards(void **state)
{
    static const struct {
        const char *name;
        int64_t vram_bytes;
        double gb_s; /* 0: unknown */
    } cases[] = {
        {"NVIDIA GeForce RTX 3090", 24 * GIB, 936},
        {"RTX 3090", 0, 936}, /* as a file of the user may name it */
        {"NVIDIA GeForce RTX 3080", 10 * GIB, 760},
        {"NVIDIA GeForce RTX 3080", INT64_C(12288) << 20, 912},
        {"NVIDIA GeForce RTX 3080", 0, 0}, /* which of the two? */
        {"NVIDIA GeForce RTX 4090", INT64_C(24564) << 20, 1008},
        {"NVIDIA GeForce RTX 4090 Laptop GPU", 16 * GIB, 0},
        {"NVIDIA A100-SXM4-80GB", 80 * GIB, 2039},
        {"NVIDIA H100 80GB HBM3", 80 * GIB, 3350},
        {"NVIDIA H200", 141 * GIB, 4800},
        {"Tesla V100-SXM2-32GB", 32 * GIB, 900},
        {"AMD Radeon RX 7900 XTX", 24 * GIB, 960},
        {"AMD Radeon Pro W7900", 48 * GIB, 864},
        {"AMD Instinct MI300X", 192 * GIB, 5300},
        {"Example GPU 24", 24 * GIB, 0},
        {"", 0, 0},
        {NULL, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct gpu g = {.name = (char *)(uintptr_t)cases[i].name,
                        .vram_bytes = cases[i].vram_bytes};
        double v = gpu_bandwidth(&g);
        if (cases[i].gb_s > 0 ? v != cases[i].gb_s * 1e9 : !isnan(v))
            fail_msg("%s: %g", cases[i].name ? cases[i].name : "NULL", v);
    }
}

static void expect(const char *const *names, double gb_s, const char *source)
{
    struct machine m = {0};
    struct buf b;
    buf_init(&b, 1024);
    for (; names[m.gpu_count]; m.gpu_count++)
        m.gpus[m.gpu_count].name = (char *)(uintptr_t)names[m.gpu_count];
    double v = machine_bandwidth(&m, &b);
    assert_string_equal(b.p, source);
    if (gb_s > 0)
        assert_true(v == gb_s * 1e9);
    else
        assert_true(isnan(v));
    buf_release(&b);
}

static void test_machines(void **state)
{
    (void)state;
    expect((const char *const[]){"NVIDIA GeForce RTX 3090", NULL}, 936,
           "data sheet: RTX 3090 at 936 GB/s");
    expect((const char *const[]){"NVIDIA GeForce RTX 3090", "NVIDIA GeForce RTX 3090",
                                 "NVIDIA RTX A4000", NULL},
           2320, "data sheet: 2x RTX 3090 at 936 GB/s + RTX A4000 at 448 GB/s");
    expect((const char *const[]){"NVIDIA GeForce RTX 3090", "Example GPU", NULL}, 0, "");
    expect((const char *const[]){NULL}, 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cards),
        cmocka_unit_test(test_machines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
