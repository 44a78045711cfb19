/* link: what an all-reduce of any size costs, learnt from a few sizes.
 *
 * seconds = alpha + beta x bytes within each of at most four ranges, by least squares of the *relative* error: one
 * straight line over eight decades of bytes would be bent by its largest points until alpha is negative. */
#ifndef LOCKSTEP_LINK_H
#define LOCKSTEP_LINK_H

enum { ALPHA_BETA_POINTS_MOST = 16, ALPHA_BETA_PIECES_MOST = 4 };

struct alpha_beta {
    int ranks, points, pieces;
    double bytes[ALPHA_BETA_POINTS_MOST], seconds[ALPHA_BETA_POINTS_MOST]; /* measured, sorted by bytes */
    struct {
        double upto; /* bytes; the last piece goes on beyond */
        double alpha, beta;
    } piece[ALPHA_BETA_PIECES_MOST];
    double barrier; /* seconds of a barrier */
};

/* One more point; of more than ALPHA_BETA_POINTS_MOST the first ones count. */
void alpha_beta_add(struct alpha_beta *link, double bytes, double seconds);

/* Fits the pieces to the points. */
void alpha_beta_fit(struct alpha_beta *link);

/* The largest size that was measured. */
double alpha_beta_max_bytes(const struct alpha_beta *link);

/* Seconds of an all-reduce of `bytes`. */
double alpha_beta_seconds(const struct alpha_beta *link, double bytes);

#endif
