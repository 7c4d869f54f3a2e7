/* result_fields.c - every field of tokgrid-run/1, once, in the order of the document.
 *
 * The row macros refuse a member of another type than their kind: _Generic then has no match, which
 * is a compile error. */
#include "model/result_fields.h"

#include <string.h>

#include "base/uuid.h"

#define ROW(name, kind, type, member, wanted, ...)                                                 \
    {                                                                                              \
        name, kind,                                                                                \
            .offset = _Generic(&((type *)0)->member, wanted *                                      \
                               : offsetof(type, member)),                                          \
            __VA_ARGS__                                                                            \
    }
#define STRING(name, type, m, ...)  ROW(name, FIELD_STRING, type, m, char *, __VA_ARGS__)
#define LABEL(name, type, m, ...)   ROW(name, FIELD_LABEL, type, m, const char *, __VA_ARGS__)
#define STAMP(name, type, m)        ROW(name, FIELD_STAMP, type, m, stamp_text, )
#define JSON(name, type, m)         ROW(name, FIELD_JSON, type, m, char *, )
#define NUMBER(name, type, m, ...)  ROW(name, FIELD_NUMBER, type, m, double, __VA_ARGS__)
#define INT(name, type, m, ...)     ROW(name, FIELD_INT, type, m, int, __VA_ARGS__)
#define I64(name, type, m, ...)     ROW(name, FIELD_I64, type, m, int64_t, __VA_ARGS__)
#define SECONDS(name, type, m, ...) ROW(name, FIELD_SECONDS, type, m, int64_t, __VA_ARGS__)
#define BOOL(name, type, m)         ROW(name, FIELD_BOOL, type, m, bool, )
#define ENUM(name, type, m, ...)    ROW(name, FIELD_ENUM, type, m, unsigned, __VA_ARGS__)
#define BITS(name, type, m, ...)    ROW(name, FIELD_BITS, type, m, unsigned, __VA_ARGS__)

/* flags last: they may be missing */
#define NESTED(name, kind, at, how, of, ...)                                                       \
    {                                                                                              \
        name, kind, .how = &(of), .offset = at, __VA_ARGS__                                        \
    }
#define STRUCT(name, type, m, of, ...)                                                             \
    NESTED(name, FIELD_STRUCT, offsetof(type, m), table, of, __VA_ARGS__)
#define LIST(name, type, m, of, ...)                                                               \
    NESTED(name, FIELD_LIST, offsetof(type, m), list, of, __VA_ARGS__)
/* members of an unnamed struct: its rows count from the outer one */
#define GROUP(name, of, ...) NESTED(name, FIELD_STRUCT, 0, table, of, __VA_ARGS__)

#define TABLE(name, type, rows)                                                                    \
    {                                                                                              \
        name, rows, ARRAY_LEN(rows), sizeof(type)                                                  \
    }

typedef char stamp_text[FIELD_STAMP_MAX];

#define WORDS(...)                                                                                 \
    .words = (const char *const[])                                                                 \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static bool is_hex_digest(const char *s)
{
    return strlen(s) == 64 && strspn(s, "0123456789abcdef") == 64;
}

static bool is_hex(const char *s)
{
    size_t n = strlen(s);
    return n > 0 && n <= 64 && strspn(s, "0123456789abcdef") == n;
}

static const struct field_form form_uuid = {uuid_valid, "a UUID"};
static const struct field_form form_digest = {is_hex_digest, "64 hex digits"};
static const struct field_form form_hex = {is_hex, "1 to 64 hex digits"};

/* Figures */

static const struct field spread_rows[] = {
    I64("n", struct spread, n, FIELD_MINUS_NULL),
    NUMBER("p50", struct spread, p50),
    NUMBER("p90", struct spread, p90),
    NUMBER("p99", struct spread, p99),
    NUMBER("max", struct spread, max),
};
static const struct field_table spread_fields = TABLE("spread", struct spread, spread_rows);

static const struct field interval_rows[] = {
    NUMBER("low", struct interval, low, .min = -FIELD_MAX, .max = FIELD_MAX),
    NUMBER("high", struct interval, high, .min = -FIELD_MAX, .max = FIELD_MAX),
    NUMBER("n_effective", struct interval, n_effective),
    LABEL("method", struct interval, method, WORDS("batch_means", "t_repeats")),
};
static const struct field_table interval_fields = TABLE("interval", struct interval, interval_rows);

