/* test_hardware.c - whole machines as text files ("= path" and its content, "> path target" for a
 * link), unpacked into a folder that stands for /; a module that stands for NVIDIA's library.
 *
 * Runs in the source folder. TOKGRID_FAKE_NVML and TOKGRID_FAKE_NVML_OLD are the modules' paths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <ftw.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "load/cpu_info.h"
#include "load/hardware.h"
#include "load/sysfile.h"

static const char no_library[] = "libno-such-library.so.1";

/* ---- a machine on disk ---- */

struct tree {
    char root[64];
    char proc[96], sys[96], etc[96];
    struct hardware_roots roots;
};

static void put_file(const struct tree *t, const char *path, const char *p, size_t n)
{
    char full[1024];
    struct err err;
    snprintf(full, sizeof full, "%s/%s", t->root, path);
    assert_true(file_make_parent(full, &err));
    assert_true(file_write_atomic(full, p, n, &err));
}

static void put_link(const struct tree *t, const char *path, const char *target)
{
    char full[1024];
    struct err err;
    snprintf(full, sizeof full, "%s/%s", t->root, path);
    assert_true(file_make_parent(full, &err));
    assert_int_equal(symlink(target, full), 0);
}

static void unpack(struct tree *t, char *text)
{
    for (char *p = text; *p;) {
        char *path = p + 2, *end = strchr(p, '\n');
        assert_non_null(end);
        *end++ = '\0';
        if (*p == '>') {
            char *target = strchr(path, ' ');
            assert_non_null(target);
            *target++ = '\0';
            put_link(t, path, target);
            p = end;
            continue;
        }
        assert_int_equal(*p, '=');
        char *next = end;
        while (*next && !(next > end && next[-1] == '\n' && (*next == '=' || *next == '>')))
            next++;
        put_file(t, path, end, (size_t)(next - end));
        p = next;
    }
}

static void tree_from_text(struct tree *t, const char *text, const char *nvml)
{
    *t = (struct tree){.root = "/tmp/tokgrid-hardware-XXXXXX"};
    assert_non_null(mkdtemp(t->root));
    snprintf(t->proc, sizeof t->proc, "%s/proc", t->root);
    snprintf(t->sys, sizeof t->sys, "%s/sys", t->root);
    snprintf(t->etc, sizeof t->etc, "%s/etc", t->root);
    t->roots = (struct hardware_roots){t->proc, t->sys, t->etc, nvml};
    char *copy = mem_strdup(text);
    unpack(t, copy);
    free(copy);
}

