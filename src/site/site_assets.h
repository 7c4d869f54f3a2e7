/* site_assets.h - the files that pages bring along, kept in the program, by their names in URLs.
 *
 * A name holds a digest of the bytes, so that browsers may keep a file for ever. */
#ifndef TOKGRID_SITE_SITE_ASSETS_H
#define TOKGRID_SITE_SITE_ASSETS_H

#include <stddef.h>

#include "report/assets.h"

extern const struct asset site_style; /* page/site.css: what the matrix page does not have */

struct asset_file {
    const char *type;
    char name[48]; /* "site-1f2e3d4c5b6a7988.css" */
    char *text;    /* NUL-ended */
    size_t size;
};

enum asset_id { ASSET_STYLE, ASSET_SCRIPT, ASSET_ICON, ASSET_COUNT };

/* Made once, before threads start. */
struct site_assets {
    struct asset_file v[ASSET_COUNT];
};
void site_assets_init(struct site_assets *a);
void site_assets_release(struct site_assets *a);

const struct asset_file *site_assets_find(const struct site_assets *a, const char *name);

#endif
