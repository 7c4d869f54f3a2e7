/* open_files.c - getrlimit and setrlimit. */
#include "base/open_files.h"

#include <inttypes.h>
#include <sys/resource.h>

enum { OTHER_FILES = 64 }; /* the standard ones, results, epoll, a listening socket ... */

uint64_t open_files_raise(uint64_t need)
{
    struct rlimit limit, most;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return UINT64_MAX;
    most = (struct rlimit){limit.rlim_max, limit.rlim_max};
    if (limit.rlim_cur < need && limit.rlim_cur < limit.rlim_max &&
        setrlimit(RLIMIT_NOFILE, &most) == 0)
        return most.rlim_cur;
    return limit.rlim_cur;
}

bool open_files_for(int connections, struct err *err)
{
    uint64_t need = (uint64_t)connections + OTHER_FILES, allowed = open_files_raise(need);

    return allowed >= need ||
           err_set(err, ERR_SYSTEM,
                   "%d connections at once need %" PRIu64 " open files, this system allows %" PRIu64
                   ": raise that (ulimit -Hn), or ask for fewer at once",
                   connections, need, allowed);
}
