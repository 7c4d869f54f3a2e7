/* gzip.h - compression of what goes out, and of what comes in with a bound on what comes of it. */
#ifndef TOKGRID_SITE_GZIP_H
#define TOKGRID_SITE_GZIP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* Append the bytes as one gzip member. False, leaving `out` as it was, when that fails. */
bool gzip_pack(const char *p, size_t n, struct buf *out);

/* Append what the gzip members hold. It stops at the maximum of `out` (ERR_LIMIT), however little
 * came in; anything but whole members is ERR_FORMAT. */
bool gzip_unpack(const char *p, size_t n, struct buf *out, struct err *err) ATTR_CHECK;

/* The Accept-Encoding header allows gzip; NULL: it was not sent. */
bool gzip_accepted(const char *accept_encoding);

#endif
