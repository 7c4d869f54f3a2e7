/* http_request.h - an HTTP/1 request out of bytes: llhttp, with bounds and without tolerance.
 *
 * Sans I/O: feed it what was read; it takes the bytes up to the end of one request and leaves the
 * rest. Any split of the bytes gives the same request, or the same refusal with the status to
 * answer it by:
 *
 *   400  no HTTP; a line that does not end by CRLF, a folded header; no Host or two in HTTP/1.1; a
 *        body whose length is said twice, or by Transfer-Encoding in HTTP/1.0
 *   413  a body over max_body, also when it is only announced
 *   414  a request line over HTTP_REQUEST_MAX_LINE
 *   417  an Expect other than 100-continue
 *   431  a head over max_head, or over HTTP_REQUEST_MAX_HEADERS lines
 *   501  CONNECT, a transfer coding before chunked
 *   505  a version other than 1.0 and 1.1
 *
 * So two readers of the same bytes cannot come to different ends of a request. Trailers are read
 * over. An Upgrade is not taken up: the request is an ordinary one. */
#ifndef TOKGRID_NET_HTTP_REQUEST_H
#define TOKGRID_NET_HTTP_REQUEST_H

#include <llhttp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { HTTP_REQUEST_MAX_LINE = 8192, HTTP_REQUEST_MAX_HEADERS = 100 };

struct http_request_span {
    uint32_t at, n; /* in the head */
};

struct http_request_header {
    struct http_request_span name, value;
};

struct http_request {
    llhttp_t parser;
    size_t max_body;
    struct buf head; /* as it came, cut into strings once it is whole */
    struct buf body; /* without chunk framing */
    struct http_request_span target;
    struct http_request_span name; /* of the header under way */
    struct http_request_header *headers;
    size_t header_count, header_cap;
    uint8_t place;     /* of the next byte among the head's lines */
    bool in_first;     /* line */
    bool head_ended;   /* its empty line was seen */
    bool head_parsed;  /* and llhttp thinks so too */
    bool head_checked; /* and it is one to go on with */
    bool complete;     /* not when it was refused */
    /* Once the head was checked: */
    bool wants_continue; /* the client waits for 100 Continue before its body */
    bool keep_alive;     /* the connection may be used again */
    bool is_1_0;         /* HTTP/1.0 */
    const char *method, *path, *query;
    /* Refused: the status, and a line for the client; neither begins nor ends anything else. */
    int refused;
    const char *why;
};

/* Life cycle. reset forgets the request and gives its memory back: between
 * requests it is the struct only, and needs no release. */
void http_request_init(struct http_request *r, size_t max_head, size_t max_body);
void http_request_reset(struct http_request *r);

/* Returns how many bytes it took: all, unless the request is complete or refused by then. */
size_t http_request_feed(struct http_request *r, const char *p, size_t n);

bool http_request_begun(const struct http_request *r); /* more than empty lines came */

/* Of a complete request: value of the first header of that name in any case, NULL when none. */
const char *http_request_header(const struct http_request *r, const char *name);

void http_request_drop_body(struct http_request *r); /* give its memory back */
size_t http_request_bytes(const struct http_request *r);

#endif
