/* test_mpi_staging.c: test the parts of an all-reduce: bf16 on the wire, choice of algorithm, mapped memory. */
#include "base/bf16.h"
#include "base/memory.h"
#include "device/device.h"
#include "device/sequence.h"
#include "options/algorithm.h"
#include "support/unit.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- bf16 ------------------------------------------------------------------------------------------------------- */

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Return x rounded to 8 bits of mantissa, ties to even, computed in doubles. The last place of x = m 2^e, 1/2 <= m < 1,
 * is worth 2^(e-8), and at least 2^-133, the last place of the smallest normal number. */
static double rounded(double x)
{
    int e = 0;
    if (x == 0 || isinf(x))
        return x;
    frexp(x, &e);
    double place = ldexp(1, (e > -125 ? e : -125) - 8), nearest = rint(x / place) * place;
    return fabs(nearest) > 0x1.fep127 ? copysign(INFINITY, x) : nearest;
}

/* Lower halves of the test floats. Each of the 2^16 upper halves is a bf16 number. The tails add the number itself, its
 * neighbouring floats, the middle between two bf16 numbers and the neighbours of that middle. */
static const uint32_t tails[] = { 0, 1, 0x7fff, 0x8000, 0x8001, 0xffff };
enum { TAILS = sizeof tails / sizeof *tails, HALVES = 1 << 16 };

static float sample(size_t i)
{
    return float_of((uint32_t)(i / TAILS) << 16 | tails[i % TAILS]);
}

TEST(every_float_rounds_to_the_nearest)
{
    for (size_t i = 0; i < (size_t)TAILS * HALVES; i++) {
        float x = sample(i), got = bf16_widen(bf16_round(x));
        if (isnan(x)) {
            assert_true(isnan(got));
            continue;
        }
        double expected = rounded((double)x);
        if (!((double)got == expected) || signbit(got) != signbit(x))
            fail_msg("%a rounds to %a, not %a", (double)x, (double)got, expected);
    }
}

TEST(the_corners_by_hand)
{
    assert_int_equal(bf16_round(1), 0x3f80);
    assert_int_equal(bf16_round(1 + 0x1p-8f), 0x3f80);            /* a tie rounds to the even neighbour, … */
    assert_int_equal(bf16_round(1 + 3 * 0x1p-8f), 0x3f82);        /* … which lies below or above */
    assert_int_equal(bf16_round(1 + 0x1p-8f + 0x1p-23f), 0x3f81); /* slightly above a tie */
    assert_int_equal(bf16_round(-0.0f), 0x8000);
    assert_int_equal(bf16_round(INFINITY), 0x7f80);
    assert_int_equal(bf16_round(-INFINITY), 0xff80);
    assert_int_equal(bf16_round(0x1.fffffep127f), 0x7f80);      /* the largest float rounds to infinity */
    assert_int_equal(bf16_round(0x1p-149f), 0);                 /* the smallest float rounds to 0, … */
    assert_int_equal(bf16_round(0x1p-133f), 1);                 /* … and 2^-133 is the smallest bf16 */
    assert_int_equal(bf16_round(float_of(0x7f800001)), 0x7fc0); /* a NaN with bits only in the lower half */
}

TEST(loops_over_it_do_the_same)
{
    enum { ODD = TAILS * HALVES - 5 }; /* not a multiple of the vector width */
    float *x = memory_new(ODD, sizeof *x), *wide = memory_new(ODD, sizeof *wide);
    uint16_t *narrow = memory_new(ODD, sizeof *narrow);
    for (size_t i = 0; i < ODD; i++)
        x[i] = sample(i);
    device_narrow(narrow, x, ODD);
    device_widen(wide, narrow, ODD);
    for (size_t i = 0; i < ODD; i++) {
        assert_int_equal(narrow[i], bf16_round(x[i]));
        float expected = bf16_widen(narrow[i]);
        assert_memory_equal(&wide[i], &expected, sizeof expected);
    }
    free(x);
    free(wide);
    free(narrow);
}

/* --- algorithm -------------------------------------------------------------------------------------------------- */

