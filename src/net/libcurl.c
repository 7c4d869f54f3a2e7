/* libcurl.c - the table that base/library.h fills. */
#include "net/libcurl.h"

#include "base/library.h"

struct libcurl libcurl;

static const struct library_call calls[] = {
#define LIBCURL_ROW(call) {offsetof(struct libcurl, call), "curl_" #call, NULL},
    LIBCURL_CALLS(LIBCURL_ROW)
#undef LIBCURL_ROW
};

static bool start(struct err *err)
{
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ||
           err_set(err, ERR_SYSTEM, "libcurl cannot start");
}

static struct library library = {
    .file = "libcurl.so.4",
    .package = "libcurl4",
    .calls = calls,
    .count = ARRAY_LEN(calls),
    .table = &libcurl,
    .start = start,
};

bool libcurl_open(struct err *err)
{
    return library_need(&library, err);
}
