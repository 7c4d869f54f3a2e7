/* endpoint.c - resolve, try each address with a plain connect, prepare the TLS context. */
#include "net/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"

static bool stopped(const struct endpoint_options *o)
{
    return o->stop && atomic_load(o->stop);
}

/* One attempt; errno on failure. */
static bool try_connect(const struct sockaddr *addr, socklen_t len,
                        const struct endpoint_options *o)
{
    int fd = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    int problem = 0;
    if (connect(fd, addr, len) != 0) {
        problem = errno;
        if (problem == EINPROGRESS || problem == EAGAIN) {
            struct pollfd p = {.fd = fd, .events = POLLOUT};
            socklen_t size = sizeof problem;
            int64_t give_up_at = clock_now() + o->connect_timeout_ns;
            int ready;
            do
                ready = poll(&p, 1, (int)((give_up_at - clock_now()) / NS_PER_MS) + 1);
            while (ready < 0 && errno == EINTR && !stopped(o) && clock_now() < give_up_at);
            problem = stopped(o) ? ECANCELED : ETIMEDOUT;
            if (ready > 0)
                getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &size);
        }
    }
    close(fd);
    errno = problem;
    return problem == 0;
}

static void remember(struct endpoint *e, const struct sockaddr *addr, socklen_t len)
{
    memcpy(&e->addr, addr, len);
    e->addr_len = len;
    if (addr->sa_family != AF_UNIX)
        getnameinfo(addr, len, e->address_text, sizeof e->address_text, NULL, 0, NI_NUMERICHOST);
}

static bool cannot_connect(const struct endpoint *e, int problem, struct err *err)
{
    char url[600];
    if (problem == ECANCELED)
        return err_set(err, ERR_INTERRUPT, "interrupted");
    const char *advice = problem == ECONNREFUSED || problem == ENOENT
                             ? "; is the server running, and is this its port?"
                         : problem == ETIMEDOUT ? "; is the address right, does a firewall drop it?"
                                                : "";
    return err_set(err, ERR_CONNECT, "cannot connect to %s: %s%s",
                   url_text(&e->url, url, sizeof url), strerror(problem), advice);
}

static bool find_address(struct endpoint *e, struct err *err)
{
    if (e->url.unix_path[0]) {
        struct sockaddr_un un = {.sun_family = AF_UNIX};
        memcpy(un.sun_path, e->url.unix_path, sizeof un.sun_path);
        remember(e, (struct sockaddr *)&un, sizeof un);
        if (!try_connect((struct sockaddr *)&un, sizeof un, &e->options))
            return cannot_connect(e, errno, err);
        return true;
    }
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG}, *list;
    int code = getaddrinfo(e->url.host, e->url.port, &hints, &list);
    if (code == EAI_NONAME || code == EAI_ADDRFAMILY) { /* literal ::1 on a host without IPv6 */
        hints.ai_flags = 0;
        code = getaddrinfo(e->url.host, e->url.port, &hints, &list);
    }
    if (code != 0)
        return err_set(err, ERR_CONNECT, "cannot find host '%s': %s", e->url.host,
                       code == EAI_SYSTEM ? strerror(errno) : gai_strerror(code));
    int problem = 0, first_problem = 0;
    for (struct addrinfo *a = list; a; a = a->ai_next) {
        problem = 0;
        if (try_connect(a->ai_addr, a->ai_addrlen, &e->options)) {
            remember(e, a->ai_addr, a->ai_addrlen);
            break;
        }
        problem = errno;
        if (!first_problem || problem == ECONNREFUSED)
            first_problem = problem;
    }
    freeaddrinfo(list);
    return problem == 0 || cannot_connect(e, first_problem, err);
}

static bool prepare_tls(struct endpoint *e, struct err *err)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    if (!ctx)
        return err_set(err, ERR_SYSTEM, "cannot prepare TLS");
    e->tls = ctx;
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_verify(ctx, e->options.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    int ok = e->options.ca_file ? SSL_CTX_load_verify_locations(ctx, e->options.ca_file, NULL)
                                : SSL_CTX_set_default_verify_paths(ctx);
    if (!ok && e->options.ca_file)
        return err_set(err, ERR_USAGE, "cannot read certificates from %s: %s", e->options.ca_file,
                       ERR_reason_error_string(ERR_get_error()));
    return true;
}

bool endpoint_open(struct endpoint *e, const struct url *url,
                   const struct endpoint_options *options, struct err *err)
{
    *e = (struct endpoint){.url = *url, .options = *options};
    e->options.ca_file = options->ca_file ? mem_strdup(options->ca_file) : NULL;
    e->options.api_key = options->api_key ? mem_strdup(options->api_key) : NULL;
    if ((!url->tls || prepare_tls(e, err)) && (options->by_name || find_address(e, err)))
        return true;
    endpoint_close(e);
    return false;
}

void endpoint_close(struct endpoint *e)
{
    SSL_CTX_free(e->tls);
    free((char *)(uintptr_t)e->options.ca_file);
    free((char *)(uintptr_t)e->options.api_key);
    *e = (struct endpoint){0};
}
