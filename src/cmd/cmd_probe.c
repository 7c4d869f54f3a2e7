/* cmd_probe.c - tokgrid probe: what a server is, each fact with the place it came from. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cmd/commands.h"
#include "cmd/run_settings.h"
#include "load/run.h"
#include "model/result.h"

static struct run_control *signalled;

static void on_signal(int number)
{
    (void)number;
    run_stop(signalled);
}

static void on_event(void *ctx, const char *level, const char *text)
{
    (void)ctx;
    if (strcmp(level, "info") != 0)
        fprintf(stderr, "tokgrid: %s: %s\n", level, text);
}

static void write_lines(const struct result *r, struct buf *out)
{
    size_t widest = 0, longest = 0;
    for (size_t i = 0; i < r->server.fact_count; i++) {
        const char *value = r->server.facts[i].value;
        size_t n = value ? text_width(value, strlen(value)) : strlen("unknown");
        size_t name = strlen(r->server.facts[i].name);
        widest = n > widest ? n : widest;
        longest = name > longest ? name : longest;
    }
    if (widest > 48)
        widest = 48;
    for (size_t i = 0; i < r->server.fact_count; i++) {
        const struct fact *f = &r->server.facts[i];
        char value[300], source[200];
        text_printable(value, sizeof value, f->value ? f->value : "unknown",
                       strlen(f->value ? f->value : "unknown"));
        text_printable(source, sizeof source, f->source ? f->source : "",
                       strlen(f->source ? f->source : ""));
        size_t n = text_width(value, strlen(value));
        buf_addf(out, "%-*s %s", (int)longest, f->name, value);
        if (source[0]) {
            buf_add_repeat(out, ' ', n < widest ? widest - n : 0);
            buf_addf(out, "  %s", source);
        }
        buf_addc(out, '\n');
    }
}

static json_t *number_or_null(double v)
{
    return isnan(v) ? json_null() : json_integer((json_int_t)v);
}

static void write_json(const struct result *r, struct buf *out)
{
    json_t *facts = json_array();
    for (size_t i = 0; i < r->server.fact_count; i++) {
        const struct fact *f = &r->server.facts[i];
        json_array_append_new(facts, json_pack("{s:s, s:s?, s:s?}", "name", f->name, "value",
                                               f->value, "source", f->source));
    }
    json_t *root = json_pack(
        "{s:s, s:{s:s?, s:s?, s:s?}, s:{s:s?, s:s?, s:s?, s:s?}, s:{s:o, s:o, s:o}, s:o}", "url",
        r->server.url, "engine", "name", r->engine.name, "version", r->engine.version, "build",
        r->engine.build, "subject", "model", r->subject.model, "served_model",
        r->subject.served_model, "revision", r->subject.revision, "quantization",
        r->subject.quantization, "server", "context_limit", number_or_null(r->server.context_limit),
        "kv_budget", number_or_null(r->server.kv_budget), "max_running",
        number_or_null(r->server.max_running), "facts", facts);
    json_write(root, out);
    json_decref(root);
}

static int probe(int argc, char **argv)
{
    struct run_settings settings;
    struct run_options options;
    struct run_control control;
    struct result result;
    struct buf out;
    struct err err = {0};
    int exit_code;

    run_settings_init(&settings);
    if (!command_parse(&cmd_probe, argc, argv, &settings, &exit_code))
        return exit_code;
    if (!run_settings_apply(&settings, &options, &err) || !run_control_init(&control, &err)) {
        run_settings_release(&settings);
        return command_fail(&err);
    }
    struct sigaction action = {.sa_handler = on_signal};
    signalled = &control;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    const struct run_listener listener = {.on_event = on_event};
    bool ok = run_probe(&options, &listener, &control, &result, &err);
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    run_control_release(&control);
    buf_init(&out, 1 << 20);
    if (settings.json)
        write_json(&result, &out);
    else
        write_lines(&result, &out);
    /* what was learned before a failure is worth printing too */
    exit_code = result.server.fact_count ? command_print(&out) : EXIT_CODE_DONE;
    if (!ok)
        exit_code = command_fail(&err);
    buf_release(&out);
    result_release(&result);
    run_settings_release(&settings);
    return exit_code;
}

static const char *const examples[] = {
    "tokgrid probe http://localhost:8000",
    "Engine, version, model, limits and features of this server.",
    NULL,
};

const struct command cmd_probe = {
    .name = "probe",
    .summary = "Find out what a server is: engine, model, limits, features",
    .about = "Asks the server at URL what it is and tries with a few short requests what it obeys. "
             "Each fact comes with the place it was found in; what cannot be learned is unknown, "
             "never a guess.",
    .options = probe_option_rows,
    .operands = run_operand_rows,
    .examples = examples,
    .run = probe,
};
