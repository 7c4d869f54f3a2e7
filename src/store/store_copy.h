/* store_copy.h - the tables that a copy takes along; for store_copy.c and its test, which holds
 * them against the schema. */
#ifndef TOKGRID_STORE_STORE_COPY_H
#define TOKGRID_STORE_STORE_COPY_H

#include <stdbool.h>
#include <stddef.h>

struct copied_table {
    const char *name, *columns;
    bool has_id; /* given by the database */
};

extern const struct copied_table copied_tables[];
extern const size_t copied_table_count;

#endif
