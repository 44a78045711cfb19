/* alpha_beta: cost model of a collective or message of any size, from a few measured sizes.
 *
 * At most four pieces, seconds = alpha + beta x bytes in a range of sizes, are fitted by least squares of the *relative* error. A
 * single one over eight decades of bytes would follow its largest points until alpha is negative. Another piece must lower the error
 * by more than it does for the noise of one (AICc); two take at least seven points. The first may be a single point.
 *
 * Few points do not tell how many pieces there are, so a piece may be off by a fifth at a measured size. Its errors at the two measured
 * sizes around a size, weighted by distance, are added. So the seconds of a measured size are those measured, and the cost is a
 * sequence of lines. */
#ifndef LOCKSTEP_ALPHA_BETA_H
#define LOCKSTEP_ALPHA_BETA_H

enum { ALPHA_BETA_POINTS_MOST = 20, ALPHA_BETA_PIECES_MOST = 4 };
enum { ALPHA_BETA_LINES_MOST = ALPHA_BETA_POINTS_MOST + ALPHA_BETA_PIECES_MOST + 2 }; /* two: cuts of one function below */

/* seconds = alpha + beta x bytes, for sizes from that of the line before; either may be negative */
struct alpha_beta_line {
    double upto; /* bytes; infinite for the last line */
    double alpha, beta;
};

struct alpha_beta {
    int ranks, points, pieces, lines;
    double bytes[ALPHA_BETA_POINTS_MOST], seconds[ALPHA_BETA_POINTS_MOST]; /* measured, sorted by bytes */
    struct alpha_beta_line line[ALPHA_BETA_LINES_MOST];
};

/* Add a point; points beyond ALPHA_BETA_POINTS_MOST are ignored. */
void alpha_beta_add(struct alpha_beta *link, double bytes, double seconds);

/* Fit the pieces to the points, and make the lines. */
void alpha_beta_fit(struct alpha_beta *link);

/* Let a measured size stand for sizes within 0.1 % of it alone, because it was measured in another way than the others; the lines pass
 * through these. Nothing happens if it was not measured. */
void alpha_beta_single_out(struct alpha_beta *link, double bytes);

/* Multiply the seconds of points and lines up to this many bytes by `times`, and what larger ones take beyond that size by `beyond`.
 * bytes 0: multiply all by `times`. */
void alpha_beta_slow(struct alpha_beta *link, double times, double bytes, double beyond);

/* Return the largest measured size. */
double alpha_beta_max_bytes(const struct alpha_beta *link);

/* Return the seconds of a collective or message of `bytes`; 0 if nothing was measured. */
double alpha_beta_seconds(const struct alpha_beta *link, double bytes);

#endif
