/* ladder: measures the speed of a way to load tokens, alone and as fast as it can. Batches are timed one by one; between them every
 * element of x and y is read and summed up, and each sum compared with what the shard holds. */
#ifndef LOCKSTEP_LADDER_H
#define LOCKSTEP_LADDER_H

#include "base/evidence.h"
#include "base/rss.h"
#include "feed/batch_source.h"
#include "feed/shard_map.h"

#include <stdint.h>

/* State of a shard's pages when the first batch is read. */
enum page_state {
    PAGES_WARM,    /* cached, and this process has mapped and read them before */
    PAGES_COLD,    /* cached, but new to this process: mapped ways pay minor page faults */
    PAGES_EVICTED, /* not cached: they come from the disk */
    PAGE_STATES
};

/* Their names: "warm", "cold", "evicted". */
extern const char *const page_states[PAGE_STATES];

enum { LADDER_SAMPLES = 16 };

/* A pass over the shards in one way: as many batches as one pass of rank 0 has. */
struct ladder_pass {
    uint64_t batches;
    double *seconds;         /* (batches) */
    uint64_t *sum;           /* (batches) of x and y */
    double total;            /* seconds of all batches */
    struct evidence kernel;  /* page faults */
    double first_disk_bytes; /* read from storage for the first sixteenth of the batches */
    struct source_counts counts;
    struct rss_parts rss[LADDER_SAMPLES + 1]; /* of this process before each sixteenth of the pass, and at the end */
    double pss;                               /* at the end */
};

/* Read a pass. `seconds` and `sum` have room for all batches; the caller owns them. */
void ladder_read(struct ladder_pass *pass, const struct source_settings *settings, enum page_state state);

/* Likewise, but move the bytes by plain copies: read 2 (or 4) bytes of each token once from the mapped shard and store the bytes of x and
 * y. They are no tokens. No way that reads and stores as much can be faster, unless these copies are slow. The sums mean nothing. */
void ladder_copy_limit(struct ladder_pass *pass, const struct source_settings *settings);

/* Bring the pages of all shards into the page cache, or drop them from it. Return the share that is cached afterwards (mincore), which
 * tells whether this file system can do it. */
double ladder_cache(const struct shard_set *set);
double ladder_evict(const struct shard_set *set);

/* Return the seconds that a pass takes between two batches: summing up the elements of x and y, which the caches hold. */
double ladder_between(const struct source_settings *settings);

/* Return the number of batches in a pass of rank 0. */
uint64_t ladder_batches(const struct window_order *order);

#endif
