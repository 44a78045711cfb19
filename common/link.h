/* link: what an all-reduce of any size costs, learnt from a few sizes.
 *
 * seconds = alpha + beta x bytes within each of at most four ranges, by least squares of the *relative* error: one
 * straight line over eight decades of bytes would be bent by its largest points until alpha is negative. */
#ifndef LOCKSTEP_LINK_H
#define LOCKSTEP_LINK_H

enum { LINK_POINTS_MOST = 16, LINK_PIECES_MOST = 4 };

struct link {
    int ranks, points, pieces;
    double bytes[LINK_POINTS_MOST], seconds[LINK_POINTS_MOST]; /* measured, sorted by bytes */
    struct {
        double upto; /* bytes; the last piece goes on beyond */
        double alpha, beta;
    } piece[LINK_PIECES_MOST];
    double barrier; /* seconds of a barrier */
};

/* One more point; of more than LINK_POINTS_MOST the first ones count. */
void link_add(struct link *link, double bytes, double seconds);

/* Fits the pieces to the points. */
void link_fit(struct link *link);

/* The largest size that was measured. */
double link_reach(const struct link *link);

/* Seconds of an all-reduce of `bytes`. */
double link_seconds(const struct link *link, double bytes);

#endif
