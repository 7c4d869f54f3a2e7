/* gpu_bandwidth.h - how fast a GPU's memory can be read at most, by its name.
 *
 * From the vendors' public data sheets: bytes per second at stock clocks. Cards that are not in the
 * table, or whose name was sold with memories of different speed, stay unknown. */
#ifndef TOKGRID_MODEL_GPU_BANDWIDTH_H
#define TOKGRID_MODEL_GPU_BANDWIDTH_H

#include "base/buf.h"
#include "model/machine.h"

double gpu_bandwidth(const struct gpu *g); /* bytes per second; NAN: unknown */

const char *gpu_bandwidth_name(int i); /* of the i-th card that is known; NULL: no more */

/* Of all GPUs together, and in words where it comes from ("data sheet: 2x RTX 3090 at 936 GB/s").
 * `source` may be NULL. NAN, and nothing is added, when there is no GPU or one of them is unknown.
 */
double machine_bandwidth(const struct machine *m, struct buf *source);

#endif
