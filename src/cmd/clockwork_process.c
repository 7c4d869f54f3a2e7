/* clockwork_process.c - fork, pin, and learn the child's address through a pipe. */
#include "cmd/clockwork_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/priority.h"
#include "engine/clockwork.h"

/* One CPU of several: the first for the server, the last for the client. */
static void pin(const cpu_set_t *allowed, bool first)
{
    cpu_set_t one;
    size_t chosen = CPU_SETSIZE;

    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, allowed))
            continue;
        chosen = i;
        if (first)
            break;
    }
    if (chosen == CPU_SETSIZE)
        return;
    CPU_ZERO(&one);
    CPU_SET(chosen, &one);
    sched_setaffinity(0, sizeof one, &one);
}

/* The child: an address or the reason why there is none, then the loop for ever. */
_Noreturn static void serve(const struct clockwork_process *p, pid_t parent, int out)
{
    struct err err = {0};
    struct loop *loop = loop_new(&err);
    struct clockwork *c = loop ? clockwork_new(loop, &err) : NULL;
    char line[ERR_TEXT_MAX + 2];

    if (p->pinned)
        pin(&p->cpus, true);
    int n = snprintf(line, sizeof line, "%s", c ? clockwork_url(c) : err.text);
    if (write(out, line, (size_t)n) != n || !c)
        _exit(1);
    close(out);
    while (getppid() == parent)
        loop_turn(loop, INT64_MAX);
    _exit(0);
}

/* All that the child writes, until it closes its end. */
static void read_line(int in, char *line, size_t size)
{
    size_t n = 0;
    ssize_t got;

    while (n < size - 1 && (got = read(in, line + n, size - 1 - n)) != 0) {
        if (got < 0 && errno != EINTR)
            break;
        n += got > 0 ? (size_t)got : 0;
    }
    line[n] = '\0';
}

bool clockwork_process_start(struct clockwork_process *p, bool realtime, struct err *err)
{
    pid_t parent = getpid();
    int fds[2];
    char line[ERR_TEXT_MAX];

    p->pinned = sched_getaffinity(0, sizeof p->cpus, &p->cpus) == 0 && CPU_COUNT(&p->cpus) > 1;
    if (pipe2(fds, O_CLOEXEC) != 0)
        return err_set(err, ERR_SYSTEM, "cannot make a pipe: %s", strerror(errno));
    p->pid = fork();
    if (p->pid < 0) {
        close(fds[0]);
        close(fds[1]);
        return err_set(err, ERR_SYSTEM, "cannot start the server process: %s", strerror(errno));
    }
    if (p->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(fds[0]);
        if (realtime)
            priority_realtime();
        serve(p, parent, fds[1]);
    }
    close(fds[1]);
    read_line(fds[0], line, sizeof line);
    close(fds[0]);
    if (strncmp(line, "http://", 7) != 0) {
        clockwork_process_stop(p);
        return err_set(err, ERR_SYSTEM, "the clockwork server did not start: %s", line);
    }
    snprintf(p->url, sizeof p->url, "%.*s", (int)sizeof p->url - 1, line);
    if (p->pinned)
        pin(&p->cpus, false);
    return true;
}

void clockwork_process_stop(struct clockwork_process *p)
{
    kill(p->pid, SIGKILL);
    waitpid(p->pid, NULL, 0);
    if (p->pinned)
        sched_setaffinity(0, sizeof p->cpus, &p->cpus);
}
