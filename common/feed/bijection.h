/* bijection: a shuffle of 0 … n-1 that needs no memory. Every number has its own image, computed when asked for, so a shuffle of any
 * size costs nothing to make, and any place in it can be resumed.
 *
 * It is a Feistel network with enough bits for n; an image beyond n is mapped again until one is below it (cycle walking; Black
 * and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002). At most half of the images lie beyond, so it maps twice on average
 * at most. The key decides the order. It is no cipher: nothing is hidden by it. */
#ifndef LOCKSTEP_BIJECTION_H
#define LOCKSTEP_BIJECTION_H

#include <stdint.h>

struct bijection {
    uint64_t n, key;
    int low_bits, high_bits; /* of a number; together they hold n - 1 */
};

/* A bijection of 0 … n-1, n >= 1. */
struct bijection bijection_of(uint64_t n, uint64_t key);

/* Return the image of i, i < n. */
uint64_t bijection_image(const struct bijection *bijection, uint64_t i);

/* Mix two numbers into one whose bits all depend on both. */
uint64_t bijection_mix(uint64_t a, uint64_t b);

#endif
