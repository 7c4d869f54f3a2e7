/* http_answer.h - the head of an HTTP/1 response as text. */
#ifndef TOKGRID_NET_HTTP_ANSWER_H
#define TOKGRID_NET_HTTP_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct http_answer {
    int status;
    const char *content_type; /* NULL: none */
    const char *headers;      /* further lines, each ended by CRLF; NULL: none */
    int64_t length;           /* of the body; -1: not said */
    bool chunked;
    bool keep_alive;
};

/* Status line, Date, what `a` says, Connection, and the empty line. */
void http_answer_head(const struct http_answer *a, struct buf *out);

bool http_status_has_body(int status); /* false: 1xx, 204, 304 */

#endif
