/* http_server.h - the answering side of HTTP/1.1: listen, read whole requests, answer or stream.
 *
 * Made for an engine's face: thousands of long event streams on one loop, each write one send(2) of
 * one HTTP chunk, so that what a client measures is when the engine spoke and not when a buffer was
 * full. Everything runs on the loop's thread; callbacks come only from loop_turn.
 *
 * You may rely on: a request is handed over whole, head and body, both bounded by the options;
 * what is malformed, too long, too much or too slow is answered by an error status (408, 503, and
 * the table in http_request.h) and never handed over. One exchange at a time on a connection:
 * pipelined requests wait. HTTP/1.0, Connection: close, HEAD, Expect: 100-continue and Date are
 * done here. An idle connection holds about 500 bytes.
 *
 * An exchange lives from on_request until its owner called exchange_reply, exchange_end or
 * exchange_abort, or on_gone returned; after that it must not be touched. on_gone never comes from
 * inside a call of the owner's: a write to a dead client is dropped and on_gone follows from the
 * loop.
 *
 * A client that closes only its sending side (FIN) counts as gone while an exchange is under way,
 * as it does with the servers of inference engines: a FIN is all one sees of a client that hung up,
 * and it must stop costing tokens at once. An answer given from inside on_request still reaches it.
 *
 * Each connection is a file descriptor: the caller raises RLIMIT_NOFILE. When they run out, or at
 * max_connections, further clients wait in the kernel's queue. */
#ifndef TOKGRID_NET_HTTP_SERVER_H
#define TOKGRID_NET_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "net/loop.h"

struct http_server;
struct exchange;

struct http_server_options {
    const char *host; /* numeric address or "localhost"; NULL: 127.0.0.1 */
    uint16_t port;    /* 0: the system picks one */
    size_t max_head, max_body;
    size_t max_backlog; /* unsent bytes of one stream; more ends it as if the client had gone */
    size_t max_memory;  /* of all connections together, for what they sent and did not take */
    unsigned max_connections;
    int64_t request_timeout_ns; /* first byte of a request to its last */
    int64_t idle_timeout_ns;    /* between requests, and of a client that takes no bytes of an
                                 * ended answer */
};
/* The defaults: 127.0.0.1, port 0, 32 KiB head, 64 MiB body, 4 MiB backlog, 4 GiB in all, 16,384
 * connections, 60 s and 120 s. Copy them and change what is to be different. */
extern const struct http_server_options http_server_defaults;

struct http_server_events {
    void (*on_request)(void *ctx, struct exchange *x);
    void (*on_gone)(void *ctx, struct exchange *x); /* the client hung up before the answer's end */
};

/* Life cycle. The loop and the events are borrowed. Freeing ends every connection without further
 * callbacks, and is not for inside one. */
struct http_server *http_server_new(struct loop *loop, const struct http_server_options *options,
                                    const struct http_server_events *events, void *ctx,
                                    struct err *err) ATTR_CHECK;
void http_server_free(struct http_server *s);
const char *http_server_url(const struct http_server *s); /* "http://127.0.0.1:40123" */

/* The request. Strings are owned by the exchange and live as long; the body only until the answer
 * starts, since thousands of streams need not keep their prompts. */
const char *exchange_method(const struct exchange *x);
const char *exchange_path(const struct exchange *x);  /* without host and query, not decoded */
const char *exchange_query(const struct exchange *x); /* without '?'; "" when there is none */
const char *exchange_body(const struct exchange *x, size_t *ret_size);   /* NUL-terminated too */
const char *exchange_header(const struct exchange *x, const char *name); /* any case; NULL: none */
int64_t exchange_arrived(const struct exchange *x); /* monotonic ns: the last byte's read, by the
                                                     * kernel's receive stamp where there is one */
void exchange_set_owner(struct exchange *x, void *owner);
void *exchange_owner(const struct exchange *x);

/* Answer whole, in one send. `headers` are further header lines, each ended by CRLF, or NULL; so
 * may content_type be. Of any size: max_backlog is for streams. Ends the exchange. */
void exchange_reply(struct exchange *x, int status, const char *content_type, const char *headers,
                    const void *body, size_t n);

/* Answer as a stream: the head at once (chunked; until close for HTTP/1.0), then each write as one
 * HTTP chunk in one send. What the socket does not take waits, in order. */
void exchange_start(struct exchange *x, int status, const char *content_type, const char *headers);
void exchange_write(struct exchange *x, const void *p, size_t n);
void exchange_end(struct exchange *x); /* the last chunk; ends the exchange */

/* End the exchange and its connection at once: by FIN in mid-message, or by RST. Also before any
 * head was sent. What the socket had not taken yet is lost. */
void exchange_abort(struct exchange *x, bool reset);

#endif
