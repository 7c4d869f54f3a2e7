/* kv_pool.h - the KV cache of an emulated engine: blocks of tokens, counted and never stored.
 *
 * A block is a number, 0 .. total - 1. It is in exactly one of three states:
 *   used    held by at least one sequence (`refs`)
 *   cached  held by nobody, but its content is known by a hash and may be found again
 *   free    held by nobody and worth nothing
 * A block is taken from the free ones first, then from the cached ones, the longest unheld first
 * (LRU). A sequence drops its last block first, so that of one prompt the end is evicted before the
 * beginning, without which the rest is of no use.
 *
 * A hash names a block's tokens and all tokens before them (kv_hash_prompt chains them), so one
 * block found is a whole prefix known. Of two blocks with the same content only the first is in the
 * cache; the other is private to its sequence.
 *
 * Every operation is O(1) but kv_pool_flush. Nothing is allocated after init, and memory is touched
 * only as blocks are first used. One thread. */
#ifndef TOKGRID_ENGINE_KV_POOL_H
#define TOKGRID_ENGINE_KV_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KV_POOL_MAX_BLOCKS = 1 << 24 };

enum { KV_NONE = -1 }; /* no block */

struct kv_block {
    uint64_t hash;       /* what it holds, while `hashed` */
    int32_t refs;        /* sequences that hold it */
    int32_t prev, next;  /* in the list of cached blocks; free ones use `next` only */
    int32_t bucket_next; /* among the hashed blocks of a bucket */
    bool hashed;
};

struct kv_pool {
    struct kv_block *blocks;
    int32_t total, used, cached; /* total = used + cached + free */
    int32_t touched;             /* blocks from here on were never used; they count as free */
    int32_t free_first;          /* of those given back */
    int32_t lru_first, lru_last; /* cached blocks, the longest unheld first */
    int32_t *buckets;            /* first block + 1, 0: none */
    uint64_t bucket_mask;
    bool caching;
};

/* Life cycle. 1 <= blocks <= KV_POOL_MAX_BLOCKS. Without `caching` nothing is ever found. */
void kv_pool_init(struct kv_pool *p, int32_t blocks, bool caching);
void kv_pool_release(struct kv_pool *p);

/* How many can be taken now: free and cached. */
int32_t kv_pool_available(const struct kv_pool *p);

/* A block, held once by the caller. KV_NONE when every block is used. */
int32_t kv_pool_take(struct kv_pool *p);

/* The block whose content has this hash, or KV_NONE. The caller holds it only after kv_pool_hold.
 */
int32_t kv_pool_find(const struct kv_pool *p, uint64_t hash);

void kv_pool_hold(struct kv_pool *p, int32_t block); /* one more holder */
void kv_pool_drop(struct kv_pool *p, int32_t block); /* one less */

/* A used block is full, and this is what it holds: others may find it. Returns false when it stays
 * private, because the same content is in the cache already or because there is none. */
bool kv_pool_publish(struct kv_pool *p, int32_t block, uint64_t hash);

/* Forget every hash: cached blocks become free, used ones private. */
void kv_pool_flush(struct kv_pool *p);

/* The hashes of the full blocks of a prompt, count / block_size of them, into ret. */
void kv_hash_prompt(uint64_t seed, const uint64_t *tokens, int64_t count, int block_size,
                    uint64_t *ret);

#endif
