/* url.c - a strict reader for the few forms a server address takes. */
#include "net/url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"

static bool bad(struct err *err, const char *text, const char *why)
{
    return err_set(err, ERR_USAGE,
                   "'%.200s' is not a server address: %s (try http://127.0.0.1:8000)", text, why);
}

static bool copy(char *out, size_t size, const char *p, size_t n)
{
    if (n >= size)
        return false;
    memcpy(out, p, n);
    out[n] = '\0';
    return true;
}

/* The path as it will be sent: no query, no control bytes, no final slash, no final /v1. */
static bool parse_prefix(const char *path, struct url *u)
{
    size_t n = strlen(path);
    if (n > 0 && path[0] != '/')
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)path[i] <= ' ' || path[i] == 0x7F || path[i] == '?' || path[i] == '#')
            return false;
    while (n > 0 && path[n - 1] == '/')
        n--;
    if (n >= 3 && strncmp(path + n - 3, "/v1", 3) == 0)
        n -= 3;
    while (n > 0 && path[n - 1] == '/')
        n--;
    return copy(u->prefix, sizeof u->prefix, path, n);
}

static bool parse_unix(const char *text, const char *rest, struct url *u, struct err *err)
{
    if (strncmp(rest, "//", 2) == 0)
        rest += 2;
    const char *colon = strchr(rest, ':');
    size_t n = colon ? (size_t)(colon - rest) : strlen(rest);
    if (n == 0)
        return bad(err, text, "no socket path after unix:");
    if (!copy(u->unix_path, sizeof u->unix_path, rest, n))
        return bad(err, text, "the socket path is longer than 107 bytes");
    if (colon && !parse_prefix(colon + 1, u))
        return bad(err, text, "the path has characters that do not belong there");
    snprintf(u->host, sizeof u->host, "localhost");
    snprintf(u->port, sizeof u->port, "80");
    return true;
}

/* [address], also with a zone id; written as in RFC 6874 its percent sign is %25. */
static bool parse_address(const char *p, size_t n, struct url *u)
{
    const char *zone = memchr(p, '%', n);
    size_t before = zone ? (size_t)(zone - p) + 1 : n, skip = 0;

    if (!memchr(p, ':', n))
        return false;
    if (zone && n - before > 2 && strncmp(zone, "%25", 3) == 0)
        skip = 2;
    if (!copy(u->host, sizeof u->host, p, n))
        return false;
    memmove(u->host + before, u->host + before + skip, n - before - skip + 1);
    return true;
}

static bool parse_port(const char *p, size_t n, struct url *u)
{
    int64_t port;
    if (n == 0 || !isdigit((unsigned char)*p) || !copy(u->port, sizeof u->port, p, n) ||
        !num_parse_i64(u->port, &port) || port < 1 || port > 65535)
        return false;
    snprintf(u->port, sizeof u->port, "%d", (int)port);
    return true;
}

static bool parse_host(const char *p, size_t n, struct url *u)
{
    const char *end = p + n, *colon = NULL;
    bool address = n > 0 && p[0] == '[';

    if (address) {
        const char *close = memchr(p, ']', n);
        if (!close || !parse_address(p + 1, (size_t)(close - p) - 1, u))
            return false;
        if (close + 1 < end)
            colon = close + 1;
        if (colon && *colon != ':')
            return false;
    } else {
        colon = memchr(p, ':', n);
        if (!copy(u->host, sizeof u->host, p, colon ? (size_t)(colon - p) : n))
            return false;
    }
    for (const char *c = u->host; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr(address ? "-._:%" : "-._", *c))
            return false;
    if (u->host[0] == '\0')
        return false;
    if (colon)
        return parse_port(colon + 1, (size_t)(end - colon) - 1, u);
    snprintf(u->port, sizeof u->port, "%s", u->tls ? "443" : "80");
    return true;
}

bool url_parse(const char *text, struct url *ret, struct err *err)
{
    struct url u = {0};
    const char *rest = text;

    if (strncasecmp(text, "unix:", 5) == 0) {
        if (!parse_unix(text, text + 5, &u, err))
            return false;
        *ret = u;
        return true;
    }
    const char *scheme = strstr(text, "://");
    if (scheme) {
        size_t n = (size_t)(scheme - text);
        if (n == 5 && strncasecmp(text, "https", 5) == 0)
            u.tls = true;
        else if (n != 4 || strncasecmp(text, "http", 4) != 0)
            return bad(err, text, "only http, https and unix are spoken");
        rest = scheme + 3;
    }
    size_t n = strcspn(rest, "/?#");
    if (memchr(rest, '@', n))
        return err_set(err, ERR_USAGE,
                       "the address holds a user name or password; give keys by "
                       "--api-key or TOKGRID_API_KEY instead");
    if (!parse_host(rest, n, &u))
        return bad(err, text, "host or port cannot be read");
    if (!parse_prefix(rest + n, &u))
        return bad(err, text, "the path has characters that do not belong there");
    *ret = u;
    return true;
}

bool url_is_local(const struct url *u)
{
    unsigned char v4[sizeof(struct in_addr)]; /* 127.0.0.1.example.com is no address */
    return u->unix_path[0] || strcasecmp(u->host, "localhost") == 0 ||
           (inet_pton(AF_INET, u->host, v4) == 1 && v4[0] == 127) || strcmp(u->host, "::1") == 0;
}

const char *url_text(const struct url *u, char *out, size_t size)
{
    char host[300];
    if (u->unix_path[0])
        snprintf(out, size, "unix:%s%s%s", u->unix_path, u->prefix[0] ? ":" : "", u->prefix);
    else
        snprintf(out, size, "%s://%s%s", u->tls ? "https" : "http",
                 url_host_header(u, host, sizeof host), u->prefix);
    return out;
}

const char *url_host_header(const struct url *u, char *out, size_t size)
{
    bool own_port = strcmp(u->port, u->tls ? "443" : "80") == 0;
    const char *zone = strchr(u->host, '%'); /* a zone id is this machine's business */
    int n = zone ? (int)(zone - u->host) : (int)strlen(u->host);
    bool v6 = strchr(u->host, ':') != NULL;
    snprintf(out, size, "%s%.*s%s%s%s", v6 ? "[" : "", n, u->host, v6 ? "]" : "",
             own_port ? "" : ":", own_port ? "" : u->port);
    return out;
}
