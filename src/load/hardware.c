/* hardware.c - asks each source for its facts and puts them into one struct machine. */
#include "load/hardware.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "load/cpu_info.h"
#include "load/drm_gpu.h"
#include "load/nvml.h"
#include "load/sysfile.h"

static struct hardware_roots real_places(const struct hardware_roots *roots)
{
    static const struct hardware_roots none;
    const struct hardware_roots *r = roots ? roots : &none;
    return (struct hardware_roots){
        .proc = r->proc ? r->proc : "/proc",
        .sys = r->sys ? r->sys : "/sys",
        .etc = r->etc ? r->etc : "/etc",
        .nvml = r->nvml ? r->nvml : "libnvidia-ml.so.1",
    };
}

/* Where cpuinfo has no core numbers (arm64): a core is counted at the first of its threads. */
static int cores_by_siblings(const char *sys, int threads)
{
    int cores = 0;
    for (int i = 0; i < threads; i++) {
        char line[SYSFILE_LINE_MAX], first[SYSFILE_LINE_MAX];
        if (!sysfile_line(line, "%s/devices/system/cpu/cpu%d/topology/thread_siblings_list", sys,
                          i))
            return 0;
        snprintf(first, sizeof first, "%d", i);
        cores += strcspn(line, ",-") == strlen(first) && text_starts(line, first);
    }
    return cores;
}

static void detect_cpu(const struct hardware_roots *at, struct machine *ret)
{
    enum { CPUINFO_MAX = 16 << 20 }; /* 2 KB for each of thousands of threads */
    struct cpu_info info = {0};
    struct buf text;

    buf_init(&text, CPUINFO_MAX);
    if (sysfile_read(&text, "%s/cpuinfo", at->proc))
        cpu_info_parse(text.p, &info);
    buf_release(&text);
    if (!info.name[0] && ret->arch)
        snprintf(info.name, sizeof info.name, "%s CPU", ret->arch);
    if (info.cores == 0)
        info.cores = cores_by_siblings(at->sys, info.threads);
    ret->cpu = info.name[0] ? mem_strdup(info.name) : NULL;
    ret->cpu_threads = info.threads;
    ret->cpu_cores = info.cores;
}

/* CPUs in this process's affinity mask; 0 when the kernel does not say. */
static int affinity_count(void)
{
    for (int cpus = 1024; cpus <= 65536; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        size_t size = CPU_ALLOC_SIZE((size_t)cpus);
        int count = 0;
        if (!set)
            return 0;
        if (sched_getaffinity(0, size, set) == 0)
            count = CPU_COUNT_S(size, set);
        CPU_FREE(set);
        if (count > 0)
            return count;
    }
    return 0;
}

/* quota and period in microseconds -> CPUs, rounded up; 0 when there is no limit. */
static int quota_cpus(const char *quota_text, const char *period_text)
{
    int64_t quota, period;
    if (!num_parse_i64(quota_text, &quota) || !num_parse_i64(period_text, &period) || quota <= 0 ||
        period <= 0 || quota / period > 65536)
        return 0;
    return (int)((quota + period - 1) / period);
}

/* One control group's own limit: version 2 has one file, version 1 two. */
static int group_cpus(const char *folder)
{
    char line[SYSFILE_LINE_MAX], period[SYSFILE_LINE_MAX];
    if (sysfile_line(line, "%s/cpu.max", folder)) {
        char *space = strchr(line, ' ');
        if (!space)
            return 0;
        *space = '\0';
        return quota_cpus(line, space + 1);
    }
    if (sysfile_line(line, "%s/cpu.cfs_quota_us", folder) &&
        sysfile_line(period, "%s/cpu.cfs_period_us", folder))
        return quota_cpus(line, period);
    return 0;
}

static int smaller_limit(int a, int b)
{
    return a == 0 || (b > 0 && b < a) ? b : a;
}

