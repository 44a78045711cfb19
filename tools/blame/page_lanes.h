/* page_lanes: the typical step as SVG. Bars are placed in percent of the width and texts have the page's size, so a narrow page shortens
 * the bars and keeps the letters. */
#ifndef LOCKSTEP_PAGE_LANES_H
#define LOCKSTEP_PAGE_LANES_H

#include "answer.h"

/* Style sheet of the lanes, in the colours that charts have. */
extern const char *const page_lanes_look;

/* Write the lanes, their legend, and below them which ranks wait for which. */
void page_lanes(FILE *out, const struct answer *answer);

#endif
