/* libmicrohttpd.h - its functions under their own names, from the library that is opened when the
 * site starts (base/library.h). To be included in place of <microhttpd.h>. */
#ifndef TOKGRID_SITE_LIBMICROHTTPD_H
#define TOKGRID_SITE_LIBMICROHTTPD_H

#include <microhttpd.h>

#include "base/err.h"

#define LIBMICROHTTPD_CALLS(X)                                                                     \
    X(add_response_header)                                                                         \
    X(create_response_from_buffer)                                                                 \
    X(create_response_from_buffer_with_free_callback_cls)                                          \
    X(destroy_response)                                                                            \
    X(get_connection_info)                                                                         \
    X(get_connection_values)                                                                       \
    X(lookup_connection_value)                                                                     \
    X(queue_response)                                                                              \
    X(start_daemon)                                                                                \
    X(stop_daemon)

struct libmicrohttpd {
#define LIBMICROHTTPD_MEMBER(call) __typeof__(MHD_##call) *(call);
    LIBMICROHTTPD_CALLS(LIBMICROHTTPD_MEMBER)
#undef LIBMICROHTTPD_MEMBER
};
extern struct libmicrohttpd libmicrohttpd;

/* Open it, once a process, from any thread; the calls work from then on. Fails where it is
 * not installed. */
bool libmicrohttpd_open(struct err *err) ATTR_CHECK;

#define MHD_add_response_header         libmicrohttpd.add_response_header
#define MHD_create_response_from_buffer libmicrohttpd.create_response_from_buffer
#define MHD_create_response_from_buffer_with_free_callback_cls                                     \
    libmicrohttpd.create_response_from_buffer_with_free_callback_cls
#define MHD_destroy_response        libmicrohttpd.destroy_response
#define MHD_get_connection_info     libmicrohttpd.get_connection_info
#define MHD_get_connection_values   libmicrohttpd.get_connection_values
#define MHD_lookup_connection_value libmicrohttpd.lookup_connection_value
#define MHD_queue_response          libmicrohttpd.queue_response
#define MHD_start_daemon            libmicrohttpd.start_daemon
#define MHD_stop_daemon             libmicrohttpd.stop_daemon

#endif