/* The tightest limit on the way from a group up to the root of its hierarchy. */
static int hierarchy_cpus(const char *mount, const char *group)
{
    char folder[SYSFILE_PATH_MAX];
    size_t root = strlen(mount);
    int limit = 0;

    /* A container may see a group path of its host, which does not exist inside; the walk still
     * ends at the root, and that is the container's own group. */
    if (strstr(group, "..") ||
        snprintf(folder, sizeof folder, "%s%s", mount, group) >= (int)sizeof folder)
        return group_cpus(mount);
    for (;;) {
        limit = smaller_limit(limit, group_cpus(folder));
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < root)
            return limit;
        *slash = '\0';
    }
}

/* A line of /proc/self/cgroup is "number:controllers:path"; version 2 has no controllers. */
static int line_cpus(const char *sys, char *line)
{
    static const char *const version_1[] = {"cpu", "cpu,cpuacct", "cpuacct,cpu"};
    char mount[SYSFILE_PATH_MAX];
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    int limit = 0;

    if (!path)
        return 0;
    *path++ = '\0';
    controllers++;
    if (!*controllers) {
        snprintf(mount, sizeof mount, "%s/fs/cgroup", sys);
        limit = hierarchy_cpus(mount, path);
        snprintf(mount, sizeof mount, "%s/fs/cgroup/unified", sys);
        return smaller_limit(limit, hierarchy_cpus(mount, path));
    }
    for (size_t i = 0; i < ARRAY_LEN(version_1); i++) {
        if (strcmp(controllers, version_1[i]) != 0)
            continue;
        snprintf(mount, sizeof mount, "%s/fs/cgroup/%s", sys, version_1[i]);
        limit = hierarchy_cpus(mount, path);
    }
    return limit;
}

static int cgroup_cpus(const struct hardware_roots *at)
{
    struct buf text;
    int limit = 0;

    buf_init(&text, 64 << 10);
    if (sysfile_read(&text, "%s/self/cgroup", at->proc)) {
        for (char *line = text.p; *line;) {
            size_t n = strcspn(line, "\n");
            bool last = !line[n];
            line[n] = '\0';
            limit = smaller_limit(limit, line_cpus(at->sys, line));
            line += n + !last;
        }
    }
    buf_release(&text);
    return limit;
}

/* "MemTotal:       32780992 kB" */
static int64_t total_memory(const char *proc)
{
    char line[SYSFILE_LINE_MAX];
    int64_t kilobytes;
    if (!sysfile_line(line, "%s/meminfo", proc) || !text_starts(line, "MemTotal:"))
        return 0;
    char *number = line + strlen("MemTotal:");
    number += strspn(number, " ");
    number[strcspn(number, " ")] = '\0';
    if (!num_parse_i64(number, &kilobytes) || kilobytes < 0 || kilobytes > INT64_MAX / 1024)
        return 0;
    return kilobytes * 1024;
}

/* The value of a shell assignment as os-release(5) allows it: bare, 'single' or "double" quoted
 * with backslashes. Written over itself; ends at the line's end. */
static char *shell_value(char *s)
{
    char quote = *s == '"' || *s == '\'' ? *s++ : '\0';
    char *out = s;
    for (const char *p = s; *p && *p != '\n' && *p != quote; p++) {
        if (*p == '\\' && quote == '"' && p[1] && p[1] != '\n')
            p++;
        *out++ = *p;
    }
    *out = '\0';
    return s;
}

static char *os_name_dup(const char *etc)
{
    static const char key[] = "PRETTY_NAME=";
    struct buf text;
    char clean[SYSFILE_LINE_MAX], *name = NULL;

    buf_init(&text, 64 << 10);
    if (sysfile_read(&text, "%s/os-release", etc)) {
        char *line = text.p;
        while (line && !text_starts(line, key)) {
            line = strchr(line, '\n');
            line += line != NULL;
        }
        if (line) {
            const char *value = shell_value(line + strlen(key));
            if (text_printable(clean, sizeof clean, value, strlen(value)) > 0)
                name = mem_strdup(clean);
        }
    }
    buf_release(&text);
    return name;
}

