/* drift: how far the machine is now from its card, by a probe (probe.h), and the card scaled to the machine as it is now. */
#ifndef LOCKSTEP_DRIFT_H
#define LOCKSTEP_DRIFT_H

#include "card/card.h"

/* Mean seconds of what all labs do with the run's usual batch; 0: not measured. */
struct card_probe {
    struct local_times local;    /* a local step, over the ranks that train */
    struct local_times alone;    /* rank 0's while the others sleep */
    double transfer;             /* an all-reduce of the gradients by all ranks; 0 for one rank */
    double larger, larger_bytes; /* a larger all-reduce, and its size */
    double jitter;               /* of the local steps, as the card has it */
    bool sums_disturbed;         /* others disturbed all-reduces so long that one of these times is theirs */
};

struct workload;
struct run;

/* Parts of a local step, now / then; 0: not measured. In seconds of the passes then: `growing` grew with the batch, of which `more` is
 * fixed now, or less if negative. */
struct parts_drift {
    double passes, update; /* the fetch with the passes */
    double growing, more;
};

/* Return the factor of what grows with the batch. */
static inline double parts_growing(struct parts_drift parts)
{
    return parts.passes * (parts.growing > 0 ? 1 - parts.more / parts.growing : 1);
}

/* A probe relative to what it is compared with: each now / then. */
struct card_drift {
    double local, transfer;             /* a whole local step, and the transfer */
    struct parts_drift together, alone; /* of ranks at once, 0: as `local`; of a rank alone, 0: as `together` */
    double bytes;                       /* of the transfer; 0: all are scaled by it */
    double beyond;                      /* of the time by which larger ones exceed this one; 0: as then */
    double jitter;                      /* not relative: what it is now; 0: as then */
    struct own_now own;                 /* not relative: what probes of own costs found */
};

/* Return the card's own measurement that a probe repeats: of one rank alone if there are more ranks than cores, else of all at once.
 */
struct card_probe card_usual(const struct card *card);

/* Return the probe that the card's fits predict, with a larger all-reduce of `larger_bytes`; 0: without one. Predictions scaled by a probe
 * relative to this are exact for the usual batch, whatever the error of the fits there. */
struct card_probe card_predicts(const struct card *card, const struct workload *workload, const struct run *run,
                                double larger_bytes);

/* Return a probe relative to another or to the card. 1 for what either lacks. */
struct card_drift card_drift_of(struct card_probe then, struct card_probe now);

/* Fit of a card to a probe, from the best to the worst. */
enum card_fit {
    CARD_FITS,
    CARD_SCALES,        /* each part is off by less than a factor of 2: card_scaled() fits */
    CARD_SUMS_OUTDATED, /* all-reduces are off by more, no other part: card_without_sums() fits, once these are measured */
    CARD_OUTDATED
};

/* Compare a card with a probe. It fits if each part is within 5 %, or, for a part below 2 % of the step, within 1 % of the step. Else
 * `why` names the part furthest off: "forward and backward take 12 % longer". */
enum card_fit card_fit_of(const struct card *card, const struct card_probe *probe, char why[CARD_NAME]);

/* Return a probe that other programs disturbed, with no part longer than on the card: longer parts say nothing about the machine, because
 * other programs delay them. */
struct card_probe card_probe_disturbed(const struct card *card, struct card_probe probe);

/* Return the card with each part scaled to a probe that it does not fit. Fetch, passes and update have a factor each, with another for
 * what is fixed in the passes if the probe tells it; collectives and messages have one, and memory bandwidth that of the whole local
 * step. Own costs have that too, or that of collectives. So the shapes of its fits stay. */
struct card card_scaled(const struct card *card, const struct card_probe *probe);

/* Return the card without collectives, messages and their reference, the rest scaled to the probe. */
struct card card_without_sums(const struct card *card, struct card_probe probe);

/* Return the card of a machine that has drifted: local steps by their parts, memory behind them as a whole local step, collectives and
 * messages up to drift.bytes by the transfer, and what larger ones take beyond that by `drift.beyond`. Own costs follow local steps or the
 * transfer, and their own probes (own_costs_follow()). Jitter is that of the drift; what it lacks stays, as do a sleep, a stamp and the
 * shares of disturbed time. `card` must stay, for card_of_plan(). */
struct card card_drifted(const struct card *card, struct card_drift drift);

#endif
