/* pages.h - what a server says about itself: small documents fetched once and kept.
 *
 * The probe and the dialects ask for pages by path; each is fetched the first time. Secrets may
 * stand in such pages (server info): callers extract fields, nothing is logged or stored whole. */
#ifndef TOKGRID_LOAD_PAGES_H
#define TOKGRID_LOAD_PAGES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "net/fetch.h"

struct page {
    char path[320];
    int status; /* 0: no answer */
    char *body; /* NUL-ended */
    size_t len;
    json_t *json; /* parsed body; NULL when it is no JSON */
    char content_type[96], location[256];
    char server[64], via[64], litellm[64], cf_ray[64]; /* headers; "" absent */
    struct err err;                                    /* why there was no answer */
};

struct pages;
struct pages *pages_new(struct fetcher *fetcher, int64_t timeout_ns);
void pages_free(struct pages *p);

/* Never NULL. Valid until pages_free or pages_forget. */
const struct page *pages_get(struct pages *p, const char *path);
void pages_forget(struct pages *p, const char *path);
void pages_forget_all(struct pages *p);

/* The page's JSON when it answered 200 with some, else NULL. */
json_t *pages_json(struct pages *p, const char *path);

#endif
