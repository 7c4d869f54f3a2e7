/* web_request.c - targets, forms and cookies, byte by byte: a grammar each, nothing tolerated. */
#include "site/web_request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "base/text.h"

const char *const request_header_names[HEADER_COUNT] = {
    [HEADER_ACCEPT_ENCODING] = "Accept-Encoding",
    [HEADER_ACCEPT_LANGUAGE] = "Accept-Language",
    [HEADER_AUTHORIZATION] = "Authorization",
    [HEADER_CONTENT_ENCODING] = "Content-Encoding",
    [HEADER_CONTENT_TYPE] = "Content-Type",
    [HEADER_COOKIE] = "Cookie",
    [HEADER_HOST] = "Host",
    [HEADER_IDEMPOTENCY_KEY] = "Idempotency-Key",
    [HEADER_IF_NONE_MATCH] = "If-None-Match",
    [HEADER_ORIGIN] = "Origin",
    [HEADER_FETCH_SITE] = "Sec-Fetch-Site",
};

void request_init(struct request *r)
{
    *r = (struct request){0};
    buf_init(&r->body, REQUEST_MAX_BODY + REQUEST_BODY_SLACK);
}

void request_release(struct request *r)
{
    for (size_t i = 0; i < r->path_count; i++)
        free(r->path[i]);
    for (size_t i = 0; i < HEADER_COUNT; i++)
        free(r->header[i]);
    params_release(&r->query);
    params_release(&r->cookies);
    params_release(&r->form);
    buf_release(&r->body);
}

/* ---- parameters ------------------------------------------------------------------------------ */

void params_release(struct params *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free(p->v[i].name);
        free(p->v[i].value);
        free(p->v[i].file_name);
    }
    free(p->v);
    *p = (struct params){0};
}

static void add_take(struct params *p, struct param param)
{
    MEM_GROW(p->v, p->count, p->cap);
    p->v[p->count++] = param;
}

void params_add(struct params *p, const char *name, const char *value)
{
    add_take(p, (struct param){
                    .name = mem_strdup(name), .value = mem_strdup(value), .size = strlen(value)});
}

const struct param *params_find(const struct params *p, const char *name)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->v[i].name, name) == 0)
            return &p->v[i];
    return NULL;
}

const char *params_get(const struct params *p, const char *name)
{
    const struct param *found = params_find(p, name);
    return found && !found->file_name ? found->value : "";
}

bool params_int(const struct params *p, const char *name, int64_t *ret)
{
    return num_parse_i64(params_get(p, name), ret);
}

/* ---- percent encoding ------------------------------------------------------------------------ */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Line breaks and tabs may stand in what is typed into a form, other control characters nowhere. */
static bool has_control(const char *s, bool in_path)
{
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7F)
            if (in_path || !strchr("\t\r\n", *s))
                return true;
    return false;
}

/* "%41" as a byte; -1 when it is none that text can hold. */
static int decode_escape(const char *p, size_t left)
{
    int high = left > 2 ? hex_digit(p[1]) : -1, low = high >= 0 ? hex_digit(p[2]) : -1;
    return low < 0 || (high == 0 && low == 0) ? -1 : high * 16 + low;
}

/* Decoded into `out`, which has n + 1 bytes; false at an escape that is none, or a NUL. */
static bool decode_bytes(const char *p, size_t n, bool plus, char *out, size_t *ret_used)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        bool escape = p[i] == '%';
        int c = escape ? decode_escape(p + i, n - i) : (unsigned char)p[i];
        if (c <= 0)
            return false;
        out[used++] = plus && !escape && c == '+' ? ' ' : (char)c;
        i += escape ? 2 : 0;
    }
    *ret_used = used;
    return true;
}

/* Decoded, NUL-ended and checked, or NULL. `plus` stands for a blank in forms and queries. */
static char *decode(const char *p, size_t n, bool plus, struct err *err)
{
    char *out = mem_array(n + 1, 1);
    const char *fault = NULL;
    size_t used;
    if (!decode_bytes(p, n, plus, out, &used))
        fault = "a '%' that is no escape, or a NUL";
    else if (!text_utf8_valid(out, used))
        fault = "bytes that are not UTF-8";
    else if (has_control(out, !plus))
        fault = "a control character";
    if (!fault)
        return out;
    free(out);
    err_set(err, ERR_FORMAT, "the request holds %s", fault);
    return NULL;
}

