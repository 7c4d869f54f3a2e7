/* store_option.h - the option that says where the store is, alike in every command that has it. */
#ifndef TOKGRID_CMD_STORE_OPTION_H
#define TOKGRID_CMD_STORE_OPTION_H

#include <stdbool.h>

#include "base/err.h"
#include "cmd/options.h"
#include "store/store.h"

#define STORE_OPTION_ROW(s, member)                                                                \
    {                                                                                              \
        .name = "db", OPTION_STRING(s, member), .value = "FILE|URL", .initial = "tokgrid.db",      \
        .env = "TOKGRID_DB",                                                                       \
        .help =                                                                                    \
            "The store: an SQLite file, or a PostgreSQL database as postgresql://user@host/"       \
            "name. A password belongs into ~/.pgpass, or into the variable, where other users "    \
            "of the machine do not see it."                                                        \
    }

/* Open it for a command, its schema brought up to date; `create` makes a file that is missing. */
bool store_option_open(const char *where, bool create, struct store **ret,
                       struct err *err) ATTR_CHECK;

#endif
