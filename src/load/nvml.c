/* nvml.c - a table of symbols fills a struct of function pointers; every call checks its pointer.
 */
#include "load/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/library.h"
#include "base/mem.h"
#include "base/text.h"

/* From the NVML API reference. All functions return 0 for success. */
typedef struct nvml_device *nvml_device; /* opaque, owned by the library */

enum { NVML_CLOCK_SM = 1, NVML_TEMPERATURE_GPU = 0, NVML_TEXT_MAX = 96 };

struct nvml_memory {
    unsigned long long total, free, used; /* bytes */
};

struct nvml_utilization {
    unsigned gpu, memory; /* per cent */
};

/* Why the clocks are lower than they could be (a set of bits). */
enum {
    REASON_SW_POWER_CAP = 0x04,
    REASON_HW_SLOWDOWN = 0x08,
    REASON_SW_THERMAL = 0x20,
    REASON_HW_THERMAL = 0x40,
    REASON_HW_POWER_BRAKE = 0x80,
};

typedef int get_unsigned(nvml_device, unsigned *);

struct nvml {
    void *library;
    nvml_device devices[MACHINE_MAX_GPUS];
    size_t count;
    int (*init)(void);
    int (*shutdown)(void);
    int (*driver_version)(char *, unsigned);
    int (*device_count)(unsigned *);
    int (*device)(unsigned, nvml_device *);
    int (*name)(nvml_device, char *, unsigned);
    int (*uuid)(nvml_device, char *, unsigned);
    int (*memory)(nvml_device, struct nvml_memory *);
    int (*utilization)(nvml_device, struct nvml_utilization *);
    int (*temperature)(nvml_device, int, unsigned *);
    int (*clock)(nvml_device, int, unsigned *);
    int (*clock_max)(nvml_device, int, unsigned *);
    int (*reasons)(nvml_device, unsigned long long *);
    get_unsigned *power_mw, *power_limit_mw;
    get_unsigned *pcie_gen, *pcie_width, *pcie_gen_max, *pcie_width_max;
};

static const struct library_call calls[] = {
    {offsetof(struct nvml, init), "nvmlInit_v2", "nvmlInit"},
    {offsetof(struct nvml, shutdown), "nvmlShutdown", NULL},
    {offsetof(struct nvml, driver_version), "nvmlSystemGetDriverVersion", NULL},
    {offsetof(struct nvml, device_count), "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"},
    {offsetof(struct nvml, device), "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"},
    {offsetof(struct nvml, name), "nvmlDeviceGetName", NULL},
    {offsetof(struct nvml, uuid), "nvmlDeviceGetUUID", NULL},
    {offsetof(struct nvml, memory), "nvmlDeviceGetMemoryInfo", NULL},
    {offsetof(struct nvml, utilization), "nvmlDeviceGetUtilizationRates", NULL},
    {offsetof(struct nvml, temperature), "nvmlDeviceGetTemperature", NULL},
    {offsetof(struct nvml, clock), "nvmlDeviceGetClockInfo", NULL},
    {offsetof(struct nvml, clock_max), "nvmlDeviceGetMaxClockInfo", NULL},
    {offsetof(struct nvml, reasons), "nvmlDeviceGetCurrentClocksEventReasons",
     "nvmlDeviceGetCurrentClocksThrottleReasons"},
    {offsetof(struct nvml, power_mw), "nvmlDeviceGetPowerUsage", NULL},
    {offsetof(struct nvml, power_limit_mw), "nvmlDeviceGetEnforcedPowerLimit",
     "nvmlDeviceGetPowerManagementLimit"},
    {offsetof(struct nvml, pcie_gen), "nvmlDeviceGetCurrPcieLinkGeneration", NULL},
    {offsetof(struct nvml, pcie_width), "nvmlDeviceGetCurrPcieLinkWidth", NULL},
    {offsetof(struct nvml, pcie_gen_max), "nvmlDeviceGetMaxPcieLinkGeneration", NULL},
    {offsetof(struct nvml, pcie_width_max), "nvmlDeviceGetMaxPcieLinkWidth", NULL},
};

