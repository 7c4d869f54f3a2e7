/* gpu_bandwidth.c - a table of cards that run models. */
#include "model/gpu_bandwidth.h"

#include <math.h>
#include <strings.h>

#include "base/text.h"

#define GB 1e9

/* The name without vendor and family. Where one name was sold with several memories, `vram_gb`
 * tells which; 0: any. Left out for that reason, because nothing tells: RTX 3060 Ti, RTX 4070. */
static const struct {
    const char *name;
    int vram_gb, gb_s;
} cards[] = {
    {"RTX 2080 Ti", 0, 616},
    {"RTX 3060", 12, 360},
    {"RTX 3060", 8, 240},
    {"RTX 3070", 0, 448},
    {"RTX 3070 Ti", 0, 608},
    {"RTX 3080", 10, 760},
    {"RTX 3080", 12, 912},
    {"RTX 3080 Ti", 0, 912},
    {"RTX 3090", 0, 936},
    {"RTX 3090 Ti", 0, 1008},
    {"RTX 4060", 0, 272},
    {"RTX 4060 Ti", 0, 288},
    {"RTX 4070 SUPER", 0, 504},
    {"RTX 4070 Ti", 0, 504},
    {"RTX 4070 Ti SUPER", 0, 672},
    {"RTX 4080", 0, 717},
    {"RTX 4080 SUPER", 0, 736},
    {"RTX 4090", 0, 1008},
    {"RTX 5060", 0, 448},
    {"RTX 5060 Ti", 0, 448},
    {"RTX 5070", 0, 672},
    {"RTX 5070 Ti", 0, 896},
    {"RTX 5080", 0, 960},
    {"RTX 5090", 0, 1792},
    {"RTX A4000", 0, 448},
    {"RTX A4500", 0, 640},
    {"RTX A5000", 0, 768},
    {"RTX A6000", 0, 768},
    {"RTX 4000 Ada Generation", 0, 360},
    {"RTX 5000 Ada Generation", 0, 576},
    {"RTX 6000 Ada Generation", 0, 960},
    {"RTX PRO 6000 Blackwell Workstation Edition", 0, 1792},
    {"RTX PRO 6000 Blackwell Max-Q Workstation Edition", 0, 1792},
    {"RTX PRO 6000 Blackwell Server Edition", 0, 1597},
    {"P40", 0, 346},
    {"V100-SXM2-16GB", 0, 900},
    {"V100-SXM2-32GB", 0, 900},
    {"A10", 0, 600},
    {"A10G", 0, 600},
    {"A30", 0, 933},
    {"A40", 0, 696},
    {"A100-SXM4-40GB", 0, 1555},
    {"A100-PCIE-40GB", 0, 1555},
    {"A100-SXM4-80GB", 0, 2039},
    {"A100 80GB PCIe", 0, 1935},
    {"L4", 0, 300},
    {"L40", 0, 864},
    {"L40S", 0, 864},
    {"H100 PCIe", 0, 2000},
    {"H100 80GB HBM3", 0, 3350},
    {"H100 NVL", 0, 3900},
    {"H200", 0, 4800},
    {"H200 NVL", 0, 4800},
    {"GB10", 0, 273},
    {"RX 6800", 0, 512},
    {"RX 6800 XT", 0, 512},
    {"RX 6900 XT", 0, 512},
    {"RX 7900 GRE", 0, 576},
    {"RX 7900 XT", 0, 800},
    {"RX 7900 XTX", 0, 960},
    {"RX 9070", 0, 640},
    {"RX 9070 XT", 0, 640},
    {"AI PRO R9700", 0, 640},
    {"PRO W7900", 0, 864},
    {"MI100", 0, 1229},
    {"MI210", 0, 1638},
    {"MI300X", 0, 5300},
    {"MI325X", 0, 6000},
};

const char *gpu_bandwidth_name(int i)
{
    return i < (int)ARRAY_LEN(cards) ? cards[i].name : NULL;
}

static const char *bare_name(const char *name)
{
    static const char *const families[] = {"GeForce ", "Radeon ", "Instinct ", "Tesla "};
    name = gpu_short_name(name);
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        if (text_starts(name, families[i]))
            return name + strlen(families[i]);
    return name;
}

double gpu_bandwidth(const struct gpu *g)
{
    const char *name = g->name ? bare_name(g->name) : "";
    for (size_t i = 0; i < ARRAY_LEN(cards); i++)
        if (strcasecmp(cards[i].name, name) == 0 &&
            (!cards[i].vram_gb || cards[i].vram_gb == memory_gb(g->vram_bytes)))
            return cards[i].gb_s * GB;
    return NAN;
}

double machine_bandwidth(const struct machine *m, struct buf *source)
{
    double sum = 0;
    for (int i = 0; i < m->gpu_count; i++)
        sum += gpu_bandwidth(&m->gpus[i]);
    if (!(sum > 0))
        return NAN;
    for (int i = 0, same; source && i < m->gpu_count; i += same) {
        double each = gpu_bandwidth(&m->gpus[i]);
        const char *name = gpu_short_name(m->gpus[i].name);
        for (same = 1; i + same < m->gpu_count; same++)
            if (strcmp(gpu_short_name(m->gpus[i + same].name), name) != 0)
                break;
        buf_adds(source, i ? " + " : "data sheet: ");
        if (same > 1)
            buf_addf(source, "%dx ", same);
        buf_addf(source, "%s at %.0f GB/s", name, each / GB);
    }
    return sum;
}
