/* site_assets.c - parts joined to files, and named by what is in them. */
#include "site/site_assets.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

static const char icon[] =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 32 32\">"
    "<rect width=\"32\" height=\"32\" rx=\"7\" fill=\"#0b6f8e\"/>"
    "<g fill=\"#d3e7b0\"><rect x=\"6\" y=\"6\" width=\"6\" height=\"6\" rx=\"1.5\"/>"
    "<rect x=\"13\" y=\"6\" width=\"6\" height=\"6\" rx=\"1.5\" fill=\"#a3d69b\"/>"
    "<rect x=\"20\" y=\"6\" width=\"6\" height=\"6\" rx=\"1.5\" fill=\"#66c397\"/>"
    "<rect x=\"6\" y=\"13\" width=\"6\" height=\"6\" rx=\"1.5\" fill=\"#a3d69b\"/>"
    "<rect x=\"13\" y=\"13\" width=\"6\" height=\"6\" rx=\"1.5\" fill=\"#66c397\"/>"
    "<rect x=\"20\" y=\"13\" width=\"6\" height=\"6\" rx=\"1.5\" fill=\"#1fb09b\"/>"
    "<rect x=\"6\" y=\"20\" width=\"6\" height=\"6\" rx=\"1.5\" fill=\"#66c397\"/>"
    "<rect x=\"13\" y=\"20\" width=\"6\" height=\"6\" rx=\"1.5\" fill=\"#1fb09b\"/></g></svg>\n";

static void make(struct asset_file *f, const char *name, const char *ending, const char *type,
                 const char *const parts[])
{
    unsigned char digest[16];
    char hex[33];
    struct buf text;
    buf_init(&text, 1 << 20);
    for (size_t i = 0; parts[i]; i++)
        buf_adds(&text, parts[i]);
    f->type = type;
    f->size = text.len;
    crypto_generichash(digest, sizeof digest, (const unsigned char *)text.p, text.len, NULL, 0);
    sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
    snprintf(f->name, sizeof f->name, "%s-%.16s.%s", name, hex, ending);
    f->text = buf_detach(&text);
}

void site_assets_init(struct site_assets *a)
{
    const char *const style[] = {page_style.text, site_style.text, NULL};
    const char *const script[] = {page_script.text, NULL};
    const char *const icons[] = {icon, NULL};
    make(&a->v[ASSET_STYLE], "site", "css", "text/css; charset=utf-8", style);
    make(&a->v[ASSET_SCRIPT], "page", "js", "text/javascript; charset=utf-8", script);
    make(&a->v[ASSET_ICON], "icon", "svg", "image/svg+xml", icons);
}

void site_assets_release(struct site_assets *a)
{
    for (size_t i = 0; i < ASSET_COUNT; i++)
        free(a->v[i].text);
}

const struct asset_file *site_assets_find(const struct site_assets *a, const char *name)
{
    for (size_t i = 0; i < ASSET_COUNT; i++)
        if (strcmp(a->v[i].name, name) == 0)
            return &a->v[i];
    return NULL;
}
