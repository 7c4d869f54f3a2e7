/* kept_page.c - bytes with a count of who still sends them. */
#include "site/kept_page.h"

#include <stdio.h>
#include <stdlib.h>

/* Without the room that was for growing: of what is kept, there is much. */
static struct buf take_bytes(struct buf *from)
{
    struct buf exact;
    buf_init(&exact, from->len);
    buf_add(&exact, from->p, from->len);
    buf_release(from);
    buf_init(from, RESPONSE_MAX_BODY);
    return exact;
}

void kept_page_take(struct response *r, const char *tag)
{
    struct kept_page *page = mem_alloc(sizeof *page);
    atomic_init(&page->holders, 1);
    page->type = r->type;
    page->cache = r->cache;
    page->body = take_bytes(&r->body);
    page->packed = take_bytes(&r->packed);
    snprintf(page->tag, sizeof page->tag, "%s", tag);
    r->kept = page;
}

struct kept_page *kept_page_hold(struct kept_page *page)
{
    atomic_fetch_add(&page->holders, 1);
    return page;
}

void kept_page_drop(struct kept_page *page)
{
    if (!page || atomic_fetch_sub(&page->holders, 1) > 1)
        return;
    buf_release(&page->body);
    buf_release(&page->packed);
    free(page);
}
