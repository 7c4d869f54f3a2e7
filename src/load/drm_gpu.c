/* drm_gpu.c - /sys/class/drm/cardN/device and its hwmon folder, as the amdgpu, i915 and xe drivers
 * document them. The kernel knows no marketing names, so a table has those that run models. */
#include "load/drm_gpu.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

enum { VENDOR_AMD = 0x1002, VENDOR_INTEL = 0x8086, ANY_REVISION = 0x100 };

enum kind {
    DISCRETE,
    UNIFIED,    /* integrated, with a memory large enough for models */
    INTEGRATED, /* left out */
};

/* AMD sells several cards under one device number; the revision tells them apart. */
static const struct drm_model {
    unsigned vendor, device, revision;
    enum kind kind;
    const char *name;
} models[] = {
    {VENDOR_AMD, 0x66A1, 0x02, DISCRETE, "AMD Instinct MI50/MI60"},
    {VENDOR_AMD, 0x66A1, 0x06, DISCRETE, "AMD Radeon Pro VII"},
    {VENDOR_AMD, 0x66AF, 0xC1, DISCRETE, "AMD Radeon VII"},
    {VENDOR_AMD, 0x738C, ANY_REVISION, DISCRETE, "AMD Instinct MI100"},
    {VENDOR_AMD, 0x73A5, 0xC0, DISCRETE, "AMD Radeon RX 6950 XT"},
    {VENDOR_AMD, 0x73AF, 0xC0, DISCRETE, "AMD Radeon RX 6900 XT"},
    {VENDOR_AMD, 0x73BF, 0xC0, DISCRETE, "AMD Radeon RX 6900 XT"},
    {VENDOR_AMD, 0x73BF, 0xC1, DISCRETE, "AMD Radeon RX 6800 XT"},
    {VENDOR_AMD, 0x73BF, 0xC3, DISCRETE, "AMD Radeon RX 6800"},
    {VENDOR_AMD, 0x73DF, 0xC0, DISCRETE, "AMD Radeon RX 6750 XT"},
    {VENDOR_AMD, 0x73DF, 0xC1, DISCRETE, "AMD Radeon RX 6700 XT"},
    {VENDOR_AMD, 0x73DF, 0xC5, DISCRETE, "AMD Radeon RX 6700 XT"},
    {VENDOR_AMD, 0x73FF, 0xC1, DISCRETE, "AMD Radeon RX 6600 XT"},
    {VENDOR_AMD, 0x73FF, 0xC7, DISCRETE, "AMD Radeon RX 6600"},
    {VENDOR_AMD, 0x7408, ANY_REVISION, DISCRETE, "AMD Instinct MI250X"},
    {VENDOR_AMD, 0x740F, ANY_REVISION, DISCRETE, "AMD Instinct MI210"},
    {VENDOR_AMD, 0x7448, ANY_REVISION, DISCRETE, "AMD Radeon Pro W7900"},
    {VENDOR_AMD, 0x7449, ANY_REVISION, DISCRETE, "AMD Radeon Pro W7800 48GB"},
    {VENDOR_AMD, 0x744A, ANY_REVISION, DISCRETE, "AMD Radeon Pro W7900 Dual Slot"},
    {VENDOR_AMD, 0x744C, 0xC8, DISCRETE, "AMD Radeon RX 7900 XTX"},
    {VENDOR_AMD, 0x744C, 0xCC, DISCRETE, "AMD Radeon RX 7900 XT"},
    {VENDOR_AMD, 0x744C, 0xCE, DISCRETE, "AMD Radeon RX 7900 GRE"},
    {VENDOR_AMD, 0x744C, 0xCF, DISCRETE, "AMD Radeon RX 7900M"},
    {VENDOR_AMD, 0x745E, ANY_REVISION, DISCRETE, "AMD Radeon Pro W7800"},
    {VENDOR_AMD, 0x7470, ANY_REVISION, DISCRETE, "AMD Radeon Pro W7700"},
    {VENDOR_AMD, 0x747E, 0xC8, DISCRETE, "AMD Radeon RX 7800 XT"},
    {VENDOR_AMD, 0x747E, 0xDB, DISCRETE, "AMD Radeon RX 7700"},
    {VENDOR_AMD, 0x747E, 0xFF, DISCRETE, "AMD Radeon RX 7700 XT"},
    {VENDOR_AMD, 0x7480, 0xC0, DISCRETE, "AMD Radeon RX 7600 XT"},
    {VENDOR_AMD, 0x7480, 0xCF, DISCRETE, "AMD Radeon RX 7600"},
    {VENDOR_AMD, 0x74A0, ANY_REVISION, UNIFIED, "AMD Instinct MI300A"},
    {VENDOR_AMD, 0x74A1, ANY_REVISION, DISCRETE, "AMD Instinct MI300X"},
    {VENDOR_AMD, 0x74A5, ANY_REVISION, DISCRETE, "AMD Instinct MI325X"},
    {VENDOR_AMD, 0x7550, 0xC0, DISCRETE, "AMD Radeon RX 9070 XT"},
    {VENDOR_AMD, 0x7550, 0xC2, DISCRETE, "AMD Radeon RX 9070 GRE"},
    {VENDOR_AMD, 0x7550, 0xC3, DISCRETE, "AMD Radeon RX 9070"},
    {VENDOR_AMD, 0x7551, 0xC0, DISCRETE, "AMD Radeon AI Pro R9700"},
    {VENDOR_AMD, 0x7590, 0xC0, DISCRETE, "AMD Radeon RX 9060 XT"},
    {VENDOR_AMD, 0x7590, 0xC7, DISCRETE, "AMD Radeon RX 9060"},
    {VENDOR_AMD, 0x1586, ANY_REVISION, UNIFIED, "AMD Strix Halo (Radeon 8000S)"},
    {VENDOR_AMD, 0x13C0, ANY_REVISION, INTEGRATED, "Granite Ridge"},
    {VENDOR_AMD, 0x150E, ANY_REVISION, INTEGRATED, "Strix Point"},
    {VENDOR_AMD, 0x1506, ANY_REVISION, INTEGRATED, "Mendocino"},
    {VENDOR_AMD, 0x15BF, ANY_REVISION, INTEGRATED, "Phoenix"},
    {VENDOR_AMD, 0x15C8, ANY_REVISION, INTEGRATED, "Phoenix 2"},
    {VENDOR_AMD, 0x15D8, ANY_REVISION, INTEGRATED, "Picasso"},
    {VENDOR_AMD, 0x15DD, ANY_REVISION, INTEGRATED, "Raven"},
    {VENDOR_AMD, 0x1636, ANY_REVISION, INTEGRATED, "Renoir"},
    {VENDOR_AMD, 0x1638, ANY_REVISION, INTEGRATED, "Cezanne"},
    {VENDOR_AMD, 0x163F, ANY_REVISION, INTEGRATED, "Van Gogh"},
    {VENDOR_AMD, 0x164C, ANY_REVISION, INTEGRATED, "Lucienne"},
    {VENDOR_AMD, 0x164E, ANY_REVISION, INTEGRATED, "Raphael"},
    {VENDOR_AMD, 0x1681, ANY_REVISION, INTEGRATED, "Rembrandt"},
    {VENDOR_AMD, 0x1900, ANY_REVISION, INTEGRATED, "Hawk Point"},
    {VENDOR_INTEL, 0x56A0, ANY_REVISION, DISCRETE, "Intel Arc A770"},
    {VENDOR_INTEL, 0x56A1, ANY_REVISION, DISCRETE, "Intel Arc A750"},
    {VENDOR_INTEL, 0x56A2, ANY_REVISION, DISCRETE, "Intel Arc A580"},
    {VENDOR_INTEL, 0x56A5, ANY_REVISION, DISCRETE, "Intel Arc A380"},
    {VENDOR_INTEL, 0xE20B, ANY_REVISION, DISCRETE, "Intel Arc B580"},
    {VENDOR_INTEL, 0xE20C, ANY_REVISION, DISCRETE, "Intel Arc B570"},
};

