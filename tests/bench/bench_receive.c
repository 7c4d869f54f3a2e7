/* bench_receive.c - what an event costs each kind of client, side by side against one server.
 *
 *   bare    epoll and read, bytes counted and nothing else: the limit
 *   own     tokgrid's receive path as it measures (transport own, SSE, event scanner, stream)
 *   curl    the same behind libcurl (--transport curl)
 *   aiohttp, httpx   Python clients, by receive_clients.py; one that is not installed is left out
 *
 * The server is clockwork in a process of its own on the first CPU, each client is a process of its
 * own on the last. CPU time is the client's, its kernel part included. Kinds take turns, `rounds`
 * times, and the median counts, because these figures are only good against one another. All of
 * them have real-time priority where that is allowed, as a measuring tokgrid has. */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/open_files.h"
#include "base/priority.h"
#include "cmd/clockwork_process.h"
#include "load/selftest.h"

enum { ROUNDS = 3, MAX_KINDS = 5, WARM_MS = 1000, COUNTED_MS = 2000 };

struct load_case {
    const char *title;
    int streams;
    int64_t gap_ms;
    int bundle;
    bool python; /* the Python clients take part */
};

static const struct load_case cases[] = {
    {"paced, one event a read: 128 x 100 tok/s", 128, 10, 1, true},
    {"paced, one event a read: 1,024 x 40 tok/s", 1024, 25, 1, true},
    {"flood, 16 events a write: 128 streams", 128, 0, 16, false},
    {"flood, 16 events a write: 1,024 streams", 1024, 0, 16, false},
    {"scale: 4,096 x 10 tok/s", 4096, 100, 1, false},
};

/* What a client tells through its pipe. */
struct figures {
    bool ok;
    double cpu_ns_per_event, events_per_s, cpu_share, lateness_p50_us, lateness_p99_us,
        kernel_p99_us, rss_mb;
};

/* --- the bare reader --- */

static int connect_to(const char *url)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    const char *colon = strrchr(url, ':');
    int64_t port = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    if (!colon || !num_parse_i64(colon + 1, &port) || fd < 0)
        return -1;
    address.sin_port = htons((uint16_t)port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? fd : -1;
}

static bool ask(int fd, const struct load_case *c, int64_t tokens)
{
    char body[300], head[200];
    int n = snprintf(body, sizeof body,
                     "{\"max_tokens\":%lld,\"first_ms\":50,\"gap_ms\":%lld,\"bundle\":%d}",
                     (long long)tokens, (long long)c->gap_ms, c->bundle);
    int h = snprintf(head, sizeof head,
                     "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                     "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n",
                     n);
    return write(fd, head, (size_t)h) == h && write(fd, body, (size_t)n) == n;
}

/* Bytes of a whole answer of so many tokens, from a connection of its own. */
static int64_t answer_bytes(const char *url, const struct load_case *c, int64_t tokens)
{
    static const char end[] = "0\r\n\r\n";
    char bytes[65536], tail[5] = "";
    int64_t total = 0;
    int fd = connect_to(url);
    ssize_t n;

    if (fd < 0 || !ask(fd, c, tokens))
        return -1;
    while (memcmp(tail, end, 5) != 0 && (n = read(fd, bytes, sizeof bytes)) > 0) {
        total += n;
        for (ssize_t i = n > 5 ? n - 5 : 0; i < n; i++) {
            memmove(tail, tail + 1, 4);
            tail[4] = bytes[i];
        }
    }
    close(fd);
    return total;
}

static struct figures bare_reader(const char *url, const struct load_case *c)
{
    static char bytes[65536];
    struct figures f = {
        .lateness_p50_us = NAN, .lateness_p99_us = NAN, .kernel_p99_us = NAN, .rss_mb = NAN};
    /* writes of the case's bundle: the difference of two answers is what one of them weighs */
    int64_t small = answer_bytes(url, &(struct load_case){.bundle = c->bundle}, 100 * c->bundle);
    int64_t large = answer_bytes(url, &(struct load_case){.bundle = c->bundle}, 200 * c->bundle);
    double event_bytes = (double)(large - small) / (100.0 * c->bundle);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    int *fds = mem_array((size_t)c->streams, sizeof *fds);

