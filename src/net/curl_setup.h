/* curl_setup.h - what every libcurl handle of ours shares: address, certificates, key, headers. */
#ifndef TOKGRID_NET_CURL_SETUP_H
#define TOKGRID_NET_CURL_SETUP_H

#include "base/err.h"
#include "net/endpoint.h"
#include "net/libcurl.h"

/* Lists that must live as long as the transfer they were given to. Zeroed = none. */
struct curl_lists {
    struct curl_slist *headers, *connect_to;
};
void curl_lists_release(struct curl_lists *lists);

/* Set URL (the prefix is added to `path`), address, TLS, proxy, bearer key and headers. The handle
 * must be fresh or reset; *lists is released and filled anew. */
void curl_set_common(CURL *easy, const struct endpoint *e, const char *path, bool json_body,
                     struct curl_lists *lists);

/* A libcurl code as an error of ours. */
void curl_error(struct err *err, CURLcode code, bool connecting);

#endif
