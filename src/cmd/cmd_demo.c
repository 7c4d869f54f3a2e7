/* cmd_demo.c - tokgrid demo: this program starts itself as an engine, measures it, shows the page.
 *
 * The engine is a process of its own, as a real one would be: the client is measured with it. It
 * has a session of its own, so that Ctrl-C reaches the measurement only, and the kernel ends it
 * with its parent, whatever happens. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/text.h"
#include "cmd/commands.h"

static const char self[] = "/proc/self/exe";

/* A card and a model that many people have, with a context that leaves the cache room for several
 * requests; four times as fast as life, so that prompts take seconds. */
static const char *const engine_arguments[] = {
    "tokgrid", "engine", "--port",          "0",   "--profile", "rtx3090-24gb-30b-a3b",
    "--speed", "4",      "--max-model-len", "64k", NULL,
};

/* What is measured: a minute, and of every status something. */
static const char *const plan[] = {
    "--contexts",   "0,4k,16k", "--concurrency", "1,4,16,64", "--prefill",         "4k,8k,16k",
    "--duration",   "3s",       "--settle",      "500ms",     "--prefill-samples", "1",
    "--max-output", "512",
};

struct demo_settings {
    bool no_open, plain;
};

struct child {
    pid_t pid;
    char url[128];
};

/* --- the engine --- */

static void become_engine(pid_t parent, int out)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) /* it was gone before that */
        _exit(127);
    (void)unsetenv("TOKGRID_ENGINE_API_KEY"); /* a key that the measurement does not have */
    (void)setsid();
    if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDERR_FILENO) >= 0 &&
        dup2(out, STDOUT_FILENO) >= 0)
        execv(self, (char **)(uintptr_t)engine_arguments);
    _exit(127);
}

/* "listening on URL" within a few seconds. */
static bool read_url(int in, char *url, size_t size, struct err *err)
{
    static const char words[] = "listening on ";
    int64_t give_up_at = clock_now() + 10 * NS_PER_S;
    char line[256];
    size_t n = 0;

    for (;;) {
        struct pollfd p = {.fd = in, .events = POLLIN};
        int64_t left = give_up_at - clock_now();
        if (left <= 0 || poll(&p, 1, (int)(left / NS_PER_MS) + 1) < 0)
            break;
        ssize_t got = p.revents ? read(in, line + n, sizeof line - 1 - n) : 0;
        if (p.revents && got <= 0)
            break;
        n += (size_t)got;
        line[n] = '\0';
        char *end = strchr(line, '\n');
        if (!end)
            continue;
        *end = '\0';
        if (!text_starts(line, words))
            break;
        snprintf(url, size, "%s", line + sizeof words - 1);
        return true;
    }
    return err_set(err, ERR_SYSTEM, "the engine does not start; 'tokgrid engine' may say why");
}

static void stop_engine(struct child *engine)
{
    if (engine->pid <= 0)
        return;
    kill(engine->pid, SIGTERM);
    while (waitpid(engine->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static bool start_engine(struct child *engine, struct err *err)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set(err, ERR_SYSTEM, "cannot make a pipe: %s", strerror(errno));
    pid_t parent = getpid();
    engine->pid = fork();
    if (engine->pid == 0)
        become_engine(parent, ends[1]);
    close(ends[1]);
    bool ok = engine->pid > 0 ? read_url(ends[0], engine->url, sizeof engine->url, err)
                              : err_set(err, ERR_SYSTEM, "cannot fork: %s", strerror(errno));
    close(ends[0]);
    return ok;
}

/* --- the measurement --- */

static int measure(const struct demo_settings *s, const char *url, const char *out,
                   const char *html)
{
    const char *argv[ARRAY_LEN(plan) + 8] = {"run", url, "--out", out, "--html", html};
    int argc = 6;

    for (size_t i = 0; i < ARRAY_LEN(plan); i++)
        argv[argc++] = plan[i];
    if (s->plain)
        argv[argc++] = "--plain";
    return cmd_run.run(argc, (char **)(uintptr_t)argv);
}

/* --- the page --- */

static bool has_display(void)
{
    const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    return (x && *x) || (wayland && *wayland);
}

/* xdg-open returns at once, or stays as long as the browser that it became: what has not failed
 * after two seconds has opened the page. Its own words are not ours. */
static bool open_page(const char *path)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null >= 0) {
            dup2(null, STDIN_FILENO);
            dup2(null, STDOUT_FILENO);
            dup2(null, STDERR_FILENO);
        }
        (void)setsid();
        execlp("xdg-open", "xdg-open", path, (char *)NULL);
        _exit(127);
    }
    for (int i = 0; pid > 0 && i < 40; i++) {
        pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended != 0)
            return ended == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        clock_sleep(50 * NS_PER_MS);
    }
    return pid > 0;
}

static void show_page(const struct demo_settings *s, const char *path)
{
    if (s->no_open || !isatty(STDOUT_FILENO) || !has_display() || !open_page(path))
        printf("Open %s in a browser.\n", path);
}

static int run(int argc, char **argv)
{
    struct demo_settings settings = {0};
    struct child engine = {0};
    struct err err = {0};
    char out[80], html[80];
    time_t now = time(NULL);
    struct tm tm;
    int exit_code;

    if (!command_parse(&cmd_demo, argc, argv, &settings, &exit_code))
        return exit_code;
    gmtime_r(&now, &tm);
    (void)strftime(out, sizeof out, "runs/demo-%Y%m%d-%H%M%S.json", &tm);
    (void)strftime(html, sizeof html, "runs/demo-%Y%m%d-%H%M%S.html", &tm);
    if (!start_engine(&engine, &err)) {
        stop_engine(&engine);
        return command_fail(&err);
    }
    exit_code = measure(&settings, engine.url, out, html);
    stop_engine(&engine);
    if (exit_code == EXIT_CODE_DONE)
        show_page(&settings, html);
    return exit_code;
}

#define S struct demo_settings

static const struct option_row rows[] = {
    {.name = "no-open",
     OPTION_FLAG(S, no_open),
     .group = "Output",
     .help = "Print where the page is instead of opening it."},
    {.name = "plain", OPTION_FLAG(S, plain), .help = "Lines instead of the live screen."},
    {0},
};

static const char *const examples[] = {
    "tokgrid demo",
    "See within a minute what a measurement and its page look like.",
    NULL,
};

const struct command cmd_demo = {
    .name = "demo",
    .summary = "Measure the engine in the box in about a minute, and show the page",
    .about =
        "Starts 'tokgrid engine' as a process of its own, measures it by a small plan, writes the "
        "result and its page into runs/ and opens the page. Nothing else needs to be installed.\n"
        "\n"
        "The engine imitates a 30B model of experts on one RTX 3090, four times as fast as life: "
        "the "
        "result is called simulated, and says so on the page.",
    .options = rows,
    .examples = examples,
    .run = run,
};
