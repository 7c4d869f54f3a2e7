/* serve.h - the handlers of the routes: each asks the store and lets a pure function write. */
#ifndef TOKGRID_SITE_SERVE_H
#define TOKGRID_SITE_SERVE_H

#include "site/visit.h"

/* serve_lists.c */
void serve_root(struct visit *v); /* to the language a browser prefers */
void serve_home(struct visit *v);
void serve_start(struct visit *v);
void serve_board(struct visit *v);
void serve_runs(struct visit *v);
void serve_search(struct visit *v);
void serve_asset(struct visit *v);
void serve_robots(struct visit *v);

/* serve_groups.c */
void serve_models(struct visit *v);
void serve_model(struct visit *v);
void serve_organizations(struct visit *v);
void serve_organization(struct visit *v);
void serve_hardwares(struct visit *v);
void serve_hardware(struct visit *v);
void serve_user(struct visit *v);

/* serve_run.c */
void serve_run(struct visit *v);
void serve_run_card(struct visit *v);
void serve_run_state(struct visit *v);
void serve_compare(struct visit *v);
void serve_calculator(struct visit *v);

/* serve_account.c */
void serve_sign_in(struct visit *v);
void serve_sign_in_form(struct visit *v);
void serve_sign_up(struct visit *v);
void serve_sign_up_form(struct visit *v);
void serve_sign_out(struct visit *v);
void serve_dashboard(struct visit *v);
void serve_upload(struct visit *v);
void serve_key_make(struct visit *v);
void serve_key_revoke(struct visit *v);
void serve_password(struct visit *v);
void serve_device(struct visit *v);
void serve_device_form(struct visit *v);

/* serve_setups.c */
void serve_setup_save(struct visit *v);
void serve_setup_change(struct visit *v); /* makes it the default, or deletes it */
void serve_run_setup(struct visit *v);    /* what a run was measured with, as a setup */

/* serve_report.c */
void serve_report_form(struct visit *v);
void serve_api_report(struct visit *v);

/* serve_admin.c */
void serve_admin(struct visit *v);
void serve_admin_run(struct visit *v);
void serve_admin_report(struct visit *v);
void serve_admin_users(struct visit *v);
void serve_admin_user(struct visit *v);
void serve_admin_audit(struct visit *v);

/* serve_api_runs.c */
void serve_api_run_create(struct visit *v);
void serve_api_runs(struct visit *v);
void serve_api_run(struct visit *v);
void serve_api_run_raw(struct visit *v);
void serve_api_run_revise(struct visit *v);
void serve_api_run_delete(struct visit *v);
void serve_api_revisions(struct visit *v);
void serve_api_revision_raw(struct visit *v);

/* serve_api_board.c */
void serve_api_board(struct visit *v);

/* serve_api_groups.c */
void serve_api_models(struct visit *v);
void serve_api_model(struct visit *v);
void serve_api_organizations(struct visit *v);
void serve_api_organization(struct visit *v);
void serve_api_hardwares(struct visit *v);
void serve_api_hardware(struct visit *v);
void serve_api_user_by_name(struct visit *v);

/* serve_api_tools.c */
void serve_api_search(struct visit *v);
void serve_api_calculator(struct visit *v);
void serve_api_openapi(struct visit *v);
void serve_api_agent(struct visit *v);
void serve_api_page(struct visit *v);

/* serve_api_account.c */
void serve_api_user(struct visit *v);
void serve_api_keys(struct visit *v);
void serve_api_key_create(struct visit *v);
void serve_api_key_delete(struct visit *v);
void serve_api_setups(struct visit *v);
void serve_api_setup_put(struct visit *v);
void serve_api_setup_delete(struct visit *v);
void serve_api_device_code(struct visit *v);
void serve_api_device_token(struct visit *v);

/* ---- shared by them -------------------------------------------------------------------------- */

/* What lists are narrowed to, from the query. */
void serve_filter(const struct visit *v, struct store_filter *ret);
enum store_group_order serve_group_order(const struct visit *v);
bool serve_board_of(const struct visit *v, struct store_board *ret, struct err *err);

/* A run that this visitor may see; else the answer is 404. */
bool serve_find_run(struct visit *v, const char *uid, struct store_run *ret);

/* Whether a setup holds a key or a password: it is refused then. */
bool serve_setup_has_secret(const json_t *settings);

/* The dashboard, with a new key to show or a problem; either may be NULL. */
void serve_show_dashboard(struct visit *v, const char *new_key, const char *problem, int status);

/* "https://host" as the visitor called this site. */
const char *serve_origin(struct visit *v);

/* A number in the path. */
bool serve_id(struct visit *v, const char *text, int64_t *ret);

#endif
