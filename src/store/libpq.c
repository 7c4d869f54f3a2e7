/* libpq.c - the table that base/library.h fills. */
#include "store/libpq.h"

#include "base/library.h"

struct libpq libpq;

static const struct library_call calls[] = {
#define LIBPQ_ROW(call) {offsetof(struct libpq, call), "PQ" #call, NULL},
    LIBPQ_CALLS(LIBPQ_ROW)
#undef LIBPQ_ROW
};

static struct library library = {
    .file = "libpq.so.5",
    .package = "libpq5",
    .calls = calls,
    .count = ARRAY_LEN(calls),
    .table = &libpq,
};

bool libpq_open(struct err *err)
{
    return library_need(&library, err);
}
