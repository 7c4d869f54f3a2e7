/* serve_api_groups.c - the API's models, organizations, hardware and users. */
#include "site/api_call.h"
#include "site/api_objects.h"
#include "site/serve.h"

/* ---- models ---------------------------------------------------------------------------------- */

void serve_api_models(struct visit *v)
{
    struct store_models models;
    struct store_page page;
    visit_page(v, &page);
    if (!store_bases(v->store, visit_query(v, "organization"), serve_group_order(v), &page,
                     &v->arena, &models, &v->err))
        visit_fail_err(v, &v->err);
    else
        api_answer(v, 200, &api_models, &models);
}

static bool rank_base(struct visit *v, const char *base, enum store_metric metric,
                      struct api_ranked_rows *ret)
{
    struct store_board_rows rows;
    if (!store_board_of_base(v->store, base, metric, &v->arena, &rows, &v->err))
        return false;
    api_rank(&rows, metric, &v->arena, ret);
    return true;
}

void serve_api_model(struct visit *v)
{
    struct api_model_detail d = {0};
    if (!store_base_get(v->store, visit_name(v), &v->arena, &d.base, &v->err) ||
        !store_base_models(v->store, d.base.name, &v->arena, &d.variants, &v->err) ||
        !rank_base(v, d.base.name, STORE_SINGLE, &d.single) ||
        !rank_base(v, d.base.name, STORE_TOTAL, &d.total) ||
        !rank_base(v, d.base.name, STORE_PREFILL, &d.prefill))
        visit_fail_err(v, &v->err);
    else
        api_answer(v, 200, &api_model_all, &d);
}

/* ---- organizations --------------------------------------------------------------------------- */

void serve_api_organizations(struct visit *v)
{
    struct store_organizations rows;
    struct store_page page;
    visit_page(v, &page);
    if (!store_organizations(v->store, serve_group_order(v), &page, &v->arena, &rows, &v->err))
        visit_fail_err(v, &v->err);
    else
        api_answer(v, 200, &api_organizations, &rows);
}

void serve_api_organization(struct visit *v)
{
    struct api_organization_detail d = {0};
    const struct store_page page = {.limit = STORE_PAGE_MAX};
    if (!store_organization_get(v->store, v->match.args[0], &v->arena, &d.organization, &v->err) ||
        !store_bases(v->store, d.organization.name, STORE_BY_RUNS, &page, &v->arena, &d.models,
                     &v->err))
        visit_fail_err(v, &v->err);
    else
        api_answer(v, 200, &api_organization_all, &d);
}

/* ---- hardware -------------------------------------------------------------------------------- */

void serve_api_hardwares(struct visit *v)
{
    struct store_hardwares rows;
    struct store_page page;
    visit_page(v, &page);
    if (!store_hardwares(v->store, visit_query(v, "class"), visit_query(v, "card"),
                         serve_group_order(v), &page, &v->arena, &rows, &v->err))
        visit_fail_err(v, &v->err);
    else
        api_answer(v, 200, &api_hardwares, &rows);
}

static bool rank_hardware(struct visit *v, const char *slug, enum store_metric metric,
                          struct api_ranked_rows *ret)
{
    struct store_board_rows rows;
    if (!store_board_of_hardware(v->store, slug, metric, &v->arena, &rows, &v->err))
        return false;
    api_rank(&rows, metric, &v->arena, ret);
    return true;
}

void serve_api_hardware(struct visit *v)
{
    struct api_hardware_detail d = {0};
    const struct store_page page = {.limit = STORE_PAGE_MAX};
    if (!store_hardware_get(v->store, v->match.args[0], &v->arena, &d.hardware, &v->err) ||
        !store_hardwares(v->store, NULL, d.hardware.card, STORE_BY_NAME, &page, &v->arena,
                         &d.others, &v->err) ||
        !rank_hardware(v, d.hardware.slug, STORE_SINGLE, &d.single) ||
        !rank_hardware(v, d.hardware.slug, STORE_TOTAL, &d.total))
        visit_fail_err(v, &v->err);
    else
        api_answer(v, 200, &api_hardware_all, &d);
}

/* ---- users ----------------------------------------------------------------------------------- */

void serve_api_user_by_name(struct visit *v)
{
    struct store_user user;
    if (!store_user_by_name(v->store, v->match.args[0], &v->arena, &user, &v->err))
        visit_fail_err(v, &v->err);
    else
        api_answer(v, 200, &api_user, &user);
}
