/* sample.c - one JSON line per request through a zstd stream into a file, digested on the way.
 *
 * An error of the disk is kept and reported by the next flush or close: adding a sample stays cheap
 * and cannot fail in the middle of a measurement. */
#include "model/sample.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/num.h"

enum { COMPRESSION_LEVEL = 3, LINE_MAX_BYTES = 64 << 20, OUT_BYTES = 64 << 10 };

struct sample_file {
    char *path;
    int fd;
    int failed_errno; /* 0: none; the first one counts */
    ZSTD_CCtx *zstd;
    crypto_generichash_state digest;
    struct buf line;
    int64_t requests;
    char out[OUT_BYTES];
};

struct sample_file *samples_open(const char *path, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        err_set(err, ERR_SYSTEM, "cannot write %s: %s", path, strerror(errno));
        return NULL;
    }
    struct sample_file *f = mem_alloc(sizeof *f);
    f->path = mem_strdup(path);
    f->fd = fd;
    f->zstd = ZSTD_createCCtx();
    if (!f->zstd)
        abort(); /* no memory, as in mem.c */
    ZSTD_CCtx_setParameter(f->zstd, ZSTD_c_compressionLevel, COMPRESSION_LEVEL);
    ZSTD_CCtx_setParameter(f->zstd, ZSTD_c_checksumFlag, 1);
    crypto_generichash_init(&f->digest, NULL, 0, crypto_generichash_BYTES);
    buf_init(&f->line, LINE_MAX_BYTES);
    return f;
}

static void write_out(struct sample_file *f, const char *p, size_t n)
{
    crypto_generichash_update(&f->digest, (const unsigned char *)p, n);
    while (n > 0 && !f->failed_errno) {
        ssize_t done = write(f->fd, p, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            f->failed_errno = errno;
            return;
        }
        p += done;
        n -= (size_t)done;
    }
}

static void compress(struct sample_file *f, const char *p, size_t n, ZSTD_EndDirective end)
{
    ZSTD_inBuffer in = {p, n, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {f->out, sizeof f->out, 0};
        left = ZSTD_compressStream2(f->zstd, &out, &in, end);
        if (ZSTD_isError(left)) {
            f->failed_errno = f->failed_errno ? f->failed_errno : ENOMEM;
            return;
        }
        write_out(f, f->out, out.pos);
    } while (end == ZSTD_e_continue ? in.pos < in.size : left > 0);
}

static int64_t to_us(int64_t ns)
{
    return ns >= 0 ? (ns + NS_PER_US / 2) / NS_PER_US : 0;
}

static void add_count(struct buf *b, const char *name, int64_t v)
{
    if (v < 0)
        buf_addf(b, ",\"%s\":null", name);
    else
        buf_addf(b, ",\"%s\":%lld", name, (long long)v);
}

static void add_since_send(struct buf *b, const char *name, const struct sample *s, int64_t at_ns)
{
    if (at_ns < 0)
        buf_addf(b, ",\"%s\":null", name);
    else
        buf_addf(b, ",\"%s\":%lld", name, (long long)(to_us(at_ns) - to_us(s->send_ns)));
}

static void add_string(struct buf *b, const char *name, const char *v)
{
    buf_addf(b, ",\"%s\":", name);
    if (*v)
        buf_add_json_string(b, v, strlen(v));
    else
        buf_adds(b, "null");
}

/* Differences of rounded stamps, so that their sum never drifts from the true time. */
static void add_stamps(struct buf *b, const struct sample *s)
{
    int64_t last = to_us(s->send_ns);
    buf_adds(b, ",\"stamps\":[");
    for (size_t i = 0; i < s->stamp_count; i++) {
        int64_t at = to_us(s->stamps[i].at_ns);
        buf_addf(b, "%s%lld,%d", i ? "," : "", (long long)(at - last), s->stamps[i].tokens);
        last = at;
    }
    buf_adds(b, "]");
}

void samples_add(struct sample_file *f, const struct sample *s)
{
    struct buf *b = &f->line;
    buf_reset(b);
    buf_addf(b, "{\"phase\":\"%s\"", s->phase);
    add_count(b, "context_tokens", s->context_tokens);
    add_count(b, "concurrency", s->concurrency);
    add_count(b, "stream", s->stream);
    add_count(b, "repeat", s->repeat);
    add_string(b, "outcome", outcome_name(s->outcome));
    add_count(b, "send_us", s->send_ns < 0 ? -1 : to_us(s->send_ns));
    add_since_send(b, "headers_us", s, s->headers_ns);
    add_since_send(b, "first_event_us", s, s->first_event_ns);
    add_since_send(b, "first_token_us", s, s->first_token_ns);
    add_since_send(b, "first_visible_us", s, s->first_visible_ns);
    add_since_send(b, "second_token_us", s, s->second_token_ns);
    add_since_send(b, "last_token_us", s, s->last_token_ns);
    add_since_send(b, "close_us", s, s->close_ns);
    add_count(b, "connect_us", to_us(s->connect_ns));
    add_count(b, "prompt_tokens", s->prompt_tokens);
    add_count(b, "completion_tokens", s->completion_tokens);
    add_count(b, "cached_tokens", s->cached_tokens);
    add_count(b, "events", s->events);
    add_count(b, "reads", s->reads);
    add_count(b, "bytes", s->bytes);
    add_count(b, "http_status", s->http_status);
    buf_addf(b, ",\"retried\":%s", s->retried ? "true" : "false");
    add_string(b, "finish", s->finish);
    add_string(b, "error", s->error);
    add_stamps(b, s);
    buf_adds(b, "}\n");
    if (b->overflow)
        return; /* 64 MB for one request: not a sample, and half a line would spoil the file */
    compress(f, b->p, b->len, ZSTD_e_continue);
    f->requests++;
}

bool samples_flush(struct sample_file *f, struct err *err)
{
    compress(f, NULL, 0, ZSTD_e_flush);
    return !f->failed_errno ||
           err_set(err, ERR_SYSTEM, "cannot write %s: %s", f->path, strerror(f->failed_errno));
}

bool samples_close(struct sample_file *f, char ret_digest[65], int64_t *ret_requests,
                   struct err *err)
{
    unsigned char hash[crypto_generichash_BYTES];
    compress(f, NULL, 0, ZSTD_e_end);
    if (fsync(f->fd) != 0 && errno != EINVAL && !f->failed_errno)
        f->failed_errno = errno; /* EINVAL: a pipe or device, which has nothing to sync */
    if (close(f->fd) != 0 && !f->failed_errno)
        f->failed_errno = errno;
    bool ok = !f->failed_errno ||
              err_set(err, ERR_SYSTEM, "cannot write %s: %s", f->path, strerror(f->failed_errno));
    if (ok) {
        crypto_generichash_final(&f->digest, hash, sizeof hash);
        sodium_bin2hex(ret_digest, 2 * sizeof hash + 1, hash, sizeof hash);
        *ret_requests = f->requests;
    }
    ZSTD_freeCCtx(f->zstd);
    buf_release(&f->line);
    free(f->path);
    free(f);
    return ok;
}