    for (int i = 0; i < c->streams; i++) {
        struct epoll_event e = {.events = EPOLLIN};
        e.data.fd = fds[i] = connect_to(url);
        if (e.data.fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, e.data.fd, &e) != 0)
            return f;
    }
    for (int i = 0; i < c->streams; i++) {
        if (!ask(fds[i], c, 1 << 20))
            return f;
        if (c->gap_ms)
            usleep((useconds_t)(100000 / c->streams));
    }
    int64_t start = clock_now(), t0 = start + WARM_MS * NS_PER_MS, t1 = t0 + COUNTED_MS * NS_PER_MS,
            cpu = 0, counted = 0;
    for (int64_t now = start; now < t1; now = clock_now()) {
        struct epoll_event ready[256];
        if (now >= t0 && cpu == 0)
            cpu = clock_thread_cpu();
        int n = epoll_wait(epoll, ready, ARRAY_LEN(ready), 100);
        for (int i = 0; i < n; i++) {
            ssize_t got = read(ready[i].data.fd, bytes, sizeof bytes);
            if (cpu)
                counted += got > 0 ? got : 0;
        }
    }
    cpu = clock_thread_cpu() - cpu;
    double events = (double)counted / event_bytes;
    f.ok = events > 0;
    f.cpu_ns_per_event = (double)cpu / events;
    f.cpu_share = (double)cpu / (COUNTED_MS * 1e6);
    f.events_per_s = events * 1e3 / COUNTED_MS;
    return f;
}

/* --- ours --- */

static struct figures tokgrid_client(const char *url, const struct load_case *c,
                                     const char *transport)
{
    const struct selftest_load load = {.concurrency = c->streams,
                                       .duration_ns = COUNTED_MS * NS_PER_MS,
                                       .tokens = 1 << 20,
                                       .gap_ms = c->gap_ms,
                                       .bundle = c->bundle};
    struct figures f = {0};
    struct selftest_row row;
    struct err err;

    f.ok = selftest_measure(url, transport, &load, &row, &err);
    if (!f.ok) {
        fprintf(stderr, "%s: %s\n", transport, err.text);
        return f;
    }
    f.cpu_ns_per_event = row.cpu_us_per_event * 1e3;
    f.events_per_s = row.events_per_s;
    f.cpu_share = row.cpu_us_per_event * 1e-6 * row.events_per_s;
    f.lateness_p50_us = row.lateness_us_p50;
    f.lateness_p99_us = row.lateness_us_p99;
    f.kernel_p99_us = row.kernel_lateness_us_p99;
    f.rss_mb = row.rss_mb;
    return f;
}

static struct figures own_client(const char *url, const struct load_case *c)
{
    return tokgrid_client(url, c, "own");
}

static struct figures curl_client(const char *url, const struct load_case *c)
{
    return tokgrid_client(url, c, "curl");
}

/* --- Python --- */

/* So many numbers of a line, apart by spaces. */
static bool read_numbers(char *line, double *const *into, size_t count)
{
    char *rest = line, *word;
    size_t n = 0;
    while ((word = strsep(&rest, " \n")) && n < count)
        if (*word && !num_parse_double(word, into[n++]))
            return false;
    return n == count;
}

static const char *clients_script; /* receive_clients.py; NULL: not asked for */

static struct figures python_client(const char *url, const struct load_case *c, const char *name)
{
    struct figures f = {0};
    char command[1024], line[400];

    /* a child starts without its parent's priority (priority.h) */
    snprintf(command, sizeof command,
             "chrt --fifo 1 true 2>/dev/null && first='chrt --fifo 1'; "
             "for p in python3 /usr/bin/python3; do $p -c 'import %s' 2>/dev/null && "
             "exec $first $p '%s' %s '%s' %d %lld %d %d; done",
             name, clients_script, name, url, c->streams, (long long)c->gap_ms, WARM_MS,
             COUNTED_MS);
    FILE *p = popen(command, "re"); /* NOLINT(cert-env33-c): a fixed script of this folder */
    if (!p)
        return f;
    f.kernel_p99_us = NAN;
    double *const into[] = {&f.cpu_ns_per_event, &f.events_per_s,    &f.cpu_share,
                            &f.lateness_p50_us,  &f.lateness_p99_us, &f.rss_mb};
    f.ok = fgets(line, sizeof line, p) != NULL && read_numbers(line, into, ARRAY_LEN(into));
    pclose(p);
    return f;
}

/* Says so when it is not: a client that is not there is none that did not hold the load. */
static bool python_has(const char *module)
{
    char command[160];

    snprintf(command, sizeof command,
             "for p in python3 /usr/bin/python3; do $p -c 'import %s' 2>/dev/null && exit 0; done; "
             "exit 1",
             module);
    bool has = system(command) == 0; /* NOLINT(cert-env33-c): names from the table below */
    if (!has)
        printf("%s is left out: python3 cannot import it\n", module);
    return has;
}

