/* large.h - for tests: a result as large as one usually gets, every figure filled. */
#ifndef TOKGRID_TESTS_LARGE_H
#define TOKGRID_TESTS_LARGE_H

#include "../model/fill.h"

enum { LARGE_CONTEXTS = 8, LARGE_LEVELS = 10 };

/* Figures as measured ones are: many digits. */
static inline void large_spread(struct spread *s, double scale)
{
    *s = (struct spread){1000, scale * 1.0371234567, scale * 1.2345678901, scale * 2.3456789012,
                         scale * 3.4567890123};
}

/* The caller releases. */
static inline void large_result(struct result *r)
{
    fill_result(r, "a text of the length that texts have");
    r->plan.context_count = r->plan.level_count = r->plan.prefill_count = 0;
    for (size_t i = 0; i < r->decode_count; i++)
        cell_release(&r->decode[i]);
    for (size_t i = 0; i < r->prefill_count; i++)
        prefill_row_release(&r->prefill[i]);
    r->decode_count = r->prefill_count = 0;
    for (int i = 0; i < LARGE_CONTEXTS; i++) {
        struct prefill_row p;
        prefill_row_init(&p, (i + 1) * 16384);
        p.total_tok_s = 4000.123456789 / (i + 1);
        large_spread(&p.ttft_ms, 4000 * (i + 1));
        result_add_prefill_take(r, &p);
        for (int k = 0; k < LARGE_LEVELS; k++) {
            struct cell c;
            cell_init(&c, i * 16384, 1 << k);
            c.status = i + k > 14 ? STATUS_OVER_CAPACITY : STATUS_VALID;
            c.total_tok_s = 123.456789012 * (k + 1) / (i + 1);
            c.per_request_tok_s = 123.456789012 / (i + k + 1);
            large_spread(&c.ttft_ms, 30.123 * (i + 1));
            large_spread(&c.itl_ms, 8.123 * (k + 1));
            large_spread(&c.gap_ms, 8.123 * (k + 1));
            c.avg_active = 1 << k;
            c.completed = k;
            c.output_tokens = 3673 * (k + 1);
            c.measured_s = 30;
            c.ci95 = (struct interval){c.total_tok_s * 0.98765432, c.total_tok_s * 1.0123456,
                                       27.123, "batch_means"};
            c.token_source = mem_strdup("usage_stream");
            c.avg_active_source = mem_strdup("server");
            c.power_w = 345.678;
            c.energy_j = 10370.345;
            c.server_running = c.avg_active;
            c.server_waiting = 0;
            c.waiting_share = 0.0123;
            c.kv_used_max = 0.543210987;
            c.client.cpu_pct = 3.456789;
            large_spread(&c.client.lag_ms, 0.0512345);
            result_add_cell_take(r, &c);
        }
    }
}

#endif
