/* http.c - libmicrohttpd in poll mode with a thread pool; a `call` is one request on its way. */
#include "site/http.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/num.h"
#include "base/text.h"
#include "site/gzip.h"
#include "site/http_guard.h"
#include "site/kept_page.h"
#include "site/libmicrohttpd.h"

enum {
    CONNECTIONS = 1000,
    HEAD_BYTES = 24 << 10, /* of a connection: head of the request, head of the answer */
    ALL_BODIES = 256 << 20,
    SWALLOW = 64 << 20,   /* of a body that is too large, so that its sender gets to the answer */
    HEAVY_FROM = 1 << 20, /* of a body: memory is given back after such a request */
    COMPRESS_FROM = 1024, /* bytes; smaller bodies fit a packet anyway */
    IDLE_S = 20,
};
#define REQUEST_NS (30 * NS_PER_S)
#define ANSWER_NS  (120 * NS_PER_S)

struct http {
    struct http_handler handler;
    struct MHD_Daemon *daemon;
    struct http_guard *guard;
    bool trust_proxy;
    atomic_size_t bodies; /* bytes of bodies that are held now */
    char url[300];
};

struct call {
    char *target;
    struct request request;
    size_t max_body, held;
    int status; /* 0: nothing is wrong so far */
    struct err err;
    bool begun;
    bool heavy; /* as in struct response */
};

/* ---- the request ----------------------------------------------------------------------------- */

static void *on_target(void *ctx, const char *uri, struct MHD_Connection *connection)
{
    struct call *call = mem_alloc(sizeof *call);
    (void)ctx, (void)connection;
    request_init(&call->request);
    call->target = mem_strdup(uri);
    return call;
}

static size_t keep_escapes(void *ctx, struct MHD_Connection *connection, char *s)
{
    (void)ctx, (void)connection;
    return strlen(s);
}

static bool fail(struct call *call, int status, const char *text)
{
    call->status = status;
    return err_set(&call->err, ERR_PROTOCOL, "%s", text);
}

static enum request_method method_of(const char *name)
{
    static const struct {
        const char *name;
        enum request_method method;
    } rows[] = {{"GET", METHOD_GET},
                {"HEAD", METHOD_GET},
                {"POST", METHOD_POST},
                {"PATCH", METHOD_PATCH},
                {"DELETE", METHOD_DELETE}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].method;
    return METHOD_OTHER;
}

struct wanted {
    const char *name, *last;
    size_t count;
};

static enum MHD_Result look_at_header(void *ctx, enum MHD_ValueKind kind, const char *name,
                                      const char *value)
{
    struct wanted *w = ctx;
    (void)kind;
    if (strcasecmp(name, w->name) != 0)
        return MHD_YES;
    w->count++;
    w->last = value;
    return MHD_YES;
}

/* Of several such lines the last one: a proxy that adds its own puts it behind what came. */
static const char *last_header(struct MHD_Connection *connection, const char *name)
{
    struct wanted w = {.name = name};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, look_at_header, &w);
    return w.last;
}

/* RFC 9112, 3.2: one Host, and only with what a host and its port may have. Pages name it. */
static bool is_host_fine(struct MHD_Connection *connection, const char *host)
{
    struct wanted w = {.name = request_header_names[HEADER_HOST]};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, look_at_header, &w);
    return w.count <= 1 && (!host || host[strspn(host, "abcdefghijklmnopqrstuvwxyz"
                                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                       "0123456789-._~:[]")] == '\0');
}

/* Who asks: the socket's other end, or the last address that the proxy in front noted down. */
static void find_address(const struct http *h, struct MHD_Connection *connection, struct request *r)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const char *forwarded = h->trust_proxy ? last_header(connection, "X-Forwarded-For") : NULL;
    const char *proto = h->trust_proxy ? last_header(connection, "X-Forwarded-Proto") : NULL;
    if (forwarded) {
        const char *last = strrchr(forwarded, ',');
        last = last ? last + 1 : forwarded;
        last += strspn(last, " ");
        text_printable(r->address, sizeof r->address, last, strcspn(last, " "));
    } else if (info && info->client_addr) {
        socklen_t size = info->client_addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                                  : sizeof(struct sockaddr_in);
        if (getnameinfo(info->client_addr, size, r->address, sizeof r->address, NULL, 0,
                        NI_NUMERICHOST) != 0)
            r->address[0] = '\0';
    }
    r->secure = proto && strcasecmp(proto, "https") == 0;
}

