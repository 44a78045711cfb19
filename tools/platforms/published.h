/* published: the numbers that the two blog posts printed, from expected/ */
#ifndef LOCKSTEP_PUBLISHED_H
#define LOCKSTEP_PUBLISHED_H

#include "base/csv.h"

struct published {
    struct csv_table steps; /* blog.csv: a row per case */
    struct csv_table ranks; /* blog_ranks.csv: a row per case and rank */
    struct csv_table more;  /* blog_fit.csv: single steps, the side run, proportions of passes */
};

/* Read the three tables of this folder. Bad input ends the program with one line. */
struct published published_open(const char *folder);
void published_close(struct published *p);

/* Each function below ends the program if the number is missing. */

/* Return column `name` of the case `slug` in blog.csv. */
double published_value(const struct published *p, const char *slug, const char *name);
/* Return the step of the slowest rank in milliseconds. */
double published_step(const struct published *p, const char *slug);
/* Return the mean over ranks of column `name` in blog_ranks.csv. */
double published_rank_mean(const struct published *p, const char *slug, const char *name);
/* Return a number of blog_fit.csv. */
double published_extra(const struct published *p, const char *quantity);
/* Return the step of a lone rank with this batch, in milliseconds: on the line through weak_ws1 and strong_ws1. */
double published_alone(const struct published *p, double samples);
/* Return the standard deviation of a lone rank's step over its mean, from the single steps of weak_ws1 and strong_ws1. */
double published_jitter(const struct published *p);

#endif
