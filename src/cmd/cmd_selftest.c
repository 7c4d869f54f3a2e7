/* cmd_selftest.c - tokgrid selftest: how wrong this client is on this machine. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/num.h"
#include "base/open_files.h"
#include "base/priority.h"
#include "cmd/clockwork_process.h"
#include "cmd/commands.h"
#include "cmd/selftest_record.h"
#include "load/selftest.h"
#include "model/plan.h"

/* Bundles and splits are about counting right, so one concurrency does. */
enum {
    FEW = 64,
    FEW_MS = 500,
    MANY_MS = 2000,
    VARIANT_CONCURRENCY = 64,
    MAX_ROWS = PLAN_MAX_LEVELS + 2
};

struct selftest_settings {
    const char *concurrency;
    int64_t duration_ns;
    int transport;
    bool json, ordinary_priority;
};

static const char *const transports[] = {"own", "curl", NULL};

static void add_figure(struct buf *out, int width, double v, int decimals)
{
    if (isfinite(v))
        buf_addf(out, " %*.*f", width, decimals, v);
    else
        buf_addf(out, " %*s", width, "n/a");
}

static void write_row(const struct selftest_row *r, struct buf *out)
{
    char load[24] = "";

    if (r->load.bundle > 1)
        snprintf(load, sizeof load, "by %d", r->load.bundle);
    else if (r->load.split)
        snprintf(load, sizeof load, "split");
    buf_addf(out, "%7d %6lld %-6s", r->load.concurrency, (long long)r->load.gap_ms, load);
    add_figure(out, 8, r->ttft_error_ms_p50, 3);
    add_figure(out, 8, r->ttft_error_ms_p99, 3);
    add_figure(out, 8, r->itl_error_ms_p99, 3);
    add_figure(out, 8, r->lateness_us_p50, 0);
    add_figure(out, 8, r->lateness_us_p99, 0);
    add_figure(out, 8, r->kernel_lateness_us_p99, 0);
    add_figure(out, 8, r->server_late_us_p99, 0);
    add_figure(out, 8, r->cpu_us_per_event, 2);
    add_figure(out, 9, r->events_per_s, 0);
    add_figure(out, 7, r->rss_mb, 1);
    buf_adds(out, selftest_held(r) ? "\n" : "  not held\n");
}

static void write_heading(struct buf *out)
{
    buf_adds(out, "                       TTFT error ms  between   lateness us       kernel   "
                  "server  CPU us/   events     RSS\n"
                  "streams gap ms             p50      p99  p99 ms      p50      p99      p99      "
                  "p99    event       /s      MB\n");
}

/* One row; where the machine cannot carry a token each 10 ms the gap grows until it can, and the
 * row says so by its gap. */
static bool measure_row(const struct clockwork_process *server, const char *transport,
                        struct selftest_load *load, struct selftest_row *ret, struct err *err)
{
    static const int64_t gaps_ms[] = {10, 12, 15, 20, 30, 50};

    for (size_t i = 0; i < ARRAY_LEN(gaps_ms); i++) {
        load->gap_ms = gaps_ms[i];
        /* requests begin all the time, but do not become most of the work */
        load->tokens = (load->concurrency < FEW ? FEW_MS : MANY_MS) / load->gap_ms;
        if (!selftest_measure(server->url, transport, load, ret, err))
            return false;
        if (selftest_held(ret))
            break;
        /* what came at this gap is more than the machine can do: on to a gap it might keep */
        while (i + 1 < ARRAY_LEN(gaps_ms) - 1 &&
               load->concurrency * 1e3 / (double)gaps_ms[i + 1] > ret->events_per_s)
            i++;
    }
    return true;
}

static int most_streams(const struct selftest_load *loads, size_t count)
{
    int most = 1;
    for (size_t i = 0; i < count; i++)
        most = loads[i].concurrency > most ? loads[i].concurrency : most;
    return most;
}

/* Measures and prints a row after the other; says what went wrong itself. */
static int measure_rows(const struct selftest_settings *settings, const struct plan *plan,
                        struct selftest_row *rows, size_t *ret_count, bool *ret_realtime)
{
    struct selftest_load loads[MAX_ROWS];
    struct clockwork_process server;
    struct err err = {0};
    struct buf line;
    size_t count = 0;