static void tree_from_file(struct tree *t, const char *name, const char *nvml)
{
    char path[256];
    struct buf text;
    struct err err;
    buf_init(&text, 64 << 10);
    snprintf(path, sizeof path, "tests/data/hardware/%s.tree", name);
    assert_true(file_read(path, &text, &err));
    tree_from_text(t, text.p, nvml);
    buf_release(&text);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void tree_remove(struct tree *t)
{
    nftw(t->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *module_path(const char *variable)
{
    const char *path = getenv(variable);
    if (!path)
        fail_msg("%s is not set", variable);
    return path;
}

/* ---- tests ---- */

static void cpu_names_lose_what_is_not_the_name(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"AMD Ryzen 9 7900X 12-Core Processor", "AMD Ryzen 9 7900X"},
        {"Intel(R) Core(TM) i7-9700K CPU @ 3.60GHz", "Intel Core i7-9700K"},
        {"13th Gen Intel(R) Core(TM) i9-13900K", "Intel Core i9-13900K"},
        {"Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", "Intel Xeon Platinum 8375C"},
        {"Intel(R) Core(TM)2 Quad CPU    Q6600  @ 2.40GHz", "Intel Core2 Quad Q6600"},
        {"Intel(R) Core(TM) Ultra 9 285K", "Intel Core Ultra 9 285K"},
        {"AMD EPYC 7763 64-Core Processor                ", "AMD EPYC 7763"},
        {"AMD Ryzen 5 1600 Six-Core Processor", "AMD Ryzen 5 1600"},
        {"AMD Ryzen Threadripper PRO 5995WX 64-Cores", "AMD Ryzen Threadripper PRO 5995WX"},
        {"AMD Ryzen 7 5700G with Radeon Graphics", "AMD Ryzen 7 5700G"},
        {"AMD RYZEN AI MAX+ 395 w/ Radeon 8060S", "AMD RYZEN AI MAX+ 395"},
        {"AMD FX(tm)-8350 Eight-Core Processor", "AMD FX-8350"},
        {"AMD EPYC", "AMD EPYC"},
        {"QEMU Virtual CPU version 2.5+", "QEMU Virtual CPU version 2.5+"},
        {"Intel Xeon Processor (Skylake, IBRS)", "Intel Xeon Processor (Skylake, IBRS)"},
        {"(R)(TM)", ""},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char name[CPU_NAME_MAX];
        snprintf(name, sizeof name, "%s", rows[i][0]);
        cpu_name_clean(name);
        assert_string_equal(name, rows[i][1]);
    }
}

static void numbers_with_0x(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        unsigned value;
    } rows[] = {
        {"0x1002", true, 0x1002},
        {"0XfF", true, 0xff},
        {"0xffffffff", true, 0xffffffff},
        {"0x", false, 0},
        {"0x123456789", false, 0},
        {"1002", false, 0},
        {"0x10g", false, 0},
        {"", false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        unsigned value = 0;
        assert_int_equal(sysfile_parse_hex(rows[i].text, &value), rows[i].ok);
        assert_int_equal(value, rows[i].value);
    }
}

static int cpus_here(void)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static void a_desktop_with_an_nvidia_card(void **state)
{
    (void)state;
    struct tree t;
    struct machine m;
    struct utsname system;
    assert_int_equal(uname(&system), 0);
    unsetenv("FAKE_NVML");
    tree_from_file(&t, "ryzen_3090", module_path("TOKGRID_FAKE_NVML"));
    hardware_detect(&t.roots, &m);

    assert_string_equal(m.type, "DISCRETE_GPU");
    assert_string_equal(m.cpu, "AMD Ryzen 9 7900X");
    assert_int_equal(m.cpu_threads, 4);
    assert_int_equal(m.cpu_cores, 2);
    assert_int_equal(m.cpus_allowed, smaller(cpus_here(), 3)); /* 2.5 CPUs, set one group up */
    assert_int_equal(m.ram_bytes, INT64_C(32780992) * 1024);
    assert_string_equal(m.os, "Ubuntu 24.04.5 LTS");
    assert_string_equal(m.kernel, system.release);
    assert_string_equal(m.arch, system.machine);
    assert_string_equal(m.source, "detected on this machine");

    assert_int_equal(m.gpu_count, 1); /* not counted again from /sys */
    assert_string_equal(m.gpus[0].name, "NVIDIA GeForce RTX 3090");
    assert_string_equal(m.gpus[0].driver, "580.178.04");
    assert_string_equal(m.gpus[0].uuid, "GPU-11111111-2222-3333-4444-555555555555");
    assert_int_equal(m.gpus[0].vram_bytes, INT64_C(25769803776));
    assert_int_equal(m.gpus[0].pcie_gen, 3);
    assert_int_equal(m.gpus[0].pcie_width, 8);
    assert_int_equal(m.gpus[0].pcie_gen_max, 4);
    assert_int_equal(m.gpus[0].pcie_width_max, 16);
    assert_true(fabs(m.gpus[0].power_limit_w - 420) < 1e-9);
    assert_int_equal(m.gpus[0].clock_max_mhz, 2100);
    machine_release(&m);
    tree_remove(&t);
}

static void an_old_driver_has_other_names_and_less(void **state)
{
    (void)state;
    struct tree t;
    struct machine m;
    struct gpu_reading r;
    unsetenv("FAKE_NVML");
    tree_from_file(&t, "ryzen_3090", module_path("TOKGRID_FAKE_NVML_OLD"));
    hardware_detect(&t.roots, &m);
    assert_int_equal(m.gpu_count, 1);
    assert_true(fabs(m.gpus[0].power_limit_w - 350) < 1e-9);
    assert_int_equal(m.gpus[0].pcie_gen, 0);
    assert_int_equal(m.gpus[0].clock_max_mhz, 0);
    machine_release(&m);

    struct hardware_probe *p = hardware_probe_new(&t.roots);
    assert_non_null(p);
    assert_int_equal(hardware_probe_read(p, &r, 1), 1);
    assert_true(isnan(r.utilisation_pct));
    assert_true(r.throttled_hw);
    assert_true(r.throttled_thermal);
    assert_false(r.throttled_power);
    hardware_probe_free(p);
    tree_remove(&t);
}

static void nvidia_readings(void **state)
{
    (void)state;
    struct tree t;
    struct gpu_reading r[2];
    unsetenv("FAKE_NVML");
    tree_from_file(&t, "ryzen_3090", module_path("TOKGRID_FAKE_NVML"));
    struct hardware_probe *p = hardware_probe_new(&t.roots);
    assert_non_null(p);
    assert_int_equal(hardware_probe_read(p, r, 0), 0);
    assert_int_equal(hardware_probe_read(p, r, 2), 1);
    assert_true(fabs(r[0].power_w - 348.25) < 1e-9);
    assert_true(fabs(r[0].clock_mhz - 1695) < 1e-9);
    assert_true(fabs(r[0].temperature_c - 71) < 1e-9);
    assert_true(fabs(r[0].utilisation_pct - 98) < 1e-9);
    assert_true(fabs(r[0].memory_used_bytes - 21474836480.0) < 1);
    assert_false(r[0].throttled_hw);
    assert_false(r[0].throttled_thermal);
    assert_true(r[0].throttled_power);
    hardware_probe_free(p);
    tree_remove(&t);
}

static void a_library_without_driver_or_card_is_no_gpu(void **state)
{
    (void)state;
    static const char *const modes[] = {"no_driver", "no_card"};
    struct tree t;
    tree_from_file(&t, "ryzen_3090", module_path("TOKGRID_FAKE_NVML"));
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        struct machine m;
        setenv("FAKE_NVML", modes[i], 1);
        hardware_detect(&t.roots, &m);
        assert_int_equal(m.gpu_count, 0);
        assert_string_equal(m.type, "CPU_ONLY");
        machine_release(&m);
        assert_null(hardware_probe_new(&t.roots));
    }
    unsetenv("FAKE_NVML");
    tree_remove(&t);
}

