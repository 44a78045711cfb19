/* unexplained: finds numbers of a text that neither a run nor a source explains. docs/lessons.md has the rules. */
#ifndef LOCKSTEP_LESSONS_UNEXPLAINED_H
#define LOCKSTEP_LESSONS_UNEXPLAINED_H

#include "marker.h"

/* Complain of each number without a source, and of each comment that is no marker. */
void find_unexplained(struct check *check);

#endif
