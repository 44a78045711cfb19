/* cases: the variants of a story that a run measures, each with its settings. */
#ifndef LOCKSTEP_CASES_H
#define LOCKSTEP_CASES_H

#include "frame/lab_spec.h"

enum { CASES_MOST = 64 };

struct cases {
    int count;
    const struct variant *variant[CASES_MOST]; /* the first is the baseline */
    struct options *settings[CASES_MOST];      /* the base settings and the variant's change */
    struct variant hidden;                     /* of --blind: the second case, without its name */
};

/* Parses the command line into `base` and chooses the cases: all, or those that --cases names, or of these one that is
 * drawn and hidden (--blind). Bad usage ends the program here, before anything starts; what depends on the number of
 * ranks is left to cases_refuse(). */
void cases_choose(struct cases *cases, const struct lab_spec *spec, const struct option_row *const *tables,
                  struct options *base, int argc, char *const *argv);

/* Ends the program with STATUS_USAGE when the settings contradict each other. */
void cases_refuse(const struct lab_spec *spec, struct options *base);

/* Makes each case's settings from the base ones; release with cases_close(). */
void cases_settle(struct cases *cases, const struct lab_spec *spec, const struct options *base);
void cases_close(struct cases *cases);

/* Rounds of --quick where ranks take turns: as many as give every case four steps, enough to tell a culprit from
 * luck. */
int cases_quick_rounds(const struct cases *cases);

/* Bytes that all ranks together keep of who did what when: each its own spans, and rank 0 those of all, of each case's first
 * round until the end. Once the cases are settled. */
double cases_record(const struct cases *cases, const struct lab_spec *spec);

/* Room for the spans of the longest block of any case and round. */
int cases_most_spans(const struct cases *cases, const struct lab_spec *spec);

#endif
