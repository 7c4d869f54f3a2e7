/* published.h - for tests: the two published matrices, read from tests/data/published. */
#ifndef TOKGRID_TESTS_PUBLISHED_H
#define TOKGRID_TESTS_PUBLISHED_H

#include <stdio.h>

#include "base/file.h"
#include "model/result.h"

static const char *const published_names[] = {"qwen3-coder-30b", "qwen3.5-27b"};

static inline void published_text(const char *name, const char *ending, struct buf *out)
{
    char path[128];
    struct err err = {0};
    snprintf(path, sizeof path, "tests/data/published/%s.%s", name, ending);
    buf_init(out, 1 << 20);
    if (!file_read(path, out, &err))
        fail_msg("%s (run from the root of the source tree)", err.text);
}

/* The caller releases. */
static inline void published_read(const char *name, struct result *ret)
{
    struct buf b;
    struct err err = {0};
    published_text(name, "json", &b);
    if (!result_read_json(b.p, b.len, name, ret, &err))
        fail_msg("%s", err.text);
    buf_release(&b);
}

#endif
