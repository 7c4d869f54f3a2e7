/* nvml.h - NVIDIA's management library, opened at run time.
 *
 * The prototypes are our own, written from NVIDIA's public API reference, so neither the build nor
 * the program needs anything of NVIDIA's. A function that a library lacks, or that a card answers
 * with "not supported", costs one figure and nothing else. One thread at a time. */
#ifndef TOKGRID_LOAD_NVML_H
#define TOKGRID_LOAD_NVML_H

#include <stddef.h>

#include "load/hardware.h"

struct nvml;

/* NULL when there is no such library, no driver, or no card. */
struct nvml *nvml_open(const char *library);
void nvml_close(struct nvml *n); /* NULL is fine */

size_t nvml_count(const struct nvml *n); /* 1 to MACHINE_MAX_GPUS */

/* Card i < nvml_count. `ret` is zeroed first; its strings belong to the caller. */
void nvml_describe(const struct nvml *n, size_t i, struct gpu *ret);
void nvml_read(const struct nvml *n, size_t i, struct gpu_reading *ret);

#endif