/* An AMD chip that the table lacks is taken for integrated graphics below this much memory. */
static const int64_t least_vram_bytes = INT64_C(4) << 30;

static const struct drm_model *find_model(unsigned vendor, unsigned device, unsigned revision)
{
    for (size_t i = 0; i < ARRAY_LEN(models); i++)
        if (models[i].vendor == vendor && models[i].device == device &&
            (models[i].revision == ANY_REVISION || models[i].revision == revision))
            return &models[i];
    return NULL;
}

static void find_hwmon(struct drm_gpu *g)
{
    char path[SYSFILE_PATH_MAX];
    snprintf(path, sizeof path, "%s/hwmon", g->device);
    DIR *dir = opendir(path);
    if (!dir)
        return;
    for (struct dirent *e = readdir(dir); e && !g->hwmon[0]; e = readdir(dir)) {
        int n = snprintf(path, sizeof path, "%s/hwmon/%s", g->device, e->d_name);
        if (text_starts(e->d_name, "hwmon") && n < (int)sizeof g->hwmon)
            memcpy(g->hwmon, path, (size_t)n + 1);
    }
    closedir(dir);
}

/* True when this card counts; fills *ret. */
static bool examine(const char *sys, int card, struct drm_gpu *ret)
{
    unsigned vendor, device, revision = 0;
    int64_t vram = 0;
    char path[SYSFILE_PATH_MAX], real[PATH_MAX];

    *ret = (struct drm_gpu){0};
    snprintf(path, sizeof path, "%s/class/drm/card%d/device", sys, card);
    if (!realpath(path, real) || strlen(real) >= sizeof ret->device)
        return false;
    memcpy(ret->device, real, strlen(real) + 1);
    if (!sysfile_hex(&vendor, "%s/vendor", ret->device) ||
        !sysfile_hex(&device, "%s/device", ret->device))
        return false;
    if (!sysfile_hex(&revision, "%s/revision", ret->device))
        revision = ANY_REVISION;
    ret->model = find_model(vendor, device, revision);
    ret->is_amd = vendor == VENDOR_AMD;
    ret->unified = ret->model && ret->model->kind == UNIFIED;
    find_hwmon(ret);
    if (ret->model)
        return ret->model->kind != INTEGRATED;
    return ret->is_amd && sysfile_i64(&vram, "%s/mem_info_vram_total", ret->device) &&
           vram >= least_vram_bytes;
}

