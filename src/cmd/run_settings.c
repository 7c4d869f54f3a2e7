/* run_settings.c - the option table of run and probe. */
#include "cmd/run_settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/num.h"
#include "cmd/commands.h"
#include "model/plan.h"
#include "model/redact.h"
#include "model/result.h"

static const char *const transports[] = {"own", "curl", NULL};
static const char *const prompt_modes[] = {"shared", "distinct", NULL};
static const char *const prefill_modes[] = {"warmup", "standalone", "none", NULL};
static const char *const capacity_rules[] = {"full", "window", NULL};

#define S struct run_settings

static bool parse_gb(const char *name, const char *text, void *field, struct err *err)
{
    static const double most = 1e6;
    double v;
    if (!num_parse_double(text, &v) || !(v > 0) || v > most)
        return err_set(err, ERR_USAGE, "%s: '%s' is not a number above 0 and up to %.0f", name,
                       text, most);
    *(double *)field = v;
    return true;
}

#define SERVER_ROWS                                                                                \
    {.name = "model",                                                                              \
     OPTION_STRING(S, model),                                                                      \
     .value = "NAME",                                                                              \
     .otherwise = "the one the server lists",                                                      \
     .group = "The server",                                                                        \
     .help = "The model to ask for, by the name the server lists it under."},                      \
        {.name = "api-key",                                                                        \
         OPTION_STRING(S, api_key),                                                                \
         .value = "KEY",                                                                           \
         .env = "TOKGRID_API_KEY",                                                                 \
         .help = "Sent as a bearer token with every request. It is never stored or printed."},     \
        {.name = "cacert",                                                                         \
         OPTION_STRING(S, cacert),                                                                 \
         .value = "FILE",                                                                          \
         .otherwise = "the system's",                                                              \
         .help = "Certificates to trust, in PEM."},                                                \
        {.name = "insecure",                                                                       \
         OPTION_FLAG(S, insecure),                                                                 \
         .help = "Accept any certificate. Only for servers of your own."},                         \
        {.name = "transport",                                                                      \
         OPTION_CHOICE(S, transport, transports),                                                  \
         .value = "NAME",                                                                          \
         .initial = "own",                                                                         \
         .help =                                                                                   \
             "Who carries the measured streams: tokgrid's own client, or libcurl as a check of "   \
             "it. Only curl honours http_proxy and its like."},                                    \
        {.name = "kv-budget",                                                                      \
         OPTION_SIZE(S, kv_budget),                                                                \
         .min = 1,                                                                                 \
         .max = INT64_MAX,                                                                         \
         .value = "TOKENS",                                                                        \
         .otherwise = "what the server says",                                                      \
         .help = "Tokens that fit the server's KV cache, all requests together."},                 \
        {.name = "active-weights",                                                                 \
         OPTION_CUSTOM(S, active_weights_gb, parse_gb),                                            \
         .value = "GB",                                                                            \
         .otherwise = "unknown",                                                                   \
         .help = "Weights that are read for one token, in units of 10^9 bytes: of a dense model "  \
                 "all, of a mixture of experts those that are active. With the bandwidth of the "  \
                 "memory, the page shows how close each cell comes to that bound."},               \
        {.name = "memory-bandwidth",                                                               \
         OPTION_CUSTOM(S, memory_bandwidth_gb_s, parse_gb),                                        \
         .value = "GB/S",                                                                          \
         .otherwise = "the data sheet's, for many GPUs",                                           \
         .help = "Bytes that the memory with the weights can give in a second, in units of 10^9, " \
                 "all GPUs together."},                                                            \
        {.name = "connect-timeout",                                                                \
         OPTION_DURATION(S, connect_timeout_ns),                                                   \
         .value = "TIME",                                                                          \
         .initial = "10s",                                                                         \
         .help = "Longest wait for a connection."},                                                \
        {.name = "request-timeout",                                                                \
         OPTION_DURATION(S, request_timeout_ns),                                                   \
         .value = "TIME",                                                                          \
         .initial = "10m",                                                                         \
         .help = "Longest wait for the next token of a request."},                                 \
        {.name = "load-timeout",                                                                   \
         OPTION_DURATION(S, load_timeout_ns),                                                      \
         .value = "TIME",                                                                          \
         .initial = "10m",                                                                         \
         .help = "Longest wait for a server that answers 503 while it loads."},                    \
        {.name = "hardware",                                                                       \
         OPTION_STRING(S, hardware),                                                               \
         .value = "FILE",                                                                          \
         .otherwise = "this machine, when the server runs here",                                   \
         .help = "What the server runs on: a JSON file as 'tokgrid hardware --json' prints it."},  \
    {                                                                                              \
        .name = "launch-command-file", OPTION_STRING(S, launch_command_file), .value = "FILE",     \
        .help = "The command that started the server, kept in the result; keys and tokens in it "  \
                "are taken out."                                                                   \
    }

