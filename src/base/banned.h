/* banned.h - calls that this tree does not use, made into compile errors.
 *
 * Included from the compiler's command line for every file. Each has a better home:
 * strings -> base/buf.h, numbers -> base/num.h, time -> base/clock.h, randomness -> base/rand.h. */
#ifndef TOKGRID_BASE_BANNED_H
#define TOKGRID_BASE_BANNED_H

#define BANNED(name, instead) name##_is_banned_use_##instead

/* system headers first: some of them mention the names they declare */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#undef strcpy
#define strcpy(a, b) BANNED(strcpy, snprintf_or_buf)
#undef strcat
#define strcat(a, b) BANNED(strcat, buf)
#undef strncpy
#define strncpy(a, b, n) BANNED(strncpy, snprintf)
#undef strncat
#define strncat(a, b, n) BANNED(strncat, buf)
#undef sprintf
#define sprintf(...) BANNED(sprintf, snprintf)
#undef vsprintf
#define vsprintf(...) BANNED(vsprintf, vsnprintf)
#undef strtok
#define strtok(a, b) BANNED(strtok, strcspn)
#undef atoi
#define atoi(a) BANNED(atoi, num_parse)
#undef atol
#define atol(a) BANNED(atol, num_parse)
#undef atof
#define atof(a) BANNED(atof, num_parse)
#undef strtol
#define strtol(a, b, c) BANNED(strtol, num_parse)
#undef strtoll
#define strtoll(a, b, c) BANNED(strtoll, num_parse)
#undef strtoul
#define strtoul(a, b, c) BANNED(strtoul, num_parse)
#undef strtod
#define strtod(a, b) BANNED(strtod, num_parse)
#undef sscanf
#define sscanf(...) BANNED(sscanf, num_parse)
#undef gmtime
#define gmtime(a) BANNED(gmtime, clock)
#undef localtime
#define localtime(a) BANNED(localtime, clock)
#undef ctime
#define ctime(a) BANNED(ctime, clock)
#undef rand
#define rand() BANNED(rand, rng)

#endif
