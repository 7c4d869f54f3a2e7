/* libcurl.h - libcurl's functions under their own names, from the library that is opened when the
 * first handle is wanted (base/library.h). To be included in place of <curl/curl.h>. */
#ifndef TOKGRID_NET_LIBCURL_H
#define TOKGRID_NET_LIBCURL_H

#include <curl/curl.h>

#include "base/err.h"

#define LIBCURL_CALLS(X)                                                                           \
    X(easy_cleanup)                                                                                \
    X(easy_getinfo)                                                                                \
    X(easy_header)                                                                                 \
    X(easy_init)                                                                                   \
    X(easy_reset)                                                                                  \
    X(easy_setopt)                                                                                 \
    X(easy_strerror)                                                                               \
    X(global_init)                                                                                 \
    X(multi_add_handle)                                                                            \
    X(multi_assign)                                                                                \
    X(multi_cleanup)                                                                               \
    X(multi_info_read)                                                                             \
    X(multi_init)                                                                                  \
    X(multi_perform)                                                                               \
    X(multi_poll)                                                                                  \
    X(multi_remove_handle)                                                                         \
    X(multi_setopt)                                                                                \
    X(multi_socket_action)                                                                         \
    X(slist_append)                                                                                \
    X(slist_free_all)                                                                              \
    X(version)

struct libcurl {
#define LIBCURL_MEMBER(call) __typeof__(curl_##call) *(call);
    LIBCURL_CALLS(LIBCURL_MEMBER)
#undef LIBCURL_MEMBER
};
extern struct libcurl libcurl;

/* Open and initialise it, once a process, from any thread; the calls work from then on.
 * Fails where it is not installed. */
bool libcurl_open(struct err *err) ATTR_CHECK;

/* Some of these are macros of libcurl's that check their arguments' types. */
#undef curl_easy_getinfo
#undef curl_easy_setopt
#undef curl_multi_setopt

#define curl_easy_cleanup        libcurl.easy_cleanup
#define curl_easy_getinfo        libcurl.easy_getinfo
#define curl_easy_header         libcurl.easy_header
#define curl_easy_init           libcurl.easy_init
#define curl_easy_reset          libcurl.easy_reset
#define curl_easy_setopt         libcurl.easy_setopt
#define curl_easy_strerror       libcurl.easy_strerror
#define curl_global_init         libcurl.global_init
#define curl_multi_add_handle    libcurl.multi_add_handle
#define curl_multi_assign        libcurl.multi_assign
#define curl_multi_cleanup       libcurl.multi_cleanup
#define curl_multi_info_read     libcurl.multi_info_read
#define curl_multi_init          libcurl.multi_init
#define curl_multi_perform       libcurl.multi_perform
#define curl_multi_poll          libcurl.multi_poll
#define curl_multi_remove_handle libcurl.multi_remove_handle
#define curl_multi_setopt        libcurl.multi_setopt
#define curl_multi_socket_action libcurl.multi_socket_action
#define curl_slist_append        libcurl.slist_append
#define curl_slist_free_all      libcurl.slist_free_all
#define curl_version             libcurl.version

#endif
