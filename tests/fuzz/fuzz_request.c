/* fuzz_request.c - bytes of a connection as HTTP requests, one after the other until one is
 * refused. Whole, one by one, and split where the bytes themselves say: the same requests, and the
 * same refusal at the same place, must come of it, within the bounds. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net/http_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum split { SPLIT_NONE, SPLIT_BYTES, SPLIT_BY_CONTENT, SPLIT_COUNT };

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* What may be relied on once a request is handed over. */
static void check_complete(const struct http_request *r, size_t max_head, size_t max_body)
{
    require(!r->refused && r->head_checked);
    require(r->head.len <= max_head && r->body.len <= max_body);
    require(r->header_count <= HTTP_REQUEST_MAX_HEADERS);
    require(r->method && r->path && r->path[0] && r->query && !strchr(r->path, '?'));
    require(!http_request_header(r, "transfer-encoding") ||
            !http_request_header(r, "content-length"));
    require(r->is_1_0 || http_request_header(r, "host"));
    for (size_t i = 0; i < r->header_count; i++) {
        const char *name = r->head.p + r->headers[i].name.at;
        const char *value = r->head.p + r->headers[i].value.at;
        require(strlen(name) == r->headers[i].name.n && name[0]);
        require(strlen(value) == r->headers[i].value.n);
        require(!strpbrk(name, " \t\r\n:") && !strpbrk(value, "\r\n"));
        require(http_request_header(r, name) != NULL);
    }
}

static void describe(const struct http_request *r, size_t ended_at, struct buf *out)
{
    if (r->refused) {
        require(r->why && !r->complete);
        buf_addf(out, "refused %d", r->refused);
        return;
    }
    buf_addf(out, "[%s %s?%s %d %d", r->method, r->path, r->query, r->keep_alive, r->is_1_0);
    for (size_t i = 0; i < r->header_count; i++)
        buf_addf(out, " %s=%s", r->head.p + r->headers[i].name.at,
                 r->head.p + r->headers[i].value.at);
    buf_addf(out, " %zu:", r->body.len);
    buf_add(out, r->body.p, r->body.len);
    buf_addf(out, "]@%zu", ended_at);
}

static size_t piece(enum split split, const uint8_t *data, size_t at, size_t size)
{
    size_t n = split == SPLIT_NONE ? size : split == SPLIT_BYTES ? 1 : (size_t)data[at] % 23;
    return n < size - at ? n : size - at;
}

static void run(const uint8_t *data, size_t size, enum split split, size_t max_head,
                size_t max_body, struct buf *out)
{
    struct http_request r;

    http_request_init(&r, max_head, max_body);
    for (size_t at = 0, idle = 0; at < size && !r.refused;) {
        size_t n = piece(split, data, at, size);
        if (n == 0 && idle++ % 2 == 1) /* an empty read now and then, but always on in the end */
            n = 1;
        char *copy = malloc(n ? n : 1); /* exact and short-lived: a pointer kept too long shows */
        require(copy);
        memcpy(copy, data + at, n);
        size_t used = http_request_feed(&r, copy, n);
        free(copy);
        require(used <= n && (used == n || r.complete || r.refused));
        at += used;
        if (r.complete)
            check_complete(&r, max_head, max_body);
        if (r.complete || r.refused)
            describe(&r, at, out);
        if (r.complete)
            http_request_reset(&r);
    }
    http_request_reset(&r);
    require(http_request_bytes(&r) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t limits[][2] = {{32 << 10, 1 << 20}, {200, 20}};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct buf whole, other;
        buf_init(&whole, 256 << 20);
        buf_init(&other, 256 << 20);
        run(data, size, SPLIT_NONE, limits[i][0], limits[i][1], &whole);
        for (enum split split = SPLIT_BYTES; split < SPLIT_COUNT; split++) {
            buf_reset(&other);
            run(data, size, split, limits[i][0], limits[i][1], &other);
            require(whole.len == other.len && memcmp(whole.p, other.p, whole.len) == 0);
        }
        buf_release(&whole);
        buf_release(&other);
    }
    return 0;
}
