/* priority.c - two calls of the scheduler. */
#include "base/priority.h"

#include <sched.h>

bool priority_realtime(void)
{
    const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    return sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) == 0;
}

void priority_ordinary(void)
{
    const struct sched_param none = {.sched_priority = 0};
    /* leaving a real-time policy is always allowed */
    (void)sched_setscheduler(0, SCHED_OTHER, &none);
}
