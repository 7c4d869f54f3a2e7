/* peer.h - a server for tests: a thread that does exactly what a script says.
 *
 * It listens on a free port of 127.0.0.1 or on a unix socket, with or without TLS, and serves one
 * connection after the other: each has a script, the last script serves all that come later. The
 * first connection of all is dropped, since that is endpoint_open looking for an address.
 *
 * Nothing sleeps: the test and the script wait for each other by PEER_TELL / peer_wait and
 * peer_go / PEER_AWAIT. What takes longer than ten seconds fails. */
#ifndef TOKGRID_TESTS_PEER_H
#define TOKGRID_TESTS_PEER_H

#include <stdbool.h>
#include <stddef.h>

#include "net/endpoint.h"

enum peer_do {
    PEER_END,     /* as PEER_CLOSE: a script ends with it or with one of those below */
    PEER_REQUEST, /* read a head and the body it announces */
    PEER_READ,    /* read n bytes */
    PEER_GONE,    /* read until the other side has closed */
    PEER_SEND,    /* send text (n bytes; 0: up to its NUL) */
    PEER_BYTES,   /* send text n times; stops when the other side is gone */
    PEER_PAGES,   /* answer requests from the pages until the other side has closed */
    PEER_TELL,    /* peer_wait returns */
    PEER_AWAIT,   /* wait for peer_go */
    PEER_AGAIN,   /* from the script's start */
    PEER_CLOSE,   /* orderly; TLS says goodbye first. n: 1: peer_wait returns afterwards */
    PEER_CUT,     /* orderly, but TLS says nothing. n likewise */
    PEER_RESET,   /* n likewise */
};

/* What stands at a path; other paths are 404. The last row has no path. */
struct peer_page {
    const char *path, *body;
};

struct peer_step {
    enum peer_do what;
    const char *text;
    size_t n;
    const struct peer_page *pages;
};

struct peer_options {
    bool unix_socket;
    const char *tls; /* what its certificate is for: "IP:127.0.0.1"; NULL: no TLS */
};

struct peer;

struct peer *peer_start(const struct peer_step *const *scripts, size_t count,
                        const struct peer_options *options);
void peer_stop(struct peer *p);           /* ends whatever it is doing; NULL is fine */
void peer_stop_listening(struct peer *p); /* further connections are refused */

/* Open an endpoint of it. Trusts its certificate unless `trust` is false. */
void peer_endpoint(struct peer *p, struct endpoint *e, bool trust);
const char *peer_url(const struct peer *p);
const char *peer_ca_file(const struct peer *p); /* NULL without TLS */

void peer_wait(struct peer *p);
void peer_go(struct peer *p);

int peer_connections(struct peer *p); /* served so far, without the dropped one */
size_t peer_received(struct peer *p); /* plain bytes */
/* The last request's head and the first bytes of its body. Caller: free. */
char *peer_request_dup(struct peer *p);

#endif
