/* random: the Mersenne Twister MT19937 as CPython's `random` module drives it, so that a seed means the same
 * draws here and in a Python program. State lives in the struct; copy it to branch a sequence.
 *
 * Source: Matsumoto and Nishimura, "Mersenne Twister", ACM TOMACS 8 (1998), and their mt19937ar.c. */
#ifndef LOCKSTEP_RANDOM_H
#define LOCKSTEP_RANDOM_H

#include <stddef.h>
#include <stdint.h>

enum { RANDOM_WORDS = 624 };

struct random {
    uint32_t word[RANDOM_WORDS];
    int next;
};

/* random.seed(seed) for a seed >= 0. */
void random_seed(struct random *random, uint64_t seed);

/* random.random(): 53 random bits in [0, 1). */
double random_unit(struct random *random);

/* random.randrange(n) for n >= 1. */
uint32_t random_below(struct random *random, uint32_t n);

/* A draw from the standard normal distribution (Box-Muller, the cosine branch). */
double random_normal(struct random *random);

/* A draw of mean 1 and standard deviation `spread`, log-normal: never negative, and now and then much larger. */
double random_lognormal(struct random *random, double spread);

/* `count` draws, uniform in +-bound. */
void random_fill(struct random *random, float *out, size_t count, double bound);

/* random.shuffle(): Fisher-Yates from the last index down. */
void random_shuffle(struct random *random, uint32_t *items, size_t count);

#endif
