/* api_table.h - shorthands for the rows of api_schema.h's tables.
 *
 * OF is defined around each table as the struct it describes. */
#ifndef TOKGRID_SITE_API_TABLE_H
#define TOKGRID_SITE_API_TABLE_H

#include <string.h>

#include "base/mem.h"
#include "site/api_schema.h"

#define ROW(member, text, is_a, flag_bits, sentence)                                               \
    {                                                                                              \
        .name = (text), .kind = (is_a), .offset = offsetof(OF, member), .flags = (flag_bits),      \
        .help = (sentence),                                                                        \
    }
#define ROW_WORD(member, text, names, sentence) /* by a function */                                \
    {                                                                                              \
        .name = (text), .kind = API_WORD, .offset = offsetof(OF, member),                          \
        .words = {.name = (names)}, .help = (sentence),                                            \
    }
#define ROW_CHOICE(member, text, names, sentence) /* by a list */                                  \
    {                                                                                              \
        .name = (text), .kind = API_WORD, .offset = offsetof(OF, member),                          \
        .words = {.list = (names)}, .help = (sentence),                                            \
    }
#define ROW_OBJECT(member, text, table, sentence)                                                  \
    {                                                                                              \
        .name = (text), .kind = API_OBJECT, .offset = offsetof(OF, member), .object = (table),     \
        .help = (sentence),                                                                        \
    }
#define ROW_LIST(rows, n_rows, text, table, sentence)                                              \
    {                                                                                              \
        .name = (text), .kind = API_LIST, .offset = offsetof(OF, rows),                            \
        .count_offset = offsetof(OF, n_rows), .object = (table), .help = (sentence),               \
    }
#define ROW_NEXT ROW(next, "next", API_CHARS, API_NULL, "Goes into after; null: the last page.")

#define TABLE(text, type, rows, sentence)                                                          \
    {                                                                                              \
        .name = (text), .help = (sentence), .fields = (rows), .count = ARRAY_LEN(rows),            \
        .size = sizeof(type),                                                                      \
    }

#endif
