/* uuid.h - names for documents: UUID version 7 (RFC 9562).
 *
 * The first 48 bits are the wall clock in milliseconds, so that names sort by time; the rest is
 * random from the operating system. */
#ifndef TOKGRID_BASE_UUID_H
#define TOKGRID_BASE_UUID_H

#include <stdbool.h>

enum { UUID_TEXT_MAX = 37 };

void uuid_v7(char out[UUID_TEXT_MAX]); /* "0193a1b2-...": lower case, NUL-ended */
bool uuid_valid(const char *s);        /* any version, hex digits of either case */

#endif
