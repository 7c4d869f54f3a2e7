/* api_params.h - what the API takes: parameters of paths and queries, fields of bodies.
 *
 * One row each, shared by all calls that take it. The same row checks what came and is described in
 * the document, so what is documented is what is accepted. */
#ifndef TOKGRID_SITE_API_PARAMS_H
#define TOKGRID_SITE_API_PARAMS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "site/api_schema.h"

enum param_kind {
    PARAM_TEXT,    /* min..max bytes */
    PARAM_WORD,    /* one of `words` */
    PARAM_INTEGER, /* min..max */
    PARAM_NUMBER,  /* min..max */
    PARAM_FLAG,    /* a boolean; in queries 1, true, 0, false */
    PARAM_TOKENS,  /* a number of tokens: 16384, 16k; only in queries */
    PARAM_WORDS,   /* some of `words`: an array; in queries with commas between */
    PARAM_OBJECT,  /* any JSON object; only in bodies */
    PARAM_CURSOR,  /* what a list gave as "next" */
};

struct api_param {
    const char *name;
    enum param_kind kind;
    bool required;
    double min, max;
    struct api_words words;
    const char *initial; /* what it is when it is not given, as JSON; NULL: nothing */
    const char *example; /* as JSON; NULL: none */
    const char *help;    /* a sentence */
};

/* Lists of them end with NULL. */
typedef const struct api_param *const api_param_list[];
extern api_param_list params_runs, params_board, params_bases, params_organizations,
    params_hardware, params_publish, params_revise, params_search, params_device, params_token,
    params_report, params_key, params_setup, params_calculator;

/* What stands in a path as {name}; ends with a row without a name. */
extern const struct api_param params_path[];
const struct api_param *param_of_path(const char *name, size_t n); /* NULL: there is none such */

const struct api_param *param_find(const struct api_param *const *list, const char *name);

/* Whether a value is what its row says; the error is a line that begins with the name. */
bool param_check_text(const struct api_param *p, const char *value, struct err *err) ATTR_CHECK;
bool param_check_json(const struct api_param *p, const json_t *value, struct err *err) ATTR_CHECK;

/* A checked value of a body as it would stand in a query. */
const char *param_text(const json_t *value, struct arena *a);

json_t *param_schema(const struct api_param *p, bool in_body); /* the caller owns it */

#endif
