/* pages.c - a short list, searched from the front: a probe looks at a dozen pages. */
#include "load/pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"

enum { PAGE_MAX_BYTES = 8 << 20 };

struct pages {
    struct fetcher *fetcher;
    int64_t timeout_ns;
    struct page **list;
    size_t count, cap;
};

struct pages *pages_new(struct fetcher *fetcher, int64_t timeout_ns)
{
    struct pages *p = mem_alloc(sizeof *p);
    p->fetcher = fetcher;
    p->timeout_ns = timeout_ns;
    return p;
}

static void page_free(struct page *page)
{
    json_decref(page->json);
    free(page->body);
    free(page);
}

void pages_free(struct pages *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->count; i++)
        page_free(p->list[i]);
    free(p->list);
    free(p);
}

static struct page *fetch_page(struct pages *p, const char *path)
{
    struct page *page = mem_alloc(sizeof *page);
    struct fetch_reply reply = {0};

    buf_init(&reply.body, PAGE_MAX_BYTES);
    snprintf(page->path, sizeof page->path, "%s", path);
    if (fetch(p->fetcher, path, NULL, p->timeout_ns, &reply, &page->err)) {
        page->status = reply.status;
        snprintf(page->content_type, sizeof page->content_type, "%s", reply.content_type);
        snprintf(page->location, sizeof page->location, "%s", reply.location);
        snprintf(page->server, sizeof page->server, "%s", reply.server);
        snprintf(page->via, sizeof page->via, "%s", reply.via);
        snprintf(page->litellm, sizeof page->litellm, "%s", reply.litellm);
        snprintf(page->cf_ray, sizeof page->cf_ray, "%s", reply.cf_ray);
        page->len = reply.body.len;
        page->body = buf_detach(&reply.body);
        page->json = json_loadb(page->body, page->len, 0, NULL);
    } else {
        page->body = mem_strdup("");
        /* a server that leaves one page unanswered may leave all that it does not know */
        if (page->err.code == ERR_TIMEOUT && p->timeout_ns > NS_PER_S)
            p->timeout_ns = NS_PER_S;
    }
    buf_release(&reply.body);
    return page;
}

const struct page *pages_get(struct pages *p, const char *path)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->list[i]->path, path) == 0)
            return p->list[i];
    struct page *page = fetch_page(p, path);
    MEM_GROW(p->list, p->count, p->cap);
    p->list[p->count++] = page;
    return page;
}

void pages_forget(struct pages *p, const char *path)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->list[i]->path, path) == 0) {
            page_free(p->list[i]);
            p->list[i] = p->list[--p->count];
            return;
        }
}

void pages_forget_all(struct pages *p)
{
    for (size_t i = 0; i < p->count; i++)
        page_free(p->list[i]);
    p->count = 0;
}

json_t *pages_json(struct pages *p, const char *path)
{
    const struct page *page = pages_get(p, path);
    return page->status == 200 ? page->json : NULL;
}