static int compare_ints(const void *a, const void *b)
{
    int x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* The N of every cardN; connectors ("card0-DP-1") and render nodes are not cards. */
static size_t card_numbers(const char *sys, int *out, size_t max)
{
    char path[SYSFILE_PATH_MAX];
    size_t count = 0;
    snprintf(path, sizeof path, "%s/class/drm", sys);
    DIR *dir = opendir(path);
    if (!dir)
        return 0;
    for (struct dirent *e = readdir(dir); e && count < max; e = readdir(dir)) {
        int64_t n;
        if (text_starts(e->d_name, "card") && isdigit((unsigned char)e->d_name[4]) &&
            num_parse_i64(e->d_name + 4, &n) && n < 10000)
            out[count++] = (int)n;
    }
    closedir(dir);
    qsort(out, count, sizeof *out, compare_ints);
    return count;
}

size_t drm_gpu_find(const char *sys, struct drm_gpu *out, size_t max)
{
    int cards[64];
    size_t card_count = card_numbers(sys, cards, ARRAY_LEN(cards)), found = 0;
    for (size_t i = 0; i < card_count && found < max; i++)
        if (examine(sys, cards[i], &out[found]))
            found++;
    return found;
}

static char *card_name(const struct drm_gpu *g)
{
    char line[SYSFILE_LINE_MAX], name[SYSFILE_LINE_MAX + 8];
    unsigned device = 0;
    if (sysfile_line(line, "%s/product_name", g->device)) {
        snprintf(name, sizeof name, "%s%s", text_find_nocase(line, "AMD") ? "" : "AMD ", line);
        return mem_strdup(name);
    }
    if (g->model)
        return mem_strdup(g->model->name);
    if (!sysfile_hex(&device, "%s/device", g->device))
        return mem_strdup("AMD GPU");
    snprintf(name, sizeof name, "AMD GPU 0x%04x", device);
    return mem_strdup(name);
}

/* "16.0 GT/s PCIe" -> 4. */
static int link_generation(const char *folder, const char *attribute)
{
    static const struct {
        const char *rate;
        int generation;
    } rates[] = {{"2.5 ", 1}, {"5", 2}, {"8", 3}, {"16", 4}, {"32", 5}, {"64", 6}};
    char line[SYSFILE_LINE_MAX];
    if (!sysfile_line(line, "%s/%s", folder, attribute))
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
        size_t n = strlen(rates[i].rate);
        if (strncmp(line, rates[i].rate, n) == 0 && !isdigit((unsigned char)line[n]))
            return rates[i].generation;
    }
    return 0;
}