static struct figures aiohttp_client(const char *url, const struct load_case *c)
{
    return python_client(url, c, "aiohttp");
}

static struct figures httpx_client(const char *url, const struct load_case *c)
{
    return python_client(url, c, "httpx");
}

static const struct kind {
    const char *name;
    struct figures (*run)(const char *url, const struct load_case *c);
    bool python;
} kinds[MAX_KINDS] = {
    {"bare", bare_reader, false},      {"own", own_client, false},    {"curl", curl_client, false},
    {"aiohttp", aiohttp_client, true}, {"httpx", httpx_client, true},
};

static bool takes_part[MAX_KINDS];

static void see_who_is_there(void)
{
    for (size_t k = 0; k < MAX_KINDS; k++)
        takes_part[k] = !kinds[k].python || (clients_script && python_has(kinds[k].name));
}

/* --- rounds --- */

/* In a process of its own: nothing of one client is left for the next. */
static struct figures in_child(const struct kind *kind, const char *url, const struct load_case *c)
{
    struct figures f = {0};
    int fds[2];

    if (pipe(fds) != 0)
        return f;
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        (void)priority_realtime();
        f = kind->run(url, c);
        _exit(write(fds[1], &f, sizeof f) == sizeof f ? 0 : 1);
    }
    close(fds[1]);
    if (pid < 0 || read(fds[0], &f, sizeof f) != sizeof f)
        f.ok = false;
    close(fds[0]);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return f;
}

static int by_cost(const void *a, const void *b)
{
    const struct figures *x = a, *y = b;
    if (x->ok != y->ok)
        return x->ok ? -1 : 1;
    return (x->cpu_ns_per_event > y->cpu_ns_per_event) -
           (x->cpu_ns_per_event < y->cpu_ns_per_event);
}

static void print_figure(double v, int width, int decimals)
{
    if (isfinite(v) && v != 0)
        printf(" %*.*f", width, decimals, v);
    else
        printf(" %*s", width, "-");
}

static void print_row(const char *name, const struct figures *f, double bare_ns)
{
    if (!f->ok) {
        printf("  %-8s no figures: not installed, or not able to hold this load\n", name);
        return;
    }
    printf("  %-8s", name);
    print_figure(f->cpu_ns_per_event, 9, 0);
    print_figure(f->cpu_ns_per_event / bare_ns, 7, 2);
    print_figure(f->events_per_s, 11, 0);
    print_figure(1e9 / f->cpu_ns_per_event, 11, 0);
    print_figure(f->lateness_p50_us, 9, 0);
    print_figure(f->lateness_p99_us, 9, 0);
    print_figure(f->kernel_p99_us, 9, 0);
    print_figure(f->rss_mb, 7, 1);
    printf("\n");
}

static void run_case(const struct load_case *c)
{
    static struct figures taken[MAX_KINDS][ROUNDS];
    int rounds[MAX_KINDS] = {0};

    printf("\n%s\n  %-8s %9s %7s %11s %11s %9s %9s %9s %7s\n", c->title, "client", "ns/event",
           "ratio", "events/s", "per core", "late p50", "p99 us", "kernel99", "RSS MB");
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t k = 0; k < MAX_KINDS; k++) {
            struct clockwork_process server;
            struct err err;
            /* Python is slow enough to be seen at once */
            if (!takes_part[k] || (kinds[k].python && (!c->python || round > 0)))
                continue;
            if (!clockwork_process_start(&server, true, &err)) {
                fprintf(stderr, "%s\n", err.text);
                exit(1);
            }
            taken[k][rounds[k]++] = in_child(&kinds[k], server.url, c);
            clockwork_process_stop(&server);
        }
    }
    double bare_ns = NAN;
    for (size_t k = 0; k < MAX_KINDS; k++) {
        if (rounds[k] == 0)
            continue;
        qsort(taken[k], (size_t)rounds[k], sizeof taken[k][0], by_cost);
        const struct figures *median = &taken[k][rounds[k] / 2];
        if (k == 0 && median->ok)
            bare_ns = median->cpu_ns_per_event;
        print_row(kinds[k].name, median, bare_ns);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    (void)open_files_raise(UINT64_MAX);
    clients_script = argc > 1 ? argv[1] : NULL;
    printf("receive path: median of %d rounds taken in turns, %d ms each\n", ROUNDS, COUNTED_MS);
    see_who_is_there();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        run_case(&cases[i]);
    return 0;
}
