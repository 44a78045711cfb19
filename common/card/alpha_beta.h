/* alpha_beta: cost model of a collective or message of any size, fitted to a few measured sizes.
 *
 * seconds = alpha + beta x bytes in each of at most four ranges, by least squares of the *relative* error. A single line over
 * eight decades of bytes would follow its largest points until alpha is negative. Another range must lower the error by more than
 * it does for the noise of one line (AICc); two ranges take at least seven points. The first may be a single point.
 *
 * Few points do not tell how many ranges there are, so lines may be off by a fifth at a measured size. Between two measured sizes their
 * errors there, weighted by distance, are added: the seconds of a measured size are those measured. */
#ifndef LOCKSTEP_ALPHA_BETA_H
#define LOCKSTEP_ALPHA_BETA_H

enum { ALPHA_BETA_POINTS_MOST = 20, ALPHA_BETA_PIECES_MOST = 4 };

struct alpha_beta {
    int ranks, points, pieces;
    double bytes[ALPHA_BETA_POINTS_MOST], seconds[ALPHA_BETA_POINTS_MOST]; /* measured, sorted by bytes */
    struct {
        double upto; /* bytes; infinite for the last piece */
        double alpha, beta;
    } piece[ALPHA_BETA_PIECES_MOST];
};

/* Add a point; points beyond ALPHA_BETA_POINTS_MOST are ignored. */
void alpha_beta_add(struct alpha_beta *link, double bytes, double seconds);

/* Fit the pieces to the points. */
void alpha_beta_fit(struct alpha_beta *link);

/* Multiply the seconds of points and pieces up to this many bytes by `times`, and what larger ones take beyond that size by `beyond`.
 * bytes 0: multiply all by `times`. */
void alpha_beta_slow(struct alpha_beta *link, double times, double bytes, double beyond);

/* Return the largest measured size. */
double alpha_beta_max_bytes(const struct alpha_beta *link);

/* Return the seconds of a collective or message of `bytes`. */
double alpha_beta_seconds(const struct alpha_beta *link, double bytes);

#endif
