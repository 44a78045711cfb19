/* supervise: what the program a person typed does before and around its ranks. */
#ifndef LOCKSTEP_SUPERVISE_H
#define LOCKSTEP_SUPERVISE_H

#include "story.h"

/* Decides what ranks train on, makes the folder of the results, shows the card and asks for the guess where somebody can
 * answer, starts the ranks, exits with their status. */
_Noreturn void supervise(const struct story *story, const struct options *base, char *const *arguments);

#endif
