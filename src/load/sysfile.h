/* sysfile.h - reads the small files in which the kernel tells about the machine.
 *
 * The path is given as a printf format, since it is usually put together from a root, a device and
 * an attribute. Reading never blocks and is bounded: what is not a regular file, is too large or
 * cannot be read counts as absent, so that a strange /sys costs a fact and nothing else. */
#ifndef TOKGRID_LOAD_SYSFILE_H
#define TOKGRID_LOAD_SYSFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { SYSFILE_PATH_MAX = 1024, SYSFILE_LINE_MAX = 256 };

/* The whole file, added to out. False (and nothing added) when absent or beyond out's maximum. */
bool sysfile_read(struct buf *out, const char *path, ...) ATTR_PRINTF(2, 3) ATTR_CHECK;

/* The first line, trimmed and printable; out has SYSFILE_LINE_MAX bytes. False when absent or
 * empty. */
bool sysfile_line(char *out, const char *path, ...) ATTR_PRINTF(2, 3) ATTR_CHECK;

/* The first line as a decimal number. */
bool sysfile_i64(int64_t *ret, const char *path, ...) ATTR_PRINTF(2, 3) ATTR_CHECK;

/* A hexadecimal number with 0x in front, as the kernel writes identifiers: the whole text, and the
 * first line of a file. */
bool sysfile_parse_hex(const char *s, unsigned *ret) ATTR_CHECK;
bool sysfile_hex(unsigned *ret, const char *path, ...) ATTR_PRINTF(2, 3) ATTR_CHECK;

#endif
