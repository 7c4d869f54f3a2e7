/* web_response.c - answers being put together. */
#include "site/web_response.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "site/kept_page.h"

void response_init(struct response *r)
{
    *r = (struct response){.status = 200, .type = "text/html; charset=utf-8"};
    buf_init(&r->body, RESPONSE_MAX_BODY);
    buf_init(&r->packed, RESPONSE_MAX_BODY);
}

void response_release(struct response *r)
{
    for (size_t i = 0; i < r->header_count; i++)
        free(r->headers[i].value);
    buf_release(&r->body);
    buf_release(&r->packed);
    kept_page_drop(r->kept);
    r->kept = NULL;
    r->header_count = 0;
}

void response_header(struct response *r, const char *name, const char *value)
{
    for (const char *p = value; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7F)
            return;
    if (r->header_count < RESPONSE_MAX_HEADERS) {
        r->headers[r->header_count].name = name;
        r->headers[r->header_count++].value = mem_strdup(value);
    }
}

void response_cookie(struct response *r, const char *name, const char *value, long seconds,
                     bool secure)
{
    struct buf line;
    buf_init(&line, 512);
    buf_addf(&line, "%s=%s; Path=/; HttpOnly; SameSite=Lax", name, value);
    if (!*value)
        buf_adds(&line, "; Max-Age=0");
    else if (seconds > 0)
        buf_addf(&line, "; Max-Age=%ld", seconds);
    if (secure)
        buf_adds(&line, "; Secure");
    response_header(r, "Set-Cookie", line.p);
    buf_release(&line);
}

bool response_is_local_path(const char *path)
{
    if (path[0] != '/' || path[1] == '/' || path[1] == '\\')
        return false;
    for (const char *p = path; *p; p++)
        if ((unsigned char)*p <= 0x20 || *p == 0x7F || *p == '\\')
            return false;
    return true;
}

void response_redirect(struct response *r, const char *path)
{
    r->status = 303;
    buf_reset(&r->body);
    response_header(r, "Location", response_is_local_path(path) ? path : "/");
}

const char *response_header_value(const struct response *r, const char *name)
{
    for (size_t i = 0; i < r->header_count; i++)
        if (strcasecmp(r->headers[i].name, name) == 0)
            return r->headers[i].value;
    return NULL;
}
