/* http_request.c - the head's lines are looked at by a scanner of our own before llhttp gets them.
 *
 * The scanner finds the head's end, holds its lines to CRLF and its size to the bounds; versions of
 * llhttp differ in what they let pass there. The head is kept as it came and llhttp's spans become
 * offsets into it, so nothing is copied twice. The scanner's verdict on a byte counts only once
 * llhttp took all bytes before it: then a split cannot change which of the two refuses. */
#include "net/http_request.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Where the scanner is. AT_START: nothing but empty lines so far, which one may send. */
enum place { AT_START, START_CR, IN_LINE, LINE_CR, LINE_START, LAST_CR };

static const char not_http[] = "the request line is not METHOD TARGET HTTP/1.x";

/* The first reason counts. */
static void refuse(struct http_request *r, int status, const char *why)
{
    if (r->refused)
        return;
    r->refused = status;
    r->why = why;
    r->complete = false;
}

/* --- what llhttp tells --- */

/* Spans come in pieces, one after the other in the head. */
static void extend(const struct http_request *r, struct http_request_span *s, const char *at,
                   size_t n)
{
    if (n == 0) /* an empty value is told from where the next line begins */
        return;
    if (s->n == 0)
        s->at = (uint32_t)(at - r->head.p);
    s->n += (uint32_t)n;
}

static int on_url(llhttp_t *p, const char *at, size_t n)
{
    struct http_request *r = p->data;
    extend(r, &r->target, at, n);
    return 0;
}

static int on_header_field(llhttp_t *p, const char *at, size_t n)
{
    struct http_request *r = p->data;
    if (!r->head_parsed) /* else: a trailer */
        extend(r, &r->name, at, n);
    return 0;
}

static int on_header_field_complete(llhttp_t *p)
{
    struct http_request *r = p->data;
    if (r->head_parsed)
        return 0;
    if (r->name.n == 0 || r->header_count == HTTP_REQUEST_MAX_HEADERS) {
        refuse(r, r->name.n ? 431 : 400, r->name.n ? "too many header lines" : "a nameless header");
        return -1;
    }
    MEM_GROW(r->headers, r->header_count, r->header_cap);
    struct http_request_header *h = &r->headers[r->header_count++];
    h->name = r->name;
    /* where the colon is: an empty value stays there */
    h->value = (struct http_request_span){.at = r->name.at + r->name.n};
    r->name.n = 0;
    return 0;
}

static int on_header_value(llhttp_t *p, const char *at, size_t n)
{
    struct http_request *r = p->data;
    if (!r->head_parsed && r->header_count > 0)
        extend(r, &r->headers[r->header_count - 1].value, at, n);
    return 0;
}

static int on_headers_complete(llhttp_t *p)
{
    struct http_request *r = p->data;
    r->head_parsed = true;
    r->keep_alive = llhttp_should_keep_alive(p);
    return 0;
}

static int on_chunk_header(llhttp_t *p)
{
    struct http_request *r = p->data;
    if (p->content_length <= r->max_body - r->body.len)
        return 0;
    refuse(r, 413, "the body is too large");
    return -1;
}

static int on_body(llhttp_t *p, const char *at, size_t n)
{
    struct http_request *r = p->data;
    if (buf_add(&r->body, at, n))
        return 0;
    refuse(r, 413, "the body is too large");
    return -1;
}

