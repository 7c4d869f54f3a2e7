/* drm_gpu.h - graphics cards as the kernel's DRM drivers show them in /sys: AMD and Intel.
 *
 * NVIDIA's cards are left to nvml.h. A processor's small integrated graphics are not counted: they
 * are not what a model runs on. Those that share a large memory with the processor are (`unified`).
 * Cards come in the order of their numbers. */
#ifndef TOKGRID_LOAD_DRM_GPU_H
#define TOKGRID_LOAD_DRM_GPU_H

#include <stdbool.h>
#include <stddef.h>

#include "load/hardware.h"
#include "load/sysfile.h"

struct drm_gpu {
    char device[SYSFILE_PATH_MAX / 2]; /* folder of the PCI device, below /sys */
    char hwmon[SYSFILE_PATH_MAX / 2];  /* folder of its sensors; empty: none */
    const struct drm_model *model;     /* static; NULL: not in our table */
    bool is_amd;
    bool unified;
};

/* Find the cards below `sys`; at most max. Returns how many. */
size_t drm_gpu_find(const char *sys, struct drm_gpu *out, size_t max);

/* `ret` is zeroed first; its strings belong to the caller. */
void drm_gpu_describe(const struct drm_gpu *g, const char *sys, struct gpu *ret);

/* Only AMD's driver shows readings that are worth a sample. */
bool drm_gpu_can_read(const struct drm_gpu *g);
void drm_gpu_read(const struct drm_gpu *g, struct gpu_reading *ret);

#endif
