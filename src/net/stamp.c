/* stamp.c - recvmsg with SCM_TIMESTAMPNS, and real time made monotonic. */
#include "net/stamp.h"

#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/num.h"

/* CLOCK_REALTIME minus CLOCK_MONOTONIC, measured anew once a second: kernel stamps are real time.
 * The tightest of three looks, since a pre-emption inside one would shift a second of stamps. */
static int64_t realtime_offset(int64_t now)
{
    static _Thread_local int64_t offset, measured_at;
    int64_t tightest = INT64_MAX;

    if (measured_at != 0 && now - measured_at <= NS_PER_S)
        return offset;
    for (int i = 0; i < 3; i++) {
        int64_t before = clock_now(), real = clock_realtime(), span = clock_now() - before;
        if (span >= tightest)
            continue;
        tightest = span;
        offset = real - (before + span / 2);
    }
    measured_at = now;
    return offset;
}

/* Real time; 0: there is none. */
static int64_t kernel_stamp(struct msghdr *msg)
{
    for (struct cmsghdr *h = CMSG_FIRSTHDR(msg); h; h = CMSG_NXTHDR(msg, h))
        if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec t;
            memcpy(&t, CMSG_DATA(h), sizeof t);
            return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
        }
    return 0;
}

void stamp_enable(int fd)
{
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
}

ssize_t stamp_read(int fd, void *p, size_t size, int64_t *ret_at, int64_t *ret_kernel_at)
{
    struct iovec iov = {p, size};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct timespec))];
    } control;
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof control};
    ssize_t n = recvmsg(fd, &msg, 0);
    *ret_at = clock_now();
    int64_t kernel = n > 0 ? kernel_stamp(&msg) : 0;
    *ret_kernel_at = kernel ? kernel - realtime_offset(*ret_at) : 0;
    return n;
}
