/* hardware.h - what this machine is, and what its GPUs do meanwhile.
 *
 * Facts come from /proc, /sys, /etc/os-release and, where there is one, NVIDIA's management library
 * opened at run time (libnvidia-ml.so.1; never a link-time dependency). AMD cards are read from the
 * amdgpu driver's files in /sys. What cannot be read stays unknown. */
#ifndef TOKGRID_LOAD_HARDWARE_H
#define TOKGRID_LOAD_HARDWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/machine.h"

/* Where to look; tests point these elsewhere. NULL members mean the real places. */
struct hardware_roots {
    const char *proc; /* "/proc" */
    const char *sys;  /* "/sys" */
    const char *etc;  /* "/etc" */
    const char *nvml; /* "libnvidia-ml.so.1" */
};

/* Fill *ret (owned by the caller: machine_release). Never fails: unknown stays unknown. */
void hardware_detect(const struct hardware_roots *roots, struct machine *ret);

/* Sampling of GPU power, clocks, temperature and throttling. NULL when no GPU can be sampled. A
 * read fills one record for each GPU, in the order of hardware_detect's, and returns how many; it
 * takes milliseconds, so it belongs on a thread that measures nothing. */
struct hardware_probe;
struct gpu_reading {
    double power_w, clock_mhz, temperature_c, utilisation_pct, memory_used_bytes; /* NAN unknown */
    bool throttled_hw, throttled_thermal, throttled_power;
};
struct hardware_probe *hardware_probe_new(const struct hardware_roots *roots);
void hardware_probe_free(struct hardware_probe *p);
size_t hardware_probe_read(struct hardware_probe *p, struct gpu_reading *out, size_t max);

#endif
