/* web_response.h - what a handler answers: a status, a type, a body, headers and cookies.
 *
 * Pure. How it travels (compression, ETag, length, security headers) is http.h's business. Header
 * values are ours or percent-encoded: response_header refuses line breaks all the same. */
#ifndef TOKGRID_SITE_WEB_RESPONSE_H
#define TOKGRID_SITE_WEB_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { RESPONSE_MAX_HEADERS = 12, RESPONSE_MAX_BODY = 32 << 20 };

enum response_cache {
    CACHE_NEVER,   /* what one visitor alone may see */
    CACHE_OWN,     /* the same, but he may keep it and ask again with its ETag */
    CACHE_CHECK,   /* may be kept, but is asked for again with its ETag */
    CACHE_FOREVER, /* its address changes with its bytes */
};

struct kept_page;

struct response {
    int status;       /* 200 unless set */
    const char *type; /* static: "text/html; charset=utf-8" */
    enum response_cache cache;
    struct buf body;
    struct buf packed;      /* the same as gzip, when it was made already; else empty */
    struct kept_page *kept; /* held: sent in place of body and packed; else NULL */
    struct {
        const char *name; /* static */
        char *value;
    } headers[RESPONSE_MAX_HEADERS];
    size_t header_count;
    bool heavy; /* much memory was needed on the way: the allocator gives it back afterwards */
};

void response_init(struct response *r);
void response_release(struct response *r);

/* Further headers. Those that do not fit, or hold a control character, are dropped. */
void response_header(struct response *r, const char *name, const char *value);

/* Set-Cookie with HttpOnly, SameSite=Lax and Path=/; Secure where the visitor came by https. An
 * empty value takes the cookie back. `seconds` 0: until the browser is closed. */
void response_cookie(struct response *r, const char *name, const char *value, long seconds,
                     bool secure);

/* 303 to a path of this site, which begins with one slash; anything else leads to "/": no address
 * that a visitor gives can send him elsewhere. */
void response_redirect(struct response *r, const char *path);
bool response_is_local_path(const char *path);

const char *response_header_value(const struct response *r, const char *name); /* NULL: not set */

#endif
