/* store_option.c - opening the store that a command was told. */
#include "cmd/store_option.h"

bool store_option_open(const char *where, bool create, struct store **ret, struct err *err)
{
    const struct store_options options = {.create = create, .migrate = true};
    struct buf shown;

    if (store_open(where, &options, ret, err))
        return true;
    buf_init(&shown, 4096);
    store_where(where, &shown);
    if (store_is_url(where)) /* errors of files name them */
        err_prefix(err, "%s", shown.p);
    buf_release(&shown);
    return false;
}
