/* site_pages.h - the pages of the site: what each shows, and the pure function that writes it.
 *
 * Each takes a frame that was begun by nobody yet and writes the whole document. What a struct
 * points to is borrowed. */
#ifndef TOKGRID_SITE_SITE_PAGES_H
#define TOKGRID_SITE_SITE_PAGES_H

#include "model/calculator.h"
#include "model/result.h"
#include "report/compare.h"
#include "site/frame.h"
#include "store/store.h"

/* ---- page_parts of the site: page_runs.c ----------------------------------------------------- */

/* One run as a card: title, engine, who and when, its best figures, a small heat table. `cells`
 * may be NULL. `owner`: with its state. */
void put_run_card(struct frame *f, const struct store_run *run, const struct store_cells *cells);

/* Its kind, whether it is verified, and its state when that is not public. */
void put_run_badges(struct frame *f, const struct store_run *run);

/* The mark of a flagged run, wherever one of its figures stands; nothing for others. */
void put_flag_mark(struct frame *f, const struct store_run *run);

/* What narrows a list, as a form of selects. */
struct filter_form {
    const char *path;                             /* of the page: "/runs" */
    const struct store_choices *engines, *quants; /* NULL: not asked for */
    const struct store_points *points;
    bool with_kind, with_verified, with_class, with_concurrency;
    bool simulated_apart; /* they are not among all kinds */
};
void put_filter_form(struct frame *f, const struct filter_form *form);

/* ---- pages ----------------------------------------------------------------------------------- */

void page_error_write(struct frame *f, int status, const char *text);

struct home_page {
    struct store_counts counts;
    struct store_runs newest;
    struct store_board_rows best[3]; /* single, total, prefill */
};
void page_home_write(struct frame *f, const struct home_page *p);
void page_start_write(struct frame *f, const char *origin); /* get started */
void page_api_write(struct frame *f, const char *origin);   /* every call of the API */

struct board_page {
    struct store_board board;
    struct store_board_rows rows;
    struct store_points points;
    struct store_choices engines, quants;
    int64_t first_rank;
};
void page_board_write(struct frame *f, const struct board_page *p);

struct runs_page {
    struct store_runs runs;
    struct store_choices engines, quants;
    const struct store_filter *filter;
};
void page_runs_write(struct frame *f, const struct runs_page *p);

struct run_page {
    struct store_run run;
    const char *origin; /* "https://host": of this site, for what is embedded elsewhere */
    const struct result *result;
    struct store_flags flags;
    struct store_revisions history;
    bool own;
    bool reported;           /* just now, by this visitor */
    const char *bound_query; /* the calculator with this run's values; NULL: not known */
};
bool page_run_write(struct frame *f, const struct run_page *p);

struct compare_page {
    struct store_run runs[COMPARE_MAX];
    struct result results[COMPARE_MAX]; /* the first is the base */
    size_t count;
    const char *view;          /* id of a view: "total" */
    struct store_runs choices; /* when less than two were chosen */
};
void page_compare_write(struct frame *f, const struct compare_page *p);

struct models_page {
    struct store_models bases;
    enum store_group_order order;
};
void page_models_write(struct frame *f, const struct models_page *p);

struct model_page {
    struct store_model base;
    const char *asked; /* the name in the address: one of its members, or the base */
    struct store_models members;
    struct store_board_rows best[3]; /* per hardware: single, total, prefill */
    struct store_runs runs;
};
void page_model_write(struct frame *f, const struct model_page *p);

struct organizations_page {
    struct store_organizations rows;
    enum store_group_order order;
};
void page_organizations_write(struct frame *f, const struct organizations_page *p);

struct organization_page {
    struct store_organization organization;
    struct store_models bases;
    struct store_runs runs;
};
void page_organization_write(struct frame *f, const struct organization_page *p);

struct hardwares_page {
    struct store_hardwares rows;
    enum store_group_order order;
};
void page_hardwares_write(struct frame *f, const struct hardwares_page *p);

struct hardware_page {
    struct store_hardware hardware;
    struct store_hardwares others;   /* the same card in other numbers */
    struct store_board_rows best[2]; /* per model: single, total */
    struct store_runs runs;          /* with launch commands */
};
void page_hardware_write(struct frame *f, const struct hardware_page *p);

struct search_page {
    const char *query;
    struct store_founds found;
};
void page_search_write(struct frame *f, const struct search_page *p);

struct user_page {
    struct store_user user;
    struct store_runs runs;
};
void page_user_write(struct frame *f, const struct user_page *p);

/* Sign-in and sign-up: `user` is what was typed before, when it did not work; `next` the path to go
 * on with, "" for the dashboard. */
void page_sign_in_write(struct frame *f, const char *user, const char *next);
void page_sign_up_write(struct frame *f, const char *user, const char *next);

/* Saved setups: page_setups.c. The body that the store keeps is a JSON object of these texts. */
enum { SETUP_FIELDS = 6 };
struct setup_field {
    const char *name;
    enum site_word word;
};
extern const struct setup_field setup_fields[SETUP_FIELDS];
void put_setups(struct frame *f, const struct store_setups *setups);

/* Moderation: page_admin.c. */
void put_decision_form(struct frame *f, const struct store_run *run, bool on_its_page);
/* Each flag with the cell it is about. `result` may be NULL: with it, figures are told in the
 * page's language. */
void put_flags(struct frame *f, const struct store_flags *flags, const char *uid,
               const struct result *result);

struct admin_page {
    struct store_queue queue;
    struct {
        struct store_flags flags;
        struct store_reports reports;
    } * parts; /* one for each row */
};
void page_admin_write(struct frame *f, const struct admin_page *p);

struct admin_users_page {
    const char *prefix; /* NULL: all */
    struct store_users users;
};
void page_admin_users_write(struct frame *f, const struct admin_users_page *p);

struct admin_audit_page {
    struct store_audit_filter filter;
    struct store_audit log;
};
void page_admin_audit_write(struct frame *f, const struct admin_audit_page *p);

struct dashboard_page {
    struct store_keys keys;
    struct store_runs runs;
    struct store_setups setups;
    const char *new_key;   /* shown this once; NULL */
    bool password_changed; /* just now */
};
void page_dashboard_write(struct frame *f, const struct dashboard_page *p);

struct device_page {
    const char *code;                  /* typed; "" */
    const struct store_device *device; /* what it belongs to; NULL: not known yet */
};
void page_device_write(struct frame *f, const struct device_page *p);

struct predict_page {
    struct calculator calculator;
    struct calculator_answer answer;
    struct calculator_answer plain; /* without any correction */
    const char *problem;            /* with the inputs; then there is no answer */
    struct store_runs choices;
    const struct result *measured; /* laid over; NULL */
    const char *measured_uid;
};
void page_predict_write(struct frame *f, const struct predict_page *p);

#endif
