#include "feed/bijection.h"

/* Each round changes one half, so each half changes this many times. With fewer rounds tests see neighbours stay close. */
enum { ROUNDS = 8 };

/* The finalizer of splitmix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014). */
uint64_t bijection_mix(uint64_t a, uint64_t b)
{
    uint64_t z = a + 0x9e3779b97f4a7c15u * (b + 1);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

struct bijection bijection_of(uint64_t n, uint64_t key)
{
    int bits = 2; /* each half has a bit */
    while (bits < 64 && n - 1 >= UINT64_C(1) << bits)
        bits++;
    return (struct bijection){ .n = n, .key = key, .low_bits = bits / 2, .high_bits = bits - bits / 2 };
}

/* Permute all numbers of the network's bits. A round adds (xor) to one half a function of the other, which the same round would undo. */
static uint64_t permute(const struct bijection *b, uint64_t i)
{
    const uint64_t low_mask = (UINT64_C(1) << b->low_bits) - 1, high_mask = (UINT64_C(1) << b->high_bits) - 1;
    uint64_t low = i & low_mask, high = i >> b->low_bits;
    for (uint64_t round = 0; round < ROUNDS; round += 2) {
        high ^= bijection_mix(b->key + round, low) & high_mask;
        low ^= bijection_mix(b->key + round + 1, high) & low_mask;
    }
    return high << b->low_bits | low;
}

uint64_t bijection_image(const struct bijection *b, uint64_t i)
{
    do
        i = permute(b, i);
    while (i >= b->n);
    return i;
}
