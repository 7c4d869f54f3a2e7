/* cmd_engine.c - tokgrid engine: a profile and a face, served until a signal. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "base/open_files.h"
#include "base/text.h"
#include "cmd/commands.h"
#include "engine/service.h"
#include "model/result.h"

enum { FACE_UNSET = -1, CONTEXT_MIN = 64 };

struct engine_settings {
    const char *profile, *from, *host, *served_model, *api_key, *faults_file;
    int face;
    int64_t port, max_num_seqs, max_model_len, kv_tokens; /* the last three 0: the profile's */
    double speed;
    bool no_prefix_cache, no_metrics, cached_in_usage;
    bool list_profiles, list_faults, print_profile;
    struct faults faults;
};

/* --- the profile --- */

/* The face that speaks as the engine of a result did. */
static int face_of(const char *engine)
{
    for (int i = 0; engine && service_faces[i]; i++)
        if (strcmp(service_faces[i], engine) == 0)
            return i;
    return FACE_UNSET;
}

static bool learn_from(struct engine_settings *s, struct profile *p, struct err *err)
{
    struct result result;
    struct buf text;

    buf_init(&text, RESULT_MAX_BYTES);
    bool ok =
        file_read(s->from, &text, err) && result_read_json(text.p, text.len, s->from, &result, err);
    buf_release(&text);
    if (!ok)
        return false;
    ok = profile_learn(&result, p, err) || err_prefix(err, "%s", s->from);
    if (s->face == FACE_UNSET)
        s->face = face_of(result.engine.name);
    result_release(&result);
    return ok;
}

/* A name that can be written in JSON and in a terminal, and that is kept whole. */
static bool change_served_model(const char *name, struct profile *p, struct err *err)
{
    char printable[sizeof p->served_model];
    size_t n = strlen(name), kept = text_printable(printable, sizeof printable, name, n);

    if (n == 0 || kept != n || memcmp(printable, name, n) != 0)
        return err_set(err, ERR_USAGE,
                       "--served-model wants a name of 1 to %zu bytes of UTF-8 without control "
                       "characters",
                       sizeof printable - 1);
    memcpy(p->served_model, printable, n + 1);
    return true;
}

/* The options that override a profile. */
static bool change_profile(const struct engine_settings *s, struct profile *p, struct err *err)
{
    char need[NUM_TEXT_MAX];

    if (s->max_num_seqs > 0)
        p->max_running = (int)s->max_num_seqs;
    if (s->max_model_len > 0)
        p->context_limit = s->max_model_len;
    if (s->kv_tokens > 0)
        p->kv_tokens = s->kv_tokens;
    if (s->no_prefix_cache)
        p->prefix_cache = false;
    if (s->served_model && !change_served_model(s->served_model, p, err))
        return false;
    if ((s->kv_tokens > 0 || s->max_model_len > 0) && p->kv_tokens < p->context_limit)
        return err_set(err, ERR_USAGE,
                       "one context of %s tokens does not fit a KV cache of %" PRId64
                       ": raise --kv-tokens or lower --max-model-len",
                       num_size_text(need, p->context_limit), p->kv_tokens);
    return true;
}

static bool make_profile(struct engine_settings *s, struct profile *p, struct err *err)
{
    if (s->profile && s->from)
        return err_set(err, ERR_USAGE, "--profile and --from exclude each other");
    if (s->from)
        return learn_from(s, p, err) && change_profile(s, p, err);
    if (s->profile)
        return profile_by_name(s->profile, p, err) && change_profile(s, p, err);
    return profile_preset(0, p) && change_profile(s, p, err);
}

static int list_profiles(void)
{
    struct profile p;
    struct buf out;

    buf_init(&out, 1 << 20);
    for (size_t i = 0; i < profile_preset_count(); i++)
        if (profile_preset(i, &p))
            buf_addf(&out, "%-28s %s\n", p.name, p.title);
    int exit_code = command_print(&out);
    buf_release(&out);
    return exit_code;
}

static int list_faults(void)
{
    struct buf out;

    buf_init(&out, 1 << 20);
    faults_describe(&out);
    int exit_code = command_print(&out);
    buf_release(&out);
    return exit_code;
}

static int print_profile(const struct profile *p)
{
    struct buf out;

    buf_init(&out, 4 << 20);
    profile_write_json(p, &out);
    int exit_code = command_print(&out);
    buf_release(&out);
    return exit_code;
}

/* --- serving --- */

static struct loop *signalled_loop;
static volatile sig_atomic_t signal_seen;

static void on_signal(int number)
{
    (void)number;
    signal_seen = 1;
    loop_wake(signalled_loop);
}

