/* web_request.h - a request as handlers see it: parsed, bounded, and valid UTF-8 throughout.
 *
 * Pure: nothing here knows a socket. What does not parse is an error with one clear line, which the
 * caller answers by 400; nothing is repaired and nothing is guessed. Names are looked up exactly;
 * of values given twice the first counts. */
#ifndef TOKGRID_SITE_WEB_REQUEST_H
#define TOKGRID_SITE_WEB_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum {
    REQUEST_MAX_TARGET = 4096,     /* bytes of path and query */
    REQUEST_MAX_SEGMENTS = 8,      /* of a path */
    REQUEST_MAX_PARAMS = 128,      /* of a query, a form or the cookies */
    REQUEST_MAX_NAME = 64,         /* bytes of a parameter's name */
    REQUEST_MAX_BODY = 8 << 20,    /* bytes of a document that is uploaded */
    REQUEST_MAX_FORM = 256 << 10,  /* bytes of a form without files */
    REQUEST_BODY_SLACK = 64 << 10, /* for what a form puts around an uploaded document */
};

enum request_method {
    METHOD_GET, /* and HEAD: the body is left out further below */
    METHOD_POST,
    METHOD_PATCH,
    METHOD_DELETE,
    METHOD_OTHER,
};

struct param {
    char *name, *value;
    size_t size;     /* of the value; it has no NUL inside, unless it is a file */
    char *file_name; /* of an uploaded file; NULL for a plain value */
};

struct params {
    struct param *v;
    size_t count, cap;
};

/* The headers that anything here reads, and no others. */
enum request_header {
    HEADER_ACCEPT_ENCODING,
    HEADER_ACCEPT_LANGUAGE,
    HEADER_AUTHORIZATION,
    HEADER_CONTENT_ENCODING,
    HEADER_CONTENT_TYPE,
    HEADER_COOKIE,
    HEADER_HOST,
    HEADER_IDEMPOTENCY_KEY,
    HEADER_IF_NONE_MATCH,
    HEADER_ORIGIN,
    HEADER_FETCH_SITE,
    HEADER_COUNT,
};
extern const char *const request_header_names[HEADER_COUNT];

struct request {
    enum request_method method;
    char *path[REQUEST_MAX_SEGMENTS + 1]; /* decoded segments; "/" has none; ends with NULL */
    size_t path_count;
    bool path_slash; /* a slash stands at the end */
    struct params query, cookies, form;
    struct buf body;            /* as it came, or unpacked when it was compressed */
    char *header[HEADER_COUNT]; /* NULL: not sent */
    char address[64];           /* of the client: the socket's, or what a trusted proxy says */
    bool secure;                /* the visitor's connection is https */
};

void request_init(struct request *r);
void request_release(struct request *r); /* zeroed ones are fine */

/* Path and query as they stand in the request line. Escapes are decoded after the path was split,
 * so an encoded slash stays inside of its segment; "." and ".." segments are refused in any
 * spelling, as are empty ones, control characters and bytes that are no UTF-8. */
bool request_parse_target(struct request *r, const char *target, struct err *err) ATTR_CHECK;

/* The body as a form, by the request's content type: urlencoded or multipart/form-data. */
bool request_parse_form(struct request *r, struct err *err) ATTR_CHECK;

/* "a=b; c=d". What is no cookie is passed over: other sites of the same host set some, too. */
void request_parse_cookies(struct request *r, const char *header);

/* Without parameters, in lower case: the content type is this one. */
bool request_has_type(const struct request *r, const char *type);

/* Parameters. */
void params_release(struct params *p);
void params_add(struct params *p, const char *name, const char *value);
const struct param *params_find(const struct params *p, const char *name); /* NULL: not there */
const char *params_get(const struct params *p, const char *name); /* "" when it is not there */
bool params_int(const struct params *p, const char *name, int64_t *ret); /* a whole number */

/* Add s percent-encoded, everything but letters, digits and -._~ (and ':' and '@' in a path). */
void url_add_encoded(struct buf *out, const char *s);

#endif
