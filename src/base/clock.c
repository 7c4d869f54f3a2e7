/* clock.c - thin wrappers over clock_gettime. */
#include "base/clock.h"

#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_realtime(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t clock_thread_cpu(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clock_cpu_of(pthread_t thread)
{
    clockid_t id;
    return pthread_getcpuclockid(thread, &id) == 0 ? read_clock(id) : 0;
}

const char *clock_utc_text(char *out)
{
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(out, CLOCK_TEXT_MAX, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return out;
}

void clock_sleep(int64_t ns)
{
    if (ns <= 0)
        return;
    struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    nanosleep(&t, NULL);
}
