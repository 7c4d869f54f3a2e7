/* cpu_info.h - which processor this is, from the text of /proc/cpuinfo.
 *
 * Pure. x86 names its processors with trademarks, core counts and clock rates around the name that
 * people use; arm64 has numbers only, which a table turns into the core's name. */
#ifndef TOKGRID_LOAD_CPU_INFO_H
#define TOKGRID_LOAD_CPU_INFO_H

#include <stdbool.h>
#include <stddef.h>

enum { CPU_NAME_MAX = 128 };

struct cpu_info {
    char name[CPU_NAME_MAX]; /* "AMD Ryzen 9 7900X"; empty: unknown */
    int threads;             /* logical processors listed */
    int cores;               /* physical cores; 0 where the text does not tell */
};

/* `text` is NUL-ended; anything at all is fine. */
void cpu_info_parse(const char *text, struct cpu_info *ret);

/* "Intel(R) Core(TM) i7-9700K CPU @ 3.60GHz" -> "Intel Core i7-9700K", in place. */
void cpu_name_clean(char *name);

#endif