void url_add_encoded(struct buf *out, const char *s)
{
    static const char digits[] = "0123456789ABCDEF";
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            strchr("-._~:@", c)) {
            buf_addc(out, *s);
        } else {
            buf_addc(out, '%');
            buf_addc(out, digits[c >> 4]);
            buf_addc(out, digits[c & 15]);
        }
    }
}

/* ---- query and urlencoded form --------------------------------------------------------------- */

static bool parse_pair(struct params *p, const char *text, size_t n, struct err *err)
{
    const char *equals = memchr(text, '=', n);
    size_t name_size = equals ? (size_t)(equals - text) : n;
    size_t value_size = equals ? n - name_size - 1 : 0;
    if (p->count >= REQUEST_MAX_PARAMS)
        return err_set(err, ERR_LIMIT, "more than %d parameters", REQUEST_MAX_PARAMS);
    char *name = decode(text, name_size, true, err);
    char *value = name ? decode(equals ? equals + 1 : "", value_size, true, err) : NULL;
    if (!value || !*name || strlen(name) > REQUEST_MAX_NAME) {
        if (value)
            err_set(err, ERR_FORMAT, "a parameter's name is empty or longer than %d bytes",
                    REQUEST_MAX_NAME);
        free(name);
        free(value);
        return false;
    }
    add_take(p, (struct param){.name = name, .value = value, .size = strlen(value)});
    return true;
}

static bool params_parse(struct params *p, const char *text, size_t n, struct err *err)
{
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '&', n - at);
        size_t size = end ? (size_t)(end - text) - at : n - at;
        if (size > 0 && !parse_pair(p, text + at, size, err))
            return false;
        at += size + 1;
    }
    return true;
}

/* ---- target ---------------------------------------------------------------------------------- */

static bool add_segment(struct request *r, const char *p, size_t n, struct err *err)
{
    if (r->path_count == REQUEST_MAX_SEGMENTS)
        return err_set(err, ERR_LIMIT, "the path has more than %d parts", REQUEST_MAX_SEGMENTS);
    char *segment = decode(p, n, false, err);
    if (!segment)
        return false;
    r->path[r->path_count++] = segment;
    if (*segment && strcmp(segment, ".") != 0 && strcmp(segment, "..") != 0)
        return true;
    return err_set(err, ERR_FORMAT, "the path holds an empty part, '.' or '..'");
}

bool request_parse_target(struct request *r, const char *target, struct err *err)
{
    size_t path_size = strcspn(target, "?");
    if (strlen(target) > REQUEST_MAX_TARGET)
        return err_set(err, ERR_LIMIT, "the address is longer than %d bytes", REQUEST_MAX_TARGET);
    if (*target != '/')
        return err_set(err, ERR_FORMAT, "the address does not begin with '/'");
    for (size_t at = 1; at < path_size;) {
        const char *end = memchr(target + at, '/', path_size - at);
        size_t size = end ? (size_t)(end - target) - at : path_size - at;
        if (!add_segment(r, target + at, size, err))
            return false;
        at += size + 1;
    }
    r->path_slash = target[path_size - 1] == '/';
    if (!target[path_size])
        return true;
    const char *query = target + path_size + 1;
    return params_parse(&r->query, query, strlen(query), err);
}

/* ---- multipart/form-data --------------------------------------------------------------------- */

/* The value of `name="..."` among a header's parameters; NULL when it is not there. Quoted, as
 * browsers write it: a quote inside is %22 there. */
static char *header_parameter(const char *line, size_t n, const char *name)
{
    size_t size = strlen(name);
    for (size_t i = 0; i + size + 2 < n; i++) {
        const char *p = line + i;
        if ((*p != ' ' && *p != ';') || strncasecmp(p + 1, name, size) != 0 || p[size + 1] != '=')
            continue;
        p += size + 2;
        size_t left = n - (size_t)(p - line);
        if (left == 0 || *p != '"')
            return NULL;
        const char *end = memchr(p + 1, '"', left - 1);
        return end ? mem_strndup(p + 1, (size_t)(end - p - 1)) : NULL;
    }
    return NULL;
}

static const char *find(const char *p, size_t n, const char *what, size_t size)
{
    return memmem(p, n, what, size);
}

