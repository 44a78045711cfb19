/* card_file: the machine card as CSV, one row per number. Later labs reuse it if machine and job are the same. */
#ifndef LOCKSTEP_CARD_FILE_H
#define LOCKSTEP_CARD_FILE_H

#include "card/card.h"

#include <stdio.h>

/* Card of a results folder, for later labs; and the copy that a lab keeps beside its tables, because another lab's model may
 * need another card. */
#define CARD_FILE "machine.csv"
#define CARD_COPY "card.csv"

/* True if the file was written within the last hour. Older measurements are not used again, because shared machines drift. */
bool card_is_fresh(const char *path);

/* Write the card to `out`, or to folder/CARD_FILE. `platform`: "here", or the key of a simulated machine. */
void card_put(const struct card *card, FILE *out, const struct workload *workload, const struct run *run,
              const char *platform);
void card_write(const struct card *card, const char *folder, const struct workload *workload, const struct run *run,
                const char *platform);

/* Read folder/CARD_FILE, or a lab's newer copy of this job, into `card`. CARD_NONE: it is missing, not fresh, or of another machine, job
 * or version. CARD_SHORT: it lacks a collective, a size, the messages or an own cost of `uses`, which calibrate_uses() adds. Own costs
 * of other labs are left out: their labs measure them again. */
enum card_found { CARD_NONE, CARD_SHORT, CARD_WHOLE };
enum card_found card_read(struct card *card, const char *folder, const struct workload *workload, const struct run *run,
                          const struct card_uses *uses, const char *platform, int cores);

#endif