static void an_arm_chip_with_shared_memory(void **state)
{
    (void)state;
    struct tree t;
    struct machine m;
    setenv("FAKE_NVML", "gb10", 1);
    tree_from_file(&t, "arm_gb10", module_path("TOKGRID_FAKE_NVML"));
    hardware_detect(&t.roots, &m);
    assert_string_equal(m.type, "UNIFIED");
    assert_string_equal(m.gpus[0].name, "NVIDIA ?[31mGB10"); /* nothing reaches the terminal raw */
    assert_int_equal(m.gpus[0].vram_bytes, 0);
    assert_string_equal(m.cpu, "ARM Cortex-A725 + ARM Cortex-X925");
    assert_int_equal(m.cpu_threads, 3);
    assert_int_equal(m.cpu_cores, 2);
    assert_int_equal(m.cpus_allowed, 1); /* half a CPU, rounded up */
    assert_null(m.os);
    machine_release(&m);
    unsetenv("FAKE_NVML");
    tree_remove(&t);
}

static void an_amd_card_behind_its_own_switch(void **state)
{
    (void)state;
    struct tree t;
    struct machine m;
    struct gpu_reading r;
    tree_from_file(&t, "radeon_7900xtx", no_library);
    hardware_detect(&t.roots, &m);
    assert_string_equal(m.type, "DISCRETE_GPU");
    assert_string_equal(m.cpu, "Intel Core i9-13900K");
    assert_int_equal(m.cpu_threads, 3);
    assert_int_equal(m.cpu_cores, 2);
    assert_int_equal(m.cpus_allowed, smaller(cpus_here(), 2)); /* version 1: 150 ms in 100 ms */
    assert_string_equal(m.os, "Fedora Linux 42");
    assert_int_equal(m.gpu_count, 1); /* the processor's own graphics are left out */
    assert_string_equal(m.gpus[0].name, "AMD Radeon RX 7900 XTX");
    assert_int_equal(m.gpus[0].vram_bytes, INT64_C(25753026560));
    assert_string_equal(m.gpus[0].driver, "6.12.12");
    assert_string_equal(m.gpus[0].uuid, "5a8b1c2d3e4f5061");
    assert_int_equal(m.gpus[0].pcie_gen, 3); /* the slot's link, not the chip's */
    assert_int_equal(m.gpus[0].pcie_width, 4);
    assert_int_equal(m.gpus[0].pcie_gen_max, 4);
    assert_int_equal(m.gpus[0].pcie_width_max, 16);
    assert_true(fabs(m.gpus[0].power_limit_w - 327) < 1e-9);
    assert_int_equal(m.gpus[0].clock_max_mhz, 2482);
    machine_release(&m);

    struct hardware_probe *p = hardware_probe_new(&t.roots);
    assert_non_null(p);
    assert_int_equal(hardware_probe_read(p, &r, 1), 1);
    assert_true(fabs(r.power_w - 291) < 1e-6);
    assert_true(fabs(r.clock_mhz - 2374) < 1e-6);
    assert_true(fabs(r.temperature_c - 61) < 1e-9);
    assert_true(fabs(r.utilisation_pct - 97) < 1e-9);
    assert_true(fabs(r.memory_used_bytes - 21474836480.0) < 1);
    hardware_probe_free(p);
    tree_remove(&t);
}

