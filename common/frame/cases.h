/* cases: chooses the variants that a run measures, and makes the settings of each. */
#ifndef LOCKSTEP_CASES_H
#define LOCKSTEP_CASES_H

#include "frame/lab_spec.h"

enum { CASES_MOST = 64 };

struct cases {
    int count;
    const struct variant *variant[CASES_MOST]; /* the first is the baseline */
    struct options *settings[CASES_MOST];      /* the base settings and the variant's change */
    struct variant hidden;                     /* under --blind: the second case, without its name */
};

/* Parse the command line into `base` and choose the cases: all, or those of --cases. With --blind, draw one of them and hide its
 * name. Bad usage ends the program here, before anything starts. cases_refuse() checks what depends on the number of ranks. */
void cases_choose(struct cases *cases, const struct lab_spec *spec, const struct option_row *const *tables,
                  struct options *base, int argc, char *const *argv);

/* End the program with STATUS_USAGE if the settings contradict each other. */
void cases_refuse(const struct lab_spec *spec, struct options *base);

/* Make each case's settings from `base`. Release them with cases_close(). */
void cases_settle(struct cases *cases, const struct lab_spec *spec, const struct options *base);
void cases_close(struct cases *cases);

/* Rounds of --quick if ranks take turns: they give every case four steps, enough to blame one of three or four simulated ranks. */
int cases_quick_rounds(const struct cases *cases);

/* Bytes of the spans that all ranks together hold: a block on each rank, and on rank 0 one round of each case until the end.
 * Call after cases_settle(). */
double cases_record(const struct cases *cases, const struct lab_spec *spec);

/* Upper bound of the spans in the longest block of any case and round. */
int cases_most_spans(const struct cases *cases, const struct lab_spec *spec);

#endif
