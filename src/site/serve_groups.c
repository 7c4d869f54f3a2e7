/* serve_groups.c - models, organizations, hardware, users. */
#include <string.h>

#include "site/serve.h"
#include "site/site_pages.h"

enum { GROUP_RUNS = 24 };

enum store_group_order serve_group_order(const struct visit *v)
{
    static const struct {
        const char *name;
        enum store_group_order order;
    } rows[] = {{"name", STORE_BY_NAME}, {"newest", STORE_BY_NEWEST}, {"speed", STORE_BY_SPEED}};
    const char *asked = visit_query(v, "order");
    for (size_t i = 0; asked && i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].name, asked) == 0)
            return rows[i].order;
    return STORE_BY_RUNS;
}

static bool get_runs(struct visit *v, const struct store_filter *filter, struct store_runs *ret)
{
    struct store_page page;
    visit_page(v, &page);
    page.limit = GROUP_RUNS;
    return store_runs(v->store, filter, STORE_RUNS_FASTEST, &page, true, &v->arena, ret, &v->err);
}

void serve_models(struct visit *v)
{
    struct models_page p = {.order = serve_group_order(v)};
    struct store_page page;
    struct frame f;
    visit_page(v, &page);
    if (!store_bases(v->store, NULL, p.order, &page, &v->arena, &p.bases, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    visit_frame(v, &f);
    page_models_write(&f, &p);
    frame_release(&f);
}

void serve_model(struct visit *v)
{
    struct model_page p = {.asked = visit_name(v)};
    struct frame f;
    bool ok = store_base_get(v->store, p.asked, &v->arena, &p.base, &v->err);
    const struct store_filter filter = {.base = ok ? p.base.name : NULL};
    static const enum store_metric metrics[] = {STORE_SINGLE, STORE_TOTAL, STORE_PREFILL};
    ok = ok && store_base_models(v->store, p.base.name, &v->arena, &p.members, &v->err) &&
         get_runs(v, &filter, &p.runs);
    for (size_t i = 0; ok && i < ARRAY_LEN(metrics); i++)
        ok = store_board_of_base(v->store, p.base.name, metrics[i], &v->arena, &p.best[i], &v->err);
    if (!ok) {
        visit_fail_err(v, &v->err);
        return;
    }
    visit_frame(v, &f);
    page_model_write(&f, &p);
    frame_release(&f);
}

void serve_organizations(struct visit *v)
{
    struct organizations_page p = {.order = serve_group_order(v)};
    struct store_page page;
    struct frame f;
    visit_page(v, &page);
    if (!store_organizations(v->store, p.order, &page, &v->arena, &p.rows, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    visit_frame(v, &f);
    page_organizations_write(&f, &p);
    frame_release(&f);
}

void serve_organization(struct visit *v)
{
    struct organization_page p = {0};
    const struct store_page page = {.limit = STORE_PAGE_MAX};
    struct frame f;
    bool ok =
        store_organization_get(v->store, v->match.args[0], &v->arena, &p.organization, &v->err);
    const struct store_filter filter = {.organization = ok ? p.organization.name : NULL};
    if (!ok ||
        !store_bases(v->store, p.organization.name, STORE_BY_RUNS, &page, &v->arena, &p.bases,
                     &v->err) ||
        !get_runs(v, &filter, &p.runs)) {
        visit_fail_err(v, &v->err);
        return;
    }
    visit_frame(v, &f);
    page_organization_write(&f, &p);
    frame_release(&f);
}

void serve_hardwares(struct visit *v)
{
    struct hardwares_page p = {.order = serve_group_order(v)};
    struct store_page page;
    struct frame f;
    visit_page(v, &page);
    if (!store_hardwares(v->store, visit_query(v, "class"), visit_query(v, "card"), p.order, &page,
                         &v->arena, &p.rows, &v->err)) {
        visit_fail_err(v, &v->err);
        return;
    }
    visit_frame(v, &f);
    page_hardwares_write(&f, &p);
    frame_release(&f);
}

void serve_hardware(struct visit *v)
{
    struct hardware_page p = {0};
    const struct store_page page = {.limit = STORE_PAGE_MAX};
    struct frame f;
    bool ok = store_hardware_get(v->store, v->match.args[0], &v->arena, &p.hardware, &v->err);
    const struct store_filter filter = {.hardware = ok ? p.hardware.slug : NULL};
    if (!ok ||
        !store_hardwares(v->store, NULL, p.hardware.card, STORE_BY_NAME, &page, &v->arena,
                         &p.others, &v->err) ||
        !store_board_of_hardware(v->store, p.hardware.slug, STORE_SINGLE, &v->arena, &p.best[0],
                                 &v->err) ||
        !store_board_of_hardware(v->store, p.hardware.slug, STORE_TOTAL, &v->arena, &p.best[1],
                                 &v->err) ||
        !get_runs(v, &filter, &p.runs)) {
        visit_fail_err(v, &v->err);
        return;
    }
    visit_frame(v, &f);
    page_hardware_write(&f, &p);
    frame_release(&f);
}

void serve_user(struct visit *v)
{
    struct user_page p = {0};
    struct frame f;
    bool ok = store_user_by_name(v->store, v->match.args[0], &v->arena, &p.user, &v->err);
    const struct store_filter filter = {.user = ok ? p.user.name : NULL};
    if (!ok || !get_runs(v, &filter, &p.runs)) {
        visit_fail_err(v, &v->err);
        return;
    }
    visit_frame(v, &f);
    page_user_write(&f, &p);
    frame_release(&f);
}
