/* sysfile.c - one bounded, non-blocking read below all of them. */
#include "load/sysfile.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "base/text.h"

/* O_NONBLOCK: a FIFO in a strange tree must not stop the program. */
static int open_regular(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool read_all(int fd, struct buf *out)
{
    for (;;) {
        char block[4096];
        ssize_t n = read(fd, block, sizeof block);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        if (!buf_add(out, block, (size_t)n))
            return false;
    }
}

ATTR_PRINTF(2, 0) static bool read_path(struct buf *out, const char *format, va_list args)
{
    char path[SYSFILE_PATH_MAX];
    int n = vsnprintf(path, sizeof path, format, args);
    if (n < 0 || n >= (int)sizeof path)
        return false;
    int fd = open_regular(path);
    if (fd < 0)
        return false;
    size_t before = out->len;
    bool ok = read_all(fd, out);
    close(fd);
    if (!ok) {
        out->len = before;
        out->p[before] = '\0';
        out->overflow = false;
    }
    return ok;
}

bool sysfile_read(struct buf *out, const char *path, ...)
{
    va_list args;
    va_start(args, path);
    bool ok = read_path(out, path, args);
    va_end(args);
    return ok;
}

ATTR_PRINTF(2, 0) static bool first_line(char *out, const char *format, va_list args)
{
    enum { FILE_MAX = 64 << 10 };
    struct buf text;
    buf_init(&text, FILE_MAX);
    bool ok = read_path(&text, format, args);
    if (ok) {
        const char *p = text.p;
        size_t n = strcspn(p, "\n");
        while (n > 0 && isspace((unsigned char)*p))
            p++, n--;
        while (n > 0 && isspace((unsigned char)p[n - 1]))
            n--;
        ok = text_printable(out, SYSFILE_LINE_MAX, p, n) > 0;
    }
    buf_release(&text);
    return ok;
}

bool sysfile_line(char *out, const char *path, ...)
{
    va_list args;
    va_start(args, path);
    bool ok = first_line(out, path, args);
    va_end(args);
    return ok;
}

bool sysfile_i64(int64_t *ret, const char *path, ...)
{
    char line[SYSFILE_LINE_MAX];
    va_list args;
    va_start(args, path);
    bool ok = first_line(line, path, args);
    va_end(args);
    return ok && num_parse_i64(line, ret);
}

bool sysfile_parse_hex(const char *s, unsigned *ret)
{
    unsigned value = 0;
    if (s[0] != '0' || (s[1] != 'x' && s[1] != 'X'))
        return false;
    s += 2;
    size_t digits = strspn(s, "0123456789abcdefABCDEF");
    if (digits == 0 || digits > 8 || s[digits])
        return false;
    for (; *s; s++) {
        int c = tolower((unsigned char)*s);
        value = value << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *ret = value;
    return true;
}

bool sysfile_hex(unsigned *ret, const char *path, ...)
{
    char line[SYSFILE_LINE_MAX];
    va_list args;
    va_start(args, path);
    bool ok = first_line(line, path, args);
    va_end(args);
    return ok && sysfile_parse_hex(line, ret);
}
