/* ledger: what the memory of this process is used for. The code that allocates an array names its owner. The ledger sums bytes by owner. It
 * also keeps the largest sum of all that is in use, and the moment at which it was reached.
 *
 * Small blocks (memory_new()) and those of libraries have no entry; the kernel's count of the whole process includes them. A process
 * has one heap, so it has one ledger. Simulated ranks share a process, but each has its own static data, and so a ledger. Any thread may
 * call. */
#ifndef LOCKSTEP_LEDGER_H
#define LOCKSTEP_LEDGER_H

#include <stddef.h>

enum memory_owner {
    MEMORY_PROGRAM,       /* the process before training, less its arrays; on a GPU, what a library needs */
    MEMORY_PARAMETERS,    /* of the model */
    MEMORY_GRADIENTS,     /* of the parameters, summed micro-batches included */
    MEMORY_MOMENTS,       /* of the optimizer */
    MEMORY_ACTIVATIONS,   /* of a batch, with the scratch of operations */
    MEMORY_DATA,          /* the data set and its batches */
    MEMORY_COMMUNICATION, /* buffers of collectives, beside the gradients */
    MEMORY_MEASURING,     /* spans, checks, probes of the machine */
    MEMORY_CACHED, /* kept by a pool for its next user, in use by none: what PyTorch calls reserved, but not allocated */
    MEMORY_OWNERS
};
extern const char *const memory_owner_names[MEMORY_OWNERS];

enum memory_place { MEMORY_HOST, MEMORY_GPU, MEMORY_PLACES };

/* Add a block to its owner's account, and remove it. ledger_remove() returns the block's bytes, and ends the program if it is unknown. */
void ledger_add(const void *block, size_t bytes, enum memory_owner owner, enum memory_place place);
size_t ledger_remove(const void *block);

/* Record that a block now serves another owner, in the current layer; MEMORY_CACHED: none. Pools call this. */
void ledger_move(const void *block, enum memory_owner owner);

/* Count all new blocks as `owner`'s, whatever their callers say, until a call with MEMORY_OWNERS: code that measures opens models, too. */
void ledger_override_owner(enum memory_owner owner);

/* Record where the program is: the number of a phase (the caller's), and a layer of the model; -1 for none. */
void ledger_phase(int phase);
void ledger_layer(int layer);

/* Bytes by owner; those of activations also by the layer for which they were allocated. The last element of `layer` has those of no
 * layer, or of layers beyond. */
enum { LEDGER_LAYERS = 261 };
struct ledger_sums {
    size_t of[MEMORY_OWNERS], layer[LEDGER_LAYERS];
};
/* Return the sum over all owners; and without what pools keep. */
size_t ledger_total(const size_t of[MEMORY_OWNERS]);
size_t ledger_in_use(const size_t of[MEMORY_OWNERS]);

/* Call `changed` after each change of the sums of a place, with the sums; NULL: no longer. It must not allocate arrays. */
void ledger_watch(void (*changed)(void *argument, enum memory_place place, const struct ledger_sums *now),
                  void *argument);

/* Peak of one place since ledger_restart_peak(), in bytes. */
struct ledger_peak {
    struct ledger_sums sums;    /* when their total in use was largest */
    size_t most[MEMORY_OWNERS]; /* each owner's largest, which may have been at another time */
    int phase, layer;           /* where the program was when the total became largest; phase -1: before the first */
};
struct ledger_peak ledger_peak(enum memory_place place);

/* Begin again at what is held now, in no phase. */
void ledger_restart_peak(void);

/* Return the sums as they are now. */
struct ledger_sums ledger_now(enum memory_place place);

#endif
