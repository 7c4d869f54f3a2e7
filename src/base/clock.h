/* clock.h - the one clock that measures, and the one that labels.
 *
 * Instants and durations are int64_t nanoseconds of CLOCK_MONOTONIC, named `..._at` and `..._ns`.
 * Wall time appears in results as text only, never in arithmetic. */
#ifndef TOKGRID_BASE_CLOCK_H
#define TOKGRID_BASE_CLOCK_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

int64_t clock_now(void);                /* CLOCK_MONOTONIC */
int64_t clock_realtime(void);           /* CLOCK_REALTIME: only to convert kernel receive stamps */
int64_t clock_thread_cpu(void);         /* CPU time used by the calling thread */
int64_t clock_cpu_of(pthread_t thread); /* the same of another one that has not been joined */

enum { CLOCK_TEXT_MAX = 32 };
const char *clock_utc_text(char *out); /* "2026-11-30T10:13:26Z" into CLOCK_TEXT_MAX bytes */

/* Sleep, waking early on a signal. */
void clock_sleep(int64_t ns);

#endif
