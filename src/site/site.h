/* site.h - the site: a store, an HTTP server, and the pages between them. */
#ifndef TOKGRID_SITE_SITE_H
#define TOKGRID_SITE_SITE_H

#include <stdbool.h>

#include "base/err.h"

struct site_options {
    const char *db;     /* as store_open takes it; a missing SQLite file is made */
    const char *listen; /* as http.h takes it */
    bool trust_proxy;
    int threads;                   /* 0: by the number of CPUs */
    void (*log)(const char *line); /* faults that are the owner's business; from any thread */
};

struct site;

/* Opens the store, brings it up to date, and answers from here on, in threads of its own. */
struct site *site_new(const struct site_options *options, struct err *err) ATTR_CHECK;
void site_free(struct site *s); /* NULL is fine */

const char *site_url(const struct site *s); /* "http://127.0.0.1:40123" */

#endif
