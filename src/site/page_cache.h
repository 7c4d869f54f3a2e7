/* page_cache.h - pages that everybody gets alike, kept until what they show has changed.
 *
 * A page is kept under its address with the store's version at the time (store_version), and is
 * given out only while that version stays: nothing is ever shown that is out of date. Bounded in
 * pages and bytes. All calls are thread-safe. */
#ifndef TOKGRID_SITE_PAGE_CACHE_H
#define TOKGRID_SITE_PAGE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "site/web_response.h"

struct page_cache;

struct page_cache *page_cache_new(size_t max_pages, size_t max_bytes);
void page_cache_free(struct page_cache *c); /* NULL is fine */

/* Fill `to` with what is kept under this address in this version; false: nothing is. */
bool page_cache_get(struct page_cache *c, const char *key, int64_t version, struct response *to);

/* Keep a copy of an answer, which is a 200. */
void page_cache_put(struct page_cache *c, const char *key, int64_t version,
                    const struct response *from);

#endif
