/* test_random.c: test the generator against CPython's `random`, version 3. Python 3.11 printed the expected numbers with
 * the calls in the comments. */
#include "base/random.h"
#include "support/unit.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* A seed above 2^32, which needs two words of the key. */
static const uint64_t two_words = 5000000000;

static struct random seeded(uint64_t seed)
{
    struct random random;
    random_seed(&random, seed);
    return random;
}

static void assert_units(uint64_t seed, const double *expected, int count)
{
    struct random random = seeded(seed);
    for (int i = 0; i < count; i++) {
        double draw = random_unit(&random);
        if (!(draw <= expected[i] && draw >= expected[i]))
            fail_msg("seed %llu, draw %d: %.17g is not %.17g", (unsigned long long)seed, i, draw, expected[i]);
    }
}

/* random.seed(seed); random.random() four times */
TEST(units_are_pythons)
{
    assert_units(2026, (double[]){ 0.11911988496396309, 0.5025157552312506, 0.511822712773071, 0.8600005876492754 }, 4);
    assert_units(0, (double[]){ 0.8444218515250481, 0.7579544029403025, 0.420571580830845, 0.25891675029296335 }, 4);
}

TEST(a_seed_may_be_longer_than_a_word)
{
    assert_units(two_words,
                 (double[]){ 0.08666010167354754, 0.6067949299845908, 0.015038337409537528, 0.7594329886974789 }, 4);
    assert_units((UINT64_C(1) << 63) + 12345,
                 (double[]){ 0.30477471939133105, 0.21243216957860434, 0.6640283412362986, 0.23978354768568233 }, 4);
}

/* Check the 1000th draw. It uses words 1999 and 2000, after the state of 624 words was refilled three times. */
TEST(the_state_is_refilled)
{
    struct random random = seeded(2026);
    for (int i = 0; i < 999; i++)
        random_unit(&random);
    double draw = random_unit(&random);
    assert_true(draw <= 0.7956615536034152 && draw >= 0.7956615536034152);
}

/* [random.randrange(16) for _ in range(12)]; 16 takes five bits, so that half of the draws are rejected */
TEST(ranges_are_pythons)
{
    static const uint32_t sixteen[] = { 3, 10, 3, 7, 13, 15, 14, 7, 0, 2, 3, 9 };
    struct random random = seeded(2026);
    for (size_t i = 0; i < sizeof sixteen / sizeof *sixteen; i++)
        assert_int_equal(random_below(&random, 16), sixteen[i]);
}

/* One sequence: randrange(1) three times, randrange(1000) six times, randrange(2**31 + 1) four times, random() */
TEST(ranges_of_any_size_use_as_many_bits_as_pythons)
{
    static const uint32_t thousand[] = { 905, 228, 916, 615, 636, 569 };
    static const uint32_t large[] = { 1806527458, 2108418345, 1894488586, 1030509027 };
    struct random random = seeded(2026);
    for (int i = 0; i < 3; i++)
        assert_int_equal(random_below(&random, 1), 0);
    for (size_t i = 0; i < sizeof thousand / sizeof *thousand; i++)
        assert_int_equal(random_below(&random, 1000), thousand[i]);
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        assert_int_equal(random_below(&random, (UINT32_C(1) << 31) + 1), large[i]);
    double next = random_unit(&random);
    assert_true(next <= 0.002534841106863861 && next >= 0.002534841106863861);
}

static void assert_shuffled(uint64_t seed, const uint32_t *expected)
{
    uint32_t items[8];
    for (uint32_t i = 0; i < 8; i++)
        items[i] = i;
    struct random random = seeded(seed);
    random_shuffle(&random, items, 8);
    assert_memory_equal(items, expected, sizeof items);
}

/* items = list(range(8)); random.shuffle(items) */
TEST(shuffles_are_pythons)
{
    assert_shuffled(2026, (uint32_t[]){ 6, 7, 3, 0, 5, 4, 2, 1 });
    assert_shuffled(4, (uint32_t[]){ 1, 6, 5, 4, 7, 0, 2, 3 }); /* only its last draw swaps items 0 and 1 */
    assert_shuffled(two_words, (uint32_t[]){ 5, 6, 7, 2, 3, 0, 4, 1 });
}

TEST(nothing_and_one_item_are_shuffled_without_a_draw)
{
    struct random random = seeded(2026), untouched = random;
    uint32_t item = 7;
    random_shuffle(&random, &item, 1);
    random_shuffle(&random, NULL, 0);
    assert_int_equal(item, 7);
    assert_memory_equal(&random, &untouched, sizeof random);
}

TEST(a_copy_goes_on_alike)
{
    struct random random = seeded(2026);
    random_unit(&random);
    struct random branch = random;
    for (int i = 0; i < 700; i++)
        assert_int_equal(random_below(&random, 1u << 20), random_below(&branch, 1u << 20));
}

/* Compare bulk draws with single draws, for any number of words left in the state. */
TEST(draws_in_bulk_are_those_one_by_one)
{
    enum { MOST = 2000 };
    static float filled[MOST];
    for (int before = 0; before < 5; before++)
        for (int count = 0; count <= MOST; count += 1 + count / 3) {
            struct random bulk = seeded(2026), single = bulk;
            for (int i = 0; i < before; i++) /* one word each */
                assert_int_equal(random_below(&bulk, 1u << 20), random_below(&single, 1u << 20));
            random_fill(&bulk, filled, (size_t)count, 0.03);
            for (int i = 0; i < count; i++) {
                float draw = (float)(0.03 * (2 * random_unit(&single) - 1));
                assert_memory_equal(&filled[i], &draw, sizeof draw);
            }
            assert_int_equal(random_below(&bulk, 1u << 20), random_below(&single, 1u << 20));
        }
}

/* Check four moments of 1e5 draws. Their standard errors are 0.0032, 0.0045, 0.012 and 0.031 (square roots of 1, 2, 15 and
 * 96 over n); the test allows five times that. */
TEST(normal_draws_have_normal_moments)
{
    enum { DRAWS = 100000 };
    struct random random = seeded(2026);
    double moment[5] = { 0 };
    for (int i = 0; i < DRAWS; i++) {
        double draw = random_normal(&random), power = 1;
        for (int k = 1; k <= 4; k++) {
            power *= draw;
            moment[k] += power / DRAWS;
        }
    }
    assert_true(fabs(moment[1]) < 0.016);
    assert_true(fabs(moment[2] - 1) < 0.023);
    assert_true(fabs(moment[3]) < 0.062);
    assert_true(fabs(moment[4] - 3) < 0.16);
}
