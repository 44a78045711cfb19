/* blind: a riddle. One case, drawn by the seed, runs beside the baseline without its name; the learner reads what was
 * measured, says which case it is and which rank is the cause, and is told (quiz.h).
 *
 * Ranks and supervisor draw from the same command line, and so draw the same. */
#ifndef LOCKSTEP_BLIND_H
#define LOCKSTEP_BLIND_H

#include "frame/lab_spec.h"

#include <stdio.h>

#define BLIND_NAME "hidden" /* of the case, until it is told */

/* Gives a riddle that names no seed a fresh one, as if that had been typed. `argv` may be replaced. */
void blind_take_seed(int *argc, char ***argv);

/* Ends the program with STATUS_USAGE where a riddle makes no sense with what else was asked. */
void blind_refuse(const struct run *run);

/* Draws one of run.cases, all of which may be it: two at least, else the program ends with STATUS_USAGE. And, into `base`,
 * what the lab hides beside it (story.hides) and nobody typed. */
void blind_draw(const struct lab_spec *spec, struct options *base, int argc, char *const *argv);

/* The case that was drawn: the same for as long as seed and run.cases are. */
const struct variant *blind_drawn(const struct lab_spec *spec, const struct run *run);

/* The rank that is the cause of what a case's settings do; -1 for nobody, or another one in each step. */
int blind_culprit(const struct lab_spec *spec, const struct options *base, const struct variant *variant);

/* The case whose idea this one's goes on from ("… and fetches one batch ahead"), itself where it does not. */
const struct variant *blind_root(const struct lab_spec *spec, const struct variant *variant);

/* A case's idea, where it does not stand below the idea that it goes on from. Free it. */
char *blind_idea(const struct lab_spec *spec, const struct variant *variant);

/* Where results of a riddle go, below the folder of their platform: beside real ones, which they never replace. Free it. */
char *blind_folder(const char *of_platform, const char *lab);

/* The command line as it was typed, without what names cases. */
void blind_echo(FILE *out, char *const *argv);

/* The command line that runs the case which was drawn, by name. */
void blind_tell_command(FILE *out, const struct lab_spec *spec, const struct options *base, char *const *argv);

/* How an answer compares with the truth. */
enum judgement { JUDGED_NOTHING, JUDGED_WRONG, JUDGED_HALF, JUDGED_RIGHT };
extern const char *const judgement_names[]; /* "", "wrong", "half", "right" */

/* Half right is the same pathology with another fix. No answer (NULL) is none. */
enum judgement blind_judge(const struct variant *truth, const struct variant *answer);

#endif
