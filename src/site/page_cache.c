/* page_cache.c - slots by the hash of the address, each with a page or none: another page that
 * falls into the same slot takes its place. */
#include "site/page_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct slot {
    char *key; /* NULL: empty */
    int64_t version;
    struct kept_page *page;
};

struct page_cache {
    pthread_mutex_t lock; /* of everything below */
    size_t slot_count, max_bytes, bytes;
    struct slot *slots;
};

struct page_cache *page_cache_new(size_t max_pages, size_t max_bytes)
{
    struct page_cache *c = mem_alloc(sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    c->slot_count = max_pages;
    c->max_bytes = max_bytes;
    c->slots = mem_array(max_pages, sizeof *c->slots);
    return c;
}

static size_t size_of(const char *key, const struct kept_page *page)
{
    return strlen(key) + page->body.len + page->packed.len;
}

static void empty(struct page_cache *c, struct slot *slot)
{
    if (!slot->key)
        return;
    c->bytes -= size_of(slot->key, slot->page);
    kept_page_drop(slot->page);
    free(slot->key);
    *slot = (struct slot){0};
}

void page_cache_free(struct page_cache *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->slot_count; i++)
        empty(c, &c->slots[i]);
    pthread_mutex_destroy(&c->lock);
    free(c->slots);
    free(c);
}

/* FNV-1a. Who finds addresses that fall together gains nothing but pages that are made anew. */
static struct slot *slot_of(struct page_cache *c, const char *key)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (; *key; key++)
        h = (h ^ (unsigned char)*key) * UINT64_C(1099511628211);
    return &c->slots[h % c->slot_count];
}

struct kept_page *page_cache_get(struct page_cache *c, const char *key, int64_t version)
{
    struct kept_page *page = NULL;
    pthread_mutex_lock(&c->lock);
    const struct slot *slot = slot_of(c, key);
    if (slot->key && slot->version == version && strcmp(slot->key, key) == 0)
        page = kept_page_hold(slot->page);
    pthread_mutex_unlock(&c->lock);
    return page;
}

void page_cache_put(struct page_cache *c, const char *key, int64_t version, struct kept_page *page)
{
    size_t size = size_of(key, page);
    if (size > c->max_bytes)
        return; /* the others may stay */
    pthread_mutex_lock(&c->lock);
    struct slot *slot = slot_of(c, key);
    empty(c, slot);
    if (c->bytes + size <= c->max_bytes) {
        *slot =
            (struct slot){.key = mem_strdup(key), .version = version, .page = kept_page_hold(page)};
        c->bytes += size;
    } else {
        /* Full, most likely of pages of older versions: they go, all at once. */
        for (size_t i = 0; i < c->slot_count; i++)
            empty(c, &c->slots[i]);
    }
    pthread_mutex_unlock(&c->lock);
}
