/* api_json.c - structs to JSON. */
#include "site/api_json.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "site/stamp_text.h"

json_t *api_number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

json_t *api_text(const char *s)
{
    json_t *text = s ? json_string(s) : json_null();
    return text ? text : json_null();
}

json_t *api_time(int64_t unix_ms)
{
    char stamp[CLOCK_TEXT_MAX];
    return unix_ms > 0 ? json_string(stamp_text(unix_ms, stamp)) : json_null();
}

json_t *api_run(const struct store_run *run)
{
    return json_pack(
        "{s:o, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:o}",
        "id", api_text(run->uid), "state", store_run_state_name(run->state), "revision",
        run->revision, "created_at", api_time(run->created_ms), "updated_at",
        api_time(run->updated_ms), "user", api_text(run->owner_name), "title", api_text(run->title),
        "model", api_text(run->model), "base_model", api_text(run->base), "organization",
        api_text(run->organization), "hardware", api_text(run->hardware), "hardware_title",
        api_text(run->hardware_title), "hardware_class", api_text(run->hardware_class), "engine",
        api_text(run->engine), "engine_version", api_text(run->engine_version), "quantization",
        api_text(run->quantization), "backend", api_text(run->backend), "kind", api_text(run->kind),
        "tool", api_text(run->tool), "verified", run->verified, "single_tok_s",
        api_number(run->single_tok_s), "total_tok_s", api_number(run->total_tok_s), "prefill_tok_s",
        api_number(run->prefill_tok_s), "ttft_ms", api_number(run->ttft_ms), "valid_cells",
        (json_int_t)run->valid_cells, "cell_count", (json_int_t)run->cell_count, "document_bytes",
        (json_int_t)run->document_bytes, "measured_at", api_text(run->measured_at));
}

json_t *api_model(const struct store_model *m)
{
    return json_pack("{s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o}", "name", api_text(m->name),
                     "base_model", api_text(m->base), "organization", api_text(m->organization),
                     "runs", (json_int_t)m->run_count, "variants", (json_int_t)m->variant_count,
                     "single_tok_s", api_number(m->single_tok_s), "total_tok_s",
                     api_number(m->total_tok_s), "last_run_at", api_time(m->last_run_ms));
}

json_t *api_board_row(const struct store_board *board, const struct store_board_row *row)
{
    const struct store_cell *c = &row->cell;
    return json_pack("{s:s, s:o, s:I, s:o, s:s, s:b, s:o, s:o, s:o, s:o, s:o}", "metric",
                     store_metric_name(board->metric), "value", api_number(row->value),
                     "context_tokens", (json_int_t)c->context_tokens, "concurrency",
                     c->concurrency > 0 ? json_integer(c->concurrency) : json_null(), "status",
                     status_name(c->status), "flagged", c->flagged, "total_tok_s",
                     api_number(c->total_tok_s), "per_request_tok_s",
                     api_number(c->per_request_tok_s), "ttft_ms", api_number(c->ttft_ms), "itl_ms",
                     api_number(c->itl_ms), "run", api_run(&row->run));
}

json_t *api_user(const struct store_user *u)
{
    return json_pack("{s:o, s:b, s:o, s:I}", "name", api_text(u->name), "admin", u->admin,
                     "created_at", api_time(u->created_ms), "runs", (json_int_t)u->run_count);
}

json_t *api_key(const struct store_key *k)
{
    return json_pack("{s:I, s:o, s:o, s:o, s:o}", "id", (json_int_t)k->id, "label",
                     api_text(k->label), "prefix", api_text(k->prefix), "created_at",
                     api_time(k->created_ms), "used_at", api_time(k->used_ms));
}

json_t *api_flags(const struct publication *p)
{
    json_t *flags = json_array();
    for (size_t i = 0; i < p->flag_count; i++)
        json_array_append_new(flags, json_pack("{s:s, s:s, s:I, s:i}", "code", p->flags[i].code,
                                               "text", p->flags[i].text, "context_tokens",
                                               (json_int_t)p->flags[i].context_tokens,
                                               "concurrency", p->flags[i].concurrency));
    return flags;
}

json_t *api_list(const char *name, json_t *rows, const char *next)
{
    return json_pack("{s:o, s:o}", name, rows, "next", *next ? json_string(next) : json_null());
}
