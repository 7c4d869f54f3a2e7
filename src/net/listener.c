/* listener.c - bind, listen, accept4 in batches; no spinning when descriptors run out. */
#include "net/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "net/stamp.h"

enum {
    QUEUE = 65535, /* the kernel cuts it to net.core.somaxconn */
    BATCH = 64     /* accepted in one turn: a flood of connections must not starve the streams */
};
static const int64_t breath_ns = 100 * NS_PER_MS; /* without file descriptors */

struct listener {
    struct loop *loop;
    struct loop_watch watch;
    struct loop_timer again;
    void (*on_accept)(void *ctx, int fd);
    void *ctx;
    bool paused;
    char url[80];
};

static bool out_of_resources(int problem)
{
    return problem == EMFILE || problem == ENFILE || problem == ENOBUFS || problem == ENOMEM;
}

static void on_ready(void *ctx, uint32_t events)
{
    struct listener *l = ctx;
    const int on = 1;

    (void)events;
    for (int i = 0; i < BATCH && !l->paused; i++) {
        int fd = accept4(l->watch.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            stamp_enable(fd);
            l->on_accept(l->ctx, fd);
        } else if (errno == EAGAIN) {
            return;
        } else if (out_of_resources(errno)) {
            listener_pause(l);
            loop_timer_set(l->loop, &l->again, clock_now() + breath_ns);
        } /* else: that connection has failed already, the next one may be well */
    }
}

static void on_again(void *ctx)
{
    listener_resume(ctx);
}

void listener_pause(struct listener *l)
{
    if (l->paused)
        return;
    l->paused = true;
    loop_change(l->loop, &l->watch, 0);
}

void listener_resume(struct listener *l)
{
    if (!l->paused)
        return;
    l->paused = false;
    loop_timer_cancel(l->loop, &l->again);
    loop_change(l->loop, &l->watch, EPOLLIN);
}

static bool cannot_listen(const char *host, const char *port, int problem, struct err *err)
{
    return err_set(err, ERR_SYSTEM, "cannot listen on %s port %s: %s%s", host, port,
                   strerror(problem),
                   problem == EADDRINUSE ? "; end what listens there, or choose another port" : "");
}

static bool open_socket(struct listener *l, const char *host, const char *port, struct err *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *a;
    const int on = 1;

    if (getaddrinfo(host, port, &hints, &a) != 0)
        return err_set(err, ERR_USAGE, "cannot listen on '%s': it is no numeric address", host);
    l->watch.fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool fine = l->watch.fd >= 0;
    if (fine) {
        setsockopt(l->watch.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        stamp_enable(l->watch.fd);
        fine = bind(l->watch.fd, a->ai_addr, a->ai_addrlen) == 0 && listen(l->watch.fd, QUEUE) == 0;
    }
    int problem = errno;
    freeaddrinfo(a);
    return fine || cannot_listen(host, port, problem, err);
}

static bool write_url(struct listener *l)
{
    struct sockaddr_storage addr;
    socklen_t len = sizeof addr;
    char host[64], port[8];

    if (getsockname(l->watch.fd, (struct sockaddr *)&addr, &len) != 0 ||
        getnameinfo((struct sockaddr *)&addr, len, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return false;
    snprintf(l->url, sizeof l->url, strchr(host, ':') ? "http://[%s]:%s" : "http://%s:%s", host,
             port);
    return true;
}

struct listener *listener_new(struct loop *loop, const char *host, uint16_t port,
                              void (*on_accept)(void *ctx, int fd), void *ctx, struct err *err)
{
    struct listener *l = mem_alloc(sizeof *l);
    char port_text[8];

    l->loop = loop;
    l->on_accept = on_accept;
    l->ctx = ctx;
    l->watch = (struct loop_watch){.fd = -1, .fn = on_ready, .ctx = l};
    l->again = (struct loop_timer){.fn = on_again, .ctx = l};
    snprintf(port_text, sizeof port_text, "%u", (unsigned)port);
    if (strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    if (open_socket(l, host, port_text, err)) {
        if (!write_url(l))
            cannot_listen(host, port_text, errno, err);
        else if (loop_watch(loop, &l->watch, EPOLLIN, err))
            return l;
    }
    listener_free(l);
    return NULL;
}

void listener_free(struct listener *l)
{
    if (!l)
        return;
    loop_unwatch(l->loop, &l->watch);
    loop_timer_cancel(l->loop, &l->again);
    if (l->watch.fd >= 0)
        close(l->watch.fd);
    free(l);
}

const char *listener_url(const struct listener *l)
{
    return l->url;
}
