/* random: the Mersenne Twister MT19937 as used by CPython's `random` module; a seed gives the same draws here and in Python.
 * The struct holds all state; copy it to branch a sequence.
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

/* Seed like random.seed(seed), for a seed >= 0. */
void random_seed(struct random *random, uint64_t seed);
/* The same for seed + more, which may exceed 64 bits. */
void random_seed_plus(struct random *random, uint64_t seed, uint64_t more);

/* Draw like random.random(): 53 random bits in [0, 1). */
double random_unit(struct random *random);

/* Draw like random.randrange(n), for n >= 1. */
uint32_t random_below(struct random *random, uint32_t n);

/* Draw from the standard normal distribution (Box-Muller, cosine branch). */
double random_normal(struct random *random);

/* Draw from a log-normal distribution of mean 1 and standard deviation `spread`: never negative, sometimes much larger. */
double random_lognormal(struct random *random, double spread);

/* Fill `out` with `count` draws, uniform in +-bound. */
void random_fill(struct random *random, float *out, size_t count, double bound);

/* Shuffle like random.shuffle(): Fisher-Yates from the last index down. */
void random_shuffle(struct random *random, uint32_t *items, size_t count);

#endif
