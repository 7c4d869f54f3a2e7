/* machine.h - what a machine is: the hardware block of a result.
 *
 * Facts that could not be learned are NULL or 0 and are written as null, never guessed. Strings are
 * owned by the struct. Memory sizes are bytes, power watts, clocks MHz. */
#ifndef TOKGRID_MODEL_MACHINE_H
#define TOKGRID_MODEL_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum { MACHINE_MAX_GPUS = 16 };

struct gpu {
    char *name; /* "NVIDIA GeForce RTX 3090" */
    int64_t vram_bytes;
    char *driver;                     /* "595.99.02" */
    char *uuid;                       /* never published; used to match telemetry to a card */
    int pcie_gen, pcie_width;         /* current link */
    int pcie_gen_max, pcie_width_max; /* what card and slot could do */
    double power_limit_w;
    int clock_max_mhz;
};

struct machine {
    char *type; /* "DISCRETE_GPU", "UNIFIED" or "CPU_ONLY" */
    struct gpu gpus[MACHINE_MAX_GPUS];
    int gpu_count;
    char *cpu;        /* "AMD Ryzen 9 7900X" */
    int cpu_cores;    /* physical */
    int cpu_threads;  /* logical */
    int cpus_allowed; /* logical CPUs this process may use (affinity, cgroup quota rounded up) */
    int64_t ram_bytes;
    char *os;     /* "Ubuntu 24.04.5 LTS" */
    char *kernel; /* "6.8.0-45-generic" */
    char *arch;   /* "x86_64" */
    char *source; /* "detected on this machine" or "given: FILE" */
};

void machine_release(struct machine *m); /* zeroed structs are fine */

/* A copy with strings of its own. */
void machine_copy(struct machine *to, const struct machine *from);

/* The hardware block of a result, alone in a document: what `tokgrid hardware --json` prints and
 * --hardware FILE reads. Reading checks like result_read_json; *ret is filled only on success. */
bool machine_write_json(const struct machine *m, struct buf *out);
bool machine_read_json(const char *p, size_t n, const char *name, struct machine *ret,
                       struct err *err) ATTR_CHECK;

/* For a title: "RTX 3090 24GB", "2x RTX 3090 24GB + RTX A4000 16GB"; without a GPU the CPU. */
void machine_title(const struct machine *m, struct buf *out);

/* Without the vendor in front: "NVIDIA GeForce RTX 3090" -> "RTX 3090". Points into `name`. */
const char *gpu_short_name(const char *name);

/* Memory as it is sold: whole units of 2^30 bytes. */
long long memory_gb(int64_t bytes);

#endif