/* One part: headers, an empty line, the value. */
static bool parse_part(struct params *p, const char *part, size_t n, struct err *err)
{
    static const char disposition[] = "content-disposition:";
    const char *blank = find(part, n, "\r\n\r\n", 4);
    struct param param = {0};
    if (!blank || p->count >= REQUEST_MAX_PARAMS)
        return err_set(err, ERR_FORMAT, "the form has a part without headers, or too many parts");
    for (const char *line = part; line < blank;) {
        const char *end = find(line, (size_t)(blank + 2 - line), "\r\n", 2);
        size_t size = (size_t)(end - line);
        if (size > sizeof disposition &&
            strncasecmp(line, disposition, sizeof disposition - 1) == 0 && !param.name) {
            param.name = header_parameter(line, size, "name");
            param.file_name = header_parameter(line, size, "filename");
        }
        line = end + 2;
    }
    param.size = n - (size_t)(blank + 4 - part);
    bool ok = param.name && *param.name && strlen(param.name) <= REQUEST_MAX_NAME &&
              text_utf8_valid(param.name, strlen(param.name)) &&
              (!param.file_name || text_utf8_valid(param.file_name, strlen(param.file_name)));
    if (ok) {
        param.value = mem_alloc(param.size + 1);
        memcpy(param.value, blank + 4, param.size);
        ok = param.file_name ||
             (strlen(param.value) == param.size && text_utf8_valid(param.value, param.size) &&
              !has_control(param.value, false));
    }
    if (ok) {
        add_take(p, param);
        return true;
    }
    free(param.name);
    free(param.file_name);
    free(param.value);
    return err_set(err, ERR_FORMAT, "a part of the form has no name or is not UTF-8");
}

/* "--boundary" with the line break before it; the first one may stand at the very beginning. */
static bool parse_multipart(struct params *p, const struct buf *body, const char *boundary,
                            struct err *err)
{
    char line[80];
    int size = snprintf(line, sizeof line, "\r\n--%s", boundary);
    const char *at = body->p, *end = body->p + body->len;
    if (body->len < (size_t)size || memcmp(at, line + 2, (size_t)size - 2) != 0)
        return err_set(err, ERR_FORMAT, "the form does not begin with its boundary");
    at += size - 2;
    while (end - at >= 2 && memcmp(at, "\r\n", 2) == 0) {
        at += 2;
        const char *next = find(at, (size_t)(end - at), line, (size_t)size);
        if (!next)
            return err_set(err, ERR_FORMAT, "the form ends within a part");
        if (!parse_part(p, at, (size_t)(next - at), err))
            return false;
        at = next + size;
    }
    if (end - at >= 2 && memcmp(at, "--", 2) == 0)
        return true;
    return err_set(err, ERR_FORMAT, "the form has no end");
}

static bool get_boundary(const char *type, char *out, size_t size)
{
    const char *p = text_find_nocase(type, "boundary=");
    if (!p)
        return false;
    p += strlen("boundary=");
    bool quoted = *p == '"';
    p += quoted;
    size_t n = strcspn(p, quoted ? "\"" : "; ");
    if (n == 0 || n > 70 || n >= size)
        return false;
    memcpy(out, p, n);
    out[n] = '\0';
    return true;
}

bool request_has_type(const struct request *r, const char *type)
{
    const char *sent = r->header[HEADER_CONTENT_TYPE];
    size_t n = sent ? strcspn(sent, "; ") : 0;
    return n == strlen(type) && strncasecmp(sent, type, n) == 0;
}

bool request_parse_form(struct request *r, struct err *err)
{
    char boundary[72];
    if (request_has_type(r, "application/x-www-form-urlencoded"))
        return params_parse(&r->form, r->body.p, r->body.len, err);
    if (!request_has_type(r, "multipart/form-data") ||
        !get_boundary(r->header[HEADER_CONTENT_TYPE], boundary, sizeof boundary))
        return err_set(err, ERR_FORMAT,
                       "a form was expected: application/x-www-form-urlencoded or "
                       "multipart/form-data");
    return parse_multipart(&r->form, &r->body, boundary, err);
}

/* ---- cookies --------------------------------------------------------------------------------- */

void request_parse_cookies(struct request *r, const char *header)
{
    while (*header && r->cookies.count < REQUEST_MAX_PARAMS) {
        header += strspn(header, "; ");
        size_t n = strcspn(header, ";");
        const char *equals = memchr(header, '=', n);
        size_t name_size = equals ? (size_t)(equals - header) : 0;
        if (name_size > 0 && name_size <= REQUEST_MAX_NAME && text_utf8_valid(header, n))
            add_take(&r->cookies, (struct param){
                                      .name = mem_strndup(header, name_size),
                                      .value = mem_strndup(equals + 1, n - name_size - 1),
                                      .size = n - name_size - 1,
                                  });
        header += n;
    }
}