const struct option_row run_option_rows[] = {
    {.name = "preset",
     OPTION_STRING(S, preset),
     .value = "NAME",
     .initial = "standard",
     .group = "What to measure",
     .help = "A plan by name: quick, standard or full. The options below change it."},
    {.name = "contexts",
     OPTION_STRING(S, contexts),
     .value = "LIST",
     .otherwise = "0,16k,32k,64k,128k",
     .help = "Prompt lengths in tokens, chat template included."},
    {.name = "concurrency",
     OPTION_STRING(S, concurrency),
     .value = "LIST",
     .otherwise = "1,2,4,8,16,32,64,128",
     .help = "Requests kept in flight."},
    {.name = "prefill",
     OPTION_STRING(S, prefill),
     .value = "LIST",
     .otherwise = "8k,16k,32k,64k,128k",
     .help = "Prompt lengths to measure cold."},
    {.name = "duration",
     OPTION_DURATION(S, duration_ns),
     .value = "TIME",
     .otherwise = "30s",
     .help = "Length of a cell's window."},
    {.name = "settle",
     OPTION_DURATION(S, settle_ns),
     .value = "TIME",
     .otherwise = "2s",
     .help = "Wait between the last stream's first token and the window."},
    {.name = "repeats",
     OPTION_INT(S, repeats),
     .min = 1,
     .max = 64,
     .value = "N",
     .otherwise = "1",
     .help = "Windows per cell; two or more give an interval over them."},
    {.name = "max-output",
     OPTION_SIZE(S, max_output),
     .min = 1,
     .max = 1 << 24,
     .value = "TOKENS",
     .otherwise = "8192, or a quarter of the model's limit",
     .help = "Longest answer of one request."},
    {.name = "budget",
     OPTION_DURATION(S, budget_ns),
     .value = "TIME",
     .otherwise = "none",
     .help = "Shorten the plan so that the run takes no longer."},
    {.name = "prefill-mode",
     OPTION_CHOICE(S, prefill_mode, prefill_modes),
     .value = "MODE",
     .initial = "warmup",
     .help = "Measure prefill while a context is warmed for decoding, standalone, or not at all "
             "(none)."},
    {.name = "prefill-samples",
     OPTION_INT(S, prefill_samples),
     .min = 1,
     .max = 32,
     .value = "N",
     .otherwise = "3 up to 16K, 1 beyond",
     .help = "Cold requests per prefill row."},
    {.name = "prompts",
     OPTION_CHOICE(S, prompts, prompt_modes),
     .value = "MODE",
     .initial = "shared",
     .group = "Prompts and rules",
     .help = "Whether the streams of a cell share their context (shared) or have one each "
             "(distinct)."},
    {.name = "prompt-file",
     OPTION_STRING(S, prompt_file),
     .value = "FILE",
     .otherwise = "generated sentences",
     .help = "Your own text for the contexts, UTF-8."},
    {.name = "seed",
     OPTION_STRING(S, seed),
     .value = "HEX",
     .otherwise = "random",
     .help = "Make the same prompts as the run that stored this seed."},
    {.name = "temperature",
     OPTION_STRING(S, temperature),
     .value = "T",
     .otherwise = "not sent",
     .help = "Sampling temperature to ask for."},
    {.name = "capacity-rule",
     OPTION_CHOICE(S, capacity_rule, capacity_rules),
     .value = "RULE",
     .initial = "full",
     .help = "When a cell is over capacity: full counts context and whole output of every request; "
             "window counts what can be written while the cell runs."},
    {.name = "run-over-capacity",
     OPTION_FLAG(S, run_over_capacity),
     .help = "Run cells that are over capacity, and mark them."},
    {.name = "allow-busy",
     OPTION_FLAG(S, allow_busy),
     .help = "Measure although the server has other work, and mark the cells."},
    {.name = "threads",
     OPTION_INT(S, threads),
     .min = 1,
     .max = 64,
     .value = "N",
     .otherwise = "as many as the streams need",
     .help = "Threads of this client that the measured streams are shared out over. By itself it "
             "takes another one when one would be busy for half of the time."},
    {.name = "ordinary-priority",
     OPTION_FLAG(S, ordinary_priority),
     .help =
         "Do not ask for real-time priority. By itself the measuring threads take it where that "
         "is allowed (root, or ulimit -r), so that other work on this machine does not make "
         "stamps late."},
    {.name = "max-errors",
     OPTION_INT(S, max_errors),
     .min = 0,
     .max = 1000000,
     .value = "N",
     .initial = "0",
     .help = "Failed requests that a cell may have."},
    {.name = "no-loop-guard",
     OPTION_FLAG(S, no_loop_guard),
     .help = "Do not discard cells whose text repeats itself."},
    {.name = "idle-timeout",
     OPTION_DURATION(S, idle_timeout_ns),
     .value = "TIME",
     .initial = "2m",
     .help = "Longest wait before a cell for the server to become idle."},
    {.name = "ready-timeout",
     OPTION_DURATION(S, ready_timeout_ns),
     .value = "TIME",
     .initial = "1m",
     .help = "Longest wait for all streams' first tokens; the expected prefill is added."},
    SERVER_ROWS,
    {.name = "out",
     .letter = 'o',
     OPTION_STRING(S, out),
     .value = "FILE",
     .otherwise = "runs/TIME-MODEL.json",
     .group = "Output",
     .help = "Where the result goes; raw samples lie beside it."},
    {.name = "html",
     OPTION_STRING(S, html),
     .value = "FILE",
     .help = "Write the matrix page as well: one self-contained file."},
    {.name = "no-samples", OPTION_FLAG(S, no_samples), .help = "Keep no raw samples."},
    {.name = "plain", OPTION_FLAG(S, plain), .help = "Lines instead of the live screen."},
    {.name = "quiet",
     .letter = 'q',
     OPTION_FLAG(S, quiet),
     .help = "Print nothing but errors; the result is in its file."},
    {.name = "json",
     OPTION_FLAG(S, json),
     .help = "Print the result document on standard output, and lines on standard error."},
    {0},
};

