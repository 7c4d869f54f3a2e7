/* fake_nvml.c - a stand-in for libnvidia-ml.so.1: one card, or what FAKE_NVML in the environment
 * asks for. Built as a module for test_hardware; with OLD_DRIVER it has the names that drivers had
 * before, and lacks what they lacked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_SUPPORTED = 3, DRIVER_NOT_LOADED = 9 };

struct card {
    const char *name, *uuid;
    unsigned long long total, used;
};

static struct card cards[2] = {
    {"NVIDIA GeForce RTX 3090", "GPU-11111111-2222-3333-4444-555555555555", 25769803776ULL,
     21474836480ULL},
    {"NVIDIA \033[31mGB10", "GPU-0", 0, 0},
};
static int initialised;

#ifdef OLD_DRIVER
#define VERSIONED(name) name
#else
#define VERSIONED(name) name##_v2
#endif

/* The library's own prototypes are the module's interface; nothing else declares them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static int mode_is(const char *word)
{
    const char *mode = getenv("FAKE_NVML");
    return mode && strcmp(mode, word) == 0;
}

int VERSIONED(nvmlInit)(void)
{
    initialised++;
    return mode_is("no_driver") ? DRIVER_NOT_LOADED : 0;
}

int nvmlShutdown(void)
{
    if (initialised != 1)
        abort(); /* shut down without a successful start */
    initialised = 0;
    return 0;
}

int VERSIONED(nvmlDeviceGetCount)(unsigned *count)
{
    *count = mode_is("no_card") ? 0 : 1;
    return 0;
}

int VERSIONED(nvmlDeviceGetHandleByIndex)(unsigned index, struct card **ret)
{
    if (index != 0)
        abort();
    *ret = &cards[mode_is("gb10")];
    return 0;
}

static int text(char *out, unsigned size, const char *value)
{
    snprintf(out, size, "%s", value);
    return 0;
}

int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    return text(out, size, "580.178.04");
}

int nvmlDeviceGetName(struct card *card, char *out, unsigned size)
{
    return text(out, size, card->name);
}

int nvmlDeviceGetUUID(struct card *card, char *out, unsigned size)
{
    return text(out, size, card->uuid);
}

struct memory {
    unsigned long long total, free, used;
};

int nvmlDeviceGetMemoryInfo(struct card *card, struct memory *ret)
{
    if (card->total == 0)
        return NOT_SUPPORTED;
    *ret = (struct memory){card->total, card->total - card->used, card->used};
    return 0;
}

int nvmlDeviceGetPowerUsage(struct card *card, unsigned *milliwatts)
{
    (void)card;
    *milliwatts = 348250;
    return 0;
}

int nvmlDeviceGetTemperature(struct card *card, int sensor, unsigned *ret)
{
    (void)card;
    *ret = 71;
    return sensor == 0 ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetClockInfo(struct card *card, int type, unsigned *mhz)
{
    (void)card;
    *mhz = type == 1 ? 1695 : 405;
    return 0;
}

#ifdef OLD_DRIVER
int nvmlDeviceGetPowerManagementLimit(struct card *card, unsigned *milliwatts)
{
    (void)card;
    *milliwatts = 350000;
    return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(struct card *card, unsigned long long *ret)
{
    (void)card;
    *ret = 0x48; /* hardware slowdown, hardware thermal */
    return 0;
}
#else
int nvmlDeviceGetEnforcedPowerLimit(struct card *card, unsigned *milliwatts)
{
    (void)card;
    *milliwatts = 420000;
    return 0;
}

int nvmlDeviceGetCurrentClocksEventReasons(struct card *card, unsigned long long *ret)
{
    (void)card;
    *ret = 0x05; /* idle, software power cap */
    return 0;
}

struct utilization {
    unsigned gpu, memory;
};

int nvmlDeviceGetUtilizationRates(struct card *card, struct utilization *ret)
{
    (void)card;
    *ret = (struct utilization){98, 87};
    return 0;
}

int nvmlDeviceGetMaxClockInfo(struct card *card, int type, unsigned *mhz)
{
    (void)card;
    *mhz = type == 1 ? 2100 : 9751;
    return 0;
}

int nvmlDeviceGetCurrPcieLinkGeneration(struct card *card, unsigned *ret)
{
    (void)card;
    *ret = 3;
    return 0;
}

int nvmlDeviceGetMaxPcieLinkGeneration(struct card *card, unsigned *ret)
{
    (void)card;
    *ret = 4;
    return 0;
}

int nvmlDeviceGetCurrPcieLinkWidth(struct card *card, unsigned *ret)
{
    (void)card;
    *ret = 8;
    return 0;
}

int nvmlDeviceGetMaxPcieLinkWidth(struct card *card, unsigned *ret)
{
    (void)card;
    *ret = 16;
    return 0;
}
#endif