static void catch_signals(struct loop *loop)
{
    const struct sigaction action = {.sa_handler = on_signal};

    signalled_loop = loop;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

/* One line about what was served, on standard error: scripts read the other. */
static void say_goodbye(const struct service *service)
{
    struct service_counts n;
    char prompt[NUM_TEXT_MAX], output[NUM_TEXT_MAX], late[NUM_TEXT_MAX];

    service_read_counts(service, &n);
    fprintf(stderr,
            "tokgrid: served %" PRId64 " requests (%" PRId64 " complete, %" PRId64
            " aborted, %" PRId64 " refused, %" PRId64 " broken on purpose), %s prompt and %s "
            "output tokens",
            n.requests, n.completed, n.aborted, n.refused, n.broken,
            num_grouped(prompt, (double)n.prompt_tokens, 0),
            num_grouped(output, (double)n.generated_tokens, 0));
    if (n.late_ns > 0)
        fprintf(stderr, "; this machine could not keep up, steps came %s late in all",
                num_duration_text(late, n.late_ns));
    fputc('\n', stderr);
}

/* The loop is about to go: from here a signal ends the program as it always does. */
static void release_signals(void)
{
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
}

static bool serve(struct loop *loop, const struct service_options *options, struct err *err)
{
    struct service *service = service_new(loop, options, err);

    if (!service)
        return false;
    catch_signals(loop);
    bool told = printf("listening on %s\n", service_url(service)) > 0 && fflush(stdout) == 0;
    if (!told)
        err_set(err, ERR_SYSTEM, "cannot write to standard output: %s", strerror(errno));
    while (told && !signal_seen)
        loop_turn(loop, INT64_MAX);
    release_signals();
    if (told)
        say_goodbye(service);
    service_free(service);
    return told;
}

static int run(int argc, char **argv)
{
    struct engine_settings s = {.face = FACE_UNSET};
    struct profile *profile;
    struct err err = {0};
    int exit_code;

    if (!command_parse(&cmd_engine, argc, argv, &s, &exit_code))
        return exit_code;
    if (s.list_profiles)
        return list_profiles();
    if (s.list_faults)
        return list_faults();
    if (s.api_key && !*s.api_key) { /* "--api-key $UNSET" is no wish to serve everybody */
        err_set(&err, ERR_USAGE, "--api-key is empty: give a key, or leave the option out");
        return command_fail(&err);
    }
    char *key = command_take_secret(s.api_key, "TOKGRID_ENGINE_API_KEY");
    profile = mem_alloc(sizeof *profile);
    bool ok = make_profile(&s, profile, &err) &&
              (!s.faults_file || faults_read(&s.faults, s.faults_file, &err));
    if (ok && s.print_profile) {
        exit_code = print_profile(profile);
    } else if (ok) {
        const struct service_options options = {
            .face = service_faces[s.face == FACE_UNSET ? 0 : s.face],
            .profile = profile,
            .speed = s.speed,
            .host = s.host,
            .port = (uint16_t)s.port,
            .api_key = key,
            .no_metrics = s.no_metrics,
            .cached_in_usage = s.cached_in_usage,
            .faults = &s.faults,
        };
        struct loop *loop = loop_new(&err);
        (void)open_files_raise(UINT64_MAX); /* a connection is a file */
        ok = loop && serve(loop, &options, &err);
        loop_free(loop);
    }
    free(profile);
    free(key);
    return ok ? EXIT_CODE_DONE : command_fail(&err);
}

/* --- the table --- */

static bool parse_speed(const char *name, const char *text, void *field, struct err *err)
{
    double v;
    if (!num_parse_double(text, &v) || !(v >= 0.001 && v <= 100000))
        return err_set(err, ERR_USAGE, "%s wants a number from 0.001 to 100000, not '%s'", name,
                       text);
    *(double *)field = v;
    return true;
}

static bool parse_fault(const char *name, const char *text, void *field, struct err *err)
{
    return faults_add(field, text, name, err);
}

#define S struct engine_settings

static const struct option_row rows[] = {
    {.name = "profile",
     OPTION_STRING(S, profile),
     .value = "NAME",
     .otherwise = "the first of --list-profiles",
     .group = "What it imitates",
     .help = "Hardware and model, by name."},
    {.name = "from",
     OPTION_STRING(S, from),
     .value = "RUN",
     .help = "Learn from a result file instead: measuring the engine gives that matrix back."},
    {.name = "face",
     OPTION_CHOICE(S, face, service_faces),
     .value = "NAME",
     .otherwise = "vllm, or the engine of --from",
     .help = "Whose routes, events, metrics and errors it speaks."},
    {.name = "speed",
     OPTION_CUSTOM(S, speed, parse_speed),
     .value = "N",
     .initial = "1",
     .help = "Everything happens N times as fast."},
    {.name = "max-num-seqs",
     OPTION_INT(S, max_num_seqs),
     .min = 1,
     .max = 65536,
     .value = "N",
     .otherwise = "the profile's",
     .help = "Requests decoded at once; further ones wait."},
    {.name = "max-model-len",
     OPTION_SIZE(S, max_model_len),
     .min = CONTEXT_MIN,
     .max = PROFILE_MAX_CONTEXT_LIMIT,
     .value = "TOKENS",
     .otherwise = "the profile's",
     .help = "Longest sequence, prompt and output."},
    {.name = "kv-tokens",
     OPTION_SIZE(S, kv_tokens),
     .min = CONTEXT_MIN,
     .max = 1 << 30,
     .value = "TOKENS",
     .otherwise = "the profile's",
     .help = "Size of the KV cache. When it is full, sequences are pre-empted and recomputed."},
    {.name = "no-prefix-cache",
     OPTION_FLAG(S, no_prefix_cache),
     .help = "Compute every prompt from its beginning."},
    {.name = "served-model",
     OPTION_STRING(S, served_model),
     .value = "NAME",
     .otherwise = "the profile's",
     .help = "The model's name in the API."},
    {.name = "host",
     OPTION_STRING(S, host),
     .value = "ADDRESS",
     .initial = "127.0.0.1",
     .group = "Serving",
     .help = "Where to listen. 0.0.0.0 is every interface of the machine."},
    {.name = "port",
     OPTION_INT(S, port),
     .min = 0,
     .max = 65535,
     .value = "PORT",
     .initial = "8000",
     .help = "0 takes a free one; the line 'listening on URL' tells which."},
    {.name = "api-key",
     OPTION_STRING(S, api_key),
     .value = "KEY",
     .env = "TOKGRID_ENGINE_API_KEY",
     .help = "Want this bearer token, where the engine would."},
    {.name = "no-metrics",
     OPTION_FLAG(S, no_metrics),
     .help = "Have no metrics page, as an engine started without one."},
    {.name = "cached-in-usage",
     OPTION_FLAG(S, cached_in_usage),
     .help = "Tell cached prompt tokens in usage, as vLLM does with --enable-prompt-tokens-details "
             "and SGLang with --enable-cache-report; llama.cpp always does."},
    {.name = "fault",
     OPTION_CUSTOM(S, faults, parse_fault),
     .value = "SPEC",
     .group = "Going wrong on purpose",
     .help =
         "Let something go wrong, KIND[:KEY=VALUE,...] as in stall:token=100,for=3s,every=5; may "
         "be given several times. --list-faults tells the kinds and their keys."},
    {.name = "faults",
     OPTION_STRING(S, faults_file),
     .value = "FILE",
     .help = "Faults from a file, one a line; # begins a comment."},
    {.name = "list-profiles",
     OPTION_FLAG(S, list_profiles),
     .group = "Instead of serving",
     .help = "Print the profiles' names and what they are."},
    {.name = "list-faults",
     OPTION_FLAG(S, list_faults),
     .help = "Print the kinds of faults and their keys."},
    {.name = "print-profile",
     OPTION_FLAG(S, print_profile),
     .help = "Print the profile that the options make, as JSON."},
    {0},
};

static const char *const examples[] = {
    "tokgrid engine --port 8000",
    "A vLLM server with a 32B model on one RTX 3090, without either.",
    "tokgrid engine --from run.json --speed 20 --port 0",
    "The engine that was measured in run.json, twenty times as fast.",
    "tokgrid engine --face llama.cpp --max-num-seqs 4 --fault stall:token=100,for=3s,every=5",
    "Four slots, and every fifth answer stops for three seconds.",
    NULL,
};

const struct command cmd_engine = {
    .name = "engine",
    .summary = "Serve an emulated engine, simulated from a profile or learned from a run",
    .about =
        "Answers as a serving engine does, without a model: requests are scheduled, batched, "
        "cached and pre-empted as there, tokens come at the times that a profile says, and the "
        "words are made up. For trying this program, for testing clients, and for the question "
        "what a machine would do.\n"
        "\n"
        "The times come from a profile of hardware and model, or from any result file. Every "
        "response says that it is emulated, and 'tokgrid run' calls its results simulated.\n"
        "\n"
        "It prints 'listening on URL' when it is ready, and ends at SIGINT or SIGTERM.",
    .options = rows,
    .examples = examples,
    .run = run,
};
