/* file.c - read to the end; write beside, fsync, rename. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool system_error(struct err *err, const char *what, const char *path)
{
    return err_set(err, ERR_SYSTEM, "cannot %s %s: %s", what, path, strerror(errno));
}

static bool read_all(int fd, const char *path, struct buf *out, struct err *err)
{
    for (;;) {
        char block[65536];
        ssize_t n = read(fd, block, sizeof block);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return system_error(err, "read", path);
        if (n == 0)
            return true;
        if (!buf_add(out, block, (size_t)n))
            return err_set(err, ERR_LIMIT, "%s is larger than the %zu bytes allowed here", path,
                           out->max);
    }
}

bool file_read(const char *path, struct buf *out, struct err *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return system_error(err, "open", path);
    bool ok = read_all(fd, path, out, err);
    if (!is_stdin)
        close(fd);
    return ok;
}

/* What was opened is looked at, not what the path leads to a moment before. */
static bool is_private(int fd, const char *path, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return system_error(err, "look at", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_FORMAT, "%s is no file: move it away", path);
    if (st.st_uid != geteuid())
        return err_set(err, ERR_DENIED, "%s belongs to another user; move it away", path);
    return !(st.st_mode & 077) ||
           err_set(err, ERR_DENIED,
                   "%s can be read by others, so its secrets are none any more: chmod 600 it, and "
                   "get new ones",
                   path);
}

bool file_read_private(const char *path, struct buf *out, struct err *err)
{
    /* a pipe that stands there keeps nobody waiting */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return err_set(err, ERR_NOT_FOUND, "there is no file %s", path);
    if (fd < 0)
        return system_error(err, "open", path);
    bool ok = is_private(fd, path, err) && read_all(fd, path, out, err);
    close(fd);
    return ok;
}

static bool write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        p += done;
        n -= (size_t)done;
    }
    return true;
}

/* What is there and is no file (a device, a pipe: /dev/stdout, >(command)) is written to, never
 * replaced: as root, renaming a file over /dev/null would succeed. */
static bool is_stream(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static bool write_to_stream(const char *path, const void *p, size_t n, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return system_error(err, "write", path);
    bool ok = write_all(fd, p, n);
    int saved = errno;
    close(fd);
    errno = saved;
    return ok || system_error(err, "write", path);
}

/* Open a file beside `path` for what will replace it; -1 on failure. What a crash left there keeps
 * its mode when it is opened, so private files are made anew. */
static int open_beside(const char *path, bool secret, char *temp, size_t size, struct err *err)
{
    if (snprintf(temp, size, "%s.%ld.tmp", path, (long)getpid()) >= (int)size) {
        err_set(err, ERR_SYSTEM, "path too long: %.100s...", path);
        return -1;
    }
    if (secret)
        unlink(temp);
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | (secret ? O_EXCL : 0),
                  secret ? 0600 : 0644);
    if (fd < 0)
        system_error(err, "write", path);
    return fd;
}

bool file_can_write(const char *path, struct err *err)
{
    char temp[PATH_MAX];
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return err_set(err, ERR_SYSTEM, "cannot write %s: it is a folder", path);
    if (is_stream(path))
        return access(path, W_OK) == 0 || system_error(err, "write", path);
    int fd = open_beside(path, false, temp, sizeof temp, err);
    if (fd < 0)
        return false;
    close(fd);
    unlink(temp);
    return true;
}

static bool replace(const char *path, bool secret, const void *p, size_t n, struct err *err)
{
    char temp[PATH_MAX];
    int fd = open_beside(path, secret, temp, sizeof temp, err);
    if (fd < 0)
        return false;
    bool ok = write_all(fd, p, n) && fsync(fd) == 0;
    int saved = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        saved = errno;
    }
    if (ok && rename(temp, path) == 0)
        return true;
    if (ok)
        saved = errno;
    unlink(temp);
    errno = saved;
    return system_error(err, "write", path);
}

/* A link stays one: the file that it leads to is replaced. */
bool file_write_atomic(const char *path, const void *p, size_t n, struct err *err)
{
    if (is_stream(path))
        return write_to_stream(path, p, n, err);
    char *target = realpath(path, NULL);
    bool ok = replace(target ? target : path, false, p, n, err);
    free(target);
    return ok;
}

bool file_write_private(const char *path, const void *p, size_t n, struct err *err)
{
    return replace(path, true, p, n, err);
}

bool file_make_parent(const char *path, struct err *err)
{
    char folder[4096];
    if (snprintf(folder, sizeof folder, "%s", path) >= (int)sizeof folder)
        return err_set(err, ERR_SYSTEM, "path too long: %.100s...", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0777) != 0 && errno != EEXIST)
            return system_error(err, "create folder", folder);
        *slash = '/';
    }
    return true;
}
