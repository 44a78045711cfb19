/* front_lab: a lab on the report's first page: what was asked, what was found, and one picture. */
#ifndef LOCKSTEP_FRONT_LAB_H
#define LOCKSTEP_FRONT_LAB_H

#include "figure.h"
#include "front.h"

/* Write the section of the lab with this index. */
void front_lab(FILE *out, const struct book *book, int lab, struct figures *figures);

#endif
