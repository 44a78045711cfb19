#include "card/alpha_beta.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Fit alpha and beta by least squares of (alpha + beta x - y) / y over points first … last-1. Neither may be negative: a message
 * has a cost, and more bytes do not make it cheaper. Return the sum of squares. */
static double fit_piece(const struct alpha_beta *link, int first, int last, double *alpha, double *beta)
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

/* Points of a piece: two would fit without error. The first piece may be a single point, with its seconds as alpha: libraries add up fewer
 * elements than there are ranks in another way, so one point can be of another order than all others. */
enum { LEAST = 3, LEAST_OF_FIRST = 1 };

/* Best fit of the first points in a given number of pieces: fits[pieces][points]. */
struct fit {
    double squares;
    int cut; /* where the last piece begins */
};

void alpha_beta_add(struct alpha_beta *link, double bytes, double seconds)
{
    if (link->points == ALPHA_BETA_POINTS_MOST)
        return;
    link->bytes[link->points] = bytes;
    link->seconds[link->points++] = seconds;
}

/* Return Akaike's criterion for few points (AICc; Hurvich and Tsai 1989), which is least for the best number of pieces; infinite
 * for too few points to tell. A piece has two parameters; the variance is one more. A cut, chosen among many places, counts as
 * three parameters (Ninomiya, "Change-point model selection via AIC", 2015). */
static double criterion(double squares, int pieces, int points)
{
    static const double rounding = 1e-4; /* relative error that counts as none: a clock's nanosecond in 10 us */
    const double parameters = 2 * pieces + 1, cuts = 3 * (pieces - 1), left = points - parameters - 1;
    if (left <= 0)
        return INFINITY;
    return points * log(fmax(squares / points, rounding * rounding)) + 2 * (parameters + cuts) +
           2 * parameters * (parameters + 1) / left;
}

/* Return the line of a size; 0 if there is none. */
static int line_of(const struct alpha_beta_line *line, int lines, double bytes)
{
    int i = 0;
    while (i < lines - 1 && line[i].upto < bytes)
        i++;
    return i;
}

static double line_seconds(const struct alpha_beta_line *line, double bytes)
{
    return line->alpha + line->beta * bytes;
}

/* Make the lines: to the pieces, add their errors at the points, and between two points what lies between these on a straight line. The
 * error of the first point holds before it, too, and that of the last one beyond it. */
static void pass_through_points(struct alpha_beta *link, const struct alpha_beta_line *piece)
{
    const int n = link->points;
    double error[ALPHA_BETA_POINTS_MOST];
    for (int i = 0; i < n; i++)
        error[i] =
            link->seconds[i] - line_seconds(&piece[line_of(piece, link->pieces, link->bytes[i])], link->bytes[i]);
    link->lines = 0;
    for (int above = 0, p = 0; above <= n; above++) {
        const int below = above > 0 ? above - 1 : 0;
        const double from = link->bytes[below], end = above < n ? link->bytes[above] : INFINITY,
                     slope = isfinite(end) && end > from ? (error[above] - error[below]) / (end - from) : 0;
        for (double upto = 0; upto < end; p += upto < end) {
            upto = fmin(piece[p].upto, end);
            link->line[link->lines++] = (struct alpha_beta_line){ .upto = upto,
                                                                  .alpha = piece[p].alpha + error[below] - slope * from,
                                                                  .beta = piece[p].beta + slope };
        }
    }
}

