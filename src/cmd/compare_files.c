/* compare_files.c - reads results, and keeps the axes of all of them. */
#include "cmd/compare_files.h"

#include "base/file.h"

const char *const compare_view_names[] = {"total", "each", "ttft", "itl", "bound", NULL};

bool compare_files_add(struct compare_files *f, const char *path, struct err *err)
{
    struct buf text;

    if (f->n == COMPARE_MAX)
        return err_set(err, ERR_USAGE, "at most %d results are compared at a time", COMPARE_MAX);
    buf_init(&text, RESULT_MAX_BYTES);
    bool ok = file_read(path, &text, err) &&
              result_read_json(text.p, text.len, path, &f->results[f->n], err);
    buf_release(&text);
    if (!ok)
        return false;
    f->paths[f->n++] = path;
    compare_axes_of(f->results, f->n, &f->axes);
    return true;
}

void compare_files_release(struct compare_files *f)
{
    for (size_t i = 0; i < f->n; i++)
        result_release(&f->results[i]);
    f->n = 0;
}
