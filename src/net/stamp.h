/* stamp.h - reading from a socket with the times of it: ours, and the kernel's own.
 *
 * The kernel stamps a segment when it comes in (SO_TIMESTAMPNS), in real time; here that becomes
 * monotonic time by an offset measured anew once a second. So one sees how long bytes had lain
 * there before somebody read them. */
#ifndef TOKGRID_NET_STAMP_H
#define TOKGRID_NET_STAMP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Ask for kernel stamps. Sockets that a listening one accepts inherit it, and with it the stamps of
 * what came before they were accepted. Where there are none (unix sockets), this does nothing. */
void stamp_enable(int fd);

/* One recvmsg. Returns as read(2) does; *ret_at is taken right after it in any case. *ret_kernel_at
 * is when the kernel got the last segment of this read; 0: not known. */
ssize_t stamp_read(int fd, void *p, size_t size, int64_t *ret_at, int64_t *ret_kernel_at);

#endif
