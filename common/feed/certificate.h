/* certificate: was each token of an epoch read exactly once? It takes the windows that were read, wherever their order came from, and
 * counts. It knows nothing of ranks, steps or shuffles, so it can judge any rule. */
#ifndef LOCKSTEP_CERTIFICATE_H
#define LOCKSTEP_CERTIFICATE_H

#include <stdbool.h>
#include <stdint.h>

struct certificate;

/* Judge positions from … to-1 (window_order.h). */
struct certificate *certificate_open(uint64_t from, uint64_t to);
void certificate_close(struct certificate *certificate);

/* Note that `tokens` tokens from `position` on were read as x. Parts outside of the judged positions are not counted as read. */
void certificate_add(struct certificate *certificate, uint64_t position, uint64_t tokens);

/* Tokens that follow each other and were never read, or more than once. */
struct certificate_fault {
    bool is_repeated;  /* else missing */
    uint64_t from, to; /* positions from … to-1 */
};

/* Tokens read once, never, and more than once (however often); tokens read outside; and the first of all faults. */
enum { CERTIFICATE_FAULTS = 16 };
struct certificate_result {
    uint64_t windows, once, missing, repeated, outside;
    uint64_t faults;
    struct certificate_fault fault[CERTIFICATE_FAULTS]; /* those that have room, by position */
};
struct certificate_result certificate_judge(struct certificate *certificate);

/* True if each token was read exactly once. */
bool certificate_holds(const struct certificate_result *result);

#endif
