/* supervise_private: the request that the parts of supervise.h work on. Nothing else includes this header.
 *
 * supervise.c decides what runs where, supervise_guess.c asks the user first, supervise_pair.c measures two real ranks for the links
 * of a simulated machine, and supervise_start.c starts a job. */
#ifndef LOCKSTEP_SUPERVISE_PRIVATE_H
#define LOCKSTEP_SUPERVISE_PRIVATE_H

#include "card/alpha_beta.h"
#include "frame/lab_spec.h"
#include "frame/placement.h"
#include "launch/platform.h"

#include <stdbool.h>

/* Request of the user, and where the ranks run. */
struct request {
    const struct lab_spec *spec;
    const struct options *base;
    const struct run *run;
    char *const *arguments;    /* of this program */
    int cores;                 /* of this machine */
    enum placement mode;       /* of real ranks */
    int gpus;                  /* of this machine, if the placement uses them */
    struct platform *platform; /* to simulate; NULL: real ranks */
    enum { HERE, SIMULATED, BOTH } place;
    const char *lacks; /* reason why ranks that outnumber the cores cannot be simulated; else NULL */
    bool is_silent;
};

/* Run the ranks of this request, with one option more unless `extra` is NULL. Return their exit status. */
int request_start(const struct request *request, const char *extra);

/* Ask the user for a guess if a user can answer. Return it as an option, or NULL; free it. The question needs the machine card: if
 * there is none, start a job that measures one, and exit with its status if it fails. */
char *request_guess(const struct request *request);

/* Return the bytes of the largest message that the links between simulated cores are measured for. */
double request_pair_bytes(const struct request *request);

/* Return the cost of all-reduces of two real ranks, of up to `most_bytes`, from their card in `folder`. If there is none, start a job
 * that measures one, and exit with its status if it fails. */
struct alpha_beta request_pair(const struct request *request, const char *folder, double most_bytes);

#endif
