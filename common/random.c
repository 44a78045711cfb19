#include "random.h"

#include <math.h>

enum { SHIFT_WORDS = 397 };

static void fill_from_word(struct random *r, uint32_t seed)
{
    r->word[0] = seed;
    for (uint32_t i = 1; i < RANDOM_WORDS; i++)
        r->word[i] = 1812433253u * (r->word[i - 1] ^ (r->word[i - 1] >> 30)) + i;
    r->next = RANDOM_WORDS;
}

/* Steps i through 1 … 623; on wrapping, word 0 takes over the last word (mt19937ar's bookkeeping). */
static uint32_t advance(struct random *r, uint32_t i)
{
    if (i + 1 < RANDOM_WORDS)
        return i + 1;
    r->word[0] = r->word[RANDOM_WORDS - 1];
    return 1;
}

void random_seed(struct random *r, uint64_t seed)
{
    uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    uint32_t keys = key[1] ? 2 : 1;

    fill_from_word(r, 19650218u);
    uint32_t i = 1, j = 0;
    for (int k = 0; k < RANDOM_WORDS; k++) {
        uint32_t before = r->word[i - 1];
        r->word[i] = (r->word[i] ^ ((before ^ (before >> 30)) * 1664525u)) + key[j] + j;
        i = advance(r, i);
        j = (j + 1) % keys;
    }
    for (int k = 0; k < RANDOM_WORDS - 1; k++) {
        uint32_t before = r->word[i - 1];
        r->word[i] = (r->word[i] ^ ((before ^ (before >> 30)) * 1566083941u)) - i;
        i = advance(r, i);
    }
    r->word[0] = 0x80000000u;
}

static void refill(struct random *r)
{
    for (int i = 0; i < RANDOM_WORDS; i++) {
        uint32_t y = (r->word[i] & 0x80000000u) | (r->word[(i + 1) % RANDOM_WORDS] & 0x7fffffffu);
        uint32_t twisted = r->word[(i + SHIFT_WORDS) % RANDOM_WORDS] ^ (y >> 1);
        r->word[i] = y & 1 ? twisted ^ 0x9908b0dfu : twisted;
    }
    r->next = 0;
}

static uint32_t next_word(struct random *r)
{
    if (r->next >= RANDOM_WORDS)
        refill(r);
    uint32_t y = r->word[r->next++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

double random_unit(struct random *r)
{
    uint32_t high = next_word(r) >> 5, low = next_word(r) >> 6;
    return ((double)high * 67108864.0 + (double)low) / 9007199254740992.0;
}

uint32_t random_below(struct random *r, uint32_t n)
{
    int bits = 32 - __builtin_clz(n);
    uint32_t draw = 0;
    do {
        draw = next_word(r) >> (32 - bits);
    } while (draw >= n);
    return draw;
}

double random_normal(struct random *r)
{
    double radius = sqrt(-2.0 * log(1.0 - random_unit(r)));
    return radius * cos(2.0 * M_PI * random_unit(r));
}

double random_lognormal(struct random *random, double spread)
{
    double sigma = sqrt(log(1 + spread * spread));
    return spread > 0 ? exp(sigma * random_normal(random) - sigma * sigma / 2) : 1;
}

void random_fill(struct random *r, float *out, size_t count, double bound)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (float)(bound * (2 * random_unit(r) - 1));
}

void random_shuffle(struct random *r, uint32_t *items, size_t count)
{
    for (size_t i = count; i-- > 1;) {
        uint32_t j = random_below(r, (uint32_t)i + 1);
        uint32_t held = items[i];
        items[i] = items[j];
        items[j] = held;
    }
}