const struct option_row probe_option_rows[] = {
    SERVER_ROWS,
    {.name = "json", OPTION_FLAG(S, json), .group = "Output", .help = "Print the facts as JSON."},
    {0},
};

const struct operand_row run_operand_rows[] = {
    {.name = "URL", OPERAND_ONE(S, url), .help = "The server's address."},
    {0},
};

void run_settings_init(struct run_settings *s)
{
    *s = (struct run_settings){.duration_ns = -1,
                               .settle_ns = -1,
                               .budget_ns = -1,
                               .max_output = -1,
                               .prefill_samples = -1,
                               .repeats = -1};
}

void run_settings_release(struct run_settings *s)
{
    machine_release(&s->machine);
    free(s->launch_command);
    free(s->own_key);
    s->launch_command = s->own_key = NULL;
}

/* A whole number or a time that may have been given (-1: it was not). */
static bool take(int64_t given, int64_t *ret)
{
    if (given < 0)
        return false;
    *ret = given;
    return true;
}

/* What the options change of the preset's figures; a preset that was changed is none. */
static bool change_plan(const struct run_settings *s, struct plan *plan, struct err *err)
{
    int64_t samples = plan->prefill_samples, repeats = plan->repeats;

    if (s->contexts && !plan_parse_contexts(s->contexts, plan->contexts, &plan->context_count, true,
                                            "--contexts", err))
        return false;
    if (s->prefill && !plan_parse_contexts(s->prefill, plan->prefill, &plan->prefill_count, false,
                                           "--prefill", err))
        return false;
    if (s->concurrency && !plan_parse_levels(s->concurrency, plan, err))
        return false;
    bool changed = s->contexts || s->prefill || s->concurrency;
    changed |= take(s->duration_ns, &plan->duration_ns);
    changed |= take(s->settle_ns, &plan->settle_ns);
    changed |= take(s->max_output, &plan->max_output);
    changed |= take(s->prefill_samples, &samples);
    changed |= take(s->repeats, &repeats);
    plan->prefill_samples = (int)samples;
    plan->repeats = (int)repeats;
    if (changed)
        plan->preset = NULL;
    return true;
}

