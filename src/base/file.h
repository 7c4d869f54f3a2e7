/* file.h - whole files in and out. */
#ifndef TOKGRID_BASE_FILE_H
#define TOKGRID_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* Read all of `path` ("-" is standard input) into out, whose maximum bounds it. */
bool file_read(const char *path, struct buf *out, struct err *err) ATTR_CHECK;

/* The same for what nobody but its owner may read: an ordinary file of this user's own, without
 * rights for others; anything else is refused, also a pipe that would never end. Nothing there:
 * ERR_NOT_FOUND. */
bool file_read_private(const char *path, struct buf *out, struct err *err) ATTR_CHECK;

/* Replace `path` by these bytes so that a reader sees either the old file or the new one, also
 * after a crash: written beside it, flushed to disk, renamed over it. Of a link, the file it leads
 * to is replaced; a device or pipe is written to. */
bool file_write_atomic(const char *path, const void *p, size_t n, struct err *err) ATTR_CHECK;

/* The same for what nobody but its owner may read: mode 0600, whatever stood there before. */
bool file_write_private(const char *path, const void *p, size_t n, struct err *err) ATTR_CHECK;

/* Learn early whether file_write_atomic could write there; what is there stays as it is. */
bool file_can_write(const char *path, struct err *err) ATTR_CHECK;

/* mkdir -p for the folder part of `path`. */
bool file_make_parent(const char *path, struct err *err) ATTR_CHECK;

#endif
