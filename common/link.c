#include "link.h"

#include <math.h>
#include <string.h>

/* Least squares of (alpha + beta x - y) / y over points first … last-1, neither being negative: a message has a cost and
 * more bytes do not make it cheaper. Returns the sum of squares. */
static double fit_piece(const struct link *link, int first, int last, double *alpha, double *beta)
{
    double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
    for (int i = first; i < last; i++) {
        double x = link->bytes[i], y = link->seconds[i], weight = 1 / (y * y);
        w += weight;
        wx += weight * x;
        wxx += weight * x * x;
        wy += weight * y;
        wxy += weight * x * y;
    }
    double determinant = w * wxx - wx * wx;
    *beta = determinant > 0 ? (w * wxy - wx * wy) / determinant : 0;
    *alpha = (wy - *beta * wx) / w;
    if (*beta < 0) {
        *beta = 0;
        *alpha = wy / w;
    }
    if (*alpha < 0) {
        *alpha = 0;
        *beta = wxy / wxx;
    }
    double squares = 0;
    for (int i = first; i < last; i++) {
        double error = (*alpha + *beta * link->bytes[i]) / link->seconds[i] - 1;
        squares += error * error;
    }
    return squares;
}

void link_fit(struct link *link)
{
    enum { LEAST = 3 }; /* points of a piece: two would be fitted without any error */
    int n = link->points;
    int best_cut[LINK_PIECES_MOST + 1] = { 0, n };
    double ignored[2];
    double best = fit_piece(link, 0, n, &ignored[0], &ignored[1]);
    link->pieces = 1;
    for (int a = LEAST; a <= n - LEAST; a++) {
        double lower = fit_piece(link, 0, a, &ignored[0], &ignored[1]);
        double two = lower + fit_piece(link, a, n, &ignored[0], &ignored[1]);
        if (two < best) {
            best = two;
            link->pieces = 2;
            memcpy(best_cut, (int[]){ 0, a, n, 0 }, sizeof best_cut);
        }
        for (int b = a + LEAST; b <= n - LEAST; b++) {
            double three = lower + fit_piece(link, a, b, &ignored[0], &ignored[1]) +
                           fit_piece(link, b, n, &ignored[0], &ignored[1]);
            if (three < best) {
                best = three;
                link->pieces = 3;
                memcpy(best_cut, (int[]){ 0, a, b, n }, sizeof best_cut);
            }
        }
    }
    for (int p = 0; p < link->pieces; p++) {
        int last = best_cut[p + 1];
        fit_piece(link, best_cut[p], last, &link->piece[p].alpha, &link->piece[p].beta);
        link->piece[p].upto = last < n ? sqrt(link->bytes[last - 1] * link->bytes[last]) : INFINITY;
    }
}

double link_seconds(const struct link *link, double bytes)
{
    int p = 0;
    while (p < link->pieces - 1 && bytes > link->piece[p].upto)
        p++;
    return link->piece[p].alpha + link->piece[p].beta * bytes;
}
