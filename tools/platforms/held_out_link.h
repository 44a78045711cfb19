/* held_out_link: predicts, with the link of the blog's machine, messages that it was not fitted to
 *
 * The link is fitted to 128 MiB among four ranks: comm_ws4 - weak_ws4. A ring of n ranks sends 2 (n - 1) / n of the bytes, one
 * message after another, so the same link predicts the gradients (12.5 MB) between two ranks:
 *
 *     predicted = (comm_ws4 - weak_ws4) x (2 x 1/2 x 12.5 MB) / (2 x 3/4 x 134.2 MB)
 *
 * Two ranks are published at two batches. Their time beyond a lone rank's with the same batch is the published side; a lone rank
 * with 256 samples lies on the line through weak_ws1 (128) and strong_ws1 (512). This side also holds the wait for the later of two
 * ranks: the mean larger of two normal draws is 1 / sqrt(pi) standard deviations above their mean, so
 *
 *     wait = jitter / sqrt(pi) x step of a lone rank
 *
 * Nothing here is simulated: prediction and comparison use published numbers only, and the prediction neither weak_ws2 nor
 * strong_ws2. */
#ifndef LOCKSTEP_HELD_OUT_LINK_H
#define LOCKSTEP_HELD_OUT_LINK_H

#include "published.h"

#include <stdio.h>

enum { HELD_OUT_LINKS = 2 };

struct held_out_link {
    const char *slug; /* row of two ranks */
    double alone;     /* milliseconds of a lone rank with the same batch */
    double published; /* milliseconds that two ranks need beyond it */
    double predicted; /* milliseconds of the transfer, by the link */
    double wait;      /* milliseconds of waiting for the later rank, by the jitter */
};

/* Fill in weak_ws2 and strong_ws2. */
void held_out_links(const struct published *p, struct held_out_link *links);

/* Print the comparison; write it above the names of a table, as comments "# key: value". */
void held_out_links_show(const struct held_out_link *links);
void held_out_links_write(FILE *out, const struct held_out_link *links);

#endif