static bool make_plan(const struct run_settings *s, struct plan *plan, struct err *err)
{
    plan_init(plan);
    if ((s->preset && !plan_preset(plan, s->preset, err)) || !change_plan(s, plan, err))
        return false;
    if (s->prompts != PROMPTS_SHARED || s->prefill_mode != PREFILL_WARMUP ||
        s->capacity_rule != CAPACITY_FULL)
        plan->preset = NULL;
    plan->prompts = (enum prompt_mode)s->prompts;
    plan->prefill_mode = (enum prefill_mode)s->prefill_mode;
    if (plan->prefill_mode == PREFILL_NONE)
        plan->prefill_count = 0; /* rows that nobody measures are not trimmed or warmed up for */
    plan->capacity_rule = (enum capacity_rule)s->capacity_rule;
    plan->budget_ns = s->budget_ns > 0 ? s->budget_ns : 0;
    return plan->duration_ns >= 100 * NS_PER_MS ||
           err_set(err, ERR_USAGE, "--duration must be at least 100ms");
}

static bool parse_seed(const char *text, uint64_t *ret)
{
    uint64_t v = 0;
    size_t n = strlen(text);
    if (n == 0 || n > 16 || strspn(text, "0123456789abcdefABCDEF") != n)
        return false;
    for (; *text; text++)
        v = v << 4 | (uint64_t)(*text <= '9' ? *text - '0' : (*text | 32) - 'a' + 10);
    *ret = v;
    return true;
}

static bool read_launch_command(struct run_settings *s, struct err *err)
{
    struct buf raw, clean;
    bool ok;

    buf_init(&raw, 64 << 10);
    buf_init(&clean, 64 << 10);
    ok = file_read(s->launch_command_file, &raw, err);
    if (ok) {
        while (raw.len > 0 && strchr(" \n\r\t", raw.p[raw.len - 1]))
            raw.p[--raw.len] = '\0';
        redact_command(raw.p, &clean);
        s->launch_command = buf_detach(&clean);
    }
    buf_release(&raw);
    buf_release(&clean);
    return ok;
}

static bool read_hardware(struct run_settings *s, struct err *err)
{
    struct buf text;
    buf_init(&text, 1 << 20);
    bool ok = file_read(s->hardware, &text, err) &&
              machine_read_json(text.p, text.len, s->hardware, &s->machine, err);
    buf_release(&text);
    return ok;
}

bool run_settings_apply(struct run_settings *s, struct run_options *ret, struct err *err)
{
    s->own_key = command_take_secret(s->api_key, "TOKGRID_API_KEY");
    struct run_options o = {
        .url = s->url,
        .model = s->model,
        .api_key = s->own_key,
        .ca_file = s->cacert,
        .insecure = s->insecure,
        .transport = transports[s->transport],
        .prompt_file = s->prompt_file,
        .temperature = NAN,
        .kv_budget = s->kv_budget,
        .active_weight_bytes = s->active_weights_gb * 1e9,
        .memory_bandwidth_bytes_s = s->memory_bandwidth_gb_s * 1e9,
        .connect_timeout_ns = s->connect_timeout_ns,
        .request_timeout_ns = s->request_timeout_ns,
        .load_timeout_ns = s->load_timeout_ns,
        .idle_timeout_ns = s->idle_timeout_ns,
        .ready_timeout_ns = s->ready_timeout_ns,
        .max_errors = (int)s->max_errors,
        .threads = (int)s->threads,
        .run_over_capacity = s->run_over_capacity,
        .allow_busy = s->allow_busy,
        .no_loop_guard = s->no_loop_guard,
        .ordinary_priority = s->ordinary_priority,
    };

    if (o.api_key && strpbrk(o.api_key, "\r\n"))
        return err_set(err, ERR_USAGE, "the API key has a line break in it");
    if (!make_plan(s, &o.plan, err))
        return false;
    if (s->seed && !parse_seed(s->seed, &o.seed))
        return err_set(err, ERR_USAGE, "--seed: '%s' is not a number of up to 16 hex digits",
                       s->seed);
    o.has_seed = s->seed != NULL;
    if (s->temperature && (!num_parse_double(s->temperature, &o.temperature) || o.temperature < 0))
        return err_set(err, ERR_USAGE, "--temperature: '%s' is not a number of 0 or more",
                       s->temperature);
    if (s->launch_command_file && !read_launch_command(s, err))
        return false;
    if (s->hardware && !read_hardware(s, err))
        return false;
    o.launch_command = s->launch_command;
    o.server_hardware = s->hardware ? &s->machine : NULL;
    *ret = o;
    return true;
}
