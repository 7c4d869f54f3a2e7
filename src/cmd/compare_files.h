/* compare_files.h - result files read for a comparison, and the option that says of what. */
#ifndef TOKGRID_CMD_COMPARE_FILES_H
#define TOKGRID_CMD_COMPARE_FILES_H

#include "cmd/options.h"
#include "report/compare.h"

/* The ids of views[], in its order; ends with NULL. */
extern const char *const compare_view_names[];

#define COMPARE_VIEW_ROW(s, member)                                                                \
    {                                                                                              \
        .name = "view", OPTION_CHOICE(s, member, compare_view_names), .value = "NAME",             \
        .initial = "total",                                                                        \
        .help = "Which figure. total: tokens per second of all requests together, each: of one, "  \
                "ttft: time to the first token, itl: time between tokens, bound: share of what "   \
                "memory bandwidth allows. Only totals have intervals."                             \
    }

struct compare_files {
    struct result results[COMPARE_MAX];
    const char *paths[COMPARE_MAX];
    size_t n;
    struct compare_axes axes;
};

/* Add a file, read strictly; ERR_USAGE beyond COMPARE_MAX. Zeroed structs are empty. */
bool compare_files_add(struct compare_files *f, const char *path, struct err *err) ATTR_CHECK;
void compare_files_release(struct compare_files *f);

#endif
