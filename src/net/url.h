/* url.h - where a server is: the addresses users type.
 *
 * Accepted: http://host:port, https://host, host:port (http), [::1]:8000, unix:/path/to/socket and
 * unix:/path/to/socket:/prefix; with or without a path, with or without a final /v1 (which is
 * dropped: endpoints are given as "/v1/..."). User names and passwords in the URL are refused:
 * they would end up in results. */
#ifndef TOKGRID_NET_URL_H
#define TOKGRID_NET_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct url {
    bool tls;
    char host[256];      /* without brackets; "localhost" for unix sockets */
    char port[8];        /* decimal */
    char prefix[512];    /* "" or "/openai": what stands before "/v1" */
    char unix_path[108]; /* "" unless a unix socket */
};

bool url_parse(const char *text, struct url *ret, struct err *err) ATTR_CHECK;

/* True when the server is certainly this machine: loopback addresses, localhost, unix sockets. */
bool url_is_local(const struct url *u);

/* "http://[::1]:8000/openai", as shown in results; never more than `size` bytes. */
const char *url_text(const struct url *u, char *out, size_t size);

/* The Host header's value: brackets for IPv6, the port unless it is the scheme's own. */
const char *url_host_header(const struct url *u, char *out, size_t size);

#endif