struct nvml *nvml_open(const char *library)
{
    struct nvml *n = mem_alloc(sizeof *n);
    n->library = library_open(library, calls, ARRAY_LEN(calls), n);
    if (!n->library) {
        free(n);
        return NULL;
    }
    if (!n->init || !n->device_count || !n->device || n->init() != 0) {
        n->shutdown = NULL; /* nothing was initialised */
        nvml_close(n);
        return NULL;
    }
    unsigned count = 0;
    if (n->device_count(&count) != 0)
        count = 0;
    for (unsigned i = 0; i < count && n->count < MACHINE_MAX_GPUS; i++)
        if (n->device(i, &n->devices[n->count]) == 0)
            n->count++;
    if (n->count == 0) {
        nvml_close(n);
        return NULL;
    }
    return n;
}

void nvml_close(struct nvml *n)
{
    if (!n)
        return;
    if (n->shutdown)
        n->shutdown();
    dlclose(n->library);
    free(n);
}

size_t nvml_count(const struct nvml *n)
{
    return n->count;
}

static double unsigned_or_nan(get_unsigned *get, nvml_device device, double scale)
{
    unsigned value;
    return get && get(device, &value) == 0 ? value * scale : NAN;
}

static int unsigned_or_zero(get_unsigned *get, nvml_device device)
{
    double value = unsigned_or_nan(get, device, 1);
    return value < 1e6 ? (int)value : 0; /* NAN compares false */
}

static char *printable_dup(char *text)
{
    char clean[NVML_TEXT_MAX];
    text[NVML_TEXT_MAX - 1] = '\0';
    return text_printable(clean, sizeof clean, text, strlen(text)) > 0 ? mem_strdup(clean) : NULL;
}

static char *device_text(int (*get)(nvml_device, char *, unsigned), nvml_device device)
{
    char text[NVML_TEXT_MAX] = "";
    return get && get(device, text, sizeof text) == 0 ? printable_dup(text) : NULL;
}

void nvml_describe(const struct nvml *n, size_t i, struct gpu *ret)
{
    nvml_device device = n->devices[i];
    struct nvml_memory memory = {0};
    char driver[NVML_TEXT_MAX] = "";
    unsigned clock;
    double limit_w = unsigned_or_nan(n->power_limit_mw, device, 1e-3);

    *ret = (struct gpu){
        .name = device_text(n->name, device),
        .uuid = device_text(n->uuid, device),
        .pcie_gen = unsigned_or_zero(n->pcie_gen, device),
        .pcie_width = unsigned_or_zero(n->pcie_width, device),
        .pcie_gen_max = unsigned_or_zero(n->pcie_gen_max, device),
        .pcie_width_max = unsigned_or_zero(n->pcie_width_max, device),
        .power_limit_w = isnan(limit_w) ? 0 : limit_w,
    };
    if (!ret->name)
        ret->name = mem_strdup("NVIDIA GPU");
    if (n->driver_version && n->driver_version(driver, sizeof driver) == 0)
        ret->driver = printable_dup(driver);
    if (n->memory && n->memory(device, &memory) == 0 && memory.total <= INT64_MAX)
        ret->vram_bytes = (int64_t)memory.total;
    if (n->clock_max && n->clock_max(device, NVML_CLOCK_SM, &clock) == 0 && clock < 1000000)
        ret->clock_max_mhz = (int)clock;
}

void nvml_read(const struct nvml *n, size_t i, struct gpu_reading *ret)
{
    nvml_device device = n->devices[i];
    struct nvml_memory memory;
    struct nvml_utilization use;
    unsigned value;
    unsigned long long reasons = 0;

    *ret = (struct gpu_reading){
        .power_w = unsigned_or_nan(n->power_mw, device, 1e-3),
        .clock_mhz = NAN,
        .temperature_c = NAN,
        .utilisation_pct = NAN,
        .memory_used_bytes = NAN,
    };
    if (n->clock && n->clock(device, NVML_CLOCK_SM, &value) == 0)
        ret->clock_mhz = value;
    if (n->temperature && n->temperature(device, NVML_TEMPERATURE_GPU, &value) == 0)
        ret->temperature_c = value;
    if (n->utilization && n->utilization(device, &use) == 0)
        ret->utilisation_pct = use.gpu;
    if (n->memory && n->memory(device, &memory) == 0)
        ret->memory_used_bytes = (double)memory.used;
    if (n->reasons && n->reasons(device, &reasons) != 0)
        reasons = 0;
    ret->throttled_hw = reasons & (REASON_HW_SLOWDOWN | REASON_HW_THERMAL | REASON_HW_POWER_BRAKE);
    ret->throttled_thermal = reasons & (REASON_SW_THERMAL | REASON_HW_THERMAL);
    ret->throttled_power = reasons & (REASON_SW_POWER_CAP | REASON_HW_POWER_BRAKE);
}
