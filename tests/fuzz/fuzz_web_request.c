/* fuzz_web_request.c - whatever a client sends to the site, what handlers get is bounded and valid
 * UTF-8 without control characters, and no path has a part that leads upwards. The first line of
 * the input is the target, the second the content type, the third the cookies, the rest the body.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "site/gzip.h"
#include "site/routes.h"
#include "site/web_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* The next line as a string of its own; what follows a NUL is not seen. */
static char *take_line(const char **p, size_t *n)
{
    const char *end = memchr(*p, '\n', *n);
    size_t length = end ? (size_t)(end - *p) : *n;
    char *line = mem_strndup(*p, length);
    *p += length + (end != NULL);
    *n -= length + (end != NULL);
    return line;
}

static void check_params(const struct params *params, bool decoded)
{
    must(params->count <= REQUEST_MAX_PARAMS);
    for (size_t i = 0; i < params->count; i++) {
        const struct param *p = &params->v[i];
        must(strlen(p->name) <= REQUEST_MAX_NAME && text_utf8_valid(p->name, strlen(p->name)));
        if (p->file_name)
            continue;
        must(strlen(p->value) == p->size && text_utf8_valid(p->value, p->size));
        for (const char *c = p->value; decoded && *c; c++)
            must((unsigned char)*c >= 0x20 || strchr("\t\r\n", *c));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *p = (const char *)data;
    struct request r;
    struct err err;
    struct buf plain;
    struct route_match match;

    request_init(&r);
    char *target = take_line(&p, &size), *type = take_line(&p, &size);
    char *cookies = take_line(&p, &size);
    r.header[HEADER_CONTENT_TYPE] = type;
    buf_add(&r.body, p, size);
    if (request_parse_target(&r, target, &err))
        for (size_t i = 0; i < r.path_count; i++)
            must(*r.path[i] && strcmp(r.path[i], ".") != 0 && strcmp(r.path[i], "..") != 0);
    routes_find(&r, &match);
    must(match.arg_count <= ROUTE_MAX_ARGS);
    request_parse_cookies(&r, cookies);
    check_params(&r.cookies, false);
    if (request_parse_form(&r, &err))
        check_params(&r.form, true);
    check_params(&r.query, true);
    buf_init(&plain, 1 << 20);
    if (!gzip_unpack(p, size, &plain, &err))
        must(err.code == ERR_FORMAT || err.code == ERR_LIMIT);
    buf_release(&plain);
    free(target);
    free(cookies);
    request_release(&r);
    return 0;
}
