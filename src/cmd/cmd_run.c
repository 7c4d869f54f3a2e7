/* cmd_run.c - tokgrid run: options in, lines or the live screen out, the result on disk after every
 * cell. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "cmd/commands.h"
#include "cmd/run_lines.h"
#include "cmd/run_settings.h"
#include "cmd/selftest_record.h"
#include "cmd/terminal.h"
#include "load/run.h"
#include "model/result.h"
#include "report/page.h"
#include "report/table.h"
#include "tui/screen.h"

/* One run, as its listener sees it. */
struct running {
    const struct run_settings *settings;
    struct result *result;
    struct run_control control;
    struct progress_box box;
    struct screen *screen;
    struct buf document;
    char *out_path, *samples_path;
    bool save_failed;
    FILE *lines; /* where progress lines go; NULL: nowhere */
};

/* --- signals: the first asks the run to stop, the second insists --- */

static const int signal_numbers[] = {SIGINT, SIGTERM, SIGHUP};
static struct run_control *signalled;
static atomic_llong first_signal_ns; /* 0: none came */

/* One that comes at once is the same request: timeout(1) signals the program and its group. */
static const int64_t SAME_SIGNAL_NS = 300 * NS_PER_MS;

static void on_signal(int number)
{
    long long first_ns = 0, now_ns = clock_now();

    (void)number;
    if (atomic_compare_exchange_strong(&first_signal_ns, &first_ns, now_ns)) {
        run_stop(signalled);
    } else if (now_ns - first_ns > SAME_SIGNAL_NS) {
        screen_emergency_restore();
        _exit(EXIT_CODE_INTERRUPTED);
    }
}

