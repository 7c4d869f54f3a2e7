/* openapi.h - the API's own description, OpenAPI 3.1, made of the routes and their rows.
 *
 * Nothing of it is written by hand: paths and methods are the routes', parameters the rows that
 * requests are held against, answers the tables that write them, and the run's document is
 * schema/tokgrid-run-1.schema.json with its definitions among the components. */
#ifndef TOKGRID_SITE_OPENAPI_H
#define TOKGRID_SITE_OPENAPI_H

#include <jansson.h>

json_t *openapi_document(void); /* the caller owns it */

#endif