static bool read_headers(const struct http *h, struct MHD_Connection *connection, struct call *call)
{
    struct request *r = &call->request;
    for (size_t i = 0; i < HEADER_COUNT; i++) {
        const char *value =
            MHD_lookup_connection_value(connection, MHD_HEADER_KIND, request_header_names[i]);
        if (!value)
            continue;
        if (!text_utf8_valid(value, strlen(value)))
            return fail(call, 400, "a header holds bytes that are not UTF-8");
        r->header[i] = mem_strdup(value);
    }
    if (!is_host_fine(connection, r->header[HEADER_HOST]))
        return fail(call, 400, "the Host is not one host");
    find_address(h, connection, r);
    if (r->header[HEADER_COOKIE])
        request_parse_cookies(r, r->header[HEADER_COOKIE]);
    return true;
}

static bool check_length(struct http *h, struct MHD_Connection *connection, struct call *call)
{
    const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
    int64_t n;
    call->max_body = h->handler.max_body(h->handler.ctx, &call->request);
    if (!length || (num_parse_i64(length, &n) && n >= 0 && (uint64_t)n <= call->max_body))
        return true;
    call->status = 413;
    return err_set(&call->err, ERR_LIMIT, "the body is larger than the %zu bytes that fit here",
                   call->max_body);
}

static bool begin(struct http *h, struct MHD_Connection *connection, struct call *call,
                  const char *method)
{
    call->begun = true;
    call->request.method = method_of(method);
    if (!read_headers(h, connection, call))
        return false;
    if (!request_parse_target(&call->request, call->target, &call->err)) {
        call->status = call->err.code == ERR_LIMIT ? 414 : 400;
        return false;
    }
    return check_length(h, connection, call);
}

/* What is refused is answered before its body is read when its sender waits for that, or would send
 * more than is worth swallowing; the connection ends then. Else the body is swallowed first: who is
 * still sending does not read. */
static bool answers_early(struct MHD_Connection *connection, const struct call *call)
{
    const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
    int64_t n;
    return call->status != 413 || !length || !num_parse_i64(length, &n) || n > SWALLOW ||
           MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Expect");
}

static void take_body(struct http *h, struct call *call, const char *p, size_t n)
{
    if (call->status)
        return;
    if (call->request.body.len + n > call->max_body) {
        call->status = 413;
        err_set(&call->err, ERR_LIMIT, "the body is larger than the %zu bytes that fit here",
                call->max_body);
    } else if (atomic_fetch_add(&h->bodies, n) + n > ALL_BODIES) {
        atomic_fetch_sub(&h->bodies, n);
        fail(call, 503, "too much is being uploaded right now; try again in a minute");
    } else {
        call->held += n;
        buf_add(&call->request.body, p, n);
        return;
    }
    buf_release(&call->request.body);
    buf_init(&call->request.body, 0);
}

