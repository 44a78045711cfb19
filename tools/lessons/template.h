/* template: checks that the lesson of a lab has the sections of all lessons, few cases in the text, and what its page in the report
 * needs. docs/lessons.md describes the sections. */
#ifndef LOCKSTEP_LESSONS_TEMPLATE_H
#define LOCKSTEP_LESSONS_TEMPLATE_H

#include "marker.h"

enum { TEMPLATE_CASES = 7 }; /* above the rule: a baseline and six others */

/* Complain of sections that are missing, in another order or without a bridge to PyTorch's tools; of tables and lanes with too many
 * cases above the rule; and of the places of this run's cases and claims, if they are missing. */
void template_check(struct check *check);

#endif
