/* peer.c - blocking sockets, one thread, a small interpreter. */
#include "peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/num.h"
#include "base/text.h"

enum { PATIENCE_S = 10, REQUEST_KEPT = 1 << 16 };

struct peer {
    const struct peer_step *const *scripts;
    size_t count;
    int listening;
    char folder[64], url[160], socket_path[100], ca_file[100];
    SSL_CTX *tls;
    pthread_t thread;
    sem_t tell, go;
    atomic_bool stop;
    atomic_int served;
    atomic_size_t received;
    pthread_mutex_t lock;
    int fd;             /* guarded by lock: of the present connection, -1: none */
    struct buf request; /* guarded by lock: the last one */
    /* the thread's own */
    SSL *ssl;
    struct buf ahead; /* read, not yet used */
};

/* --- bytes --- */

static ssize_t read_some(struct peer *p, int fd, char *out, size_t n)
{
    ssize_t got = p->ssl ? SSL_read(p->ssl, out, (int)n) : recv(fd, out, n, 0);
    if (got > 0)
        atomic_fetch_add(&p->received, (size_t)got);
    return got;
}

static bool write_all(struct peer *p, int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t sent = p->ssl ? SSL_write(p->ssl, text, (int)n) : send(fd, text, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        text += sent;
        n -= (size_t)sent;
    }
    return true;
}

static bool read_ahead(struct peer *p, int fd)
{
    char bytes[65536];
    ssize_t got = read_some(p, fd, bytes, sizeof bytes);
    return got > 0 && buf_add(&p->ahead, bytes, (size_t)got);
}

static bool read_bytes(struct peer *p, int fd, size_t n)
{
    while (p->ahead.len < n)
        if (!read_ahead(p, fd))
            return false;
    buf_consume(&p->ahead, n);
    return true;
}

static size_t announced(const char *head)
{
    const char *at = text_find_nocase(head, "content-length:");
    char digits[24];
    int64_t n = 0;
    if (!at)
        return 0;
    at += sizeof "content-length:";
    snprintf(digits, sizeof digits, "%.*s", (int)strcspn(at, "\r"), at);
    return num_parse_i64(digits, &n) ? (size_t)n : 0;
}

static bool read_request(struct peer *p, int fd)
{
    const char *end;
    while (!(end = strstr(p->ahead.p, "\r\n\r\n")))
        if (!read_ahead(p, fd))
            return false;
    size_t head = (size_t)(end - p->ahead.p) + 4, body = announced(p->ahead.p);
    while (p->ahead.len < head + body)
        if (!read_ahead(p, fd))
            return false;
    size_t kept = head + body < REQUEST_KEPT ? head + body : REQUEST_KEPT;
    pthread_mutex_lock(&p->lock);
    buf_reset(&p->request);
    buf_add(&p->request, p->ahead.p, kept);
    pthread_mutex_unlock(&p->lock);
    buf_consume(&p->ahead, head + body);
    return true;
}

static bool read_until_closed(struct peer *p, int fd)
{
    char bytes[65536];
    while (read_some(p, fd, bytes, sizeof bytes) > 0)
        ;
    return true;
}

static bool write_often(struct peer *p, int fd, const struct peer_step *step)
{
    for (size_t i = 0; i < step->n; i++)
        if (!write_all(p, fd, step->text, strlen(step->text)))
            return false;
    return true;
}

static const char *page_at(const struct peer_page *pages, const char *request)
{
    const char *path = strchr(request, ' ');
    for (; path && pages->path; pages++) {
        size_t n = strlen(pages->path);
        if (strncmp(path + 1, pages->path, n) == 0 && path[1 + n] == ' ')
            return pages->body;
    }
    return NULL;
}

static bool serve_pages(struct peer *p, int fd, const struct peer_page *pages)
{
    while (read_request(p, fd)) {
        char head[128];
        const char *body = page_at(pages, p->request.p); /* only this thread writes it */
        int n = snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n",
                         body ? "200 OK" : "404 Not Found", body ? strlen(body) : 0);
        if (!write_all(p, fd, head, (size_t)n) || (body && !write_all(p, fd, body, strlen(body))))
            break;
    }
    return false;
}

/* --- the interpreter --- */