static bool unpack_body(struct call *call)
{
    struct request *r = &call->request;
    const char *coding = r->header[HEADER_CONTENT_ENCODING];
    struct buf plain;
    if (!coding || strcasecmp(coding, "identity") == 0)
        return true;
    if (strcasecmp(coding, "gzip") != 0)
        return fail(call, 415, "the Content-Encoding is neither gzip nor identity");
    buf_init(&plain, REQUEST_MAX_BODY);
    bool ok = gzip_unpack(r->body.p, r->body.len, &plain, &call->err);
    if (!ok)
        call->status = call->err.code == ERR_LIMIT ? 413 : 400;
    buf_release(&r->body);
    r->body = plain;
    return ok;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static const char *const fixed_headers[][2] = {
    {"Content-Security-Policy",
     "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
     "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()"},
};

static void add_headers(struct MHD_Response *to, const struct request *request,
                        const struct response *r)
{
    static const char *const caches[] = {
        [CACHE_NEVER] = "no-store",
        [CACHE_OWN] = "private, no-cache",
        [CACHE_CHECK] = "no-cache",
        [CACHE_FOREVER] = "public, max-age=31536000, immutable",
    };
    for (size_t i = 0; i < ARRAY_LEN(fixed_headers); i++)
        MHD_add_response_header(to, fixed_headers[i][0], fixed_headers[i][1]);
    if (request->secure)
        MHD_add_response_header(to, "Strict-Transport-Security", "max-age=31536000");
    MHD_add_response_header(to, "Cache-Control", caches[r->cache]);
    MHD_add_response_header(to, "Vary", "Accept-Encoding, Accept-Language, Authorization, Cookie");
    for (size_t i = 0; i < r->header_count; i++)
        MHD_add_response_header(to, r->headers[i].name, r->headers[i].value);
}

/* Weak, as the same tag stands for the compressed bytes. */
static void make_tag(const struct buf *body, char *out, size_t size)
{
    unsigned char digest[16];
    char hex[33];
    crypto_generichash(digest, sizeof digest, (const unsigned char *)body->p, body->len, NULL, 0);
    sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
    snprintf(out, size, "W/\"%s\"", hex);
}

static bool has_tag(const char *if_none_match, const char *tag)
{
    return if_none_match && (strcmp(if_none_match, "*") == 0 || strstr(if_none_match, tag + 2));
}

static bool is_compressible(const struct response *r)
{
    return r->body.len >= COMPRESS_FROM &&
           (text_starts(r->type, "text/") || text_starts(r->type, "application/json") ||
            text_starts(r->type, "image/svg"));
}

static bool pack(struct response *r)
{
    return is_compressible(r) && gzip_pack(r->body.p, r->body.len, &r->packed);
}

void http_keep(struct response *r)
{
    char tag[KEPT_TAG_MAX];
    pack(r);
    make_tag(&r->body, tag, sizeof tag);
    kept_page_take(r, tag);
}

static void drop_kept(void *page)
{
    kept_page_drop(page);
}

/* The bytes to send: those that are kept go out from where they are. */
static struct MHD_Response *make_kept(struct kept_page *page, bool packed)
{
    const struct buf *b = packed ? &page->packed : &page->body;
    struct MHD_Response *to = MHD_create_response_from_buffer_with_free_callback_cls(
        b->len, b->p, drop_kept, kept_page_hold(page));
    if (!to)
        kept_page_drop(page);
    return to;
}

static struct MHD_Response *make_own(struct response *r, bool packed)
{
    struct buf *b = packed ? &r->packed : &r->body;
    size_t n = b->len;
    return MHD_create_response_from_buffer(n, buf_detach(b), MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result send_answer(struct MHD_Connection *connection, const struct request *request,
                                   struct response *r)
{
    char tag[KEPT_TAG_MAX] = "";
    bool packed = false;
    if (r->kept) {
        r->type = r->kept->type;
        r->cache = r->kept->cache;
    }
    if (r->status == 200 && (r->cache == CACHE_CHECK || r->cache == CACHE_OWN) &&
        request->method == METHOD_GET) {
        if (r->kept)
            memcpy(tag, r->kept->tag, sizeof tag);
        else
            make_tag(&r->body, tag, sizeof tag);
    }
    if (*tag && has_tag(request->header[HEADER_IF_NONE_MATCH], tag)) {
        r->status = 304;
        kept_page_drop(r->kept);
        r->kept = NULL;
        buf_reset(&r->body);
    }
    if (r->status == 200 && gzip_accepted(request->header[HEADER_ACCEPT_ENCODING]))
        packed = r->kept ? r->kept->packed.len > 0 : pack(r);
    struct MHD_Response *to = r->kept ? make_kept(r->kept, packed) : make_own(r, packed);
    if (!to)
        return MHD_NO;
    add_headers(to, request, r);
    if (r->status != 304)
        MHD_add_response_header(to, "Content-Type", r->type);
    if (packed)
        MHD_add_response_header(to, "Content-Encoding", "gzip");
    if (*tag)
        MHD_add_response_header(to, "ETag", tag);
    enum MHD_Result result = MHD_queue_response(connection, (unsigned)r->status, to);
    MHD_destroy_response(to);
    return result;
}

static struct guarded **guarded_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return (struct guarded **)(uintptr_t)&info->socket_context;
}

static enum MHD_Result answer(struct http *h, struct MHD_Connection *connection, struct call *call)
{
    struct response response;
    response_init(&response);
    h->handler.answer(h->handler.ctx, &call->request, call->status,
                      call->status ? call->err.text : NULL, &response);
    http_guard_extend(h->guard, *guarded_of(connection), ANSWER_NS);
    enum MHD_Result result = send_answer(connection, &call->request, &response);
    call->heavy = response.heavy;
    response_release(&response);
    return result;
}

/* ---- callbacks ------------------------------------------------------------------------------- */

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *body,
                                  size_t *body_size, void **request)
{
    struct http *h = ctx;
    struct call *call = *request;
    (void)url, (void)version;
    if (!call->begun) {
        http_guard_extend(h->guard, *guarded_of(connection), REQUEST_NS);
        return begin(h, connection, call, method) || !answers_early(connection, call)
                   ? MHD_YES
                   : answer(h, connection, call);
    }
    if (*body_size > 0) {
        take_body(h, call, body, *body_size);
        *body_size = 0;
        return MHD_YES;
    }
    if (!call->status)
        unpack_body(call);
    return answer(h, connection, call);
}

static void on_done(void *ctx, struct MHD_Connection *connection, void **request,
                    enum MHD_RequestTerminationCode why)
{
    struct http *h = ctx;
    struct call *call = *request;
    (void)why;
    http_guard_extend(h->guard, *guarded_of(connection), REQUEST_NS + IDLE_S * NS_PER_S);
    if (!call)
        return;
    atomic_fetch_sub(&h->bodies, call->held);
    bool heavy = call->heavy || call->request.body.len >= HEAVY_FROM;
    request_release(&call->request);
    free(call->target);
    free(call);
    *request = NULL;
    if (heavy) /* parsed documents lay scattered over the heap, which would stay that large */
        malloc_trim(0);
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http *h = ctx;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *socket_context = http_guard_enter(h->guard, info->connect_fd, REQUEST_NS);
    } else {
        http_guard_leave(h->guard, *socket_context);
    }
}

