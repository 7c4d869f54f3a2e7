/* gzip.c - zlib with bounds. */
#include "site/gzip.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

enum { GZIP_FORMAT = 15 + 16, LEVEL = 4, STEP = 64 << 10 }; /* window bits: gzip header */

bool gzip_pack(const char *p, size_t n, struct buf *out)
{
    z_stream z = {0};
    if (n > UINT_MAX || deflateInit2(&z, LEVEL, Z_DEFLATED, GZIP_FORMAT, 8, 0) != Z_OK)
        return false;
    size_t bound = deflateBound(&z, (uLong)n);
    char *to = buf_reserve(out, bound);
    bool ok = to != NULL;
    if (ok) {
        z.next_in = (Bytef *)(uintptr_t)p;
        z.avail_in = (uInt)n;
        z.next_out = (Bytef *)to;
        z.avail_out = (uInt)bound;
        ok = deflate(&z, Z_FINISH) == Z_STREAM_END;
        if (ok)
            buf_advance(out, (size_t)z.total_out);
    }
    deflateEnd(&z);
    return ok;
}

/* One step of inflating into the buffer; false at an error that `err` tells. */
static bool unpack_step(z_stream *z, struct buf *out, int *ret_state, struct err *err)
{
    size_t room = out->max - out->len < STEP ? out->max - out->len : STEP;
    char *to = room > 0 ? buf_reserve(out, room) : NULL;
    if (!to)
        return err_set(err, ERR_LIMIT, "unpacked, it is larger than %zu bytes", out->max);
    z->next_out = (Bytef *)to;
    z->avail_out = (uInt)room;
    *ret_state = inflate(z, Z_NO_FLUSH);
    buf_advance(out, room - z->avail_out);
    if (*ret_state == Z_OK || *ret_state == Z_STREAM_END)
        return true;
    return err_set(err, ERR_FORMAT, "the body is not gzip, as its Content-Encoding says");
}

bool gzip_unpack(const char *p, size_t n, struct buf *out, struct err *err)
{
    z_stream z = {0};
    int state = Z_OK;
    bool ok = true;
    if (n > UINT_MAX || inflateInit2(&z, GZIP_FORMAT) != Z_OK)
        return err_set(err, ERR_LIMIT, "the body cannot be unpacked");
    z.next_in = (Bytef *)(uintptr_t)p;
    z.avail_in = (uInt)n;
    while (ok && (z.avail_in > 0 || state != Z_STREAM_END)) {
        if (state == Z_STREAM_END && inflateReset(&z) != Z_OK)
            ok = false;
        ok = ok && unpack_step(&z, out, &state, err);
        if (ok && state == Z_OK && z.avail_in == 0 && z.avail_out > 0)
            ok = err_set(err, ERR_FORMAT, "the compressed body ends too early");
    }
    inflateEnd(&z);
    return ok;
}

bool gzip_accepted(const char *accept_encoding)
{
    for (const char *p = accept_encoding; p && *p; p += *p == ',') {
        p += strspn(p, " \t");
        size_t n = strcspn(p, ",");
        if (strncasecmp(p, "gzip", 4) == 0 && (n == 4 || strchr(" \t;", p[4]))) {
            const char *q = memmem(p, n, "q=0", 3);
            /* "q=0", "q=0.0": refused; "q=0.5": fine */
            return !q || q[3 + strspn(q + 3, ".0")] > '0';
        }
        p += n;
    }
    return false;
}
