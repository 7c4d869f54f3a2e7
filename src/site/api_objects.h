/* api_objects.h - the objects that the API answers, and the structs behind those the store has not.
 *
 * Each is a table for api_schema.h. Lists of the store are written as they come from it: rows under
 * the name of what they hold, and "next", a cursor or null. */
#ifndef TOKGRID_SITE_API_OBJECTS_H
#define TOKGRID_SITE_API_OBJECTS_H

#include "site/api_schema.h"
#include "site/publish.h"
#include "store/store.h"

/* Of these structs, in their order: store_run, store_runs; api_stored, api_checked;
 * store_revisions. */
extern const struct api_object api_run, api_runs, api_run_stored, api_run_checked,
    api_run_revisions;
extern const struct api_object api_run_document; /* tokgrid-run/1, as it was published */

struct api_stored {
    struct store_run run;
    const char *url; /* of its page */
    const struct store_flag *flags;
    size_t flag_count;
};
struct api_checked {
    bool valid, dry_run;
    const struct store_flag *flags;
    size_t flag_count;
};

/* Of api_ranked_rows; store_models, api_model_detail; store_organizations,
 * api_organization_detail; store_hardware, store_hardwares, api_hardware_detail. */
extern const struct api_object api_board, api_models, api_model_all, api_organizations,
    api_organization_all, api_hardware, api_hardwares, api_hardware_all;

struct api_ranked { /* a row of a board, which knows what it is ranked by */
    enum store_metric metric;
    struct store_board_row row;
};
struct api_ranked_rows {
    struct api_ranked *v;
    size_t n;
    char next[STORE_CURSOR_MAX];
};
struct api_model_detail {
    struct store_model base;
    struct store_models variants;
    struct api_ranked_rows single, total, prefill;
};
struct api_organization_detail {
    struct store_organization organization;
    struct store_models models;
};
struct api_hardware_detail {
    struct store_hardware hardware;
    struct store_hardwares others;
    struct api_ranked_rows single, total;
};

/* Its rows with the metric they are ranked by; in the arena. */
void api_rank(const struct store_board_rows *rows, enum store_metric metric, struct arena *a,
              struct api_ranked_rows *ret);

extern const struct api_object api_found_rows; /* of struct api_founds */
struct api_found {
    int kind; /* enum store_found_kind */
    const char *key, *title;
    const char *url; /* of the call that tells more; runs and users have one each */
};
struct api_founds {
    struct api_found *v;
    size_t n;
};

/* Of store_user, store_key, store_keys, api_secret, api_device, store_setup, store_setups,
 * api_report. */
extern const struct api_object api_user, api_key, api_keys, api_new_key, api_device_code, api_setup,
    api_setups, api_report;

struct api_report {
    const char *run, *reason, *text;
};
struct api_secret {
    const char *key;
};
struct api_device {
    const char *device_code, *user_code, *verification_uri;
    int expires_in, interval; /* seconds */
};

extern const struct api_object api_error; /* of struct api_failure */
struct api_failure {
    struct api_fault {
        const char *code, *message;
        const char *field; /* of the request; NULL: none */
        const char *id;    /* of the run that is in the way; NULL: none */
    } error;
};

/* What calculator_write_json writes; only a schema, nothing is written by it. */
extern const struct api_object api_calculation;
extern const struct api_object api_openapi; /* OpenAPI 3.1 */

/* Names that parameters take, too. */
extern const char *const api_class_names[], *const api_kind_names[];
const char *api_metric_name(int i); /* NULL: there are no more */

#endif
