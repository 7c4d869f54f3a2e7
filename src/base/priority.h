/* priority.h - a measuring thread runs at once when it has something to do.
 *
 * Under the ordinary policy a thread that wakes waits for the others of its CPU, some milliseconds
 * when it is busy, and what it stamps is late by that much. Linux only. */
#ifndef TOKGRID_BASE_PRIORITY_H
#define TOKGRID_BASE_PRIORITY_H

#include <stdbool.h>

/* Give the calling thread the lowest real-time priority (SCHED_FIFO); threads and processes that it
 * makes start without it. False, and nothing changed, where that is not allowed: it takes
 * CAP_SYS_NICE or `ulimit -r`. The kernel leaves ordinary threads 5 % of the time whatever a
 * real-time one does. */
bool priority_realtime(void);

void priority_ordinary(void); /* of the calling thread again */

#endif
