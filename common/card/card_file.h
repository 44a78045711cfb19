/* card_file: the machine card as CSV, a row for each of its numbers: kept for the labs that come after, if it is of the same
 * machine and job. */
#ifndef LOCKSTEP_CARD_FILE_H
#define LOCKSTEP_CARD_FILE_H

#include "card/card.h"

#include <stdio.h>

/* The card of a folder of results, for the labs that come after; and the copy that a lab keeps beside its tables, for
 * another lab's model may need another card. */
#define CARD_FILE "machine.csv"
#define CARD_COPY "card.csv"

/* Writes it into `out`, or as folder/CARD_FILE. `platform`: "here", or what tells a simulated machine from others. */
void card_put(const struct card *card, FILE *out, const struct workload *workload, const struct run *run,
              const char *platform);
void card_write(const struct card *card, const char *folder, const struct workload *workload, const struct run *run,
                const char *platform);

/* Reads folder/CARD_FILE into `card`. There is none when it is of another machine, job or version, or older than an hour
 * (shared machines drift); it is short when its all-reduces do not reach `largest` bytes, or it has no messages. */
enum card_found { CARD_NONE, CARD_SHORT, CARD_WHOLE };
enum card_found card_read(struct card *card, const char *folder, const struct workload *workload, const struct run *run,
                          double largest, const char *platform, int cores);

#endif
