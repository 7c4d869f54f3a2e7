/* run_settings.h - the options of `tokgrid run` and `tokgrid probe`, and how they become a plan. */
#ifndef TOKGRID_CMD_RUN_SETTINGS_H
#define TOKGRID_CMD_RUN_SETTINGS_H

#include "base/err.h"
#include "cmd/options.h"
#include "load/run.h"

struct run_settings {
    const char *url;
    /* what */
    const char *contexts, *concurrency, *prefill, *preset;
    int64_t duration_ns, settle_ns, budget_ns;    /* -1: not given */
    int64_t max_output, prefill_samples, repeats; /* -1: not given */
    int prompts, prefill_mode, capacity_rule;
    const char *prompt_file, *seed, *temperature;
    int64_t kv_budget, max_errors, threads;
    bool ordinary_priority;
    double active_weights_gb, memory_bandwidth_gb_s; /* 0: not given */
    bool run_over_capacity, allow_busy, no_loop_guard;
    /* the server */
    const char *model, *api_key, *cacert, *hardware, *launch_command_file;
    bool insecure;
    int transport;
    int64_t connect_timeout_ns, request_timeout_ns, load_timeout_ns, idle_timeout_ns,
        ready_timeout_ns;
    /* output */
    const char *out, *html;
    bool plain, quiet, json, no_samples;

    /* made by run_settings_apply */
    struct machine machine;
    char *launch_command, *own_key;
};

extern const struct option_row run_option_rows[], probe_option_rows[];
extern const struct operand_row run_operand_rows[];

void run_settings_init(struct run_settings *s);
void run_settings_release(struct run_settings *s);

/* Check everything that can be checked without a server, read the files, fill *ret. It borrows from
 * *s. The progress member stays NULL. */
bool run_settings_apply(struct run_settings *s, struct run_options *ret,
                        struct err *err) ATTR_CHECK;

#endif
