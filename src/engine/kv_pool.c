/* kv_pool.c - blocks as an array; lists and hash buckets are threaded through it by index. */
#include "engine/kv_pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rand.h"

void kv_pool_init(struct kv_pool *p, int32_t blocks, bool caching)
{
    size_t buckets = 1;

    assert(blocks >= 1 && blocks <= KV_POOL_MAX_BLOCKS);
    while (buckets < (size_t)blocks)
        buckets *= 2;
    *p = (struct kv_pool){
        .blocks = mem_array((size_t)blocks, sizeof *p->blocks),
        .total = blocks,
        .free_first = KV_NONE,
        .lru_first = KV_NONE,
        .lru_last = KV_NONE,
        .buckets = mem_array(buckets, sizeof *p->buckets),
        .bucket_mask = buckets - 1,
        .caching = caching,
    };
}

void kv_pool_release(struct kv_pool *p)
{
    free(p->blocks);
    free(p->buckets);
    *p = (struct kv_pool){0};
}

int32_t kv_pool_available(const struct kv_pool *p)
{
    return p->total - p->used;
}

/* --- the cached blocks, in the order in which they were dropped --- */

static void lru_append(struct kv_pool *p, int32_t block)
{
    struct kv_block *b = &p->blocks[block];

    b->prev = p->lru_last;
    b->next = KV_NONE;
    if (p->lru_last == KV_NONE)
        p->lru_first = block;
    else
        p->blocks[p->lru_last].next = block;
    p->lru_last = block;
    p->cached++;
}

static void lru_remove(struct kv_pool *p, int32_t block)
{
    const struct kv_block *b = &p->blocks[block];

    if (b->prev == KV_NONE)
        p->lru_first = b->next;
    else
        p->blocks[b->prev].next = b->next;
    if (b->next == KV_NONE)
        p->lru_last = b->prev;
    else
        p->blocks[b->next].prev = b->prev;
    p->cached--;
}

static void free_push(struct kv_pool *p, int32_t block)
{
    p->blocks[block].next = p->free_first;
    p->free_first = block;
}

/* --- hashes --- */

static int32_t *bucket_of(const struct kv_pool *p, uint64_t hash)
{
    return &p->buckets[hash & p->bucket_mask];
}

int32_t kv_pool_find(const struct kv_pool *p, uint64_t hash)
{
    int32_t block = *bucket_of(p, hash) - 1;

    while (block != KV_NONE && p->blocks[block].hash != hash)
        block = p->blocks[block].bucket_next;
    return block;
}

bool kv_pool_publish(struct kv_pool *p, int32_t block, uint64_t hash)
{
    struct kv_block *b = &p->blocks[block];

    assert(b->refs > 0);
    if (!p->caching || b->hashed || kv_pool_find(p, hash) != KV_NONE)
        return false;
    int32_t *bucket = bucket_of(p, hash);
    b->hash = hash;
    b->hashed = true;
    b->bucket_next = *bucket - 1;
    *bucket = block + 1;
    return true;
}

static void unpublish(struct kv_pool *p, int32_t block)
{
    struct kv_block *b = &p->blocks[block];
    int32_t *bucket = bucket_of(p, b->hash);

    if (*bucket - 1 == block) {
        *bucket = b->bucket_next + 1;
    } else {
        int32_t before = *bucket - 1;
        while (p->blocks[before].bucket_next != block)
            before = p->blocks[before].bucket_next;
        p->blocks[before].bucket_next = b->bucket_next;
    }
    b->hashed = false;
}

/* --- taking and giving back --- */

int32_t kv_pool_take(struct kv_pool *p)
{
    int32_t block = p->free_first;

    if (block != KV_NONE) {
        p->free_first = p->blocks[block].next;
    } else if (p->touched < p->total) {
        block = p->touched++;
    } else if (p->lru_first != KV_NONE) {
        block = p->lru_first;
        lru_remove(p, block);
        unpublish(p, block);
    } else {
        return KV_NONE;
    }
    p->blocks[block].refs = 1;
    p->used++;
    return block;
}

void kv_pool_hold(struct kv_pool *p, int32_t block)
{
    struct kv_block *b = &p->blocks[block];

    if (b->refs++ > 0)
        return;
    assert(b->hashed); /* free blocks are taken, not held */
    lru_remove(p, block);
    p->used++;
}

void kv_pool_drop(struct kv_pool *p, int32_t block)
{
    struct kv_block *b = &p->blocks[block];

    assert(b->refs > 0);
    if (--b->refs > 0)
        return;
    p->used--;
    if (b->hashed)
        lru_append(p, block);
    else
        free_push(p, block);
}

void kv_pool_flush(struct kv_pool *p)
{
    while (p->lru_first != KV_NONE) {
        int32_t block = p->lru_first;
        lru_remove(p, block);
        free_push(p, block);
    }
    for (int32_t i = 0; i < p->touched; i++)
        p->blocks[i].hashed = false;
    memset(p->buckets, 0, (p->bucket_mask + 1) * sizeof *p->buckets);
}

void kv_hash_prompt(uint64_t seed, const uint64_t *tokens, int64_t count, int block_size,
                    uint64_t *ret)
{
    uint64_t chain = seed;

    for (int64_t block = 0; block < count / block_size; block++) {
        for (int i = 0; i < block_size; i++)
            chain = rng_mix(chain, *tokens++);
        ret[block] = chain;
    }
}
