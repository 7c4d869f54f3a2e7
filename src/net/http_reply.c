/* http_reply.c - collects the headers of a small table while llhttp walks the bytes. */
#include "net/http_reply.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

static const struct header_row {
    const char *name;
    size_t offset, size;
} headers[] = {
    {"content-type", offsetof(struct http_head, content_type), 96},
    {"content-encoding", offsetof(struct http_head, content_encoding), 32},
    {"location", offsetof(struct http_head, location), 256},
    {"server", offsetof(struct http_head, server), 64},
    {"via", offsetof(struct http_head, via), 64},
};

static int on_message_begin(llhttp_t *p)
{
    struct http_reply *r = p->data;
    memset(&r->head, 0, sizeof r->head);
    r->name_len = r->value_len = 0;
    return 0;
}

static int on_header_field(llhttp_t *p, const char *at, size_t n)
{
    struct http_reply *r = p->data;
    for (size_t i = 0; i < n; i++)
        if (r->name_len < sizeof r->name - 1)
            r->name[r->name_len++] = at[i];
        else
            r->name[0] = '\0'; /* too long to be one of ours */
    return 0;
}

static int on_header_field_complete(llhttp_t *p)
{
    struct http_reply *r = p->data;
    r->name[r->name_len] = '\0';
    r->value = NULL;
    r->value_len = 0;
    for (size_t i = 0; i < ARRAY_LEN(headers); i++)
        if (strcasecmp(r->name, headers[i].name) == 0) {
            r->value = (char *)&r->head + headers[i].offset;
            r->value_size = headers[i].size;
            r->value[0] = '\0'; /* said again, the last one counts, also when it is empty */
        }
    return 0;
}

static int on_header_value(llhttp_t *p, const char *at, size_t n)
{
    struct http_reply *r = p->data;
    for (size_t i = 0; r->value && i < n && r->value_len + 1 < r->value_size; i++) {
        r->value[r->value_len++] = at[i];
        r->value[r->value_len] = '\0';
    }
    return 0;
}

static int on_header_value_complete(llhttp_t *p)
{
    struct http_reply *r = p->data;
    r->name_len = 0;
    return 0;
}

static void lower_token(char *s)
{
    s[strcspn(s, "; \t")] = '\0';
    for (; *s; s++)
        *s = (char)tolower((unsigned char)*s);
}

static bool interim(const struct http_reply *r)
{
    return r->head.status >= 100 && r->head.status < 200 && r->head.status != 101;
}

static bool has_no_body(const struct http_reply *r)
{
    return interim(r) || r->head.status == 204 || r->head.status == 304;
}

static int on_headers_complete(llhttp_t *p)
{
    struct http_reply *r = p->data;
    r->head.status = p->status_code;
    lower_token(r->head.content_type);
    lower_token(r->head.content_encoding);
    if (strcmp(r->head.content_encoding, "identity") == 0)
        r->head.content_encoding[0] = '\0';
    char shown[sizeof r->head.location];
    for (size_t i = 2; i < ARRAY_LEN(headers); i++) { /* the rest is shown to people */
        char *text = (char *)&r->head + headers[i].offset;
        text_printable(shown, headers[i].size, text, strlen(text));
        memcpy(text, shown, headers[i].size);
    }
    if (!interim(r))
        r->events->on_head(r->ctx, &r->head);
    return has_no_body(r); /* 1: llhttp expects none, whatever the headers promise */
}

static int on_body(llhttp_t *p, const char *at, size_t n)
{
    struct http_reply *r = p->data;
    if (n > 0) /* llhttp tells empty pieces too */
        r->events->on_body(r->ctx, at, n);
    return 0;
}

static int on_message_complete(llhttp_t *p)
{
    struct http_reply *r = p->data;
    if (interim(r))
        return 0;
    r->complete = true;
    r->keep_alive = llhttp_should_keep_alive(p);
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_message_begin,
    .on_header_field = on_header_field,
    .on_header_field_complete = on_header_field_complete,
    .on_header_value = on_header_value,
    .on_header_value_complete = on_header_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

void http_reply_start(struct http_reply *r, const struct http_reply_events *events, void *ctx)
{
    memset(r, 0, sizeof *r);
    llhttp_init(&r->parser, HTTP_RESPONSE, &settings);
    r->parser.data = r;
    r->events = events;
    r->ctx = ctx;
}

bool http_reply_feed(struct http_reply *r, const char *p, size_t n, struct err *err)
{
    r->started = r->started || n > 0;
    if (r->complete)
        return n == 0 || err_set(err, ERR_PROTOCOL, "the server sent bytes after its answer");
    enum llhttp_errno code = llhttp_execute(&r->parser, p, n);
    if (code == HPE_OK)
        return true;
    if (code == HPE_PAUSED && r->complete)
        return llhttp_get_error_pos(&r->parser) == p + n ||
               err_set(err, ERR_PROTOCOL, "the server sent bytes after its answer");
    return err_set(err, ERR_PROTOCOL, "the answer is not HTTP: %s",
                   llhttp_get_error_reason(&r->parser));
}

bool http_reply_end(struct http_reply *r, struct err *err)
{
    if (r->complete)
        return true;
    if (!r->started)
        return err_set(err, ERR_CLOSED, "the server closed the connection without an answer");
    enum llhttp_errno code = llhttp_finish(&r->parser);
    if ((code == HPE_OK || code == HPE_PAUSED) && r->complete)
        return true;
    return err_set(err, ERR_CLOSED, "the server closed the connection in the middle of its answer");
}