static bool wait_for(sem_t *sem)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    while (sem_timedwait(sem, &until) != 0)
        if (errno != EINTR)
            return false;
    return true;
}

static bool do_step(struct peer *p, int fd, const struct peer_step *step)
{
    const struct linger now = {.l_onoff = 1};
    switch (step->what) {
    case PEER_REQUEST: return read_request(p, fd);
    case PEER_READ: return read_bytes(p, fd, step->n);
    case PEER_GONE: return read_until_closed(p, fd);
    case PEER_SEND: return write_all(p, fd, step->text, step->n ? step->n : strlen(step->text));
    case PEER_BYTES: return write_often(p, fd, step);
    case PEER_PAGES: return serve_pages(p, fd, step->pages);
    case PEER_TELL: return sem_post(&p->tell) == 0;
    case PEER_AWAIT: return wait_for(&p->go);
    case PEER_RESET: setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now); return false;
    case PEER_END:
    case PEER_CLOSE:
        if (p->ssl)
            SSL_shutdown(p->ssl);
        return false;
    case PEER_CUT:
    case PEER_AGAIN: break;
    }
    return false;
}

static void close_connection(struct peer *p, int fd)
{
    SSL_free(p->ssl);
    p->ssl = NULL;
    ERR_clear_error();
    pthread_mutex_lock(&p->lock);
    p->fd = -1;
    close(fd);
    pthread_mutex_unlock(&p->lock);
}

static bool ends(enum peer_do what)
{
    return what == PEER_END || what == PEER_CLOSE || what == PEER_CUT || what == PEER_RESET;
}

static void serve(struct peer *p, int fd, const struct peer_step *script)
{
    const struct peer_step *step = script;
    bool open = true;

    buf_reset(&p->ahead);
    if (p->tls) {
        p->ssl = SSL_new(p->tls);
        SSL_set_fd(p->ssl, fd);
        open = SSL_accept(p->ssl) == 1;
    }
    while (open) {
        if (step->what == PEER_AGAIN)
            step = script;
        open = do_step(p, fd, step);
        step += open;
    }
    close_connection(p, fd);
    if (ends(step->what) && step->n)
        sem_post(&p->tell);
}

static int next_connection(struct peer *p)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    const int on = 1;
    int fd = accept4(p->listening, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    /* a close throws away what still waits to be sent together with something */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    pthread_mutex_lock(&p->lock);
    p->fd = fd;
    pthread_mutex_unlock(&p->lock);
    return fd;
}

static void *serve_thread(void *ctx)
{
    struct peer *p = ctx;
    bool first = true;

    for (int fd; !atomic_load(&p->stop) && (fd = next_connection(p)) >= 0; first = false) {
        if (first || atomic_load(&p->stop)) {
            close_connection(p, fd);
            continue;
        }
        size_t i = (size_t)atomic_fetch_add(&p->served, 1);
        serve(p, fd, p->scripts[i < p->count ? i : p->count - 1]);
    }
    return NULL;
}

/* --- life cycle --- */

/* A key and a certificate signed with it, which is its own authority. */
static void make_certificate(struct peer *p, const char *name)
{
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    X509 *cert = X509_new();
    X509_EXTENSION *names;
    FILE *file;

    assert_non_null(key);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_set_version(cert, X509_VERSION_3);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                               (const unsigned char *)"peer", -1, -1, 0);
    X509_set_issuer_name(cert, X509_get_subject_name(cert));
    X509_set_pubkey(cert, key);
    names = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, name);
    assert_non_null(names);
    X509_add_ext(cert, names, -1);
    X509_EXTENSION_free(names);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);

    p->tls = SSL_CTX_new(TLS_server_method());
    assert_int_equal(SSL_CTX_use_certificate(p->tls, cert), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(p->tls, key), 1);
    snprintf(p->ca_file, sizeof p->ca_file, "%s/ca.pem", p->folder);
    file = fopen(p->ca_file, "we");
    assert_non_null(file);
    assert_int_equal(PEM_write_X509(file, cert), 1);
    fclose(file);
    X509_free(cert);
    EVP_PKEY_free(key);
}

