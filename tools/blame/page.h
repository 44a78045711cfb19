/* page: the answer as one HTML file, page.html: it opens from disk, without network or script, on a phone as well. */
#ifndef LOCKSTEP_PAGE_H
#define LOCKSTEP_PAGE_H

#include "answer.h"
#include "comparison.h"

/* Write page.html into the report's folder. `why_withdrawn`: why no rank is named; or NULL. `comparison`: with a later recording; without a
 * path: none. */
void page_write(const struct answer *answer, const char *why_withdrawn, const struct comparison *comparison);

#endif
