/* cases: chooses the variants that a run measures, and makes the settings of each. */
#ifndef LOCKSTEP_CASES_H
#define LOCKSTEP_CASES_H

#include "frame/lab_spec.h"

enum { CASES_MOST = 128 };

/* All that runs in a round: the cases, and under --verdict each case again with the lab's changes (lab_spec.h). */
struct cases {
    int count;
    int named; /* the first of them are the cases themselves */
    const struct variant
        *variant[CASES_MOST]; /* the first is the baseline; of a changed case: of the case that it changes */
    struct options *settings[CASES_MOST];        /* the base settings and the variant's change */
    int of[CASES_MOST];                          /* of a changed case: the case; else itself */
    const struct lab_change *change[CASES_MOST]; /* NULL for the cases themselves */
    struct variant hidden;                       /* under --blind: the second case, without its name */
};

/* Return the case with this change; -1 if nothing was to be changed. */
int cases_changed(const struct cases *cases, int of, const struct lab_change *change);

/* Parse the command line into `base` and choose the cases: all, or those of --cases. With --blind, draw one of them and hide its
 * name. Bad usage ends the program here, before anything starts. cases_refuse() checks what depends on the number of ranks. */
void cases_choose(struct cases *cases, const struct lab_spec *spec, const struct option_row *const *tables,
                  struct options *base, int argc, char *const *argv);

/* End the program with STATUS_USAGE if the settings contradict each other, or if a case that they ask for cannot run. */
void cases_refuse(const struct lab_spec *spec, struct options *base);

/* Make each case's settings from `base` and the card, NULL in a dry run. Release them with cases_close(). */
void cases_settle(struct cases *cases, const struct lab_spec *spec, const struct options *base,
                  const struct card *card);
void cases_close(struct cases *cases);

/* Set brief[i] for each case (count): true if the card predicts a step of less than 5 ms. Two steps of such a case say little, because
 * in the first steps of a round workers and caches are not yet as later. */
void cases_find_brief(const struct cases *cases, const struct lab_spec *spec, const struct card *card, bool *brief);

/* Let a round measure all steps of these cases (run_window()), not two of them. */
void cases_lengthen(struct cases *cases, const bool *brief);

/* Rounds of --quick if ranks take turns: they give every case four steps, enough to blame one of three or four simulated ranks. */
int cases_quick_rounds(const struct cases *cases);

/* Return the steps of the shortest block, warm-up included: all cases make at least these. */
int cases_common_steps(const struct cases *cases);

/* Bytes of the spans that all ranks together hold: a block on each rank, and on rank 0 one round of each case until the end.
 * Call after cases_settle(). */
double cases_record(const struct cases *cases, const struct lab_spec *spec);

/* Upper bound of the spans in the longest block of any case and round. */
int cases_most_spans(const struct cases *cases, const struct lab_spec *spec);

#endif
