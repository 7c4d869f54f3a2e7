/* machine.c - a machine's name for a title. */
#include "model/machine.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

/* What vendors put before the name that people use. Longest first. */
static const char *const vendor_words[] = {
    "NVIDIA GeForce ", "NVIDIA Corporation ", "NVIDIA ", "AMD Radeon(TM) ", "AMD ",
    "Intel(R) ",       "Intel Corporation ",
};

const char *gpu_short_name(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(vendor_words); i++)
        if (text_starts(name, vendor_words[i]) && name[strlen(vendor_words[i])])
            return name + strlen(vendor_words[i]);
    return name;
}

long long memory_gb(int64_t bytes)
{
    return llround((double)bytes / (double)(INT64_C(1) << 30));
}

static bool same_card(const struct gpu *a, const struct gpu *b)
{
    return a->name && b->name && strcmp(a->name, b->name) == 0 && a->vram_bytes == b->vram_bytes;
}

void machine_title(const struct machine *m, struct buf *out)
{
    if (m->gpu_count == 0)
        buf_adds(out, m->cpu ? m->cpu : "an unknown machine");
    for (int i = 0; i < m->gpu_count;) {
        const struct gpu *g = &m->gpus[i];
        int64_t memory = g->vram_bytes;
        int count = 1;
        while (i + count < m->gpu_count && same_card(g, &m->gpus[i + count]))
            count++;
        if (i > 0)
            buf_adds(out, " + ");
        if (count > 1)
            buf_addf(out, "%dx ", count);
        buf_adds(out, g->name ? gpu_short_name(g->name) : "unknown GPU");
        if (!memory && m->type && strcmp(m->type, "UNIFIED") == 0)
            memory = m->ram_bytes;
        if (memory)
            buf_addf(out, " %lldGB", memory_gb(memory));
        i += count;
    }
}
