/* pool: device memory that is taken for a while and given back: a caching allocator, as PyTorch's. What is given back is kept for the next
 * user of the same size, and the ledger counts it as MEMORY_CACHED until then.
 *
 * Operations of a rank run in order, so memory may be given back as soon as the last operation that uses it is enqueued. */
#ifndef LOCKSTEP_POOL_H
#define LOCKSTEP_POOL_H

#include "base/ledger.h"

struct pool;

struct pool *pool_open(void);

/* Allocate `pieces` pieces of `bytes` each in advance, so that taking them allocates nothing. */
void pool_reserve(struct pool *pool, size_t bytes, int pieces);

/* Take memory for an owner. Its contents are those that the last user left. Give it back, with the same size; NULL is allowed. */
void *pool_take(struct pool *pool, size_t bytes, enum memory_owner owner);
void pool_give(struct pool *pool, size_t bytes, void *memory);

/* Free what was given back, which must be all. */
void pool_close(struct pool *pool);

#endif