/* NVIDIA's chips that share their memory with the processor. (Grace Hopper and Grace Blackwell
 * servers do not: their GPUs have a memory of their own.) */
static bool is_unified_name(const char *name)
{
    static const char *const words[] = {"GB10", "Jetson", "Orin", "Thor", "Xavier", "Tegra"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        const char *found = strstr(name, words[i]);
        char after = found ? found[strlen(words[i])] : '0';
        if (after < '0' || after > '9') /* GB100 is not GB10 */
            return true;
    }
    return false;
}

static void detect_gpus(const struct hardware_roots *at, struct machine *ret)
{
    struct drm_gpu cards[MACHINE_MAX_GPUS];
    bool all_unified = true;
    struct nvml *nvml = nvml_open(at->nvml);

    for (size_t i = 0; nvml && i < nvml_count(nvml); i++) {
        struct gpu *gpu = &ret->gpus[ret->gpu_count++];
        nvml_describe(nvml, i, gpu);
        all_unified = all_unified && is_unified_name(gpu->name);
    }
    nvml_close(nvml);
    size_t card_count = drm_gpu_find(at->sys, cards, (size_t)(MACHINE_MAX_GPUS - ret->gpu_count));
    for (size_t i = 0; i < card_count; i++) {
        drm_gpu_describe(&cards[i], at->sys, &ret->gpus[ret->gpu_count++]);
        all_unified = all_unified && cards[i].unified;
    }
    ret->type = mem_strdup(ret->gpu_count == 0 ? "CPU_ONLY"
                           : all_unified       ? "UNIFIED"
                                               : "DISCRETE_GPU");
}

void hardware_detect(const struct hardware_roots *roots, struct machine *ret)
{
    struct hardware_roots at = real_places(roots);
    struct utsname system;

    *ret = (struct machine){.source = mem_strdup("detected on this machine")};
    if (uname(&system) == 0) {
        ret->kernel = mem_strdup(system.release);
        ret->arch = mem_strdup(system.machine);
    }
    detect_cpu(&at, ret);
    ret->cpus_allowed = smaller_limit(affinity_count(), cgroup_cpus(&at));
    ret->ram_bytes = total_memory(at.proc);
    ret->os = os_name_dup(at.etc);
    detect_gpus(&at, ret);
}

struct hardware_probe {
    struct nvml *nvml; /* or NULL */
    struct drm_gpu cards[MACHINE_MAX_GPUS];
    size_t card_count;
};

struct hardware_probe *hardware_probe_new(const struct hardware_roots *roots)
{
    struct hardware_roots at = real_places(roots);
    struct hardware_probe *p = mem_alloc(sizeof *p);

    p->nvml = nvml_open(at.nvml);
    size_t room = MACHINE_MAX_GPUS - (p->nvml ? nvml_count(p->nvml) : 0);
    p->card_count = drm_gpu_find(at.sys, p->cards, room);
    bool readable = p->nvml != NULL;
    for (size_t i = 0; i < p->card_count; i++)
        readable = readable || drm_gpu_can_read(&p->cards[i]);
    if (readable)
        return p;
    hardware_probe_free(p);
    return NULL;
}

void hardware_probe_free(struct hardware_probe *p)
{
    if (!p)
        return;
    nvml_close(p->nvml);
    free(p);
}

size_t hardware_probe_read(struct hardware_probe *p, struct gpu_reading *out, size_t max)
{
    size_t count = 0;
    for (size_t i = 0; p->nvml && i < nvml_count(p->nvml) && count < max; i++)
        nvml_read(p->nvml, i, &out[count++]);
    for (size_t i = 0; i < p->card_count && count < max; i++)
        drm_gpu_read(&p->cards[i], &out[count++]);
    return count;
}