    for (size_t i = 0; i < plan->level_count; i++)
        loads[count++] = (struct selftest_load){.concurrency = plan->levels[i], .bundle = 1};
    loads[count++] = (struct selftest_load){.concurrency = VARIANT_CONCURRENCY, .bundle = 4};
    loads[count++] =
        (struct selftest_load){.concurrency = VARIANT_CONCURRENCY, .bundle = 1, .split = true};
    /* before the server is made: it inherits the limit, and needs as many */
    if (!open_files_for(most_streams(loads, count), &err) ||
        !clockwork_process_start(&server, !settings->ordinary_priority, &err))
        return command_fail(&err);
    *ret_realtime = !settings->ordinary_priority && priority_realtime();
    buf_init(&line, 4096);
    write_heading(&line);
    int exit_code = EXIT_CODE_DONE;
    for (*ret_count = 0; *ret_count < count && exit_code == EXIT_CODE_DONE; ++*ret_count) {
        struct selftest_load *load = &loads[*ret_count];
        load->duration_ns = settings->duration_ns;
        if (!measure_row(&server, transports[settings->transport], load, &rows[*ret_count], &err)) {
            exit_code = command_fail(&err);
            break;
        }
        write_row(&rows[*ret_count], &line);
        if (!settings->json)
            exit_code = command_print(&line);
        buf_reset(&line);
    }
    buf_release(&line);
    if (*ret_realtime)
        priority_ordinary();
    clockwork_process_stop(&server);
    return exit_code;
}

static int selftest(int argc, char **argv)
{
    struct selftest_settings settings = {0};
    struct selftest_row rows[MAX_ROWS];
    struct plan plan = {0};
    struct err err = {0};
    struct buf text;
    size_t count = 0;
    bool realtime = false;
    int exit_code;

    if (!command_parse(&cmd_selftest, argc, argv, &settings, &exit_code))
        return exit_code;
    (void)signal(SIGPIPE, SIG_IGN);
    if (!plan_parse_levels(settings.concurrency, &plan, &err))
        return command_fail(&err);
    exit_code = measure_rows(&settings, &plan, rows, &count, &realtime);
    if (exit_code != EXIT_CODE_DONE)
        return exit_code;
    json_t *document = selftest_document(rows, count, transports[settings.transport], realtime);
    /* results name the client that measured: the own one */
    if (settings.transport == 0 && !selftest_record_write(document, &err))
        fprintf(stderr, "tokgrid: warning: not kept for results: %s\n", err.text);
    buf_init(&text, 1 << 20);
    if (settings.json)
        json_write(document, &text);
    exit_code = command_print(&text);
    buf_release(&text);
    json_decref(document);
    return exit_code;
}

static const struct option_row rows[] = {
    {.name = "concurrency",
     OPTION_STRING(struct selftest_settings, concurrency),
     .value = "LIST",
     .initial = "1,16,128,1024",
     .help = "Streams at once, one row each."},
    {.name = "duration",
     OPTION_DURATION(struct selftest_settings, duration_ns),
     .min = NS_PER_S / 2,
     .max = 3600 * NS_PER_S,
     .value = "TIME",
     .initial = "3s",
     .help = "What is counted of a row, after its streams have all begun."},
    {.name = "transport",
     OPTION_CHOICE(struct selftest_settings, transport, transports),
     .value = "NAME",
     .initial = "own",
     .help = "Which client to test: tokgrid's own, or libcurl."},
    {.name = "ordinary-priority",
     OPTION_FLAG(struct selftest_settings, ordinary_priority),
     .help = "Do not ask for real-time priority, as `tokgrid run` does where that is allowed."},
    {.name = "json", OPTION_FLAG(struct selftest_settings, json), .help = "Print JSON."},
    {0},
};

static const char *const examples[] = {
    "tokgrid selftest",
    "The error of this client on this machine, about half a minute.",
    "tokgrid selftest --concurrency 1,128,1024 --json",
    "The same rows for a program.",
    NULL,
};

const struct command cmd_selftest = {
    .name = "selftest",
    .summary = "Measure how wrong this client is on this machine",
    .about =
        "Measures a server whose answers are due at known instants: the first token after 50 ms, "
        "then one each 10 ms. It runs in a process of its own, on another CPU where there is one, "
        "and writes into each token when it was sent. What the client's figures differ by is "
        "printed for each concurrency: the time to first token, the time between tokens, how late "
        "events were stamped by this program and by the kernel, and what they cost.\n\n"
        "Where the machine cannot carry a token each 10 ms to so many streams, the gap grows until "
        "it can. Two more rows count tokens that come four in one write, and cut inside an "
        "event.\n\n"
        "The last selftest of this machine is kept and attached to every result.",
    .options = rows,
    .examples = examples,
    .run = selftest,
};
