/* ask.h - what a request for a completion asks for, read from its JSON and checked.
 *
 * The fields are a table in ask.c: name, type, bounds. Fields that are not in it are ignored, as
 * serving engines do. What is wrong becomes a complaint, which each face puts in its own words. */
#ifndef TOKGRID_ENGINE_ASK_H
#define TOKGRID_ENGINE_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/body.h"
#include "engine/tokenizer.h"

enum endpoint { ENDPOINT_CHAT, ENDPOINT_TEXT };

enum complaint_kind {
    COMPLAINT_JSON,     /* the body is no JSON; `text` says where */
    COMPLAINT_MISSING,  /* `param` is required */
    COMPLAINT_TYPE,     /* `param` is not `text` ("an integer") */
    COMPLAINT_VALUE,    /* `param` has a value that is not taken; `text` says why */
    COMPLAINT_MODEL,    /* `text` is no model served here */
    COMPLAINT_TOO_LONG, /* prompt_tokens (+ max_output) exceed `limit` */
    COMPLAINT_ROUTE,    /* nothing is at this path */
    COMPLAINT_METHOD,   /* something is, but not by this method */
    COMPLAINT_KEY,      /* no API key, or a wrong one */
    COMPLAINT_NOT_ON,   /* `text` was not switched on when the engine was started */
    COMPLAINT_BUSY,     /* refused on purpose; `status` says how */
};

struct complaint {
    enum complaint_kind kind;
    int status;            /* COMPLAINT_BUSY only */
    int64_t retry_after_s; /* > 0: the client is told to wait so long */
    char param[64], text[240];
    int64_t prompt_tokens, limit;
    int64_t max_output; /* -1: none was asked for */
};

/* What an engine and its face take. */
struct ask_rules {
    const char *served_model;
    int64_t context_limit;
    int64_t text_max_output; /* of /v1/completions when none is given; 0: what is left */
    bool checks_model;       /* another model's name is refused */
    bool trims_output;  /* more output than is left behind the prompt is cut to it, else refused */
    bool bounds_output; /* though never more than the whole context */
    bool stream_options_want_stream; /* they are refused where nothing is streamed */
    bool negative_is_all;            /* max_tokens < 0 means all that is left */
};

enum { ASK_ID_MAX = 80 };

struct ask {
    enum endpoint endpoint;
    bool stream, include_usage, continuous_usage, ignore_eos, has_seed;
    int64_t max_output, min_output; /* max_output is filled in when it was not given */
    int64_t seed;
    char id[ASK_ID_MAX]; /* the request's own id ("rid"); "" when it has none */
    struct tokens prompt;
};

/* Read and check a request. `prompt` is storage that is used anew; the memo serves long prompts.
 * *ret borrows the prompt's tokens from it. */
bool ask_read(const struct body *body, enum endpoint endpoint, const struct ask_rules *rules,
              struct tokens *prompt, struct token_memo *memo, struct ask *ret,
              struct complaint *complaint) ATTR_CHECK;

/* The messages of a chat request, templated: as tokens, or as text. False with a complaint. */
bool ask_messages(const struct body *body, struct tokens *tokens, struct token_memo *memo,
                  struct buf *text, struct complaint *complaint) ATTR_CHECK;

/* A request need not name a model; when it does, it is the one served. */
bool ask_check_model(const struct body *body, const struct ask_rules *rules,
                     struct complaint *c) ATTR_CHECK;

/* Fill a complaint; always returns false. */
bool complain(struct complaint *c, enum complaint_kind kind, const char *param, const char *format,
              ...) ATTR_PRINTF(4, 5);

#endif
