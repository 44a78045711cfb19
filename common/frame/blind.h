/* blind: draws the hidden case of a quiz. The case runs beside the baseline without its name. The user reads the measurements,
 * names the case and the rank that causes it, and then sees the answer (quiz.h).
 *
 * Ranks and supervisor draw from the same command line, so all draw the same case. */
#ifndef LOCKSTEP_BLIND_H
#define LOCKSTEP_BLIND_H

#include "frame/lab_spec.h"

#include <stdio.h>

#define BLIND_NAME "hidden" /* shown in place of the case's name until the answer */

/* Add a fresh --seed to a --blind command line without one. May replace `argv`. */
void blind_take_seed(int *argc, char ***argv);

/* End the program with STATUS_USAGE if --blind contradicts another option. */
void blind_refuse(const struct run *run);

/* Draw one of the candidates in run.cases; fewer than two end the program with STATUS_USAGE. Also draw, into `base`, the rank
 * that lab_spec.hidden_option names, unless the user typed that option. */
void blind_draw(const struct lab_spec *spec, struct options *base, int argc, char *const *argv);

/* True if the hidden case is one that the lab makes up (lab_draw). */
bool blind_is_made_up(const struct lab_spec *spec, const struct run *run);

/* Return the drawn case: always the same for the same seed and run.cases. */
const struct variant *blind_drawn(const struct lab_spec *spec, const struct run *run);

/* Return the rank that a case's settings delay; -1 if they delay no single rank, or another one in each step. */
int blind_culprit(const struct lab_spec *spec, const struct options *base, const struct variant *variant);

/* Return the case whose idea this one continues ("… and fetches one batch ahead"), or the case itself. */
const struct variant *blind_root(const struct lab_spec *spec, const struct variant *variant);

/* Return a case's whole idea: that of its blind_root(), then its own. Free it. */
char *blind_idea(const struct lab_spec *spec, const struct variant *variant);

/* Return the folder of a quiz's results, below their platform's folder. They never replace a lab's usual results. Free it. */
char *blind_folder(const char *of_platform, const char *lab);

/* Print the command line as typed, without the options that name cases. */
void blind_echo(FILE *out, char *const *argv);

/* Print the command line that runs the drawn case by name. */
void blind_print_command(FILE *out, const struct lab_spec *spec, const struct options *base, char *const *argv);

/* Grade of an answer. */
enum judgement { JUDGED_NOTHING, JUDGED_WRONG, JUDGED_HALF, JUDGED_RIGHT };
extern const char *const judgement_names[]; /* "", "wrong", "half", "right" */

/* Grade an answer, NULL for none. Half right is the same fault with another fix. */
enum judgement blind_judge(const struct variant *truth, const struct variant *answer);

#endif