static int on_message_complete(llhttp_t *p)
{
    struct http_request *r = p->data;
    r->complete = true;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_url = on_url,
    .on_header_field = on_header_field,
    .on_header_field_complete = on_header_field_complete,
    .on_header_value = on_header_value,
    .on_headers_complete = on_headers_complete,
    .on_chunk_header = on_chunk_header,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

/* Returns how many bytes llhttp took. */
static size_t parse(struct http_request *r, const char *p, size_t n)
{
    enum llhttp_errno code = llhttp_execute(&r->parser, p, n);
    if (code == HPE_OK)
        return n;
    if (!r->complete) {
        bool version = code == HPE_INVALID_VERSION || code == HPE_PAUSED_H2_UPGRADE;
        refuse(r, version ? 505 : 400, llhttp_get_error_reason(&r->parser));
    }
    return (size_t)(llhttp_get_error_pos(&r->parser) - p);
}

/* --- the head --- */

struct verdict {
    int status; /* 0: none */
    const char *why;
};

/* One byte of the head; 400 for one that may not stand there. */
static struct verdict scan_byte(struct http_request *r, char c)
{
    bool after_cr = r->place == START_CR || r->place == LINE_CR || r->place == LAST_CR;

    if (after_cr != (c == '\n'))
        return (struct verdict){400, "a line of the head does not end by CRLF"};
    if (r->place == LINE_START && (c == ' ' || c == '\t'))
        return (struct verdict){400, "a header is folded over two lines"};
    if (c == '\n') {
        r->head_ended = r->place == LAST_CR;
        r->in_first = r->place == START_CR;
        r->place = r->place == START_CR ? AT_START : LINE_START;
    } else if (c == '\r') {
        r->place = r->place == AT_START ? START_CR : r->place == LINE_START ? LAST_CR : LINE_CR;
    } else {
        r->place = IN_LINE;
    }
    return (struct verdict){0};
}

/* How many of the bytes belong to the head, up to one that does not do: *ret_verdict says so. */
static size_t scan(struct http_request *r, const char *p, size_t n, struct verdict *ret_verdict)
{
    size_t i = 0;
    *ret_verdict = (struct verdict){0};
    while (i < n && !r->head_ended) {
        size_t at = r->head.len + i;
        if (r->in_first && at >= HTTP_REQUEST_MAX_LINE)
            *ret_verdict = (struct verdict){414, "the request line is too long"};
        else if (at >= r->head.max)
            *ret_verdict = (struct verdict){431, "the head is too large"};
        else
            *ret_verdict = scan_byte(r, p[i]);
        if (ret_verdict->status)
            break;
        i++;
    }
    return i;
}

static char *text(const struct http_request *r, struct http_request_span s)
{
    return r->head.p + s.at;
}

static void cut_strings(struct http_request *r)
{
    for (size_t i = 0; i < r->header_count; i++) {
        struct http_request_header *h = &r->headers[i];
        while (h->value.n > 0 && strchr(" \t", text(r, h->value)[h->value.n - 1]))
            h->value.n--;
        text(r, h->name)[h->name.n] = '\0';
        text(r, h->value)[h->value.n] = '\0';
    }
    text(r, r->target)[r->target.n] = '\0';
}

/* The target without scheme and host, which a client may name too, and in two parts. */
static void split_target(struct http_request *r)
{
    char *target = text(r, r->target), *authority = strstr(target, "://");

    if (target[0] != '/' && authority)
        target = authority + 3 + strcspn(authority + 3, "/?#");
    target[strcspn(target, "#")] = '\0';
    char *mark = strchr(target, '?');
    r->query = mark ? mark + 1 : "";
    if (mark)
        *mark = '\0';
    r->path = *target ? target : "/";
}

static size_t count_headers(const struct http_request *r, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < r->header_count; i++)
        n += strcasecmp(text(r, r->headers[i].name), name) == 0;
    return n;
}

/* Is the body's length said once and clearly, and is it one to take? */
static struct verdict check_framing(const struct http_request *r)
{
    size_t encodings = count_headers(r, "transfer-encoding");
    size_t lengths = count_headers(r, "content-length");

    if (encodings + lengths > 1)
        return (struct verdict){400, "the length of the body is said twice"};
    if (encodings && r->is_1_0)
        return (struct verdict){400, "HTTP/1.0 has no Transfer-Encoding"};
    if (encodings && strcasecmp(http_request_header(r, "transfer-encoding"), "chunked") != 0)
        return (struct verdict){501, "the only transfer coding here is chunked"};
    if (lengths && r->parser.content_length > r->max_body)
        return (struct verdict){413, "the body is too large"};
    return (struct verdict){0};
}