static void a_chip_with_a_large_shared_memory(void **state)
{
    (void)state;
    struct tree t;
    struct machine m;
    struct gpu_reading r;
    tree_from_file(&t, "strix_halo", no_library);
    hardware_detect(&t.roots, &m);
    assert_string_equal(m.type, "UNIFIED");
    assert_string_equal(m.cpu, "AMD RYZEN AI MAX+ 395");
    assert_string_equal(m.gpus[0].name, "AMD Strix Halo (Radeon 8000S)");
    assert_int_equal(m.gpus[0].vram_bytes, INT64_C(103079215104));
    machine_release(&m);
    struct hardware_probe *p = hardware_probe_new(&t.roots);
    assert_non_null(p);
    assert_int_equal(hardware_probe_read(p, &r, 1), 1);
    assert_true(fabs(r.power_w - 84) < 1e-6); /* power1_input, where there is no average */
    assert_true(isnan(r.clock_mhz));
    hardware_probe_free(p);
    tree_remove(&t);
}

static void cards_come_in_the_order_of_their_numbers(void **state)
{
    (void)state;
    struct tree t;
    struct machine m;
    tree_from_file(&t, "instinct", no_library);
    hardware_detect(&t.roots, &m);
    assert_int_equal(m.gpu_count, 3); /* unknown small and integrated ones left out */
    assert_string_equal(m.gpus[0].name, "Intel Arc B580");
    assert_true(fabs(m.gpus[0].power_limit_w - 190) < 1e-9);
    assert_int_equal(m.gpus[0].vram_bytes, 0);
    assert_string_equal(m.gpus[1].name, "AMD Instinct MI210");
    assert_string_equal(m.gpus[2].name, "AMD GPU 0x75a0");
    assert_null(m.gpus[2].driver);
    assert_string_equal(m.type, "DISCRETE_GPU");
    machine_release(&m);
    assert_null(hardware_probe_new(&t.roots)); /* no sensor anywhere */
    tree_remove(&t);
}

static const char strange_tree[] =
    "= proc/cpuinfo\n"
    "no colon here\n: : :\nprocessor\nprocessor : x\nprocessor : 0\n"
    "model name : \001\033[31mEvil\377 CPU\n"
    "core id : 99999999999999999999\nCPU part : 0x\n"
    "= proc/meminfo\nMemTotal: many kB\n"
    "= proc/self/cgroup\n::::\n0\n0::\n3:cpu:/x\n"
    "= sys/fs/cgroup/cpu.max\n-5 0\n"
    "= sys/fs/cgroup/cpu/cpu.cfs_quota_us\n-1\n"
    "= sys/fs/cgroup/cpu/cpu.cfs_period_us\n0\n"
    "= etc/os-release\nNAME=x\nPRETTY_NAME=\"A \\\"quoted\\\" \033]0;x\007 name\n"
    "= sys/class/drm/card0/device/vendor\n0xZZ\n"
    "= sys/class/drm/card1/device/vendor\n0x1002\n"
    "= sys/class/drm/card1/device/device\n0x744c\n"
    "= sys/class/drm/card1/device/revision\nc8\n"
    "= sys/class/drm/card1/device/mem_info_vram_total\n99999999999999999999999\n"
    "= sys/class/drm/card2/device/vendor\n0x1002\n"
    "= sys/class/drm/card2/device/device\n0x744c\n"
    "= sys/class/drm/card2/device/revision\n0xc8\n"
    "= sys/class/drm/card2/device/pp_dpm_sclk\n::::9999999999999999999999Mhz\n1: 5Ghz\n"
    "= sys/class/drm/card2/device/current_link_speed\nUnknown\n"
    "= sys/class/drm/card2/device/current_link_width\n255\n"
    "= sys/class/drm/card2/device/hwmon/hwmon1/power1_cap\n-1\n"
    "= sys/class/drm/card99999999999999999999/device/vendor\n0x1002\n";

