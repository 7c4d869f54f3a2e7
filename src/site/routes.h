/* routes.h - what the site answers, one row each: the only place that knows addresses.
 *
 * A path is parts between slashes; "{x}" takes any one part, "{x}.svg" one that ends so (and gives
 * it with its end), "{lang}" one of the languages' codes. The first row that fits is taken.
 * A row of the API points to what it takes and gives (api_operations.h). */
#ifndef TOKGRID_SITE_ROUTES_H
#define TOKGRID_SITE_ROUTES_H

#include <stdbool.h>
#include <stddef.h>

#include "site/api_limits.h"
#include "site/site_words.h"
#include "site/web_request.h"

struct visit;
struct operation;

enum route_need {
    NEED_NOTHING,
    NEED_USER, /* a session; without one a page leads to sign-in */
    NEED_KEY,  /* of the API: a key, "Authorization: Bearer tgk_..." */
    NEED_ADMIN,
};

enum {
    ROUTE_FORM = 1 << 0,   /* takes a form, with a token against forgery */
    ROUTE_UPLOAD = 1 << 1, /* a document may be in the body */
    ROUTE_API = 1 << 2,    /* errors are JSON */
    ROUTE_ASKS = 1 << 3,   /* the page has a form for those who are not signed in */
    ROUTE_ALIKE = 1 << 4,  /* without cookie and key the same for all, until the store changes */
};

enum { ROUTE_MAX_ARGS = 3 };

struct route {
    enum request_method method;
    const char *path;
    void (*handle)(struct visit *v);
    enum site_word title; /* of a page */
    enum route_need need;
    unsigned flags;
    enum api_limit limit;        /* of a form; a call of the API has its own */
    const struct operation *api; /* of the API: what it takes and gives */
};

extern const struct route routes[];
extern const size_t route_count;

struct route_match {
    const struct route *route;        /* NULL: none; then `allow` tells */
    const struct site_lang *lang;     /* of the path; NULL: it has none */
    const char *args[ROUTE_MAX_ARGS]; /* borrowed from the request */
    size_t arg_count;
    char allow[64]; /* "GET, POST": this address with other methods; "" when there is none */
};
void routes_find(const struct request *r, struct route_match *ret);

#endif
