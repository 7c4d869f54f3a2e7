/* clockwork_process.h - the clockwork server in a process of its own, beside the client it tests.
 */
#ifndef TOKGRID_CMD_CLOCKWORK_PROCESS_H
#define TOKGRID_CMD_CLOCKWORK_PROCESS_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct clockwork_process {
    pid_t pid;
    char url[64];
    cpu_set_t cpus; /* what the caller could use before */
    bool pinned;    /* server on the first of several CPUs, caller on the last */
};

/* Fork it: no thread may have been started before. `realtime`: it asks for that priority. The child
 * ends with the caller. */
bool clockwork_process_start(struct clockwork_process *p, bool realtime,
                             struct err *err) ATTR_CHECK;
void clockwork_process_stop(struct clockwork_process *p); /* and give the caller its CPUs back */

#endif