static const struct field outcomes_rows[] = {
    I64("complete", struct outcomes, count[OUTCOME_COMPLETE]),
    I64("no_done", struct outcomes, count[OUTCOME_NO_DONE]),
    I64("no_finish", struct outcomes, count[OUTCOME_NO_FINISH]),
    I64("truncated", struct outcomes, count[OUTCOME_TRUNCATED]),
    I64("failed", struct outcomes, count[OUTCOME_FAILED]),
    I64("rejected", struct outcomes, count[OUTCOME_REJECTED]),
    I64("timed_out", struct outcomes, count[OUTCOME_TIMED_OUT]),
    I64("empty", struct outcomes, count[OUTCOME_EMPTY]),
    I64("cancelled", struct outcomes, count[OUTCOME_CANCELLED]),
};
static const struct field_table outcomes_fields = TABLE("outcomes", struct outcomes, outcomes_rows);

static const struct field verdict_rows[] = {
    NUMBER("cpu_pct", struct verdict, cpu_pct),
    INT("threads", struct verdict, threads, FIELD_ZERO_NULL),
    STRUCT("lag_ms", struct verdict, lag_ms, spread_fields, FIELD_BLANK_NULL),
    STRUCT("send_lag_ms", struct verdict, send_lag_ms, spread_fields, FIELD_BLANK_NULL),
    NUMBER("events_per_read", struct verdict, events_per_read),
    I64("unread_bytes", struct verdict, unread_bytes, FIELD_MINUS_NULL),
    BOOL("limited", struct verdict, limited),
};
static const struct field_table verdict_fields = TABLE("verdict", struct verdict, verdict_rows);

static const struct field loop_rows[] = {
    I64("period", struct loop_evidence, period),
    I64("cycles", struct loop_evidence, cycles),
    STRING("channel", struct loop_evidence, channel),
    STRING("excerpt", struct loop_evidence, excerpt),
};
static const struct field_table loop_fields = TABLE("loop", struct loop_evidence, loop_rows);

/* Measurements */

static const struct field cell_rows[] = {
    I64("context_tokens", struct cell, context_tokens, FIELD_REQUIRED),
    INT("concurrency", struct cell, concurrency, FIELD_REQUIRED, .min = 1,
        .max = PLAN_MAX_CONCURRENCY),
    ENUM("status", struct cell, status, FIELD_REQUIRED, .words = status_names),
    BITS("marks", struct cell, marks, .words = mark_names),
    STRING("reason", struct cell, reason),
    NUMBER("total_tok_s", struct cell, total_tok_s),
    NUMBER("per_request_tok_s", struct cell, per_request_tok_s),
    STRUCT("ttft_ms", struct cell, ttft_ms, spread_fields, FIELD_BLANK_NULL),
    STRUCT("itl_ms", struct cell, itl_ms, spread_fields, FIELD_BLANK_NULL),
    STRUCT("gap_ms", struct cell, gap_ms, spread_fields, FIELD_BLANK_NULL),
    NUMBER("avg_active", struct cell, avg_active),
    STRING("avg_active_source", struct cell, avg_active_source, WORDS("server", "client")),
    I64("completed", struct cell, completed, FIELD_MINUS_NULL),
    I64("output_tokens", struct cell, output_tokens, FIELD_MINUS_NULL),
    NUMBER("measured_s", struct cell, measured_s),
    STRUCT("ci95", struct cell, ci95, interval_fields, FIELD_BLANK_NULL),
    INT("repeats", struct cell, repeats),
    STRING("token_source", struct cell, token_source,
           WORDS("usage_stream", "usage_final", "events")),
    NUMBER("tokens_per_event", struct cell, tokens_per_event),
    NUMBER("prompt_tokens", struct cell, prompt_tokens),
    NUMBER("ready_s", struct cell, ready_s),
    NUMBER("drain_s", struct cell, drain_s),
    NUMBER("server_output_tokens", struct cell, server_output_tokens),
    NUMBER("server_running", struct cell, server_running),
    NUMBER("server_waiting", struct cell, server_waiting),
    NUMBER("waiting_share", struct cell, waiting_share, .max = 1),
    NUMBER("kv_used_max", struct cell, kv_used_max, .max = 1),
    NUMBER("preemptions", struct cell, preemptions),
    NUMBER("power_w", struct cell, power_w),
    NUMBER("energy_j", struct cell, energy_j),
    STRUCT("outcomes", struct cell, outcomes, outcomes_fields, FIELD_BLANK_NULL),
    STRUCT("client", struct cell, client, verdict_fields, FIELD_BLANK_NULL),
    STRUCT("loop", struct cell, loop, loop_fields, FIELD_BLANK_NULL),
    STAMP("started_at", struct cell, started_at),
};
const struct field_table cell_fields = TABLE("cell", struct cell, cell_rows);