void alpha_beta_fit(struct alpha_beta *link)
{
    int n = link->points;
    struct fit fits[ALPHA_BETA_PIECES_MOST + 1][ALPHA_BETA_POINTS_MOST + 1];
    double ignored[2];
    for (int pieces = 1; pieces <= ALPHA_BETA_PIECES_MOST; pieces++)
        for (int last = 1; last <= n; last++) {
            struct fit *best = &fits[pieces][last];
            *best = (struct fit){ .squares = INFINITY };
            if (pieces == 1 && (last == LEAST_OF_FIRST || last == n || last >= LEAST))
                *best = (struct fit){ .squares = fit_piece(link, 0, last, &ignored[0], &ignored[1]) };
            for (int cut = LEAST_OF_FIRST; pieces > 1 && cut <= last - LEAST; cut++) {
                double squares = fits[pieces - 1][cut].squares + fit_piece(link, cut, last, &ignored[0], &ignored[1]);
                if (squares < best->squares)
                    *best = (struct fit){ squares, cut };
            }
        }
    link->pieces = 1;
    for (int pieces = 2; pieces <= ALPHA_BETA_PIECES_MOST; pieces++)
        if (criterion(fits[pieces][n].squares, pieces, n) < criterion(fits[link->pieces][n].squares, link->pieces, n))
            link->pieces = pieces;
    struct alpha_beta_line piece[ALPHA_BETA_PIECES_MOST];
    for (int p = link->pieces - 1, last = n; p >= 0; p--) {
        int first = fits[p + 1][last].cut;
        fit_piece(link, first, last, &piece[p].alpha, &piece[p].beta);
        piece[p].upto = last < n ? sqrt(link->bytes[last - 1] * link->bytes[last]) : INFINITY;
        last = first;
    }
    pass_through_points(link, piece);
}

/* Cut the line that reaches beyond `bytes` in two there. It stays whole if there is no room for another one. */
static void cut_at(struct alpha_beta *link, double bytes)
{
    const int i = line_of(link->line, link->lines, bytes);
    if (link->line[i].upto == bytes || link->lines == 0 || link->lines == ALPHA_BETA_LINES_MOST)
        return;
    memmove(&link->line[i + 1], &link->line[i], (size_t)(link->lines - i) * sizeof *link->line);
    link->line[i].upto = bytes;
    link->lines++;
}

void alpha_beta_single_out(struct alpha_beta *link, double bytes)
{
    const double from = 0.999 * bytes, upto = 1.001 * bytes;
    int at = 0;
    while (at < link->points && link->bytes[at] != bytes)
        at++;
    if (at == link->points || link->points == 1)
        return;
    struct alpha_beta others = { .ranks = link->ranks };
    for (int i = 0; i < link->points; i++)
        if (i != at)
            alpha_beta_add(&others, link->bytes[i], link->seconds[i]);
    alpha_beta_fit(&others);
    cut_at(&others, from);
    cut_at(&others, upto);
    for (int i = 0; i < others.lines; i++)
        if (others.line[i].upto > from && others.line[i].upto <= upto)
            others.line[i] = (struct alpha_beta_line){ .upto = others.line[i].upto, .alpha = link->seconds[at] };
    link->pieces = others.pieces;
    link->lines = others.lines;
    memcpy(link->line, others.line, sizeof link->line);
}

void alpha_beta_slow(struct alpha_beta *link, double times, double bytes, double beyond)
{
    const double limit = bytes > 0 ? bytes : INFINITY;
    const double there = bytes > 0 ? alpha_beta_seconds(link, bytes) : 0;
    for (int i = 0; i < link->points; i++)
        link->seconds[i] =
            link->bytes[i] <= limit ? link->seconds[i] * times : there * times + (link->seconds[i] - there) * beyond;
    if (bytes > 0)
        cut_at(link, bytes);
    for (int i = 0; i < link->lines; i++) {
        const bool is_above = i > 0 && link->line[i - 1].upto >= limit;
        link->line[i].alpha =
            is_above ? there * times + (link->line[i].alpha - there) * beyond : link->line[i].alpha * times;
        link->line[i].beta *= is_above ? beyond : times;
    }
}

double alpha_beta_max_bytes(const struct alpha_beta *link)
{
    return link->bytes[link->points - 1];
}

double alpha_beta_seconds(const struct alpha_beta *link, double bytes)
{
    return fmax(0, line_seconds(&link->line[line_of(link->line, link->lines, bytes)], bytes));
}
