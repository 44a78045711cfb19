/* test_work.c: test the cost of a pass on a modelled machine, term by term, with made-up properties. */
#include "options/work.h"
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *property(const char *name)
{
    static const char *const properties[][2] = {
        { "forward_fixed_s", "1e-3" },
        { "forward_per_sample_s", "2e-3" },
        { "forward_per_padded_token_s", "3e-6" },
        { "forward_per_padded_token_length_s", "5e-9" },
        { "backward_per_padded_token_s", "7e-6" },
    };
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (strcmp(properties[i][0], name) == 0)
            return properties[i][1];
    return NULL;
}

static double seconds(enum work_pass pass, struct work work)
{
    struct cost cost = work_cost(WORK_MLP, pass, property);
    return cost_at(&cost, work);
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12))
        fail_msg("%.17g is not %.17g", value, expected);
}

TEST(every_term_counts_once)
{
    const struct work work = { .samples = 8, .padded_tokens = 1024, .padded_token_length = 1024.0 * 128 };
    assert_near(seconds(WORK_FORWARD, work), 1e-3 + 16e-3 + 3.072e-3 + 0.65536e-3);
    assert_near(seconds(WORK_BACKWARD, work), 7.168e-3);
    assert_near(seconds(WORK_FORWARD, (struct work){ 0 }), 1e-3);
    assert_near(seconds(WORK_UPDATE, work), 0); /* no property is set */
}

TEST(costs_have_names)
{
    static const char *const passes[] = { "fetch", "forward", "backward", "update" };
    for (int i = 0; i < 4; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s_per_sample_s", passes[i]);
        assert_true(work_is_cost(name));
        snprintf(name, sizeof name, "%s_per_samples_s", passes[i]);
        assert_false(work_is_cost(name));
    }
    assert_false(work_is_cost("sideways_fixed_s"));
    assert_false(work_is_cost(""));
    assert_true(work_is_own_cost("own_dispatch_s"));
    assert_false(work_is_own_cost("dispatch_s"));
    assert_false(work_is_cost("own_dispatch_s"));
}