static const struct field prefill_rows[] = {
    I64("context_tokens", struct prefill_row, context_tokens, FIELD_REQUIRED),
    ENUM("status", struct prefill_row, status, FIELD_REQUIRED, .words = status_names),
    BITS("marks", struct prefill_row, marks, .words = mark_names),
    STRING("reason", struct prefill_row, reason),
    NUMBER("total_tok_s", struct prefill_row, total_tok_s),
    STRUCT("ttft_ms", struct prefill_row, ttft_ms, spread_fields, FIELD_BLANK_NULL),
    NUMBER("prompt_tokens", struct prefill_row, prompt_tokens),
    NUMBER("cached_tokens", struct prefill_row, cached_tokens),
    NUMBER("server_prompt_ms", struct prefill_row, server_prompt_ms),
    I64("completed", struct prefill_row, completed, FIELD_MINUS_NULL),
    STRUCT("ci95", struct prefill_row, ci95, interval_fields, FIELD_BLANK_NULL),
    STRING("how", struct prefill_row, how, WORDS("warmup", "standalone")),
    STAMP("started_at", struct prefill_row, started_at),
};
const struct field_table prefill_fields = TABLE("prefill_row", struct prefill_row, prefill_rows);

/* What was measured, and with what */

static const struct field gpu_rows[] = {
    STRING("name", struct gpu, name),
    I64("vram_bytes", struct gpu, vram_bytes, FIELD_ZERO_NULL),
    STRING("driver", struct gpu, driver),
    STRING("uuid", struct gpu, uuid, FIELD_PRIVATE),
    INT("pcie_gen", struct gpu, pcie_gen, FIELD_ZERO_NULL),
    INT("pcie_width", struct gpu, pcie_width, FIELD_ZERO_NULL),
    INT("pcie_gen_max", struct gpu, pcie_gen_max, FIELD_ZERO_NULL),
    INT("pcie_width_max", struct gpu, pcie_width_max, FIELD_ZERO_NULL),
    NUMBER("power_limit_w", struct gpu, power_limit_w, FIELD_ZERO_NULL),
    INT("clock_max_mhz", struct gpu, clock_max_mhz, FIELD_ZERO_NULL),
};
static const struct field_table gpu_fields = TABLE("gpu", struct gpu, gpu_rows);

static const struct field_list gpu_list = {
    .item = {.kind = FIELD_STRUCT, .flags = FIELD_REQUIRED, .table = &gpu_fields},
    .stride = sizeof(struct gpu),
    .max = MACHINE_MAX_GPUS,
    .count_offset = offsetof(struct machine, gpu_count),
    .count_size = sizeof(int),
    .cap_offset = FIELD_INLINE,
};

static const struct field machine_rows[] = {
    STRING("type", struct machine, type, WORDS("DISCRETE_GPU", "UNIFIED", "CPU_ONLY")),
    LIST("gpus", struct machine, gpus, gpu_list),
    STRING("cpu", struct machine, cpu),
    INT("cpu_cores", struct machine, cpu_cores, FIELD_ZERO_NULL),
    INT("cpu_threads", struct machine, cpu_threads, FIELD_ZERO_NULL),
    INT("cpus_allowed", struct machine, cpus_allowed, FIELD_ZERO_NULL),
    I64("ram_bytes", struct machine, ram_bytes, FIELD_ZERO_NULL),
    STRING("os", struct machine, os),
    STRING("kernel", struct machine, kernel),
    STRING("arch", struct machine, arch),
    STRING("source", struct machine, source),
};
const struct field_table machine_fields = TABLE("machine", struct machine, machine_rows);

static const struct field tool_rows[] = {
    STRING("name", struct result, tool.name, FIELD_REQUIRED),
    STRING("version", struct result, tool.version),
    STRING("transport", struct result, tool.transport, WORDS("own", "curl")),
};
static const struct field_table tool_fields = TABLE("tool", struct result, tool_rows);

static const struct field subject_rows[] = {
    STRING("model", struct result, subject.model),
    STRING("served_model", struct result, subject.served_model),
    STRING("revision", struct result, subject.revision),
    STRING("quantization", struct result, subject.quantization),
};
static const struct field_table subject_fields = TABLE("subject", struct result, subject_rows);