static int link_width(const char *folder, const char *attribute)
{
    int64_t width;
    return sysfile_i64(&width, "%s/%s", folder, attribute) && width > 0 && width <= 32 ? (int)width
                                                                                       : 0;
}

/* Newer AMD cards carry a PCIe switch of their own, and the chip's link is the one to that switch.
 * The link to the slot is that of the outermost bridge made by the same vendor. */
static void describe_link(const struct drm_gpu *g, struct gpu *ret)
{
    char folder[sizeof g->device];
    memcpy(folder, g->device, sizeof folder);
    for (;;) {
        unsigned vendor;
        char *slash = strrchr(folder, '/');
        if (!slash || slash == folder)
            break;
        *slash = '\0';
        if (!sysfile_hex(&vendor, "%s/vendor", folder) || vendor != VENDOR_AMD) {
            *slash = '/';
            break;
        }
    }
    ret->pcie_gen = link_generation(folder, "current_link_speed");
    ret->pcie_gen_max = link_generation(folder, "max_link_speed");
    ret->pcie_width = link_width(folder, "current_link_width");
    ret->pcie_width_max = link_width(folder, "max_link_width");
}

/* pp_dpm_sclk has a line for each level, "1: 2482Mhz *"; the last is the highest. */
static int clock_max_mhz(const struct drm_gpu *g)
{
    struct buf text;
    int64_t best = 0;
    buf_init(&text, 4096);
    if (sysfile_read(&text, "%s/pp_dpm_sclk", g->device)) {
        for (const char *p = strchr(text.p, ':'); p; p = strchr(p + 1, ':')) {
            char digits[12] = "";
            int64_t mhz;
            const char *number = p + 1 + strspn(p + 1, " ");
            size_t n = strspn(number, "0123456789");
            if (n >= sizeof digits || strncasecmp(number + n, "mhz", 3) != 0)
                continue;
            memcpy(digits, number, n);
            if (num_parse_i64(digits, &mhz) && mhz > best && mhz < 1000000)
                best = mhz;
        }
    }
    buf_release(&text);
    return (int)best;
}

void drm_gpu_describe(const struct drm_gpu *g, const char *sys, struct gpu *ret)
{
    char line[SYSFILE_LINE_MAX];
    int64_t value;

    *ret = (struct gpu){.name = card_name(g)};
    if (g->hwmon[0] &&
        sysfile_i64(&value, g->is_amd ? "%s/power1_cap" : "%s/power1_max", g->hwmon) && value > 0)
        ret->power_limit_w = (double)value / 1e6; /* microwatts */
    if (!g->is_amd)
        return;
    if (sysfile_i64(&value, "%s/mem_info_vram_total", g->device) && value > 0)
        ret->vram_bytes = value;
    if (sysfile_line(line, "%s/module/amdgpu/version", sys)) /* only where it was built apart */
        ret->driver = mem_strdup(line);
    if (sysfile_line(line, "%s/unique_id", g->device))
        ret->uuid = mem_strdup(line);
    ret->clock_max_mhz = clock_max_mhz(g);
    describe_link(g, ret);
}

static double value_or_nan(const char *folder, const char *attribute, double scale)
{
    int64_t value;
    return folder[0] && sysfile_i64(&value, "%s/%s", folder, attribute) ? (double)value * scale
                                                                        : NAN;
}

bool drm_gpu_can_read(const struct drm_gpu *g)
{
    struct gpu_reading r;
    if (!g->is_amd)
        return false;
    drm_gpu_read(g, &r);
    return !isnan(r.power_w) || !isnan(r.clock_mhz) || !isnan(r.temperature_c) ||
           !isnan(r.utilisation_pct);
}

void drm_gpu_read(const struct drm_gpu *g, struct gpu_reading *ret)
{
    *ret = (struct gpu_reading){
        .power_w = value_or_nan(g->hwmon, "power1_average", 1e-6), /* microwatts */
        .clock_mhz = value_or_nan(g->hwmon, "freq1_input", 1e-6),  /* hertz */
        .temperature_c = value_or_nan(g->hwmon, "temp1_input", 1e-3),
        .utilisation_pct = value_or_nan(g->device, "gpu_busy_percent", 1),
        .memory_used_bytes = value_or_nan(g->device, "mem_info_vram_used", 1),
    };
    if (isnan(ret->power_w))
        ret->power_w = value_or_nan(g->hwmon, "power1_input", 1e-6);
}
