#include "base/random.h"

#include "base/multiversion.h"

#include <math.h>

enum { SHIFT_WORDS = 397 };

static void fill_from_word(struct random *r, uint32_t seed)
{
    r->word[0] = seed;
    for (uint32_t i = 1; i < RANDOM_WORDS; i++)
        r->word[i] = 1812433253u * (r->word[i - 1] ^ (r->word[i - 1] >> 30)) + i;
    r->next = RANDOM_WORDS;
}

/* Step i through 1 … 623; at the wrap copy the last word to word 0, as mt19937ar does. */
static uint32_t advance(struct random *r, uint32_t i)
{
    if (i + 1 < RANDOM_WORDS)
        return i + 1;
    r->word[0] = r->word[RANDOM_WORDS - 1];
    return 1;
}

void random_seed(struct random *r, uint64_t seed)
{
    random_seed_plus(r, seed, 0);
}

/* CPython's key has as many words of 32 bits as the seed needs, the lowest first. */
void random_seed_plus(struct random *r, uint64_t seed, uint64_t more)
{
    uint64_t sum = seed + more;
    uint32_t key[3] = { (uint32_t)sum, (uint32_t)(sum >> 32), sum < seed };
    uint32_t keys = key[2] ? 3 : key[1] ? 2 : 1;

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

static uint32_t twist(uint32_t word, uint32_t following, uint32_t shifted)
{
    uint32_t y = (word & 0x80000000u) | (following & 0x7fffffffu);
    return shifted ^ (y >> 1) ^ (0x9908b0dfu & -(y & 1));
}

/* Refill all words, in loops without index wrap, so that the compiler sees the distance between dependent words. */
WIDE static void refill(struct random *r)
{
    enum { WRAPS = RANDOM_WORDS - SHIFT_WORDS };
    uint32_t *word = r->word;
    for (int i = 0; i < WRAPS; i++)
        word[i] = twist(word[i], word[i + 1], word[i + SHIFT_WORDS]);
    for (int i = WRAPS; i < RANDOM_WORDS - 1; i++)
        word[i] = twist(word[i], word[i + 1], word[i - WRAPS]);
    word[RANDOM_WORDS - 1] = twist(word[RANDOM_WORDS - 1], word[0], word[RANDOM_WORDS - 1 - WRAPS]);
    r->next = 0;
}

static uint32_t temper(uint32_t y)
{
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

static uint32_t next_word(struct random *r)
{
    if (r->next >= RANDOM_WORDS)
        refill(r);
    return temper(r->word[r->next++]);
}

/* Combine 53 bits of two words into a number in [0, 1); every step is exact. */
static double unit_of(uint32_t first, uint32_t second)
{
    int32_t high = (int32_t)(first >> 5), low = (int32_t)(second >> 6);
    return ((double)high * 67108864.0 + (double)low) / 9007199254740992.0;
}

double random_unit(struct random *r)
{
    uint32_t first = next_word(r);
    return unit_of(first, next_word(r));
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

static float within(double bound, double unit)
{
    return (float)(bound * (2 * unit - 1));
}

/* Convert consecutive words to draws. */
WIDE static void fill_from(const uint32_t *word, float *restrict out, int count, double bound)
{
    uint32_t tempered[RANDOM_WORDS];
    for (int i = 0; i < 2 * count; i++)
        tempered[i] = temper(word[i]);
    for (int i = 0; i < count; i++)
        out[i] = within(bound, unit_of(tempered[2 * i], tempered[2 * i + 1]));
}

void random_fill(struct random *r, float *out, size_t count, double bound)
{
    while (count > 0) {
        size_t pairs = (size_t)(RANDOM_WORDS - r->next) / 2, drawn = pairs < count ? pairs : count;
        fill_from(r->word + r->next, out, (int)drawn, bound);
        r->next += 2 * (int)drawn;
        if (drawn == 0) { /* at most one word is left: the next draw needs a refill */
            out[0] = within(bound, random_unit(r));
            drawn = 1;
        }
        out += drawn;
        count -= drawn;
    }
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