static const struct field engine_rows[] = {
    STRING("name", struct result, engine.name),
    STRING("version", struct result, engine.version),
    STRING("backend", struct result, engine.backend),
    STRING("build", struct result, engine.build),
    STRING("repository", struct result, engine.repository),
    STRING("commit", struct result, engine.commit),
    STRING("launch_command", struct result, engine.launch_command),
    JSON("flags", struct result, engine.flags),
};
static const struct field_table engine_fields = TABLE("engine", struct result, engine_rows);

static const struct field_list context_list = {
    .item = {.kind = FIELD_I64, .flags = FIELD_REQUIRED},
    .stride = sizeof(int64_t),
    .max = PLAN_MAX_CONTEXTS,
    .count_offset = offsetof(struct plan, context_count),
    .count_size = sizeof(size_t),
    .cap_offset = FIELD_INLINE,
};
static const struct field_list level_list = {
    .item = {.kind = FIELD_INT, .flags = FIELD_REQUIRED, .min = 1, .max = PLAN_MAX_CONCURRENCY},
    .stride = sizeof(int),
    .max = PLAN_MAX_LEVELS,
    .count_offset = offsetof(struct plan, level_count),
    .count_size = sizeof(size_t),
    .cap_offset = FIELD_INLINE,
};
static const struct field_list prefill_context_list = {
    .item = {.kind = FIELD_I64, .flags = FIELD_REQUIRED, .min = 1, .max = FIELD_MAX},
    .stride = sizeof(int64_t),
    .max = PLAN_MAX_CONTEXTS,
    .count_offset = offsetof(struct plan, prefill_count),
    .count_size = sizeof(size_t),
    .cap_offset = FIELD_INLINE,
};

static const struct field plan_rows[] = {
    LIST("contexts", struct plan, contexts, context_list),
    LIST("concurrency", struct plan, levels, level_list),
    LIST("prefill", struct plan, prefill, prefill_context_list),
    INT("prefill_samples", struct plan, prefill_samples, FIELD_ZERO_NULL),
    INT("repeats", struct plan, repeats, FIELD_ZERO_NULL),
    SECONDS("duration_s", struct plan, duration_ns, FIELD_ZERO_NULL),
    SECONDS("settle_s", struct plan, settle_ns, FIELD_MINUS_NULL),
    I64("max_output", struct plan, max_output, FIELD_ZERO_NULL),
    ENUM("prompts", struct plan, prompts, .words = prompt_mode_names),
    ENUM("prefill_mode", struct plan, prefill_mode, .words = prefill_mode_names),
    ENUM("capacity_rule", struct plan, capacity_rule, .words = capacity_rule_names),
    LABEL("preset", struct plan, preset, .words = preset_names),
    SECONDS("budget_s", struct plan, budget_ns, FIELD_ZERO_NULL),
    SECONDS("estimate_s", struct plan, estimate_ns, FIELD_ZERO_NULL),
};
static const struct field_table plan_fields = TABLE("plan", struct plan, plan_rows);

static const struct field fact_rows[] = {
    STRING("name", struct fact, name, FIELD_REQUIRED),
    STRING("value", struct fact, value),
    STRING("source", struct fact, source),
};
static const struct field_table fact_fields = TABLE("fact", struct fact, fact_rows);

/* lists on the heap, of the result itself */
#define HEAP_LIST(type, count, cap, ...)                                                           \
    {                                                                                              \
        .stride = sizeof(type), .count_offset = offsetof(struct result, count),                    \
        .count_size = sizeof(size_t), .cap_offset = offsetof(struct result, cap), __VA_ARGS__      \
    }

static const struct field_list fact_list =
    HEAP_LIST(struct fact, server.fact_count, server.fact_cap,
              .item = {.kind = FIELD_STRUCT, .flags = FIELD_REQUIRED, .table = &fact_fields});

#define FEATURE(name, f)                                                                           \
    STRING(name, struct result, server.features[f], WORDS("obeyed", "ignored", "refused", "absent"))

static const struct field feature_rows[] = {
    FEATURE("ignore_eos", FEATURE_IGNORE_EOS),
    FEATURE("min_tokens", FEATURE_MIN_TOKENS),
    FEATURE("stream_options", FEATURE_STREAM_OPTIONS),
    FEATURE("continuous_usage_stats", FEATURE_CONTINUOUS_USAGE),
    FEATURE("max_completion_tokens", FEATURE_MAX_COMPLETION_TOKENS),
    FEATURE("tokenize", FEATURE_TOKENIZE),
    FEATURE("metrics", FEATURE_METRICS),
    FEATURE("abort", FEATURE_ABORT),
};
static const struct field_table feature_fields = TABLE("features", struct result, feature_rows);

