/* test_arithmetic.c: test fast_exp() and the treatment of denormals, which the loops of the CPU device rely on. */
#include "device/device.h"
#include "device/device_cpu.h"
#include "options/precision.h"
#include "support/on_device.h"
#include "support/unit.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Return the largest relative error of fast_exp() at every 101st float between two floats of the same sign. */
static double worst_error(float nearest, float farthest)
{
    double worst = 0;
    for (uint32_t bits = bits_of(nearest); bits <= bits_of(farthest); bits += 101) {
        double x = (double)from_bits(bits), exact = exp(x);
        worst = fmax(worst, fabs((double)fast_exp((float)x) - exact) / exact);
    }
    return worst;
}

TEST(exponential_is_as_exact_as_it_says)
{
    assert_true(worst_error(1e-10F, 88.3F) < 1e-7);
    assert_true(worst_error(-1e-10F, -87.3F) < 1e-7);
    assert_true(fast_exp(0) <= 1 && fast_exp(0) >= 1);
}

TEST(exponential_keeps_its_limits)
{
    static const float low[] = { -88, -100, -1e4F, -1e6F }, high[] = { 89, 100, 1e4F, 1e6F };
    for (size_t i = 0; i < sizeof low / sizeof *low; i++) {
        assert_true(bits_of(fast_exp(low[i])) == 0);
        assert_true(isinf(fast_exp(high[i])) && fast_exp(high[i]) > 0);
    }
    assert_true(isnan(fast_exp((float)NAN)) && isnan(fast_exp(-(float)NAN)));
}

TEST(denormals_count_as_zero)
{
    const volatile float tiny = 1e-39F, smallest = 1.2e-38F, half = 0.5F;
    assert_true(bits_of(tiny) != 0);
#if defined(__x86_64__) || defined(__aarch64__)
    assert_true(bits_of(tiny * 1e10F) == 0);    /* denormal input */
    assert_true(bits_of(smallest * half) == 0); /* denormal result */
#else
    (void)half; /* the device changes no other processors */
#endif
    assert_true(smallest * 2 > smallest);
}

AROUND_TESTS(open_device, NULL)