static void listen_on_port(struct peer *p)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof in;
    p->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(p->listening, (struct sockaddr *)&in, sizeof in), 0);
    assert_int_equal(listen(p->listening, 64), 0);
    assert_int_equal(getsockname(p->listening, (struct sockaddr *)&in, &size), 0);
    snprintf(p->url, sizeof p->url, "%s://127.0.0.1:%d", p->tls ? "https" : "http",
             ntohs(in.sin_port));
}

static void listen_on_path(struct peer *p)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    snprintf(p->socket_path, sizeof p->socket_path, "%s/peer.sock", p->folder);
    snprintf(un.sun_path, sizeof un.sun_path, "%s", p->socket_path);
    p->listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(p->listening, (struct sockaddr *)&un, sizeof un), 0);
    assert_int_equal(listen(p->listening, 64), 0);
    snprintf(p->url, sizeof p->url, "unix:%s", p->socket_path);
}

struct peer *peer_start(const struct peer_step *const *scripts, size_t count,
                        const struct peer_options *options)
{
    struct peer *p = mem_alloc(sizeof *p);
    sigset_t all, old;

    p->scripts = scripts;
    p->count = count;
    p->fd = -1;
    buf_init(&p->request, REQUEST_KEPT);
    buf_init(&p->ahead, 64 << 20);
    pthread_mutex_init(&p->lock, NULL);
    sem_init(&p->tell, 0, 0);
    sem_init(&p->go, 0, 0);
    snprintf(p->folder, sizeof p->folder, "/tmp/tokgrid-peer-XXXXXX");
    assert_non_null(mkdtemp(p->folder));
    if (options && options->tls)
        make_certificate(p, options->tls);
    if (options && options->unix_socket)
        listen_on_path(p);
    else
        listen_on_port(p);
    sigfillset(&all); /* OpenSSL writes without MSG_NOSIGNAL */
    pthread_sigmask(SIG_BLOCK, &all, &old);
    assert_int_equal(pthread_create(&p->thread, NULL, serve_thread, p), 0);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return p;
}

void peer_stop_listening(struct peer *p)
{
    shutdown(p->listening, SHUT_RDWR);
    if (p->socket_path[0])
        unlink(p->socket_path);
}

void peer_stop(struct peer *p)
{
    if (!p)
        return;
    atomic_store(&p->stop, true);
    peer_stop_listening(p);
    pthread_mutex_lock(&p->lock);
    if (p->fd >= 0)
        shutdown(p->fd, SHUT_RDWR);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < 100; i++)
        sem_post(&p->go);
    pthread_join(p->thread, NULL);
    close(p->listening);
    if (p->ca_file[0])
        unlink(p->ca_file);
    rmdir(p->folder);
    SSL_CTX_free(p->tls);
    sem_destroy(&p->tell);
    sem_destroy(&p->go);
    pthread_mutex_destroy(&p->lock);
    buf_release(&p->request);
    buf_release(&p->ahead);
    free(p);
}

/* --- for the test --- */

void peer_endpoint(struct peer *p, struct endpoint *e, bool trust)
{
    struct endpoint_options options = {.connect_timeout_ns = PATIENCE_S * NS_PER_S,
                                       .ca_file = trust ? peer_ca_file(p) : NULL};
    struct url url;
    struct err err = {0};
    if (!url_parse(p->url, &url, &err) || !endpoint_open(e, &url, &options, &err))
        fail_msg("%s", err.text);
}

const char *peer_url(const struct peer *p)
{
    return p->url;
}

const char *peer_ca_file(const struct peer *p)
{
    return p->ca_file[0] ? p->ca_file : NULL;
}

void peer_wait(struct peer *p)
{
    if (!wait_for(&p->tell))
        fail_msg("the peer did not come to its PEER_TELL");
}

void peer_go(struct peer *p)
{
    sem_post(&p->go);
}

int peer_connections(struct peer *p)
{
    return atomic_load(&p->served);
}

size_t peer_received(struct peer *p)
{
    return atomic_load(&p->received);
}

char *peer_request_dup(struct peer *p)
{
    pthread_mutex_lock(&p->lock);
    char *text = mem_strndup(p->request.p, p->request.len);
    pthread_mutex_unlock(&p->lock);
    return text;
}