static const struct field server_rows[] = {
    STRING("url", struct result, server.url),
    NUMBER("context_limit", struct result, server.context_limit),
    NUMBER("kv_budget", struct result, server.kv_budget),
    NUMBER("max_running", struct result, server.max_running),
    STRING("kv_budget_source", struct result, server.kv_budget_source),
    GROUP("features", feature_fields, FIELD_BLANK_NULL),
    LIST("facts", struct result, server.facts, fact_list),
};
static const struct field_table server_fields = TABLE("server", struct result, server_rows);

static const struct field client_rows[] = {
    STRUCT("host", struct result, client.host, machine_fields, FIELD_BLANK_NULL),
    JSON("selftest", struct result, client.selftest),
    BOOL("remote", struct result, client.remote),
    BOOL("realtime", struct result, client.realtime),
};
static const struct field_table client_fields = TABLE("client", struct result, client_rows);

static const struct field run_rows[] = {
    STAMP("started_at", struct result, run.started_at),
    STAMP("ended_at", struct result, run.ended_at),
    NUMBER("duration_s", struct result, run.duration_s),
    BOOL("complete", struct result, run.complete),
    STRING("ended_by", struct result, run.ended_by, WORDS("done", "interrupted", "server_gone")),
    STRING("seed", struct result, run.seed, .form = &form_hex),
    NUMBER("temperature", struct result, run.temperature),
    NUMBER("idle_ttft_ms", struct result, run.idle_ttft_ms),
};
static const struct field_table run_fields = TABLE("run", struct result, run_rows);

static const struct field event_rows[] = {
    STAMP("at", struct result_event, at),
    STRING("level", struct result_event, level, WORDS("info", "warning", "error")),
    STRING("text", struct result_event, text, FIELD_REQUIRED),
};
static const struct field_table event_fields = TABLE("event", struct result_event, event_rows);

static const struct field samples_rows[] = {
    STRING("file", struct result, samples.file),
    STRING("blake2b", struct result, samples.blake2b, .form = &form_digest),
    I64("requests", struct result, samples.requests),
};
static const struct field_table samples_fields = TABLE("samples", struct result, samples_rows);

static const struct field_list prefill_list =
    HEAP_LIST(struct prefill_row, prefill_count, prefill_cap, .max = PLAN_MAX_CONTEXTS,
              .item = {.kind = FIELD_STRUCT, .flags = FIELD_REQUIRED, .table = &prefill_fields});
static const struct field_list decode_list =
    HEAP_LIST(struct cell, decode_count, decode_cap, .max = PLAN_MAX_CONTEXTS * PLAN_MAX_LEVELS,
              .item = {.kind = FIELD_STRUCT, .flags = FIELD_REQUIRED, .table = &cell_fields});
static const struct field_list event_list =
    HEAP_LIST(struct result_event, event_count, event_cap,
              .item = {.kind = FIELD_STRUCT, .flags = FIELD_REQUIRED, .table = &event_fields});
static const struct field_list note_list = HEAP_LIST(
    char *, note_count, note_cap, .item = {.kind = FIELD_STRING, .flags = FIELD_REQUIRED});

static const struct field result_rows[] = {
    {"schema", FIELD_CONST, 0, FIELD_REQUIRED, WORDS(RESULT_SCHEMA)},
    STRING("id", struct result, id, .form = &form_uuid),
    GROUP("tool", tool_fields, FIELD_REQUIRED),
    STRING("kind", struct result, kind, FIELD_REQUIRED, WORDS("measured", "simulated", "imported")),
    GROUP("subject", subject_fields, FIELD_REQUIRED),
    STRUCT("hardware", struct result, hardware, machine_fields),
    GROUP("engine", engine_fields),
    STRUCT("plan", struct result, plan, plan_fields),
    GROUP("server", server_fields),
    GROUP("client", client_fields),
    GROUP("run", run_fields),
    LIST("prefill", struct result, prefill, prefill_list, FIELD_REQUIRED),
    LIST("decode", struct result, decode, decode_list, FIELD_REQUIRED),
    JSON("telemetry", struct result, telemetry),
    LIST("events", struct result, events, event_list),
    LIST("notes", struct result, notes, note_list),
    GROUP("samples", samples_fields, FIELD_BLANK_NULL),
    STRING("by", struct result, by),
};
const struct field_table result_fields = TABLE("result", struct result, result_rows);