static void strange_files_cost_facts_only(void **state)
{
    (void)state;
    struct tree t;
    struct machine m;
    char fifo[160];
    tree_from_text(&t, strange_tree, no_library);
    snprintf(fifo, sizeof fifo, "%s/class/drm/card2/device/product_name", t.sys);
    assert_int_equal(mkfifo(fifo, 0600), 0); /* opening it must not wait for a writer */
    snprintf(fifo, sizeof fifo, "%s/class/drm/card2/device/unique_id", t.sys);
    assert_int_equal(mkdir(fifo, 0700), 0);
    hardware_detect(&t.roots, &m);
    assert_string_equal(m.cpu, "??[31mEvil?");
    assert_int_equal(m.cpu_threads, 1);
    assert_int_equal(m.cpu_cores, 0);
    assert_int_equal(m.cpus_allowed, cpus_here());
    assert_int_equal(m.ram_bytes, 0);
    assert_string_equal(m.os, "A \"quoted\" ?]0;x? name");
    assert_int_equal(m.gpu_count, 1);
    assert_string_equal(m.gpus[0].name, "AMD Radeon RX 7900 XTX");
    assert_null(m.gpus[0].uuid);
    assert_int_equal(m.gpus[0].pcie_gen, 0);
    assert_int_equal(m.gpus[0].pcie_width, 0);
    assert_int_equal(m.gpus[0].clock_max_mhz, 0);
    assert_true(m.gpus[0].power_limit_w == 0);
    machine_release(&m);
    tree_remove(&t);
}

static void nothing_at_all_is_a_machine_too(void **state)
{
    (void)state;
    static const struct hardware_roots roots = {"/no/such", "/no/such", "/no/such", no_library};
    struct machine m;
    struct utsname system;
    char name[CPU_NAME_MAX];
    assert_int_equal(uname(&system), 0);
    snprintf(name, sizeof name, "%s CPU", system.machine);
    hardware_detect(&roots, &m);
    assert_string_equal(m.type, "CPU_ONLY");
    assert_string_equal(m.cpu, name);
    assert_int_equal(m.cpu_threads, 0);
    assert_int_equal(m.cpus_allowed, cpus_here());
    assert_null(m.os);
    machine_release(&m);
    assert_null(hardware_probe_new(&roots));
}

static void a_narrow_affinity_counts(void **state)
{
    (void)state;
    struct tree t;
    struct machine m;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &before))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    tree_from_file(&t, "ryzen_3090", no_library);
    hardware_detect(&t.roots, &m);
    assert_int_equal(m.cpus_allowed, 1);
    machine_release(&m);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    tree_remove(&t);
}

static void this_machine_has_a_processor_and_memory(void **state)
{
    (void)state;
    struct machine m;
    hardware_detect(NULL, &m);
    assert_non_null(m.cpu);
    assert_true(m.cpus_allowed >= 1);
    assert_true(m.ram_bytes > 64 << 20);
    machine_release(&m);
    hardware_probe_free(hardware_probe_new(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_names_lose_what_is_not_the_name),
        cmocka_unit_test(numbers_with_0x),
        cmocka_unit_test(a_desktop_with_an_nvidia_card),
        cmocka_unit_test(an_old_driver_has_other_names_and_less),
        cmocka_unit_test(nvidia_readings),
        cmocka_unit_test(a_library_without_driver_or_card_is_no_gpu),
        cmocka_unit_test(an_arm_chip_with_shared_memory),
        cmocka_unit_test(an_amd_card_behind_its_own_switch),
        cmocka_unit_test(a_chip_with_a_large_shared_memory),
        cmocka_unit_test(cards_come_in_the_order_of_their_numbers),
        cmocka_unit_test(strange_files_cost_facts_only),
        cmocka_unit_test(nothing_at_all_is_a_machine_too),
        cmocka_unit_test(a_narrow_affinity_counts),
        cmocka_unit_test(this_machine_has_a_processor_and_memory),
    };
    return cmocka_run_group_tests_name("hardware", tests, NULL, NULL);
}
