/* event_fields.h - what the two readers of a payload find, before anybody judges it.
 *
 * event_scan and event_parse differ in how they look (one walk over bytes, one tree) and share what
 * they look for and what it means: both fill a struct event_fields, and event_settle, the only
 * place with opinions, turns it into a struct event. Private to event*.c. */
#ifndef TOKGRID_LOAD_EVENT_FIELDS_H
#define TOKGRID_LOAD_EVENT_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load/event.h"

/* Strings. The first block is generated text, in the order in which the first non-empty one wins.
 */
enum text_field {
    TEXT_CONTENT,           /* choices[].delta.content */
    TEXT_REASONING,         /* choices[].delta.reasoning */
    TEXT_REASONING_CONTENT, /* choices[].delta.reasoning_content */
    TEXT_ARGUMENTS,         /* choices[].delta.tool_calls[].function.arguments, first non-empty */
    TEXT_TEXT,              /* choices[].text */
    TEXT_MESSAGE_CONTENT,   /* message.content */
    TEXT_MESSAGE_THINKING,  /* message.thinking */
    TEXT_RESPONSE,          /* response */
    TEXT_THINKING,          /* thinking */
    TEXT_GENERATED,         /* how many these are */
    TEXT_FINISH_REASON = TEXT_GENERATED, /* choices[].finish_reason */
    TEXT_DONE_REASON,                    /* done_reason */
    TEXT_ID,                             /* id */
    TEXT_OBJECT,                         /* object */
    TEXT_ERROR_MESSAGE,                  /* error.message */
    TEXT_ERROR,                          /* error, a string */
    TEXT_MESSAGE,                        /* message, a string */
    TEXT_DETAIL,                         /* detail, or the msg inside it */
    TEXT_MSG,                            /* msg */
    TEXT_ERROR_CODE,                     /* error.code, a string */
    TEXT_CODE,                           /* code, a string */
    TEXT_ERROR_TYPE,                     /* error.type */
    TEXT_TYPE_OF_ERROR,                  /* error_type */
    TEXT_COUNT,
};

/* Counts: integers that are not negative, else -1. */
enum count_field {
    COUNT_PROMPT,          /* usage.prompt_tokens */
    COUNT_COMPLETION,      /* usage.completion_tokens */
    COUNT_CACHED,          /* usage.prompt_tokens_details.cached_tokens */
    COUNT_REASONING,       /* usage.completion_tokens_details.reasoning_tokens */
    COUNT_REASONING_FLAT,  /* usage.reasoning_tokens */
    COUNT_PROMPT_EVAL,     /* prompt_eval_count */
    COUNT_EVAL,            /* eval_count */
    COUNT_TIMED_PROMPT,    /* timings.prompt_n */
    COUNT_TIMED_CACHE,     /* timings.cache_n */
    COUNT_TIMED_PREDICTED, /* timings.predicted_n */
    COUNT_ERROR_CODE,      /* error.code */
    COUNT_ERROR_STATUS,    /* error.http_status_code */
    COUNT_CODE,            /* code */
    COUNT_STATUS,          /* http_status_code */
    COUNT_COUNT,
};

enum {
    COUNT_MAX_DIGITS = 15, /* what a double holds exactly, so that both readers agree */
};

struct event_fields {
    struct slice text[TEXT_COUNT]; /* n = 0: absent, null or "" */
    int64_t count[COUNT_COUNT];
    double prompt_ms; /* timings.prompt_ms */
    bool done;        /* done: true */
    bool error;       /* an error that says something, at the root or in a choice */
    bool answers;     /* the key choices, response, usage or done is there */
};

void event_fields_init(struct event_fields *f);
void event_settle(const struct event_fields *f, struct event *ret);

/* [DONE] or whitespace only. False: something else; *ret is then a chunk that says nothing. */
bool event_is_plain(const char *p, size_t n, struct event *ret);

/* The UTF-16 unit of the escape \uXXXX at p; -1 when no such escape stands there. */
int event_unicode_escape(const char *p, size_t n);

#endif
