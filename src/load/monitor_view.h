/* monitor_view.h - the arithmetic over readings, apart from the thread that takes them. Private to
 * monitor.c and its test. Readings are in the order of their time. */
#ifndef TOKGRID_LOAD_MONITOR_VIEW_H
#define TOKGRID_LOAD_MONITOR_VIEW_H

#include "load/monitor.h"

/* What monitor_window and monitor_idle_since say, of these readings. */
struct window_view monitor_view(const struct reading *list, size_t count, int64_t from, int64_t to);
bool monitor_view_idle(const struct reading *list, size_t n, int64_t since, int64_t for_ns);

#endif