static const char variable[] = "OMPI_MCA_coll_tuned_allreduce_algorithm";
static const char variable_of_started[] = "OMPI_MCA_coll_libnbc_iallreduce_algorithm";

TEST(an_algorithm_is_called_by_its_names)
{
    static const char *const expected[ALGORITHMS][4] = { /* name, Open MPI blocking, Open MPI nonblocking, SMPI */
                                                         { "ring", "5", "1", "lr" },
                                                         { "recursive doubling", "3", "4", "rdb" },
                                                         { "Rabenseifner", "6", "3", "rab1" },
                                                         { "reduce and broadcast", "2", "2", "redbcast" },
                                                         { "unsegmented ring", "4", "1", "lr" },
                                                         { "linear", "1", "2", "default" }
    };
    int words = 1;
    for (const char *at = algorithm_words; (at = strchr(at, ' ')); at++)
        words++;
    assert_int_equal(words, ALGORITHMS);
    for (int i = ALGORITHMS; i-- > 0;) { /* the ring comes last: it keeps variables that are already set */
        if (i == ALGORITHM_RING)
            unsetenv(variable), unsetenv(variable_of_started);
        algorithm_choose((enum algorithm)i);
        assert_string_equal(algorithm_name(), expected[i][0]);
        assert_string_equal(getenv(variable), expected[i][1]);
        assert_string_equal(getenv(variable_of_started), expected[i][2]);
        assert_string_equal(algorithm_simulated(), expected[i][3]);
        struct exchange exchange = algorithm_of_two(); /* halves or the whole array, two messages or one */
        assert_int_equal(exchange.messages, i == ALGORITHM_RECURSIVE_DOUBLING ? 1 : 2);
        assert_int_equal(exchange.part, strstr("ring Rabenseifner unsegmented ring", expected[i][0]) ? 2 : 1);
    }
    assert_string_equal(getenv("OMPI_MCA_coll_tuned_use_dynamic_rules"), "1");
    assert_string_equal(getenv("OMPI_MCA_coll_tuned_allreduce_algorithm_segmentsize"), "262144");
}

TEST(the_ring_gives_way_to_the_environment)
{
    setenv(variable, "6", 1);
    unsetenv(variable_of_started);
    algorithm_choose(ALGORITHM_RING);
    assert_string_equal(algorithm_name(), "Rabenseifner");
    assert_string_equal(getenv(variable_of_started), "3"); /* nonblocking all-reduces follow */
    setenv(variable_of_started, "0", 1);
    algorithm_choose(ALGORITHM_RING);
    assert_string_equal(getenv(variable_of_started), "0");
    algorithm_choose(ALGORITHM_LINEAR); /* an explicit choice overrides the environment */
    assert_string_equal(algorithm_name(), "linear");
    setenv(variable, "0", 1);
    unsetenv(variable_of_started);
    algorithm_choose(ALGORITHM_RING);
    assert_null(getenv(variable_of_started)); /* with 0, Open MPI also chooses the nonblocking algorithm */
    assert_string_equal(algorithm_name(), "the library's choice of");
    assert_string_equal(algorithm_simulated(), "lr");
}

/* --- memory ----------------------------------------------------------------------------------------------------- */

/* Return the resident bytes of this process. */
static double resident(void)
{
    double pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*s %lf", &pages), 1);
    fclose(file);
    return pages * (double)sysconf(_SC_PAGESIZE);
}

TEST(mapped_memory_comes_when_it_is_touched)
{
    enum { COUNT = 16 << 20, BYTES = COUNT * 4 };
    double before = resident(), few = BYTES / 8.0;
    float *memory = memory_map(BYTES);
    assert_true(resident() - before < few);
    assert_true(memory[0] == 0 && memory[COUNT - 1] == 0);
    device_fill(memory, 1, COUNT);
    assert_true(memory[0] == 1 && memory[COUNT - 1] == 1);
    assert_true(resident() - before > BYTES - few);
    memory_unmap(memory, BYTES);
    assert_true(resident() - before < few);
    memory_unmap(NULL, BYTES);

    memory = memory_new(COUNT, sizeof *memory); /* memory_new() is resident at once */
    assert_true(resident() - before > BYTES - few);
    free(memory);
    assert_true(memory_available() > 0);
}