static void catch_signals(struct run_control *control)
{
    struct sigaction action = {.sa_handler = on_signal};

    signalled = control;
    for (size_t i = 0; i < ARRAY_LEN(signal_numbers); i++)
        sigaction(signal_numbers[i], &action, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

/* The run is over: from here a signal ends the program as it always does. */
static void release_signals(void)
{
    for (size_t i = 0; i < ARRAY_LEN(signal_numbers); i++)
        (void)signal(signal_numbers[i], SIG_DFL);
}

/* --- where the result lies --- */

/* The model's name as a part of a file name. */
static void add_file_name(const char *name, struct buf *out)
{
    const char *base = strrchr(name, '/');
    size_t start = out->len;
    for (const char *p = base ? base + 1 : name; *p && out->len - start < 80; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                     (*p >= '0' && *p <= '9') || *p == '.' || *p == '_';
        buf_addc(out, plain ? *p : '-');
    }
}

static void choose_paths(struct running *run)
{
    const struct run_settings *o = run->settings;
    struct buf path;
    char stamp[32];
    time_t now = time(NULL);
    struct tm tm;

    buf_init(&path, 4000);
    if (o->out) {
        buf_adds(&path, o->out);
    } else {
        gmtime_r(&now, &tm);
        (void)strftime(stamp, sizeof stamp, "runs/%Y%m%d-%H%M%S-", &tm);
        buf_adds(&path, stamp);
        add_file_name(run->result->subject.model, &path);
        buf_adds(&path, ".json");
    }
    run->out_path = mem_strdup(path.p);
    size_t stem =
        path.len > 5 && strcmp(path.p + path.len - 5, ".json") == 0 ? path.len - 5 : path.len;
    buf_reset(&path);
    buf_addf(&path, "%.*s.samples.jsonl.zst", (int)stem, run->out_path);
    run->samples_path = mem_strdup(path.p);
    buf_release(&path);
}

/* A line of progress. A reader that went away does not end a measurement. */
static void line(struct running *run, const char *format, ...) ATTR_PRINTF(2, 3);
static void line(struct running *run, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vfprintf(run->lines, format, args);
    va_end(args);
}

static void say(struct running *run, const char *level, const char *text)
{
    if (run->screen)
        return; /* the screen shows events itself */
    if (strcmp(level, "info") == 0 && run->lines)
        line(run, "  %s\n", text);
    else if (strcmp(level, "info") != 0)
        fprintf(stderr, "tokgrid: %s: %s\n", level, text);
}

/* After every row and cell: nothing measured is ever lost. */
static void save(struct running *run)
{
    struct err err = {0};
    buf_reset(&run->document);
    if (!run->out_path)
        return;
    if (result_write_json(run->result, &run->document) &&
        file_write_atomic(run->out_path, run->document.p, run->document.len, &err))
        return;
    if (!run->save_failed)
        say(run, "error", err.text[0] ? err.text : "the result is too large to be written");
    run->save_failed = true;
}

/* --- the listener --- */

static void on_probed(void *ctx, const struct result *r)
{
    struct running *run = ctx;
    if (run->lines)
        lines_probed(run->lines, r);
}

/* Better to learn now than after an hour that nothing can be written there. */
static bool open_output(void *ctx, const struct result *r, const char **ret_samples,
                        struct err *err)
{
    struct running *run = ctx;
    (void)r;
    choose_paths(run);
    if (!file_make_parent(run->out_path, err) || !file_can_write(run->out_path, err) ||
        (run->settings->html && !file_can_write(run->settings->html, err)))
        return false;
    *ret_samples = run->settings->no_samples ? NULL : run->samples_path;
    return true;
}

static void on_key(void *ctx, enum screen_key key)
{
    struct running *run = ctx;
    if (key == SCREEN_SKIP)
        run_skip(&run->control);
    else
        run_stop(&run->control);
}

static void on_plan(void *ctx, const struct result *r, const char *notes)
{
    struct running *run = ctx;
    const struct run_settings *o = run->settings;
    struct err err = {0};

    if (run->lines)
        lines_plan(run->lines, r, notes);
    const struct screen_options screen = {.mono = terminal_is_mono(), .on_key = on_key, .ctx = run};
    if (!o->plain && !o->quiet && !o->json && isatty(STDOUT_FILENO)) {
        (void)fflush(stdout);
        run->screen = screen_start(&run->box, &screen, &err); /* NULL: plain lines it is */
    }
}

static void on_prefill(void *ctx, const struct result *r, const struct prefill_row *row)
{
    struct running *run = ctx;
    (void)r;
    save(run);
    if (run->lines && !run->screen)
        lines_prefill(run->lines, row);
}

static void on_cell(void *ctx, const struct result *r, const struct cell *cell, size_t done,
                    size_t total)
{
    struct running *run = ctx;
    (void)r;
    save(run);
    if (run->lines && !run->screen)
        lines_cell(run->lines, cell, done, total);
}

static void on_event(void *ctx, const char *level, const char *text)
{
    say(ctx, level, text);
}

/* --- the end --- */

static void write_tables(struct running *run, struct buf *out)
{
    const struct table_options options = terminal_table_options(NULL, false);
    buf_addc(out, '\n');
    table_write(run->result, &options, out);
}

/* --html: the matrix page beside the result. */
static bool write_page(struct running *run, struct err *err)
{
    const struct page_options options = {.lang = lang_of_locale()};
    struct buf page;

    buf_init(&page, 64 << 20);
    page_write(run->result, &options, &page);
    bool ok = file_write_atomic(run->settings->html, page.p, page.len, err);
    buf_release(&page);
    return ok;
}

/* Document or tables, and where the result lies. */
static int print_result(struct running *run)
{
    const struct run_settings *o = run->settings;
    struct buf out;
    int exit_code = EXIT_CODE_DONE;

    buf_init(&out, 16 << 20);
    if (o->json)
        buf_add(&out, run->document.p, run->document.len);
    else if (!o->quiet)
        write_tables(run, &out);
    if (out.len)
        exit_code = command_print(&out);
    if (run->lines && !run->save_failed)
        line(run, "\nResult: %s\n", run->out_path);
    struct err err;
    bool page_failed = o->html && !write_page(run, &err);
    if (page_failed)
        say(run, "error", err.text);
    else if (o->html && run->lines)
        line(run, "Page:   %s\n", o->html);
    buf_release(&out);
    return run->save_failed || page_failed ? EXIT_CODE_FAILED : exit_code;
}

static int report(struct running *run, bool measured, struct err *err)
{
    const struct result *r = run->result;
    int exit_code = EXIT_CODE_DONE;

    if (r->decode_count > 0 || r->prefill_count > 0) {
        save(run);
        exit_code = print_result(run);
    }
    if (!measured)
        return command_fail(err);
    /* a queued cell is a measurement too: of a server that could not take them all at once */
    bool measured_any =
        result_count_status(r, STATUS_VALID) > 0 || result_count_status(r, STATUS_QUEUED) > 0;
    if (!measured_any && r->decode_count > 0) {
        const struct cell *c = &r->decode[0];
        err_set(err, ERR_SERVER, "no cell is valid; the first is %s: %s", status_name(c->status),
                c->reason ? c->reason : "no reason known");
        return command_fail(err);
    }
    return exit_code;
}

static int run(int argc, char **argv)
{
    struct run_settings settings = {0};
    struct run_options options;
    struct running running = {.settings = &settings};
    struct result result;
    struct err err = {0};
    int exit_code;

    run_settings_init(&settings);
    if (!command_parse(&cmd_run, argc, argv, &settings, &exit_code))
        return exit_code;
    if (!run_settings_apply(&settings, &options, &err) ||
        !run_control_init(&running.control, &err)) {
        run_settings_release(&settings);
        return command_fail(&err);
    }
    const struct run_listener listener = {on_probed, open_output, on_plan, on_prefill,
                                          on_cell,   on_event,    &running};
    running.result = &result;
    running.lines = settings.quiet ? NULL : settings.json ? stderr : stdout;
    if (running.lines)
        (void)setvbuf(running.lines, NULL, _IOLBF, 0); /* a pipe sees each line as it comes */
    progress_box_init(&running.box);
    buf_init(&running.document, RESULT_MAX_BYTES);
    options.progress = &running.box;
    /* it was the own transport that was tested */
    char *selftest = strcmp(options.transport, "own") == 0 ? selftest_record_read() : NULL;
    options.selftest = selftest;
    catch_signals(&running.control);
    bool measured = run_measure(&options, &listener, &running.control, &result, &err);
    screen_stop(running.screen);
    running.screen = NULL;
    release_signals();
    run_control_release(&running.control);
    exit_code = report(&running, measured, &err);
    result_release(&result);
    run_settings_release(&settings);
    progress_box_release(&running.box);
    buf_release(&running.document);
    free(selftest);
    free(running.out_path);
    free(running.samples_path);
    return exit_code;
}

static const char *const examples[] = {
    "tokgrid run http://localhost:8000",
    "Measure the standard matrix of the one model this server has.",
    "tokgrid run localhost:8080 --contexts 0,4k --concurrency 1,2,4 --duration 10s",
    "A small matrix in a few minutes.",
    "tokgrid run https://gpu.example:8443 --api-key \"$KEY\" --hardware gpu.json --budget 20m",
    "A remote server, told what it runs on, in at most 20 minutes.",
    "tokgrid run unix:/run/llm.sock --preset quick --json >result.json",
    "Through a unix socket; the document on standard output.",
    NULL,
};

const struct command cmd_run = {
    .name = "run",
    .summary = "Measure a server: contexts x concurrency, prefill and sustained decode",
    .about =
        "Measures the server at URL as a speed test matrix and prints it. The plan comes first, "
        "then "
        "a line as each cell ends (on a terminal: a live screen), then the tables. The result file "
        "is rewritten after every cell, so that nothing measured is lost when the run ends early.\n"
        "\n"
        "URL is http://HOST:PORT, https://..., HOST:PORT or unix:/path/to/socket, with or without "
        "a "
        "final /v1. Ctrl-C ends the current cell, writes what is done and exits with 130; a second "
        "Ctrl-C does not wait.\n"
        "\n"
        "Sizes read 16k (1,024 tokens each), times 30s, 2m, 1h.",
    .options = run_option_rows,
    .operands = run_operand_rows,
    .examples = examples,
    .run = run,
};
