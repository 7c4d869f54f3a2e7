/* serve_lists.c - the first page, lists and boards, files. */
#include <string.h>

#include "base/num.h"
#include "site/serve.h"
#include "site/site_pages.h"

enum { HOME_RUNS = 6, HOME_BEST = 5, RUNS_PAGE = 24, FOUND_EACH = 12 };

void serve_filter(const struct visit *v, struct store_filter *ret)
{
    *ret = (struct store_filter){
        .model = visit_query(v, "model"),
        .base = visit_query(v, "base"),
        .organization = visit_query(v, "organization"),
        .hardware = visit_query(v, "hardware"),
        .card = visit_query(v, "card"),
        .hardware_class = visit_query(v, "class"),
        .engine = visit_query(v, "engine"),
        .quantization = visit_query(v, "quantization"),
        .kind = visit_query(v, "kind"),
        .user = visit_query(v, "user"),
    };
    const char *verified = visit_query(v, "verified");
    ret->verified = verified && strcmp(verified, "0") != 0 && strcmp(verified, "false") != 0;
}

bool serve_board_of(const struct visit *v, struct store_board *ret, struct err *err)
{
    const char *metric = visit_query(v, "metric"), *order = visit_query(v, "order");
    const char *context = visit_query(v, "context"), *level = visit_query(v, "concurrency");
    int64_t n;
    *ret =
        (struct store_board){.context_tokens = -1, .newest = order && strcmp(order, "newest") == 0};
    serve_filter(v, &ret->filter);
    if (metric && !store_metric_from_name(metric, &ret->metric))
        return err_set(err, ERR_FORMAT, "metric: there is no board of this name");
    if (context && (!num_parse_size(context, &ret->context_tokens) || ret->context_tokens < 0))
        return err_set(err, ERR_FORMAT, "context: a number of tokens is expected, as 16384 or 16k");
    if (level) {
        if (!num_parse_i64(level, &n) || n < 1 || n > 100000)
            return err_set(err, ERR_FORMAT, "concurrency: a whole number from 1 on is expected");
        ret->concurrency = store_metric_has_concurrency(ret->metric) ? (int)n : 0;
    }
    return true;
}

/* ---- pages ----------------------------------------------------------------------------------- */

void serve_root(struct visit *v)
{
    v->response->cache = CACHE_NEVER;
    visit_redirect(v, "/", NULL);
}

static bool get_best(struct visit *v, enum store_metric m, struct store_board_rows *ret)
{
    const struct store_board board = {.metric = m, .context_tokens = -1};
    const struct store_page page = {.limit = HOME_BEST};
    return store_board(v->store, &board, &page, &v->arena, ret, &v->err);
}

void serve_home(struct visit *v)
{
    struct home_page p = {0};
    const struct store_filter all = {0};
    const struct store_page page = {.limit = HOME_RUNS};
    struct frame f;
    if (!store_counts(v->store, &p.counts, &v->err) ||
        !store_runs(v->store, &all, STORE_RUNS_NEWEST, &page, true, &v->arena, &p.newest,
                    &v->err) ||
        !get_best(v, STORE_SINGLE, &p.best[0]) || !get_best(v, STORE_TOTAL, &p.best[1]) ||
        !get_best(v, STORE_PREFILL, &p.best[2])) {
        visit_fail_err(v, &v->err);
        return;
    }
    visit_frame(v, &f);
    page_home_write(&f, &p);
    frame_release(&f);
}

const char *serve_origin(struct visit *v)
{
    const char *host = v->request->header[HEADER_HOST];
    return arena_printf(&v->arena, "%s://%s", v->request->secure ? "https" : "http",
                        host && *host ? host : "localhost");
}

void serve_start(struct visit *v)
{
    struct frame f;
    visit_frame(v, &f);
    page_start_write(&f, serve_origin(v));
    frame_release(&f);
}

void serve_board(struct visit *v)
{
    struct board_page p = {.first_rank = 1};
    struct store_page page;
    struct frame f;
    visit_page(v, &page);
    if (page.after && (!params_int(&v->request->query, "rank", &p.first_rank) || p.first_rank < 1 ||
                       p.first_rank > 100000000))
        p.first_rank = 1;
    if (!serve_board_of(v, &p.board, &v->err) ||
        !store_board(v->store, &p.board, &page, &v->arena, &p.rows, &v->err) ||
        !store_board_points(v->store, p.board.metric, &v->arena, &p.points, &v->err) ||
        !store_engines(v->store, &v->arena, &p.engines, &v->err) ||
        !store_quantizations(v->store, &v->arena, &p.quants, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    visit_frame(v, &f);
    page_board_write(&f, &p);
    frame_release(&f);
}

void serve_runs(struct visit *v)
{
    struct runs_page p = {0};
    struct store_filter filter;
    struct store_page page;
    struct frame f;
    const char *order = visit_query(v, "order");
    serve_filter(v, &filter);
    visit_page(v, &page);
    if (page.limit == 0)
        page.limit = RUNS_PAGE;
    p.filter = &filter;
    if (!store_runs(v->store, &filter,
                    order && strcmp(order, "fastest") == 0 ? STORE_RUNS_FASTEST : STORE_RUNS_NEWEST,
                    &page, true, &v->arena, &p.runs, &v->err) ||
        !store_engines(v->store, &v->arena, &p.engines, &v->err) ||
        !store_quantizations(v->store, &v->arena, &p.quants, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    visit_frame(v, &f);
    page_runs_write(&f, &p);
    frame_release(&f);
}

void serve_search(struct visit *v)
{
    struct search_page p = {.query = params_get(&v->request->query, "q")};
    struct frame f;
    if (strlen(p.query) > STORE_QUERY_MAX) {
        visit_fail(v, 400, "invalid", site_word(v->lang, SITE_SEARCH_LONG), "q");
        return;
    }
    if (*p.query && !store_search(v->store, p.query, FOUND_EACH, &v->arena, &p.found, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    visit_frame(v, &f);
    page_search_write(&f, &p);
    frame_release(&f);
}

/* ---- files ----------------------------------------------------------------------------------- */

void serve_asset(struct visit *v)
{
    const struct asset_file *file = site_assets_find(v->assets, v->match.args[0]);
    if (!file) {
        visit_fail(v, 404, "not_found", site_word(v->lang, SITE_ERROR_NOT_FOUND), NULL);
        return;
    }
    v->response->type = file->type;
    v->response->cache = CACHE_FOREVER;
    buf_add(&v->response->body, file->text, file->size);
}

void serve_robots(struct visit *v)
{
    v->response->type = "text/plain; charset=utf-8";
    buf_adds(&v->response->body, "User-agent: *\nDisallow: /en/compare\nDisallow: /zh/compare\n"
                                 "Disallow: /en/search\nDisallow: /zh/search\n");
}
