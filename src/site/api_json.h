/* api_json.h - what the store gives as the API's JSON. Pure; the caller owns what is returned.
 *
 * Figures that do not exist are null, times are UTC text. */
#ifndef TOKGRID_SITE_API_JSON_H
#define TOKGRID_SITE_API_JSON_H

#include <jansson.h>

#include "site/publish.h"
#include "store/store.h"

json_t *api_number(double v);      /* NAN: null */
json_t *api_text(const char *s);   /* NULL: null; always valid UTF-8 */
json_t *api_time(int64_t unix_ms); /* 0: null */

json_t *api_run(const struct store_run *run);
json_t *api_model(const struct store_model *m);
json_t *api_board_row(const struct store_board *board, const struct store_board_row *row);
json_t *api_user(const struct store_user *u);
json_t *api_key(const struct store_key *k);
json_t *api_flags(const struct publication *p);

/* {"<name>": rows, "next": cursor or null}; takes rows. */
json_t *api_list(const char *name, json_t *rows, const char *next);

#endif
