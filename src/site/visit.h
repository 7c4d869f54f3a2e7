/* visit.h - one request being answered: who asks, for what, and what handlers answer with.
 *
 * A handler asks the store, fills the struct of a page or document, and lets a pure function write
 * it. What the handler makes lies in the visit's arena. */
#ifndef TOKGRID_SITE_VISIT_H
#define TOKGRID_SITE_VISIT_H

#include <jansson.h>

#include "base/arena.h"
#include "site/form_token.h"
#include "site/frame.h"
#include "site/routes.h"
#include "site/web_response.h"
#include "store/store.h"

struct publication;

struct visit {
    const struct site_assets *assets;
    void (*log)(const char *line);
    struct request *request;
    struct response *response;
    struct route_match match;
    const struct site_lang *lang; /* of the path, or what the browser prefers */
    struct store *store;
    struct arena arena;
    bool signed_in;                  /* by a session or a key */
    struct store_user user;          /* then */
    const char *session;             /* token; NULL: by key, or not at all */
    json_t *input;                   /* of the API: the checked object of the body; NULL: none */
    struct publication *publication; /* of the API: the document that came; NULL: none */
    char csrf[FORM_TOKEN_MAX];
    struct err err; /* for handlers */
};

/* Answers a request from its parsed head to the response; the only entrance. `problem` as in
 * http.h. */
struct site_context {
    const struct site_assets *assets;
    struct store *store; /* NULL: it cannot be reached, which is what the answer says */
    void (*log)(const char *line);
};
void visit_answer(const struct site_context *context, struct request *request, int status,
                  const char *problem, struct response *response);

/* ---- pages ----------------------------------------------------------------------------------- */

/* A frame for this visit that writes into the response. */
void visit_frame(struct visit *v, struct frame *f);

/* Answer with an error page, or with JSON for the API. `field`: what of the request is wrong. */
void visit_fail(struct visit *v, int status, const char *code, const char *text, const char *field);
void visit_fail_err(struct visit *v, const struct err *err); /* by its code */

/* To a page in the visit's language. */
void visit_redirect(struct visit *v, const char *path, const char *segment);

/* ---- the request ----------------------------------------------------------------------------- */

const char *visit_query(const struct visit *v, const char *name); /* NULL when absent or empty */
const char *visit_form(const struct visit *v, const char *name);  /* "" when absent */
void visit_page(const struct visit *v, struct store_page *ret);   /* "after" and "limit" */

/* "org/name" from the path's parts. */
const char *visit_name(struct visit *v);

/* One of so many in a while; false: answered by 429. `who` NULL: the client's network. */
bool visit_limit(struct visit *v, const char *what, const char *who, int limit, int64_t window_ms);
bool visit_take(struct visit *v, enum api_limit limit); /* the same, by a row of api_limits.h */

/* The visitor's cookies. */
const char *visit_session_cookie(const struct visit *v); /* its name */
void visit_begin_session(struct visit *v, int64_t user);

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Takes the reference. */
void visit_json(struct visit *v, int status, json_t *document);

#endif
