/* libmicrohttpd.c - the table that base/library.h fills. */
#include "site/libmicrohttpd.h"

#include "base/library.h"

struct libmicrohttpd libmicrohttpd;

static const struct library_call calls[] = {
#define LIBMICROHTTPD_ROW(call) {offsetof(struct libmicrohttpd, call), "MHD_" #call, NULL},
    LIBMICROHTTPD_CALLS(LIBMICROHTTPD_ROW)
#undef LIBMICROHTTPD_ROW
};

static struct library library = {
    .file = "libmicrohttpd.so.12",
    .package = "libmicrohttpd12",
    .calls = calls,
    .count = ARRAY_LEN(calls),
    .table = &libmicrohttpd,
};

bool libmicrohttpd_open(struct err *err)
{
    return library_need(&library, err);
}
