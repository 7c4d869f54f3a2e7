/* page_cache.h - pages that everybody gets alike, kept until what they show has changed.
 *
 * A page is kept under its address with the store's version at the time (store_version), and is
 * given out only while that version stays: nothing is ever shown that is out of date. Bounded in
 * pages and bytes. All calls are thread-safe. */
#ifndef TOKGRID_SITE_PAGE_CACHE_H
#define TOKGRID_SITE_PAGE_CACHE_H

#include <stdint.h>

#include "site/kept_page.h"

struct page_cache;

struct page_cache *page_cache_new(size_t max_pages, size_t max_bytes);
void page_cache_free(struct page_cache *c); /* NULL is fine */

/* What is kept under this address in this version, held for the caller; NULL: nothing is. */
struct kept_page *page_cache_get(struct page_cache *c, const char *key, int64_t version);

/* Keep an answer, which is a 200: the cache holds it too. */
void page_cache_put(struct page_cache *c, const char *key, int64_t version, struct kept_page *page);

#endif