static struct verdict check_head(struct http_request *r)
{
    const char *expect = http_request_header(r, "expect");
    size_t hosts = count_headers(r, "host");

    if (r->parser.method == HTTP_CONNECT)
        return (struct verdict){501, "this is no proxy"};
    if (hosts > 1 || (hosts == 0 && !r->is_1_0))
        return (struct verdict){400, "one Host header is needed"};
    if (expect && !r->is_1_0) {
        if (strcasecmp(expect, "100-continue") != 0)
            return (struct verdict){417, "the only expectation here is 100-continue"};
        r->wants_continue = true;
    }
    return check_framing(r);
}

/* The empty line was seen. */
static void finish_head(struct http_request *r)
{
    static const char http[] = " HTTP/1.";
    if (!r->head_parsed) {
        refuse(r, 400, "the head ends too early");
        return;
    }
    if (r->parser.http_major != 1) {
        refuse(r, 505, "HTTP/1.0 and 1.1 are spoken here");
        return;
    }
    /* llhttp knows RTSP and others too; behind the target there is the rest of a line at least */
    if (memcmp(text(r, r->target) + r->target.n, http, sizeof http - 1) != 0) {
        refuse(r, 400, not_http);
        return;
    }
    r->is_1_0 = r->parser.http_minor == 0;
    r->method = llhttp_method_name((llhttp_method_t)r->parser.method);
    cut_strings(r);
    split_target(r);
    struct verdict verdict = check_head(r);
    if (verdict.status)
        refuse(r, verdict.status, verdict.why);
    else
        r->head_checked = true;
}

static size_t feed_head(struct http_request *r, const char *p, size_t n)
{
    struct verdict verdict;
    size_t good = scan(r, p, n, &verdict), old = r->head.len;

    buf_add(&r->head, p, good);
    size_t parsed = parse(r, r->head.p + old, good);
    if (parsed < good || (r->head_parsed && !r->head_ended)) /* HTTP/0.9 is one line */
        refuse(r, 400, not_http);
    if (verdict.status)
        refuse(r, verdict.status, verdict.why);
    if (!r->refused && r->head_ended)
        finish_head(r);
    return good;
}

/* --- the interface --- */

void http_request_init(struct http_request *r, size_t max_head, size_t max_body)
{
    assert(max_head < UINT32_MAX);
    *r = (struct http_request){.max_body = max_body, .in_first = true};
    llhttp_init(&r->parser, HTTP_REQUEST, &settings);
    r->parser.data = r;
    buf_init(&r->head, max_head);
    buf_init(&r->body, max_body);
}

void http_request_reset(struct http_request *r)
{
    buf_release(&r->head);
    buf_release(&r->body);
    free(r->headers);
    http_request_init(r, r->head.max, r->max_body);
}

size_t http_request_feed(struct http_request *r, const char *p, size_t n)
{
    size_t used = 0;
    if (r->refused || r->complete)
        return 0;
    if (!r->head_ended)
        used = feed_head(r, p, n);
    if (r->head_checked && !r->complete && used < n)
        used += parse(r, p + used, n - used);
    return used;
}

bool http_request_begun(const struct http_request *r)
{
    return r->place != AT_START && r->place != START_CR;
}

const char *http_request_header(const struct http_request *r, const char *name)
{
    for (size_t i = 0; i < r->header_count; i++)
        if (strcasecmp(text(r, r->headers[i].name), name) == 0)
            return text(r, r->headers[i].value);
    return NULL;
}

void http_request_drop_body(struct http_request *r)
{
    buf_release(&r->body);
}

size_t http_request_bytes(const struct http_request *r)
{
    return r->head.cap + r->body.cap + r->header_cap * sizeof *r->headers;
}
