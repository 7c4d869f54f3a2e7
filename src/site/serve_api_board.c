/* serve_api_board.c - boards, as JSON or as a table. */
#include <math.h>
#include <string.h>

#include "report/csv.h"
#include "site/api_call.h"
#include "site/api_objects.h"
#include "site/serve.h"
#include "site/stamp_text.h"

static void add_csv_number(struct buf *out, double v)
{
    if (isfinite(v))
        buf_addf(out, "%.10g", v);
    buf_addc(out, ',');
}

static void add_csv_text(struct buf *out, const char *s)
{
    csv_text(s ? s : "", out);
    buf_addc(out, ',');
}

static void write_csv(struct visit *v, const struct store_board *board,
                      const struct store_board_rows *rows)
{
    struct buf *out = &v->response->body;
    char stamp[CLOCK_TEXT_MAX];
    v->response->type = "text/csv; charset=utf-8";
    response_header(v->response, "Content-Disposition",
                    arena_printf(&v->arena, "attachment; filename=\"%s.csv\"",
                                 store_metric_name(board->metric)));
    buf_adds(out, "metric,value,context_tokens,concurrency,total_tok_s,per_request_tok_s,ttft_ms,"
                  "model,hardware,engine,engine_version,quantization,kind,user,verified,flagged,"
                  "run,created_at\r\n");
    for (size_t i = 0; i < rows->n; i++) {
        const struct store_board_row *row = &rows->v[i];
        add_csv_text(out, store_metric_name(board->metric));
        add_csv_number(out, row->value);
        buf_addf(out, "%lld,%d,", (long long)row->cell.context_tokens, row->cell.concurrency);
        add_csv_number(out, row->cell.total_tok_s);
        add_csv_number(out, row->cell.per_request_tok_s);
        add_csv_number(out, row->cell.ttft_ms);
        add_csv_text(out, row->run.model);
        add_csv_text(out, row->run.hardware_title);
        add_csv_text(out, row->run.engine);
        add_csv_text(out, row->run.engine_version);
        add_csv_text(out, row->run.quantization);
        add_csv_text(out, row->run.kind);
        add_csv_text(out, row->run.owner_name);
        buf_addf(out, "%d,%d,%s,%s\r\n", row->run.verified, row->cell.flagged, row->run.uid,
                 stamp_text(row->run.created_ms, stamp));
    }
}

void serve_api_board(struct visit *v)
{
    const char *format = visit_query(v, "format");
    struct store_board board;
    struct store_board_rows rows;
    struct api_ranked_rows ranked;
    struct store_page page;
    visit_page(v, &page);
    if (!serve_board_of(v, &board, &v->err) ||
        !store_board(v->store, &board, &page, &v->arena, &rows, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    if (format && strcmp(format, "csv") == 0) {
        write_csv(v, &board, &rows);
        return;
    }
    api_rank(&rows, board.metric, &v->arena, &ranked);
    api_answer(v, 200, &api_board, &ranked);
}