/* ---- life cycle ------------------------------------------------------------------------------ */

/* "host:port" or "[v6]:port" in two. */
static bool split_listen(const char *text, char *host, size_t size, const char **ret_port)
{
    const char *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    int64_t port;
    if (n > 2 && text[0] == '[' && text[n - 1] == ']') {
        text++;
        n -= 2;
    } else if (n > 0 && memchr(text, ':', n)) {
        return false;
    }
    if (n == 0 || n >= size || !num_parse_i64(colon + 1, &port) || port < 0 || port > 65535)
        return false;
    memcpy(host, text, n);
    host[n] = '\0';
    *ret_port = colon + 1;
    return true;
}

static int open_socket(const struct addrinfo *a, struct err *err, const char *listen_text)
{
    int on = 1;
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, 511) == 0)
        return fd;
    err_set(err, ERR_SYSTEM, "cannot listen on %s: %s%s", listen_text, strerror(errno),
            errno == EADDRINUSE ? "; end what listens there, or choose another port by --listen"
                                : "");
    if (fd >= 0)
        close(fd);
    return -1;
}

static void name_url(struct http *h, int fd)
{
    struct sockaddr_storage at;
    socklen_t size = sizeof at;
    char host[100] = "", port[16] = "";
    if (getsockname(fd, (struct sockaddr *)&at, &size) == 0)
        getnameinfo((struct sockaddr *)&at, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV);
    bool v6 = strchr(host, ':') != NULL;
    snprintf(h->url, sizeof h->url, "http://%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "", port);
}

static int open_listener(struct http *h, const char *text, struct err *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    char host[100];
    const char *port;
    if (!split_listen(text, host, sizeof host, &port)) {
        err_set(err, ERR_USAGE, "--listen wants HOST:PORT, as 127.0.0.1:8080 or [::1]:0, not '%s'",
                text);
        return -1;
    }
    int code = getaddrinfo(host, port, &hints, &found);
    if (code != 0) {
        err_set(err, ERR_SYSTEM, "cannot listen on %s: %s", text, gai_strerror(code));
        return -1;
    }
    int fd = open_socket(found, err, text);
    freeaddrinfo(found);
    if (fd >= 0)
        name_url(h, fd);
    return fd;
}

static struct MHD_Daemon *start(struct http *h, int fd, unsigned threads)
{
    return MHD_start_daemon(
        MHD_USE_POLL | MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, on_request, h,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE, threads,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_BYTES,
        MHD_OPTION_URI_LOG_CALLBACK, on_target, h, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, h,
        MHD_OPTION_NOTIFY_COMPLETED, on_done, h, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
}

struct http *http_new(const struct http_options *options, const struct http_handler *handler,
                      struct err *err)
{
    struct http *h = mem_alloc(sizeof *h);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = options->threads ? options->threads : (int)cpus;
    h->handler = *handler;
    h->trust_proxy = options->trust_proxy;
    int fd = libmicrohttpd_open(err) ? open_listener(h, options->listen, err) : -1;
    if (fd < 0)
        goto fail;
    h->guard = http_guard_new(err);
    if (!h->guard)
        goto fail;
    h->daemon = start(h, fd, threads > 2 ? (unsigned)threads : 2);
    if (h->daemon)
        return h;
    err_set(err, ERR_SYSTEM, "cannot start the HTTP server on %s", options->listen);
fail:
    if (fd >= 0)
        close(fd);
    http_guard_free(h->guard);
    free(h);
    return NULL;
}

void http_free(struct http *h)
{
    if (!h)
        return;
    MHD_stop_daemon(h->daemon);
    http_guard_free(h->guard);
    free(h);
}

const char *http_url(const struct http *h)
{
    return h->url;
}
