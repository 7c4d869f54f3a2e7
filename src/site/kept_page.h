/* kept_page.h - an answer that does not change any more: its bytes in both codings, and their tag.
 *
 * Any number of answers may send one at the same time, from any thread, without a copy: each holds
 * it until its last byte has gone, and who drops it last frees it. */
#ifndef TOKGRID_SITE_KEPT_PAGE_H
#define TOKGRID_SITE_KEPT_PAGE_H

#include <stdatomic.h>

#include "site/web_response.h"

enum { KEPT_TAG_MAX = 40 };

struct kept_page {
    atomic_int holders;
    const char *type; /* static */
    enum response_cache cache;
    struct buf body;
    struct buf packed; /* as gzip; empty when that is not worth it */
    char tag[KEPT_TAG_MAX];
};

/* Takes the response's bytes, which is then answered by the page; held by the response. */
void kept_page_take(struct response *r, const char *tag);

struct kept_page *kept_page_hold(struct kept_page *page); /* returns it */
void kept_page_drop(struct kept_page *page);              /* NULL is fine */

#endif
