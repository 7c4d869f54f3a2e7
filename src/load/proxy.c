/* proxy.c - a table of Server headers, and the headers that only proxies send. */
#include "load/proxy.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"

static const char *by_server(const char *server)
{
    static const struct {
        const char *in_header, *name;
    } rows[] = {
        {"nginx", "nginx"},
        {"openresty", "openresty"},
        {"cloudflare", "cloudflare"},
        {"envoy", "envoy"},
        {"caddy", "caddy"},
        {"traefik", "traefik"},
        {"haproxy", "haproxy"},
        {"awselb", "AWS ELB"},
        {"apache", "apache"},
        {"cloudfront", "CloudFront"},
        {"litellm", "litellm"},
        {"squid", "squid"},
        {"gws", "Google"},
        {"fly/", "fly.io"},
        {"vercel", "vercel"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (text_find_nocase(server, rows[i].in_header))
            return rows[i].name;
    return NULL;
}

bool proxy_recognise(const struct page *page, struct known_text *ret)
{
    const char *known = by_server(page->server);
    const struct {
        const char *name, *header;
    } rows[] = {
        {page->litellm[0] ? "litellm" : NULL, "x-litellm-version"},
        {page->cf_ray[0] ? "cloudflare" : NULL, "cf-ray"},
        {known, "server"},
        {page->via[0] ? page->via : NULL, "via"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char source[SOURCE_MAX];
        if (!rows[i].name)
            continue;
        snprintf(source, sizeof source, "GET %.80s, header %s", page->path, rows[i].header);
        return known_text_set(ret, rows[i].name, source);
    }
    return false;
}
