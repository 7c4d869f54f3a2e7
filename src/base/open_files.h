/* open_files.h - how many files this process may have open; a connection is one of them.
 *
 * The soft limit (RLIMIT_NOFILE), often 1,024, is what counts; a process may raise it up to its
 * hard limit. Children inherit what it is when they are made. */
#ifndef TOKGRID_BASE_OPEN_FILES_H
#define TOKGRID_BASE_OPEN_FILES_H

#include <stdint.h>

#include "base/err.h"

/* Raise the soft limit to the hard one when it is below `need`; a limit that does is left alone.
 * Returns what it is then, UINT64_MAX where it is not known or there is none. */
uint64_t open_files_raise(uint64_t need);

/* Have room for so many connections beside the files of everything else, or say what is missing:
 * better to know before than at connection 1,000. */
bool open_files_for(int connections, struct err *err) ATTR_CHECK;

#endif
