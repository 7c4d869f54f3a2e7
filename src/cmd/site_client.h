/* site_client.h - asking a tokgrid site: its address, one request with retries, what it says.
 *
 * A key goes to the site it was given for and nowhere else: redirects are not followed, and http is
 * for this machine only, unless the user insists. What the site sends is bounded, and printable
 * before anything shows it. */
#ifndef TOKGRID_CMD_SITE_CLIENT_H
#define TOKGRID_CMD_SITE_CLIENT_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "cmd/credentials.h"
#include "net/fetch.h"
#include "net/url.h"

struct site {
    struct url url;
    char text[320]; /* "https://host:port", lower case: its name in the file of keys */
};

/* An origin as users type it; without a scheme it is https, on this machine http. */
bool site_parse(const char *text, struct site *ret, struct err *err) ATTR_CHECK;

/* The site that is meant: `given`, else the only one there is a key for. */
bool site_choose(const char *given, const struct credentials *c, struct site *ret,
                 struct err *err) ATTR_CHECK;

/* A key would be readable on its way: an error, unless `insecure`. */
bool site_may_have_key(const struct site *site, bool insecure, struct err *err) ATTR_CHECK;

/* The options of every command that asks a site, and of those that bring a key of their own. */
#define SITE_OPTION_ROWS(s)                                                                        \
    {.name = "cacert",                                                                             \
     OPTION_STRING(s, cacert),                                                                     \
     .value = "FILE",                                                                              \
     .otherwise = "the system's",                                                                  \
     .help = "Certificates to trust, in PEM."},                                                    \
    {                                                                                              \
        .name = "json", OPTION_FLAG(s, json),                                                      \
        .help = "Print one JSON object; what is meant for people goes to standard error."          \
    }
#define SITE_HTTP_ROW(s)                                                                           \
    {                                                                                              \
        .name = "insecure-http", OPTION_FLAG(s, insecure_http),                                    \
        .help = "Let the key go over http to another machine, where everybody on the way can "     \
                "read it."                                                                         \
    }

struct site_options {
    const char *key;     /* NULL: none is sent */
    const char *ca_file; /* NULL: the system's */
    int tries;           /* at least 1; more for what may pass: no connection, 429, 5xx */
};

struct site_client;
struct site_client *site_client_new(const struct site *site, const struct site_options *options,
                                    struct err *err) ATTR_CHECK;
void site_client_free(struct site_client *c); /* NULL is fine */

/* Strings are printable, and "" where the site did not say. */
struct site_answer {
    int status;
    json_t *json;                                    /* an object; NULL: none came */
    char code[64], message[400], field[120], id[40]; /* of {"error": {...}} */
};

/* False: there was no answer that a tokgrid site gives. An error of the site's is an answer.
 * Release in either case. */
bool site_ask(struct site_client *c, const struct fetch_request *request, struct site_answer *ret,
              struct err *err) ATTR_CHECK;
void site_answer_release(struct site_answer *answer);

/* What an answer that is no success means, in one line; always false. */
bool site_refused(const struct site_client *c, const struct site_answer *answer, struct err *err);

/* Whose key it is, in the arena: GET /api/v1/user. */
bool site_user(struct site_client *c, struct arena *a, const char **ret,
               struct err *err) ATTR_CHECK;

/* SIGINT and SIGTERM end waiting from now on; non-zero once one came. */
void site_catch_interrupts(void);
bool site_interrupted(void);

/* Sleep; false: interrupted, with that error. */
bool site_wait(int64_t ns, struct err *err) ATTR_CHECK;

#endif
