/* cmd_hardware.c - tokgrid hardware: what this machine is. */
#include "cmd/commands.h"

#include "base/num.h"
#include "base/text.h"
#include "load/hardware.h"
#include "model/machine.h"

#include <string.h>

struct hardware_settings {
    bool json;
};

static void add_line(struct buf *out, const char *name, const char *value)
{
    char shown[300];
    text_printable(shown, sizeof shown, value ? value : "unknown",
                   strlen(value ? value : "unknown"));
    buf_addf(out, "%-8s %s\n", name, shown);
}

static void add_gpu(struct buf *out, const struct gpu *g)
{
    char memory[NUM_TEXT_MAX], name[200];

    text_printable(name, sizeof name, g->name ? g->name : "unknown",
                   strlen(g->name ? g->name : "unknown"));
    buf_addf(out, "%-8s %s", "GPU", name);
    if (g->vram_bytes)
        buf_addf(out, " · %s", num_bytes_text(memory, (double)g->vram_bytes));
    if (g->driver)
        buf_addf(out, " · driver %s", g->driver);
    if (g->pcie_gen)
        buf_addf(out, " · PCIe %d x%d (of %d x%d)", g->pcie_gen, g->pcie_width, g->pcie_gen_max,
                 g->pcie_width_max);
    if (g->power_limit_w > 0)
        buf_addf(out, " · %.0f W", g->power_limit_w);
    buf_addc(out, '\n');
}

static void write_lines(const struct machine *m, struct buf *out)
{
    char memory[NUM_TEXT_MAX], text[200];

    add_line(out, "Type", m->type);
    for (int i = 0; i < m->gpu_count; i++)
        add_gpu(out, &m->gpus[i]);
    buf_addf(out, "%-8s %s (%d cores, %d threads, %d usable here)\n", "CPU",
             m->cpu ? m->cpu : "unknown", m->cpu_cores, m->cpu_threads, m->cpus_allowed);
    add_line(out, "RAM", m->ram_bytes ? num_bytes_text(memory, (double)m->ram_bytes) : NULL);
    add_line(out, "OS", m->os);
    text_printable(text, sizeof text, m->kernel ? m->kernel : "",
                   strlen(m->kernel ? m->kernel : ""));
    buf_addf(out, "%-8s %s %s\n", "Kernel", text, m->arch ? m->arch : "");
}

static int hardware(int argc, char **argv)
{
    struct hardware_settings settings = {0};
    struct machine machine;
    struct buf out;
    int exit_code;

    if (!command_parse(&cmd_hardware, argc, argv, &settings, &exit_code))
        return exit_code;
    hardware_detect(NULL, &machine);
    buf_init(&out, 1 << 20);
    if (settings.json)
        machine_write_json(&machine, &out);
    else
        write_lines(&machine, &out);
    exit_code = command_print(&out);
    buf_release(&out);
    machine_release(&machine);
    return exit_code;
}

static const struct option_row rows[] = {
    {.name = "json",
     OPTION_FLAG(struct hardware_settings, json),
     .help = "The hardware block of a result: edit it, and give it to 'tokgrid run --hardware'."},
    {0},
};

const struct command cmd_hardware = {
    .name = "hardware",
    .summary = "Print what this machine is: GPUs, CPU, memory, system",
    .about = "Facts come from the kernel and, where there is one, the GPU vendor's management "
             "library, which is opened at run time. What cannot be learned is unknown.",
    .options = rows,
    .run = hardware,
};
