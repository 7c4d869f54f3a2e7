/* endpoint.h - a server that was found: its address, and how to speak to it safely.
 *
 * endpoint_open resolves the name once, tries every address (so that a server bound to IPv4 only
 * answers behind a `localhost` that says ::1 first), and remembers the one that worked: neither DNS
 * nor a failed attempt can ever be part of a measured time. Shared by all connections to it, and by
 * threads, since it does not change afterwards. */
#ifndef TOKGRID_NET_ENDPOINT_H
#define TOKGRID_NET_ENDPOINT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"
#include "net/url.h"

struct endpoint_options {
    const char *ca_file; /* PEM; NULL: the system's certificates */
    bool insecure;       /* accept any certificate */
    const char *api_key; /* sent as a bearer token; NULL: none */
    int64_t connect_timeout_ns;
    const atomic_int *stop; /* non-zero ends a connection attempt; NULL: none. Borrowed */
    bool use_proxy;         /* libcurl only: honour http_proxy and friends */
    bool by_name; /* libcurl only, with use_proxy: nobody connects before the first request,
                     so what only a proxy can reach is fine */
};

struct endpoint {
    struct url url;
    struct endpoint_options options; /* strings are owned by the endpoint */
    struct sockaddr_storage addr;
    socklen_t addr_len;
    void *tls;             /* SSL_CTX, or NULL */
    char address_text[64]; /* "127.0.0.1", for libcurl and for messages */
};

bool endpoint_open(struct endpoint *e, const struct url *url,
                   const struct endpoint_options *options, struct err *err) ATTR_CHECK;
void endpoint_close(struct endpoint *e); /* zeroed structs are fine */

#endif
