/* err.h - an error as a value: a code for the program, one line of text for the reader.
 *
 * Fallible functions return bool (or a pointer) and take a `struct err *` that they fill only on
 * failure. The text says what, where, and what to do; it is complete enough to print as it is, and
 * never holds a control byte (err_set replaces them: much of it comes from servers and files). */
#ifndef TOKGRID_BASE_ERR_H
#define TOKGRID_BASE_ERR_H

#include <stdbool.h>

#include "base/mem.h"

enum err_code {
    ERR_NONE = 0,
    ERR_USAGE,     /* the user asked for something that makes no sense */
    ERR_SYSTEM,    /* the operating system refused: files, sockets, limits */
    ERR_CONNECT,   /* no connection: DNS, refused, unreachable, TLS */
    ERR_TIMEOUT,   /* nobody answered in time */
    ERR_CLOSED,    /* the peer closed or reset the connection */
    ERR_PROTOCOL,  /* the peer sent what the protocol does not allow */
    ERR_HTTP,      /* an HTTP status that is not a success */
    ERR_SERVER,    /* the server reported an error in its own words */
    ERR_FORMAT,    /* a document is not what it should be */
    ERR_LIMIT,     /* a bound was reached */
    ERR_NOT_FOUND, /* there is no such thing */
    ERR_EXISTS,    /* a name or document is taken */
    ERR_DENIED,    /* a password, key or right is wrong */
    ERR_BUSY,      /* held by others; the same may work in a moment */
    ERR_INTERRUPT, /* the user stopped the run */
};

enum { ERR_TEXT_MAX = 640 };

struct err {
    enum err_code code;
    char text[ERR_TEXT_MAX];
};

/* Always returns false, so that `return err_set(...)` reads well. `err` may be NULL. */
bool err_set(struct err *err, enum err_code code, const char *format, ...) ATTR_PRINTF(3, 4);

/* Put `prefix: ` in front of the text, on the way up. Always returns false. */
bool err_prefix(struct err *err, const char *format, ...) ATTR_PRINTF(2, 3);

#endif
