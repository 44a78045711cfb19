/* page: the answer as one HTML file, page.html: it opens from disk, without network or script, on a phone as well. */
#ifndef LOCKSTEP_PAGE_H
#define LOCKSTEP_PAGE_H

#include "answer.h"

/* Write page.html into the report's folder. `why_withdrawn`: why no rank is named; or NULL. */
void page_write(const struct answer *answer, const char *why_withdrawn);

#endif
